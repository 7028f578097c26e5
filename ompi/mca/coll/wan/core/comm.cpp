/*
 * See comm.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm.hpp"
#include "algo/sites.hpp"
#include "given_files.hpp"
#include "knobs.hpp"
#include "recent.hpp"
#include "report/entry.hpp"
#include "tune/choices.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace {

/**
 * So many times what they take must be worth measuring widths: half a dozen times as long as the rest, they tell less,
 * and calls that are served well already gain nothing by them.  At 20% they take a 20th of the time that counts.
 */
constexpr int64_t widths_price = 5;

/** Of a call's time, what no plan saves: the way between sites, and an eighth of it for the steps inside them. */
int64_t least_ns(const wan::facts &f) { return f.widest_ns() * 9 / 8; }

bool same_schedule(const wan::plan &a, const wan::plan &b)
{
    return a.algo == b.algo && a.root == b.root && a.links == b.links && a.lambda == b.lambda && a.entries == b.entries
           && a.order == b.order && a.inner == b.inner && a.grouping == b.grouping && a.pieces == b.pieces;
}

uint64_t mix(uint64_t h, uint64_t v)
{
    h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
    return h * 0xff51afd7ed558ccdull ^ (h >> 33);
}

} // namespace

wan_comm::wan_comm(wan::topology t, int rank, const wan_params_t &p)
    : topo(std::move(t)), me(rank), tree_threshold(static_cast<uint64_t>(p.tree_threshold)), checks(p.check_interval * 1'000'000), measures(p.measure_share > 0), deferred(p.measure_share)
{
    for (int c = 0; c < WAN_COLLECTIVES; ++c) {
        wish[c].threshold_bytes = static_cast<uint64_t>(p.threshold);
        wish[c].links = static_cast<uint32_t>(p.links);
        wish[c].segment_bytes = static_cast<uint64_t>(p.segment);
        wish[c].stable = p.stable != 0;
        const auto collective = static_cast<wan_collective_t>(c);
        wish[c].algo = p.algorithm[c] > 0 ? wan::algorithm_at(collective, p.algorithm[c]) : nullptr;
        wants_trees[c] = wan::adaptive_serves(collective) && p.algorithm[c] == wan::adaptive_enumerator(collective);
    }
    tune = {static_cast<unsigned>(p.tune_trials), static_cast<unsigned>(p.tune_excess), static_cast<unsigned>(p.tune_share)};
    tuning.limit(tune.share_percent, tune.trials);
    explains = p.explain != 0;
    for (size_t i = 0; i < wan_knob_count(); ++i)
        if (const wan_knob_t *k = wan_knob_get(i); k->shapes_plans)
            shaping.emplace_back(k, wan::knob_value(*k, p));
    if (2 * (fixed_votes + shaping.size()) + lone_votes > WAN_VOTES)
        throw std::logic_error("too few votes for so many parameters");
    // Their faults were told when the job began: where its site was resolved, and by wan_params_check().
    const auto name = [](const char *file) { return std::string(file ? file : ""); };
    hints_ = wan::files().hints_of(name(p.cluster_map));
    given = wan::files().rules_of(name(p.rules), false, topo);
    learned_before = wan::files().rules_of(name(p.tune_file), true, topo);
    learned_here = wan::chosen().of(topo);
    links_file = name(p.links_file);
}

wan_comm::~wan_comm()
{
    leave_trees();
    report.reset();     // it looks at the rest
}

void wan_comm::leave_trees()
{
    if (!node)
        return;
    std::lock_guard hold(trees->lock);
    if (report) {
        try {
            report->keep_trees();
        } catch (const std::exception &) {      // no memory: the report is without them
        }
    }
    for (const auto &[stream, more] : std::exchange(more_nodes, {}))
        leave_node(*more);
    leave_node(*std::exchange(node, nullptr));
}

void wan_comm::leave_node(wan::adaptive_service::member &n)
{
    {
        std::lock_guard hold_counters(lock);
        counters.tree_changes += n.node().tree_changes();
        counters.tree_direct += n.node().seen().direct;
    }
    trees->close(&n);
}

uint64_t wan_comm::links_digest() const
{
    // By site and pair, as learn() uses them: the same numbers elsewhere are other facts.
    uint64_t digest = 0;
    for (int a = 0; a < topo.site_count() && !hints_.empty(); ++a) {
        const std::string &at = topo.site_name(wan::site_id{static_cast<uint32_t>(a)});
        digest = mix(mix(digest, static_cast<uint64_t>(hints_.nic_bytes_per_s(at))), static_cast<uint64_t>(hints_.uplink_bytes_per_s(at)));
        for (int b = a + 1; b < topo.site_count(); ++b) {
            const wan::link_hint *h = hints_.link(at, topo.site_name(wan::site_id{static_cast<uint32_t>(b)}));
            digest = mix(mix(digest, h ? static_cast<uint64_t>(h->latency_ns) : 0),
                         h ? static_cast<uint64_t>(h->bandwidth_bytes_per_s) : 0);
        }
    }
    return digest;
}

std::string wan_comm::sites_key() const
{
    std::string key;
    for (const std::string &name : site_names())
        key += name + '\n';
    return key;
}

std::vector<std::string> wan_comm::site_names() const
{
    std::vector<std::string> names;
    for (int s = 0; s < topo.site_count(); ++s)
        names.push_back(topo.site_name(wan::site_id{static_cast<uint32_t>(s)}));
    return names;
}

std::optional<wan::known_links> wan_comm::links() const
{
    if (learned == wan::fact_vector{})
        return std::nullopt;
    wan::known_links l{site_names(), learned, {}};
    for (const std::string &from : l.sites) {
        l.ways.emplace_back();
        for (const std::string &to : l.sites)
            l.ways.back().push_back(wan::measured().way(from, to));
    }
    return l;
}

wan::facts wan_comm::told(const wan::fact_vector &v, bool map) const
{
    wan::facts f = wan::facts_from(topo, v);
    f.assumed = v == wan::fact_vector{};
    f.eager_bytes = machine.eager_bytes;
    f.copy_ps = machine.copy_ps;
    f.reduce_ps = machine.reduce_ps;
    int64_t slowest = 0;
    const auto byte_ps = [](int64_t rate) { return std::max<int64_t>(1, 1'000'000'000'000 / rate); };
    for (int a = 0; map && a < f.sites; ++a) {
        const wan::site_id at{static_cast<uint32_t>(a)};
        if (int64_t rate = hints_.nic_bytes_per_s(topo.site_name(at)); rate > 0)
            slowest = slowest ? std::min(slowest, rate) : rate;
        if (int64_t rate = hints_.uplink_bytes_per_s(topo.site_name(at)); rate > 0) {
            f.uplink_ps.resize(static_cast<size_t>(f.sites));
            f.uplink_ps[static_cast<size_t>(a)] = byte_ps(rate);
        }
        for (int b = a + 1; b < f.sites; ++b) {
            const wan::link_hint *h = hints_.link(topo.site_name(at), topo.site_name(wan::site_id{static_cast<uint32_t>(b)}));
            if (h && h->latency_ns > 0)
                f.set_pair(f.pair_ns, a, b, h->latency_ns);
            if (h && h->bandwidth_bytes_per_s > 0)
                f.set_pair(f.link_ps, a, b, byte_ps(h->bandwidth_bytes_per_s));
        }
    }
    if (slowest > 0) {
        f.byte_ps = byte_ps(slowest);
        f.burst_bytes = 0;      // it was told apart by the measured rate
    }
    f.settle();
    return f;
}

void wan_comm::learn(bool changed)
{
    wan::facts f = told(learned);
    {
        std::lock_guard hold(lock);
        if (changed)
            changed_from_ = std::min(changed_from_, known.size());
        known.push_back(std::move(f));
        facts_of_.push_back(known.size() - 1);
        seen.forget();
        tuning.forget(static_cast<unsigned>(facts_of_.size() - 1));
    }
    if (report)
        report->links(wan::how_known(*this));
}

void wan_comm::measure_for(purpose p, bool brief)
{
    std::lock_guard hold(lock);
    measuring = std::make_unique<wan::probe>(topo, me, brief);
    measuring_to_ = p;
}

bool wan_comm::widen(int round)
{
    round = wan::widths::next_round(topo, learned, round);
    if (round == wan::widths::rounds)
        return false;
    std::lock_guard hold(lock);
    measuring = std::make_unique<wan::widths>(topo, me, learned, round);
    measuring_to_ = purpose::widen;
    width_round_ = round;
    return true;
}

void wan_comm::widen_later()
{
    if (!measures || !widen(0))
        return;
    const wan::facts &f = known.back();
    const int64_t cost_ns = widths_price * wan::widths::cost_ns(topo, f);
    std::lock_guard hold(lock);
    deferred.begin(cost_ns, 0, least_ns(f));
}

void wan_comm::doubt(const wan::fact_vector &measured)
{
    doubts = wan::contradictions_of(topo, hints_, measured, pretended);
}

int wan_comm::take_widths(const wan::fact_vector &v)
{
    for (size_t i = 0; i < v.size(); ++i)
        if (v[i] > 0)
            learned[i] = v[i];
    if (widen(width_round_ + 1))
        return WAN_DONE;
    doubt(learned);
    learn();
    return WAN_OK;
}

void wan_comm::defer(int64_t spent_ns)
{
    // By a common network's figures, whatever a map or a file tells: one that is wrong must not defer its own correction.
    const wan::facts usual = told({}, false);
    const int64_t cost_ns = wan::probe::cost_ns(topo, usual, measuring_to_ == purpose::believe);
    std::lock_guard hold(lock);
    deferred.begin(cost_ns, spent_ns, least_ns(usual));
}

void wan_comm::took(int64_t elapsed_ns)
{
    if (!measuring)
        return;
    const int64_t counts_ns = deferred.took(elapsed_ns);
    if (spent_everywhere)
        *spent_everywhere += counts_ns;
}

void wan_comm::measure_briefly(purpose p, const char *why)
{
    measure_for(p, true);
    {
        std::lock_guard hold(lock);
        ++counters.links_looked_at;
    }
    if (report)
        report->happened("links_looked_at", why);
}

void wan_comm::adopt(const wan::fact_vector &v)
{
    {
        std::lock_guard hold(lock);
        measuring.reset();
    }
    measuring_to_ = purpose::learn;
    from_file = false;
    const bool changed = !known.empty() && !known.back().assumed && changed_to(v);
    learned = v;
    learn(changed);
    if (changed)
        trees_measure();
    widen_later();
}

void wan_comm::trees_measure()
{
    if (!node)
        return;
    std::lock_guard hold(trees->lock);
    trees->measure_again();
}

void wan_comm::look_wide(purpose p, const wan::fact_vector &seen)
{
    std::lock_guard hold(lock);
    measuring = std::make_unique<wan::widths>(topo, me, learned, wan::widths::a_look, seen);
    measuring_to_ = p;
}

int wan_comm::take_wide_look(const wan::fact_vector &v, purpose why)
{
    const wan::fact_vector both = why == purpose::confirm_wide ? wan::widths::agreed(learned, seen_wide_, v) : v;
    const auto now = wan::widths::corrected(topo, learned, both);
    if (!now && suspected_)
        return unchanged(learned);
    if (!now) {
        if (from_file)
            doubt(learned);
        widen_later();
        return WAN_DECLINED;
    }
    if (why != purpose::confirm_wide) {
        seen_wide_ = v;
        look_wide(purpose::confirm_wide, v);
        return WAN_DONE;
    }
    if (suspected_)
        checks.looked(true, look_cost_ns());
    links_are(*now, true);
    return WAN_OK;
}

int64_t wan_comm::look_cost_ns() const
{
    return wan::probe::cost_ns(topo, known.back(), true) + (wan::widths::any(topo, learned) ? wan::widths::look_cost_ns(topo, known.back()) : 0);
}

int wan_comm::unchanged(const wan::fact_vector &seen_now)
{
    if (suspected_)
        checks.looked(false, look_cost_ns());
    in_use = true;
    // (What a file tells of widths says nothing against what is given before somebody has looked at that.)
    if (from_file)
        doubt(suspected_ ? seen_now : wan::widths::without(seen_now));
    if (report)
        report->happened("links_unchanged", "the links are as they were");
    {
        std::lock_guard hold(lock);
        seen.forget();
        tuning.reopen();        // it is not the links, but something has changed
    }
    if (!suspected_ && measures && wan::widths::any(topo, learned)) {       // as a file tells: when that is worth it
        look_wide(purpose::look_wide);
        std::lock_guard hold(lock);
        deferred.begin(widths_price * wan::widths::look_cost_ns(topo, known.back()), 0, least_ns(known.back()));
    } else {
        widen_later();
    }
    return WAN_DECLINED;
}

int wan_comm::take(const wan::fact_vector &v)
{
    const purpose why = std::exchange(measuring_to_, purpose::learn);
    if (why == purpose::widen)
        return take_widths(v);
    if (why == purpose::look_wide || why == purpose::confirm_wide)
        return take_wide_look(v, why);
    if (why != purpose::learn) {
        wan::fact_vector now = v;
        for (size_t i = 0; i < now.size(); ++i)
            if (now[i] == 0)        // not measured, or too fast to tell
                now[i] = learned[i];
        const bool changed = wan::differ(wan::facts_from(topo, learned), wan::facts_from(topo, now));
        if (why != purpose::confirm)
            suspected_ = why == purpose::look;
        if (changed && why != purpose::confirm) {
            measure_for(purpose::confirm);
            return WAN_DONE;
        }
        if (!changed && suspected_ && wan::widths::any(topo, learned)) {
            look_wide(purpose::look_wide);
            return WAN_DONE;
        }
        if (!changed)
            return unchanged(now);
        if (suspected_)
            checks.looked(true, look_cost_ns());
    }
    links_are(v, why != purpose::learn && changed_to(v));
    return WAN_OK;
}

bool wan_comm::changed_to(const wan::fact_vector &v) const
{
    wan::fact_vector before = learned;
    for (size_t i = wan::fact::first_level_ns; i < wan::fact::end; ++i)
        if (before[i] == 0)     // of a level that is looked at first
            before[i] = v[i];
    return wan::differ(wan::facts_from(topo, before), wan::facts_from(topo, v));
}

void wan_comm::links_are(const wan::fact_vector &v, bool changed)
{
    if (std::exchange(from_file, false) && !in_use) {      // nobody has called yet, so that nothing was planned by it
        std::lock_guard hold(lock);
        known.clear();
        facts_of_.clear();
    }
    // Another communicator over these links may know already, and have learned since.
    const std::string sites = sites_key();
    if (const auto there = wan::measured().links(sites); changed && (!there || wan::differ(wan::facts_from(topo, *there), wan::facts_from(topo, v))))
        wan::chosen().forget(sites);
    learned = v;
    probed = true;
    doubt(v);
    {
        std::lock_guard hold(lock);
        ++counters.links_measured;
        counters.links_changed += changed;
    }
    learn(changed && !known.empty());
    if (changed)
        trees_measure();
    widen_later();
}

std::shared_ptr<const wan_comm::prepared> wan_comm::prepare(const wan::plan &p, bool scattered)
{
    if (auto *e = wan::most_recent(schedules_, [&](const auto &x) { return x.scattered == scattered && same_schedule(x.key, p); }))
        return e->value;
    auto made = prepare(wan::build_schedule(topo, p, me, scattered));
    wan::keep(schedules_, {p, scattered, made}, cached_);
    return made;
}

std::shared_ptr<const wan_comm::prepared> wan_comm::prepare(const wan::edges &e)
{
    std::lock_guard hold(lock);
    if (auto *found = wan::most_recent(exchanges_, [&](const auto &x) { return x.key == e; }))
        return found->value;
    auto made = prepare(wan::build_exchange(topo, me, e));
    wan::keep(exchanges_, {e, made}, cached_);
    return made;
}

std::shared_ptr<const wan_comm::prepared> wan_comm::prepare(wan::schedule s)
{
    auto made = std::make_shared<prepared>();
    made->serial = ++prepared_;
    made->code = std::make_shared<wan::program>(std::move(s));
    const auto &ops = made->code->text().ops;
    const wan::site_id mine = topo.site_of(me);
    for (size_t i = 0; i < ops.size(); ++i)
        if (ops[i].sends() && topo.site_of(ops[i].peer) != mine)
            made->crossing.push_back(static_cast<uint32_t>(i));
    return made;
}

std::optional<wan_comm::ruling> wan_comm::ruled(const wan::request &r, bool blocks, size_t era) const
{
    const wan::wishes &w = wish[r.collective];
    if (w.algo || wants_trees[r.collective])
        return std::nullopt;
    const bool other_results = w.stable && wan::kind_of(r.collective).operation;
    const auto serves = [&](const wan::rule &x, bool own) { return x.how.algo || (!other_results && (x.how.along_trees || own)); };
    if (const wan::rule *x = wan::find(given, r); x && serves(*x, true))
        return ruling{x->how, "coll_wan_rules", false};
    // An earlier job's links were those of this one's beginning; it learned of blocking calls.
    const bool as_learned = era < changed_from_ && r.commutative && !r.counts_vary;
    for (const auto &[learned_there, who] : {std::pair{&learned_here, "an earlier communicator"}, {&learned_before, "coll_wan_tune_file"}})
        if (const wan::rule *x = as_learned ? wan::find(*learned_there, r) : nullptr; x && serves(*x, blocks && wan::may_leave(w, r.collective)))
            return ruling{x->how, who, true};
    return std::nullopt;
}

std::optional<wan_comm::ruling> wan_comm::said(const wan::request &r, bool blocks, size_t era) const
{
    const auto all = ruled(r, blocks, era);
    return all && all->learned && tuning.doubted(wan::class_of(topo, r)) ? std::nullopt : all;
}

std::string wan_comm::trees_refuse(const wan::request &r) const
{
    // Who passes on a Gather keeps all blocks from below until they are sent: long ones go by other algorithms.
    if (r.collective == WAN_GATHER && r.bytes / static_cast<uint64_t>(topo.size()) >= tree_threshold)
        return "take no blocks of " + std::to_string(tree_threshold) + " bytes (coll_wan_tree_threshold) or more";
    const bool alone = !(wants_trees[WAN_REDUCE] && wants_trees[WAN_ALLREDUCE]);
    if (wants_trees[r.collective] && wan::kind_of(r.collective).operation && wish[r.collective].stable && alone)
        return "give other results in stable mode than the algorithms of Reduce or Allreduce";
    return "";
}

bool wan_comm::ruled_along_trees(const wan::request &r, bool blocks, unsigned epoch)
{
    std::lock_guard hold(lock);
    const auto said = ruled(r, blocks, known.empty() ? 0 : era_of(epoch));
    return said && said->how.along_trees;
}

wan::tuner::service wan_comm::serve(const wan::request &r, const circumstances &c, size_t era)
{
    if (c.internal || wish[r.collective].algo || wants_trees[r.collective])
        return {};
    std::optional<wan::manner> before;
    if (const auto told = ruled(r, c.blocks, era)) {
        if (told->how.along_trees)      // which cannot serve this call
            return {};
        before = told->how;
        if (!told->learned)
            return {before};
    }
    if (!tune.trials || r.counts_local)
        return {before};
    const wan::facts &f = known[era];
    const wan::call_class what = wan::class_of(topo, r);
    if (!c.blocks)      // ranks come to this before and after others begin to measure: by its epoch alone
        return {tuning.chosen(what, c.epoch, before)};
    if (unsure())       // what is assumed of links, or not looked at yet, is no reason to try a way
        return {before};
    const wan::tuner::service service = tuning.begin(
        what, [&](const std::optional<wan::manner> &standing) { return wan::candidates_for(topo, f, wish[r.collective], r, tune, standing); }, before);
    if (service.trial) {
        trial = wan::trial_flags(r.collective);
        trial_root = r.root;
        trial_pause_ns = wan::trial_pause_ns(topo, f, trial, r.root, me);
    }
    return service;
}

bool wan_comm::decide_trials(const wan::tune_scores &scores)
{
    std::lock_guard hold(lock);
    const auto before = wan::learned_rules(topo, tuning.classes());
    const bool changes = tuning.decide(scores, static_cast<unsigned>(facts_of_.size()));
    // What has just been chosen, and over links as they are known today: other communicators may know better of all else.
    auto settled = wan::learned_rules(topo, tuning.classes());
    std::erase_if(settled, [&](const wan::rule &r) { return std::any_of(before.begin(), before.end(), [&](const wan::rule &x) { return wan::print(x) == wan::print(r); }); });
    if (const auto there = wan::measured().links(sites_key()); there && *there == learned)
        wan::chosen().keep(topo, sites_key(), settled);
    if (!changes)
        return false;
    facts_of_.push_back(facts_of_.back());      // an epoch without new facts
    return true;
}

wan_comm::decision wan_comm::decide(const wan::request &r, circumstances c, uint64_t far_block_bytes)
{
    std::lock_guard hold(lock);
    if (known.empty())
        throw std::logic_error("a call before links are known");
    const size_t era = era_of(c.epoch);
    const wan::facts &f = known[era];
    const uint32_t limit = r.counts_local ? wan::far_limit(topo, f, far_block_bytes) : 0;
    const std::optional<wan::manner> manner = serve(r, c, era).how;
    const auto seen_as = [&](const std::optional<wan::plan> &plan, calls_seen::served by) {
        if (explains && !c.internal && !c.asks)
            saw(r, c.blocks, era, plan, by);
    };
    if (manner && !manner->algo) {
        ++counters.left[r.collective];
        seen_as(std::nullopt, calls_seen::served::left);
        return {std::nullopt, nullptr, true};
    }
    auto *found = wan::most_recent(decisions_, [&](const auto &x) {
        return x.key == r && x.scattered == c.scattered && x.facts == era && x.manner == manner && x.limit == limit;
    });
    if (!found) {
        decision d;
        d.plan = manner ? wan::choose(topo, f, wish[r.collective], r, *manner) : wan::choose(topo, f, wish[r.collective], r);
        if (limit && d.plan && (d.plan->algo->parameters & wan::uses_far_limit))
            d.plan->entries = limit;
        if (d.plan)
            d.how = prepare(*d.plan, c.scattered);
        wan::keep(decisions_, {r, c.scattered, era, manner, limit, std::move(d)}, cached_);
        found = &decisions_.front();
    }
    if (!found->value.plan)
        ++counters.declined[r.collective];
    seen_as(found->value.plan, found->value.plan ? calls_seen::served::by_plan : calls_seen::served::not_at_all);
    return found->value;
}

uint64_t wan_comm::left_kind(const wan::request &r)
{
    const bool tells = wan::everyone_waits(r.collective) && !r.counts_vary && !r.counts_local;
    return tells ? std::max<uint64_t>(1, mix(~static_cast<uint64_t>(r.collective), r.bytes)) : 0;
}

void wan_comm::left_took(int64_t elapsed_ns)
{
    std::lock_guard hold(lock);
    if (std::exchange(trial, 0) != WAN_TRIAL_LEFT)
        return;
    if (measuring_to_ != purpose::widen)        // they gain nothing by widths
        took(elapsed_ns);
    if (left)
        seen.record(left, elapsed_ns);
}

int64_t wan_comm::usually_ns(const wan::request &r, unsigned epoch)
{
    std::lock_guard hold(lock);
    const auto usual = wan::choose(topo, known[era_of(epoch)], wish[r.collective], r);
    return usual ? usual->predicted_ns : 0;
}

void wan_run::account(int64_t elapsed_ns)
{
    std::lock_guard hold(comm->lock);
    const wan_collective_t c = plan ? plan->algo->collective : WAN_NEIGHBOR;
    ++comm->counters.served[c];
    if (waits)
        comm->counters.blocking_ns[c] += static_cast<uint64_t>(elapsed_ns);
    if (plan)
        comm->took(elapsed_ns);
    if (plan) {         // what nothing is predicted for would not compare
        comm->counters.elapsed_ns += static_cast<uint64_t>(elapsed_ns);
        comm->counters.predicted_ns += static_cast<uint64_t>(plan->predicted_ns);
    }
    const auto &b = engine->bound();
    if (blocks && wan::everyone_waits(c))
        comm->seen.record(mix(prepared->serial, b.count * element_bytes), elapsed_ns);
    const auto messages = comm->counters.wan_messages, bytes = comm->counters.wan_bytes;
    const auto &text = prepared->code->text();
    auto add = [&](size_t elements, size_t times, bool empty) {
        if ((elements || empty) && times) {
            comm->counters.wan_messages += times;
            comm->counters.wan_bytes += elements * times * element_bytes;
        }
    };
    const size_t whole_segments = b.count / b.segment, rest = b.count % b.segment;
    for (uint32_t i : prepared->crossing) {
        const wan::op &o = text.ops[i];
        if (text.by_blocks || !o.carries()) {
            add(o.carries() ? b.blocks[std::min<size_t>(2, static_cast<size_t>(o.src))].length(o.part) : 0, 1, !o.carries());
            continue;
        }
        add(o.part.hi.of(b.segment) - o.part.lo.of(b.segment), whole_segments, false);
        add(o.part.hi.of(rest) - o.part.lo.of(rest), rest ? 1 : 0, false);
    }
    if (comm->report && plan)
        comm->report->add(noted, elapsed_ns, comm->counters.wan_bytes - bytes, comm->counters.wan_messages - messages);
}
