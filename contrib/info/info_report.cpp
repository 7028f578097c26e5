/*
 * See info_report.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_report.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <tuple>

namespace info {

namespace {

/** The version of the format that this program reads: wan::book::format. */
constexpr int known_format = 1;

template <typename... A> std::string format(const char *text, A... values)
{
    char out[1024];
    std::snprintf(out, sizeof out, text, values...);
    return out;
}

/** Columns as wide as what is in them; the first `left` of them to the left. */
class table {
public:
    explicit table(size_t left) : left_(left) {}
    void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    std::string text() const
    {
        std::vector<size_t> width;
        for (const auto &cells : rows_)
            for (size_t i = 0; i < cells.size(); ++i) {
                width.resize(std::max(width.size(), i + 1));
                width[i] = std::max(width[i], cells[i].size());
            }
        std::string out;
        for (const auto &cells : rows_) {
            std::string line = "  ";
            for (size_t i = 0; i < cells.size(); ++i) {
                const std::string space(width[i] - cells[i].size(), ' ');
                const bool last = i + 1 == cells.size();
                line += i < left_ || last ? cells[i] + (last ? "" : space) : space + cells[i];
                line += last ? "" : "  ";
            }
            out += line + "\n";
        }
        return out;
    }

private:
    size_t left_;
    std::vector<std::vector<std::string>> rows_;
};

std::string joined(const std::vector<std::string> &words, const char *between)
{
    std::string out;
    for (const std::string &w : words)
        out += (out.empty() ? "" : between) + w;
    return out;
}

std::string ratio_text(const json &ratio) { return ratio.is_null() ? "-" : format("%.2f", ratio.get<double>()); }

/** What crossed, of how many calls that is known; "-" where it is not. */
std::string crossed_text(const json &wan, const char *what)
{
    return wan.at("calls").get<uint64_t>() ? amount_text(wan.at(what).get<uint64_t>()) : "-";
}

std::string sites_text(const json &communicator)
{
    std::vector<std::string> sites;
    for (const json &s : communicator.at("sites"))
        sites.push_back(s.at("site").get<std::string>() + " (" + count_text(s.at("hosts"), "host") + ", "
                        + count_text(s.at("ranks"), "rank") + ")");
    return joined(sites, ", ");
}

std::string links_text(const json &l)
{
    const json &in = l.at("inside"), &host = l.at("interface");
    return l.at("how").get<std::string>() + " at " + time_text(l.at("at_ns").get<int64_t>()) + ": farthest "
           + time_text(l.at("farthest_ns").get<int64_t>())
           + (in.at("latency_ns").is_null() ? "" : ", inside " + time_text(in.at("latency_ns").get<int64_t>()))
           + " one way, " + (host.at("bytes_per_s").is_null() ? "-" : rate_text(host.at("bytes_per_s").get<double>()))
           + " a host";
}

void communicator_print(const json &report, const json &c)
{
    std::cout << "\ncommunicator " << communicator_text(c) << ", " << count_text(c.at("ranks"), "rank") << ": " << sites_text(c)
              << "\n";
    for (const json &number : c.at("links"))
        std::cout << "  links " << links_text(report.at("links").at(number.get<size_t>())) << "\n";
    table t(2);
    t.row({"call", "bytes", "calls", "median", "95%", "predicted", "least time", "median/least", "across sites",
           "least bytes", "by"});
    for (const json &k : c.at("calls")) {
        const json &time = k.at("time_ns");
        t.row({k.at("collective").get<std::string>() + (k.at("form") == "blocking" ? "" : ", non-blocking")
                   + (k.at("blocks") == "different" ? ", blocks differ" : ""),
               class_text(k), std::to_string(k.at("calls").get<uint64_t>()), time_or_dash(time.at("median")),
               time_or_dash(time.at("p95")), time_or_dash(k.at("predicted_ns")), time_or_dash(k.at("bound_ns")),
               ratio_text(nearness_of(report, c, k)), crossed_text(k.at("wan"), "bytes"),
               crossed_text(k.at("wan"), "least_bytes"), joined(ways_of(k), "; ")});
    }
    std::cout << (c.at("calls").empty() ? "  no calls\n" : t.text());
    if (!c.at("trials").empty()) {
        table tried(2);
        tried.row({"tried", "way", "predicted", "measured", "trials"});
        for (const json &x : c.at("trials"))
            for (const json &y : x.at("ways"))
                tried.row({trial_text(x) + (x.at("settled").get<bool>() ? "" : ", not settled"),
                           (y.at("serves").get<bool>() ? "* " : "  ") + y.at("way").get<std::string>(),
                           time_or_dash(y.at("predicted_ns")), time_or_dash(y.at("measured_ns")), y.at("trials").dump()});
        std::cout << tried.text();
    }
    for (const json &d : c.at("declined"))
        std::cout << "  " << count_text(d.at("calls"), "call") << " of " << d.at("collective").get<std::string>()
                  << " went to another component: " << d.at("why").get<std::string>() << "\n";
    if (c.at("passed") != 0)
        std::cout << "  calls that went to another component before it was served: " << c.at("passed") << "\n";
}

void summary_print(const json &r)
{
    const json &who = r.at("process"), &sums = r.at("totals"), &wan = sums.at("wan");
    std::cout << "report of " << process_text(r) << " on "
              << who.at("host").get<std::string>() << ", " << r.at("began").get<std::string>() << ", "
              << time_text(r.at("elapsed_ns").get<int64_t>()) << " (coll/wan " << r.at("version").get<std::string>()
              << ")\n"
              << (job_text(r).empty() ? "" : job_text(r) + "\n")
              << count_text(sums.at("communicators_served"), "communicator") << " served; "
              << count_text(sums.at("calls"), "call") << " took "
              << time_text(sums.at("elapsed_ns").get<int64_t>()) << " on this rank; across sites "
              << amount_text(wan.at("bytes").get<uint64_t>()) << ", the least possible "
              << amount_text(wan.at("least_bytes").get<uint64_t>()) << "\n";
    for (const std::string &s : in_short(r))
        std::cout << "- " << s << "\n";
    for (const auto &[name, value] : r.at("parameters").items())
        std::cout << name << " = " << (value.is_string() ? value.get<std::string>() : value.dump()) << "\n";
    for (const json *c : by_time(r))
        communicator_print(r, *c);
    if (!r.at("not_served").empty())
        std::cout << "\nnot served:\n";
    for (const json &n : r.at("not_served")) {
        std::cout << "  " << count_text(n.at("communicators"), "communicator") << " of " << count_text(n.at("ranks"), "rank")
                  << ": " << n.at("why").get<std::string>() << "\n";
        if (const auto remedy = n.value("remedy", ""); !remedy.empty())     // reports of before have none
            std::cout << "      what to do: " << remedy << "\n";
    }
    if (!r.at("events").empty())
        std::cout << "\nwhat happened:\n";
    for (const json &e : r.at("events"))
        std::cout << "  " << format("%10s", time_text(e.at("at_ns").get<int64_t>()).c_str()) << "  "
                  << e.at("text").get<std::string>() << "\n";
    for (const std::string &s : left_out_of(r))
        std::cout << "\n" << s << "\n";
    std::cout << "\ntimes: of this rank, from a call's start to its end (the root of a broadcast waits for nobody); least: that is possible on these links"
                 "\ncalls: those that coll/wan served, Open MPI's own where communicators are made among them"
                 "\nnot counted, here and above: neighbourhood collectives, and what programs send themselves"
                 " (more: doc/report.md, or --html)\n";
}

// ---- several ----------------------------------------------------------------------------

/** Whether both are of ranks of one job: of reports of before, which name none, what all its ranks share is compared. */
bool of_one_job(const json &a, const json &b)
{
    const json &x = a.at("process"), &y = b.at("process");
    const auto name = [](const json &r) { return r.value("job", json::object()).value("name", ""); };
    const auto began = [](const json &r) -> int64_t {
        std::tm t{};
        return strptime(r.at("began").get<std::string>().c_str(), "%Y-%m-%dT%H:%M:%SZ", &t) ? timegm(&t) : 0;
    };
    // Names come again: they have 16 bits in 4.1, a number of a process in 5.0.  Clocks of hosts differ less than a day.
    constexpr int64_t day = 86400;
    return x.at("ranks") == y.at("ranks") && x.value("spawned", 0) == y.value("spawned", 0) && a.at("version") == b.at("version")
           && name(a) == name(b) && std::abs(began(a) - began(b)) < day;
}

/** Which reports are of which job, and what its ranks say; for more of them than can stand side by side. */
void jobs_print(const std::vector<json> &all, const std::vector<std::string> &files)
{
    std::vector<std::vector<size_t>> jobs;
    for (size_t k = 0; k < all.size(); ++k) {
        const auto it = std::find_if(jobs.begin(), jobs.end(), [&](const auto &j) { return of_one_job(all[j[0]], all[k]); });
        (it == jobs.end() ? jobs.emplace_back() : *it).push_back(k);
    }
    std::cout << all.size() << " reports of " << (jobs.size() == 1 ? "one job" : std::to_string(jobs.size()) + " jobs") << "\n";
    for (std::vector<size_t> &j : jobs) {
        std::stable_sort(j.begin(), j.end(), [&](size_t x, size_t y) {
            return all[x].at("process").at("rank").get<int>() < all[y].at("process").at("rank").get<int>();
        });
        const json &one = all[j[0]];
        std::cout << "\n" << (job_text(one).empty() ? "a job without a name" : job_text(one)) << "\n" << count_text(one.at("process").at("ranks"), "rank") << ", "
                  << one.at("began").get<std::string>() << ", " << time_text(one.at("elapsed_ns").get<int64_t>()) << "\n";
        table t(0);
        t.row({"rank", "host", "calls", "time in them", "to others", "sent across sites", "report"});
        std::string own;
        for (size_t k : j) {
            const json &r = all[k], &who = r.at("process"), &sums = r.at("totals");
            uint64_t sent = 0;
            for (const json &c : r.at("communicators"))
                sent += c.at("wan_bytes").get<uint64_t>();
            t.row({who.at("rank").dump(), who.at("host").get<std::string>(), sums.at("calls").dump(), time_text(sums.at("elapsed_ns").get<int64_t>()),
                   std::to_string(sums.at("declined").get<uint64_t>() + sums.at("passed").get<uint64_t>()), amount_text(sent), files[k]});
            own += " " + files[k];
        }
        std::cout << t.text() << "more of it: wan-info report " << files[j[0]] << "; a page: wan-info report" << own << " --html FILE\n";
    }
}

/** What makes calls of two reports the same kind: communicators are matched by name, ranks and how-manieth. */
using kind = std::tuple<std::string, std::string>;
using kinds = std::vector<std::pair<kind, const json *>>;

kinds kinds_of(const json &r)
{
    kinds all;
    std::map<std::string, int> seen;
    for (const json &c : r.at("communicators")) {
        std::string of = c.at("name").get<std::string>() + " of " + c.at("ranks").dump() + " ranks";
        if (const int n = seen[of]++)
            of += ", no. " + std::to_string(n + 1);
        for (const json &k : c.at("calls"))
            all.push_back({{of, k.at("collective").get<std::string>() + ", " + k.at("form").get<std::string>()
                                    + (k.at("blocks") == "different" ? ", blocks differ" : "") + ", " + class_text(k)},
                           &k});
    }
    return all;
}

void compare_print(const json &a, const json &b, const report_words &w)
{
    const bool one = of_one_job(a, b) && !job_text(a).empty();
    const auto head = [&](const char *name, const std::string &file, const json &r) {
        std::cout << name << ": " << file << ", " << process_text(r) << ", " << r.at("began").get<std::string>()
                  << (one || job_text(r).empty() ? "" : ", " + job_text(r)) << "\n";
    };
    head("A", w.files[0], a);
    head("B", w.files[1], b);
    if (one)
        std::cout << "both of one " << job_text(a) << "\n";
    const auto differ = [&](const char *name, auto of) {
        const std::string x = of(a), y = of(b);
        std::cout << name << ": " << x << (x == y ? " both" : " / " + y) << "\n";
    };
    differ("ranks", [](const json &r) { return r.at("process").at("ranks").dump(); });
    differ("farthest site, one way", [](const json &r) {
        return r.at("links").empty() ? std::string("-")
                                     : time_text(r.at("links").back().at("farthest_ns").get<int64_t>());
    });
    differ("calls", [](const json &r) { return r.at("totals").at("calls").dump(); });
    differ("time in them", [](const json &r) { return time_text(r.at("totals").at("elapsed_ns").get<int64_t>()); });
    differ("across sites",
           [](const json &r) { return amount_text(r.at("totals").at("wan").at("bytes").get<uint64_t>()); });
    json names = a.at("parameters");
    names.update(b.at("parameters"));
    for (const auto &[name, value] : names.items())
        if (name != "coll_wan_report"
            && a.at("parameters").value(name, json()) != b.at("parameters").value(name, json()))
            differ(name.c_str(), [&](const json &r) {
                return r.at("parameters").contains(name) ? r.at("parameters").at(name).dump() : "default";
            });
    const kinds all_a = kinds_of(a), all_b = kinds_of(b);
    const auto find = [](const kinds &all, const kind &k) -> const json * {
        const auto it = std::find_if(all.begin(), all.end(), [&](const auto &x) { return x.first == k; });
        return it == all.end() ? nullptr : it->second;
    };
    table t(2);
    t.row({"communicator", "calls", "A", "B", "median A", "median B", "B/A", "by"});
    const auto add = [&](const kind &k, const json *x, const json *y) {
        const auto count = [](const json *j) { return j ? std::to_string(j->at("calls").get<uint64_t>()) : "-"; };
        const auto median = [](const json *j) { return j ? j->at("time_ns").at("median").get<int64_t>() : 0; };
        const std::string by_a = x ? joined(ways_of(*x), "; ") : "", by_b = y ? joined(ways_of(*y), "; ") : "";
        t.row({std::get<0>(k), std::get<1>(k), count(x), count(y), x ? time_text(median(x)) : "-",
               y ? time_text(median(y)) : "-",
               x && y && median(x) ? format("%.2f", static_cast<double>(median(y)) / static_cast<double>(median(x)))
                                   : "-",
               by_a == by_b || by_b.empty() ? by_a
               : by_a.empty()               ? by_b
                                            : by_a + " / " + by_b});
    };
    for (const auto &[k, x] : all_a)
        add(k, x, find(all_b, k));
    for (const auto &[k, y] : all_b)
        if (!find(all_a, k))
            add(k, nullptr, y);
    std::cout << "\n" << t.text();
}

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
    return "rank " + who.at("rank").dump() + " of " + who.at("ranks").dump()
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

std::string crossed_sentence(const json &wan)
{
    const auto bytes = wan.at("bytes").get<uint64_t>(), least = wan.at("least_bytes").get<uint64_t>();
    if (!wan.at("calls").get<uint64_t>() || !least)
        return "";
    const double ratio = static_cast<double>(bytes) / static_cast<double>(least);
    return "Across sites went " + amount_text(bytes) + (ratio < 1.005 ? ", no more than has to." : format(", %.2f times what has to.", ratio));
}

} // namespace

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
    else
        add(r.at("not_served").empty() ? "No collective was called that coll/wan serves."
                                       : "coll/wan served no call; why stands at the end, under \"not served\".");
    add(assumed_text(r));
    add(nearness_text(r));
    add(crossed_sentence(sums.at("wan")));
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

json report_read(const std::string &file)
{
    const std::string remedy = ": give a file that a job wrote with --mca coll_wan_report FILE.json";
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in.is_open() || in.bad() || std::filesystem::is_directory(file))
        throw wrong_word(file + " cannot be read" + remedy);
    json r = json::parse(text, nullptr, false);
    if (r.is_discarded() || !r.is_object() || r.value("what", json()) != "report of coll/wan")
        throw wrong_word(file + " is no report of coll/wan" + remedy);
    if (const json f = r.value("format", json()); f != known_format)
        throw wrong_word(file + " was written in format " + f.dump() + ", this program reads "
                         + std::to_string(known_format) + ": use the wan-info of the coll/wan that wrote it");
    return r;
}

int report_run(const report_words &w)
{
    std::string file = w.files[0];
    try {
        const json a = report_read(file);
        std::vector<json> others;
        for (size_t k = 1; k < w.files.size(); ++k) {
            file = w.files[k];
            others.push_back(report_read(file));
            const json &b = others.back();
            if (w.html.empty() || (of_one_job(a, b) && a.at("process").at("rank") != b.at("process").at("rank")))
                continue;
            throw wrong_word("--html: " + file + " is not of another rank of the job of " + w.files[0]
                             + (of_one_job(a, b) || job_text(b).empty() ? "" : ", but of " + job_text(b)) + ": the page is of one job; give one file, or those that "
                             + (job_text(a).empty() ? "it" : job_text(a)) + " wrote with %r in coll_wan_report (without --html: which file is of which job)");
        }
        if (!w.html.empty()) {
            const std::string page = report_page(a, others);
            write_file("--html", w.html, page);
        } else if (w.files.size() == 2) {
            compare_print(a, others[0], w);
        } else if (w.files.size() > 2) {
            others.insert(others.begin(), a);
            jobs_print(others, w.files);
        } else {
            summary_print(a);
        }
    } catch (const json::exception &e) {
        throw wrong_word(file + " is damaged (" + e.what() + "): let the job write it again");
    }
    return 0;
}

} // namespace info
