/*
 * See comm.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm.hpp"
#include "algo/sites.hpp"
#include "given_files.hpp"
#include "knobs.hpp"
#include "mix.hpp"
#include "recent.hpp"
#include "tune/choices.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

namespace {

bool same_schedule(const wan::plan &a, const wan::plan &b)
{
    return a.algo == b.algo && a.root == b.root && a.links == b.links && a.lambda == b.lambda && a.entries == b.entries
           && a.order == b.order && a.inner == b.inner && a.grouping == b.grouping && a.pieces == b.pieces;
}

} // namespace

wan_comm::wan_comm(wan::topology t, int rank, const wan_params_t &p, bool pretended)
    : topo(std::move(t)), me(rank), links(topo, me, p, pretended, lock, *this), tree_threshold(static_cast<uint64_t>(p.tree_threshold))
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
    tune = {static_cast<unsigned>(p.tune_trials), static_cast<unsigned>(p.tune_excess), static_cast<unsigned>(p.tune_share), p.tune_trees != 0, tree_threshold};
    tuning.limit(tune.share_percent, tune.trials);
    explains = p.explain != 0;
    for (size_t i = 0; i < wan_knob_count(); ++i)
        if (const wan_knob_t *k = wan_knob_get(i); k->shapes_plans)
            shaping.emplace_back(k, wan::knob_value(*k, p));
    if (2 * (fixed_votes + shaping.size()) + lone_votes > WAN_VOTES)
        throw std::logic_error("too few votes for so many parameters");
    // Their faults were told when the job began: where its site was resolved, and by wan_params_check().
    const auto name = [](const char *file) { return std::string(file ? file : ""); };
    given = wan::files().rules_of(name(p.rules), false, topo);
    learned_before = wan::files().rules_of(name(p.tune_file), true, topo);
    learned_here = wan::chosen().of(topo);
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
    std::lock_guard hold_comm(lock);
    trees = nullptr;        // who counts waits for nobody's tree any more
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

void wan_comm::links_looked_at(const char *why)
{
    {
        std::lock_guard hold(lock);
        ++counters.links_looked_at;
    }
    if (report)
        report->happened("links_looked_at", why);
}

void wan_comm::links_unchanged()
{
    if (report)
        report->happened("links_unchanged", "the links are as they were");
    std::lock_guard hold(lock);
    tuning.reopen();        // it is not the links, but something has changed
}

void wan_comm::links_measured(bool changed, bool news)
{
    if (news)
        wan::chosen().forget(links.sites_key());
    std::lock_guard hold(lock);
    ++counters.links_measured;
    counters.links_changed += changed;
}

void wan_comm::links_learned(unsigned epoch)
{
    tuning.forget(epoch);
    clock.forget();
    clock_told_ns.reset();
}

void wan_comm::links_known(bool changed)
{
    if (report)
        report->links(links.how_known(), changed);
}

/** Adaptive trees measure them, those of all communicators. */
void wan_comm::links_changed()
{
    if (!node)
        return;
    std::lock_guard hold(trees->lock);
    trees->measure_again();
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

std::optional<wan::misfit> wan_comm::misfit_of(const wan::request &r, size_t era, const wan::manner &how) const
{
    // Of what is assumed, predictions say nothing against what was measured, if elsewhere.
    if (links.known[era].assumed)
        return std::nullopt;
    wan::request key = r;       // what that looks at
    key.bytes = std::bit_floor(r.bytes);
    key.element_bytes = 1;
    key.polled = false;
    if (auto *found = wan::most_recent(misfits_, [&](const auto &x) { return x.key == key && x.era == era && x.how == how; }))
        return found->value;
    wan::keep(misfits_, {key, era, how, wan::misfit_of(topo, links.known[era], wish[r.collective], r, tune, how)}, cached_);
    return misfits_.front().value;
}

std::optional<wan_comm::ruling> wan_comm::any_rule(const wan::request &r, bool blocks, size_t era) const
{
    const wan::wishes &w = wish[r.collective];
    if (w.algo || wants_trees[r.collective])
        return std::nullopt;
    const bool other_results = w.stable && wan::kind_of(r.collective).operation;
    const auto serves = [&](const wan::rule &x, bool own) { return x.how.algo || (!other_results && (x.how.along_trees || own)); };
    if (const wan::rule *x = wan::find(given, r); x && serves(*x, true))
        return ruling{x->how, "coll_wan_rules", false};
    // An earlier job's links were those of this one's beginning; it learned of blocking calls.
    const bool as_learned = links.first_links(era) && r.commutative && !r.counts_vary;
    const auto learned = [&](const std::vector<wan::rule> &there) {
        const wan::rule *x = as_learned ? wan::find(there, r) : nullptr;
        return x && serves(*x, blocks && wan::may_leave(w, r.collective)) ? x : nullptr;
    };
    if (const wan::rule *x = learned(learned_here))     // as measured on these links, whatever is predicted
        return ruling{x->how, "an earlier communicator", true};
    if (const wan::rule *x = learned(learned_before))
        return ruling{x->how, "coll_wan_tune_file", true, misfit_of(r, era, x->how)};
    return std::nullopt;
}

std::optional<wan_comm::ruling> wan_comm::ruled(const wan::request &r, bool blocks, size_t era) const
{
    const auto all = any_rule(r, blocks, era);
    return all && !all->misfit ? all : std::nullopt;
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

bool wan_comm::trees_serve(const wan::request &r, const char *unfit) const
{
    return trees_might_serve(r.collective) && !*unfit && trees_refuse(r).empty();
}

bool wan_comm::trees_named(const wan::request &r, const circumstances &c) const
{
    return wants_trees[r.collective] && !c.internal && !*c.unfit && trees_refuse(r).empty();
}

bool wan_comm::trees_might_serve(wan_collective_t c) const
{
    return node && wan::adaptive_serves(c) && !(wish[c].stable && wan::kind_of(c).operation);
}

wan::tuner::service wan_comm::serve(const wan::request &r, const circumstances &c, size_t era)
{
    if (c.internal || wish[r.collective].algo || wants_trees[r.collective])
        return {};
    const bool might = trees_might_serve(r.collective), along_trees = trees_serve(r, c.unfit);
    std::optional<wan::manner> before;
    if (const auto told = ruled(r, c.blocks, era)) {
        if (!told->how.along_trees || along_trees)
            before = told->how;
        if (!told->learned)
            return {before};
    }
    if (!tune.trials || r.counts_local || might != along_trees)     // of a kind of calls all have the same ways
        return {before};
    const wan::facts &f = links.known[era];
    const wan::call_class what = wan::class_of(topo, r);
    if (!c.blocks)      // ranks come to this before and after others begin to measure: by its epoch alone
        return {tuning.chosen(what, c.epoch, before)};
    if (links.unsure())     // what is assumed of links, or not looked at yet, is no reason to try a way
        return {before};
    const wan::tuner::service service = tuning.begin(
        what, [&](const std::optional<wan::manner> &standing) { return wan::candidates_for(topo, f, wish[r.collective], r, tune, standing, wish[WAN_ALLREDUCE], tune.trees && along_trees); }, before);
    trial = service.trial;
    if (trial == WAN_TRIAL_TIMED)
        trial_ahead_ns = wan::trial_ahead_ns(topo, f, wish[WAN_ALLREDUCE]) + tuning.late_ns();
    if (trial == WAN_TRIAL_WATCHED)
        trial_waits_ns = wan::waits_ns(topo, f, r, me) / 20 * 19;
    return service;
}

bool wan_comm::decide_trials(const wan::tune_scores &scores)
{
    std::lock_guard hold(lock);
    const auto before = wan::learned_rules(topo, tuning.classes());
    const bool changes = tuning.decide(scores, links.epochs());
    // What has just been chosen, and over links as they are known today: other communicators may know better of all else.
    auto settled = wan::learned_rules(topo, tuning.classes());
    std::erase_if(settled, [&](const wan::rule &r) { return std::any_of(before.begin(), before.end(), [&](const wan::rule &x) { return wan::print(x) == wan::print(r); }); });
    if (const auto there = wan::measured().links(links.sites_key()); there && *there == links.learned)
        wan::chosen().keep(topo, links.sites_key(), settled);
    if (!changes)
        return false;
    links.repeat();
    return true;
}

wan_comm::decision wan_comm::decide(const wan::request &r, circumstances c, uint64_t far_block_bytes)
{
    std::lock_guard hold(lock);
    const size_t era = links.era_of(c.epoch);
    const auto seen_as = [&](const std::optional<wan::plan> &plan, calls_seen::served by) {
        if (explains && !c.internal && !c.asks)
            saw(r, c.blocks, era, plan, by, c.unfit);
    };
    const bool named = trees_named(r, c);       // whatever is known of links, if anything is
    if (!named && links.known.empty())
        throw std::logic_error("a call before links are known");
    const std::optional<wan::manner> manner = named ? std::nullopt : serve(r, c, era).how;
    if (named || (manner && manner->along_trees && trees_serve(r, c.unfit))) {
        seen_as(std::nullopt, calls_seen::served::along_trees);
        return {.along_trees = true};
    }
    if (manner && !manner->ours()) {
        ++counters.left[r.collective];
        seen_as(std::nullopt, calls_seen::served::left);
        return {.left = true};
    }
    const wan::facts &f = links.known[era];
    const uint32_t limit = r.counts_local ? wan::far_limit(topo, f, far_block_bytes) : 0;
    auto *found = wan::most_recent(decisions_, [&](const auto &x) {
        return x.key == r && x.scattered == c.scattered && x.era == era && x.manner == manner && x.limit == limit;
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
    return tells ? std::max<uint64_t>(1, wan::mix(~static_cast<uint64_t>(r.collective), r.bytes)) : 0;
}

void wan_comm::left_took(int64_t elapsed_ns)
{
    std::lock_guard hold(lock);
    if (std::exchange(trial, 0) != WAN_TRIAL_LEFT)
        return;
    links.took(elapsed_ns, true, false);
    if (left)
        links.seen.record(left, elapsed_ns);
}

int64_t wan_comm::usually_ns(const wan::request &r, unsigned epoch)
{
    std::lock_guard hold(lock);
    const auto usual = wan::choose(topo, links.known[links.era_of(epoch)], wish[r.collective], r);
    return usual ? usual->predicted_ns : 0;
}

void wan_run::account(int64_t elapsed_ns)
{
    std::lock_guard hold(comm->lock);
    const wan_collective_t c = plan ? plan->algo->collective : WAN_NEIGHBOR;
    ++comm->counters.served[c];
    if (waits)
        comm->counters.blocking_ns[c] += static_cast<uint64_t>(elapsed_ns);
    const auto &b = engine->bound();
    if (plan) {
        constexpr uint64_t most_short = 256;        // bytes; (of blocks for each rank more crosses)
        comm->links.took(elapsed_ns, false, !wan::kind_of(c).blocks && b.count * element_bytes <= most_short);
        // What nothing is predicted for would not compare.
        comm->counters.elapsed_ns += static_cast<uint64_t>(elapsed_ns);
        comm->counters.predicted_ns += static_cast<uint64_t>(plan->predicted_ns);
    }
    if (blocks && wan::everyone_waits(c))
        comm->links.seen.record(wan::mix(prepared->serial, b.count * element_bytes), elapsed_ns);
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
