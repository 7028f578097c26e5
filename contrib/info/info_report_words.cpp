/*
 * What a report says in words, on the terminal and on its page: see info_report.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_report.hpp"

#include <algorithm>

namespace info {

namespace {

/** Three digits, without an exponent. */
std::string amount_in(double units)
{
    return format(units < 999.5 ? "%.3g" : "%.0f", units);
}

} // namespace

std::string amount_text(uint64_t bytes)
{
    static constexpr struct {
        const char *unit;
        int shift;
    } units[] = {{"TB", 40}, {"GB", 30}, {"MB", 20}, {"KB", 10}};
    for (const auto &u : units)
        if (bytes >> u.shift)
            return amount_in(static_cast<double>(bytes) / static_cast<double>(uint64_t{1} << u.shift)) + " " + u.unit;
    return std::to_string(bytes) + " B";
}

std::string class_text(const json &k)
{
    const auto from = k.at("bytes_from").get<uint64_t>(), to = k.at("bytes_to").get<uint64_t>();
    return to == 0 ? "no bytes" : from == to ? size_text(from) : size_text(from) + " to " + size_text(to + 1);
}

std::vector<std::string> ways_of(const json &k)
{
    std::vector<std::pair<std::string, uint64_t>> ways;
    uint64_t all = k.at("other_calls").get<uint64_t>();
    for (const json &p : k.at("plans")) {
        std::vector<std::string> more;
        if (!p.at("n").is_null())
            more.push_back("n " + p.at("n").dump());
        if (!p.at("segment_bytes").is_null())
            more.push_back(amount_text(p.at("segment_bytes").get<uint64_t>()));
        const std::string way =
            p.at("algorithm").get<std::string>() + (more.empty() ? "" : " (" + joined(more, ", ") + ")");
        auto it = std::find_if(ways.begin(), ways.end(), [&](const auto &w) { return w.first == way; });
        if (it == ways.end())
            it = ways.insert(it, {way, 0});
        it->second += p.at("calls").get<uint64_t>();
    }
    if (all)
        ways.emplace_back("others", all);
    std::stable_sort(ways.begin(), ways.end(), [](const auto &a, const auto &b) { return a.second > b.second; });
    std::vector<std::string> out;
    for (const auto &[way, calls] : ways)
        out.push_back(ways.size() == 1 ? way : way + " " + std::to_string(calls) + "x");
    return out;
}

std::string count_text(const json &n, const char *what) { return n.dump() + " " + what + (n == 1 ? "" : "s"); }

std::vector<const json *> by_time(const json &r)
{
    std::vector<std::pair<int64_t, const json *>> timed;
    for (const json &c : r.at("communicators")) {
        int64_t sum = 0;
        for (const json &k : c.at("calls"))
            sum += k.at("time_ns").at("sum").get<int64_t>();
        timed.emplace_back(sum, &c);
    }
    std::stable_sort(timed.begin(), timed.end(), [](const auto &a, const auto &b) { return a.first > b.first; });
    std::vector<const json *> out;
    for (const auto &[sum, c] : timed)
        out.push_back(c);
    return out;
}

std::string job_text(const json &r)
{
    const json job = r.value("job", json::object());    // reports of before have none
    const std::string name = job.value("name", ""), batch = job.value("batch", ""), command = job.value("command", "");
    if (name.empty() && batch.empty())
        return command;
    return "job " + name + (batch.empty() ? "" : (name.empty() ? "" : " ") + ("(" + batch + ")")) + (command.empty() ? "" : ": " + command);
}

std::string process_text(const json &r)
{
    const json &who = r.at("process");
    const int spawned = who.value("spawned", 0);    // reports of before have none
    const bool known = who.at("ranks").get<int>() > 0;      // a communicator has told how many there are
    return "rank " + who.at("rank").dump() + (known ? " of " + who.at("ranks").dump() : "")
           + (spawned ? ", spawned job " + std::to_string(spawned) : "");
}

std::string communicator_text(const json &c)
{
    const auto name = c.at("name").get<std::string>();
    return name.empty() ? c.at("communicator").dump() : name + " (" + c.at("communicator").dump() + ")";
}

std::string trial_text(const json &trial)
{
    return trial.at("collective").get<std::string>()
           + (trial.at("collective") == "barrier" ? "" : ", " + class_text(trial))
           + (trial.at("root_site").is_null() ? "" : ", root in " + trial.at("root_site").get<std::string>())
           + (trial.at("commutative").get<bool>() ? "" : ", operator does not commute")
           + (trial.at("blocks_differ").get<bool>() ? ", blocks differ" : "");
}

namespace {

/** "allreduce of 8 B to 16 B on MPI_COMM_WORLD (0)". */
std::string kind_text(const json &c, const json &k)
{
    return k.at("collective").get<std::string>() + (k.at("form") == "blocking" ? "" : ", non-blocking,")
           + (k.at("collective") == "barrier" ? "" : " of " + class_text(k)) + " on " + communicator_text(c);
}

/** All of them were planned by links that nobody had measured. */
bool by_assumed_links(const json &report, const json &communicator, const json &calls)
{
    const json &links = communicator.at("links");
    bool all = !calls.at("plans").empty();
    for (const json &p : calls.at("plans")) {
        const json by = p.value("links", json());       // numbers; reports of before have none
        all = all && !by.empty();
        for (const json &n : by)
            all = all && n < links.size()
                  && report.at("links").at(links.at(n.get<size_t>()).get<size_t>()).at("how") == "assumed";
    }
    return all;
}

/** A sentence on calls by assumed links, which programs of few calls have alone. */
std::string assumed_text(const json &r)
{
    uint64_t assumed = 0;
    for (const json &c : r.at("communicators"))
        for (const json &k : c.at("calls"))
            assumed += by_assumed_links(r, c, k) ? k.at("calls").get<uint64_t>() : 0;
    if (assumed == 0)
        return "";
    const bool all = r.at("totals").at("calls") == assumed;
    return (all ? "All calls" : std::to_string(assumed) + " of " + r.at("totals").at("calls").dump() + " calls")
           + " came before links were measured: predicted and least possible times are those of a common network, but for what a map tells. "
             "--mca coll_wan_measure_share 100 measures in the first call.";
}

/** How near calls came to the least possible time, where ranks wait for each other: of those that lost most by it. */
std::string nearness_text(const json &r)
{
    const json *of = nullptr, *worst = nullptr;
    double most_lost = 0, farthest = 0;
    for (const json &c : r.at("communicators"))
        for (const json &k : c.at("calls")) {
            const json nearness = nearness_of(r, c, k);
            const double ratio = nearness.is_null() ? 0 : nearness.get<double>();
            const double lost = ratio > 1 ? k.at("time_ns").at("sum").get<double>() * (1 - 1 / ratio) : 0;
            farthest = std::max(farthest, ratio);
            if (lost > most_lost) {
                most_lost = lost;
                of = &c;
                worst = &k;
            }
        }
    if (farthest == 0)
        return "";
    if (farthest < 1.25)
        return "Calls in which all ranks wait for each other took the least possible time, or up to "
               + format("%.0f", std::max(0.0, 100 * (farthest - 1))) + "% more.";
    if (!worst)
        return "";
    const json &time = worst->at("time_ns").at("median");
    std::string text = "Most time above the least possible: " + kind_text(*of, *worst) + ", median " + time_text(time.get<int64_t>())
                       + format(", %.3g times ", worst->at("times_bound").get<double>()) + time_text(worst->at("bound_ns").get<int64_t>());
    if (!worst->at("predicted_ns").is_null()) {
        const auto predicted = worst->at("predicted_ns").get<double>();
        text += "; predicted were " + time_text(worst->at("predicted_ns").get<int64_t>())
                + (time.get<double>() > 2 * predicted ? ": ranks that come late, and processors or ways shared with others, are in the rest" : "");
    }
    return text + ".";
}

bool by_trees(const json &r)
{
    return std::ranges::any_of(r.at("communicators"), [](const json &c) {
        return std::ranges::any_of(c.at("calls"), [](const json &k) {
            return std::ranges::any_of(ways_of(k), [](const std::string &way) { return way.starts_with("adaptive"); });
        });
    });
}

std::string crossed_sentence(const json &r)
{
    const json &wan = r.at("totals").at("wan");
    const auto bytes = wan.at("bytes").get<uint64_t>(), least = wan.at("least_bytes").get<uint64_t>();
    if (!wan.at("calls").get<uint64_t>() || !least)
        return "";
    const double ratio = static_cast<double>(bytes) / static_cast<double>(least);
    return "Across sites went " + amount_text(bytes) + (by_trees(r) ? " (what went along adaptive trees is not counted)" : "") + (ratio < 1.005 ? ", no more than has to." : format(", %.2f times what has to.", ratio));
}

} // namespace

uint64_t sent_across(const json &r)
{
    uint64_t sent = 0;
    for (const json &c : r.at("communicators"))
        sent += c.at("wan_bytes").get<uint64_t>();
    return sent;
}

std::string crossed_by_all(const json &r)
{
    const json &sums = r.at("totals"), &wan = sums.at("wan");
    if (wan.at("calls") == 0)
        return "";
    return amount_text(wan.at("bytes").get<uint64_t>()) + ", the least possible " + amount_text(wan.at("least_bytes").get<uint64_t>())
           + (wan.at("calls") == sums.at("calls") ? "" : " (of " + count_text(wan.at("calls"), "call") + " of which that is known)");
}

std::vector<std::string> in_short(const json &r)
{
    const json &sums = r.at("totals");
    std::vector<std::string> out;
    const auto add = [&](std::string s) {
        if (!s.empty())
            out.push_back(std::move(s));
    };
    const json *of = nullptr, *most = nullptr;
    for (const json &c : r.at("communicators"))
        for (const json &k : c.at("calls"))
            if (!most || k.at("time_ns").at("sum").get<int64_t>() > most->at("time_ns").at("sum").get<int64_t>()) {
                of = &c;
                most = &k;
            }
    if (most)
        add("Most time went into " + kind_text(*of, *most) + ": " + time_text(most->at("time_ns").at("sum").get<int64_t>()) + " in "
            + count_text(most->at("calls"), "call") + ", of " + time_text(sums.at("elapsed_ns").get<int64_t>()) + " in all.");
    else if (r.at("process").at("ranks").get<int>() == 0) {
        const auto out = std::ranges::find_if(r.at("events"), [](const json &e) { return e.at("what") == "stays_out"; });
        add(out != r.at("events").end() ? "coll/wan was in no communicator, as " + out->at("text").get<std::string>() + "."
                                        : "coll/wan was in no communicator: there was one process, or it stayed out from the start, and said why then (a file or parameter that is "
                                          "wrong; coll_wan_priority below 0).");
    } else
        add(r.at("not_served").empty() ? "No collective was called that coll/wan serves."
                                       : "coll/wan served no call; why stands at the end, under \"not served\".");
    add(assumed_text(r));
    add(nearness_text(r));
    add(crossed_sentence(r));
    if (const auto others = sums.at("declined").get<uint64_t>() + sums.at("passed").get<uint64_t>())
        add(count_text(others, "call") + " went to another component; why stands with the communicators.");
    size_t changes = 0;
    for (const json &e : r.at("events"))
        changes += e.at("what") == "links_changed";
    if (changes)
        add("Links were found to have changed " + (changes == 1 ? std::string("once") : std::to_string(changes) + " times")
            + ": see what happened when.");
    return out;
}

json nearness_of(const json &report, const json &communicator, const json &calls)
{
    return by_assumed_links(report, communicator, calls) ? json() : calls.at("times_bound");
}

std::string time_or_dash(const json &ns) { return ns.is_null() ? "-" : time_text(ns.get<int64_t>()); }

std::vector<std::string> left_out_of(const json &r)
{
    const json &l = r.at("left_out");
    std::vector<std::string> out;
    const auto add = [&](const char *what, const char *said) {
        if (const auto n = l.at(what).get<uint64_t>())
            out.push_back(std::to_string(n) + said);
    };
    add("communicators", " communicators that were served are not listed: the report has its limit of memory");
    add("calls", " calls are in no table: the report has its limit of memory");
    add("not_served", " communicators that were not served are not listed");
    add("measurements", " measurements of links are not listed");
    add("events", " events are not listed");
    if (l.at("afterthoughts").get<bool>())
        out.push_back("What crossed between sites, or what other plans would have taken, is not known of all calls: a job "
                      "works that out for at most 0.15 s.");
    return out;
}

} // namespace info
