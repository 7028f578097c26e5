/*
 * See planner.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "plan/planner.hpp"

#include "algo/sites.hpp"
#include "model/cost.hpp"
#include "plan/shared_ways.hpp"

#include <algorithm>

namespace wan {

namespace {

/** Segments below this cost more in messages than they hide on any network seen. */
constexpr uint64_t least_segment_bytes = 1024;
/** Segments under way without which nothing hides behind anything. */
constexpr uint64_t least_window = 4;
/** The engine counts what is under way, by operation. */
constexpr uint64_t most_window = 64;
/** Of all scratch buffers together: each holds `window` segments. */
constexpr uint64_t most_scratch_bytes = 64u << 20;
/** Of a schedule, which can have 253. */
constexpr uint32_t most_scratch_buffers = 240;
/** Where an algorithm cannot cut the message: 64 sites exchange 16 MB at once, five times as fast as in segments. */
constexpr uint64_t most_uncut_bytes = 1u << 30;

/** Of one segment in every scratch buffer of a rank. */
uint64_t scratch_bytes(const topology &t, const plan &p)
{
    return p.algo->buffers ? p.segment_bytes * p.algo->buffers(t, p) : 0;
}

/** Segments that the limit of scratch lets be under way. */
uint64_t fitting(uint64_t scratch) { return std::max<uint64_t>(1, most_scratch_bytes / std::max<uint64_t>(1, scratch)); }

/** Latencies that a segment crosses one after the other, of what sites exchange. */
int64_t crossings_in_turn(const plan &p) { return p.algo->crosses == crossing::by_share ? 2 : 1; }

uint32_t window_for(const topology &t, const facts &f, const plan &p, uint64_t bytes, uint64_t scratch)
{
    // Enough segments under way to fill twice the longest path, and a few for jitter.  (Where stripes end, a host is at
    // both ends of a chain.)
    const auto segment = static_cast<int64_t>(std::min(p.segment_bytes, bytes));
    const int64_t one = std::max<int64_t>(1, f.wire_ns(static_cast<uint64_t>(segment)));
    const int64_t far = crossings_in_turn(p) * f.widest_ns() + ((p.algo->parameters & uses_stripes) && p.links > 1 ? widest_site(t) * hop_ns(f, segment) : 0);
    return static_cast<uint32_t>(std::min<uint64_t>(
        fitting(scratch), std::clamp<uint64_t>(static_cast<uint64_t>(least_window + 2 * far / one), least_window, most_window)));
}

/**
 * Of a call whose every step may wait for the program's next one: that makes the longest path so long
 * that all segments may be on it, and there is no saying how long.  (1 MB Allreduce, 2 x 16 hosts, a
 * ring of 30 steps, MPI_Test every 10 ms: 16 segments, 5 under way, 1211 ms, all under way 496.)
 */
uint32_t polled_window(const plan &p, uint64_t cuts, uint64_t scratch)
{
    return std::max(p.window, static_cast<uint32_t>(std::min({fitting(scratch), cuts, most_window})));
}

/** A message's worth of the blocks that a rank has for the others. */
uint64_t block_bytes(const topology &t, const request &r) { return r.bytes / static_cast<uint64_t>(t.size()); }

/**
 * A prediction with what windows let cross, from one that knows of interfaces only.  The engine's: of what sites exchange so
 * many segments in a latency; what goes one way has left as soon as it is sent, but where each receiver must consent.  And those
 * of connections, which open slowly (opening_ns()); where every rank's blocks cross, formulas that count them have them.
 */
int64_t with_windows(const topology &t, const facts &f, const request &r, const plan &p, uint64_t cuts, int64_t predicted_ns)
{
    if (kind_of(r.collective).blocks || r.bytes == 0)
        return predicted_ns + (f.between_sites == connections::closed ? 4 * f.widest_ns() : 0);
    // (A Scan of ranks that take turns goes both ways, once for each turn.)
    const bool scan = r.collective == WAN_SCAN || r.collective == WAN_EXSCAN, turns = scan && t.run_count() > t.site_count();
    const bool exchanged = r.collective == WAN_ALLREDUCE || turns;
    const uint64_t crossing_bytes = r.bytes * static_cast<uint64_t>(turns || p.algo->crosses == crossing::by_run ? t.most_runs() : 1);
    const int64_t latency = kind_of(r.collective).root ? f.farthest_ns(t.site_of(r.root)) : f.widest_ns();
    const uint32_t links = p.algo->crosses == crossing::by_rank ? 1 : p.algo->senders(t, p);
    const int64_t parts = (p.algo->parameters & uses_stripes) ? stripes_of(t, p) : fewest_parts(t, r, links);
    const int64_t held = (exchanged ? crossings_in_turn(p) * latency : 0) + consent_ns(f, static_cast<int64_t>(std::min(p.segment_bytes, r.bytes)) / parts, latency);
    const auto in_turn = static_cast<int64_t>(static_cast<__int128>(cuts) * held / p.window);
    const int64_t windows = std::max({int64_t{0}, in_turn - held, flows_ns(crossing_bytes, latency, parts)});
    const int64_t far = std::min(latency, predicted_ns), rest = predicted_ns - far;
    // (Of plans that wait for the same windows, what has less to do is still the better one.)
    return far + std::max(windows, rest) + std::min(windows, rest) / 64 + opening_ns(f, crossing_bytes, latency, parts);
}

/**
 * Of `able`, what stable plans may use, and the association: one for all sizes and plans.
 */
association stable_only(std::vector<const algorithm *> &able, bool commutative)
{
    for (association a : {association::tree, association::runs, association::prefix, association::line}) {
        std::vector<const algorithm *> those;
        for (const algorithm *x : able)
            if ((x->groupings & computes(a)) && !(a == association::tree && !commutative))
                those.push_back(x);
        if (those.empty())
            continue;
        able = std::move(those);
        return a;
    }
    able.clear();
    return association::any;
}

/** What a plan takes by what is known. */
int64_t predicted(const topology &t, const facts &known, const shared_ways &shared, const request &r, const plan &p)
{
    const uint64_t cuts = (r.bytes + p.segment_bytes - 1) / p.segment_bytes;
    return shared.with(p, with_windows(t, known, r, p, cuts, p.algo->cost(t, known, r, p)), cuts);
}

/**
 * Calls f(plan) for each value of the parameters that the algorithm looks at and whose scratch
 * fits; with `any_scratch`, for what takes least if nothing fits.  Whether it has called.
 */
template <typename F>
bool each_plan(const topology &t, const facts &known, const shared_ways &shared, const wishes &w, const request &r, const algorithm &a,
               association grouping, bool any_scratch, F f)
{
    bool found = false;
    plan p;
    p.algo = &a;
    p.root = r.root;
    p.grouping = grouping;
    const uint32_t widest = static_cast<uint32_t>(widest_site(t));
    const uint32_t crossing = a.takes_turns ? all_senders(t, p) : widest;
    const uint32_t most_links = w.links ? std::min(w.links, crossing) : crossing;
    std::vector<uint32_t> links{(a.parameters & uses_links) ? most_links : 1};
    if (a.parameters & uses_stripes)
        for (uint32_t n = 1; n < most_links && n <= 16; n *= 2)
            links.push_back(n);
    // More would share what fewer fill, and get in each other's way.
    if (const uint32_t n = (a.parameters & uses_links) ? shared_ways::enough_links(known) : 0;
        n > 0 && n < most_links && std::find(links.begin(), links.end(), n) == links.end())
        links.push_back(n);
    p.lambda = (a.parameters & uses_tree) ? postal_lambda(known, r.bytes) : 1;

    std::vector<uint64_t> segments{std::max<uint64_t>(1, r.bytes)};
    if (a.parameters & uses_segment) {
        if (w.segment_bytes)
            segments = {std::min(w.segment_bytes, segments[0])};
        else if (a.automatic)
            for (uint64_t cuts = 2; cuts <= 4096 && r.bytes / cuts >= least_segment_bytes; cuts *= 2)
                segments.push_back((r.bytes + cuts - 1) / cuts);
    }
    std::vector<uint32_t> entries{(a.parameters & uses_far_limit) ? far_limit(t, known, block_bytes(t, r)) : 1};
    if ((a.parameters & uses_entries) && !(grouping == association::tree && kind_of(a.collective).root))     // one combines
        for (uint32_t e = 2; e <= widest && e <= 64; e *= 2)
            entries.push_back(e);
    std::vector<site_order> orders{site_order::star};
    if ((a.parameters & uses_order) && t.site_count() > 2)
        orders.push_back(site_order::chain);
    if (grouping == association::line)      // along which totals are combined
        orders = {site_order::chain};

    std::vector<inner_steps> inners{inner_steps::circulant};
    if ((a.parameters & uses_inner) && grouping == association::tree) {
        plan exchanging = p;        // circulant: for gathering
        const bool few = widest <= most_exchanging && (!a.buffers || a.buffers(t, exchanging) <= most_scratch_buffers);
        if (!few)
            inners.clear();
        else if (widest > 2 && widest <= largest_ring)
            inners.push_back(inner_steps::ring);
        inners.push_back(inner_steps::halving);
    } else if ((a.parameters & uses_inner) && widest > 2 && widest <= largest_ring)
        inners.push_back(inner_steps::ring);

    // Of a block's bytes, or of what is known of them.
    std::vector<uint32_t> pieces{1};
    if ((a.parameters & uses_pieces) && !r.counts_local)
        for (uint32_t k = 2; k <= 16 && block_bytes(t, r) / k >= least_segment_bytes; k *= 2)
            pieces.push_back(k);

    for (uint32_t n : links)
        for (site_order o : orders)
            for (inner_steps inner : inners)
                for (uint32_t e : entries)
                    for (uint32_t k : pieces)
                        for (uint64_t s : segments) {
                            p.links = n;
                            p.order = o;
                            p.inner = inner;
                            p.entries = e;
                            p.pieces = k;
                            p.segment_bytes = std::max(r.element_bytes, s / r.element_bytes * r.element_bytes);
                            const uint64_t scratch = scratch_bytes(t, p), cuts = (r.bytes + p.segment_bytes - 1) / p.segment_bytes;
                            const bool fits = scratch * std::min<uint64_t>(cuts, least_window)
                                              <= (a.parameters & uses_segment ? most_scratch_bytes : most_uncut_bytes);
                            if (!fits && (!any_scratch || s > segments.back()))
                                continue;
                            found = true;
                            p.window = window_for(t, known, p, r.bytes, scratch);
                            p.predicted_ns = predicted(t, known, shared, r, p);
                            if (r.polled)
                                p.window = polled_window(p, cuts, scratch);
                            f(p);
                        }
    return found;
}

template <typename F> void each_candidate(const topology &t, const facts &known, const wishes &w, const request &asked, F f)
{
    request r = asked;
    r.stable = w.stable && kind_of(r.collective).operation;
    const shared_ways shared(t, known, r);
    auto usable = [&](const algorithm &a) {
        if (a.collective != r.collective || (a.only_ordered && r.commutative && !r.stable) || !a.serves(t, r))
            return false;
        plan limits;
        limits.links = w.links ? w.links : UINT32_MAX;
        return (r.commutative || a.keeps_order) && (!r.counts_vary || a.any_counts) && (!r.counts_local || a.local_counts)
               && a.senders(t, limits) <= limits.links;
    };
    std::vector<const algorithm *> able;
    for (const algorithm *a : algorithms())
        if (a->automatic && usable(*a))
            able.push_back(a);
    const association grouping = r.stable ? stable_only(able, r.commutative) : association::any;
    const bool pinned = w.algo && usable(*w.algo) && (!r.stable || std::find(able.begin(), able.end(), w.algo) != able.end());
    if (pinned) {
        if (!each_plan(t, known, shared, w, r, *w.algo, grouping, false, f))
            each_plan(t, known, shared, w, r, *w.algo, grouping, true, f);
        return;
    }
    bool found = false;
    for (int pass = 0; pass < 4 && !found; ++pass)      // the limit of scratch, then the threshold yield where nothing else serves
        for (const algorithm *a : able) {
            if (pass < 2 && w.threshold_bytes && a->long_messages != (r.bytes >= w.threshold_bytes))
                continue;
            found |= each_plan(t, known, shared, w, r, *a, grouping, pass % 2 == 1, f);
        }
}

/**
 * For a call that the program looks after now and then: of those that would be about as fast if it did so
 * all the time (`least_ns`), the one that is fastest if every message inside a site waits for a late look.
 */
std::optional<plan> fewest_waits(const topology &t, const facts &f, const request &r, const std::vector<plan> &all, int64_t least_ns)
{
    constexpr int64_t pause_ns = 10'000'000, in_a_loss = 20;    // a 20th may be lost
    facts rarely = f;
    rarely.lan_ns += pause_ns;
    for (int64_t &ns : rarely.next_ns)
        ns += pause_ns;
    rarely.step_ns += pause_ns;
    std::optional<plan> best;
    int64_t best_ns = 0;
    for (const plan &p : all) {
        if (p.predicted_ns > least_ns + least_ns / in_a_loss)
            continue;
        const int64_t ns = p.algo->cost(t, rarely, r, p);
        if (!best || ns < best_ns || (ns == best_ns && p.predicted_ns < best->predicted_ns))
            best = p, best_ns = ns;
    }
    return best;
}

/**
 * Of those that are as fast, the one in which fewest processes send across at once, where that is a gain.
 *
 * Where a link's rate is known, fewest more than fill it.  (A sum of 1 MB, 2 x 4 hosts with 100 Mb/s, a link of 20: over one link
 * predicted 3% longer than over four, and 6% longer; a broadcast as long.)
 *
 * Where links are not measured yet, calls are the first ones, and who has not sent to a host before opens a connection, which takes
 * two round trips (Open MPI over TCP); between first hosts there is one by then, mostly.
 */
plan fewest_senders(const topology &t, const facts &f, const std::vector<plan> &all, int64_t least_ns)
{
    const uint32_t enough = shared_ways::enough_links(f);
    const int64_t in_a_loss = f.assumed ? 16 : 128;
    const plan *best = nullptr;
    uint32_t senders = 0;
    for (const plan &p : all) {
        if (p.predicted_ns > least_ns + least_ns / in_a_loss)
            continue;
        const uint32_t n = std::max(enough, p.algo->senders(t, p)) * (f.assumed && (p.algo->parameters & uses_entries) ? p.entries : 1);
        if (!best || n < senders || (n == senders && p.predicted_ns < best->predicted_ns))
            best = &p, senders = n;
    }
    return *best;
}

} // namespace

std::optional<plan> choose(const topology &t, const facts &f, const wishes &w, const request &r)
{
    std::optional<plan> best;
    std::vector<plan> all;
    each_candidate(t, f, w, r, [&](const plan &p) {
        if (!best || p.predicted_ns < best->predicted_ns)
            best = p;
        if (r.polled || f.assumed || !f.link_ps.empty())
            all.push_back(p);
    });
    return all.empty() ? best : best_of(t, f, r, all);
}

std::optional<plan> best_of(const topology &t, const facts &f, const request &r, const std::vector<plan> &some)
{
    const auto best = std::min_element(some.begin(), some.end(), [](const plan &a, const plan &b) { return a.predicted_ns < b.predicted_ns; });
    if (best == some.end())
        return std::nullopt;
    return r.polled                            ? fewest_waits(t, f, r, some, best->predicted_ns)
           : f.assumed || !f.link_ps.empty() ? fewest_senders(t, f, some, best->predicted_ns)
                                               : *best;
}

std::string instead_of(const topology &t, const request &r, const plan &chosen, const plan &fastest)
{
    if (fastest.predicted_ns >= chosen.predicted_ns || chosen.predicted_ns > fastest.predicted_ns + fastest.predicted_ns / 16)
        return "";
    return "nearly as fast as " + std::string(fastest.algo->name)
           + (chosen.algo->senders(t, chosen) < fastest.algo->senders(t, fastest) ? ", and fewer ranks of a site send to other sites at once"
              : r.polled                                                          ? ", and waits less for ranks that look rarely"
                                                                                  : "");
}

int64_t predict(const topology &t, const facts &f, const request &r, const plan &p) { return predicted(t, f, shared_ways(t, f, r), r, p); }

std::vector<plan> candidates(const topology &t, const facts &f, const wishes &w, const request &r)
{
    std::vector<plan> all;
    each_candidate(t, f, w, r, [&](const plan &p) { all.push_back(p); });
    std::stable_sort(all.begin(), all.end(), [](const plan &a, const plan &b) { return a.predicted_ns < b.predicted_ns; });
    return all;
}

} // namespace wan
