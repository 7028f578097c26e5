/*
 * The adaptive trees of communicators behind the C boundary, without Open MPI.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TEST_BOUNDARY_TREES_HPP
#define WAN_TEST_BOUNDARY_TREES_HPP

#include "boundary_job.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <vector>

namespace wan_test {

/** The adaptive trees of a job, whose messages arrive in order, each pair's after a time. */
struct trees_of_job {
    struct letter {
        int from, to;
        std::vector<char> bytes;
        int64_t due;
    };
    struct process {
        trees_of_job *all;
        int rank;
        wan_trees_t *trees = nullptr;
    };
    trees_of_job(const params &p_of_all, std::vector<comm_ptr> &those) : processes(those.size()), comms(those)
    {
        static uint32_t jobs = 0;       // what another one has measured is not known
        ++jobs;
        for (size_t r = 0; r < comms.size(); ++r)
            peers.push_back({static_cast<int>(r), jobs, static_cast<uint32_t>(r)});
        for (size_t r = 0; r < comms.size(); ++r) {
            process &p = processes[r] = {this, peers[r].process};
            int known;
            const auto send = [](void *ctx, int to, const void *head, size_t head_size, const void *rest, size_t size, size_t) {
                const auto &from = *static_cast<process *>(ctx);
                letter l{from.rank, to, {}, from.all->now + from.all->delay(from.rank, to)};
                l.bytes.assign(static_cast<const char *>(head), static_cast<const char *>(head) + head_size);
                l.bytes.insert(l.bytes.end(), static_cast<const char *>(rest), static_cast<const char *>(rest) + size);
                from.all->sent.push_back(std::move(l));
            };
            ready = ready && wan_trees_open(&p_of_all, jobs, send, &p, false, &p.trees) == WAN_OK
                    && wan_comm_use_trees(comms[r].get(), p.trees, 1, 0, peers.data(), now, &known) == WAN_OK;
        }
    }
    ~trees_of_job()
    {
        for (auto &c : comms)
            wan_comm_leave_trees(c.get());
        for (process &p : processes)
            wan_trees_close(p.trees);
    }
    /** Until nothing has been said for a minute; how many messages that took. */
    int settle()
    {
        int messages = 0;
        for (int idle = 0; idle < 60'000; ++idle) {
            for (process &p : processes)
                (void)wan_trees_step(p.trees, now);
            const auto next = std::min_element(sent.begin(), sent.end(), [](const letter &a, const letter &b) { return a.due < b.due; });
            if (next == sent.end() || next->due > now + 1'000'000) {
                now += 1'000'000;
                continue;
            }
            const letter l = std::move(*next);
            sent.erase(next);
            now = std::max(now, l.due);
            (void)wan_trees_receive(processes[static_cast<size_t>(l.to)].trees, l.from, l.bytes.data(), l.bytes.size(), now);
            ++messages, idle = 0;
        }
        return messages;
    }
    bool ready = true;
    int64_t now = 0;
    std::function<int64_t(int, int)> delay = [](int, int) { return 10'000; };
    std::deque<letter> sent;
    std::vector<wan_tree_peer_t> peers;
    std::vector<process> processes;
    std::vector<comm_ptr> &comms;
};

/** A communicator of two ranks in each of two sites. */
inline std::vector<comm_ptr> two_by_two(const params &p, const char *a, const char *b)
{
    std::vector<comm_ptr> comms;
    for (int r = 0; r < 4; ++r)
        comms.push_back(open(p, peers_of({a, a, b, b}), r));
    return comms;
}

/** What coll_wan_explain tells of it. */
inline std::string explained(const comm_ptr &comm)
{
    std::string text(static_cast<size_t>(wan_comm_explain(comm.get(), nullptr, 0)), ' ');
    wan_comm_explain(comm.get(), text.data(), text.size() + 1);
    return text;
}

} // namespace wan_test

#endif
