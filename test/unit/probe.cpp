/*
 * The probe over the in-memory port: on any topology it ends everywhere after
 * the same number of runs, and what it measured becomes facts.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "model/probe.hpp"

#include "matrix.hpp"
#include "unit.hpp"

#include <random>
#include <sstream>

namespace {

using namespace wan;
using namespace wan_test;

/** Runs step k of all ranks together; each rank's clock says `ns(step)`. */
std::string run(const topology &t, std::vector<fact_vector> &measured, int *runs_made = nullptr)
{
    const size_t ranks = static_cast<size_t>(t.size());
    std::vector<std::unique_ptr<probe>> all;
    for (size_t r = 0; r < ranks; ++r)
        all.push_back(std::make_unique<probe>(t, static_cast<int>(r)));
    for (int step = 0;; ++step) {
        std::vector<std::unique_ptr<engine>> engines;
        std::vector<std::vector<char>> data(ranks);
        memory_fabric fabric(static_cast<int>(ranks), 1, static_cast<uint64_t>(step), [](const void *, void *, size_t) {});
        size_t ended = 0;
        std::vector<bool> busy(ranks);
        for (size_t r = 0; r < ranks; ++r) {
            auto s = all[r]->next();
            if (!s) {
                ++ended;
                continue;
            }
            const std::string why = verify_static(*s);
            WAN_CHECK_THAT(why.empty(), why);
            busy[r] = !s->ops.empty();
            // What answers a measured message must wait for it, or nothing is measured.
            const bool starts = !s->ops.empty() && s->ops[0].kind == op_kind::send;
            for (const op &o : s->ops)
                WAN_CHECK_THAT(starts || o.kind != op_kind::send || o.pred_count > 0, "step " + std::to_string(step) + " answers before it heard");
            const size_t bytes = all[r]->message_bytes();
            data[r].resize(bytes);
            engines.push_back(std::make_unique<engine>(std::make_shared<const program>(std::move(*s)),
                binding{.in = data[r].data(), .out = data[r].data(), .count = bytes, .segment = bytes, .window = 1, .extent = 1},
                fabric.port(), fabric.context(static_cast<int>(r))));
        }
        WAN_CHECK_THAT(ended == 0 || ended == ranks, "ranks do not agree on the number of runs: " + std::to_string(ended) + " ended at " + std::to_string(step));
        if (runs_made)
            *runs_made = step;
        if (ended)
            break;
        const std::string why = fabric.run(engines);
        WAN_CHECK_THAT(why.empty(), "step " + std::to_string(step) + ": " + why);
        for (size_t r = 0; r < ranks; ++r)
            all[r]->record(busy[r] ? 2'000'000 + 1000 * step : 1);
        WAN_CHECK(step < 1000);
    }
    for (auto &p : all)
        measured.push_back(p->measured());
    return "";
}

fact_vector combine(const std::vector<fact_vector> &all)
{
    fact_vector v{};
    for (const auto &x : all)
        for (size_t i = 0; i < v.size(); ++i)
            v[i] = std::max(v[i], x[i]);
    return v;
}

std::string check_shapes()
{
    for (const auto &sizes : {std::vector<int>{1, 1}, {2, 1}, {4, 4}, {3, 1, 5}, {1, 1, 1, 1, 1}, std::vector<int>(10, 2), std::vector<int>(11, 1), std::vector<int>(16, 3)})
        for (auto how : {placement::block, placement::roundrobin, placement::shuffled})
            for (int lanes : {1, 2}) {
                const topology t = lay_out(sizes, how, lanes, 5);
                std::vector<fact_vector> measured;
                int runs = 0;
                if (std::string why = run(t, measured, &runs); !why.empty())
                    return "sites " + std::to_string(sizes.size()) + ", placement " + std::to_string(static_cast<int>(how)) + ": " + why;
                WAN_CHECK_THAT(runs < 80 + 4 * facts::levels, std::to_string(runs) + " runs");
                const fact_vector v = combine(measured);
                const facts f = facts_from(t, v);
                WAN_CHECK(f.sites == t.site_count() && f.lan_ns > 0 && f.message_ns > 0 && f.step_ns > 0 && f.byte_ps > 0 && f.wan_ns > 0);
                WAN_CHECK(v[fact::farthest_ns] >= 1'000'000 && v[fact::farthest_ns] < 1'100'000);
                WAN_CHECK(f.wan_ns == v[fact::farthest_ns]);
                bool wide = false;
                for (int s = 0; s < t.site_count(); ++s)
                    wide |= t.node_count(site_at(s)) > 1;
                if (wide)
                    WAN_CHECK(f.lan_ns >= 1'000'000 && f.lan_ns < 1'100'000);
                else
                    WAN_CHECK(f.lan_ns == facts{}.lan_ns);      // nothing to measure: the default
                for (int a = 0; a < f.sites && f.sites <= 10; ++a)
                    for (int b = 0; b < f.sites; ++b)
                        if (a != b) {
                            const int64_t ns = f.pair_ns[static_cast<size_t>(a * f.sites + b)];
                            WAN_CHECK_THAT(ns >= 1'000'000 && ns == f.latency_ns(site_at(b), site_at(a)), "pair " + std::to_string(a) + " " + std::to_string(b));
                        }
                if (f.sites > 10)
                    WAN_CHECK(f.pair_ns.empty() && f.latency_ns(site_at(0), site_at(1)) == f.wan_ns);
            }
    return "";
}

/**
 * Sites one host each, one way `far(a, b)` apart; each rank goes from step to step by itself, and a
 * ping waits for its partner: what the probe makes of that must be the distances.
 */
std::string check_distances()
{
    constexpr int64_t ms = 1'000'000;
    for (bool brief : {false, true})
        for (int sites : {2, 3, 4, 5, 7, 10})
            for (uint64_t seed = 1; seed <= 20; ++seed) {
                std::mt19937_64 random(seed);
                const std::vector<int> sizes(static_cast<size_t>(sites), 1);
                const topology t = topology::blocks(sizes);
                std::vector<std::vector<int64_t>> far(static_cast<size_t>(sites), std::vector<int64_t>(static_cast<size_t>(sites)));
                for (size_t a = 0; a < far.size(); ++a)
                    for (size_t b = 0; b < a; ++b)
                        far[a][b] = far[b][a] = seed == 1 ? 10 * ms : static_cast<int64_t>(1 + random() % 40) * ms;
                std::vector<std::unique_ptr<probe>> all;
                std::vector<int64_t> clock(far.size());
                for (size_t r = 0; r < far.size(); ++r) {
                    all.push_back(std::make_unique<probe>(t, static_cast<int>(r), brief));
                    clock[r] = static_cast<int64_t>(random() % 30) * ms;
                }
                for (bool more = true; more;) {
                    std::vector<std::optional<schedule>> steps;
                    for (auto &p : all)
                        steps.push_back(p->next());
                    more = steps[0].has_value();
                    std::vector<int64_t> then = clock;
                    for (size_t r = 0; r < far.size() && more; ++r)
                        for (const op &o : steps[r]->ops)
                            if (const auto peer = static_cast<size_t>(o.peer); o.kind == op_kind::send && steps[r]->ops[0].kind == op_kind::send) {
                                // There when the other looks, back as long after.
                                const int64_t heard = std::max(clock[r] + far[r][peer], clock[peer]);
                                then[r] = heard + far[r][peer];
                                then[peer] = heard;
                            }
                    for (size_t r = 0; r < far.size() && more; ++r)
                        all[r]->record(then[r] - clock[r]);
                    clock = then;
                }
                std::vector<fact_vector> measured;
                for (auto &p : all)
                    measured.push_back(p->measured());
                const facts f = facts_from(t, combine(measured));
                for (size_t a = 0; a < far.size(); ++a)
                    for (size_t b = 0; b < a; ++b) {
                        const int64_t ns = f.latency_ns(site_at(static_cast<int>(a)), site_at(static_cast<int>(b)));
                        WAN_CHECK_THAT(ns == far[a][b], std::to_string(sites) + " sites, seed " + std::to_string(seed) + (brief ? ", brief" : "") + ": "
                                                            + std::to_string(ns / 1000) + " us instead of " + std::to_string(far[a][b] / 1000));
                    }
            }
    return "";
}

std::string check_facts_from()
{
    const int sizes[] = {2, 2, 2};
    const topology t = topology::blocks(sizes);
    const facts nothing = facts_from(t, fact_vector{});
    const facts standard;
    WAN_CHECK(nothing.lan_ns == standard.lan_ns && nothing.message_ns == standard.message_ns && nothing.step_ns == nothing.lan_ns + nothing.message_ns && nothing.byte_ps == standard.byte_ps && nothing.wan_ns == standard.wan_ns);
    WAN_CHECK(nothing.latency_ns(site_at(0), site_at(2)) == standard.wan_ns && nothing.latency_ns(site_at(1), site_at(1)) == standard.lan_ns);
    const fact_vector v{11, 22, 33, 99, 44, 55, 70, 80, 90};
    const facts f = facts_from(t, v);
    WAN_CHECK(f.lan_ns == 11 && f.message_ns == 22 && f.step_ns == 55 && f.byte_ps == 33 && f.wan_ns == 99);
    WAN_CHECK(f.latency_ns(site_at(0), site_at(1)) == 70 && f.latency_ns(site_at(2), site_at(0)) == 80 && f.latency_ns(site_at(1), site_at(2)) == 90);
    WAN_CHECK(f.farthest_ns(site_at(0)) == 80 && f.farthest_ns(site_at(1)) == 90);
    WAN_CHECK(f.wire_ns(1'000'000) == 33'000);
    // 32 KB took 44 ns beyond the round trip, at 33 ps a byte: all but 1333 bytes passed at once.
    WAN_CHECK(f.burst_bytes == 32768 - 1333);
    WAN_CHECK(f.lone_ns(10'000) == 11 && f.lone_ns(1'031'435) == 11 + 33'000);
    fact_vector even = v;
    even[4] = 2'000;        // slower than the interface's rate, by noise: no burst
    WAN_CHECK(facts_from(t, even).burst_bytes == 0);
    // A pair that nobody measured: the worst known.
    fact_vector partly = v;
    partly[7] = 0;
    WAN_CHECK(facts_from(t, partly).latency_ns(site_at(0), site_at(2)) == 99);
    return "";
}

/** A network of sites with racks: one way by what two hosts share, told once more from their names. */
struct racks {
    std::vector<place> places;
    std::vector<int64_t> level_us;      // by the levels they share
    int64_t rack_byte_ps = 8'000;       // of a connection between those that share none
    static constexpr int64_t byte_ps = 8'000, message_ns = 2'000, far_ns = 10'000'000;

    int64_t shared(int a, int b) const
    {
        std::istringstream x{std::string(places[static_cast<size_t>(a)].inside)}, y{std::string(places[static_cast<size_t>(b)].inside)};
        int64_t n = 0;
        for (std::string i, j; std::getline(x, i, '/') && std::getline(y, j, '/') && i == j;)
            ++n;
        return n;
    }
    int64_t way_ns(int a, int b) const
    {
        return places[static_cast<size_t>(a)].site != places[static_cast<size_t>(b)].site ? far_ns : 1000 * level_us.at(static_cast<size_t>(shared(a, b)));
    }
    int64_t wire_ns(int a, int b, size_t bytes) const { return static_cast<int64_t>(bytes) * (shared(a, b) == 0 ? rack_byte_ps : byte_ps) / 1000; }
};

/** All ranks make their probes in that network, each by its own clock; what the facts are. */
std::string probe_racks(const racks &net, const topology &t, bool brief, fact_vector &found, int &made)
{
    const auto ranks = static_cast<size_t>(t.size());
    std::vector<std::unique_ptr<probe>> all;
    for (size_t r = 0; r < ranks; ++r)
        all.push_back(std::make_unique<probe>(t, static_cast<int>(r), brief));
    std::vector<int64_t> clock(ranks);
    for (made = 0;; ++made) {
        std::vector<schedule> steps;
        for (auto &p : all)
            if (auto s = p->next())
                steps.push_back(std::move(*s));
        WAN_CHECK(steps.empty() || steps.size() == ranks);
        if (steps.empty())
            break;
        std::map<std::tuple<size_t, int, int>, int64_t> arrival;
        std::vector<std::vector<int64_t>> ended(ranks);
        std::vector<int64_t> idle = clock;      // when a rank's interface is
        for (bool more = true; std::exchange(more, false);)
            for (size_t r = 0; r < ranks; ++r)
                for (size_t i = ended[r].size(); i < steps[r].ops.size(); i = ended[r].size()) {
                    const op &o = steps[r].ops[i];
                    int64_t then = clock[r];
                    for (uint16_t before : steps[r].preds_of(o))
                        then = std::max(then, ended[r][before]);
                    if (o.kind == op_kind::send) {
                        const bool short_one = o.part.hi.den > 1 || all[r]->message_bytes() == 1;
                        idle[r] = std::max(idle[r], then) + racks::message_ns + net.wire_ns(static_cast<int>(r), o.peer, short_one ? 1 : all[r]->message_bytes());
                        arrival[{r, o.peer, o.label}] = idle[r] + net.way_ns(static_cast<int>(r), o.peer);
                        then = idle[r];
                    } else if (o.kind == op_kind::recv) {
                        const auto at = arrival.find({static_cast<size_t>(o.peer), static_cast<int>(r), o.label});
                        if (at == arrival.end())
                            break;
                        then = std::max(then, at->second);
                    }
                    ended[r].push_back(then);
                    more = true;
                }
        for (size_t r = 0; r < ranks; ++r) {
            WAN_CHECK_THAT(ended[r].size() == steps[r].ops.size(), "step " + std::to_string(made) + " does not end");
            const int64_t then = ended[r].empty() ? clock[r] : *std::max_element(ended[r].begin(), ended[r].end());
            all[r]->record(then - clock[r]);
            clock[r] = then;
        }
    }
    std::vector<fact_vector> measured;
    for (auto &p : all)
        measured.push_back(p->measured());
    found = combine(measured);
    return "";
}

/** The same of hosts of a rack each, in two sites and in this order. */
racks racks_of(const std::vector<std::string_view> &insides, std::vector<int64_t> level_us)
{
    racks net{{}, std::move(level_us)};
    for (std::string_view site : {"a", "b"})
        for (std::string_view inside : insides)
            net.places.push_back({site, net.places.size(), 0, inside});
    return net;
}

std::string check_levels()
{
    const auto near = [](int64_t ns, int64_t us) { return ns >= 1000 * us && ns <= 1000 * us + 2 * racks::message_ns; };
    const struct {
        const char *name;
        racks net;
        std::vector<int64_t> us;        // of facts::level_ns; 0: not known
        int64_t first_us, mean_us;      // of the first two hosts; from host to host
        int more;                       // kinds of steps
    } cases[] = {
        {"four racks of four", racks_of({"w", "w", "w", "w", "x", "x", "x", "x", "y", "y", "y", "y", "z", "z", "z", "z"}, {200, 20}), {200, 20, 0, 0}, 20, (12 * 20 + 3 * 200) / 15, 2},
        {"dealt to racks in turn", racks_of({"w", "x", "w", "x", "w", "x"}, {200, 20}), {200, 20, 0, 0}, 20, (4 * 20 + 200) / 5, 2},
        {"the first alone in its rack", racks_of({"w", "x", "x", "x", "x"}, {200, 20}), {200, 20, 0, 0}, 200, (200 + 3 * 20) / 4, 1},
        {"zones of racks", racks_of({"1/r", "1/r", "1/s", "1/s", "2/r", "2/r"}, {500, 200, 20}), {500, 200, 20, 0}, 20, (3 * 20 + 200 + 500) / 5, 3},
        {"a rack each", racks_of({"w", "x", "y"}, {200, 20}), {200, 0, 0, 0}, 200, 200, 0},
        {"one rack", racks_of({"w", "w", "w"}, {200, 20}), {0, 20, 0, 0}, 20, 20, 0},
        {"all in one zone", racks_of({"1/r", "1/r", "1/s", "1/s"}, {500, 200, 20}), {0, 200, 20, 0}, 20, (2 * 20 + 200) / 3, 2},
        {"some in no rack", racks_of({"", "w", "w", "", "w"}, {200, 20}), {200, 20, 0, 0}, 200, (2 * 20 + 2 * 200) / 4, 1},
        {"deeper than is told", racks_of({"1/2/3/r", "1/2/3/r", "1/2/4", "1/2/5"}, {900, 800, 700, 600, 20}), {0, 0, 700, 20}, 20, (20 + 2 * 700) / 3, 2},
    };
    for (const auto &c : cases) {
        const topology t(c.net.places);
        for (bool brief : {false, true}) {
            const std::string name = std::string(c.name) + (brief ? ", brief" : "");
            fact_vector v;
            int made = 0;
            if (std::string why = probe_racks(c.net, t, brief, v, made); !why.empty())
                return name + ": " + why;
            const facts f = facts_from(t, v);
            for (size_t k = 0; k < c.us.size(); ++k)
                WAN_CHECK_THAT(c.us[k] == 0 ? f.level_ns[k] == 0 : near(f.level_ns[k], c.us[k]), name + ", " + std::to_string(k) + ": " + std::to_string(f.level_ns[k]));
            WAN_CHECK_THAT(near(v[fact::inside_ns], c.first_us), name + ": first two " + std::to_string(v[fact::inside_ns]));
            WAN_CHECK_THAT(near(f.lan_ns, *std::max_element(c.us.begin(), c.us.end())), name + ": farthest " + std::to_string(f.lan_ns));
            for (int s : {0, 1})
                WAN_CHECK_THAT(near(f.next_host_ns(site_at(s)), c.mean_us) && near(f.next_host_ns(), c.mean_us), name + ": to the next " + std::to_string(f.next_host_ns()));
            // What a message takes of a processor is no way to another rack.
            WAN_CHECK_THAT(brief || f.message_ns <= 2 * racks::message_ns, name + ": a message " + std::to_string(f.message_ns));
            fact_vector plain;
            int steps = 0;
            const std::vector<int> sizes(2, static_cast<int>(c.net.places.size() / 2));
            racks flat = c.net;
            for (place &p : flat.places)
                p.inside = "";
            if (std::string why = probe_racks(flat, topology::blocks(sizes), brief, plain, steps); !why.empty())
                return name + ", without levels: " + why;
            WAN_CHECK_THAT(made == steps + c.more * (brief ? 3 : 4), name + ": " + std::to_string(made) + " steps, " + std::to_string(steps) + " without levels");
            WAN_CHECK(std::all_of(plain.begin() + fact::first_level_ns, plain.end(), [](int64_t x) { return x == 0; }));
            WAN_CHECK((probe::cost_ns(t, f, brief) > probe::cost_ns(topology::blocks(sizes), f, brief)) == (c.more > 0));
        }
    }
    return "";
}

/** Between racks a connection gets less; a site without racks beside one with them; what differs of levels. */
std::string check_level_rates()
{
    racks net = racks_of({"w", "w", "w", "x", "x", "x"}, {200, 20});
    net.rack_byte_ps = 24'000;
    const topology t(net.places);
    fact_vector v;
    int made = 0;
    if (std::string why = probe_racks(net, t, false, v, made); !why.empty())
        return why;
    facts f = facts_from(t, v);
    WAN_CHECK_THAT(f.level_byte_ps >= 24'000 && f.level_byte_ps < 25'000 && f.byte_ps >= 8'000 && f.byte_ps < 9'000, std::to_string(f.level_byte_ps) + " " + std::to_string(f.byte_ps));

    facts other = f;
    WAN_CHECK(!differ(f, other));
    other.level_ns[0] = 320'000;
    WAN_CHECK(differ(f, other) && differ(other, f));
    other.level_ns[0] = 290'000;
    WAN_CHECK(!differ(f, other) && !differ(other, f));
    other = f;
    other.level_ns[1] = 35'000;         // by more than half, and more than two messages
    WAN_CHECK(differ(f, other));
    other.message_ns = 20'000;          // busy processors
    WAN_CHECK(!differ(f, other) && !differ(other, f));
    other = f;
    other.level_byte_ps = 40'000;
    WAN_CHECK(differ(f, other));
    other.level_byte_ps = 0;
    other.level_ns = {};
    WAN_CHECK(!differ(f, other) && differ(other, f));       // one that knows no levels learns of them

    // Of the other site nobody tells of racks; its hosts are 50 us from each other.
    for (place &p : net.places)
        if (p.site == "b")
            p.inside = "";
    const topology half(net.places);
    fact_vector u = v;
    u[fact::inside_ns] = 50'000;
    f = facts_from(half, u);
    WAN_CHECK(f.lan_ns == v[fact::first_level_ns] && f.next_host_ns(site_at(1)) == 50'000 && f.next_host_ns(site_at(0)) == (4 * v[fact::first_level_ns + 1] + v[fact::first_level_ns]) / 5);
    // Of a host a rack, and of hosts of one rack.
    const std::vector<place> apart{{"a", 0, 0, "w"}, {"a", 1, 0, "x"}, {"b", 2, 0, "y"}}, together{{"a", 0, 0, "w"}, {"a", 1, 0, "w"}, {"b", 2}};
    const facts cross = facts_from(topology(apart), v), rack = facts_from(topology(together), v);
    WAN_CHECK(cross.lan_ns == v[fact::first_level_ns] && cross.next_host_ns(site_at(0)) == cross.lan_ns && cross.level_byte_ps > 0 && cross.level_ns[1] == 0);
    WAN_CHECK(rack.lan_ns == v[fact::first_level_ns + 1] && rack.next_host_ns(site_at(0)) == rack.lan_ns && rack.level_byte_ps == 0 && rack.level_ns[0] == 0);
    // Where nobody tells of racks it counts for nothing.
    const int sizes[] = {3, 3};
    const facts flat = facts_from(topology::blocks(sizes), u);
    WAN_CHECK(flat.lan_ns == 50'000 && flat.next_ns.empty() && flat.level_ns == facts{}.level_ns && flat.level_byte_ps == 0);
    // Deeper than anybody measured: by what is known of fewer levels.
    for (place &p : net.places)
        p.inside = p.node % 2 ? "w/1" : p.node % 4 ? "w/2" : "w";
    const facts deeper = facts_from(topology(net.places), v);
    WAN_CHECK(deeper.lan_ns == std::max(v[fact::inside_ns], v[fact::first_level_ns + 1]) && deeper.level_ns[2] == 0 && deeper.next_host_ns() == v[fact::first_level_ns + 1]);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_shapes>), cmocka_unit_test(test<check_distances>), cmocka_unit_test(test<check_facts_from>),
                                cmocka_unit_test(test<check_levels>), cmocka_unit_test(test<check_level_rates>)};
    return cmocka_run_group_tests_name("probe", tests, nullptr, nullptr);
}
