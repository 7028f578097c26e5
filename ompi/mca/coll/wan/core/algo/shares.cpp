/*
 * See shares.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "algo/shares.hpp"

#include <algorithm>
#include <bit>

namespace wan {

namespace {

template <typename F> void in_pieces(const operand &src, const span_of &part, F f)
{
    if (src.scattered)
        each_block(part, [&](const span_of &one, uint32_t) { f(one); });
    else
        f(part);
}

} // namespace

void copy_from(builder &b, const operand &src, buffer dst, const span_of &part)
{
    in_pieces(src, part, [&](const span_of &one) { b.copy(src.data, dst, one); });
}

void reduce_from(builder &b, const operand &src, buffer dst, const span_of &part)
{
    in_pieces(src, part, [&](const span_of &one) { b.reduce(src.data, dst, one); });
}

shares::shares(const topology &t, site_id s, uint32_t pieces, bool remote)
    : topo_(&t), site_(s), remote_(remote), members_(static_cast<uint32_t>(t.node_count(s))), pieces_(pieces),
      own_first_(static_cast<uint32_t>(t.first_slot(s))), own_blocks_(static_cast<uint32_t>(t.rank_count(s)))
{
    blocks_ = remote ? static_cast<uint32_t>(t.size()) - own_blocks_ : own_blocks_;
}

fraction shares::bound(uint32_t u) const
{
    if (remote_) {
        const uint64_t parts = uint64_t{members_} * pieces_, at = uint64_t{u} * blocks_;
        return {static_cast<uint32_t>(at % parts), static_cast<uint32_t>(parts), static_cast<uint32_t>(at / parts)};
    }
    const int host = static_cast<int>(u / pieces_);
    const auto first = static_cast<uint32_t>(topo_->first_slot(site_, host));
    if (u == members_ * pieces_)
        return {0, 1, first};
    const uint32_t in_host = (u % pieces_) * static_cast<uint32_t>(topo_->lane_count(site_, host));
    return {in_host % pieces_, pieces_, first + in_host / pieces_};
}

std::vector<span_of> shares::spans(uint32_t lo, uint32_t hi) const
{
    const span_of part{bound(lo), bound(hi)};
    std::vector<span_of> found;
    auto add = [&](const span_of &s) {
        if (!s.empty())
            found.push_back(s);
    };
    if (!remote_) {
        add(part);
        return found;
    }
    auto beyond = [&](fraction f) { return f.block += own_blocks_, f; };
    const span_of left = common(part, blocks_of(0, own_first_)), right = common(part, blocks_of(own_first_, blocks_));
    add(left);
    if (!right.empty())
        add({beyond(right.lo), beyond(right.hi)});
    return found;
}

shares::range shares::touching(uint32_t slot) const
{
    const uint64_t at = slot < own_first_ ? slot : slot - own_blocks_, parts = uint64_t{members_} * pieces_;
    return {static_cast<uint32_t>(at * parts / blocks_), static_cast<uint32_t>(((at + 1) * parts + blocks_ - 1) / blocks_)};
}

buffer shares::scratch_for(builder &b, uint32_t lo, uint32_t hi) const
{
    const auto found = spans(lo, hi);
    if (found.empty())
        return b.scratch_blocks(0, 0);
    const uint32_t first = found.front().lo.block;
    const fraction end = found.back().hi;
    return b.scratch_blocks(first, end.block + (end.num ? 1 : 0) - first);
}

uint32_t pieces_within(combining how, uint32_t hosts, uint32_t wanted)
{
    constexpr uint32_t most = 16;
    uint32_t k = std::clamp(wanted, 1u, most);
    if (hosts < 2)
        return k;
    switch (way_of(how, hosts)) {
    case combining::circulant:
        return 1;       // its steps are about runs of hosts, and those of blocks
    case combining::ring:
        return std::min(k, static_cast<uint32_t>(label::share_steps) / (2 * (hosts - 1)));
    case combining::pairwise:
        return std::min(k, most);
    }
    return 1;
}

void staging::send(const span_of &part, int to, int label, int after)
{
    buffer from = src_.data;
    if (src_.scattered && fraction{0, 1, part.lo.block + 1} < part.hi) {
        if (!staged_)
            stage_ = s_.scratch_for(b_, 0, s_.members() * s_.pieces());
        staged_ = true;
        copy_from(b_, src_, stage_, part);
        from = stage_;
    }
    b_.after(after);
    b_.send(from, part, to, label);
}

namespace {

/*
 * Contributions come one by one and are combined as they come; some buffers
 * more than there are turns under way, so that a receive is there first.
 */
class pairwise_phase : public phase {
public:
    pairwise_phase(builder &b, const team &g, const shares &s, operand src, int label, pace &turns)
        : phase(b, g, s, src, label), turns_(turns)
    {
        const uint32_t lo = static_cast<uint32_t>(g.me) * s.pieces();
        result_ = s.scratch_for(b, lo, lo + s.pieces());
        for (uint32_t k = 0; k + 1 < std::min<uint32_t>(g.size(), 5); ++k)
            arrived_.push_back(s.scratch_for(b, lo, lo + s.pieces()));
    }
    void piece(uint32_t q) override
    {
        const uint32_t p = g_.size(), me = static_cast<uint32_t>(g_.me);
        const auto mine = s_.part(me, q);
        for (const span_of &part : mine)
            copy_from(b_, src_, result_, part);
        for (uint32_t d = 1; d < p; ++d) {
            const uint32_t to = (me + d) % p, from = (me + p - d) % p;
            const buffer t = arrived_[next_++ % arrived_.size()];
            int label = label_ + 2 * static_cast<int>(q), received = builder::none;
            for (const span_of &part : s_.part(to, q))
                from_src_.send(part, g_.rank(to), label++, turns_.before());
            label = label_ + 2 * static_cast<int>(q);
            for (const span_of &part : mine) {
                received = b_.recv(t, part, g_.rank(from), label++);
                b_.reduce(t, result_, part);
            }
            turns_.turn(received);
        }
    }

private:
    pace &turns_;
    std::vector<buffer> arrived_;
    size_t next_ = 0;
};

/* What comes is combined with the own contribution and goes on: nothing is copied, the caller's vector is only read. */
class ring_phase : public phase {
public:
    ring_phase(builder &b, const team &g, const shares &s, operand src, int label, pace &turns)
        : phase(b, g, s, src, label), turns_(turns)
    {
        result_ = s.scratch_for(b, 0, s.members() * s.pieces());
    }
    void piece(uint32_t q) override
    {
        const uint32_t p = g_.size(), me = static_cast<uint32_t>(g_.me), to = (me + 1) % p;
        int received = builder::none;
        if (p == 1)
            for (const span_of &part : s_.part(me, q))
                copy_from(b_, src_, result_, part);
        for (uint32_t k = 0; k + 1 < p; ++k) {
            const uint32_t out = (me + 2 * p - k - 1) % p, in = (me + 2 * p - k - 2) % p;
            const int step = label_ + 2 * static_cast<int>(q * (p - 1) + k);
            int label = step;
            for (const span_of &part : s_.part(out, q))
                if (k == 0)
                    from_src_.send(part, g_.rank(to), label++, turns_.before());
                else
                    b_.send(result_, part, g_.rank(to), label++);
            label = step;
            for (const span_of &part : s_.part(in, q)) {
                received = b_.recv(result_, part, g_.rank((me + p - 1) % p), label++);
                reduce_from(b_, src_, result_, part);
            }
        }
        turns_.turn(received);
    }

private:
    pace &turns_;
};

class circulant_phase : public phase {
public:
    circulant_phase(builder &b, const team &g, const shares &s, operand src, int label, pace &turns)
        : phase(b, g, s, src, label), turns_(turns)
    {
        const uint32_t parts = s.members() * s.pieces();
        result_ = s.scratch_for(b, 0, parts);
        if (g.size() > 1)
            for (buffer &t : arrived_)
                t = s.scratch_for(b, 0, parts);
    }
    void piece(uint32_t q) override
    {
        const uint32_t p = g_.size(), me = static_cast<uint32_t>(g_.me);
        for (const span_of &part : p == 1 ? s_.part(me, q) : s_.all())      // others have one piece
            copy_from(b_, src_, result_, part);
        if (std::has_single_bit(p)) {
            for (uint32_t half = p / 2; half > 0; half /= 2) {
                const uint32_t mine = me / half * half, theirs = mine ^ half;
                step(me ^ half, theirs, me ^ half, mine, half);
            }
        } else {
            const auto skips = circulant_skips(p);
            for (size_t k = 0; k + 1 < skips.size(); ++k) {
                const uint32_t s = skips[k], half = skips[k + 1];
                step((me + half) % p, (me + half) % p, (me + p - half) % p, me, s - half);
            }
        }
        turns_.turn(received_);
    }

private:
    /** Parts of `count` members from `first` on around the team. */
    std::vector<span_of> around(uint32_t first, uint32_t count) const
    {
        const uint32_t p = g_.size();
        auto all = s_.of_members(first, std::min(first + count, p));
        if (first + count > p)
            for (const span_of &part : s_.of_members(0, first + count - p))
                all.push_back(part);
        return all;
    }
    void step(uint32_t to, uint32_t theirs, uint32_t from, uint32_t mine, uint32_t count)
    {
        const int base = label_ + 4 * step_++;
        const buffer t = arrived_[step_ % 2];
        int label = base;
        for (const span_of &part : around(theirs, count)) {
            if (step_ == 1)
                b_.after(turns_.before());
            b_.send(result_, part, g_.rank(to), label++);
        }
        label = base;
        const auto kept = around(mine, count);
        for (const span_of &part : kept)
            received_ = b_.recv(t, part, g_.rank(from), label++);
        for (const span_of &part : kept)
            b_.reduce(t, result_, part);
    }

    pace &turns_;
    buffer arrived_[2] = {};
    int step_ = 0, received_ = builder::none;
};

} // namespace

std::unique_ptr<phase> make_phase(combining how, builder &b, const team &g, const shares &s, operand src, int label, pace &turns)
{
    switch (way_of(how, g.size())) {
    case combining::circulant:
        return std::make_unique<circulant_phase>(b, g, s, src, label, turns);
    case combining::ring:
        return std::make_unique<ring_phase>(b, g, s, src, label, turns);
    case combining::pairwise:
        break;
    }
    return std::make_unique<pairwise_phase>(b, g, s, src, label, turns);
}

} // namespace wan
