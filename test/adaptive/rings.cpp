/*
 * Reductions where parents go round: stale views can make each of several processes somebody's child, in a ring.  Then no
 * contribution of theirs goes to the root until timeouts pass, and what was passed on comes back to who has passed it on before.
 * Random parents, with rings in nearly every job, messages in order between any two processes and in no order otherwise, timeouts
 * that pass at any time: every contribution is counted once, no process gets any after its part is done, every part ends,
 * and a contribution takes a bounded number of messages.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/operation.hpp"
#include "unit.hpp"

#include <cstring>
#include <deque>
#include <memory>
#include <random>

namespace {

using namespace wan;
using namespace wan_test;

constexpr int64_t ms = 1'000'000;

struct carried {
    tell_message m;
    std::vector<std::byte> payload;
};

/** Messages in order between any two, random otherwise. */
struct post_office {
    std::map<std::pair<int, int>, std::deque<carried>> lines;
    uint64_t contributed = 0;
    bool empty() const { return lines.empty(); }
    void put(int from, int to, const tell_message &m)
    {
        contributed += m.what == tell_kind::contribute;
        lines[{from, to}].push_back({m, {m.payload.begin(), m.payload.end()}});
    }
};

class member final : public tree_host, public operation_host {
public:
    member(post_office &mail, int size, int me, int64_t timeout_ns)
        : mail_(mail), near_(options_, size, me, [](int, const tell_message &) {}), size_(size), me_(me), timeout_ns_(timeout_ns),
          tree_(options_, {0, false}, me, near_, *this), it(*this, 0)
    {
        for (int other = 0; other < size; ++other)
            near_.know(other, {.rtt_ns = ms});
        for (int i = 0; i < size; ++i)
            order_.push_back(i);
    }

    /** As if both had agreed on that, for all operations; whatever the other's own parent. */
    void child_of(member &parent)
    {
        tell_message m;
        m.tree = {0, false};
        m.what = tell_kind::tell;
        m.view.connected = true;
        m.view.gate = m.view.tip = m.view.end = parent.me_;
        tree_.receive(parent.me_, m, 0);
        m.what = tell_kind::accept;
        tree_.receive(parent.me_, m, 0);
    }
    void parent_of(const member &child)
    {
        tell_message m;
        m.tree = {0, false};
        m.what = tell_kind::attach;
        m.ranks = rank_set::one(child.me_);
        tree_.receive(child.me_, m, 0);
    }
    /** Not by what trees do themselves from now on. */
    bool is(int parent, size_t children) const { return tree_.parent_for(0) == parent && tree_.children_for(0).size() == children; }

    void begin(std::span<const std::byte> in, std::byte *out, uint64_t segment_bytes)
    {
        const auto add = [](const std::byte *a, std::byte *b, size_t bytes) {
            for (size_t i = 0; i < bytes; ++i)
                b[i] = static_cast<std::byte>(static_cast<unsigned>(a[i]) + static_cast<unsigned>(b[i]));
        };
        works_ = true;
        it.begin({{0, false}, in, segment_bytes, joining::any, add, [out](int) { return out; }, false});
    }

    // tree_host, operation_host
    void send(int to, const tell_message &m) override
    {
        if (m.what >= tell_kind::deliver)       // of trees nothing goes on
            mail_.put(me_, to, m);
    }
    uint64_t next_op() const override { return works_; }
    void child_gone(tree_name, int, uint64_t, uint64_t) override {}
    bool room(int, uint64_t) override { return true; }
    tree &tree_of(tree_name) override { return tree_; }
    adaptive_counters &counters() override { return counters_; }
    int64_t timeout_ns(tree_name, uint64_t) const override { return timeout_ns_; }
    int me() const override { return me_; }
    int size() const override { return size_; }
    const adaptive_options &options() const override { return options_; }
    const std::vector<int> &order() const override { return order_; }

private:
    post_office &mail_;
    adaptive_options options_;
    neighbours near_;
    int size_, me_;
    int64_t timeout_ns_;
    bool works_ = false;
    std::vector<int> order_;
    adaptive_counters counters_;
    tree tree_;

public:
    reduction it;
    int64_t begins_ns = 0;
    bool begun = false;
};

struct sums {
    uint64_t jobs = 0, rings = 0, timeouts = 0, late = 0, round = 0, redirected = 0;
};

std::string run_job(uint64_t seed, sums &all)
{
    std::mt19937_64 random(seed);
    const auto below = [&](size_t n) { return static_cast<int>(random() % n); };
    const int size = 4 + below(9);
    const auto n = static_cast<size_t>(size);
    // Random parents, of the first few by turns; no two that are each other's: that is refused.
    std::vector<int> parent(n);
    const int round = below(4) == 0 ? 0 : 3 + below(std::min<size_t>(3, n - 3));
    for (int r = 1; r < size; ++r)
        do
            parent[static_cast<size_t>(r)] = r <= round ? r % round + 1 : below(n);
        while (parent[static_cast<size_t>(r)] == r || parent[static_cast<size_t>(parent[static_cast<size_t>(r)])] == r);
    bool ring = false;
    for (int r = 1; r < size; ++r) {
        int at = r;
        for (int k = 0; at != 0 && k < size; ++k)
            at = parent[static_cast<size_t>(at)];
        ring = ring || at != 0;
    }
    // What goes to a child may be slow, and all timeouts pass at about the same time.
    const bool slow = below(2), soon = below(2);
    post_office mail;
    std::vector<std::unique_ptr<member>> those;
    for (int r = 0; r < size; ++r)
        those.push_back(std::make_unique<member>(mail, size, r, below(soon ? 2 : 20) * ms));
    for (int r = 1; r < size; ++r)
        those[static_cast<size_t>(r)]->child_of(*those[static_cast<size_t>(parent[static_cast<size_t>(r)])]);
    for (int r = 1; r < size; ++r)
        those[static_cast<size_t>(parent[static_cast<size_t>(r)])]->parent_of(*those[static_cast<size_t>(r)]);
    for (int r = 0; r < size; ++r)
        WAN_CHECK(those[static_cast<size_t>(r)]->is(parent[static_cast<size_t>(r)], static_cast<size_t>(std::count(parent.begin() + 1, parent.end(), r))));

    // Each rank's place of its own, so that what is counted twice or not at all is seen.
    const size_t bytes = n * static_cast<size_t>(1 + below(4)), segment = n * static_cast<size_t>(1 + below(2));
    const size_t segments = (bytes + segment - 1) / segment;
    std::vector<std::byte> out(bytes);
    int64_t now = 0;
    for (auto &m : those)
        m->begins_ns = soon || below(2) ? 0 : below(30) * ms;
    const size_t enough = 1000 * n * n;
    size_t steps = 0;
    for (;; ++steps) {
        WAN_CHECK_THAT(steps < enough, "does not end");
        bool ended = mail.empty();
        for (auto &m : those)
            ended = ended && m->begun && m->it.done();
        if (ended)
            break;
        if (mail.empty() || below(4) == 0) {
            now += below(3) * ms;
            member &m = *those[static_cast<size_t>(below(n))];
            if (!m.begun && now >= m.begins_ns) {
                std::vector<std::byte> in(bytes);
                for (size_t i = static_cast<size_t>(m.me()); i < bytes; i += n)
                    in[i] = std::byte{1};
                m.begin(in, out.data(), segment);
                m.begun = true;
            }
            m.it.step(now);
            continue;
        }
        auto line = std::next(mail.lines.begin(), below(mail.lines.size()));
        for (int k = 0; slow && k < 10 && line->second.front().m.what == tell_kind::redirect; ++k)
            line = std::next(mail.lines.begin(), below(mail.lines.size()));
        const auto [from, to] = line->first;
        carried c = std::move(line->second.front());
        line->second.pop_front();
        if (line->second.empty())
            mail.lines.erase(line);
        member &m = *those[static_cast<size_t>(to)];
        WAN_CHECK_THAT(!(c.m.what == tell_kind::contribute && to != 0 && m.it.done()), "rank " + std::to_string(to) + " had done its part");
        c.m.payload = c.payload;
        m.it.receive(from, c.m, now);
        m.it.step(now);
    }
    for (size_t i = 0; i < bytes; ++i)
        WAN_CHECK_THAT(out[i] == std::byte{1}, "contribution of rank " + std::to_string(i % n) + ": " + std::to_string(static_cast<int>(out[i])));
    // Up through all, round to who has seen it, to the root; and a last word of each to each.
    WAN_CHECK_THAT(mail.contributed <= segments * n * (n + 2), std::to_string(mail.contributed) + " messages");
    ++all.jobs, all.rings += ring;
    for (const auto &m : those) {
        const adaptive_counters &c = m->counters();
        WAN_CHECK(c.twice == 0);
        all.timeouts += c.timeouts, all.late += c.late, all.round += c.round, all.redirected += c.redirected;
    }
    return "";
}

std::string check_rings()
{
    const uint64_t first = test_seed(), jobs = is_long() ? 200'000 : is_short() ? 1'000 : 5'000;
    sums all;
    for (uint64_t s = first; s < first + jobs; ++s)
        if (const std::string bad = run_job(s, all); !bad.empty())
            return "seed " + std::to_string(s) + ": " + bad;
    std::printf("%llu jobs, %llu with a ring; %llu timeouts, %llu contributions late, %llu round, %llu redirected\n",
                static_cast<unsigned long long>(all.jobs), static_cast<unsigned long long>(all.rings), static_cast<unsigned long long>(all.timeouts),
                static_cast<unsigned long long>(all.late), static_cast<unsigned long long>(all.round), static_cast<unsigned long long>(all.redirected));
    WAN_CHECK(2 * all.rings > jobs && all.timeouts > jobs && all.late > jobs / 10 && all.round > jobs / 100);
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_rings>)};
    return cmocka_run_group_tests_name("adaptive rings", tests, nullptr, nullptr);
}
