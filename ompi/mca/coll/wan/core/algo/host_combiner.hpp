/*
 * What the ranks of a host do with a vector that has a block for each rank,
 * before one of them speaks for the host.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ALGO_HOST_COMBINER_HPP
#define WAN_ALGO_HOST_COMBINER_HPP

#include "algo/shares.hpp"

namespace wan {

/** The ranks of a host combine their vectors, some blocks at a time; the leader reads the result. */
class host_combiner {
public:
    host_combiner(builder &b, const topology &t) : b_(b), t_(t), at_(t.locate(b.me())), data_{buffer::in, b.scattered()}
    {
        const int lanes = t.lane_count(at_.site, at_.node);
        const auto parent = range_tree(static_cast<uint32_t>(lanes), 0);
        const auto all = static_cast<uint32_t>(t.size());
        for (int c = 0; c < lanes; ++c)
            if (parent[static_cast<size_t>(c)] == at_.lane)
                children_.push_back(t.rank_at(at_.site, at_.node, c));
        if (at_.lane > 0)
            up_ = t.rank_at(at_.site, at_.node, parent[static_cast<size_t>(at_.lane)]);
        if (children_.empty() && !(up_ >= 0 && data_.scattered))
            return;
        data_ = {b.scratch_blocks(0, all), false};
        for (size_t k = 0; k < std::min<size_t>(2, children_.size()); ++k)
            arrived_.push_back(b.scratch_blocks(0, all));
    }
    operand data() const { return data_; }
    void combine(const shares &s)
    {
        for (const span_of &part : s.all()) {
            const int label = label::share_node + range_++;
            if (data_.data != buffer::in)
                copy_from(b_, {buffer::in, b_.scattered()}, data_.data, part);
            for (size_t k = 0; k < children_.size(); ++k) {
                const buffer tmp = arrived_[k % arrived_.size()];
                b_.recv(tmp, part, children_[k], label);
                b_.reduce(tmp, data_.data, part);
            }
            if (up_ >= 0)
                b_.send(data_.data, part, up_, label);
        }
    }

private:
    builder &b_;
    const topology &t_;
    topology::position at_;
    operand data_;
    std::vector<int> children_;
    std::vector<buffer> arrived_;
    int up_ = -1, range_ = 0;
};

} // namespace wan

#endif
