/*
 * See info_report_several.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_report_several.hpp"
#include "info_table.hpp"

#include <cstdlib>
#include <ctime>
#include <iostream>
#include <map>
#include <tuple>

namespace info {

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
            t.row({who.at("rank").dump(), who.at("host").get<std::string>(), sums.at("calls").dump(), time_text(sums.at("elapsed_ns").get<int64_t>()),
                   std::to_string(sums.at("declined").get<uint64_t>() + sums.at("passed").get<uint64_t>()), amount_text(sent_across(r)), files[k]});
            own += " " + files[k];
        }
        std::cout << t.text() << "more of it: wan-info report " << files[j[0]] << "; a page: wan-info report" << own << " --html FILE\n";
    }
}

namespace {

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

} // namespace

void compare_print(const json &a, const json &b, const std::vector<std::string> &files)
{
    const bool one = of_one_job(a, b) && !job_text(a).empty();
    const auto head = [&](const char *name, const std::string &file, const json &r) {
        std::cout << name << ": " << file << ", " << process_text(r) << ", " << r.at("began").get<std::string>()
                  << (one || job_text(r).empty() ? "" : ", " + job_text(r)) << "\n";
    };
    head("A", files[0], a);
    head("B", files[1], b);
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
    differ("sent across sites, by this rank", [](const json &r) { return amount_text(sent_across(r)); });
    differ("across sites, by all ranks", [](const json &r) {
        const std::string crossed = crossed_by_all(r);
        return crossed.empty() ? "-" : crossed;
    });
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

} // namespace info
