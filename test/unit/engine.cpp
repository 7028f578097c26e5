/*
 * The engine: windows, order of posting, completions, errors, memory.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "exec/engine.hpp"
#include "exec/memory_port.hpp"
#include "sched/builder.hpp"

#include "scripted_port.hpp"
#include "unit.hpp"

#include <map>
#include <numeric>
#include <random>
#include <set>

namespace {

using namespace wan;
using namespace wan_test;

using posted = scripted_port::post;

const char *const relay = "schedule rank 1 tmp 0\n"
                          "0 recv out 0/1..1/1 from 0 label 0\n"
                          "1 send out 0/1..1/1 to 2 label 0 after 0\n";

struct rig {
    scripted_port port;
    std::vector<char> in, out;
    std::unique_ptr<engine> e;

    rig(const std::string &text, size_t count, size_t segment, uint32_t window) : in(count + 1), out(count + 1)
    {
        auto p = program_of(text);
        if (!p)
            throw std::runtime_error("bad schedule text");
        e = std::make_unique<engine>(p, binding{.in = in.data(), .out = out.data(), .count = count, .segment = segment,
                                                .window = window, .extent = 1},
                                     port.port(), &port);
    }
    size_t segment_of(const posted &p, size_t segment) const { return static_cast<size_t>(p.address - out.data()) / segment; }
};

std::string check_window()
{
    for (uint32_t window : {1u, 2u, 3u, 7u, 64u})
        for (size_t segments : {1u, 2u, 3u, 10u, 65u}) {
            rig r(relay, segments * 4, 4, window);
            std::set<uint32_t> open;
            size_t seen = 0;
            std::mt19937_64 random(test_seed() + window * 100 + segments);
            std::map<std::pair<int, int>, size_t> next;     // kind, peer -> segment
            std::set<size_t> under_way, closed;
            std::map<uint32_t, posted> by_token;
            for (;;) {
                const int rc = r.e->progress();
                WAN_CHECK(rc >= 0);
                for (; seen < r.port.posts.size(); ++seen) {
                    const posted &p = r.port.posts[seen];
                    const size_t segment = r.segment_of(p, 4);
                    // Per operation by segment.
                    WAN_CHECK(next[std::make_pair(static_cast<int>(p.kind), p.peer)]++ == segment);
                    WAN_CHECK_THAT(open.insert(p.token).second, "token used while it is outstanding");
                    by_token[p.token] = p;
                    WAN_CHECK(!closed.contains(segment));
                    under_way.insert(segment);
                    WAN_CHECK_THAT(under_way.size() <= window, std::to_string(under_way.size()) + " of " + std::to_string(window));
                }
                WAN_CHECK(r.e->outstanding() == open.size());
                if (rc == WAN_DONE)
                    break;
                WAN_CHECK_THAT(!open.empty(), "hangs: " + r.e->describe());
                WAN_CHECK(!r.e->pending());
                auto it = open.begin();
                std::advance(it, static_cast<long>(random() % open.size()));
                const posted done = by_token[*it];
                if (done.kind == op_kind::send) {
                    closed.insert(r.segment_of(done, 4));
                    under_way.erase(r.segment_of(done, 4));
                }
                const uint32_t token = *it;
                open.erase(it);
                r.e->complete(token, 0);
                WAN_CHECK(r.e->pending());
            }
            WAN_CHECK(seen == 2 * segments && closed.size() == segments);
            WAN_CHECK(r.e->progress() == WAN_DONE && r.port.posts.size() == seen);
        }
    return "";
}

std::string check_window_is_used()
{
    // All of a window's receives are posted before any completes.
    rig r(relay, 100, 10, 4);
    WAN_CHECK(r.e->progress() == WAN_OK && r.port.posts.size() == 4 && r.e->outstanding() == 4);
    // A later segment's completion lets its send go at once: per operation in order only.
    r.e->complete(r.port.posts[0].token, 0);
    WAN_CHECK(r.e->progress() == WAN_OK && r.port.posts.size() == 5 && r.port.posts[4].kind == op_kind::send);
    // Segment 2 is ready before 1: its send waits for the turn.
    r.e->complete(r.port.posts[2].token, 0);
    WAN_CHECK(r.e->progress() == WAN_OK && r.port.posts.size() == 5);
    r.e->complete(r.port.posts[1].token, 0);
    WAN_CHECK(r.e->progress() == WAN_OK && r.port.posts.size() == 7);
    WAN_CHECK(r.segment_of(r.port.posts[5], 10) == 1 && r.segment_of(r.port.posts[6], 10) == 2);
    return "";
}

std::string check_slow_link()
{
    // A slow peer holds up nothing that does not need its data.
    rig r("schedule rank 0 tmp 0\n"
          "0 recv out 0/2..1/2 from 1 label 0\n"
          "1 recv out 1/2..2/2 from 2 label 0\n"
          "2 send out 1/2..2/2 to 3 label 0 after 1\n", 40, 10, 4);
    WAN_CHECK(r.e->progress() == WAN_OK);
    for (size_t i = 0; i < r.port.posts.size(); ++i)
        if (r.port.posts[i].kind == op_kind::recv && r.port.posts[i].peer == 2) {
            r.e->complete(r.port.posts[i].token, 0);
            r.e->progress();
        }
    size_t sends = 0;
    for (const auto &p : r.port.posts)
        sends += p.kind == op_kind::send;
    WAN_CHECK(sends == 4);
    return "";
}

std::string check_turn()
{
    // A segment starts when the one before has reduced, not when it has ended; receives are early.
    const char *const exchange = "schedule rank 0 tmp 1\n"
                                 "0 send out 0/4..1/4 to 1 label 0\n"
                                 "1 send out 1/4..2/4 to 2 label 0\n"
                                 "2 recv tmp0 2/4..4/4 from 1 label 0\n"
                                 "3 reduce tmp0 out 2/4..4/4 after 2\n"
                                 "4 send out 2/4..4/4 to 1 label 1 after 3\n";
    constexpr size_t segments = 6;      // the last one of a single element, in the last part
    for (size_t segment : {12u, 1u})    // 1: all starts are empty, in each segment
        for (bool turns : {false, true})
            for (uint32_t window : {1u, 2u, 3u, 8u}) {
                size_t early = 0, overlaps = 0;
                for (int round = 0; round < 20; ++round) {
                    rig r(exchange + std::string(turns ? "turn 3\n" : ""), segment * (segments - 1) + 1, segment, window);
                    std::mt19937_64 random(test_seed() + static_cast<uint64_t>(round));
                    std::vector<posted> open;
                    size_t seen = 0, reduced = 0, started = 0, received = 0, forwarding = 0;
                    while (r.e->progress() == WAN_OK) {
                        for (; seen < r.port.posts.size(); ++seen) {
                            const posted &p = r.port.posts[seen];
                            if (p.kind == op_kind::reduce) {
                                ++reduced;
                                continue;
                            }
                            open.push_back(p);
                            received += p.kind == op_kind::recv;
                            forwarding += p.kind == op_kind::send && p.label == 1;
                            if (p.kind == op_kind::send && p.label == 0) {
                                early += ++started > 2 * (reduced + 1);
                                overlaps += forwarding > 0 && started <= 2 * (reduced + 1);
                            }
                        }
                        WAN_CHECK(received >= std::min<size_t>(segments, window));
                        WAN_CHECK_THAT(!open.empty(), "hangs: " + r.e->describe());
                        std::swap(open[random() % open.size()], open.back());
                        forwarding -= open.back().kind == op_kind::send && open.back().label == 1;
                        r.e->complete(open.back().token, 0);
                        open.pop_back();
                    }
                    WAN_CHECK(reduced == segments && received == segments && started == (segment == 1 ? 0 : 2 * (segments - 1)));
                }
                const std::string what = std::to_string(early) + " early, window " + std::to_string(window);
                WAN_CHECK_THAT((early > 0) == (!turns && window > 1 && segment > 1), what);
                // The next one starts while this one still forwards.
                if (turns)
                    WAN_CHECK_THAT((overlaps > 0) == (window > 1 && segment > 1), what);
            }
    return "";
}

std::string check_turn_nowhere()
{
    schedule s;
    s.ops.push_back({.kind = op_kind::copy, .part = whole()});
    s.turn = 1;
    try {
        const program p(s);
        return "a turn behind the last operation is taken";
    } catch (const std::out_of_range &) {
        return "";
    }
}

std::string check_at_once()
{
    // Completion before post_* returns, by the port itself.
    for (uint32_t window : {1u, 3u}) {
        rig r(relay, 100, 9, window);
        r.port.complete_at_once = r.e.get();
        WAN_CHECK(r.e->progress() == WAN_DONE && r.port.posts.size() == 24 && r.e->outstanding() == 0);
    }
    return "";
}

std::string check_error_code()
{
    rig r(relay, 100, 10, 3);
    WAN_CHECK(r.e->progress() == WAN_OK && r.port.posts.size() == 3);
    r.e->complete(r.port.posts[0].token, 42);
    r.e->complete(r.port.posts[1].token, 43);
    WAN_CHECK(r.e->pending() && r.e->error() == 42);
    WAN_CHECK(r.e->progress() == WAN_ERR_PORT);
    WAN_CHECK_THAT(r.port.posts.size() == 3, "posted after an error");
    WAN_CHECK(r.e->outstanding() == 1);
    r.e->complete(r.port.posts[2].token, 0);
    WAN_CHECK(r.e->progress() == WAN_ERR_PORT && r.port.posts.size() == 3 && r.e->outstanding() == 0);
    WAN_CHECK(r.e->error() == 42);
    return "";
}

std::string check_error_of_post()
{
    for (size_t at = 0; at < 20; ++at) {
        rig r(relay, 100, 10, 3);
        r.port.complete_at_once = r.e.get();
        r.port.fail_post_at = at;
        WAN_CHECK(r.e->progress() == WAN_ERR_PORT);
        WAN_CHECK(r.port.posts.size() == at && r.e->outstanding() == 0);
        r.port.fail_post_at = SIZE_MAX;
        WAN_CHECK(r.e->progress() == WAN_ERR_PORT && r.port.posts.size() == at);
    }
    return "";
}

std::string check_error_of_reduce()
{
    rig r("schedule rank 0 tmp 1\n"
          "0 recv tmp0 0/1..1/1 from 1 label 0\n"
          "1 reduce tmp0 out 0/1..1/1 after 0\n"
          "2 send out 0/1..1/1 to 1 label 0 after 1\n", 10, 10, 1);
    WAN_CHECK(r.e->progress() == WAN_OK && r.port.posts.size() == 1);
    r.port.fail_post_at = 1;
    r.port.fail_with = WAN_ERR_INTERNAL;
    r.e->complete(r.port.posts[0].token, 0);
    WAN_CHECK(r.e->progress() == WAN_ERR_INTERNAL && r.port.posts.size() == 1);
    return "";
}

std::string check_zero_parts()
{
    // Fewer elements than blocks: empty parts are not posted, and what waits for them goes on.
    rig r("schedule rank 0 tmp 0\n"
          "0 recv out 0/4..1/4 from 1 label 0\n"
          "1 recv out 1/4..2/4 from 2 label 0\n"
          "2 recv out 2/4..3/4 from 3 label 0\n"
          "3 recv out 3/4..4/4 from 4 label 0\n"
          "4 send out 0/1..1/1 to 5 label 0 after 0 1 2 3\n", 1, 1, 1);
    WAN_CHECK(r.e->progress() == WAN_OK && r.port.posts.size() == 1);
    WAN_CHECK(r.port.posts[0].peer == 4 && r.port.posts[0].count == 1);
    r.e->complete(r.port.posts[0].token, 0);
    WAN_CHECK(r.e->progress() == WAN_OK && r.port.posts.size() == 2 && r.port.posts[1].peer == 5);
    r.e->complete(r.port.posts[1].token, 0);
    WAN_CHECK(r.e->progress() == WAN_DONE);
    // The last segment is shorter.
    rig s(relay, 7, 3, 2);
    s.port.complete_at_once = s.e.get();
    WAN_CHECK(s.e->progress() == WAN_DONE && s.port.posts.size() == 6);
    WAN_CHECK(s.port.posts.back().count == 1);
    return "";
}

std::string check_nothing_to_do()
{
    rig zero(relay, 0, 4, 4);
    WAN_CHECK(zero.e->progress() == WAN_DONE && zero.port.posts.empty() && zero.e->progress() == WAN_DONE);
    rig scratch("schedule rank 0 tmp 2\n0 recv tmp0 0/1..1/1 from 1 label 0\n", 0, 4, 4);
    scratch.port.scratch_limit = 0;
    WAN_CHECK_THAT(scratch.e->progress() == WAN_DONE, "count 0 asks for no memory");
    for (size_t count : {0u, 1u, 100u}) {
        rig empty("schedule rank 0 tmp 0\n", count, 7, 3);
        WAN_CHECK_THAT(empty.e->progress() == WAN_DONE, "a rank without operations");
    }
    rig no_segment(relay, 3, 0, 0);     // at least 1 each
    no_segment.port.complete_at_once = no_segment.e.get();
    WAN_CHECK(no_segment.e->progress() == WAN_DONE && no_segment.port.posts.size() == 6);
    return "";
}

std::string check_no_memory()
{
    const char *text = "schedule rank 0 tmp 3\n"
                       "0 recv tmp0 0/1..1/1 from 1 label 0\n"
                       "1 recv tmp1 0/1..1/1 from 2 label 0\n"
                       "2 recv tmp2 0/1..1/1 from 3 label 0\n";
    for (int limit = 0; limit < 3; ++limit) {
        rig r(text, 10, 5, 2);
        r.port.scratch_limit = limit;
        WAN_CHECK(r.e->progress() == WAN_ERR_NOMEM);
        r.port.scratch_limit = 100;
        WAN_CHECK(r.e->progress() == WAN_ERR_NOMEM && r.port.posts.empty() && !r.e->pending());
    }
    // Scratch is a window of segments, not of the message.
    rig r(text, 1000, 5, 3);
    WAN_CHECK(r.e->progress() == WAN_OK && r.port.memory.size() == 3);
    for (const auto &m : r.port.memory)
        WAN_CHECK(m.size() == 15);
    // Never beyond its end, and two segments under way never share a place.
    std::set<const char *> places;
    for (const auto &p : r.port.posts)
        WAN_CHECK(places.insert(p.address).second);
    WAN_CHECK(places.size() == 9);
    return "";
}

std::string check_copy_onto_itself()
{
    std::vector<char> data(10);
    scripted_port port;
    engine e(program_of("schedule rank 0 tmp 0\n0 copy in out 0/1..1/1\n"),
             binding{.in = data.data(), .out = data.data(), .count = 10, .segment = 4, .window = 1, .extent = 1}, port.port(), &port);
    WAN_CHECK(e.progress() == WAN_DONE && port.posts.empty());
    return "";
}

std::string check_extents()
{
    // Extents may be larger than a byte, or negative.
    for (ptrdiff_t extent : {ptrdiff_t{1}, ptrdiff_t{24}, ptrdiff_t{-16}}) {
        scripted_port port;
        std::vector<char> data(4096);
        char *middle = data.data() + 2048;
        engine e(program_of(relay), binding{.in = middle, .out = middle, .count = 12, .segment = 5, .window = 8, .extent = extent},
                 port.port(), &port);
        WAN_CHECK(e.progress() == WAN_OK && port.posts.size() == 3);
        for (size_t s = 0; s < 3; ++s)
            WAN_CHECK(port.posts[s].address == middle + static_cast<ptrdiff_t>(s) * 5 * extent);
        WAN_CHECK(port.posts[2].count == 2);
    }
    return "";
}

/** A program's successors are its predecessors, turned round. */
std::string check_program()
{
    auto p = program_of("schedule rank 0 tmp 1\n"
                        "0 recv tmp0 0/1..1/1 from 1 label 0\n"
                        "1 copy in out 0/1..1/1\n"
                        "2 reduce tmp0 out 0/1..1/1 after 0 1\n"
                        "3 send out 0/1..1/1 to 1 label 0 after 1 2\n");
    auto list = [&](size_t i) { return std::vector<uint16_t>(p->successors(i).begin(), p->successors(i).end()); };
    WAN_CHECK(list(0) == (std::vector<uint16_t>{2}) && list(1) == (std::vector<uint16_t>{2, 3}));
    WAN_CHECK(list(2) == (std::vector<uint16_t>{3}) && list(3).empty() && p->size() == 4);
    WAN_CHECK(p->memory_bytes() >= 4 * sizeof(op) + 8 * sizeof(uint16_t));
    return "";
}

/** The in-memory port is not more forgiving than MPI. */
std::string check_memory_port()
{
    auto run = [](const std::vector<std::string> &texts, size_t count) {
        memory_fabric f(static_cast<int>(texts.size()), 1, 7, [](const void *, void *, size_t) {});
        std::vector<std::vector<char>> data(texts.size(), std::vector<char>(count + 1));
        std::vector<std::unique_ptr<engine>> engines;
        for (size_t r = 0; r < texts.size(); ++r)
            engines.push_back(std::make_unique<engine>(program_of(texts[r]),
                binding{.in = data[r].data(), .out = data[r].data(), .count = count, .segment = count, .window = 1, .extent = 1},
                f.port(), f.context(static_cast<int>(r))));
        return f.run(engines);
    };
    const std::string send = "schedule rank 0 tmp 0\n0 send out 0/1..1/1 to 1 label 3\n";
    WAN_CHECK(run({send, "schedule rank 1 tmp 0\n0 recv out 0/1..1/1 from 0 label 3\n"}, 8) == "");
    auto has = [](const std::string &s, const char *w) { return s.find(w) != s.npos; };
    std::string why = run({send, "schedule rank 1 tmp 0\n0 recv out 0/2..1/2 from 0 label 3\n"}, 8);
    WAN_CHECK_THAT(has(why, "sent 8 elements") && has(why, "expects 4"), why);
    why = run({send, "schedule rank 1 tmp 0\n0 recv out 0/1..1/1 from 0 label 4\n"}, 8);
    WAN_CHECK_THAT(has(why, "deadlock"), why);
    why = run({"schedule rank 0 tmp 0\n0 recv out 0/1..1/1 from 1 label 0\n1 send out 0/1..1/1 to 1 label 0 after 0\n",
               "schedule rank 1 tmp 0\n0 recv out 0/1..1/1 from 0 label 0\n1 send out 0/1..1/1 to 0 label 0 after 0\n"}, 8);
    WAN_CHECK_THAT(has(why, "deadlock"), why);
    // Sent and never received: either the sender hangs (rendezvous) or the message is left (eager).
    int left = 0, hung = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
        memory_fabric f(2, 1, seed, [](const void *, void *, size_t) {});
        char data[8];
        std::vector<std::unique_ptr<engine>> engines;
        for (int r = 0; r < 2; ++r)
            engines.push_back(std::make_unique<engine>(program_of(r ? "schedule rank 1 tmp 0\n" : send),
                binding{.in = data, .out = data, .count = 8, .segment = 8, .window = 1, .extent = 1}, f.port(), f.context(r)));
        why = f.run(engines);
        left += has(why, "no counterpart");
        hung += has(why, "deadlock");
    }
    WAN_CHECK(left + hung == 20 && left && hung);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_window>),         cmocka_unit_test(test<check_window_is_used>),
        cmocka_unit_test(test<check_slow_link>),      cmocka_unit_test(test<check_turn>),
        cmocka_unit_test(test<check_turn_nowhere>),
        cmocka_unit_test(test<check_at_once>),
        cmocka_unit_test(test<check_error_code>),     cmocka_unit_test(test<check_error_of_post>),
        cmocka_unit_test(test<check_error_of_reduce>), cmocka_unit_test(test<check_zero_parts>),
        cmocka_unit_test(test<check_nothing_to_do>),  cmocka_unit_test(test<check_no_memory>),
        cmocka_unit_test(test<check_copy_onto_itself>), cmocka_unit_test(test<check_extents>),
        cmocka_unit_test(test<check_program>),        cmocka_unit_test(test<check_memory_port>),
    };
    return cmocka_run_group_tests_name("engine", tests, nullptr, nullptr);
}
