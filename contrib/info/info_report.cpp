/*
 * See info_report.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_report.hpp"
#include "info_report_several.hpp"
#include "info_table.hpp"
#include "text_file.hpp"

#include <fstream>
#include <iostream>
#include <iterator>

namespace info {

namespace {

/** The version of the format that this program reads: wan::book::format. */
constexpr int known_format = 1;

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
    return some_of(sites);
}

/** " (2.10 ms where hosts share no level, 41 us where they share 1)": where levels are known. */
std::string levels_text(const json &inside)
{
    std::vector<std::string> all;
    for (const json &x : inside.value("levels", json::array()))
        all.push_back(time_text(x.at("latency_ns").get<int64_t>()) + " where hosts share "
                      + (x.at("shared") == 0 ? "no level" : count_text(x.at("shared").get<int>(), "level")));
    return all.empty() ? "" : " (" + joined(all, ", ") + ")";
}

std::string links_text(const json &l)
{
    const json &in = l.at("inside"), &host = l.at("interface");
    return l.at("how").get<std::string>() + " at " + time_text(l.at("at_ns").get<int64_t>()) + ": farthest "
           + time_text(l.at("farthest_ns").get<int64_t>())
           + (in.at("latency_ns").is_null() ? "" : ", inside " + time_text(in.at("latency_ns").get<int64_t>()) + levels_text(in))
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
    const json &who = r.at("process"), &sums = r.at("totals");
    const std::string crossed = crossed_by_all(r);
    std::cout << "report of " << process_text(r) << " on "
              << who.at("host").get<std::string>() << ", " << r.at("began").get<std::string>() << ", "
              << time_text(r.at("elapsed_ns").get<int64_t>()) << " (coll/wan " << r.at("version").get<std::string>()
              << ")\n"
              << (job_text(r).empty() ? "" : job_text(r) + "\n")
              << count_text(sums.at("communicators_served"), "communicator") << " served; "
              << count_text(sums.at("calls"), "call") << " took "
              << time_text(sums.at("elapsed_ns").get<int64_t>()) << " on this rank, which sent "
              << amount_text(sent_across(r)) << " to other sites" << (crossed.empty() ? "" : "; across sites, by all ranks: " + crossed) << "\n";
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
                 "\nnot counted, here and above: neighbourhood collectives, what programs send themselves, and what goes along adaptive trees"
                 " (more: doc/report.md, or --html)\n";
}

} // namespace

json report_read(const std::string &file)
{
    const std::string remedy = ": give a file that a job wrote with --mca coll_wan_report FILE.json";
    std::string text;
    if (wan::input_error error; !wan::text_file_read(file, text, error))
        throw wrong_word(file + " cannot be read: " + error.what + remedy);
    json r = json::parse(text, nullptr, false);
    if (r.is_discarded() && text.find("\"report of coll/wan\"") != text.npos)
        throw wrong_word(file + " is a report of coll/wan that is cut off or damaged: let the job write it again, to a disk with room for it");
    if (r.is_discarded() || !r.is_object() || r.value("what", json()) != "report of coll/wan")
        throw wrong_word(file + " is no report of coll/wan" + remedy);
    if (const json f = r.value("format", json()); f != known_format)
        throw wrong_word(file + " was written in format " + f.dump() + ", this program reads "
                         + std::to_string(known_format) + ": use the wan-info of the coll/wan that wrote it");
    return r;
}

int report_run(const report_words &w)
{
    ending_check("--html", w.html, ".html .htm", "a page in HTML", "name it run.html");
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
            compare_print(a, others[0], w.files);
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
