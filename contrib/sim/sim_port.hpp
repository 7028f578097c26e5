/*
 * A port over MPI's public point-to-point calls: nothing of Open MPI, so that it
 * runs on any MPI.  On SimGrid's SMPI, time and network are simulated; under
 * mpirun the same port is checked against a real library.  One call at a time.
 *
 * It blocks where it has to wait (MPI_Waitany): in a simulation, polling would
 * cost events and simulated time.  Next: sim_runner.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SIM_PORT_HPP
#define SIM_PORT_HPP

#include "exec/engine.hpp"
#include "topo/topology.hpp"

#include <cstddef>
#include <memory>
#include <mpi.h>
#include <vector>

namespace sim {

/** Elements of a call: what MPI calls them, their operator, bytes of one. */
struct element {
    MPI_Datatype type = MPI_BYTE;
    MPI_Op op = MPI_OP_NULL;
    size_t bytes = 1;
};

/**
 * Memory of a buffer.  Folded: in a simulation all ranks are in one process, and where only
 * time is asked for, their buffers may be the same memory; contents are then meaningless.
 * Throws std::bad_alloc.
 */
class memory {
public:
    memory() = default;
    /** `offset`: where in the common memory, so that a rank's own buffers lie apart. */
    memory(size_t bytes, bool folded, size_t offset = 0);
    std::byte *data() const { return at_; }

private:
    std::unique_ptr<std::byte[]> own_;
    std::byte *at_ = nullptr;
};

/** What this rank has sent to other sites. */
struct crossing {
    int64_t messages = 0;
    std::vector<int64_t> bytes_to;      // by site
};

class port {
public:
    port(MPI_Comm comm, const wan::topology &topo);

    /** For the calls that follow. */
    void begin(const element &e, bool folded);
    const wan_port_t *table() const { return &table_; }

    /** Runs an engine that was made with this port to its end; WAN_DONE or an error code. */
    int run(wan::engine &e);

    const crossing &crossed() const { return crossed_; }
    /** Seconds since some time in the past: simulated ones in a simulation. */
    static double now_s() { return MPI_Wtime(); }

private:
    MPI_Comm comm_;
    const wan::topology &topo_;
    wan::site_id mine_;
    element element_;
    bool folded_ = false;
    wan_port_t table_{};
    std::vector<MPI_Request> requests_;     // under way, and
    std::vector<uint32_t> tokens_;          // theirs, at the same index
    std::vector<memory> scratch_;
    crossing crossed_;

    int follow(int code, MPI_Request request, uint32_t token);
    int wait(wan::engine &e);
};

} // namespace sim

#endif
