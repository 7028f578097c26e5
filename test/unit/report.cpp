/*
 * The report of a job (its parts: report_parts.cpp): calls of a job in one process
 * told apart, memory at any time of a million calls, and what a call costs: both have
 * a limit.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boundary_job.hpp"

#include "comm.hpp"
#include "report/entry.hpp"
#include "wan_report.h"

#include <chrono>
#include <new>

#include <malloc.h>

// ---- memory, as this program's own allocator sees it -------------------------------------

namespace {
size_t allocated = 0, most_allocated = 0;    // this program has one thread
}

[[gnu::noinline]] void *operator new(size_t bytes)
{
    void *const p = std::malloc(bytes ? bytes : 1);
    if (!p)
        throw std::bad_alloc();
    allocated += malloc_usable_size(p);
    most_allocated = std::max(most_allocated, allocated);
    return p;
}

[[gnu::noinline]] void operator delete(void *p) noexcept
{
    allocated -= p ? malloc_usable_size(p) : 0;
    std::free(p);
}

[[gnu::noinline]] void operator delete(void *p, size_t) noexcept { operator delete(p); }

using namespace wan;
using namespace wan_test;

namespace {

// ---- a job ------------------------------------------------------------------------------

int64_t clock_ns = 0;
int64_t now(void *) { return clock_ns += 1000; }

struct report_close {
    void operator()(wan_report_t *r) const { wan_report_close(r); }
};
using report_ptr = std::unique_ptr<wan_report_t, report_close>;

report_ptr open_report(const wan_params_t &p)
{
    const wan_report_process_t who{.rank = 0, .spawned = 0, .host = "h<0>", .began_s = 0, .job = "[7,1]", .batch = nullptr, .command = "a \"b\""};
    wan_report_t *r = nullptr;
    return report_ptr(wan_report_open(&who, &p, now, &r) == WAN_OK ? r : nullptr);
}

std::string text_of(wan_report_t *r)
{
    const char *json;
    char *summary;
    return wan_report_text(r, 4, &json, &summary) == WAN_OK ? json : "";
}

/** How often `what` is in `text`. */
size_t times(const std::string &text, const std::string &what)
{
    size_t n = 0;
    for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += what.size())
        ++n;
    return n;
}

std::string run_all(const std::vector<comm_ptr> &comms, fabric &f, wan_call_t call, bool blocking)
{
    std::vector<std::vector<uint32_t>> in(comms.size(), std::vector<uint32_t>(call.count * comms.size() + 1)), out = in;
    f.extent = call.element_bytes;
    call.blocks = blocking;
    for (size_t r = 0; r < comms.size(); ++r) {
        call.in = in[r].data();
        call.out = out[r].data();
        WAN_CHECK(wan_run_begin(comms[r].get(), &call, &f.port, &f.ends[r], &f.ends[r].run) == WAN_OK);
    }
    WAN_CHECK(f.run_all() == WAN_DONE);
    for (auto &e : f.ends) {
        wan_run_release(e.run);
        e.run = nullptr;
    }
    return "";
}

/** The line about what took most time has the size that calls had, or the range that theirs are in. */
std::string check_sizes()
{
    for (const auto &[counts, words] : {std::pair{std::vector<size_t>{200'000, 200'000}, "most time: allreduce of 800000 B on communicator 7, 2 calls"},
                                        {{200'000, 150'000}, "most time: allreduce of 512 KB to 1 MB on communicator 7, 2 calls"},
                                        {{262'144}, "most time: allreduce of 1 MB on communicator 7, 1 call,"}}) {
        params p;
        char file[] = "x.json";
        p.report = file;
        fabric f(2);
        std::vector<comm_ptr> comms;
        report_ptr report = open_report(p);
        for (int r = 0; r < 2; ++r)
            comms.push_back(open(p, peers_of({"sizes/a", "sizes/b"}), r));
        if (std::string why = bring_up(comms, f); !why.empty())
            return why;
        WAN_CHECK(wan_report_serves(report.get(), comms[0].get(), 7) == WAN_OK);
        for (size_t count : counts)
            if (std::string why = run_all(comms, f, call_of(WAN_ALLREDUCE, 0, count, 4, nullptr, nullptr), true); !why.empty())
                return why;
        wan_report_ends(report.get(), comms[0].get(), "", 0);
        comms.clear();
        const char *json;
        char *summary;
        WAN_CHECK(wan_report_text(report.get(), 2, &json, &summary) == WAN_OK);
        WAN_CHECK_THAT(times(summary, words) == 1, summary);
    }
    return "";
}

std::string check_job()
{
    params p;
    char file[] = "x.json";
    p.report = file;
    p.links = 2;
    fabric f(4);
    std::vector<comm_ptr> comms;
    report_ptr report = open_report(p);
    for (int r = 0; r < 4; ++r)
        comms.push_back(open(p, peers_of({"report/a", "report/a", "report/b", "report/b"}), r));
    if (std::string why = bring_up(comms, f); !why.empty())
        return why;
    WAN_CHECK(wan_report_serves(report.get(), comms[0].get(), 7) == WAN_OK);
    std::vector<std::pair<wan_call_t, bool>> calls;
    for (int i = 0; i < 3; ++i)
        calls.emplace_back(call_of(WAN_ALLREDUCE, 0, 256, 4, nullptr, nullptr), true);
    calls.emplace_back(call_of(WAN_ALLREDUCE, 0, 511, 4, nullptr, nullptr), true);    // the same power of two
    calls.emplace_back(call_of(WAN_ALLREDUCE, 0, 512, 4, nullptr, nullptr), true);    // the next one
    calls.emplace_back(call_of(WAN_ALLREDUCE, 0, 255, 4, nullptr, nullptr), true);    // the one before
    calls.emplace_back(call_of(WAN_ALLREDUCE, 0, 256, 4, nullptr, nullptr), false);
    for (int root = 0; root < 4; ++root)
        calls.emplace_back(call_of(WAN_BCAST, root, 1000, 4, nullptr, nullptr), true);
    calls.emplace_back(call_of(WAN_BARRIER, 0, 1, 1, nullptr, nullptr), true);
    wan_call_t internal = call_of(WAN_ALLREDUCE, 0, 3, 8, nullptr, nullptr);
    internal.internal = true;
    calls.emplace_back(internal, true);
    for (const auto &[call, blocking] : calls)
        if (std::string why = run_all(comms, f, call, blocking); !why.empty())
            return why;
    wan_report_refused(report.get(), 9, 2, WAN_REASON_ONE_SITE, "all ranks are in one site");
    wan_report_refused(report.get(), 10, 2, WAN_REASON_ONE_SITE, "all ranks are in one site");
    wan_report_event(report.get(), "odd", "a \"b\" <c>");
    wan_report_ends(report.get(), comms[0].get(), "my\tname", 5);
    uint64_t crossed = 0;    // as each rank has counted it
    for (const auto &c : comms)
        crossed += wan_comm_counters(c.get())->wan_bytes;
    comms.clear();    // before the report: it must have all by then
    const std::string text = text_of(report.get());
    const auto one = [&](const std::string &what) { return times(text, what) == 1; };
    // A kind of calls: up to "calls", whole.
    const auto kind = [](const char *c, const char *form, int from, int to, int calls, int bytes) {
        return std::string("{\"collective\":\"") + c + "\",\"form\":\"" + form
               + "\",\"blocks\":\"none\",\"bytes_from\":" + std::to_string(from) + ",\"bytes_to\":" + std::to_string(to)
               + ",\"calls\":" + std::to_string(calls) + ",\"bytes\":" + std::to_string(bytes) + ",";
    };
    WAN_CHECK_THAT(one(kind("allreduce", "blocking", 1024, 2047, 4, 3 * 1024 + 2044)), text);
    WAN_CHECK_THAT(one(kind("allreduce", "blocking", 2048, 4095, 1, 2048)), text);
    WAN_CHECK_THAT(one(kind("allreduce", "blocking", 512, 1023, 1, 1020)), text);
    WAN_CHECK_THAT(one(kind("allreduce", "non-blocking", 1024, 2047, 1, 1024)), text);
    WAN_CHECK_THAT(one(kind("bcast", "blocking", 2048, 4095, 4, 16000)), text);
    WAN_CHECK_THAT(one(kind("barrier", "blocking", 0, 0, 1, 0)), text);
    WAN_CHECK_THAT(times(text, "\"form\":") == 6, text);
    const int least = 2 * (3 * 1024 + 2044 + 2048 + 1020 + 1024) + 16000;    // both ways, and once across for each broadcast
    WAN_CHECK_THAT(
        one("\"wan\":{\"calls\":12,\"bytes\":" + std::to_string(crossed) + ",\"least_bytes\":" + std::to_string(least) + "}"),
        std::to_string(crossed) + " bytes crossed: " + text);
    WAN_CHECK(crossed >= static_cast<uint64_t>(least));
    WAN_CHECK_THAT(one("\"communicator\":7,\"name\":\"my\\u0009name\",\"ranks\":4,\"rank\":0,\"site\":\"report/a\""), text);
    WAN_CHECK_THAT(one("\"passed\":5,\"declined\":[]"), text);
    WAN_CHECK_THAT(one("\"communicator\":9,\"ranks\":2,\"reason\":\"one_site\",\"why\":\"all ranks are in one site\"")
                       && one("\"communicators\":2}"),
                   text);
    WAN_CHECK_THAT(one("\"job\":{\"name\":\"[7,1]\",\"batch\":\"\",\"command\":\"a \\\"b\\\"\"}"), text);
    WAN_CHECK_THAT(one("a \\\"b\\\" <c>") && one("\"host\":\"h<0>\"") && one("\"coll_wan_links\":2"), text);
    WAN_CHECK_THAT(one("\"totals\":{\"communicators_served\":1,\"calls\":12,"), text);
    WAN_CHECK_THAT(one("\"left_out\":{\"communicators\":0,\"calls\":0,\"not_served\":0,\"measurements\":0,\"events\":0,"
                       "\"afterthoughts\":false}"),
                   text);
    return "";
}

/**
 * The last lines of a job tell of no least time by links that nobody measured, and who sent the bytes that they tell of; a report tells why
 * adaptive trees did not serve.
 */
std::string check_least_told()
{
    for (const bool assumed : {false, true}) {
        params p;
        p.algorithm[WAN_ALLREDUCE] = adaptive_enumerator(WAN_ALLREDUCE);        // and there are none
        fabric f(2);
        std::vector<comm_ptr> comms;
        report_ptr report = open_report(p);
        for (int r = 0; r < 2; ++r) {
            comms.push_back(open(p, peers_of({assumed ? "told/a" : "told/b", "told/c"}), r));
            WAN_CHECK(!assumed || wan_comm_assume(comms.back().get()) == WAN_OK);
        }
        if (std::string why = assumed ? "" : bring_up(comms, f); !why.empty())
            return why;
        WAN_CHECK(wan_report_serves(report.get(), comms[0].get(), 7) == WAN_OK);
        if (std::string why = run_all(comms, f, call_of(WAN_ALLREDUCE, 0, 1000, 4, nullptr, nullptr), true); !why.empty())
            return why;
        wan_report_ends(report.get(), comms[0].get(), "", 0);
        comms.clear();
        const char *json;
        char *summary;
        WAN_CHECK(wan_report_text(report.get(), 2, &json, &summary) == WAN_OK);
        const std::string told = summary, most = told.substr(told.find("\nmost time: "));
        WAN_CHECK_THAT((most.find(", the least possible ") != most.npos) == !assumed && (most.find(", on links that were not measured, by ") != most.npos) == assumed, told);
        WAN_CHECK_THAT(times(told, "; 1 call, ") == 1 && times(told, "\nacross sites, by all ranks: 8000 bytes, the least possible 8000\n") == 1, told);
        WAN_CHECK_THAT(times(json, "names adaptive trees, which were not begun on this communicator: of the rest predicted to be the fastest") == 1, json);
    }
    return "";
}

/** Links that are looked at and are as they were, that change, that were assumed at first. */
std::string check_links()
{
    params p;
    fabric f(4);
    std::vector<comm_ptr> comms;
    const report_ptr report = open_report(p);
    for (int r = 0; r < 4; ++r)
        comms.push_back(open(p, peers_of({"links/a", "links/a", "links/b", "links/b"}), r));
    if (std::string why = bring_up(comms, f); !why.empty())
        return why;
    WAN_CHECK(wan_report_serves(report.get(), comms[0].get(), 3) == WAN_OK);
    const auto look = [&]() -> std::string {
        int learned = WAN_DONE;
        for (const auto &c : comms)
            c->links.look();
        while (learned == WAN_DONE)
            if (std::string why = measure(comms, f, &learned); !why.empty())
                return why;
        return learned == WAN_OK ? "new" : learned == WAN_DECLINED ? "old" : "failed";
    };
    WAN_CHECK(look() == "old");
    f.tick = 50'000;
    WAN_CHECK(look() == "new");
    wan_call_t call = call_of(WAN_ALLREDUCE, 0, 4, 4, nullptr, nullptr);
    for (unsigned epoch : {0u, 1u, 1u}) {
        call.epoch = epoch;
        if (std::string why = run_all(comms, f, call, true); !why.empty())
            return why;
    }
    // One plan of two epochs is two entries: bounds are those of its time.
    const request r{.collective = WAN_BARRIER, .bytes = 1};
    const plan same = *choose(comms[0]->topo, comms[0]->links.known.back(), {}, r);
    wan_call_t barrier = call_of(WAN_BARRIER, 0, 1, 1, nullptr, nullptr);
    const auto before = comms[0]->report->note(barrier, r, &same);
    barrier.epoch = 1;
    const auto after = comms[0]->report->note(barrier, r, &same);
    WAN_CHECK(before.kind == after.kind && before.form != after.form);
    const comm_ptr early = open(p, peers_of({"links/c", "links/d"}), 0);
    WAN_CHECK(wan_comm_assume(early.get()) == WAN_OK && wan_report_serves(report.get(), early.get(), 4) == WAN_OK);
    int64_t facts[WAN_FACTS];
    wan_comm_facts(comms[0].get(), facts);
    WAN_CHECK(wan_comm_learn(early.get(), facts) == WAN_OK);
    early->report->links("measured");                  // how wide they are, too: no change
    const std::string text = text_of(report.get());    // all of them are still open
    WAN_CHECK_THAT(times(text, "communicator 4: how wide links are was measured, too") == 1, text);
    std::vector<std::string> seen;
    for (size_t at = 0; (at = text.find("\"what\":\"", at)) != text.npos;) {
        at += 8;
        seen.push_back(text.substr(at, text.find('"', at) - at));
    }
    const std::vector<std::string> expected{"report of coll/wan", "served",        "links_looked_at", "links_unchanged",
                                            "links_looked_at",    "links_changed", "served",          "links_measured", "links_measured"};
    WAN_CHECK_THAT(seen == expected, text);
    wan_counters_t n{};
    wan_comm_count(comms[0].get(), &n);
    wan_comm_count(early.get(), &n);
    WAN_CHECK(n.links_measured == 3 && n.links_looked_at == 2 && n.links_changed == 1 && n.served[WAN_ALLREDUCE] == 3);
    std::vector<std::string> how;
    for (size_t at = 0; (at = text.find("\"how\":\"", at)) != text.npos;) {
        at += 7;
        how.push_back(text.substr(at, text.find('"', at) - at));
    }
    WAN_CHECK_THAT((how == std::vector<std::string>{"measured", "measured again", "assumed", "measured", "measured"}), text);
    // What a call was planned by is what was known when it was made; its bound, too.
    WAN_CHECK_THAT(times(text, "\"links\":0}") == 1 && times(text, "\"links\":1}") == 1 && times(text, "\"links\":[0,1]") == 1,
                   text);
    return "";
}

/**
 * What is worked out when communicators end is limited, by a clock on which each look takes 1 ms: what took most time
 * first, what is missing is said; at the end there is time again.
 */
std::string check_afterthoughts()
{
    params p;
    int64_t at = 0;
    const book::process who{};
    const auto b = std::make_shared<book>(who, p, [&] { return at += 1'000'000; });
    std::vector<const char *> sites;
    for (int r = 0; r < 24; ++r)
        sites.push_back(r < 12 ? "after/a" : "after/b");
    const auto ended = [&](int seconds) -> std::string {
        const comm_ptr comm = open(p, peers_of(sites), 0);
        WAN_CHECK(wan_comm_assume(comm.get()) == WAN_OK);
        comm->report = std::make_unique<record>(b, *comm, 5);
        comm->report->links("assumed");
        for (int i = 0; i < 6; ++i) {    // the largest takes longest
            const request r{.collective = WAN_BCAST, .bytes = uint64_t{1000} << i, .element_bytes = 1};
            const auto plan = choose(comm->topo, comm->links.known.back(), {}, r);
            const wan_call_t call = call_of(WAN_BCAST, 0, r.bytes, 1, nullptr, nullptr);
            comm->report->add(comm->report->note(call, r, &*plan), seconds * 1'000'000'000ll + i, 0, 0);
        }
        return "";
    };
    const auto known = [](const std::string &text, size_t number) {    // of the classes of a communicator, smallest first
        std::vector<bool> all;
        for (size_t from = 0; (from = text.find("\"wan\":{\"calls\":", from)) != text.npos; ++from)
            all.push_back(text[from + 15] == '1');
        return std::vector<bool>(all.begin() + 1 + static_cast<ptrdiff_t>(6 * number), all.begin() + 7 + static_cast<ptrdiff_t>(6 * number));
    };
    int64_t before = at;
    if (std::string why = ended(1); !why.empty())
        return why;
    WAN_CHECK_THAT(at - before < book::most_afterthought_ns + 40'000'000, std::to_string(at - before));
    before = at;
    if (std::string why = ended(1); !why.empty())    // nothing is left
        return why;
    WAN_CHECK_THAT(at - before < 40'000'000, std::to_string(at - before));
    b->end();
    before = at;
    if (std::string why = ended(1); !why.empty())
        return why;
    WAN_CHECK_THAT(at - before < book::most_at_end_ns + 40'000'000, std::to_string(at - before));
    const std::string text = b->json(24);
    WAN_CHECK_THAT((known(text, 0) == std::vector<bool>{false, false, false, false, false, true}), text);
    WAN_CHECK((known(text, 1) == std::vector<bool>(6, false)));
    WAN_CHECK_THAT((known(text, 2) == std::vector<bool>{false, false, false, true, true, true}), text);
    WAN_CHECK_THAT(text.find("\"afterthoughts\":true") != text.npos, text);
    // What is brief has time of its own: for some of the first one, for all of the last one.
    const char *missing = "not worked out again: that took too long";
    WAN_CHECK_THAT(times(text, missing) >= 6 && times(text, missing) < 12, std::to_string(times(text, missing)));
    WAN_CHECK(times(text.substr(text.rfind("{\"communicator\":5")), missing) == 0);
    return "";
}

/** Ranks of two sites in turns, so many that an operator that does not commute is not ours. */
std::string check_declined()
{
    params p;
    p.links = 1;
    const report_ptr report = open_report(p);
    std::vector<const char *> sites;
    for (int r = 0; r < 300; ++r)
        sites.push_back(r % 2 ? "declined/a" : "declined/b");
    const comm_ptr comm = open(p, peers_of(sites), 0);
    WAN_CHECK(wan_comm_assume(comm.get()) == WAN_OK && wan_report_serves(report.get(), comm.get(), 0) == WAN_OK);
    fabric f(1);
    uint32_t in[8] = {}, out[8];
    for (int i = 0; i < 6; ++i) {
        wan_call_t call = call_of(i % 3 ? WAN_ALLREDUCE : WAN_SCAN, 0, 8, 4, in, out);
        call.commutative = false;
        call.internal = i == 5;
        wan_run_t *run = nullptr;
        WAN_CHECK(wan_run_begin(comm.get(), &call, &f.port, &f.ends[0], &run) == WAN_DECLINED);
    }
    const std::string text = text_of(report.get());
    WAN_CHECK_THAT(times(text, "{\"collective\":\"allreduce\",\"calls\":3,\"why\":\"no algorithm of coll/wan serves an operator "
                               "that does not commute")
                           == 1
                       && times(text, "{\"collective\":\"scan\",\"calls\":2,") == 1 && times(text, "\"declined\":5,") == 1,
                   text);
    return "";
}

// ---- memory, and what a call costs ------------------------------------------------------------

std::string check_memory()
{
    params p;
    const report_ptr report = open_report(p);
    const comm_ptr comm = open(p, peers_of({"memory/a", "memory/a", "memory/b", "memory/b"}), 0);
    WAN_CHECK(wan_comm_assume(comm.get()) == WAN_OK && wan_report_serves(report.get(), comm.get(), 0) == WAN_OK);
    record &kept = *comm->report;
    std::mt19937_64 random(test_seed());
    const facts &f = comm->links.known.back();
    std::vector<std::pair<request, plan>> planned;
    for (int i = 0; i < 400; ++i) {
        request r{.collective = collective_at(static_cast<int>(random() % WAN_COLLECTIVES)),
                  .root = static_cast<int>(random() % 4),
                  .bytes = 4 * (random() >> (24 + random() % 40)),
                  .element_bytes = 4};
        if (auto plan = choose(comm->topo, f, {}, r))
            planned.emplace_back(r, *plan);
    }
    WAN_CHECK(planned.size() > 300);
    const uint64_t many = 1'000'000;
    uint64_t noted = 0;
    size_t early = 0;
    for (uint64_t i = 0; i < many; ++i) {
        const auto &[r, plan] = planned[random() % planned.size()];
        wan_call_t call = call_of(r.collective, r.root, r.bytes / 4, 4, nullptr, nullptr);
        call.blocks = i % 2;
        const auto n = kept.note(call, r, &plan);
        noted += n.kind != nullptr;
        kept.add(n, static_cast<int64_t>(random() >> (24 + random() % 40)), 1, 1);
        if (i == many / 10)
            early = kept.memory_bytes();
    }
    const size_t bytes = kept.memory_bytes();
    std::printf("a million calls of %zu kinds: %zu bytes of memory (%zu after a tenth of them)\n", planned.size(), bytes, early);
    WAN_CHECK_THAT(bytes <= book::most_bytes + 4096 && bytes < early + early / 5, std::to_string(bytes));
    WAN_CHECK(noted > many / 2);
    // Whole communicators come and go: what is kept of them is limited, too, and none is forgotten silently.
    const int communicators = 3000;
    for (int i = 0; i < communicators; ++i) {
        const comm_ptr one = open(p, peers_of({"memory/a", "memory/a", "memory/b", "memory/b"}), 0);
        WAN_CHECK(wan_comm_assume(one.get()) == WAN_OK && wan_report_serves(report.get(), one.get(), 1) == WAN_OK);
        const auto &[r, plan] = planned[static_cast<size_t>(i) % planned.size()];
        const wan_call_t call = call_of(r.collective, r.root, r.bytes / 4, 4, nullptr, nullptr);
        one->report->add(one->report->note(call, r, &plan), 1000, 0, 0);
        wan_report_event(report.get(), "noise", "of a communicator");
        wan_report_refused(report.get(), 5, i + 2, WAN_REASON_ONE_SITE, "all ranks are in one site");
    }
    const std::string text = text_of(report.get());
    WAN_CHECK_THAT(text.size() < 1'000'000, std::to_string(text.size()));
    const auto number = [&](const std::string &key) {
        const size_t at = text.rfind("\"" + key + "\":");
        return at == text.npos ? 0ull : std::strtoull(text.c_str() + at + key.size() + 3, nullptr, 10);
    };
    const std::string left = text.substr(text.find("\"left_out\":{\"communicators\""));
    WAN_CHECK_THAT(times(text, "\"declined\":[]") + std::strtoull(left.c_str() + 28, nullptr, 10) == communicators + 1, left);
    WAN_CHECK_THAT(times(text, "\"reason\":") + number("not_served") == communicators, left);
    WAN_CHECK_THAT(text.find("\"communicators_served\":" + std::to_string(communicators + 1)
                             + ",\"calls\":" + std::to_string(many + communicators) + ",")
                       != text.npos,
                   left);
    uint64_t listed = 0;
    for (size_t at = 0; (at = text.find("\"form\":", at)) != text.npos; ++at)
        listed += std::strtoull(text.c_str() + text.find("\"calls\":", at) + 8, nullptr, 10);
    WAN_CHECK_THAT(listed + number("calls") == many + communicators, std::to_string(listed) + " calls are listed: " + left);
    return "";
}

/** From the first call until the text is there, a process has no more than 1 MB for its report. */
std::string check_most_memory()
{
    params p;
    const auto sites = {"most/a", "most/a", "most/b", "most/b"};
    const auto run = [&](bool reported) {
        const size_t before = allocated;
        most_allocated = before;
        const report_ptr report = reported ? open_report(p) : nullptr;
        {
            const comm_ptr comm = open(p, peers_of(sites), 0);
            if (wan_comm_assume(comm.get()) != WAN_OK || (reported && wan_report_serves(report.get(), comm.get(), 0) != WAN_OK))
                throw std::logic_error("not served");
            // As many kinds of calls as can be, in so many forms that memory does not suffice.
            for (uint64_t i = 0; i < 3000; ++i) {
                const request r{.collective = collective_at(static_cast<int>(i % WAN_COLLECTIVES)),
                                .root = static_cast<int>(i % 4),
                                .bytes = 4 * ((uint64_t{1} << (i / 11 % 28)) + i),
                                .element_bytes = 4};
                const auto plan = choose(comm->topo, comm->links.known.back(), {}, r);
                wan_call_t call = call_of(r.collective, r.root, r.bytes / 4, 4, nullptr, nullptr);
                call.blocks = i % 2;
                if (plan && reported)
                    for (int64_t ns = 1000; ns < 1'000'000'000; ns *= 3)
                        comm->report->add(comm->report->note(call, r, &*plan), ns + static_cast<int64_t>(i), 1, 1);
            }
            for (int i = 0; reported && i < 1500; ++i)
                wan_report_event(report.get(), "noise", "something happened on this communicator that has a sentence of its own");
        }
        const char *json = "";
        char *summary;
        if (reported && wan_report_text(report.get(), 4, &json, &summary) != WAN_OK)
            throw std::logic_error("no text");
        if (reported)
            std::printf("of a report of %zu bytes: ", std::strlen(json));
        return most_allocated - before;
    };
    const size_t with = run(true), without = run(false);
    std::printf("%zu bytes of memory at most, %zu without a report\n", with, without);
    WAN_CHECK_THAT(with - without <= 1'000'000, std::to_string(with - without));
    WAN_CHECK_THAT(with - without > 500'000, "the report was not full: " + std::to_string(with - without));
    return "";
}

std::string check_cost()
{
    params p;
    const report_ptr report = open_report(p);
    const comm_ptr comm = open(p, peers_of({"cost/a", "cost/a", "cost/b", "cost/b"}), 0);
    WAN_CHECK(wan_comm_assume(comm.get()) == WAN_OK && wan_report_serves(report.get(), comm.get(), 0) == WAN_OK);
    std::vector<std::pair<request, plan>> planned;
    for (uint64_t bytes : {uint64_t{8}, uint64_t{1024}, uint64_t{1 << 20}})
        for (wan_collective_t c : {WAN_BCAST, WAN_ALLREDUCE, WAN_ALLTOALL}) {
            const request r{.collective = c, .root = 3, .bytes = bytes * (c == WAN_ALLTOALL ? 4 : 1), .element_bytes = 4};
            planned.emplace_back(r, *choose(comm->topo, comm->links.known.back(), {}, r));
        }
    constexpr size_t count = 9;
    std::vector<double> rounds;
    rounds.reserve(count);
    uint64_t noise = 1;
    size_t before = 0;
    for (size_t round = 0; round < count; ++round) {
        const int calls = 200'000;
        const auto from = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; ++i) {
            const auto &[r, plan] = planned[static_cast<size_t>(i) % planned.size()];
            wan_call_t call{};
            call.collective = r.collective;
            call.element_bytes = 4;
            call.blocks = true;
            wan_run run{comm.get(), std::nullopt, nullptr, std::nullopt, nullptr, nullptr};
            {
                std::lock_guard hold(comm->lock);
                run.noted = comm->report->note(call, r, &plan);
            }
            noise = noise * 6364136223846793005ull + 1;
            std::lock_guard hold(comm->lock);
            comm->report->add(run.noted, static_cast<int64_t>(1'000'000 + (noise >> 42)), 10, 1);
        }
        rounds.push_back(static_cast<double>((std::chrono::steady_clock::now() - from).count()) / calls);
        // After the first calls of each kind, one more takes no memory.
        if (round > 0)
            WAN_CHECK_THAT(allocated == before && most_allocated == before, std::to_string(allocated) + " " + std::to_string(before));
        before = most_allocated = allocated;
    }
    std::sort(rounds.begin(), rounds.end());
    std::printf("a call costs %.0f ns (%.0f to %.0f in %zu rounds; both locks included)\n", rounds[rounds.size() / 2],
                rounds.front(), rounds.back(), rounds.size());
    return "";
}

// ---- names of files ------------------------------------------------------------------------------

std::string check_files()
{
    char file[64];
    wan_message_t m;
    const auto name = [&](const char *parameter, int rank, int spawned = 0) {
        return wan_report_file(parameter, rank, spawned, file, sizeof file, &m);
    };
    WAN_CHECK(name("", 0) == WAN_DECLINED && name(nullptr, 0) == WAN_DECLINED);
    WAN_CHECK(name("a/run.json", 0) == WAN_OK && std::string(file) == "a/run.json");
    WAN_CHECK(name("a/run.json", 1) == WAN_DECLINED);
    WAN_CHECK(name("run.%r.json", 12) == WAN_OK && std::string(file) == "run.12.json");
    WAN_CHECK(name("run.html", 0) == WAN_ERR_INPUT
              && std::string(m.remedy).find("wan-info report run.json --html run.html") != std::string::npos);
    WAN_CHECK(std::string(m.where) == "coll_wan_report" && name("run.html", 1) == WAN_DECLINED);
    WAN_CHECK(name("run", 0) == WAN_ERR_INPUT && std::string(m.what).find(".json") != std::string::npos);
    WAN_CHECK(name((std::string(100, 'x') + ".json").c_str(), 0) == WAN_ERR_INPUT);
    // Of spawned jobs: a name that only they have, and that need not fit where the first one's does.
    WAN_CHECK(name("a.json/run.json", 0, 2) == WAN_OK && std::string(file) == "a.json/run-spawned2.json");
    WAN_CHECK(name("%r.json", 7, 1) == WAN_OK && std::string(file) == "7-spawned1.json");
    WAN_CHECK(name("run.json", 1, 1) == WAN_DECLINED && name("run", 0, 1) == WAN_ERR_INPUT);
    const std::string tight = std::string(sizeof file - 6, 'x') + ".json";
    WAN_CHECK(name(tight.c_str(), 0) == WAN_OK && name(tight.c_str(), 0, 1) == WAN_ERR_INPUT);
    for (const auto &[job, number] : {std::pair{"prterun-n1-4711@2", 1}, {"prterun-n1-4711@1", 0}, {"a@b@13", 12}, {"x@", 0},
                                      {"x@-3", 0}, {"x@2y", 0}, {"x@99999999999999999999", 0}, {"12", 0}, {"", 0}})
        WAN_CHECK_THAT(wan_report_spawned(job) == number, job);
    WAN_CHECK(wan_report_spawned(nullptr) == 0);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_job>), cmocka_unit_test(test<check_sizes>), cmocka_unit_test(test<check_least_told>),
                                cmocka_unit_test(test<check_links>),
                                cmocka_unit_test(test<check_declined>),
                                cmocka_unit_test(test<check_afterthoughts>),
                                cmocka_unit_test(test<check_memory>),
                                cmocka_unit_test(test<check_most_memory>), cmocka_unit_test(test<check_cost>),
                                cmocka_unit_test(test<check_files>)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
