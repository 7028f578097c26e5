/*
 * See candidates.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tune/candidates.hpp"

#include "collective.hpp"
#include "adaptive/service.hpp"
#include "algo/sites.hpp"
#include "model/probe.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iterator>

namespace wan {

namespace {

/** Times as many segments, or as few, in powers of two, that are tried. */
constexpr int segment_step = 2;
/** Bytes in all below which Open MPI's own module is looked at: its steps count, not its bytes.  Powers of two: of a class all or none are. */
constexpr uint64_t own_short_bytes = 8192, bcast_short_bytes = 1024;
static_assert(std::has_single_bit(own_short_bytes) && std::has_single_bit(bcast_short_bytes));

/** Ranks, in their order, of a tree in which rank v's parent is v without its lowest bit: the slowest way from the root. */
int64_t binomial_ns(const topology &t, const facts &f, int root)
{
    const int p = t.size();
    std::vector<int64_t> at(static_cast<size_t>(p));
    int64_t worst = 0;
    for (int v = 1; v < p; ++v) {
        const int parent = v & (v - 1), rank = (v + root) % p, above = (parent + root) % p;
        at[static_cast<size_t>(v)] = at[static_cast<size_t>(parent)] + f.latency_ns(t.site_of(above), t.site_of(rank));
        worst = std::max(worst, at[static_cast<size_t>(v)]);
    }
    return worst;
}

/** In each step rank r exchanges with r +- 1, 2, 4, ...: the farthest pair of each. */
int64_t doubling_ns(const topology &t, const facts &f)
{
    int64_t sum = 0;
    for (int step = 1; step < t.size(); step *= 2) {
        int64_t slowest = 0;
        for (int r = 0; r < t.size(); ++r)
            slowest = std::max(slowest, f.latency_ns(t.site_of(r), t.site_of((r + step) % t.size())));
        sum += slowest;
    }
    return sum;
}

int64_t line_ns(const topology &t, const facts &f)
{
    int64_t sum = 0;
    for (int r = 1; r < t.size(); ++r)
        sum += f.latency_ns(t.site_of(r - 1), t.site_of(r));
    return sum;
}

/** Segments of a call by a plan, as a power of two. */
int cuts_of(const request &r, const plan &p)
{
    return std::bit_width((r.bytes + p.segment_bytes - 1) / std::max<uint64_t>(1, p.segment_bytes));
}

/** What a way may be predicted to take that is tried. */
int64_t most_ns(int64_t least_ns, const tune_options &o) { return least_ns + least_ns / 100 * o.excess_percent; }

/** A connection of Open MPI's over TCP takes two round trips. */
constexpr int64_t ways_to_open = 4;

} // namespace

call_class class_of(const topology &t, const request &r)
{
    const collective_kind &kind = kind_of(r.collective);
    return {r.collective, kind.root ? static_cast<uint32_t>(value(t.site_of(r.root))) : 0, static_cast<unsigned>(std::bit_width(r.bytes)),
            r.commutative, r.counts_vary};
}

int64_t trial_ahead_ns(const topology &t, const facts &f, const wishes &of_allreduce)
{
    const auto exchange = choose(t, f, of_allreduce, {.collective = WAN_ALLREDUCE, .bytes = sizeof(int64_t), .element_bytes = sizeof(int64_t), .commutative = true});
    return (exchange ? exchange->predicted_ns : 2 * f.widest_ns()) + f.widest_ns() / 8;
}

int64_t waits_ns(const topology &t, const facts &f, const request &r, int rank)
{
    const site_id here = t.site_of(rank);
    if (!kind_of(r.collective).root)
        return f.farthest_ns(here);
    const site_id root = t.site_of(r.root);
    const bool from_root = r.collective == WAN_BCAST || r.collective == WAN_SCATTER;
    return from_root && here != root ? f.latency_ns(root, here) : f.farthest_ns(root);
}

int64_t score_as_usual(int64_t score_ns, int64_t predicted_ns, int64_t usual_ns)
{
    if (predicted_ns <= 0 || usual_ns <= 0)
        return score_ns;
    return static_cast<int64_t>(std::clamp<__int128>(static_cast<__int128>(score_ns) * usual_ns / predicted_ns, 1, INT64_MAX));
}

bool may_leave(const wishes &w, wan_collective_t c)
{
    return !w.links && !w.segment_bytes && !w.threshold_bytes && !(w.stable && kind_of(c).operation);
}

std::optional<int64_t> own_module_ns(const topology &t, const facts &f, const request &r)
{
    if (r.bytes >= own_short_bytes || r.counts_vary)
        return std::nullopt;
    switch (r.collective) {
    case WAN_ALLGATHER:     // 4.1's is wrong where ranks describe the same Allgatherv by different types
        return std::nullopt;
    case WAN_SCAN:
    case WAN_EXSCAN:
        return line_ns(t, f);
    case WAN_BCAST:         // its pipelines cut by the count, wrong where ranks describe the message by different types
        if (r.bytes >= bcast_short_bytes)
            return std::nullopt;
        return binomial_ns(t, f, r.root);
    case WAN_REDUCE:
    case WAN_GATHER:
    case WAN_SCATTER:
        return binomial_ns(t, f, r.root);
    default:
        return doubling_ns(t, f);
    }
}

std::optional<int64_t> trees_ns(const topology &t, const facts &f, const request &r, uint64_t tree_threshold)
{
    if (!adaptive_serves(r.collective) || r.counts_vary)
        return std::nullopt;
    const bool there_and_back = r.collective == WAN_ALLREDUCE || r.collective == WAN_BARRIER;
    request down = r;
    if (there_and_back) {
        down.collective = WAN_BCAST;
        down.root = 0;
    }
    request up = down;
    up.collective = r.collective == WAN_GATHER ? WAN_GATHER : WAN_REDUCE;
    const auto one_way = [&](const request &way) -> std::optional<int64_t> {
        wishes w;
        const bool latency = way.bytes < tree_threshold || way.collective == WAN_GATHER;
        if (!latency && !(w.algo = algorithm_named(way.collective, "chain")))
            return std::nullopt;
        const auto like = choose(t, f, w, way);
        if (!like || (w.algo && like->algo != w.algo))
            return std::nullopt;
        int hosts = 1;
        for (int s = 0; latency && s < t.site_count(); ++s)
            hosts = std::max(hosts, t.node_count(site_id{static_cast<uint32_t>(s)}));
        // Of a Gather all blocks of a site may pass through one process, and then those of all through the root, which is counted already.
        const int64_t again = way.collective == WAN_GATHER ? 1 : hosts - 1;
        return like->predicted_ns + again * static_cast<int64_t>(static_cast<__int128>(way.bytes) * f.byte_ps / 1000);
    };
    const bool goes_up = there_and_back || r.collective == WAN_REDUCE || r.collective == WAN_GATHER;
    const std::optional<int64_t> there = one_way(goes_up ? up : down), back = there_and_back ? one_way(down) : 0;
    return there && back ? std::optional(*there + *back) : std::nullopt;
}

std::vector<tuner::candidate> candidates_for(const topology &t, const facts &f, const wishes &w, const request &r,
                                             const tune_options &o, const std::optional<manner> &standing, const wishes &of_allreduce, bool along_trees)
{
    const std::vector<plan> all = candidates(t, f, w, r);
    const std::optional<plan> usual = choose(t, f, w, r);       // among equals not always the first one
    std::vector<tuner::candidate> found;
    if (!usual)
        return found;
    const int64_t most = most_ns(all[0].predicted_ns, o);
    const auto candidate_of = [&, ahead_ns = trial_ahead_ns(t, f, of_allreduce)](const manner &m, int64_t predicted_ns) {
        return tuner::candidate{.how = m, .predicted_ns = predicted_ns, .words_ns = ahead_ns, .exchange_ns = f.widest_ns()};
    };
    const manner first = manner_of(*usual);
    found.push_back(candidate_of(first, usual->predicted_ns));
    if (f.sites > fact::most_sites)     // by one latency for all of them no clock is set
        return found;

    std::vector<tuner::candidate> others;
    const auto add = [&](const manner &m, int64_t predicted_ns) {
        const bool known = m == first || std::any_of(others.begin(), others.end(), [&](const auto &x) { return x.how == m; });
        if (!known && predicted_ns <= most)
            others.push_back(candidate_of(m, predicted_ns));
    };
    if (const auto own = own_module_ns(t, f, r); own && may_leave(w, r.collective))
        add({}, *own);
    const auto by_trees = along_trees ? trees_ns(t, f, r, o.tree_threshold) : std::nullopt;
    if (by_trees)
        add({.along_trees = true}, *by_trees);
    // Other parameters change little where the way to another site is most of the time.  Of the
    // model's choice also a quarter of its segment, and four times that: models are at their worst there.
    const bool long_enough = 10 * usual->predicted_ns > 13 * f.widest_ns();
    for (const plan &p : all) {
        manner m = manner_of(p);
        if (const int more = cuts_of(r, p) - cuts_of(r, *usual); m == first && std::abs(more) == segment_step)
            m.cuts = more;
        const bool other = p.algo != usual->algo && std::none_of(others.begin(), others.end(), [&](const auto &x) { return x.how.algo == p.algo; });
        if (other || long_enough)
            add(m, p.predicted_ns);
    }
    // The best of each algorithm, of the model's own with other parameters, then what is left: both by prediction, among equals other algorithms first.
    std::stable_sort(others.begin(), others.end(), [&](const auto &a, const auto &b) {
        return std::pair(a.predicted_ns, a.how.algo == usual->algo) < std::pair(b.predicted_ns, b.how.algo == usual->algo);
    });
    std::vector<tuner::candidate> more;
    for (auto &x : others) {
        const bool again = x.how.algo && std::any_of(found.begin() + 1, found.end(), [&](const auto &y) { return y.how.algo == x.how.algo; });
        (again ? more : found).push_back(std::move(x));
    }
    found.insert(found.end(), more.begin(), more.end());
    found.resize(std::min<size_t>(found.size(), 1 + o.others()));
    if (standing && o.others() && std::none_of(found.begin(), found.end(), [&](const auto &x) { return x.how == *standing; })) {
        const auto as = standing->algo ? choose(t, f, w, r, *standing) : std::nullopt;
        if (!standing->algo || (as && as->algo == standing->algo)) {
            found.resize(std::min<size_t>(found.size(), o.others()));
            const auto other = standing->along_trees ? by_trees : own_module_ns(t, f, r);
            found.push_back(candidate_of(*standing, as ? as->predicted_ns : other.value_or(usual->predicted_ns)));
        }
    }
    // What serves has its connections; where that was learned elsewhere the model's choice may never have served.
    const auto as_first = [&](manner m) { return m.cuts = 0, m == first; };
    for (auto &x : found)
        if (!as_first(x.how))
            x.opening_ns = ways_to_open * f.widest_ns();
    if (standing && !as_first(*standing))
        found[0].opening_ns = ways_to_open * f.widest_ns();
    // No call is shorter than the way to another site, and a little.
    if (const int64_t far_ns = kind_of(r.collective).root ? f.farthest_ns(t.site_of(r.root)) : f.widest_ns(); usual->predicted_ns < far_ns + far_ns / 20)
        found[0].least_ns = far_ns + far_ns / 16;
    return found;
}

std::optional<plan> choose(const topology &t, const facts &f, const wishes &w, const request &r, const manner &m)
{
    wishes as = w;
    as.algo = m.algo;
    as.threshold_bytes = 0;
    if (m.links && m.algo && (m.algo->parameters & uses_links))
        as.links = as.links ? std::min(as.links, m.links) : m.links;
    const std::vector<plan> all = candidates(t, f, as, r);
    const auto best = [&](const auto &good) {
        std::vector<plan> some;
        std::copy_if(all.begin(), all.end(), std::back_inserter(some), good);
        return best_of(t, f, r, some);
    };
    // With as many of its parameters as the algorithm has, and as are to be had here.
    int most = 0;
    for (const plan &p : all)
        if (p.algo == m.algo)
            most = std::max(most, agreed(m, p));
    const auto exact = best([&](const plan &p) { return p.algo == m.algo && agreed(m, p) == most; });
    if (exact && m.cuts) {      // as nearly as there are such segments
        const manner same = manner_of(*exact);
        const auto off = [&, wanted = cuts_of(r, *exact) + m.cuts](const plan &p) { return std::abs(cuts_of(r, p) - wanted); };
        int least = off(*exact);
        for (const plan &p : all)
            if (manner_of(p) == same)
                least = std::min(least, off(p));
        return best([&](const plan &p) { return manner_of(p) == same && off(p) == least; });
    }
    return exact ? exact : best_of(t, f, r, all);
}

std::optional<misfit> misfit_of(const topology &t, const facts &f, const wishes &w, const request &r, const tune_options &o, const manner &m)
{
    request like = r;
    like.element_bytes = 1;     // ranks may describe the same message by different types
    like.polled = false;
    const uint64_t least = std::bit_floor(r.bytes), most = least ? 2 * least - 1 : 0;
    const auto unit = static_cast<uint64_t>(kind_of(r.collective).blocks ? t.size() : 1);
    std::optional<misfit> found;
    for (const uint64_t bytes : {(least + unit - 1) / unit * unit, most / unit * unit}) {
        like.bytes = bytes;
        const auto as = m.algo ? choose(t, f, w, like, m) : std::nullopt;
        const auto own = m.algo || m.along_trees ? std::nullopt : own_module_ns(t, f, like);
        if (as ? as->algo != m.algo : !own)
            return std::nullopt;
        const std::vector<plan> all = candidates(t, f, w, like);
        if (all.empty())
            return std::nullopt;
        found = {bytes, as ? as->predicted_ns : *own, all[0].predicted_ns};
        if (found->predicted_ns <= most_ns(found->least_ns, o))
            return std::nullopt;
    }
    return found;
}

} // namespace wan
