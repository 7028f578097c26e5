/*
 * See info_plan.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_plan.hpp"

#include "adaptive/service.hpp"
#include "info_draw.hpp"
#include "info_simulate.hpp"
#include "report/traffic.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>

namespace info {

namespace {

using json = nlohmann::ordered_json;

/** An algorithm's best form for a call; no plan: it cannot serve it. */
struct entry {
    const wan::algorithm *algo;
    std::optional<wan::plan> best;
    std::vector<wan::plan> forms;       // best first
    std::optional<simulated> run;       // the best one's, where asked for
};

/** What the plugin takes (nullopt: it declines), and every algorithm of the collective. */
struct outlook {
    std::optional<wan::plan> chosen;
    std::optional<wan_comm::ruling> said;       // by a file of rules
    std::string unused;                 // what an earlier job learned, and why that does not count; ""
    std::string outranked;              // by another component, and so nothing of ours is chosen; "": not
    bool by_trees = false;              // asked for by name, or by a rule
    bool no_trees = false;              // they do not serve it, whoever asks
    std::string refused;                // by those trees, and why; "": not, or nobody asks for them
    std::string in_vain;                // an algorithm that a parameter names, and cannot serve the call; ""
    std::vector<entry> entries;

    outlook(const cluster &c, const wan::request &r)
    {
        const wan_comm &comm = c.comm();
        const wan::wishes &wish = comm.wish[r.collective];
        outranked = c.outranked();
        if (outranked.empty()) {
            said = comm.ruled(r, true, 0);
            unused = comm.unused(r, true, 0);
        }
        const bool asked = outranked.empty() && (comm.wants_trees[r.collective] || (said && said->how.along_trees));
        const std::string why = comm.trees_refuse(r);
        by_trees = asked && why.empty();
        no_trees = !why.empty();
        if (asked && !by_trees)
            refused = (comm.wants_trees[r.collective] ? wan::algorithm_knob(r.collective) : said->knob) + " names adaptive trees, which " + why;
        if (!outranked.empty())
            chosen.reset();
        else if (!said || said->how.along_trees)
            chosen = wan::choose(c.topo(), c.facts(), wish, r);
        else if (said->how.algo)
            chosen = wan::choose(c.topo(), c.facts(), wish, r, said->how);
        if (wish.algo && chosen && chosen->algo != wish.algo)
            in_vain = wan::serves_not(wan::algorithm_knob(r.collective), *wish.algo);
        for (const wan::algorithm *a : wan::algorithms()) {
            if (a->collective != r.collective)
                continue;
            entry e{a, std::nullopt, {}, std::nullopt};
            wan::wishes named = wish;
            named.algo = a;
            for (wan::plan &p : wan::candidates(c.topo(), c.facts(), named, r))
                if (p.algo == a)
                    e.forms.push_back(std::move(p));
            if (!e.forms.empty())
                e.best = chosen && chosen->algo == a ? *chosen : e.forms.front();
            entries.push_back(std::move(e));
        }
    }
    /** Of a call that nothing is chosen for. */
    std::string why_not() const
    {
        return !outranked.empty() ? outranked : !ruled_text().empty() ? ruled_text() : "no algorithm of coll/wan can, within these parameters";
    }
    /** What to do about that. */
    const char *remedy() const
    {
        return !outranked.empty() || (by_trees && !said) ? "leave that parameter out" : said ? "change that rule" : "leave some of them out";
    }
    /** Why nothing is drawn of calls along adaptive trees, and what to do: the plan of other calls is not theirs. */
    std::string no_plan_of_trees(const wan::request &r) const
    {
        return "there is no plan to show: " + (said ? std::string(said->knob) : wan::algorithm_knob(r.collective))
               + " names adaptive trees, which processes find while the job runs: " + remedy()
               + " to see the plan of another algorithm; what calls took in a job tells --mca coll_wan_explain 1, and trees are drawn by"
                 " --mca coll_wan_report run.%r.json and then 'wan-info report run.*.json --html run.html'";
    }
    /** Which parameter decided; nullptr: prediction. */
    const char *ruled_by() const { return !outranked.empty() ? "coll_wan_priority" : said && refused.empty() ? said->knob : nullptr; }
    /** "", or that a file of rules has chosen. */
    std::string ruled_text() const
    {
        if (!refused.empty())
            return refused;
        if (!said)
            return in_vain;
        return chosen && said->how.algo && chosen->algo != said->how.algo ? wan::serves_not(said->knob, *said->how.algo) : std::string(said->knob) + " says so";
    }
    /** "", or why what is predicted to be a little faster was not chosen. */
    std::string instead_of(const wan::topology &t, const wan::request &r) const
    {
        const entry *fastest = nullptr;
        for (const entry &e : entries)
            if (e.best && e.algo->automatic && (!fastest || e.best->predicted_ns < fastest->best->predicted_ns))
                fastest = &e;
        return fastest && chosen && ruled_text().empty() ? wan::instead_of(t, r, *chosen, *fastest->best) : "";
    }
    /** The best of each algorithm, and what was chosen. */
    void simulate_all(const cluster &c, const wan_call_t &call)
    {
        for (entry &e : entries)
            if (e.best)
                e.run = simulate(c, *e.best, call);
    }
};

std::string simulated_text(const entry &e) { return e.run ? time_text(e.run->ns) : "-"; }

std::string title_of(const wan::request &r, uint64_t bytes)
{
    std::string text = wan_collective_name(r.collective);
    if (r.collective != WAN_BARRIER)
        text +=
            " of " + size_text(bytes)
            + (wan::kind_of(r.collective).blocks ? (r.collective == WAN_ALLTOALL ? " for each pair" : " of each rank")
                                                 : "");
    if (wan::kind_of(r.collective).root)
        text += (r.collective == WAN_REDUCE || r.collective == WAN_GATHER ? " to rank " : " from rank ")
                + std::to_string(r.root);
    return text + (r.commutative ? "" : ", an operator that does not commute");
}

std::string segment_of(const wan::plan &p, const wan::request &r)
{
    return (p.algo->parameters & wan::uses_segment) && p.segment_bytes < r.bytes ? size_text(p.segment_bytes) : "-";
}

std::string links_of(const wan::plan &p) { return p.algo->parameters & wan::uses_links ? std::to_string(p.links) : "-"; }

json plan_json(const wan::plan &p)
{
    return {{"algorithm", p.algo->name},
            {"predicted_us", static_cast<double>(p.predicted_ns) / 1000},
            {"n", p.links},
            {"segment_bytes", p.segment_bytes == UINT64_MAX ? 0 : p.segment_bytes},
            {"window", p.window},
            {"plan", print(p)},
            {"only_by_name", !p.algo->automatic}};
}

json sites_json(const cluster &c)
{
    json sites = json::array();
    const wan::topology &t = c.topo();
    for (uint32_t s = 0; s < static_cast<uint32_t>(t.site_count()); ++s)
        sites.push_back({{"name", t.site_name(wan::site_id{s})},
                         {"hosts", t.node_count(wan::site_id{s})},
                         {"ranks", t.rank_count(wan::site_id{s})}});
    return sites;
}

/** A plan's time where connections between sites are not as usual. */
int64_t predict_over(const cluster &c, const wan::request &r, const wan::plan &p, wan::connections state)
{
    wan::facts f = c.facts();
    f.between_sites = state;
    return wan::predict(c.topo(), f, r, p);
}

void plan_print(const cluster &c, const wan::request &r, const outlook &o, const plan_words &w, uint64_t bytes)
{
    std::cout << c.describe() << "\n\n" << title_of(r, bytes) << ":\n\n";
    const auto column = [&](const std::string &text) { return w.simulate ? format(" %10s", text.c_str()) : std::string(); };
    size_t longest = 14;
    for (const entry &e : o.entries)
        longest = std::max(longest, std::string(e.algo->name).size());
    const int wide = static_cast<int>(longest);
    std::printf("  %-*s %10s%s %6s %9s\n", wide, "algorithm", "predicted", column("simulated").c_str(), "n", "segment");
    std::vector<const entry *> order;
    for (const entry &e : o.entries)
        order.push_back(&e);
    std::stable_sort(order.begin(), order.end(), [](const entry *a, const entry *b) {
        return std::pair(!a->best, a->best ? a->best->predicted_ns : 0)
               < std::pair(!b->best, b->best ? b->best->predicted_ns : 0);
    });
    for (const entry *e : order) {
        if (!e->best) {
            std::printf("  %-*s %10s%s %6s %9s  cannot serve this call here\n", wide, e->algo->name, "-", column("-").c_str(), "-", "-");
            continue;
        }
        const auto line = [&](const wan::plan &p, const char *name, bool chosen) {
            std::printf("%c %-*s %10s%s %6s %9s%s\n", chosen ? '*' : ' ', wide, name, time_text(p.predicted_ns).c_str(),
                        column(simulated_text(*e)).c_str(), links_of(p).c_str(), segment_of(p, r).c_str(),
                        e->algo->automatic ? "" : "  reference, only by name");
        };
        line(*e->best, e->algo->name, !o.by_trees && o.chosen && o.chosen->algo == e->algo);
        if (w.all)
            for (const wan::plan &p : e->forms)
                std::cout << "      " << time_text(p.predicted_ns) << "  " << print(p) << "\n";
    }
    if (wan::adaptive_serves(r.collective))
        std::printf("%c %-*s %10s%s %6s %9s  %s\n", o.by_trees ? '*' : ' ', wide, wan::adaptive.name, "-", column("-").c_str(), "-", "-",
                    o.no_trees ? "cannot serve this call here" : "only by name; its trees are found in the job");
    std::fflush(stdout);
    if (o.by_trees)
        std::cout << "\nCalls take adaptive trees, whether they block or not, which no plan tells; those that trees do not serve:\n";
    if (!o.chosen) {
        std::cout << "\nOpen MPI's own module serves this call: "
                  << o.why_not() << ".\n";
        return;
    }
    const wan::traffic t(c.topo(), *o.chosen, r);
    const std::string instead = o.instead_of(c.topo(), r);
    std::cout << "\n* chosen: " << o.chosen->algo->summary << (o.ruled_text().empty() ? "" : "\n  " + o.ruled_text())
              << (instead.empty() ? "" : "\n  " + instead) << (o.unused.empty() ? "" : "\n  " + o.unused) << "\n  across sites: " << size_text(t.across.bytes)
              << " in " << t.across.messages << " messages, from up to " << t.senders
              << (t.senders == 1 ? " rank" : " ranks")
              << " of a site\n  inside sites, between hosts: " << size_text(t.inside.bytes) << " in "
              << t.inside.messages << " messages\n  " << print(*o.chosen) << "\n  connections between sites that have just been used: "
              << time_text(predict_over(c, r, *o.chosen, wan::connections::warm)) << "; have rested: "
              << time_text(predict_over(c, r, *o.chosen, wan::connections::rested)) << "; must be opened: "
              << time_text(predict_over(c, r, *o.chosen, wan::connections::closed)) << "\n";
}

json outlook_json(const cluster &c, const wan::request &r, const outlook &o, uint64_t bytes)
{
    json out = {{"call", title_of(r, bytes)},
                {"collective", wan_collective_name(r.collective)},
                {"bytes", bytes},
                {"sites", sites_json(c)},
                {"adaptive", o.by_trees},
                {"chosen", nullptr},
                {"ruled_by", o.ruled_by() ? json(o.ruled_by()) : json(nullptr)},
                {"algorithms", json::array()}};
    if (o.chosen) {
        const wan::traffic t(c.topo(), *o.chosen, r);
        out["chosen"] = plan_json(*o.chosen);
        for (const auto &[state, name] : {std::pair{wan::connections::warm, "warm_us"}, {wan::connections::rested, "rested_us"}, {wan::connections::closed, "first_us"}})
            out["chosen"][name] = static_cast<double>(predict_over(c, r, *o.chosen, state)) / 1000;
        out["across"] = {{"bytes", t.across.bytes}, {"messages", t.across.messages}, {"senders", t.senders}};
    }
    for (const entry &e : o.entries) {
        out["algorithms"].push_back(e.best ? plan_json(*e.best)
                                           : json{{"algorithm", e.algo->name}, {"predicted_us", nullptr}});
        if (e.run)
            out["algorithms"].back()["simulated"] = {{"us", static_cast<double>(e.run->ns) / 1000},
                                                     {"messages", e.run->messages},
                                                     {"bytes_across", e.run->bytes_across}};
    }
    return out;
}

/** Of a column of the table. */
std::string heading(const wan::algorithm &a) { return a.automatic ? a.name : "(" + std::string(a.name) + ")"; }

/** A line of the table, with a mark at what a job would take, as plan_print has it. */
void row_print(const outlook &o, const wan::request &r, uint64_t bytes)
{
    std::printf("%10s", size_text(bytes).c_str());
    for (const entry &e : o.entries)
        std::printf(" %*s%c", std::max(12, static_cast<int>(heading(*e.algo).size()) - 1), !e.best ? "-" : e.run ? simulated_text(e).c_str() : time_text(e.best->predicted_ns).c_str(),
                    !o.by_trees && o.chosen && o.chosen->algo == e.algo ? '*' : ' ');
    if (wan::adaptive_serves(r.collective))
        std::printf(" %12s%c", "-", o.by_trees ? '*' : ' ');
    std::printf("  %s\n", o.by_trees   ? "trees found in the job"
                          : o.chosen ? (links_of(*o.chosen) + ", " + segment_of(*o.chosen, r)).c_str()
                                     : "Open MPI's own");
}

json row_json(const outlook &o, uint64_t bytes)
{
    json row = {{"bytes", bytes},
                {"adaptive", o.by_trees},
                {"chosen", o.chosen ? json(o.chosen->algo->name) : json(nullptr)},
                {"ruled_by", o.ruled_by() ? json(o.ruled_by()) : json(nullptr)},
                {"predicted_us", json::object()}};
    for (const entry &e : o.entries) {
        row["predicted_us"][e.algo->name] =
            e.best ? json(static_cast<double>(e.best->predicted_ns) / 1000) : json(nullptr);
        if (e.run)
            row["simulated_us"][e.algo->name] = static_cast<double>(e.run->ns) / 1000;
    }
    return row;
}

/** Throws for what is given and counts for nothing. */
void in_vain_refuse(const plan_words &w, wan_collective_t c, bool sized)
{
    const wan::collective_kind &kind = wan::kind_of(c);
    const auto refuse = [&](bool given, const char *has_none, const char *what) {
        if (given)
            throw wrong_word(std::string(kind.name) + " has no " + has_none + ": leave " + what + " out");
    };
    refuse(sized && c == WAN_BARRIER, "bytes", "the size");
    refuse(w.root != 0 && !kind.root, "root", "--root");
    refuse(w.ordered && !kind.operation, "operator", "--ordered");
}

} // namespace

int plan_run(const plan_words &w)
{
    if (w.json + (w.schedule_of != -1) + (w.draw == "-") > 1)
        throw wrong_word("--json, --schedule and --draw - all write to standard output: give one of them");
    ending_check("--draw", w.draw, ".svg", "a picture in SVG", "name it plan.svg; browsers show it, and rsvg-convert or Inkscape make a PDF or PNG of it");
    const wan_collective_t collective = collective_of(w.collective);
    const uint64_t bytes = size_parse(w.size);
    in_vain_refuse(w, collective, bytes != 0);
    const cluster c(w.where);
    const wan::request r = c.request_of(collective, bytes, w.root, !w.ordered);
    outlook o(c, r);
    if (w.simulate)
        o.simulate_all(c, c.call_of(r.collective, bytes, w.root, !w.ordered));
    if (w.schedule_of < -1 || w.schedule_of >= c.topo().size())
        throw wrong_word("--schedule: a rank from 0 to " + std::to_string(c.topo().size() - 1));
    if ((!w.draw.empty() || w.schedule_of >= 0) && o.by_trees)
        throw wrong_word(o.no_plan_of_trees(r));
    if ((!w.draw.empty() || w.schedule_of >= 0) && !o.chosen)
        throw wrong_word("there is no plan to show: Open MPI's own module serves this call, since " + o.why_not() + ": " + o.remedy());
    if (w.json)
        std::cout << outlook_json(c, r, o, bytes).dump(2) << "\n";
    else if (w.draw != "-" && w.schedule_of < 0)
        plan_print(c, r, o, w, bytes);
    if (w.schedule_of >= 0)
        std::cout << print(wan::build_schedule(c.topo(), *o.chosen, w.schedule_of));
    if (!w.draw.empty())
        write_file("--draw", w.draw, draw(c, *o.chosen, wan::traffic(c.topo(), *o.chosen, r),
                                title_of(r, bytes) + " by " + o.chosen->algo->name));
    return 0;
}

int compare_run(const plan_words &w)
{
    const wan_collective_t collective = collective_of(w.collective);
    in_vain_refuse(w, collective, w.sizes != plan_words{}.sizes);
    const cluster c(w.where);
    const std::vector<uint64_t> sizes = collective == WAN_BARRIER ? std::vector<uint64_t>{0} : sizes_parse(w.sizes, "--sizes");
    json rows = json::array();
    if (!w.json)
        std::cout << c.describe() << "\n\n"
                  << wan_collective_name(collective) << (w.simulate ? ", simulated" : ", predicted") << "; * chosen (by prediction), () only by name:\n\n";
    bool head = true;
    int right = 0, compared = 0;
    double worst = 1;
    for (uint64_t bytes : sizes) {
        int64_t fastest = 0;

        const wan::request r = c.request_of(collective, bytes, w.root, !w.ordered);
        outlook o(c, r);
        if (w.simulate)
            o.simulate_all(c, c.call_of(collective, bytes, w.root, !w.ordered));
        for (const entry &e : o.entries)
            if (e.run && e.algo->automatic && (fastest == 0 || e.run->ns < fastest))
                fastest = e.run->ns;
        for (const entry &e : o.entries)
            if (e.run && o.chosen && o.chosen->algo == e.algo && fastest > 0) {
                worst = std::max(worst, static_cast<double>(e.run->ns) / static_cast<double>(fastest));
                right += e.run->ns == fastest;
                ++compared;
            }
        if (w.json) {
            rows.push_back(row_json(o, bytes));
            continue;
        }
        if (head) {
            std::printf("%10s", "bytes");
            for (const entry &e : o.entries)
                std::printf(" %13s", heading(*e.algo).c_str());
            if (wan::adaptive_serves(collective))
                std::printf(" %13s", ("(" + std::string(wan::adaptive.name) + ")").c_str());
            std::printf("  chosen: n, segment\n");
            head = false;
        }
        row_print(o, r, bytes);
    }
    std::fflush(stdout);
    if (!w.json && compared)
        std::cout << "\nwhat is chosen is the fastest one simulated in " << right << " of " << compared << " sizes, and at most "
                  << format("%.2f", worst) << " times as slow\n";
    if (w.json)
        std::cout
            << json{{"collective", wan_collective_name(collective)}, {"sites", sites_json(c)}, {"sizes", rows}}.dump(2)
            << "\n";
    return 0;
}

} // namespace info
