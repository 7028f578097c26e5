/*
 * udp_flow.hpp and the MPI_T variables of peers in a job: what they tell must
 * follow from what the ranks do.  Rank 0 stops rank 1 (SIGSTOP) while it looks at what
 * that owes; no time is judged.  All on one host.  Rank 0 prints "all right".
 *
 *   flow [strict]    over btl/udp, three ranks at least; strict: that mode, where a window takes a block at least
 *   flow without     in a job that does not name it
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "udp_flow.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace flow = wan::udp_flow;

namespace {

int rank, ranks, wrong = 0;
bool strict;

void expect(bool right, const char *what)
{
    if (!right) {
        std::printf("rank %d: %s\n", rank, what);
        ++wrong;
    }
}

template <class Call> std::string refusal(Call &&call)
{
    try {
        call();
    } catch (const std::runtime_error &e) {
        return e.what();
    }
    return "nothing was refused";
}
bool contains(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

template <class Holds> bool soon(Holds &&holds) { return flow::detail::within(20, holds); }

void refusals()
{
    expect(contains(refusal([] { flow::look(MPI_COMM_WORLD, ranks); }), "no such rank"), "a rank that does not exist");
    expect(contains(refusal([] { flow::look(MPI_COMM_NULL, 0); }), "no such rank"), "MPI_COMM_NULL");
    expect(contains(refusal([] { flow::queue_length(MPI_COMM_WORLD, rank); }), "not reached"), "this process itself");
    expect(contains(refusal([] { flow::priority(MPI_COMM_WORLD, (rank + 1) % ranks, 8); }), "0 to 7"), "priority 8");
}

/** Stops a process and returns when it has stopped, or ended. */
void stop(pid_t pid)
{
    kill(pid, SIGSTOP);
    for (std::string stat; !contains(stat, ") T ") && !contains(stat, ") Z ");) {
        std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
        if (!std::getline(file, stat))
            return;
    }
}

/** Rank 1 is away; what 0 sent to it stays in the queue, and what it was asked for is done once it is back. */
void one_is_stopped()
{
    constexpr int messages = 20, bytes = 32000;
    std::vector<char> out(messages * bytes), in(messages * bytes);
    for (size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<char>(i * 7 + i / bytes);
    int word = getpid();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Recv(&word, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(soon([] { return flow::queue_length(MPI_COMM_WORLD, 1) == 0; }), "an empty queue, all being quiet");
        expect(flow::wait(MPI_COMM_WORLD, 1, 1000, 20), "a free path takes 1000 bytes at once");
        stop(word);
        std::vector<MPI_Request> r(messages);
        for (int i = 0; i < messages; ++i)
            MPI_Isend(&out[static_cast<size_t>(i) * bytes], bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &r[static_cast<size_t>(i)]);
        const flow::state before = flow::look(MPI_COMM_WORLD, 1);
        // (Where sending took longer than its timeout, what left waits to be sent again.)
        const bool left = before.under_way > 0 || flow::retransmission(MPI_COMM_WORLD, 1) > 0;
        expect(before.queue == messages && before.queue_bytes >= size_t(messages) * bytes && left, "what a stopped one owes");
        expect(before.delay_ns > 0 && before.delay_min_ns > 0 && before.delay_min_ns <= before.delay_ns, "a delay that was measured");
        expect(flow::queue_length(MPI_COMM_WORLD, 2) == 0, "the queue of one peer is not that of another");
        expect(strict || !flow::wait(MPI_COMM_WORLD, 1, 1000, 0.1), "nothing more would leave at once");   // strict: its window is larger
        usleep(300000);
        expect(flow::retransmission(MPI_COMM_WORLD, 1) > 0, "something to be sent again");
        // strict asks for permission, and is told that all has come.
        expect(strict || soon([&] { return flow::look(MPI_COMM_WORLD, 1).sent_again > before.sent_again; }), "sent again");
        kill(word, SIGCONT);
        MPI_Waitall(messages, r.data(), MPI_STATUSES_IGNORE);
        MPI_Recv(&word, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(soon([] { return flow::queue_length(MPI_COMM_WORLD, 1) == 0; }), "an empty queue afterwards");
        expect(flow::wait(MPI_COMM_WORLD, 1, bytes, 20), "it leaves at once again");
    } else if (rank == 1) {
        MPI_Send(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        for (int i = 0; i < messages; ++i)
            MPI_Recv(&in[static_cast<size_t>(i) * bytes], bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(in == out, "bytes that were sent twice arrive once");
        expect(flow::look(MPI_COMM_WORLD, 0).duplicates > 0 || flow::look(MPI_COMM_WORLD, 0).received > 0, "received");
        MPI_Send(&word, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

void a_message_is_ready()
{
    std::vector<char> b(777);
    if (rank == 0) {
        expect(!flow::ready(MPI_COMM_WORLD, 2, 0.05), "nothing is there yet");
        MPI_Send(b.data(), 1, MPI_CHAR, 2, 4, MPI_COMM_WORLD);
        const auto bytes = flow::ready(MPI_COMM_WORLD, MPI_ANY_SOURCE, 20);
        expect(bytes && *bytes == 777, "a message of 777 bytes");
        MPI_Recv(b.data(), 777, MPI_BYTE, 2, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 2) {
        MPI_Recv(b.data(), 1, MPI_CHAR, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(b.data(), 777, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

void set_and_used()
{
    if (rank == 1) {
        flow::window(MPI_COMM_WORLD, 0, 500000);
        flow::priority(MPI_COMM_WORLD, 0, 5);
        const flow::state s = flow::look(MPI_COMM_WORLD, 0);
        expect(s.window_own == (strict ? 1 << 20 : 500000) && s.priority == 5, "what was set is told");
        expect(flow::look(MPI_COMM_WORLD, 2).window_own != 500000 && flow::look(MPI_COMM_WORLD, 2).priority == 0, "of that peer alone");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    std::vector<char> b(8 << 20, static_cast<char>(rank));
    if (rank == 0) {
        MPI_Send(b.data(), static_cast<int>(b.size()), MPI_BYTE, 1, 6, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(b.data(), static_cast<int>(b.size()), MPI_BYTE, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(std::all_of(b.begin(), b.end(), [](char c) { return c == 0; }), "8 MB through a window of 500 KB");
        flow::window(MPI_COMM_WORLD, 0, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Send(b.data(), static_cast<int>(b.size()), MPI_BYTE, 1, 6, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Recv(b.data(), static_cast<int>(b.size()), MPI_BYTE, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/** A variable of a communicator: one value for each rank, in its order. */
std::vector<unsigned long long> variable(const char *name, MPI_Comm comm)
{
    MPI_T_pvar_session session;
    std::vector<unsigned long long> v;
    int count = 0, provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_get_num(&count);
    for (int i = 0; i < count; ++i) {
        char found[256];
        int length = sizeof found, none = 0, verbosity, kind, bind, readonly, continuous, atomic, values = 0;
        MPI_Datatype type;
        MPI_T_enum names;
        MPI_T_pvar_handle handle;
        if (MPI_T_pvar_get_info(i, found, &length, &verbosity, &kind, &type, &names, nullptr, &none, &bind, &readonly, &continuous, &atomic)
                != MPI_SUCCESS
            || std::strcmp(found, name) != 0)
            continue;
        expect(bind == MPI_T_BIND_MPI_COMM && type == MPI_UNSIGNED_LONG_LONG, "bound to a communicator");
        if (MPI_T_pvar_handle_alloc(session, i, &comm, &handle, &values) == MPI_SUCCESS) {
            v.resize(static_cast<size_t>(values));
            if (MPI_T_pvar_read(session, handle, v.data()) != MPI_SUCCESS)
                v.clear();
            MPI_T_pvar_handle_free(session, &handle);
        }
    }
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    return v;
}

void tools_see_the_same()
{
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        flow::window(MPI_COMM_WORLD, 2, 7654321);
    for (const char *name : {"btl_udp_peer_delay_min", "btl_udp_peer_window_own", "btl_udp_peer_mtu"}) {
        const auto v = variable(name, MPI_COMM_WORLD), w = variable(name, reversed);
        expect(v.size() == static_cast<size_t>(ranks) && w.size() == v.size(), name);
        if (v.size() != static_cast<size_t>(ranks) || w.size() != v.size())
            continue;
        expect(v[static_cast<size_t>(rank)] == 0, "nothing of this process itself");
        expect(std::equal(v.begin(), v.end(), w.rbegin()), "ranks of a communicator in its order");
        if (rank == 0)
            expect(v[1] > 0 && v[2] > 0, "values of peers");
        if (rank == 1 && std::string(name) == "btl_udp_peer_window_own")
            expect(v[2] == 7654321 && v[0] != 7654321, "the peer's own value");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&reversed);
}

} // namespace

int main(int argc, char **argv)
{
    const bool without = argc > 1 && std::strcmp(argv[1], "without") == 0;
    strict = argc > 1 && std::strcmp(argv[1], "strict") == 0;
    expect(contains(refusal([] { flow::look(MPI_COMM_WORLD, 0); }), "--mca btl self,udp"), "before MPI_Init");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    expect(flow::open() == !without, "open");
    if (without) {
        expect(contains(refusal([] { flow::queue_length(MPI_COMM_WORLD, 0); }), "--mca btl self,udp"), "without btl/udp");
    } else {
        refusals();
        one_is_stopped();
        a_message_is_ready();
        set_and_used();
        tools_see_the_same();
    }
    int all = 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    expect(!flow::open(), "open after MPI_Finalize");
    if (rank == 0 && all == 0 && wrong == 0)
        std::puts("all right");
    return wrong != 0 || all != 0;
}
