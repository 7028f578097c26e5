/*
 * One process's place in a tree, told what a test likes: what it does then.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TEST_ADAPTIVE_SINGLE_HPP
#define TEST_ADAPTIVE_SINGLE_HPP

#include "adaptive/tree.hpp"

namespace adaptive_test {

using namespace wan;

/** Process 5 of 10 in the trees of root 0, told what a test likes. */
struct bench final : tree_host {
    explicit bench(bool bandwidth, bool phoenix = true, former_place former = {}, int peers = 10, rank_set beside = {})
        : near(options(phoenix, peers), 10, 5, [this](int to, const tell_message &m) { sent.emplace_back(to, m); }, std::move(beside)),
          it(options(phoenix, peers), {0, bandwidth}, 5, near, *this, std::move(former))
    {
    }
    static adaptive_options options(bool phoenix, int peers = 10)
    {
        adaptive_options o;
        o.variants = phoenix ? 0 : all_variants;
        o.peers = peers;
        return o;
    }
    void send(int to, const tell_message &m) override { sent.emplace_back(to, m); }
    uint64_t next_op() const override { return next; }
    void child_gone(tree_name, int child, uint64_t first, uint64_t end) override { gone.emplace_back(child, first, end); }

    /** All but the first of eight parts of a transfer took that long. */
    static tell_message bulk_done(uint64_t bandwidth)
    {
        tell_message done;
        done.what = tell_kind::bulk_done;
        done.value_ns = static_cast<int64_t>(7.0 / 8 * (128 << 10) / static_cast<double>(bandwidth) * 1e9);
        return done;
    }
    /** As if it had been measured. */
    void measured(int rank, int64_t rtt_ns, uint64_t bandwidth = 0)
    {
        near.step(now, false);
        now += 3 * rtt_ns;
        near.know(rank, {rtt_ns, bandwidth ? bandwidth : near.bandwidth(rank), now});
        near.step(now, false);
    }
    void told(int rank, int64_t dist_ns, uint64_t est = UINT64_MAX / 2, int children = 0, rank_set ancestors = rank_set::one(0))
    {
        tell_message m;
        m.what = tell_kind::tell;
        m.tree = it.name();
        m.view = {true, dist_ns, est, children, ancestors, rank, dist_ns, rank, rank, -1};
        it.receive(rank, m, now);
    }
    void answer(int rank, tell_kind what, uint64_t op = 0, rank_set ranks = {})
    {
        tell_message m;
        m.what = what;
        m.tree = it.name();
        m.op = op;
        m.ranks = ranks;
        it.receive(rank, m, now);
    }
    /** Whom it asked to be its parent since. */
    int asked()
    {
        int who = -1;
        for (const auto &[to, m] : sent)
            if (m.what == tell_kind::attach)
                who = to;
        sent.clear();
        return who;
    }
    const tell_message *last(int to, tell_kind what) const
    {
        for (auto at = sent.rbegin(); at != sent.rend(); ++at)
            if (at->first == to && at->second.what == what)
                return &at->second;
        return nullptr;
    }

    uint64_t next = 0;
    int64_t now = 0;
    std::vector<std::pair<int, tell_message>> sent;
    std::vector<std::tuple<int, uint64_t, uint64_t>> gone;
    neighbours near;
    tree it;
};

} // namespace adaptive_test

#endif
