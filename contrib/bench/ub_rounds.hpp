/*
 * Of udpbench_worker: what its operations share, and the operations, each for messages of one size; see
 * udpbench_worker.cpp for what they measure.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UB_ROUNDS_HPP
#define UB_ROUNDS_HPP

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ub {

extern int rank, ranks;
extern double limit;            // s
extern uint64_t wrong;          // messages
extern int sockets_first;       // before anybody was talked to

using bytes = std::vector<uint8_t>;

void fill(bytes &b, uint32_t number);
/** With what fill() writes. */
void compare(const bytes &b, uint32_t number);

/** first: of the first round, if that is another case; again: part of btl/udp's datagrams. */
void report(const char *op, size_t size, const char *unit, std::vector<double> v, double first = 0, double again = 0);
inline double now() { return MPI_Wtime(); }
/** Rank 0 says whether there is another round. */
bool again(double began, size_t done, size_t least, size_t most);

/** Datagrams with data that btl/udp sent in all processes, and of these what was sent again; [0, 0] without it. */
struct datagrams {
    double sent = 0, again = 0;
    static datagrams count();
};

/** Of this process. */
int sockets_open();

// Between ranks 0 and 1: ub_two.cpp.
void pingpong(size_t size);
void stream(size_t size);
void burst(size_t size, const char *name, size_t total, size_t most);
void behind(size_t size);
void opening(size_t size);
void fair(size_t size);

// Of all ranks: ub_all.cpp.
void to_root(size_t size, bool collective);
void bcast(size_t size);
void peers(size_t size);
void idle(size_t size);

} // namespace ub

#endif
