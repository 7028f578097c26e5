/*
 * The symbols that the verifier moves instead of numbers: a leaf (rank, element)
 * or the application of an operator to two symbols.  Next: sched/verifier.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_SCHED_TERMS_HPP
#define WAN_SCHED_TERMS_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace wan {

/** Expressions by number: equal numbers, equal expressions.  Leaves come first, all elements of rank 0, of rank 1, ... */
class terms {
public:
    terms(int ranks, size_t elements) : elements_(static_cast<uint32_t>(elements)), leaves_(static_cast<uint32_t>(ranks) * elements_), table_(64, none)
    {
        if (elements * static_cast<size_t>(ranks) > INT32_MAX)
            throw std::length_error("a message that is too long to be verified");
    }

    uint32_t leaf(int rank, size_t element) const { return static_cast<uint32_t>(rank) * elements_ + static_cast<uint32_t>(element); }
    uint32_t apply(uint32_t a, uint32_t b)
    {
        if (2 * nodes_.size() >= table_.size())
            grow();
        size_t k = slot(a, b);
        for (; table_[k] != none; k = (k + 1) & (table_.size() - 1))
            if (const node &n = nodes_[table_[k]]; n.a == a && n.b == b)
                return leaves_ + table_[k];
        table_[k] = static_cast<uint32_t>(nodes_.size());
        nodes_.push_back({a, b});
        return leaves_ + table_[k];
    }

    /** Ranks in the order in which they stand in the expression; false if it is not about `element`. */
    bool ranks_of(uint32_t id, size_t element, std::vector<int> &ranks) const
    {
        if (id < leaves_) {
            ranks.push_back(static_cast<int>(id / elements_));
            return id % elements_ == element;
        }
        if (id - leaves_ >= nodes_.size())
            return false;       // never written
        const node n = nodes_[id - leaves_];
        return ranks_of(n.a, element, ranks) && ranks_of(n.b, element, ranks);
    }

    /** Equal for equal expressions of ranks, whatever the element; never 0. */
    uint64_t expression(uint32_t id)
    {
        expressions_.resize(nodes_.size());     // 0: not looked at
        return expression_of(id);
    }

private:
    static constexpr uint32_t none = UINT32_MAX;
    static uint64_t mix(uint64_t x)
    {
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
        return (x ^ (x >> 27)) * 0x94d049bb133111ebull | 1;
    }
    uint64_t expression_of(uint32_t id)
    {
        if (id < leaves_)
            return mix(id / elements_ + 1);
        if (id - leaves_ >= nodes_.size())
            return 1;
        uint64_t &known = expressions_[id - leaves_];
        if (known == 0) {
            const uint64_t x = expression_of(nodes_[id - leaves_].a), y = expression_of(nodes_[id - leaves_].b);
            known = mix(x * 0x9e3779b97f4a7c15ull + std::rotl(y, 23));
        }
        return known;
    }
    struct node {
        uint32_t a, b;
    };
    size_t slot(uint32_t a, uint32_t b) const
    {
        return static_cast<size_t>((uint64_t{a} << 32 | b) * 0x9e3779b97f4a7c15ull >> 32) & (table_.size() - 1);
    }
    void grow()
    {
        table_.assign(4 * table_.size(), none);
        for (uint32_t i = 0; i < nodes_.size(); ++i) {
            size_t k = slot(nodes_[i].a, nodes_[i].b);
            while (table_[k] != none)
                k = (k + 1) & (table_.size() - 1);
            table_[k] = i;
        }
    }
    uint32_t elements_, leaves_;
    std::vector<node> nodes_;
    std::vector<uint32_t> table_;   // hash table into nodes_, at most half full
    std::vector<uint64_t> expressions_;
};

} // namespace wan

#endif
