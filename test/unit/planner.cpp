/*
 * The planner: wishes, what may serve a call, determinism, segments.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "model/cost.hpp"

#include "matrix.hpp"
#include "planned.hpp"
#include "unit.hpp"

namespace {

using namespace wan;
using namespace wan_test;

std::string check_forced()
{
    const topology t = two_sites();
    for (const algorithm *a : algorithms()) {
        wishes w;
        w.algo = a;
        for (bool commutative : {true, false})
            for (uint64_t bytes : sizes_tried) {
                const request r = call(a->collective, bytes, commutative);
                const auto p = choose(t, facts_of(t), w, r);
                WAN_CHECK_THAT(p, a->name);
                const bool can = a->serves(t, r) && (commutative ? !a->only_ordered : a->keeps_order);
                WAN_CHECK_THAT((p->algo == a) == can || (!can && p->algo->automatic), a->name);
                WAN_CHECK_THAT(p->algo->collective == a->collective && p->algo->serves(t, r), a->name);
                WAN_CHECK_THAT(commutative || p->algo->keeps_order, a->name);
                if (!can)
                    WAN_CHECK_THAT(p->algo->automatic && p->algo != a, a->name);
                // The wish overrules the threshold.
                w.threshold_bytes = a->long_messages ? UINT64_MAX : 1;
                if (can)
                    WAN_CHECK_THAT(choose(t, facts_of(t), w, r)->algo == a, a->name);
                w.threshold_bytes = 0;
            }
    }
    // References are never chosen unasked.
    for (auto c : {WAN_BCAST, WAN_ALLREDUCE, WAN_REDUCE})
        for (uint64_t bytes : sizes_tried)
            for (const plan &p : candidates(t, facts_of(t), {}, call(c, bytes)))
                WAN_CHECK(p.algo->automatic);
    return "";
}

std::string check_links()
{
    for (int hosts : {1, 2, 5, 16})
        for (int lanes : {1, 3})
            for (uint32_t links : {1u, 2u, 4u, 16u, 1000u}) {
                const topology t = two_sites(hosts, lanes);
                wishes w;
                w.links = links;
                for (auto c : whole_messages)
                    for (uint64_t bytes : sizes_tried) {
                        WAN_CHECK(choose(t, facts_of(t), w, call(c, bytes)));
                        for (const plan &p : candidates(t, facts_of(t), w, call(c, bytes)))
                            WAN_CHECK_THAT(p.algo->senders(t, p) <= links, print(p));
                        // An algorithm whose every rank sends is not for small n, even when asked for.
                        if (c == WAN_ALLREDUCE) {
                            w.algo = algorithm_named(c, "flat");
                            const auto p = choose(t, facts_of(t), w, call(c, bytes));
                            WAN_CHECK((p->algo == w.algo) == (static_cast<uint32_t>(hosts * lanes) <= links));
                            w.algo = nullptr;
                        }
                    }
                // Operators that do not commute go through gateways where not all ranks may send.
                for (auto c : {WAN_ALLREDUCE, WAN_REDUCE}) {
                    const auto p = choose(t, facts_of(t), w, call(c, 1024, false));
                    WAN_CHECK(p && (static_cast<uint32_t>(hosts * lanes) <= links || std::string(p->algo->name) == "runs"));
                }
            }
    // 0: as many as there are hosts, where the algorithm uses links.
    const topology t = two_sites(16);
    wishes w;
    w.algo = algorithm_named(WAN_BCAST, "vandegeijn");
    WAN_CHECK(choose(t, facts_of(t), w, call(WAN_BCAST, 1 << 20))->links == 16);
    return "";
}

/** Blocks that a rate limit's burst does not hold twice wait at each host of a ring: measured in the lab. */
std::string check_bursts()
{
    const topology t = two_sites(16);
    facts f = lab_facts(t);
    f.burst_bytes = 9'000;
    int64_t ring[2] = {};   // of 128 KB and of 64 KB
    for (const plan &p : candidates(t, f, {}, call(WAN_BCAST, 256 << 10)))
        if (p.algo->name == std::string_view("vandegeijn") && p.inner == inner_steps::ring && p.links == 16)
            for (int k : {0, 1})
                if (p.segment_bytes == uint64_t{128} << 10 >> k)
                    ring[k] = p.predicted_ns;
    WAN_CHECK(ring[0] > 0 && ring[1] > 0);
    WAN_CHECK_THAT(ring[0] > ring[1] + 10'000'000, std::to_string(ring[0]) + " " + std::to_string(ring[1]));
    return "";
}

std::string check_threshold()
{
    const topology t = two_sites();
    for (auto c : {WAN_BCAST, WAN_ALLREDUCE})
        for (uint64_t threshold : {uint64_t{1}, uint64_t{1024}, uint64_t{262144}, uint64_t{1} << 40})
            for (uint64_t bytes : sizes_tried) {
                wishes w;
                w.threshold_bytes = threshold;
                const request r = call(c, bytes);
                for (const plan &p : candidates(t, facts_of(t), w, r))
                    WAN_CHECK_THAT(p.algo->long_messages == (r.bytes >= threshold), print(p));
                WAN_CHECK(choose(t, facts_of(t), w, r));
            }
    // It yields where nothing else serves: more ranks than the short form for such operators takes.
    wishes w;
    w.threshold_bytes = 1;
    const auto p = choose(t, facts_of(t), w, call(WAN_ALLREDUCE, 0, false));
    WAN_CHECK(p && p->algo->keeps_order);
    return "";
}

std::string check_order()
{
    for (int hosts : {1, 3, 8, 64, 65, 200, 300})
        for (uint64_t bytes : sizes_tried) {
            const topology t = two_sites(hosts);
            for (const plan &p : candidates(t, facts_of(t), {}, call(WAN_ALLREDUCE, bytes, false)))
                WAN_CHECK_THAT(p.algo->keeps_order, print(p));
            WAN_CHECK(choose(t, facts_of(t), {}, call(WAN_ALLREDUCE, bytes, false)).has_value() == (hosts < 240));
            // Ranks in turn over the sites make too many runs to be exchanged one by one.
            const topology mixed = lay_out({hosts, hosts}, placement::roundrobin, 1, 1);
            const auto p = choose(mixed, facts_of(mixed), {}, call(WAN_ALLREDUCE, bytes, false));
            WAN_CHECK(p.has_value() == (2 * hosts <= 128));
            WAN_CHECK(!p || hosts <= 26 || std::string(p->algo->name) != "runs");
            WAN_CHECK(choose(t, facts_of(t), {}, call(WAN_ALLREDUCE, bytes, true)));
        }
    return "";
}

std::string check_segments()
{
    const topology t = two_sites();
    for (auto c : whole_messages)
        for (uint64_t element : {1, 3, 4, 8, 12, 1000, 4096})
            for (uint64_t bytes : sizes_tried)
                for (uint64_t segment : {uint64_t{0}, uint64_t{1}, uint64_t{100}, uint64_t{8192}, uint64_t{1} << 30}) {
                    wishes w;
                    w.segment_bytes = segment;
                  for (bool commutative : {true, false}) {
                    const request r = call(c, bytes, commutative, element);
                    for (const plan &p : candidates(t, facts_of(t), w, r)) {
                        WAN_CHECK_THAT(p.segment_bytes % element == 0 && p.segment_bytes >= element, print(p));
                        WAN_CHECK_THAT(p.segment_bytes <= std::max(element, r.bytes), print(p));
                        WAN_CHECK_THAT(p.window >= 1, print(p));
                        WAN_CHECK_THAT(p.predicted_ns >= 0, print(p));
                        if (segment && (p.algo->parameters & uses_segment))
                            WAN_CHECK_THAT(p.segment_bytes <= std::max(segment, element), print(p));
                        if (!(p.algo->parameters & uses_segment))
                            WAN_CHECK_THAT(p.segment_bytes + element > r.bytes, print(p));
                        // Scratch is a window of segments in each buffer: bounded but where one segment is too
                        // much and cannot be shorter, by its wish, its algorithm or the number of segments.
                        const uint64_t scratch = p.segment_bytes * (p.algo->buffers ? p.algo->buffers(t, p) : 0);
                        WAN_CHECK_THAT(p.window == 1 || p.window * scratch <= 64u << 20, print(p));
                        if ((p.algo->parameters & uses_segment) && !segment && r.bytes <= 1u << 30)
                            WAN_CHECK_THAT(p.window * scratch <= 64u << 20, print(p));
                    }
                  }
                }
    return "";
}

/** The most scratch buffers that there can be share the memory, too. */
std::string check_scratch()
{
    const topology t = lay_out({200, 3}, placement::block, 40, 1);
    const algorithm *runs = algorithm_named(WAN_ALLREDUCE, "runs");
    WAN_CHECK(runs->buffers(t, plan{}) >= 200);
    for (uint64_t bytes : {uint64_t{1} << 20, uint64_t{16} << 20, uint64_t{256} << 20})
        for (const plan &p : candidates(t, facts_of(t), {}, call(WAN_ALLREDUCE, bytes, false)))
            WAN_CHECK_THAT(p.segment_bytes * p.window * runs->buffers(t, p) <= 64u << 20, print(p));
    return "";
}

/** Same facts, same plan. */
std::string check_determinism()
{
    std::mt19937_64 random(test_seed());
    std::string all;
    for (int trial = 0; trial < 300; ++trial) {
        std::vector<int> sizes(2 + random() % 4);
        for (int &s : sizes)
            s = 1 + static_cast<int>(random() % 20);
        const topology t = lay_out(sizes, static_cast<placement>(random() % 3), 1 + static_cast<int>(random() % 3), random()), again = t;
        facts f = facts_of(t);
        f.lan_ns = 1000 + static_cast<int64_t>(random() % 1'000'000);
        f.wan_ns = f.lan_ns * (1 + static_cast<int64_t>(random() % 500));
        f.message_ns = 100 + static_cast<int64_t>(random() % 100'000);
        f.step_ns = f.message_ns + static_cast<int64_t>(random() % 1'000'000);
        f.byte_ps = 10 + static_cast<int64_t>(random() % 300'000);
        for (int i = 0; i < f.sites * f.sites; ++i)
            f.pair_ns.push_back(static_cast<int64_t>(random() % 3) * f.wan_ns);
        const facts copy = f;
        const auto c = whole_messages[random() % std::size(whole_messages)];
        request r = call(c, random() % (uint64_t{1} << (random() % 26)));
        if (kind_of(c).root)
            r.root = static_cast<int>(random() % static_cast<uint64_t>(t.size()));
        const auto p = choose(t, f, {}, r), q = choose(again, copy, {}, r);
        WAN_CHECK(p && q && print(*p) == print(*q) && p->predicted_ns == q->predicted_ns);
        const auto list = candidates(t, f, {}, r);
        WAN_CHECK(!list.empty() && print(list.front()) == print(*p));
        for (size_t i = 0; i + 1 < list.size(); ++i)
            WAN_CHECK(list[i].predicted_ns <= list[i + 1].predicted_ns);
        WAN_CHECK(p->root == r.root);
    }
    return "";
}

/**
 * The same plan on every machine: integers, so that the text is constant.  After a change of
 * costs that is meant:  make check TESTS=test/unit/planner WAN_GOLDEN_WRITE=1, and read the diff.
 */
std::string check_constants()
{
    const struct {
        const char *name;
        topology t;
    } shapes[] = {{"2x16", two_sites(16)},
                  {"3x11 shuffled", lay_out({11, 11, 11}, placement::shuffled, 1, 1)},
                  {"3+1+5 of 2", lay_out({6, 2, 10}, placement::block, 2, 1)},
                  {"64x1563", topology::blocks(std::vector<int>(64, 1563))}};
    std::ostringstream text;
    for (const auto &[name, t] : shapes)
        for (int64_t byte_ps : {int64_t{80}, int64_t{200'000}})
            for (uint32_t links : {0u, 2u})
                for (auto [c, commutative] : {std::pair{WAN_BCAST, true}, {WAN_ALLREDUCE, true}, {WAN_ALLREDUCE, false}})
                    for (uint64_t bytes : {uint64_t{4}, uint64_t{65536}, uint64_t{16} << 20}) {
                        facts f = facts_of(t);
                        f.byte_ps = byte_ps;
                        wishes w;
                        w.links = links;
                        const auto p = choose(t, f, w, call(c, bytes, commutative));
                        text << name << ", " << byte_ps << " ps/B, n " << links << ", " << bytes << (commutative ? " B: " : " B in order: ")
                             << (p ? print(*p) + ", " + std::to_string(p->predicted_ns) + " ns" : "declined") << '\n';
                    }
    return golden_compare(test_file("golden/plans.txt"), text.str());
}

/** Extremes neither overflow nor divide by zero (watch under UBSan). */
std::string check_extremes()
{
    const int lone[] = {1, 1}, uneven[] = {1, 300, 2};
    for (const topology &t : {topology::blocks(lone), topology::blocks(uneven), two_sites(2, 64)})
        for (int64_t ns : {int64_t{1}, int64_t{1'000'000'000}})
            for (int64_t ps : {int64_t{1}, int64_t{1'000'000'000}})
                for (uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40})
                    for (auto c : whole_messages) {
                        if (bytes > (uint64_t{1} << 32) && ps > 1'000'000)
                            continue;       // centuries
                        facts f = facts_of(t);
                        f.lan_ns = f.wan_ns = f.message_ns = f.step_ns = ns;
                        f.byte_ps = ps;
                        const auto p = choose(t, f, {}, call(c, bytes, true, 1));
                        WAN_CHECK(p && p->predicted_ns > 0);
                    }
    return "";
}

/**
 * No prediction is below what the links allow, whatever the shape: L + M/B (a Barrier: L), and for an Allreduce on
 * p hosts 2 (p-1)/p M/B, what each of them must send and receive.
 */
std::string check_bounds()
{
    const int lone[] = {1, 1}, one_sided[] = {1, 16}, many[] = {3, 1, 5, 2};
    for (const topology &t : {topology::blocks(lone), topology::blocks(one_sided), topology::blocks(many), two_sites(16), two_sites(8, 2)})
        for (int64_t byte_ps : {8'000, 200'000})
            for (uint64_t bytes : {uint64_t{1}, uint64_t{4096}, uint64_t{65536}, uint64_t{1} << 20, uint64_t{1} << 24})
                for (auto c : whole_messages)
                    for (uint32_t links : {0u, 1u, 2u}) {
                        facts f = facts_of(t);
                        f.byte_ps = byte_ps;
                        wishes w;
                        w.links = links;
                        int64_t hosts = 0;
                        for (int s = 0; s < t.site_count(); ++s)
                            hosts += t.node_count(site_at(s));
                        const int64_t moved = c == WAN_ALLREDUCE ? 2 * f.wire_ns(bytes) * (hosts - 1) / hosts : 0;
                        const int64_t bound = std::max(f.wan_ns + (c == WAN_BARRIER ? 0 : f.wire_ns(bytes)), moved);
                        for (bool commutative : {true, false})
                            for (int root : {0, t.size() - 1}) {
                                request r = call(c, bytes, commutative, 1);
                                r.root = kind_of(c).root ? root : 0;
                                const auto all = candidates(t, f, w, r);
                                WAN_CHECK(!all.empty() || c == WAN_SCAN || c == WAN_EXSCAN);
                                for (const plan &p : all)
                                    WAN_CHECK_THAT(p.predicted_ns >= bound, print(p) + (commutative ? " " : " in order ") + std::to_string(p.predicted_ns) + " bound " + std::to_string(bound));
                            }
                    }
    return "";
}

/** What decides where sites, hosts and ranks lie otherwise than in equal blocks. */
std::string check_shape_bounds()
{
    const uint64_t bytes = 16 << 20;
    auto least = [](const topology &t, const facts &f, const wishes &w, const request &r) {
        int64_t ns = INT64_MAX;
        for (const plan &p : candidates(t, f, w, r))
            ns = std::min(ns, p.algo == w.algo ? p.predicted_ns : -1);
        return ns;
    };
    // Every rank of a host sends nearly all, and receives nearly all, twice.
    const topology crowded = two_sites(4, 8);
    facts f = facts_of(crowded);
    wishes w;
    w.algo = algorithm_named(WAN_ALLREDUCE, "ordered");
    WAN_CHECK(least(crowded, f, w, call(WAN_ALLREDUCE, bytes, false)) >= 2 * f.wire_ns(bytes * 8 * 56 / 64));

    // The first site lies in the middle.
    const topology three = topology::blocks(std::vector<int>{2, 2, 2});
    facts line = facts_of(three);
    line.pair_ns = {0, 1'000'000, 1'000'000, 1'000'000, 0, 50'000'000, 1'000'000, 50'000'000, 0};
    WAN_CHECK(least(three, line, w, call(WAN_ALLREDUCE, 64, false)) >= 100'000'000);
    w.algo = algorithm_named(WAN_ALLREDUCE, "twotier");
    WAN_CHECK(least(three, line, w, call(WAN_ALLREDUCE, 64)) >= 50'000'000);
    const topology eight = topology::blocks(std::vector<int>(8, 2));
    WAN_CHECK(least(eight, facts_of(eight), w, call(WAN_ALLREDUCE, bytes)) >= 7 * f.wire_ns(bytes));

    // Ranks in turn over the hosts of a site: a chain of them passes an interface with every rank.
    std::vector<place> places;
    for (int r = 0; r < 128; ++r)
        places.push_back({r < 64 ? "a" : "b", static_cast<uint64_t>(r % 4)});
    const topology cyclic{places};
    WAN_CHECK(cyclic.most_stays() == 16 && cyclic.stay_count(site_at(1)) == 64 && cyclic.run_count() == 2);
    for (auto c : {WAN_SCAN, WAN_EXSCAN}) {
        w.algo = algorithm_named(c, "chain");
        WAN_CHECK(least(cyclic, facts_of(cyclic), w, call(c, bytes)) >= 16 * f.wire_ns(bytes));
    }

    // The root alone in its site: a gateway takes the message in, and again what the others gather.
    const topology alone = topology::blocks(std::vector<int>{1, 16});
    w.algo = algorithm_named(WAN_BCAST, "vandegeijn");
    w.links = 1;
    WAN_CHECK(least(alone, facts_of(alone), w, call(WAN_BCAST, bytes)) >= f.wire_ns(bytes) + f.wire_ns(bytes) * 15 / 16);

    // A burst passes at once, but only once.
    facts shaped = f;
    shaped.burst_bytes = 64 << 10;
    shaped.message_ns = 1;
    for (uint64_t size : {1u << 10, 9u << 10, 1u << 20})
        for (int64_t n = 1; n < 200; ++n) {
            WAN_CHECK(sends_ns(shaped, size, n) == n + shaped.wire_ns(std::max<uint64_t>(static_cast<uint64_t>(n) * size, 64 << 10) - (64 << 10)));
            WAN_CHECK(sends_ns(shaped, size, n) <= sends_ns(shaped, size, n + 1));
        }
    const topology many = topology::blocks(std::vector<int>(40, 2));
    shaped.sites = 40;
    w = {};
    w.algo = algorithm_named(WAN_BCAST, "tree");
    WAN_CHECK(least(many, shaped, w, call(WAN_BCAST, 32 << 10)) >= shaped.wan_ns + shaped.wire_ns(39 * (32 << 10) - (64 << 10)));
    return "";
}

/**
 * What is sent at once shares an interface where it is long: down a binomial tree of 16 hosts, of which each has all of its
 * children served before the next begins, ten messages, not four.  What comes from near is in while the far is under way.
 */
std::string check_sharing()
{
    facts f;
    f.byte_ps = 200'000;
    f.lan_ns = f.message_ns = 1;
    const auto messages = [&](uint64_t bytes) { return (tree_down_ns(f, bytes, 16, 1) + f.wire_ns(bytes) / 2) / f.wire_ns(bytes); };
    WAN_CHECK(messages(1 << 20) == 10 && messages(64 << 10) == 10);
    WAN_CHECK(messages(8 << 10) == 4 && messages(32 << 10) == 7);
    WAN_CHECK(root_sends(16, 1) == 4 && root_sends(16, 64) == 15 && tree_levels(16, 64).size() == 1);
    WAN_CHECK(tree_down_ns(f, 1 << 20, 16, 64) == tree_ns(f, 1 << 20, 16, 64));       // flat: nothing to wait for

    const int64_t far = 10'000'000, one = f.wire_ns(1 << 10);       // 10 ms, 0.2 ms
    WAN_CHECK(incast_ns(f, 1 << 10, 15, 16, far) == far + 16 * (one + 1));
    WAN_CHECK(incast_ns(f, 1 << 20, 15, 16, far) > 31 * f.wire_ns(1 << 20));
    f.burst_bytes = 16 << 10;
    WAN_CHECK(incast_ns(f, 1 << 10, 15, 16, far) == far + 16);

    // A message in one piece has half of the processor's time of each piece of many.
    f.step_ns = f.lan_ns + 300'000;
    WAN_CHECK(pipeline(f, 0, 1, 10, 0) == 1'000'000 && pipeline(f, 0, 8, 10, 0) - pipeline(f, 0, 7, 10, 0) == 2'000'000);
    // Where ranks do not share processors, a step is its message, and hardly any of that is work; nor is it where a file of links has less.
    f.message_ns = 2'000;
    for (int64_t step : {f.lan_ns, f.lan_ns + 3'000, f.lan_ns / 2}) {
        f.step_ns = step;
        WAN_CHECK(f.handling_ns() == 4'000 && pipeline(f, 0, 8) == 32'000);
    }
    f.message_ns = 1'000'000'000'000;       // as much as a file of links may say
    WAN_CHECK(pipeline(f, 1, 4096, 1200, 0) >= pipeline(f, 1, 2, 1200, 0) && pipeline(f, 1, 2, 1200, 0) > pipeline(f, 1, 1, 1200, 0));
    return "";
}

/** Facts that have looked at all pairs once say what they say otherwise. */
std::string check_settled()
{
    std::mt19937_64 random(test_seed() + 7);
    for (int sites : {0, 1, 2, 3, 17})
        for (int known : {0, 1, 2}) {       // no pair, some, all
            facts f;
            f.sites = sites;
            for (int i = 0; known && i < sites * sites; ++i)
                f.pair_ns.push_back(known == 2 || random() % 2 ? 1 + static_cast<int64_t>(random() % 50'000'000) : 0);
            facts settled = f;
            settled.settle();
            settled.settle();
            int64_t most = 0;
            for (int a = 0; a < sites; ++a) {
                WAN_CHECK(f.farthest_ns(site_at(a)) == settled.farthest_ns(site_at(a)));
                for (int b = 0; b < sites; ++b)
                    most = a == b ? most : std::max(most, f.latency_ns(site_at(a), site_at(b)));
            }
            WAN_CHECK(f.widest_ns() == most && settled.widest_ns() == most);
        }
    return "";
}

/** Connections that have rested open again, those that are not there take two round trips more; usual is between warm and rested. */
std::string check_connections()
{
    const topology t = two_sites(4);
    facts f = facts_of(t);
    f.byte_ps = 200'000;
    for (const auto &[collective, bytes] : {std::pair{WAN_BCAST, uint64_t{1} << 20}, {WAN_ALLREDUCE, uint64_t{1} << 18}, {WAN_BCAST, uint64_t{1024}}, {WAN_ALLTOALL, uint64_t{1} << 18}}) {
        const request r = call(collective, bytes);
        const std::optional<plan> p = choose(t, f, {}, r);
        WAN_CHECK(p);
        const auto over = [&](connections state) {
            facts known = f;
            known.between_sites = state;
            return predict(t, known, r, *p);
        };
        const int64_t warm = over(connections::warm), rested = over(connections::rested), closed = over(connections::closed);
        WAN_CHECK(predict(t, f, r, *p) == p->predicted_ns);
        WAN_CHECK(closed == rested + 4 * f.widest_ns());
        WAN_CHECK(warm <= p->predicted_ns && p->predicted_ns <= rested);
        // What one connection may send at once opens nothing; a megabyte over one does: windows of 10, 20, ... packets, a round trip each.
        if (collective == WAN_BCAST)
            WAN_CHECK((bytes > 14'480) == (rested > warm));
        if (collective == WAN_BCAST && bytes > 14'480) {
            int64_t lost = 0;
            const int64_t parts = (p->algo->parameters & uses_stripes) ? p->links : 1;
            uint64_t window = 14'480 * static_cast<uint64_t>(parts), sent = 0;
            for (; f.wire_ns(window) < 2 * f.widest_ns() && sent + window < bytes; window *= 2) {
                lost += 2 * f.widest_ns() - f.wire_ns(window);
                sent += window;
            }
            WAN_CHECK(rested - warm == lost);
            WAN_CHECK(p->predicted_ns - warm == lost / 8);
        }
    }
    return "";
}

/** Gateways carry what crosses, and hand it in and out: nothing is predicted below their interfaces' time. */
std::string check_gateways()
{
    const int64_t hosts = 16;
    const topology t = two_sites(static_cast<int>(hosts));
    facts f = facts_of(t);
    f.byte_ps = 200'000;
    f.step_ns = f.message_ns = 1;       // the wire alone
    for (int64_t n : {1, 2, 4, 8})
        for (bool commutative : {true, false}) {
            wishes w;
            w.links = static_cast<uint32_t>(n);
            w.algo = algorithm_named(WAN_ALLREDUCE, commutative ? "rabenseifner" : "runs");
            const uint64_t bytes = 16 << 20;
            // Inside twice all but a block, across a stripe, and of that what belongs to others once more.
            const int64_t bound = f.wire_ns(bytes) * 2 * (hosts - 1) / hosts + f.wire_ns(bytes) / n + f.wire_ns(bytes) * (hosts - n) / (hosts * n);
            for (const plan &p : candidates(t, f, w, call(WAN_ALLREDUCE, bytes, commutative)))
                WAN_CHECK_THAT(p.algo == w.algo && p.predicted_ns >= bound, print(p) + " " + std::to_string(p.predicted_ns) + " bound " + std::to_string(bound));
        }
    return "";
}

/** What the model is for: short messages by trees, long ones cut and spread. */
std::string check_sense()
{
    const topology t = two_sites(16);
    facts f = facts_of(t);
    f.byte_ps = 200'000;    // 40 Mb/s, as in the lab
    for (auto c : {WAN_BCAST, WAN_ALLREDUCE, WAN_REDUCE, WAN_SCAN, WAN_EXSCAN}) {
        WAN_CHECK(!choose(t, f, {}, call(c, 4))->algo->long_messages);
        const auto p = choose(t, f, {}, call(c, 16 << 20));
        WAN_CHECK(p->algo->long_messages && p->segment_bytes < 1 << 20 && p->window > 1);
        // Within a factor of two of the bound: L + M/B, or 2(p-1)/p M/B.
        const int64_t bound = c == WAN_ALLREDUCE ? 2 * f.wire_ns(16 << 20) * 31 / 32 : f.wan_ns + f.wire_ns(16 << 20);
        WAN_CHECK_THAT(p->predicted_ns > bound && p->predicted_ns < 2 * bound, print(*p) + " " + std::to_string(p->predicted_ns) + " bound " + std::to_string(bound));
    }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_forced>), cmocka_unit_test(test<check_links>), cmocka_unit_test(test<check_bursts>),
        cmocka_unit_test(test<check_threshold>), cmocka_unit_test(test<check_order>), cmocka_unit_test(test<check_segments>),
        cmocka_unit_test(test<check_determinism>), cmocka_unit_test(test<check_extremes>), cmocka_unit_test(test<check_sense>),
        cmocka_unit_test(test<check_bounds>), cmocka_unit_test(test<check_scratch>), cmocka_unit_test(test<check_constants>),
        cmocka_unit_test(test<check_gateways>), cmocka_unit_test(test<check_shape_bounds>), cmocka_unit_test(test<check_sharing>),
        cmocka_unit_test(test<check_settled>),
        cmocka_unit_test(test<check_connections>),
    };
    return cmocka_run_group_tests_name("planner", tests, nullptr, nullptr);
}
