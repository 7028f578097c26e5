/*
 * See ub_rounds.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ub_rounds.hpp"

#include <algorithm>
#include <cstdio>

namespace ub {

int rank, ranks;
double limit;
uint64_t wrong = 0;
int sockets_first;

void fill(bytes &b, uint32_t number)
{
    uint32_t x = number * 2654435761u + 1;
    for (uint8_t &v : b)
        v = static_cast<uint8_t>((x = x * 1664525u + 1013904223u) >> 24);
}

void compare(const bytes &b, uint32_t number)
{
    bytes expected(b.size());
    fill(expected, number);
    wrong += b != expected;
}

namespace {

double quantile(std::vector<double> &v, double q)
{
    std::sort(v.begin(), v.end());
    return v.empty() ? 0 : v[std::min(v.size() - 1, static_cast<size_t>(q * static_cast<double>(v.size())))];
}

} // namespace

void report(const char *op, size_t size, const char *unit, std::vector<double> v, double first, double again)
{
    if (rank == 0 && !v.empty())
        std::printf("{\"op\": \"%s\", \"bytes\": %zu, \"unit\": \"%s\", \"n\": %zu, \"p10\": %.6g, \"median\": %.6g, \"p99\": %.6g, \"worst\": %.6g, \"first\": %.6g, \"again\": %.6g}\n", op, size,
                    unit, v.size(), quantile(v, 0.1), quantile(v, 0.5), quantile(v, 0.99), quantile(v, 1), first, again);
}

datagrams datagrams::count()
{
    int provided, session_ok = 0;
    unsigned long long mine[2] = {0, 0}, all[2] = {0, 0};
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session session;
    session_ok = MPI_T_pvar_session_create(&session) == MPI_SUCCESS;
    const char *const names[2] = {"btl_udp_datagrams_sent", "btl_udp_datagrams_again"};
    for (int k = 0; session_ok && k < 2; ++k) {
        int index, elements;
        MPI_T_pvar_handle handle;
        if (MPI_T_pvar_get_index(names[k], MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS
            || MPI_T_pvar_handle_alloc(session, index, nullptr, &handle, &elements) != MPI_SUCCESS)
            continue;
        MPI_T_pvar_read(session, handle, &mine[k]);
        MPI_T_pvar_handle_free(session, &handle);
    }
    if (session_ok)
        MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Reduce(mine, all, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    return {static_cast<double>(all[0]), static_cast<double>(all[1])};
}

bool again(double began, size_t done, size_t least, size_t most)
{
    int go = done < most && (done < least || now() - began < limit);
    MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return go;
}

} // namespace ub
