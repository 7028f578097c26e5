/*
 * How far processes may be ahead of one that looks, but has not begun their calls: what it keeps of them is bounded, whatever
 * they are, and nobody waits for ever.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "job.hpp"
#include "unit.hpp"

namespace {

using namespace adaptive_test;
using namespace wan_test;

/** Calls one after the other on one stream of a communicator, each as soon as the one before has ended here. */
struct caller {
    enum class kind { broadcast, reduce, gather };
    caller(job &j, adaptive_service::member *m, int rank, int root, kind what, size_t bytes, int calls)
        : member(m), job_(j), rank_(rank), root_(root), what_(what), bytes_(bytes), calls_(calls)
    {
    }
    /** The bytes of a call, of a rank. */
    static std::byte value(int rank, int call) { return static_cast<std::byte>(1 + 7 * rank + 13 * call); }
    void go(int processes)
    {
        while (member && begun < calls_ && (begun == 0 || member->node().done(op_))) {
            finish();
            const int sender = what_ == kind::broadcast ? root_ : rank_;
            in_.assign(bytes_, value(sender, begun));
            out_.assign(what_ == kind::gather ? bytes_ * static_cast<size_t>(processes) : bytes_, std::byte{});
            adaptive_node &n = member->node();
            if (what_ == kind::broadcast)
                op_ = n.broadcast_begin(root_, rank_ == root_ ? in_ : out_);
            else if (what_ == kind::reduce)
                op_ = n.reduce_begin(root_, in_, out_.data(), {add, 1});
            else
                op_ = n.gather_begin(root_, in_, [this](int rank) { return out_.data() + bytes_ * static_cast<size_t>(rank); });
            ++begun;
            n.step(job_.now);
        }
    }
    bool ended() const { return begun == calls_ && member->node().done(op_); }
    /** Looks at what the last call has brought. */
    void finish()
    {
        if (begun == 0)
            return;
        const int call = begun - 1;
        std::byte sum{};
        for (int r = 0; what_ == kind::reduce && r * bytes_ < bytes_ * processes_; ++r) {
            const std::byte of = value(r, call);
            add(&of, &sum, 1);
        }
        for (size_t i = 0; i < out_.size() && rank_ == root_ && what_ != kind::broadcast; ++i)
            wrong += out_[i] != (what_ == kind::reduce ? sum : value(static_cast<int>(i / bytes_), call));
        for (size_t i = 0; i < out_.size() && rank_ != root_ && what_ == kind::broadcast; ++i)
            wrong += out_[i] != value(root_, call);
        member->node().end(op_);
    }
    adaptive_service::member *member;
    int begun = 0;
    size_t wrong = 0;
    size_t processes_ = 4;

private:
    job &job_;
    int rank_, root_;
    kind what_;
    size_t bytes_;
    int calls_;
    uint64_t op_ = 0;
    std::vector<std::byte> in_, out_;
};

/**
 * A process that looks, but is behind with its calls, or has not even opened the communicator, keeps no more than a limit of what
 * comes for them, however many processes, streams and calls there are: the others wait.  When it comes, all ends, and is right.
 */
std::string check_ahead()
{
    using kind = caller::kind;
    struct one {
        const char *name;
        kind what;
        size_t bytes;
        int calls, streams;
        bool opened;
    };
    for (const one &x : {one{"long broadcasts", kind::broadcast, 1 << 20, 40, 1, true}, {"short broadcasts", kind::broadcast, 10, 38'000, 1, true},
                         {"very long broadcasts", kind::broadcast, 60 << 20, 2, 1, true}, {"long reductions", kind::reduce, 1 << 20, 40, 1, true},
                         {"short reductions", kind::reduce, 2000, 8'000, 1, true}, {"gathers", kind::gather, 100'000, 300, 1, true},
                         {"many streams", kind::broadcast, 1 << 20, 1, 40, true}, {"a communicator to come", kind::broadcast, 1 << 20, 40, 1, false},
                         {"streams to come", kind::reduce, 100'000, 20, 30, false}}) {
        constexpr int n = 4, behind = n - 1;
        const uint64_t number = x.opened ? 1 : 2;
        job j(n, test_seed() + 9);
        j.rate = 1'000'000'000;
        for (int p = 0; p < n && !x.opened; ++p)        // they have measured each other, and ask
            j.open(p, 1, up_to(n));
        j.run([] { return false; });
        std::vector<caller> callers;
        const int root = x.what == kind::broadcast ? 0 : behind;
        for (int s = 0; s < x.streams; ++s)
            for (int p = 0; p < n; ++p)
                callers.emplace_back(j, p == behind && !x.opened ? nullptr : j.open(p, number, up_to(n), static_cast<uint64_t>(s)), p, root, x.what, x.bytes, x.calls);
        const auto everyone = [&](bool all) {
            for (size_t i = 0; i < callers.size(); ++i)
                if (all || i % n != behind)
                    callers[i].go(n);
            return std::all_of(callers.begin(), callers.end(), [](const caller &c) { return c.member && c.ended(); });
        };
        const adaptive_service &s = *j.services[behind];
        uint64_t most = 0, limit = 0, questions = 0;
        j.sends = [&](int, std::span<const std::byte> head) {
            wire_reader r(head);
            tell_message m;
            (void) r.number(), (void) r.number(), (void) r.number();
            questions += message_get(m, r.rest(), n) && (m.what == tell_kind::when || m.what == tell_kind::begun);
        };
        const auto look = [&] {
            most = std::max(most, s.kept_bytes());
            return everyone(false);
        };
        j.run([&, until = j.now + 300 * ms] { return look() || j.now > until; });
        const size_t kept = s.kept();
        j.run([&, until = j.now + (x.opened ? 300 * ms : 3 * second_ns)] { return look() || j.now > until; });
        for (int p = 0; p < behind; ++p)        // of what is one more message, with others of trees and of measuring
            limit += j.opened.at({p, number, 0})->node().most_ahead(behind) + (64 << 10) + (x.opened ? 0 : 300'000);
        const std::string what = std::string(x.name) + ": " + std::to_string(most) + " bytes kept, limit " + std::to_string(limit);
        WAN_CHECK_THAT(most <= limit, what);
        WAN_CHECK_THAT(most > 0 && limit < 14 << 20 && static_cast<uint64_t>(x.calls * x.streams) * (x.bytes + 512) > 18 << 20, what);
        WAN_CHECK_THAT(x.opened || s.kept() <= kept + 10, std::string(x.name) + ": " + std::to_string(kept) + ", then " + std::to_string(s.kept()) + " messages kept");
        // Who waits has asked once or twice, and is answered once.
        WAN_CHECK_THAT(questions <= static_cast<uint64_t>(4 * n * x.streams), std::string(x.name) + ": " + std::to_string(questions) + " questions and answers");
        for (size_t i = 0; !x.opened && i < callers.size(); i += n)
            callers[i + behind].member = j.open(behind, number, up_to(n), i / n);
        WAN_CHECK_THAT(j.run([&] { return everyone(true); }), std::string(x.name) + " do not end");
        for (caller &c : callers) {
            c.finish();
            WAN_CHECK_THAT(c.wrong == 0, x.name);
        }
        WAN_CHECK_THAT(questions <= static_cast<uint64_t>(4 * n * x.streams + n * x.calls * x.streams),
                       std::string(x.name) + ": " + std::to_string(questions) + " questions and answers in all");
        WAN_CHECK(s.kept_bytes() == 0);
    }
    return {};
}

/** By a way that holds more, as much as that, but no more than 16 MB; of many processes each sends less. */
std::string check_most_ahead()
{
    for (const auto &[processes, rtt_ns, most] : {std::tuple{2, ms, 4 << 20}, {2, 80 * ms, 16'000'000}, {2, 800 * ms, 16 << 20}, {64, ms, 1 << 20}, {1024, ms, 256 << 10}}) {
        job j(processes, test_seed() + 13);
        adaptive_node &n = j.open(0, 1, up_to(processes))->node();
        n.know(1, {rtt_ns, 100'000'000, 1});
        WAN_CHECK_THAT(n.most_ahead(1) == static_cast<uint64_t>(most), std::to_string(processes) + ", " + std::to_string(rtt_ns) + ": " + std::to_string(n.most_ahead(1)));
    }
    return {};
}

/** When a process has begun what was sent ahead along one communicator, there is room for what waits on others. */
std::string check_ahead_of_others()
{
    job j(2, test_seed() + 14);
    j.rate = 1'000'000'000;
    adaptive_node *n[2][2];
    for (uint64_t number : {1, 2})
        for (int p = 0; p < 2; ++p)
            n[number - 1][p] = &j.open(p, number, {0, 1})->node();
    j.run([] { return false; });
    std::vector<std::byte> first(3 << 20), second(20 << 20), to(3 << 20);
    n[0][0]->broadcast_begin(0, first);
    const auto pause = [&] { return j.run([&, until = j.now + 200 * ms] { return j.now > until; }); };
    pause();
    n[1][0]->broadcast_begin(0, second);
    pause();
    const uint64_t before = n[1][1]->kept();
    const uint64_t a = n[0][1]->broadcast_begin(0, to);
    WAN_CHECK(j.run([&] { return n[0][1]->done(a); }));
    pause();
    WAN_CHECK_THAT(before < 2 << 20 && n[1][1]->kept() > before + (2 << 20), std::to_string(before) + ", then " + std::to_string(n[1][1]->kept()));
    return {};
}

/** Who waits for a process to begin one operation is not kept from sending what is needed of an earlier one, which has begun there. */
std::string check_ahead_of_earlier()
{
    job j(3, test_seed() + 10);
    j.rate = 1'000'000'000;
    std::vector<adaptive_node *> n;
    for (int p = 0; p < 3; ++p)
        n.push_back(&j.open(p, 1, up_to(3))->node());
    const size_t reduced = 8 << 20, sent = 20 << 20;
    std::vector<std::byte> in(reduced, std::byte{1}), sum(reduced), from(sent, std::byte{9}), to[2] = {std::vector<std::byte>(sent), std::vector<std::byte>(sent)};
    // From 2 to 1 to 0, before there is a tree; 1 has nothing to send but of the next one, which goes to 0 and 2.
    n[1]->reduce_begin(0, in, sum.data(), {add, 1});
    const uint64_t broadcast = n[1]->broadcast_begin(1, from);
    j.run([&, until = j.now + 300 * ms] { return j.now > until; });
    WAN_CHECK(j.services[0]->kept_bytes() > 3 << 20 && !n[1]->done(broadcast));
    const uint64_t a = n[0]->reduce_begin(0, in, sum.data(), {add, 1});
    n[2]->reduce_begin(0, in, sum.data(), {add, 1});
    WAN_CHECK(j.run([&] { return n[0]->done(a); }) && std::count(sum.begin(), sum.end(), std::byte{3}) == static_cast<std::ptrdiff_t>(reduced));
    WAN_CHECK(!n[1]->done(broadcast));
    const uint64_t b = n[2]->broadcast_begin(1, to[0]), c = n[0]->broadcast_begin(1, to[1]);
    WAN_CHECK(j.run([&] { return n[0]->done(c) && n[1]->done(broadcast) && n[2]->done(b); }) && to[0] == from && to[1] == from);
    return {};
}

/** What was sent along a communicator that is closed is not ahead of anybody any more. */
std::string check_ahead_closed()
{
    job j(2, test_seed() + 11);
    j.rate = 1'000'000'000;
    std::vector<std::byte> some(1'300'000);
    for (uint64_t number : {1, 2}) {
        adaptive_node &n = j.open(0, number, {0, 1})->node();
        j.open(1, number, {0, 1});
        for (int i = 0; i < 3; ++i) {
            const uint64_t op = n.broadcast_begin(0, some);
            WAN_CHECK_THAT(j.run([&] { return n.done(op); }), "communicator " + std::to_string(number) + ", call " + std::to_string(i));
            n.end(op);
        }
        const uint64_t more = n.broadcast_begin(0, some);
        WAN_CHECK(!j.run([&, until = j.now + 100 * ms] { return n.done(more) || j.now > until; }) || !n.done(more));
        j.close(0, number, 0);
    }
    return {};
}

/** For a process that has given a communicator up nobody waits there, nor for one that does so then, or has nothing to do with it any more. */
std::string check_ahead_failed()
{
    enum class end { before, abandoned, closed, quiet };
    for (end how : {end::before, end::abandoned, end::closed, end::quiet}) {
        job j(2, test_seed() + 12);
        j.rate = 1'000'000'000;
        adaptive_node &n = j.open(0, 1, {0, 1})->node();
        adaptive_service::member *other = j.open(1, 1, {0, 1});
        if (how == end::before)
            other->abandon();
        std::vector<std::byte> some(20 << 20);
        const uint64_t op = n.broadcast_begin(0, some);
        if (how != end::before)
            WAN_CHECK(!j.run([&] { return n.done(op); }) && j.services[1]->kept_bytes() > 0);
        if (how == end::abandoned)
            other->abandon();
        if (how == end::closed)
            j.close(1, 1, 0);
        if (how == end::quiet)
            j.services[1]->quiet();
        WAN_CHECK_THAT(j.run([&] { return n.done(op); }), std::to_string(static_cast<int>(how)));
        WAN_CHECK(how == end::quiet || j.services[1]->kept_bytes() == 0);
    }
    return {};
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_ahead>), cmocka_unit_test(test<check_most_ahead>), cmocka_unit_test(test<check_ahead_of_others>), cmocka_unit_test(test<check_ahead_of_earlier>), cmocka_unit_test(test<check_ahead_closed>),
                                cmocka_unit_test(test<check_ahead_failed>)};
    return cmocka_run_group_tests_name("adaptive ahead", tests, nullptr, nullptr);
}
