/*
 * Links that change, across the C boundary: asked, looked at, measured again, and
 * calls of earlier epochs planned as before.  Time goes on by a tick at each look
 * at the clock, so that a longer tick is a slower network.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boundary_job.hpp"

namespace {

using namespace wan_test;

struct watched_job {
    params p;
    std::vector<comm_ptr> comms;
    fabric f;
    int looks = 0, learned = 0, asked = 0;

    explicit watched_job(const std::vector<const char *> &sites, int64_t interval) : f(static_cast<int>(sites.size()))
    {
        p.check_interval = interval;
        p.tree_peers = 10;
        for (size_t r = 0; r < sites.size(); ++r)
            comms.push_back(open(p, peers_of(sites), static_cast<int>(r)));
    }

    std::string description() const
    {
        char text[500];
        wan_comm_describe(comms[0].get(), text, sizeof text);
        return text;
    }

    /** An allreduce of `count` elements, of what was known in `epoch`; its plan. */
    std::string plan(unsigned epoch, bool blocks, std::string *text, size_t count = 1)
    {
        std::vector<std::vector<uint32_t>> in(comms.size(), std::vector<uint32_t>(count, 1)), out(in);
        f.extent = sizeof(uint32_t);
        for (size_t r = 0; r < comms.size(); ++r) {
            wan_call_t call = call_of(WAN_ALLREDUCE, 0, count, 4, in[r].data(), out[r].data());
            call.epoch = epoch;
            call.blocks = blocks;
            WAN_CHECK(wan_run_begin(comms[r].get(), &call, &f.port, &f.ends[r], &f.ends[r].run) == WAN_OK);
        }
        char said[300];
        wan_run_describe(f.ends[0].run, said, sizeof said);
        *text = said;
        WAN_CHECK(f.run_all() == WAN_DONE && f.empty());
        for (auto &e : f.ends) {
            wan_run_release(e.run);
            e.run = nullptr;
            e.scratch.clear();
        }
        for (const auto &v : out)
            for (uint32_t x : v)
                WAN_CHECK(x == comms.size());
        return "";
    }

    /** What the glue does before a blocking call, on all ranks. */
    std::string check()
    {
        std::array<int64_t, WAN_CHECK_VOTES> all{}, mine{};
        size_t due = 0;
        for (size_t r = 0; r < comms.size(); ++r) {
            const int code = wan_comm_check(comms[r].get(), WAN_ALLREDUCE, f.port.now_ns(&f.ends[r]), mine.data());
            WAN_CHECK(code == WAN_OK || code == WAN_DONE);
            due += code == WAN_DONE;
            for (size_t i = 0; i < all.size(); ++i)
                all[i] = r == 0 ? mine[i] : std::min(all[i], mine[i]);
        }
        WAN_CHECK(due == 0 || due == comms.size());
        if (due == 0)
            return "";
        ++asked;
        int answer = WAN_OK;
        for (size_t r = 0; r < comms.size(); ++r) {
            const int code = wan_comm_check_answer(comms[r].get(), all.data());
            WAN_CHECK(r == 0 || code == answer);
            answer = code;
        }
        if (answer == WAN_OK)
            return "";
        ++looks;
        while (answer == WAN_DONE)
            if (std::string why = measure(comms, f, &answer); !why.empty())
                return why;
        learned += answer == WAN_OK;
        return "";
    }

    std::string calls(int n)
    {
        for (int i = 0; i < n; ++i) {
            std::string ignored;
            if (std::string why = check(); !why.empty())
                return why;
            if (std::string why = plan(1000, true, &ignored); !why.empty())
                return why;
        }
        return "";
    }
};

/** The adaptive trees of a job, whose messages arrive at once and in order. */
struct trees_of_job {
    struct letter {
        int from, to;
        std::vector<char> bytes;
    };
    struct process {
        trees_of_job *all;
        int rank;
        wan_trees_t *trees = nullptr;
    };
    explicit trees_of_job(watched_job &j) : processes(j.comms.size()), comms(j.comms)
    {
        std::vector<int> ranks;
        for (size_t r = 0; r < comms.size(); ++r)
            ranks.push_back(static_cast<int>(r));
        for (size_t r = 0; r < comms.size(); ++r) {
            process &p = processes[r] = {this, ranks[r]};
            const auto send = [](void *ctx, int to, const void *head, size_t head_size, const void *rest, size_t size, size_t) {
                const auto &from = *static_cast<process *>(ctx);
                letter l{from.rank, to, {}};
                l.bytes.assign(static_cast<const char *>(head), static_cast<const char *>(head) + head_size);
                l.bytes.insert(l.bytes.end(), static_cast<const char *>(rest), static_cast<const char *>(rest) + size);
                from.all->sent.push_back(std::move(l));
            };
            ready = ready && wan_trees_open(&j.p, send, &p, &p.trees) == WAN_OK
                    && wan_comm_use_trees(comms[r].get(), p.trees, 1, ranks.data(), now) == WAN_OK;
        }
    }
    ~trees_of_job()
    {
        for (auto &c : comms)
            wan_comm_leave_trees(c.get());
        for (process &p : processes)
            wan_trees_close(p.trees);
    }
    /** Until nothing has been said for a second; how many messages that took. */
    int settle()
    {
        int messages = 0;
        for (int idle = 0; idle < 1000; ++idle, now += 1'000'000) {
            for (process &p : processes)
                (void)wan_trees_step(p.trees, now);
            for (; !sent.empty(); ++messages, idle = 0) {
                const letter l = std::move(sent.front());
                sent.pop_front();
                now += 10'000;
                (void)wan_trees_receive(processes[static_cast<size_t>(l.to)].trees, l.from, l.bytes.data(), l.bytes.size(), now);
            }
        }
        return messages;
    }
    bool ready = true;
    int64_t now = 0;
    std::deque<letter> sent;
    std::vector<process> processes;
    std::vector<comm_ptr> &comms;
};

std::string check_change()
{
    watched_job j({"l1", "l1", "l2", "l2", "l3"}, 1);
    if (std::string why = bring_up(j.comms, j.f); !why.empty())
        return why;
    trees_of_job trees(j);
    WAN_CHECK(trees.ready && trees.settle() > 0 && trees.settle() == 0);
    std::string before, first, latest;
    if (std::string why = j.plan(0, false, &before); !why.empty())
        return why;
    if (std::string why = j.calls(2000); !why.empty())
        return why;
    WAN_CHECK_THAT(j.asked > 3 && j.looks == 0 && j.learned == 0,
                   std::to_string(j.asked) + " questions, " + std::to_string(j.looks) + " looks though nothing changed");
    WAN_CHECK(trees.settle() == 0);
    j.f.tick = 5000;
    if (std::string why = j.calls(2000); !why.empty())
        return why;
    WAN_CHECK_THAT(j.looks >= 1 && j.learned == 1, std::to_string(j.looks) + " looks, " + std::to_string(j.learned) + " times learned");
    WAN_CHECK_THAT(trees.settle() > 0, "adaptive trees do not measure again");
    // Who asks for the first epoch gets the plan of then, and its prediction.
    if (std::string why = j.plan(0, false, &first); !why.empty())
        return why;
    if (std::string why = j.plan(1, false, &latest); !why.empty())
        return why;
    WAN_CHECK_THAT(first == before && latest != before, before + " | " + first + " | " + latest);
    // Also where no such call was planned then.
    if (std::string why = j.plan(0, false, &first, 5); !why.empty())
        return why;
    if (std::string why = j.plan(1, false, &latest, 5); !why.empty())
        return why;
    WAN_CHECK_THAT(first != latest, first + " | " + latest);
    j.f.tick = 1000;
    if (std::string why = j.calls(3000); !why.empty())
        return why;
    WAN_CHECK_THAT(j.learned == 2, "links became faster, learned " + std::to_string(j.learned) + " times");
    return "";
}

std::string check_vain_looks()
{
    watched_job j({"m1", "m1", "m2", "m2", "m3"}, 1);
    if (std::string why = bring_up(j.comms, j.f); !why.empty())
        return why;
    const std::string told = j.description();
    // Calls take long now, but what is measured does not: not the links.
    for (int phase = 0; phase < 6; ++phase) {
        for (int call = 0; call < 300; ++call) {
            j.f.tick = 1000;
            if (std::string why = j.check(); !why.empty())
                return why;
            j.f.tick = phase % 2 ? 9000 : 1000;
            std::string ignored;
            if (std::string why = j.plan(1000, true, &ignored); !why.empty())
                return why;
        }
    }
    WAN_CHECK_THAT(j.looks >= 1 && j.looks <= 8 && j.learned == 0 && j.description() == told,
                   std::to_string(j.looks) + " looks, " + std::to_string(j.learned) + " times learned");
    watched_job never({"n1", "n2"}, 0);
    if (std::string why = bring_up(never.comms, never.f); !why.empty())
        return why;
    if (std::string why = never.calls(500); !why.empty())
        return why;
    WAN_CHECK(never.asked == 0);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_change>), cmocka_unit_test(test<check_vain_looks>)};
    return cmocka_run_group_tests_name("boundary_links", tests, nullptr, nullptr);
}
