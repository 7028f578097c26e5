// wanbench_worker: measures a list of points in one MPI job.
//
// Rank 0 controls, the other ranks follow its commands; each point becomes one
// line "WANBENCH {json}" on rank 0's standard output, written at once.  It is
// started by `wanbench`, which compares settings over several fresh jobs, but
// works by itself:
//
//     mpirun -np 8 wanbench_worker bcast:1024 allreduce:65536:0:cold:5
//
// How a round is measured: wb_point.hpp.  Exit status: 0, 2 (usage), 3 (some
// result was wrong).
//
// SPDX-License-Identifier: BSD-3-Clause
#if !__has_include(<CLI/CLI.hpp>) || !__has_include(<nlohmann/json.hpp>)
#error "wanbench needs CLI11 and nlohmann/json (Debian: apt-get install libcli11-dev nlohmann-json3-dev)"
#endif
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mpi.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "wb_calibrate.hpp"
#include "wb_control.hpp"
#include "wb_counters.hpp"
#include "wb_operation.hpp"
#include "wb_point.hpp"

namespace {

using json = nlohmann::ordered_json;
using namespace wb;

struct options {
    std::vector<std::string> points;
    std::string clock = "auto";
    std::string type = "auto";
    double point_seconds = 10;
    double lead_ms = 200, warm_ms = 30, cold_ms = 1000, settle_ms = 0;
    double spin_us = 0;
    double slice_us = 0;
    std::int64_t flow_bytes = 4 << 20;
    int empty_rounds = 20;
    bool calibrate = true;
};

struct tally {
    double empty_us[2] = {-1, -1};      // warm, cold
    bool begun = false;                 // calls have been made
    bool wrong = false;
};

// A whole number; an empty field is 0.
std::int64_t number_parse(const std::string &field, const std::string &text) {
    std::size_t end = 0;
    const std::int64_t n = field.empty() ? 0 : std::stoll(field, &end);
    if (end != field.size())
        throw std::invalid_argument(field + " is no number in " + text + " (1M: write 1048576)");
    return n;
}

// "op:bytes[:root[:warm|cold[:rounds]]]"
point point_parse(const std::string &text, const options &o, int size) {
    std::istringstream in(text);
    std::vector<std::string> fields;
    for (std::string f; std::getline(in, f, ':');)
        fields.push_back(f);
    fields.resize(std::max<std::size_t>(fields.size(), 1));
    point p;
    p.kind = operation_find(fields[0], &p.what.nonblocking);
    if (!p.kind)
        throw std::invalid_argument("unknown operation " + fields[0]);
    p.what.type = o.type;
    p.what.slice_us = static_cast<int>(o.slice_us);
    if (fields.size() > 1)
        p.what.bytes = number_parse(fields[1], text);
    if (fields.size() > 2)
        p.what.root = static_cast<int>(number_parse(fields[2], text));
    if (fields.size() > 3 && !fields[3].empty()) {
        if (fields[3] != "warm" && fields[3] != "cold")
            throw std::invalid_argument("warm or cold, not " + fields[3]);
        p.cold = fields[3] == "cold";
    }
    if (fields.size() > 4)
        p.rounds = static_cast<int>(std::max<std::int64_t>(1, number_parse(fields[4], text)));
    if (p.what.bytes < 0 || p.what.bytes > (std::int64_t{1} << 30) || p.what.root < 0 ||
        p.what.root >= size)
        throw std::invalid_argument("size or root out of range in " + text);
    return p;
}

std::string site_name() {
    for (const char *name : {"WANBENCH_SITE", "WAN_LAB_SITE", "OMPI_MCA_coll_wan_cluster_id"})
        if (const char *value = std::getenv(name); value && *value)
            return value;
    return "";
}

void line_write(const json &line) { std::cout << "WANBENCH " << line.dump() << std::endl; }

double us(double ns) { return std::round(ns / 10) / 100; }

double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    const std::size_t n = v.size();
    return n == 0 ? -1 : n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

json calibration_line(const world &w, const facts &f, ns_t clock_error_ns) {
    return {{"type", "calibration"},
            {"ranks", w.size},
            {"site_ranks", f.site_ranks},
            {"sites_from", f.sites_from},
            {"latency_us", us(f.latency_ns)},
            {"near_MBps", std::round(f.near_bytes_per_ns * 1e6) / 1e3},
            {"far_MBps", std::round(f.far_bytes_per_ns * 1e6) / 1e3},
            {"clock_error_us", us(static_cast<double>(clock_error_ns))}};
}

void counts_add(const std::vector<std::int64_t> &all, outcome &o) {
    for (std::size_t at = 0; at + counts_of_rank <= all.size(); at += counts_of_rank) {
        const std::int64_t served = all[at];
        o.served_least = at == 0 ? served : std::min(o.served_least, served);
        o.served_most = std::max(o.served_most, served);
        if (all[at + 1] >= 0)
            o.wan_bytes = std::max<std::int64_t>(o.wan_bytes, 0) + all[at + 1];
        if (all[at + 2] >= 0)
            o.wan_messages = std::max<std::int64_t>(o.wan_messages, 0) + all[at + 2];
        if (at == 0)
            o.predicted_ns = all[at + 3];
    }
}

json point_line(const point &p, const outcome &o, const facts &f, const tally &t) {
    std::vector<double> times, idle;
    for (ns_t ns : o.times_ns)
        times.push_back(us(static_cast<double>(ns)));
    for (ns_t ns : o.idle_ns)
        idle.push_back(us(static_cast<double>(ns)));
    char digest[17];
    std::snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(o.digest));
    json line = {{"type", "point"},
                 {"op", (p.what.nonblocking ? "i" : "") + std::string(p.kind->name)},
                 {"bytes", p.what.bytes},
                 {"root", p.what.root},
                 {"mode", p.cold ? "cold" : "warm"},
                 {"ranks", f.site_of.size()},
                 {"median_us", median(times)},
                 {"empty_us", t.empty_us[p.cold]},
                 {"bound_us", us(bound_ns(f, p.kind->bound, p.what.bytes,
                                          p.kind->rooted ? p.what.root : -1))},
                 {"rounds", times.size()},
                 {"rejected", o.rejected},
                 {"wrong", o.wrong},
                 {"only_first", o.only_first},
                 {"idle_us", median(idle)},
                 {"digest", digest},
                 {"calls", o.calls},
                 {"latency_us", us(f.latency_ns)},
                 {"MBps", std::round(f.bandwidth_bytes_per_ns() * 1e6) / 1e3},
                 {"times_us", times}};
    if (o.emulator_known) {
        line["emulator_rejected"] = o.emulator_rejected;
        line["emulator_late_us"] = us(static_cast<double>(o.emulator_late_ns));
        line["spoilt"] = o.spoilt;
    }
    if (o.served_least >= 0)
        line["served"] = {o.served_least, o.served_most};
    if (o.predicted_ns > 0 && o.served_least == o.calls)
        line["predicted_us"] = us(static_cast<double>(o.predicted_ns) / o.calls);
    if (o.wan_bytes >= 0)
        line["wan_bytes_per_call"] = static_cast<double>(o.wan_bytes) / o.calls;
    if (o.wan_messages >= 0)
        line["wan_messages_per_call"] = static_cast<double>(o.wan_messages) / o.calls;
    return line;
}

outcome point_control(world &w, counters &c, const std::vector<point> &points, std::size_t index,
                      const limits &l, outcome (point_run::*how)(const limits &), tally &t) {
    command_send_all(w, {verb::point, {static_cast<std::int64_t>(index)}});
    point_run run(w, c, points[index]);
    outcome o = (run.*how)(l);
    command_send_all(w, {verb::point_end, {}});
    counts_add(report_gather(w, run.counts()), o);
    t.wrong = t.wrong || o.wrong > 0;
    return o;
}

void point_measure(world &w, counters &c, const std::vector<point> &points, std::size_t index,
                   const limits &l, const facts &f, tally &t) {
    const point &p = points[index];
    const bool empty = p.kind->bound == bound_kind::nothing;
    if (!empty && !t.begun) {
        point_control(w, c, points, index, l, &point_run::begin, t);
        t.begun = true;
    }
    const json line = point_line(p, point_control(w, c, points, index, l, &point_run::control, t), f, t);
    if (empty)
        t.empty_us[p.cold] = line["median_us"];
    line_write(line);
}

void lead(world &w, counters &c, const options &o, const std::vector<point> &points,
          const std::vector<std::string> &boot_ids, const std::vector<std::string> &sites,
          tally &t) {
    const bool force = o.clock == "pingpong";
    w.clock.error_ns = clocks_map(w, boot_ids, force);
    facts f;
    if (o.calibrate && w.size > 1) {
        f = network_calibrate(w, sites, o.flow_bytes);
    } else {
        f.site_of.assign(static_cast<std::size_t>(w.size), 0);
        f.site_ranks = {w.size};
        f.sites_from = "none";
    }
    line_write(calibration_line(w, f, w.clock.error_ns));
    limits l;
    l.lead_ns = static_cast<ns_t>(o.lead_ms * 1e6);
    l.warm_gap_ns = static_cast<ns_t>(o.warm_ms * 1e6);
    l.cold_gap_ns = static_cast<ns_t>(o.cold_ms * 1e6);
    l.point_ns = static_cast<ns_t>(o.point_seconds * 1e9);
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (i > 0)
            w.clock.error_ns = clocks_map(w, boot_ids, force);     // clocks drift
        point_measure(w, c, points, i, l, f, t);
        if (o.settle_ms > 0)
            local_sleep_until(local_now_ns() + static_cast<ns_t>(o.settle_ms * 1e6), 0);
    }
    command_send_all(w, {verb::finish, {}});
}

void follow(world &w, counters &c, const std::vector<point> &points) {
    std::unique_ptr<point_run> run;
    for (;;) {
        const command order = command_receive(w);
        if (calibration_answer(w, order))
            continue;
        switch (order.what) {
        case verb::point:
            run = std::make_unique<point_run>(w, c, points[static_cast<std::size_t>(order.a[0])]);
            break;
        case verb::batch: run->batch(order); break;
        case verb::point_end:
            report_gather(w, run->counts());
            run.reset();
            break;
        default: return;
        }
    }
}

// The empty operation comes first: it is what the others are measured against.
std::vector<point> points_list(const options &o, int size) {
    std::vector<point> asked, all;
    bool modes[2] = {false, false};
    for (const auto &text : o.points) {
        asked.push_back(point_parse(text, o, size));
        modes[asked.back().cold] = true;
    }
    for (int cold = 0; cold < 2; ++cold)
        if (modes[cold] && o.empty_rounds > 0) {
            point empty;
            empty.kind = operation_find("empty");
            empty.cold = cold != 0;
            empty.rounds = cold ? std::min(o.empty_rounds, 5) : o.empty_rounds;
            all.push_back(empty);
        }
    all.insert(all.end(), asked.begin(), asked.end());
    return all;
}

void options_declare(CLI::App &app, options &o) {
    app.add_option("points", o.points, "op:bytes[:root[:warm|cold[:rounds]]] ...")->required();
    app.add_option("--point-seconds", o.point_seconds, "effort per point in s");
    app.add_option("--lead", o.lead_ms, "from announcement to first start of a batch, ms");
    app.add_option("--warm-gap", o.warm_ms, "idle time between warm rounds, ms");
    app.add_option("--cold-gap", o.cold_ms, "idle time before cold rounds, ms");
    app.add_option("--settle", o.settle_ms, "pause after each point, ms");
    app.add_option("--spin", o.spin_us, "spin before a start, us; only for ranks that have a "
                                        "core each");
    app.add_option("--empty-rounds", o.empty_rounds, "rounds of the empty operation, 0: none");
    app.add_option("--flow-bytes", o.flow_bytes, "length of the calibrating flow");
    app.add_option("--type", o.type, "reductions: auto, double, int64, int32, xor");
    app.add_option("--clock", o.clock, "auto, or pingpong: map every rank's clock")
        ->check(CLI::IsMember({"auto", "pingpong"}));
    app.add_option("--slice-us", o.slice_us, "non-blocking: sleep so long between calls of MPI_Test; 0: MPI_Wait");
    app.add_flag("!--no-calibrate", o.calibrate, "skip latency and bandwidth (bounds are 0)");
}

int work(world &w, const options &o) {
    std::vector<point> points;
    try {
        points = points_list(o, w.size);
        for (const auto &p : points)
            p.kind->make(*p.kind, {p.what.bytes % 16, p.what.root, p.what.type}, w.rank, w.size);
    } catch (const std::exception &e) {
        if (w.rank == 0)
            std::cerr << "wanbench_worker: " << e.what() << "\n";
        return 2;
    }
    tally t;
    counters c;
    const auto boot_ids = text_gather(w, kernel_boot_id());
    const auto sites = text_gather(w, site_name());
    w.spin_ns = static_cast<ns_t>(o.spin_us * 1e3);
    if (w.rank == 0)
        lead(w, c, o, points, boot_ids, sites, t);
    else
        follow(w, c, points);
    return t.wrong ? 3 : 0;
}

}  // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    world w;
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w.size);
    options o;
    CLI::App app("Measures MPI collectives from a common start to the last rank's end.");
    options_declare(app, o);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &e) {
        const int code = w.rank == 0 ? app.exit(e) : e.get_exit_code();
        MPI_Finalize();
        return code == 0 ? 0 : 2;
    }
    timer_slack_minimize();
    w.comm = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &w.control);
    const int code = work(w, o);
    MPI_Comm_free(&w.control);
    MPI_Finalize();
    return code;
}
