/*
 * A job whose links are watched, across the C boundary: what the glue does before and after each blocking call.  Time goes on by a
 * tick at each look at the clock, so that a longer tick is a slower network.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TEST_WATCHED_JOB_HPP
#define WAN_TEST_WATCHED_JOB_HPP

#include "boundary_job.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <unistd.h>
#include <utility>

namespace wan_test {

struct watched_job {
    params p;
    std::vector<comm_ptr> comms;
    fabric f;
    int looks = 0, learned = 0, asked = 0, adopted = 0;
    size_t count = 1;           // of elements, of four bytes
    bool one_differs = false;                               // in what it holds of links measured elsewhere
    bool under_way = false;                                 // the question whether links have changed
    std::array<int64_t, WAN_CHECK_VOTES> votes{};

    /** links_file: of all ranks but `without`. */
    explicit watched_job(const std::vector<const char *> &sites, int64_t interval, char *links_file = nullptr, int without = -1)
        : f(static_cast<int>(sites.size()))
    {
        p.check_interval = interval;
        p.tree_peers = 10;
        p.links_file = links_file;
        wan_message_t faults;
        (void)wan_params_check(&p, &faults);
        for (int r = 0; r < static_cast<int>(sites.size()); ++r) {
            p.links_file = r == without ? nullptr : links_file;
            comms.push_back(open(p, peers_of(sites), r));
        }
        p.links_file = links_file;
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
    std::string ask()
    {
        if (std::string why = refresh(comms, f); !why.empty())
            return why;
        std::array<int64_t, WAN_CHECK_VOTES> mine{};
        size_t due = 0;
        for (size_t r = 0; r < comms.size(); ++r) {
            int code = wan_comm_defers(comms[r].get(), 4 * count, mine.data());
            if (code == WAN_OK)
                code = wan_comm_check(comms[r].get(), WAN_ALLREDUCE, f.port.now_ns(&f.ends[r]), mine.data());
            WAN_CHECK(code == WAN_OK || code == WAN_DONE);
            due += code == WAN_DONE;
            for (size_t i = 0; i < votes.size(); ++i)
                votes[i] = r == 0 ? mine[i] : std::min(votes[i], mine[i]);
        }
        WAN_CHECK(due == 0 || due == comms.size());
        votes[3] -= one_differs;
        under_way = due > 0;
        asked += under_way;
        return "";
    }
    /** And after it. */
    std::string answer()
    {
        if (!std::exchange(under_way, false))
            return "";
        int said = WAN_OK;
        for (size_t r = 0; r < comms.size(); ++r) {
            const int code = wan_comm_check_answer(comms[r].get(), votes.data());
            WAN_CHECK(r == 0 || code == said);
            said = code;
        }
        adopted += said == WAN_DECLINED;
        if (said != WAN_DONE)
            return "";
        ++looks;
        while (said == WAN_DONE)
            if (std::string why = measure(comms, f, &said); !why.empty())
                return why;
        learned += said == WAN_OK;
        return "";
    }
    /** inside: the tick in the calls themselves, not when links are measured; 0: as always. */
    std::string calls(int n, int64_t inside = 0)
    {
        for (int i = 0; i < n; ++i) {
            std::string ignored;
            if (std::string why = ask(); !why.empty())
                return why;
            const int64_t usual = std::exchange(f.tick, inside ? inside : f.tick);
            if (std::string why = plan(1000, true, &ignored, count); !why.empty())
                return why;
            f.tick = usual;
            if (std::string why = answer(); !why.empty())
                return why;
        }
        return "";
    }
};

/** Calls take long by turns, but what is measured does not: not the links.  Who has looked in vain looks ever less often. */
inline std::string look_in_vain(watched_job &j)
{
    const std::string told = j.description();
    const int learned = j.learned;
    for (int phase = 0; phase < 40; ++phase)
        if (std::string why = j.calls(300, phase % 2 ? 9000 : 1000); !why.empty())
            return why;
    WAN_CHECK_THAT(j.looks >= 1 && j.looks <= 8 && j.learned == learned && j.description() == told,
                   std::to_string(j.looks) + " looks, " + std::to_string(j.learned) + " times learned");
    return "";
}

inline std::string links_of(const watched_job &j)
{
    const std::string d = j.description();
    return d.substr(std::min(d.size(), d.find('\n')));
}

/** "farthest 70 us": times of few steps beside it depend on whose turn it is. */
inline std::string farthest(const watched_job &j)
{
    const std::string l = links_of(j);
    return l.substr(0, l.find(','));
}

/** A file of links, and what a job makes of it. */
struct file_of_links {
    std::string path = "watched_job." + std::to_string(getpid());
    ~file_of_links() { std::remove(path.c_str()); }
    std::string text() const
    {
        std::ifstream in(path);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    /** The same of sites with other names: this process remembers what it measured by these. */
    void rename(char from, char to) const
    {
        std::string t = text();
        for (size_t at = 0; (at = t.find(std::string(1, from), at)) != t.npos; ++at)
            if (at > 0 && t[at - 1] == ' ' && at + 1 < t.size() && t[at + 1] >= '1' && t[at + 1] <= '9')
                t[at] = to;
        std::ofstream(path) << t;
    }
};

} // namespace wan_test

#endif
