/*
 * The sites that the ranks of a job pretend to be in, as coll/wan was told.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TEST_PRETENDED_SITES_HPP
#define WAN_TEST_PRETENDED_SITES_HPP

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

/** Ranks of MPI_COMM_WORLD, by rank of a communicator. */
inline std::vector<int> world_ranks(MPI_Comm comm)
{
    MPI_Group world, group;
    int size;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(comm, &group);
    MPI_Group_size(group, &size);
    std::vector<int> here(static_cast<size_t>(size)), there(here.size());
    std::iota(here.begin(), here.end(), 0);
    MPI_Group_translate_ranks(group, size, here.data(), world, there.data());
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    return there;
}

struct pretended_sites {
    /** From coll_wan_cluster_id, without what lies inside, by rank of MPI_COMM_WORLD; "": none was named. */
    std::vector<std::string> names;

    /** Asks all ranks, by point-to-point messages: the first collective is a test's own. */
    void ask()
    {
        const char *given = std::getenv("OMPI_MCA_coll_wan_cluster_id");
        std::string name = given ? given : "";
        name.resize(std::min(name.size(), name.find(':')));
        if (const size_t first = name.find('/'), second = first == name.npos ? first : name.find('/', first + 1); second != name.npos)
            name.resize(second);
        char mine[256] = "", theirs[256];
        name.copy(mine, sizeof mine - 1);
        int size;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        std::vector<MPI_Request> sends(static_cast<size_t>(size));
        for (int r = 0; r < size; ++r)
            MPI_Isend(mine, sizeof mine, MPI_CHAR, r, 1, MPI_COMM_WORLD, &sends[static_cast<size_t>(r)]);
        for (int r = 0; r < size; ++r) {
            MPI_Recv(theirs, sizeof theirs, MPI_CHAR, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            names.emplace_back(theirs);
        }
        MPI_Waitall(size, sends.data(), MPI_STATUSES_IGNORE);
    }
    /** Whether a communicator has ranks of several sites. */
    bool spanned(MPI_Comm comm) const
    {
        const std::vector<int> there = world_ranks(comm);
        return std::any_of(there.begin(), there.end(),
                           [&](int r) { return names[static_cast<size_t>(r)] != names[static_cast<size_t>(there[0])]; });
    }
};

#endif
