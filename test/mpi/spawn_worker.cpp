/*
 * A job that spawns two jobs of its own kind, one of which spawns a third; each of them is of
 * two ranks in two sites and makes as many broadcasts as its argument says.
 *
 * spawn_worker merge: one that spawns a process without a site, and merges with it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>

#include <cstdlib>
#include <string>

namespace {

void spawn(const char *program, int calls, int further)
{
    std::string words[] = {std::to_string(calls), std::to_string(further)};
    char *arguments[] = {words[0].data(), words[1].data(), nullptr};
    int codes[2];
    MPI_Comm children;
    MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, codes);
    MPI_Comm_disconnect(&children);
}

int merge(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm inter, merged;
    MPI_Comm_get_parent(&inter);
    const bool child = inter != MPI_COMM_NULL;
    if (!child)
        MPI_Comm_spawn(argv[0], argv + 1, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(inter, child, &merged);
    char bytes[3000] = "";
    for (int i = 0; i < 6; ++i)
        MPI_Bcast(bytes, sizeof bytes, MPI_BYTE, 0, merged);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&inter);
    MPI_Finalize();
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc > 1 && std::string(argv[1]) == "merge")
        return merge(argc, argv);
    const int calls = argc > 1 ? std::atoi(argv[1]) : 0, further = argc > 2 ? std::atoi(argv[2]) : 0;
    // Spawned ones have no wrapper that tells them their site.
    const char *rank = std::getenv("OMPI_COMM_WORLD_RANK");
    setenv("OMPI_MCA_coll_wan_cluster_id", rank && std::atoi(rank) % 2 ? "b" : "a", 1);
    MPI_Init(&argc, &argv);
    char bytes[3000] = "";      // of a size that Open MPI does not send itself
    for (int i = 0; i < calls; ++i)
        MPI_Bcast(bytes, sizeof bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    if (further > 0)
        spawn(argv[0], calls + 1, further == 2 ? 1 : 0);
    if (further == 2)
        spawn(argv[0], calls + 10, 0);
    if (parent != MPI_COMM_NULL)
        MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
}
