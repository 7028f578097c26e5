// The control plane of wanbench_worker: rank 0 commands, the others follow.
//
// Everything here is point to point on a communicator of its own, so that the
// measured collectives meet no other collective.  Waiting ranks poll with a
// sleep between the polls: in a lab of many ranks on few cores a spinning
// follower would steal the time of the ranks that still work.
// Next: wb_point.hpp (what a batch is), wanbench_worker.cpp (the two loops).
//
// SPDX-License-Identifier: BSD-3-Clause
#ifndef WB_CONTROL_HPP
#define WB_CONTROL_HPP

#include <cstddef>
#include <cstdint>
#include <mpi.h>
#include <string>
#include <vector>

#include "wb_clock.hpp"

namespace wb {

enum class verb : std::int64_t {
    clock,          // answer a[0] pings with the local clock
    offset,         // a[0] = offset_ns, a[1] = error_ns of your clock
    ping,           // answer a[0] pings of a[1] bytes
    flow,           // take a[0] chunks of a[1] bytes, return the times of arrival
    point,          // prepare point a[0]
    batch,          // a[0] rounds, see wb_point.hpp
    point_end,      // report counters, free the buffers
    finish
};

struct command {
    verb what{};
    std::int64_t a[6]{};
};

struct world {
    MPI_Comm comm = MPI_COMM_NULL;      // what is measured
    MPI_Comm control = MPI_COMM_NULL;
    int rank = 0;
    int size = 1;
    ns_t spin_ns = 0;
    clock_map clock;
};

enum control_tag { tag_command = 1, tag_ping, tag_flow, tag_report, tag_text };

// Rank 0 to one rank, or to all others.
void command_send(const world &w, int to, const command &c);
void command_send_all(const world &w, const command &c);
command command_receive(const world &w);

// Waits for `request`, sleeping between the tests.
void wait_politely(MPI_Request &request, MPI_Status *status);

// Lets Open MPI progress what earlier calls left to do, until `local_ns`.
void idle_until(const world &w, ns_t local_ns);

// Every rank hands in `mine` (same length everywhere); rank 0 gets all of them,
// rank after rank, the others an empty vector.
std::vector<std::int64_t> report_gather(const world &w, const std::vector<std::int64_t> &mine);

// Texts of all ranks at rank 0.
std::vector<std::string> text_gather(const world &w, const std::string &mine);

}  // namespace wb
#endif
