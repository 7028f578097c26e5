/*
 * See probe.hpp.
 *
 * Steps: between the first hosts of each two sites, in rounds in which no
 * site is in two pairs, 1-byte ping-pongs (the first opens the connection and
 * waits for the partner, then the least of three).  Then, when the interfaces
 * have rested for a round trip, the first two hosts of each site pass 32 KB in 8
 * KB messages (of which a rate limit lets its burst through at once) and, without a rest,
 * 128 KB (the interface's rate); four times.  Then those ping each other with 1 byte, and, where hosts of
 * a site share more or fewer levels, two hosts for each number of levels that those two do not; two of those that share
 * the fewest pass 128 KB.  The first host pings up to eight others at once (what each message costs it);
 * last, all hosts of a site make barriers, one after the other (what a step
 * takes in which everyone waits for everyone: where hosts share processors,
 * much more).  Noise only adds: of repeated times the least counts; of the
 * barriers, into which late ones come when others have made them, the median.
 */
#include "model/probe.hpp"

#include "algo/sites.hpp"
#include "model/cost.hpp"
#include "model/widths.hpp"
#include "sched/builder.hpp"

namespace wan {

namespace {

constexpr int repetitions = 3;
constexpr int bulk_messages = 16, lone_messages = 4;    // one label each
constexpr size_t bulk_message_bytes = 8192;
constexpr span_of first_byte = block(0, bulk_message_bytes);
constexpr uint32_t fan_width = 8;
constexpr int most_sites_by_pair = fact::most_sites;
constexpr int barriers_made = 3, barrier_repetitions = 8;

void keep_least(int64_t &best, int64_t ns)
{
    ns = std::max<int64_t>(1, ns);
    best = best == 0 ? ns : std::min(best, ns);
}

int64_t median(std::vector<int64_t> all)
{
    if (all.empty())
        return 0;
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return std::max<int64_t>(1, *middle);
}

/** Of facts::level_ns, that of so many levels. */
int level_at(int shared) { return std::min(shared, facts::levels - 1); }

struct two_hosts {
    int a, b;
};

/** Two hosts of a site that share so many levels, the first one of all if it does; nullopt: none do, or all do. */
std::optional<two_hosts> hosts_sharing(const topology &t, site_id s, int level)
{
    if (!t.has_levels(s))
        return std::nullopt;
    int with_first = INT32_MAX;
    for (int n = 1; n < t.node_count(s); ++n) {
        with_first = std::min(with_first, t.shared_levels(s, n));
        if (level_at(with_first) == level)
            return two_hosts{0, n};
    }
    for (int n = 1; n < t.node_count(s); ++n)
        if (level_at(t.shared_levels(s, n)) == level)
            return two_hosts{n - 1, n};
    return std::nullopt;
}

/** Whether it is known which levels hosts of a site share: they are in some. */
bool in_levels(const topology &t, site_id s) { return t.has_levels(s) || (t.node_count(s) > 1 && t.shared_levels(s, 0) > 0); }

/** The fewest levels that any of the first so many hosts share. */
int fewest_shared(const topology &t, site_id s, int hosts)
{
    int least = INT32_MAX;
    for (int n = 1; n < hosts; ++n)
        least = std::min(least, t.shared_levels(s, n));
    return level_at(least);
}

/** Whether these are the first two, which `inside` and `bulk` measure. */
bool first_two(const two_hosts &h) { return h.a == 0 && h.b == 1; }

size_t pair_index(int a, int b, int sites)
{
    // Upper triangle, row by row.
    return static_cast<size_t>(a * sites - a * (a + 1) / 2 + (b - a - 1));
}

} // namespace

probe::probe(const topology &t, int me, bool brief) : topo_(t), me_(me)
{
    const int sites = t.site_count();
    pair_ns_.assign(static_cast<size_t>(sites) * static_cast<size_t>(sites), 0);
    const int even = sites + sites % 2;
    const int rounds = std::min(even - 1, most_sites_by_pair - 1);
    const int mine = static_cast<int>(value(t.site_of(me)));
    for (int pass = 0; pass < (brief ? 2 : 1 + repetitions); ++pass) {
        for (int round = 0; round < rounds; ++round) {
            // Round-robin tournament: the pairs of a round are disjoint, so they run at once, as one step.
            step s{kind::site_pair, -1, -1, false};
            for (int i = 0; i < even / 2; ++i) {
                auto seat = [&](int k) { return k == 0 ? 0 : 1 + (k - 1 + round) % (even - 1); };
                const int a = std::min(seat(i), seat(even - 1 - i)), b = std::max(seat(i), seat(even - 1 - i));
                if (b < sites && (a == mine || b == mine)) {
                    s.a = a;
                    s.b = b;
                }
            }
            // Of many rounds, all in the first pass, since partners come from other ones at other times; then as a rest.
            const int once = brief && pass == 0 ? 2 : 1;
            const int pings = rounds == 1 ? once : pass == 0 ? (brief ? 3 : 1 + repetitions) : round < 2 ? 1 : 0;
            for (int i = 0; i < pings; ++i) {
                s.timed = i > 0 || (rounds == 1 && pass > 0);
                steps_.push_back(s);
            }
        }
        steps_.push_back({kind::lone, 0, 0, brief || pass > 0});
        steps_.push_back({kind::bulk, 0, 0, brief || pass > 0});
    }
    if (brief) {
        steps_.push_back({kind::inside, 0, 0, false});
        for (int repeat = 0; repeat < 2; ++repeat)
            steps_.push_back({kind::inside, 0, 0, true});
        level_steps(brief);
        return;
    }
    for (int repeat = 0; repeat <= 2 * repetitions; ++repeat)
        for (kind k : {kind::inside, kind::fan})
            steps_.push_back({k, 0, 0, repeat > 0});
    level_steps(brief);
    for (int repeat = 0; repeat <= barrier_repetitions; ++repeat)
        steps_.push_back({kind::barrier, 0, 0, repeat > 0});
}

void probe::level_steps(bool brief)
{
    std::array<bool, facts::levels> wanted{};
    bool wide = false;
    for (int s = 0; s < topo_.site_count(); ++s)
        for (int level = facts::levels - 1, fewest = fewest_shared(topo_, site_at(s), topo_.node_count(site_at(s))); level >= 0; --level)
            if (const auto two = hosts_sharing(topo_, site_at(s), level); two && !first_two(*two)) {
                wanted[static_cast<size_t>(level)] = true;
                wide |= level == fewest;
            }
    const int timed = brief ? 2 : repetitions;
    for (int level = 0; level < facts::levels; ++level)
        for (int repeat = 0; wanted[static_cast<size_t>(level)] && repeat <= timed; ++repeat)
            steps_.push_back({kind::level, level, 0, repeat > 0});
    for (int repeat = 0; wide && repeat <= timed; ++repeat)
        steps_.push_back({kind::level_bulk, 0, 0, repeat > 0});
}

schedule probe::ping(int from, int to) const
{
    builder b(me_);
    if (me_ == from) {
        b.send(buffer::out, whole(), to, 0);
        b.recv(buffer::out, whole(), to, 1);
    } else if (me_ == to) {
        b.recv(buffer::out, whole(), from, 0);
        b.send(buffer::out, whole(), from, 1);
    }
    return b.finish();
}

schedule probe::bulk(int from, int to, int messages) const
{
    builder b(me_);
    if (me_ == from) {
        for (int i = 0; i < messages; ++i)
            b.send(buffer::out, whole(), to, i);
        b.recv(b.scratch(), first_byte, to, messages);
    } else if (me_ == to) {
        buffer last = buffer::out;
        for (int i = 0; i < messages; ++i)
            b.recv(last = b.scratch(), whole(), from, i);
        // Taken from what came last: goes only when that is there.
        b.send(last, first_byte, from, messages);
    }
    return b.finish();
}

schedule probe::fan() const
{
    builder b(me_);
    const team g = site_team(topo_, topo_.site_of(me_), me_);
    const uint32_t width = std::min(fan_width, g.size() - 1);
    if (g.me == 0)
        for (int label : {0, 1})
            for (uint32_t i = 1; i <= width; ++i)
                label == 0 ? b.send(buffer::out, whole(), g.rank(i), label) : b.recv(b.scratch(), whole(), g.rank(i), label);
    else if (g.has_me() && static_cast<uint32_t>(g.me) <= width) {
        b.recv(buffer::out, whole(), g.rank(0), 0);
        b.send(buffer::out, whole(), g.rank(0), 1);
    }
    return b.finish();
}

schedule probe::barriers() const
{
    // Dissemination: in round k everyone hears from 2^k before, and tells 2^k behind.  A send waits
    // for the receive before it only, as in the algorithms whose steps this stands for: it is a
    // chain of steps to be timed, and nobody relies on its being a barrier.
    builder b(me_);
    const team g = site_team(topo_, topo_.site_of(me_), me_);
    if (!g.has_me() || g.size() < 2)
        return b.finish();
    const size_t n = g.size(), i = static_cast<size_t>(g.me);
    buffer heard = buffer::out;
    int label = 0;
    for (int barrier = 0; barrier < barriers_made; ++barrier)
        for (size_t far = 1; far < n; far *= 2, ++label) {
            b.send(heard, whole(), g.rank((i + far) % n), label);
            b.recv(heard = b.scratch(), whole(), g.rank((i + n - far) % n), label);
        }
    return b.finish();
}

std::optional<schedule> probe::next()
{
    if (at_ >= steps_.size())
        return std::nullopt;
    const site_id mine = topo_.site_of(me_);
    const bool pair = topo_.node_count(mine) > 1;
    const int first = topo_.rank_at(mine, 0), second = pair ? topo_.rank_at(mine, 1) : first;
    bytes_ = 1;
    switch (steps_[at_].what) {
    case kind::site_pair: {
        part_ = false;
        if (steps_[at_].a < 0)      // an odd number of sites: one has no partner
            return builder(me_).finish();
        const int a = topo_.rank_at(site_at(steps_[at_].a), 0), b = topo_.rank_at(site_at(steps_[at_].b), 0);
        part_ = me_ == a;
        return ping(a, b);
    }
    case kind::inside:
        part_ = pair && me_ == first;
        return pair ? ping(first, second) : builder(me_).finish();
    case kind::lone:
    case kind::bulk: {
        // Sites of one host each: the interface shows itself across.
        const int sites = topo_.site_count();
        const bool across = widest_site(topo_) == 1;
        const int a = across ? topo_.rank_at(site_at(0), 0) : first;
        const int b = across ? topo_.rank_at(site_at(sites > 1 ? 1 : 0), 0) : second;
        part_ = (pair || across) && me_ == a;
        bytes_ = bulk_message_bytes;
        return pair || across ? bulk(a, b, steps_[at_].what == kind::bulk ? bulk_messages : lone_messages)
                              : builder(me_).finish();
    }
    case kind::level:
    case kind::level_bulk: {
        const bool wide = steps_[at_].what == kind::level_bulk;
        const auto two = hosts_sharing(topo_, mine, wide ? fewest_shared(topo_, mine, topo_.node_count(mine)) : steps_[at_].a);
        part_ = two && !first_two(*two) && me_ == topo_.rank_at(mine, two->a);
        bytes_ = wide ? bulk_message_bytes : 1;
        if (!two || first_two(*two))
            return builder(me_).finish();
        const int a = topo_.rank_at(mine, two->a), b = topo_.rank_at(mine, two->b);
        return wide ? bulk(a, b, bulk_messages) : ping(a, b);
    }
    case kind::fan:
        part_ = pair && me_ == first;
        return fan();
    case kind::barrier:
    default:
        part_ = pair && node_leader(topo_, me_) == me_;
        return barriers();
    }
}

void probe::record(int64_t elapsed_ns)
{
    const step s = steps_[at_++];
    if (!part_ || !s.timed)
        return;
    switch (s.what) {
    case kind::site_pair:
        keep_least(pair_ns_[static_cast<size_t>(s.a * topo_.site_count() + s.b)], elapsed_ns / 2);
        break;
    case kind::inside:
        keep_least(lan_ns_, elapsed_ns / 2);
        break;
    case kind::lone:
        keep_least(lone_ns_, elapsed_ns);
        break;
    case kind::bulk:
        keep_least(bulk_ns_, elapsed_ns);
        break;
    case kind::level:
        keep_least(level_ns_[static_cast<size_t>(s.a)], elapsed_ns / 2);
        break;
    case kind::level_bulk:
        keep_least(level_bulk_ns_, elapsed_ns);
        break;
    case kind::fan:
        keep_least(fan_ns_, elapsed_ns);
        break;
    case kind::barrier:
        barrier_ns_.push_back(elapsed_ns / (barriers_made * steps(topo_.node_count(topo_.site_of(me_)))));
        break;
    }
}

int64_t probe::cost_ns(const topology &t, const facts &f, bool brief)
{
    // The steps of a site's first host, which takes part in most of them, and putting the facts together.
    int64_t ns = 4 * f.widest_ns();
    const int64_t one_way_ns = widest_site(t) == 1 ? f.widest_ns() : f.lan_ns;      // as next() does
    for (const step &s : probe(t, t.rank_at(site_id{0}, 0), brief).steps_) {
        switch (s.what) {
        case kind::site_pair:
            ns += 2 * f.widest_ns();
            break;
        case kind::inside:
            ns += 2 * f.lan_ns;
            break;
        case kind::lone:
            ns += 2 * one_way_ns + f.lone_ns(lone_messages * bulk_message_bytes);
            break;
        case kind::bulk:
            ns += 2 * one_way_ns + f.wire_ns(bulk_messages * bulk_message_bytes);
            break;
        case kind::level:
            ns += 2 * f.lan_ns;
            break;
        case kind::level_bulk:
            ns += 2 * f.lan_ns + std::max(f.wire_ns(bulk_messages * bulk_message_bytes), level_part(f, static_cast<int64_t>(bulk_messages * bulk_message_bytes)));
            break;
        case kind::fan:
            ns += 2 * (f.lan_ns + fan_width * f.message_ns);
            break;
        case kind::barrier:
            ns += barriers_made * steps(widest_site(t)) * f.step_ns;
            break;
        }
    }
    return ns;
}

fact_vector probe::measured() const
{
    fact_vector v{};
    const int sites = topo_.site_count();
    int64_t worst = 0;
    for (int a = 0; a < sites; ++a)
        for (int b = a + 1; b < sites; ++b) {
            const int64_t ns = pair_ns_[static_cast<size_t>(a * sites + b)];
            worst = std::max(worst, ns);
            if (sites <= most_sites_by_pair)
                v[fact::first_pair_ns + pair_index(a, b, sites)] = ns;
        }
    v[fact::inside_ns] = lan_ns_;
    const site_id mine = topo_.site_of(me_);
    const int64_t width = std::min<int64_t>(fan_width, topo_.node_count(mine) - 1);
    std::array<int64_t, facts::levels> level_ns = level_ns_;
    if (in_levels(topo_, mine))
        level_ns[static_cast<size_t>(level_at(topo_.shared_levels(mine, 1)))] = lan_ns_;
    std::copy(level_ns.begin(), level_ns.end(), v.begin() + fact::first_level_ns);
    if (fan_ns_ > 0) {      // those that the first host asks may be far from it
        const int64_t farthest = std::max(lan_ns_, topo_.has_levels(mine) ? level_ns[static_cast<size_t>(fewest_shared(topo_, mine, static_cast<int>(width) + 1))] : 0);
        v[fact::message_ns] = std::max<int64_t>(1, (fan_ns_ - 2 * farthest) / (2 * width));
    }
    // Sites of one host each: lone and bulk went from the first site to the second.
    const int64_t round_trip = 2 * (lan_ns_ ? lan_ns_ : sites > 1 ? pair_ns_[1] : 0);
    constexpr auto bulk_bytes = static_cast<int64_t>(bulk_messages * bulk_message_bytes);
    v[fact::byte_ps] = bulk_ns_ > round_trip ? (bulk_ns_ - round_trip) * 1000 / bulk_bytes : 0;
    if (topo_.has_levels(mine)) {
        const int64_t fewest_ns = level_ns[static_cast<size_t>(fewest_shared(topo_, mine, topo_.node_count(mine)))];
        v[fact::level_byte_ps] = level_bulk_ns_ > 2 * fewest_ns ? (level_bulk_ns_ - 2 * fewest_ns) * 1000 / bulk_bytes : 0;
    }
    v[fact::farthest_ns] = worst;
    v[fact::lone_ns] = lone_ns_ > 0 ? std::max<int64_t>(1, lone_ns_ - round_trip) : 0;
    v[fact::step_ns] = median(barrier_ns_);
    return v;
}

std::optional<size_t> fact_of_pair(int a, int b, int sites, fact::place first)
{
    if (sites > most_sites_by_pair)
        return std::nullopt;
    return first + pair_index(std::min(a, b), std::max(a, b), sites);
}

namespace {

/** What is known of the levels that these sites have; f.lan_ns is what the first two hosts measured. */
void levels_take(facts &f, const topology &t, const fact_vector &v)
{
    const int64_t first_ns = f.lan_ns;
    std::vector<int64_t> next(static_cast<size_t>(f.sites), first_ns);
    bool any = false, narrow = false;
    size_t fewest = 0;      // that were shared by hosts who measured
    while (fewest + 1 < f.level_ns.size() && v[fact::first_level_ns + fewest] == 0)
        ++fewest;
    for (int s = 0; s < f.sites; ++s) {
        const site_id at = site_at(s);
        if (!in_levels(t, at))
            continue;
        int64_t sum = 0;
        for (int n = 1; n < t.node_count(at); ++n) {
            const auto level = static_cast<size_t>(level_at(t.shared_levels(at, n)));
            f.level_ns[level] = v[fact::first_level_ns + level];
            size_t known = level;       // or farther, where others measured it whose hosts share no more
            while (known > 0 && v[fact::first_level_ns + known] == 0)
                --known;
            const int64_t ns = v[fact::first_level_ns + known];
            any |= ns > 0;
            narrow |= level == fewest;
            f.lan_ns = std::max(f.lan_ns, ns);
            sum += ns > 0 ? ns : first_ns;
        }
        next[value(at)] = sum / (t.node_count(at) - 1);
    }
    if (!any)
        return;
    f.next_ns = std::move(next);
    f.level_byte_ps = narrow ? v[fact::level_byte_ps] : 0;
}

/** A process that was stopped for minutes measures what nobody can compute with. */
void bound(facts &f)
{
    const auto ns = [](int64_t &x) { x = std::min(x, most_fact_ns); };
    const auto ps = [](int64_t &x) { x = std::min(x, most_fact_byte_ps); };
    for (int64_t *x : {&f.lan_ns, &f.message_ns, &f.step_ns, &f.wan_ns})
        ns(*x);
    std::for_each(f.level_ns.begin(), f.level_ns.end(), ns);
    std::for_each(f.next_ns.begin(), f.next_ns.end(), ns);
    std::for_each(f.pair_ns.begin(), f.pair_ns.end(), ns);
    ps(f.byte_ps), ps(f.level_byte_ps);
    std::for_each(f.link_ps.begin(), f.link_ps.end(), ps);
    std::for_each(f.flow_ps.begin(), f.flow_ps.end(), ps);
}

} // namespace

facts facts_from(const topology &t, const fact_vector &v)
{
    facts f;
    f.sites = t.site_count();
    if (v[fact::inside_ns] > 0)
        f.lan_ns = v[fact::inside_ns];
    if (v[fact::message_ns] > 0)
        f.message_ns = v[fact::message_ns];
    if (v[fact::byte_ps] > 0)
        f.byte_ps = v[fact::byte_ps];
    if (v[fact::farthest_ns] > 0)
        f.wan_ns = v[fact::farthest_ns];
    constexpr int64_t lone_bytes = lone_messages * static_cast<int64_t>(bulk_message_bytes);
    if (v[fact::lone_ns] > 0)
        f.burst_bytes = std::max<int64_t>(0, lone_bytes - v[fact::lone_ns] * 1000 / f.byte_ps);
    levels_take(f, t, v);
    f.step_ns = v[fact::step_ns] > 0 ? v[fact::step_ns] : f.lan_ns + f.message_ns;
    if (f.sites <= most_sites_by_pair) {
        f.pair_ns.assign(static_cast<size_t>(f.sites) * static_cast<size_t>(f.sites), 0);
        for (int a = 0; a < f.sites; ++a)
            for (int b = a + 1; b < f.sites; ++b)
                f.pair_ns[static_cast<size_t>(a * f.sites + b)] = f.pair_ns[static_cast<size_t>(b * f.sites + a)] =
                    v[fact::first_pair_ns + pair_index(a, b, f.sites)];
        for (int a = 0; a < f.sites; ++a)
            for (int b = a + 1; b < f.sites; ++b) {
                const int64_t flow_ps = v[*fact_of_pair(a, b, f.sites, fact::first_flow_ps)], link_ps = v[*fact_of_pair(a, b, f.sites, fact::first_link_ps)];
                // What fewer hosts got together, and did not fill, is no limit of what more get.
                if (flow_ps <= 0 || link_ps <= 0 || widths::narrower_than_hosts(t, v, a, b))
                    continue;
                const bool apart = 2 * flow_ps > 3 * link_ps;
                if (apart)
                    f.set_pair(f.flow_ps, a, b, flow_ps);
                f.set_pair(f.link_ps, a, b, apart ? link_ps : std::min(flow_ps, link_ps));
            }
    }
    bound(f);
    return f;
}

} // namespace wan
