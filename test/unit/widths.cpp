/*
 * Widths of the ways between sites (model/widths.hpp) on simulated networks: connections, interfaces
 * and the links between sites each with a rate, shared fairly.  What is found must be what was
 * simulated: what one connection gets, and what all together; where a link is full with one,
 * one; and links must not be busy for long with it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "model/widths.hpp"

#include "planned.hpp"
#include "matrix.hpp"
#include "plan/shared_ways.hpp"
#include "unit.hpp"

#include <cmath>
#include <random>

namespace {

using namespace wan;
using namespace wan_test;

constexpr double ms = 1e6;
constexpr double mbit(double rate) { return rate / 8000; }     // bytes/ns

struct network {
    topology topo;
    double nic, flow;                           // bytes/ns: of a host, of a connection to another site
    std::vector<std::vector<double>> link;      // from site to site
    double far_ns = 10 * ms, near_ns = 0.05 * ms;

    size_t site(int rank) const { return static_cast<size_t>(value(topo.site_of(rank))); }
    double latency(int a, int b) const { return site(a) == site(b) ? near_ns : far_ns; }
};

network alike(const topology &t, double nic, double flow, double link)
{
    const auto n = static_cast<size_t>(t.site_count());
    return {t, nic, flow, std::vector<std::vector<double>>(n, std::vector<double>(n, link))};
}

/** One connection in a step. */
struct passage {
    int from, to;
    double start_ns, left;
    double rate = 0, end_ns = -1;
};

/** Each as much as all get, or less where its own limits are less. */
void share(const network &n, std::vector<passage *> active)
{
    std::map<std::pair<int, size_t>, double> room;      // kind of limit, whose
    const auto limits = [&](const passage &p) {
        const size_t a = n.site(p.from), b = n.site(p.to);
        return std::vector<std::pair<std::pair<int, size_t>, double>>{{{0, static_cast<size_t>(p.from)}, n.nic},
                                                                      {{1, static_cast<size_t>(p.to)}, n.nic},
                                                                      {{2, a * 1000 + b}, n.link[a][b]},
                                                                      {{3, static_cast<size_t>(p.from) * 10'000 + static_cast<size_t>(p.to)}, n.flow}};
    };
    for (const passage *p : active)
        for (const auto &[who, rate] : limits(*p))
            room[who] = rate;
    while (!active.empty()) {
        std::map<std::pair<int, size_t>, int> users;
        for (const passage *p : active)
            for (const auto &l : limits(*p))
                ++users[l.first];
        auto tight = users.begin()->first;
        for (const auto &[who, count] : users)
            if (room[who] / count < room[tight] / users[tight])
                tight = who;
        const double each = room[tight] / users[tight];
        std::vector<passage *> rest, fixed;
        for (passage *p : active) {
            bool here = false;
            for (const auto &l : limits(*p))
                here |= l.first == tight;
            (here ? fixed : rest).push_back(p);
        }
        for (passage *p : fixed) {
            p->rate = each;
            for (const auto &l : limits(*p))
                room[l.first] -= each;
        }
        if (rest.empty())
            break;
        active = rest;
    }
}

/** How long each link was in use. */
using usage = std::map<std::pair<size_t, size_t>, double>;

void transfer(const network &n, std::vector<passage> &all, usage &busy)
{
    double now = 0;
    for (bool more = true; more;) {
        std::vector<passage *> active;
        double next = INFINITY;
        for (passage &p : all)
            if (p.end_ns < 0 && p.start_ns <= now)
                active.push_back(&p);
            else if (p.end_ns < 0)
                next = std::min(next, p.start_ns);
        if (!active.empty())
            share(n, active);
        for (const passage *p : active)
            next = std::min(next, now + p->left / p->rate);
        more = next < INFINITY;
        if (!more)
            break;
        std::map<std::pair<size_t, size_t>, bool> used;
        for (passage *p : active) {
            p->left -= p->rate * (next - now);
            used[{n.site(p->from), n.site(p->to)}] = true;
            if (p->left < 1e-6)
                p->end_ns = next;
        }
        for (const auto &u : used)
            busy[u.first] += next - now;
        now = next;
    }
}

/** One step on all ranks; their clocks go on. */
std::string run_step(const network &n, const std::vector<schedule> &of, const std::vector<double> &bytes, std::vector<double> &clock, usage &busy)
{
    std::vector<std::vector<double>> done;
    for (const schedule &s : of)
        done.emplace_back(s.ops.size(), -1);
    const auto ready = [&](size_t r, const op &o) {
        double at = clock[r];
        for (uint32_t k = o.pred_begin; k < o.pred_begin + o.pred_count; ++k) {
            const double d = done[r][of[r].preds[k]];
            if (d < 0)
                return -1.0;
            at = std::max(at, d);
        }
        return at;
    };
    for (bool more = true; more;) {
        more = false;
        for (size_t r = 0; r < of.size(); ++r)
            for (size_t i = 0; i < of[r].ops.size(); ++i) {
                const op &o = of[r].ops[i];
                double at = done[r][i] < 0 ? ready(r, o) : -1;
                if (at >= 0 && o.kind == op_kind::await) {
                    const auto peer = static_cast<size_t>(o.peer);
                    double sent = -1;
                    for (size_t k = 0; k < of[peer].ops.size(); ++k)
                        if (const op &x = of[peer].ops[k]; x.kind == op_kind::signal && x.peer == static_cast<int>(r) && x.label == o.label)
                            sent = done[peer][k];
                    at = sent < 0 ? -1 : std::max(at, sent + n.latency(static_cast<int>(r), o.peer));
                }
                if (at >= 0 && !o.carries()) {
                    done[r][i] = at;
                    more = true;
                }
            }
    }
    std::vector<passage> all;
    for (size_t r = 0; r < of.size(); ++r) {
        std::map<int, passage> to;
        for (const op &o : of[r].ops)
            if (o.kind == op_kind::send) {
                const double at = ready(r, o);
                WAN_CHECK_THAT(at >= 0, "rank " + std::to_string(r) + " never sends");
                passage &p = to.try_emplace(o.peer, passage{static_cast<int>(r), o.peer, at, 0}).first->second;
                p.left += bytes[r];
                p.start_ns = std::max(p.start_ns, at);
            }
        for (const auto &[peer, p] : to)
            all.push_back(p);
    }
    transfer(n, all, busy);
    for (size_t r = 0; r < of.size(); ++r)
        for (size_t i = 0; i < of[r].ops.size(); ++i)
            WAN_CHECK_THAT(of[r].ops[i].carries() || done[r][i] >= 0, "rank " + std::to_string(r) + " waits for ever");
    for (const auto &d : done)
        for (double at : d)
            clock[static_cast<size_t>(&d - done.data())] = std::max(clock[static_cast<size_t>(&d - done.data())], at);
    for (const passage &p : all) {
        auto &from = clock[static_cast<size_t>(p.from)], &to = clock[static_cast<size_t>(p.to)];
        from = std::max(from, p.end_ns);
        to = std::max(to, p.end_ns + n.latency(p.from, p.to));
    }
    return "";
}

struct outcome {
    fact_vector known{};
    usage busy;
    int rounds = 0;
};

/** What all ranks find together in a round. */
std::string measure_round(const network &n, outcome &o, int round, std::mt19937_64 &random, fact_vector &found, const fact_vector &seen = {})
{
    const auto ranks = static_cast<size_t>(n.topo.size());
    std::vector<std::unique_ptr<measurement>> all;
    std::vector<double> clock(ranks);
    for (size_t r = 0; r < ranks; ++r) {
        all.push_back(std::make_unique<widths>(n.topo, static_cast<int>(r), o.known, round, seen));
        clock[r] = static_cast<double>(random() % 5'000'000);
    }
    for (;;) {
        std::vector<schedule> steps;
        std::vector<double> bytes;
        for (auto &m : all)
            if (auto s = m->next()) {
                bytes.push_back(static_cast<double>(m->message_bytes()));
                const std::string why = verify_static(*s);
                WAN_CHECK_THAT(why.empty(), why);
                steps.push_back(std::move(*s));
            }
        WAN_CHECK_THAT(steps.empty() || steps.size() == ranks, "ranks do not agree on the number of runs");
        if (steps.empty())
            break;
        const std::vector<double> before = clock;
        if (std::string why = run_step(n, steps, bytes, clock, o.busy); !why.empty())
            return "round " + std::to_string(round) + ": " + why;
        for (size_t r = 0; r < ranks; ++r)
            all[r]->record(static_cast<int64_t>(clock[r] - before[r]));
    }
    for (auto &m : all) {
        const fact_vector v = m->measured();
        for (size_t i = 0; i < v.size(); ++i) {
            WAN_CHECK_THAT(v[i] == 0 || (i >= fact::first_flow_ps && i < fact::pairs_end), "widths alone");
            found[i] = std::max(found[i], v[i]);
        }
    }
    return "";
}

std::string find(const network &n, outcome &o, uint64_t seed = 1)
{
    std::mt19937_64 random(seed);
    o.known[fact::byte_ps] = static_cast<int64_t>(1000 / n.nic);
    o.known[fact::farthest_ns] = static_cast<int64_t>(n.far_ns);
    for (int round = widths::next_round(n.topo, o.known, 0); round < widths::rounds; round = widths::next_round(n.topo, o.known, round + 1)) {
        ++o.rounds;
        fact_vector found{};
        if (std::string why = measure_round(n, o, round, random, found); !why.empty())
            return why;
        for (size_t i = 0; i < found.size(); ++i)
            if (found[i] > 0)
                o.known[i] = found[i];
    }
    return "";
}

bool near(int64_t ps, double rate, double part = 0.1) { return std::abs(static_cast<double>(ps) * rate / 1000 - 1) <= part; }
std::string rates(const facts &f)
{
    return "a connection " + std::to_string(f.pair(f.flow_ps, 0, 1)) + ", the link " + std::to_string(f.pair(f.link_ps, 0, 1)) + " ps a byte";
}

/** Two sites: what limits, and what must be found of it. */
std::string check_two_sites()
{
    struct {
        int hosts;
        double nic, flow, link;     // Mb/s
        double one, all;            // found; one 0: as fast as the link
    } const cases[] = {
        {4, 100, 1000, 100, 0, 100},    // one host fills the link: no aggregate of two
        {16, 100, 1000, 100, 0, 100},
        {8, 1000, 1000, 20, 0, 20},     // and a slow one, of fast interfaces
        {2, 100, 1000, 400, 100, 200},  // interfaces limit
        {4, 100, 1000, 400, 100, 400},
        {8, 100, 1000, 400, 100, 400},  // 4 of 8 hosts fill it
        {16, 40, 1000, 400, 40, 400},
        {8, 1000, 50, 300, 50, 300},    // connections do
        {8, 1000, 50, 1000, 50, 400},
        {4, 1000, 300, 400, 0, 400},    // not worth telling apart
        {24, 100, 1000, 1600, 100, 1600},
    };
    for (const auto &c : cases) {
        const std::string what = std::to_string(c.hosts) + " hosts, interfaces of " + std::to_string(c.nic) + ", connections of " + std::to_string(c.flow)
                                 + ", link of " + std::to_string(c.link) + " Mb/s: ";
        outcome o;
        const topology t = two_sites(c.hosts);
        if (std::string why = find(alike(t, mbit(c.nic), mbit(c.flow), mbit(c.link)), o); !why.empty())
            return what + why;
        const facts f = facts_from(t, o.known);
        const int64_t one = f.pair(f.flow_ps, 0, 1), all = f.pair(f.link_ps, 0, 1);
        WAN_CHECK_THAT(c.one == 0 ? one == 0 : near(one, mbit(c.one)), what + rates(f));
        WAN_CHECK_THAT(near(all, mbit(c.all)), what + rates(f));
        WAN_CHECK(all == f.pair(f.link_ps, 1, 0) && one == f.pair(f.flow_ps, 1, 0));
        WAN_CHECK_THAT(widths::next_round(t, o.known, 0) == widths::rounds, what + "would begin anew");
        // The number of links that it takes, no more.
        const auto fill = static_cast<uint32_t>(std::ceil(c.one > 0 ? c.all / c.one - 0.2 : 1));
        const uint32_t enough = shared_ways::enough_links(f);
        WAN_CHECK_THAT(enough >= fill && enough <= fill + 1, what + std::to_string(enough) + " links instead of " + std::to_string(fill));
        // Half a second of a link, each way.
        for (const auto &[way, ns] : o.busy)
            WAN_CHECK_THAT(ns <= 500 * ms || c.link < c.nic / 4, what + "busy for " + std::to_string(ns / ms) + " ms");
    }
    return "";
}

/** Sites with one host have nothing to find; more sites, unequal, and both ways unlike: each pair by itself, the slower way counts. */
std::string check_more_sites()
{
    outcome none;
    if (std::string why = find(alike(topology::blocks(std::vector<int>{1, 4}), mbit(100), mbit(100), mbit(100)), none); !why.empty())
        return why;
    WAN_CHECK(none.rounds == 0);
    outcome many;
    if (std::string why = find(alike(topology::blocks(std::vector<int>(11, 2)), mbit(100), mbit(100), mbit(100)), many); !why.empty())
        return why;
    WAN_CHECK(many.rounds == 0);
    std::mt19937_64 random(test_seed());
    for (int trial = 0; trial < 40; ++trial) {
        const int sites = 2 + static_cast<int>(random() % (trial % 8 ? 4 : 9));
        std::vector<int> hosts;
        for (int s = 0; s < sites; ++s)
            hosts.push_back(1 + static_cast<int>(random() % 9));
        const topology t = lay_out(hosts, static_cast<placement>(trial % 3), 1 + trial % 2, random());
        network n = alike(t, mbit(100), mbit(trial % 4 ? 1000 : 60), 0);
        for (auto &row : n.link)
            for (double &x : row)
                x = mbit(static_cast<double>(30 + random() % 600));
        n.far_ns = static_cast<double>(2 + random() % 30) * ms;
        outcome o;
        if (std::string why = find(n, o, random()); !why.empty())
            return "trial " + std::to_string(trial) + ": " + why;
        const facts f = facts_from(t, o.known);
        for (int a = 0; a < sites; ++a)
            for (int b = a + 1; b < sites; ++b) {
                const int least = std::min(t.node_count(site_at(a)), t.node_count(site_at(b)));
                const auto from = static_cast<size_t>(a), to = static_cast<size_t>(b);
                const double link = std::min(n.link[from][to], n.link[to][from]);
                const double one = std::min({n.nic, n.flow, link}), all = std::min(link, least * std::min(n.nic, n.flow));
                const std::string what = "trial " + std::to_string(trial) + ", sites " + std::to_string(a) + " " + std::to_string(b) + " of "
                                         + std::to_string(least) + " hosts: " + std::to_string(one * 8000) + " and " + std::to_string(all * 8000)
                                         + " Mb/s found as " + std::to_string(f.pair(f.flow_ps, a, b)) + " and " + std::to_string(f.pair(f.link_ps, a, b)) + " ps";
                if (least < 2) {
                    WAN_CHECK_THAT(f.pair(f.link_ps, a, b) == 0 && f.pair(f.flow_ps, a, b) == 0, what);
                    continue;
                }
                // Near one and a half times, or where two of them carry less than twice as much, either is right.
                if (all < 1.3 * one)
                    WAN_CHECK_THAT(f.pair(f.flow_ps, a, b) == 0 && near(f.pair(f.link_ps, a, b), all, 0.3), what);
                else if (all > 1.7 * one)
                    WAN_CHECK_THAT(near(f.pair(f.flow_ps, a, b), one) && near(f.pair(f.link_ps, a, b), all, 0.12), what);
            }
    }
    return "";
}

/** What a job of few hosts has found of a link, as a file tells it: one of more hosts goes on from there, and is not held to it meanwhile. */
std::string check_other_jobs()
{
    struct {
        double nic, link;
        int few, many;
        double all_few, all_many;
        bool filled;
    } const cases[] = {
        {100, 1600, 2, 24, 200, 1600, false},
        {100, 1600, 5, 24, 500, 1600, false},
        {100, 1600, 8, 24, 800, 1600, false},
        {100, 120, 2, 24, 120, 120, true},
        {100, 100, 4, 16, 100, 100, true},
        {100, 300, 8, 24, 300, 300, true},
    };
    for (const auto &c : cases) {
        const std::string what = std::to_string(c.few) + " and " + std::to_string(c.many) + " hosts, a link of " + std::to_string(c.link) + ": ";
        const topology small = two_sites(c.few), large = two_sites(c.many);
        outcome o, more;
        if (std::string why = find(alike(small, mbit(c.nic), mbit(1000), mbit(c.link)), o); !why.empty())
            return what + why;
        WAN_CHECK_THAT(near(facts_from(small, o.known).pair(facts_from(small, o.known).link_ps, 0, 1), mbit(c.all_few)), what + rates(facts_from(small, o.known)));
        WAN_CHECK_THAT((widths::next_round(large, o.known, 0) == widths::rounds) == c.filled, what + "whether there is more to find");
        const facts meanwhile = facts_from(large, o.known);
        WAN_CHECK_THAT((meanwhile.pair(meanwhile.link_ps, 0, 1) > 0) == c.filled, what + "held to " + rates(meanwhile));
        more.known = o.known;
        if (std::string why = find(alike(large, mbit(c.nic), mbit(1000), mbit(c.link)), more); !why.empty())
            return what + why;
        const facts f = facts_from(large, more.known);
        WAN_CHECK_THAT(near(f.pair(f.link_ps, 0, 1), mbit(c.all_many)), what + rates(f));
        // And back: more is known than is needed.
        WAN_CHECK_THAT(widths::next_round(small, more.known, 0) == widths::rounds && widths::next_round(large, more.known, 0) == widths::rounds, what);
        // A file of before does not tell of how many hosts.
        more.known[*fact_of_pair(0, 1, 2, fact::first_link_hosts)] = 0;
        WAN_CHECK_THAT(widths::next_round(large, more.known, 0) == 1, what + "an older file");
    }
    return "";
}

/** A way that carries a third, or three times as much: seen in a look that takes little, where one connection tells and where only several do; not where it is a quarter more or less. */
std::string check_looks()
{
    struct {
        double nic, flow, link, now;    // Mb/s; the link's
        bool differs;
    } const cases[] = {
        {100, 1000, 90, 30, true},  {100, 1000, 30, 90, true},   {100, 1000, 90, 68, false}, {100, 1000, 60, 75, false}, {100, 1000, 90, 90, false},
        {1000, 50, 300, 100, true}, {1000, 50, 120, 360, true},  {1000, 50, 300, 230, false}, {1000, 50, 300, 300, false},
    };
    for (const auto &c : cases) {
        const std::string what = "connections of " + std::to_string(c.flow) + ", a link of " + std::to_string(c.link) + " that has " + std::to_string(c.now) + " now: ";
        const topology t = topology::blocks(std::vector<int>{8, 8, 8});
        outcome o;
        network n = alike(t, mbit(c.nic), mbit(c.flow), mbit(c.link));
        WAN_CHECK(!widths::any(t, o.known));
        if (std::string why = find(n, o); !why.empty())
            return what + why;
        const facts before = facts_from(t, o.known);
        n.link[2][0] = mbit(c.now);     // one way, unless that is faster
        if (c.now > c.link)
            n.link[0][2] = mbit(c.now);
        o.busy.clear();
        fact_vector seen{};
        std::mt19937_64 random(test_seed());
        if (std::string why = measure_round(n, o, widths::a_look, random, seen); !why.empty())
            return what + why;
        for (const auto &[way, ns] : o.busy)
            WAN_CHECK_THAT(ns <= 150 * ms, what + "busy for " + std::to_string(ns / ms) + " ms");
        // And again, for no longer than where nothing has changed.
        o.busy.clear();
        fact_vector twice{};
        if (std::string why = measure_round(n, o, widths::a_look, random, twice, seen); !why.empty())
            return what + why;
        for (const auto &[way, ns] : o.busy)
            WAN_CHECK_THAT(ns <= 60 * ms, what + "busy again for " + std::to_string(ns / ms) + " ms");
        WAN_CHECK_THAT(widths::corrected(t, o.known, twice).has_value() == c.differs, what + "seen otherwise again");
        const auto now = widths::corrected(t, o.known, seen);
        WAN_CHECK_THAT(now.has_value() == c.differs, what + (now ? "seen" : "not seen"));
        if (!now)
            continue;
        const facts f = facts_from(t, *now);
        const double least = std::min(c.nic, c.now);
        // (Four fill the link of 120 that fills three times as many later: what those get is no limit yet.)
        WAN_CHECK_THAT(near(f.pair(f.link_ps, 0, 2), mbit(least), c.now > c.link ? 0.5 : 0.2), what + std::to_string(f.pair(f.link_ps, 0, 2)) + " ps");
        WAN_CHECK_THAT(f.pair(f.link_ps, 0, 1) == before.pair(before.link_ps, 0, 1) && f.pair(f.flow_ps, 1, 2) == before.pair(before.flow_ps, 1, 2), what + "others");
        o.known = *now;
        WAN_CHECK_THAT(widths::next_round(t, o.known, 0) == 1, what + "is not measured again");
        if (std::string why = find(n, o); !why.empty())
            return what + why;
        const facts again = facts_from(t, o.known);
        WAN_CHECK_THAT(near(again.pair(again.link_ps, 0, 2), mbit(least)), what + rates(again));
    }
    return "";
}

/** What more hosts have measured, in a job of fewer: nothing has changed.  Two looks must see the same. */
std::string check_looks_of_others()
{
    const topology large = two_sites(8), small = two_sites(2);
    outcome o;
    if (std::string why = find(alike(large, mbit(100), mbit(1000), mbit(1600)), o); !why.empty())
        return why;
    std::mt19937_64 random(test_seed());
    for (const topology &t : {large, small}) {
        fact_vector seen{};
        if (std::string why = measure_round(alike(t, mbit(100), mbit(1000), mbit(1600)), o, widths::a_look, random, seen); !why.empty())
            return why;
        WAN_CHECK_THAT(!widths::corrected(t, o.known, seen), std::to_string(t.size()) + " hosts");
    }
    const size_t flow = *fact_of_pair(0, 1, 2, fact::first_flow_ps);
    const auto looks = [&](double first, double second) {
        fact_vector a = o.known, b = o.known;
        a[flow] = static_cast<int64_t>(first * static_cast<double>(a[flow])), b[flow] = static_cast<int64_t>(second * static_cast<double>(b[flow]));
        return static_cast<double>(widths::agreed(o.known, a, b)[flow]) / static_cast<double>(o.known[flow]);
    };
    for (const auto &[first, second, agreed] : {std::tuple{3., 4., 3.}, {4., 3., 3.}, {3., 0.25, 1.}, {0.25, 3., 1.}, {0.25, 0.5, 0.5}, {3., 1., 1.}, {0.25, 1., 1.}})
        WAN_CHECK_THAT(std::abs(looks(first, second) - agreed) < 0.01, std::to_string(first) + " and " + std::to_string(second));
    WAN_CHECK(widths::any(large, o.known) && !widths::any(large, widths::without(o.known)));
    return "";
}

/** What plans make of it. */
std::string check_plans()
{
    const topology t = two_sites(8);
    const auto of = [&](double nic, double flow, double link) {
        outcome o;
        (void) find(alike(t, mbit(nic), mbit(flow), mbit(link)), o);
        return facts_from(t, o.known);
    };
    for (wan_collective_t c : {WAN_BCAST, WAN_ALLREDUCE, WAN_REDUCE}) {
        const request r = call(c, 4 << 20);
        const auto limited = choose(t, of(1000, 50, 400), {}, r), shared = choose(t, of(500, 1000, 100), {}, r);
        wishes one;
        one.links = 1;
        const auto alone = choose(t, of(1000, 50, 400), one, r);
        WAN_CHECK_THAT(limited->links >= 4, print(*limited));
        WAN_CHECK_THAT(alone->predicted_ns > 3 * limited->predicted_ns && alone->predicted_ns >= 4 * 8 * 20 * 1'000'000, print(*alone));
        WAN_CHECK_THAT(shared->links <= 2, print(*shared));
    }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_two_sites>), cmocka_unit_test(test<check_more_sites>), cmocka_unit_test(test<check_other_jobs>), cmocka_unit_test(test<check_looks>), cmocka_unit_test(test<check_looks_of_others>), cmocka_unit_test(test<check_plans>)};
    return cmocka_run_group_tests_name("widths", tests, nullptr, nullptr);
}
