/*
 * What the ranks of a job tell each other besides what is measured, over binomial
 * trees: the library's own collectives may take p * p messages, which a simulation
 * of thousands of ranks feels.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SIM_COMMON_HPP
#define SIM_COMMON_HPP

#include <cstddef>
#include <mpi.h>
#include <vector>

namespace sim {

inline constexpr int common_tag = 2000;     // above the labels of runs

/** Rank 0's bytes, to all. */
inline void tell_all(void *data, size_t bytes, MPI_Comm comm)
{
    int me, ranks;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    int bit = 1;
    while (bit < ranks && !(me & bit))
        bit *= 2;
    if (me)
        MPI_Recv(data, static_cast<int>(bytes), MPI_BYTE, me - bit, common_tag, comm, MPI_STATUS_IGNORE);
    for (bit /= 2; bit > 0; bit /= 2)
        if (me + bit < ranks)
            MPI_Send(data, static_cast<int>(bytes), MPI_BYTE, me + bit, common_tag, comm);
}

/** values[i] = take(values[i], other ranks'), at rank 0. */
template <typename T, typename F> void combine(std::vector<T> &values, MPI_Comm comm, F take)
{
    int me, ranks;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    const int bytes = static_cast<int>(values.size() * sizeof(T));
    std::vector<T> theirs(values.size());
    for (int bit = 1; bit < ranks; bit *= 2) {
        if (me & bit) {
            MPI_Send(values.data(), bytes, MPI_BYTE, me - bit, common_tag, comm);
            return;
        }
        if (me + bit < ranks) {
            MPI_Recv(theirs.data(), bytes, MPI_BYTE, me + bit, common_tag, comm, MPI_STATUS_IGNORE);
            for (size_t i = 0; i < values.size(); ++i)
                values[i] = take(values[i], theirs[i]);
        }
    }
}

} // namespace sim

#endif
