/*
 * What a record (record.hpp) turns into when its communicator ends: JSON, a member of a report's
 * "communicators" (doc/report.md).  Counting what crossed and planning anew take time: only as
 * much as the book has for afterthoughts.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report/record.hpp"

#include "adaptive/service.hpp"
#include "comm.hpp"
#include "report/bounds.hpp"
#include "report/json.hpp"
#include "report/traffic.hpp"

#include <algorithm>
#include <set>

namespace wan {

namespace {

std::optional<uint32_t> links_of(const plan &p)
{
    return p.algo->parameters & (uses_links | uses_stripes) ? std::optional(p.links) : std::nullopt;
}

std::optional<uint64_t> segment_of(const plan &p, const request &r)
{
    return (p.algo->parameters & uses_segment) && p.segment_bytes < r.bytes ? std::optional(p.segment_bytes) : std::nullopt;
}

std::string size_words(uint64_t bytes)
{
    for (const auto &[shift, unit] : {std::pair{30, " GB"}, {20, " MB"}, {10, " KB"}})
        if (bytes >> shift && bytes % (uint64_t{1} << shift) == 0)
            return std::to_string(bytes >> shift) + unit;
    return std::to_string(bytes) + " B";
}

/** " of 800000 B" where all calls had that many, " of 512 KB to 1 MB", or "". */
std::string sizes_words(const call_kind &c)
{
    if (c.log_bytes < 0)
        return "";
    const auto other = [&](const auto &f) { return f.call.bytes != c.forms[0].call.bytes; };
    if (!c.forms.empty() && !c.other_calls && std::none_of(c.forms.begin(), c.forms.end(), other))
        return " of " + size_words(c.forms[0].call.bytes);
    return " of " + size_words(uint64_t{1} << c.log_bytes) + " to " + size_words(uint64_t{2} << c.log_bytes);
}

/** What a call that we have no algorithm for is like. */
std::string words_of(const request &r)
{
    std::string text = "no algorithm of coll/wan serves ";
    text += r.commutative ? "it" : "an operator that does not commute";
    if (r.counts_vary || r.counts_local)
        text += ", blocks of different sizes";
    return text + " on these sites within the parameters";
}


/** Of adaptive trees, those with the lowest roots; of one, so many edges. */
constexpr size_t most_told_trees = 16, most_told_edges = 64;

/** A picture of more shows nothing; and all pictures of a communicator may take so many bytes. */
constexpr int most_told_hosts = 64;
constexpr size_t most_told_bytes = 48 << 10;

int host_count(const topology &t)
{
    int hosts = 0;
    for (int s = 0; s < t.site_count(); ++s)
        hosts += t.node_count(site_id{static_cast<uint32_t>(s)});
    return hosts;
}

/** Which of "hosts" a rank is on. */
int host_number(const topology &t, int rank)
{
    const topology::position at = t.locate(rank);
    int number = at.node;
    for (uint32_t s = 0; s < value(at.site); ++s)
        number += t.node_count(site_id{s});
    return number;
}

/** [from, to, bytes, messages] of each pair of hosts, which are numbered as in "hosts". */
std::string flows_json(const topology &t, const host_flows &flows)
{
    if (flows.too_many)
        return "";
    std::vector<int> first{0};      // number of a site's first host
    for (int s = 0; s < t.site_count(); ++s)
        first.push_back(first.back() + t.node_count(site_id{static_cast<uint32_t>(s)}));
    const auto number = [&](const host_place &h) { return first[static_cast<size_t>(h.first)] + h.second; };
    json_text out;
    out.array();
    for (const auto &[ends, f] : flows.all)
        out.array().value(number(ends.first)).value(number(ends.second)).value(f.bytes).value(f.messages).end();
    return out.end().text();
}

/** Ways that were tried, class by class. */
void print_trials(json_text &out, const wan_comm &comm)
{
    out.key("trials").array();
    for (const tuner::state &s : comm.tuning.classes()) {
        if (s.candidates.size() < 2)
            continue;
        out.object().member("collective", kind_of(s.what.collective).name);
        out.member("root_site", kind_of(s.what.collective).root ? std::optional(comm.topo.site_name(site_id{s.what.root_site}))
                                                                : std::nullopt);
        out.member("commutative", s.what.commutative).member("blocks_differ", s.what.counts_vary);
        out.member("bytes_from", s.what.size ? uint64_t{1} << (s.what.size - 1) : 0);
        out.member("bytes_to", s.what.size ? (uint64_t{2} << (s.what.size - 1)) - 1 : 0);
        out.member("calls", s.calls)
            .member("settled", s.phase == tuner::state::phase::settled)
            .member("sum_ns", s.trials_ns)
            .key("ways")
            .array();
        for (size_t k = 0; k < s.candidates.size(); ++k) {
            const tuner::candidate &x = s.candidates[k];
            out.object().member("way", wan::print(x.how)).member("predicted_ns", x.predicted_ns);
            out.member("measured_ns", x.measured_ns ? std::optional(x.measured_ns) : std::nullopt);
            out.member("trials", x.trials).member("serves", k == s.standing).end();
        }
        out.end().end();
    }
    out.end();
}

} // namespace

std::string time_words(int64_t ns)
{
    const auto unit = ns >= 1'000'000'000 ? std::pair{1'000'000'000, " s"}
                      : ns >= 1'000'000   ? std::pair{1'000'000, " ms"}
                                          : std::pair{1'000, " us"};
    const int64_t tenths = ns / (unit.first / 10);
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + unit.second;
}

void record::keep_trees()
{
    json_text out;
    out.array();
    const topology &t = comm_.topo;
    const int me = comm_.me;
    size_t told = 0;
    std::set<tree_name> named;      // of more than one stream the first: they measure the same network
    const auto tell = [&](const tree &x) {
        rank_set others = rank_set::range(0, t.size()) - rank_set::one(me);
        const auto children = x.shares(others);
        if ((children.empty() && x.parent() < 0) || told >= most_told_trees || !named.insert(x.name()).second)
            return;
        ++told;
        out.object().member("root", x.name().root).member("kind", x.name().bandwidth ? "bandwidth" : "latency");
        out.member("changes", x.changes()).key("edges").array();
        const auto edge = [&](int from, int to, int below) {
            out.array().value(from).value(to).value(host_number(t, from)).value(host_number(t, to)).value(below).end();
        };
        int below = 1;
        for (size_t i = 0; i < children.size(); ++i) {
            below += children[i].second.size();
            if (i < most_told_edges)
                edge(me, children[i].first, children[i].second.size());
        }
        if (x.parent() >= 0)
            edge(x.parent(), me, below);
        out.end().end();
    };
    if (host_count(t) <= most_told_hosts)
        comm_.each_node([&](auto &n) { n.node().each_tree(tell); });
    std::string text = out.end().take();
    if (take(text.capacity()))
        trees_ = std::move(text);
}

void record::print(json_text &out, book::totals &sums, book::highlight &most)
{
    const topology &t = comm_.topo;
    std::vector<const call_kind *> all;
    for (const auto &[key, c] : classes_)
        if (c->times.count())
            all.push_back(c.get());
    // What took most time is first where there may not be time, or room, for all.
    std::stable_sort(all.begin(), all.end(), [](const call_kind *a, const call_kind *b) { return a->elapsed_ns > b->elapsed_ns; });
    const auto across = crossings(all);
    fit(all, across, out);
    std::sort(all.begin(), all.end(), [](const call_kind *a, const call_kind *b) {
        const auto key = [](const call_kind *c) { return std::tuple(c->collective, c->counts_vary, !c->blocking, c->log_bytes); };
        return key(a) < key(b);
    });
    out.object()
        .member("communicator", id_)
        .member("name", name_)
        .member("ranks", t.size())
        .member("rank", comm_.me)
        .member("site", t.site_name(t.site_of(comm_.me)));
    out.member("from_ns", began_ns_).member("to_ns", book_->now_ns());
    out.key("sites").array();
    for (int i = 0; i < t.site_count(); ++i) {
        const site_id s{static_cast<uint32_t>(i)};
        out.object().member("site", t.site_name(s)).member("hosts", t.node_count(s)).member("ranks", t.rank_count(s)).end();
    }
    out.end().key("hosts").array();
    for (int i = 0; i < t.site_count() && host_count(t) <= most_told_hosts; ++i) {
        const site_id s{static_cast<uint32_t>(i)};
        for (int n = 0; n < t.node_count(s); ++n)
            out.array().value(i).value(t.rank_at(s, n)).value(t.lane_count(s, n)).end();
    }
    out.end().key("links").array();
    for (size_t number : links_)
        out.value(number);
    out.end().member("passed", passed_).key("declined").array();
    for (const left &l : declined_) {
        out.object()
            .member("collective", kind_of(l.call.collective).name)
            .member("calls", l.calls)
            .member("why", l.by_choice ? "left to the module before coll/wan by a rule or a trial" : words_of(l.call))
            .end();
        sums.declined += l.calls;
    }
    sums.passed += passed_;
    // All that it counted is there, also what this report had no memory for.
    out.end()
        .member("left_out_calls", left_out_)
        .member("wan_messages", comm_.counters.wan_messages)
        .member("wan_bytes", comm_.counters.wan_bytes);
    out.key("calls").array();
    for (const call_kind *c : all)
        print_class(out, *c, across, sums, most);
    out.end();
    print_trials(out, comm_);
    out.key("trees").as_it_is(trees_);
    out.end();
}

/** As many of them, from the first on, as there is room for as text; the others are left out, and counted. */
void record::fit(std::vector<const call_kind *> &all, const crossing_flows &across, json_text &out)
{
    constexpr size_t of_record = 8192, of_kind = 2400, of_form = 480;
    const size_t room = book::most_bytes - std::min(book::most_bytes, book_->held_bytes() - held_);
    size_t wanted = of_record + trees_.size(), kept = 0;
    for (; kept < all.size(); ++kept) {
        size_t more = of_kind + of_form * all[kept]->forms.size();
        for (const auto &f : all[kept]->forms)
            if (const auto told = across.find(&f); told != across.end())
                more += told->second.hosts.size();
        if (wanted + more > room)
            break;
        wanted += more;
    }
    for (size_t i = kept; i < all.size(); ++i)
        left_out_ += all[i]->times.count();
    all.resize(kept);
    out.reserve(wanted);
}

record::crossing_flows record::crossings(const std::vector<const call_kind *> &all) const
{
    // Pictures have half of the memory at most, and none where there are too many hosts for one.
    size_t room = host_count(comm_.topo) <= most_told_hosts && book_->held_bytes() < book::most_bytes / 2 ? most_told_bytes : 0;
    crossing_flows found;
    for (const call_kind *c : all)
        for (const auto &f : c->forms)
            if (f.calls && f.how && !c->counts_vary)
                (void) book_->afterthought(false, [&](const auto &enough) {
                    plan p = *f.how;
                    p.root = f.call.root;
                    host_flows hosts{room / 12};
                    const auto flow = crossing_flow(comm_.topo, p, f.call, enough, room ? &hosts : nullptr);
                    if (!flow)
                        return false;
                    sent &told = found[&f] = {flow->bytes, {}};
                    if (std::string text = flows_json(comm_.topo, hosts); room && text.size() <= room) {
                        room -= text.size();
                        told.hosts = std::move(text);
                    }
                    return true;
                });
    return found;
}

void record::print_class(json_text &out, const call_kind &c, const crossing_flows &across, book::totals &sums,
                         book::highlight &most)
{
    const topology &t = comm_.topo;
    const auto facts_at = [&](const call_kind::form &f) -> const facts & { return comm_.links.known[f.era]; };
    const uint64_t calls = c.times.count();
    // What can be said of calls whose sizes all ranks know, and whose plan is kept.
    uint64_t bounded = 0, measured = 0, crossed = 0, crossing = 0, least = 0;
    __int128 bound_ns = 0, measured_ns = 0;         // the latter on links that were not only assumed
    const call_kind::form *common = nullptr;
    for (const auto &f : c.forms) {
        if (!f.calls)
            continue;
        if (!common || f.calls > common->calls)
            common = &f;
        if (c.counts_vary)
            continue;
        const __int128 bounds_ns = static_cast<__int128>(f.calls) * least_ns(t, facts_at(f), f.call, comm_.me);
        bounded += f.calls;
        bound_ns += bounds_ns;
        measured += facts_at(f).assumed ? 0 : f.calls;
        measured_ns += facts_at(f).assumed ? 0 : bounds_ns;
        if (const auto bytes = across.find(&f); bytes != across.end()) {
            crossed += f.calls;
            crossing += f.calls * bytes->second.across;
            least += f.calls * least_crossing_bytes(t, f.call);
        }
    }
    const int64_t median = c.times.percentile(50);
    const int64_t bound = bounded ? static_cast<int64_t>(bound_ns / bounded) : 0;
    const bool compared = bound > 0 && c.blocking && everyone_waits(c.collective);

    out.object().member("collective", kind_of(c.collective).name).member("form", c.blocking ? "blocking" : "non-blocking");
    out.member("blocks", !kind_of(c.collective).blocks ? "none" : c.counts_vary ? "different" : "equal");
    out.member("bytes_from", c.log_bytes < 0 ? 0 : uint64_t{1} << c.log_bytes);
    out.member("bytes_to", c.log_bytes < 0 ? 0 : (uint64_t{2} << c.log_bytes) - 1);
    out.member("calls", calls).member("bytes", c.bytes);
    out.key("time_ns").object().member("median", median).member("p95", c.times.percentile(95)).member("least", c.times.least());
    out.member("most", c.times.most()).member("mean", c.times.mean()).member("sum", c.elapsed_ns).end();
    out.key("predicted_ns");
    if (c.predicted_calls)
        out.value(c.predicted_ns / static_cast<int64_t>(c.predicted_calls));
    else
        out.as_it_is("null");
    out.key("bound_ns");
    if (bounded)
        out.value(bound);
    else
        out.as_it_is("null");
    out.member("waits_for_all", everyone_waits(c.collective)).key("times_bound");
    if (compared)
        out.thousandth(static_cast<int64_t>(static_cast<__int128>(median) * 1000 / bound));
    else
        out.as_it_is("null");
    out.key("wan").object().member("calls", crossed).member("bytes", crossing).member("least_bytes", least);
    out.key("this_process_bytes");
    if (common && !common->how)
        out.as_it_is("null");    // trees count for the communicator, not for a call
    else
        out.value(c.wan_bytes);
    out.member("this_process_messages", c.wan_messages).end();

    out.key("plans").array();
    for (const auto &f : c.forms) {
        if (!f.calls)
            continue;
        out.object().member("algorithm", f.how ? f.how->algo->name : adaptive.name).member("calls", f.calls);
        out.member("n", f.how ? links_of(*f.how) : std::nullopt)
            .member("segment_bytes", f.how ? segment_of(*f.how, f.call) : std::nullopt);
        out.member("call_bytes", f.call.bytes).member("predicted_ns", f.how ? std::optional(f.how->predicted_ns) : std::nullopt);
        out.member("plan", f.how ? std::optional(wan::print(*f.how)) : std::nullopt);
        out.member("root", kind_of(c.collective).root ? std::optional(f.call.root) : std::nullopt);
        const auto told = across.find(&f);
        out.key("flows").as_it_is(told == across.end() || told->second.hosts.empty() ? "null" : told->second.hosts);
        out.member("links", f.era).end();
    }
    out.end().member("other_calls", c.other_calls).key("choice");
    if (common)
        print_choice(out, c, *common);
    else
        out.as_it_is("null");
    out.end();

    sums.calls += calls;
    sums.elapsed_ns += c.elapsed_ns;
    sums.wan_bytes += crossing;
    sums.least_bytes += least;
    sums.compared_calls += crossed;
    if (c.elapsed_ns > most.elapsed_ns) {
        most.elapsed_ns = c.elapsed_ns;
        most.text = std::string(kind_of(c.collective).name) + sizes_words(c) + " on communicator " + std::to_string(id_)
                    + ", " + std::to_string(calls) + (calls == 1 ? " call, median " : " calls, median ") + time_words(median)
                    + (!compared ? "" : measured ? ", the least possible " + time_words(static_cast<int64_t>(measured_ns / measured)) : ", on links that were not measured")
                    + (common ? std::string(", by ") + (common->how ? common->how->algo->name : adaptive.name) : "");
    }
}

void record::print_choice(json_text &out, const call_kind &c, const call_kind::form &f)
{
    const wishes &wish = comm_.wish[c.collective];
    std::vector<plan> best;    // of each algorithm, fastest first
    size_t forms = 0;
    bool looked = false, first = false;
    if (f.how)
        looked = book_->afterthought(true, [&](const auto &) {
            for (plan &p : candidates(comm_.topo, comm_.links.known[f.era], wish, f.call)) {
                if (!forms++)
                    first = p.algo == f.how->algo && p.predicted_ns == f.how->predicted_ns;
                if (std::none_of(best.begin(), best.end(), [&](const plan &b) { return b.algo == p.algo; }))
                    best.push_back(std::move(p));
            }
            return true;
        });
    const std::string said = comm_.why(f.call, c.blocking, f.era, f.how, f.unfit);
    std::string why =
        !said.empty() ? said
        : !looked     ? "not worked out again: that took too long"
        : !first      ? "not the fastest predicted when looked at again"
        : best.size() == 1
            ? "the only algorithm that serves it"
                  + (forms > 1 ? ", the fastest predicted of its " + std::to_string(forms) + " forms" : "")
            : "the fastest predicted of " + std::to_string(best.size()) + " algorithms in " + std::to_string(forms) + " forms";
    if (f.how && wish.algo && wish.algo != f.how->algo)
        why += std::string("; ") + algorithm_knob(c.collective) + " names " + wish.algo->name + ", which does not serve it";
    if (f.how && !wish.algo && wish.stable && kind_of(c.collective).operation)
        why += ", of those that coll_wan_stable allows";
    if (f.how && !wish.algo && wish.threshold_bytes)
        why += ", on its side of coll_wan_threshold";
    if (const std::string unused = comm_.unused(f.call, c.blocking, f.era); !unused.empty())
        why += "; " + unused;
    out.object().member("bytes", f.call.bytes).member("why", why).key("candidates").array();
    for (const plan &p : best)
        out.object()
            .member("algorithm", p.algo->name)
            .member("n", links_of(p))
            .member("segment_bytes", segment_of(p, f.call))
            .member("predicted_ns", p.predicted_ns)
            .end();
    out.end().end();
}

} // namespace wan
