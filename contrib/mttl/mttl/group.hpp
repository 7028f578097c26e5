/*
 * Barrier and Reduction over a group of nodes, out of the library's own
 * messages, as in the paper: nothing is asked of the network but the eight
 * primitives.  Or, when the job asks for it (options.collectives), through the
 * collectives of a network that has them, see mpi_collectives.hpp; then it is
 * the network that says whether all nodes get the same bits.  Every member makes the objects of a group in the same order and
 * calls exec() in the same order; one thread a node at a time.
 *
 * Both: recursive doubling, after the nodes above the last power of two have
 * handed in what they have.  Neighbours come first, so where members stand site
 * by site, only the last step crosses between two sites (dissemination would
 * cross in each step).  Each pair computes the same expression, op(lower,
 * higher), so all nodes get the same bits, also where op does not commute.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_GROUP_HPP
#define MTTL_GROUP_HPP

#include "node.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>

namespace [[gnu::visibility("default")]] mttl {

namespace detail {

/** This process's turn inside the network.  Threads that make groups wait for it.  A reduction that waits there
 *  (collectives::mpi) does not: on another process, the order may be the other way round, and both would wait for ever. */
class network_wait {
public:
    network_wait(node &n, bool reduces) : node_(n)
    {
        network_turn &turn = n.network_turn();
        if (reduces ? turn.held() : turn.reduces())
            throw error(std::string(reduces ? "a reduction began" : "a group was made") + " on node " + std::to_string(n.id()) +
                        (turn.reduces() ? " while another thread there was in a reduction" : " while another thread there made a group") +
                        ": with MTTL_COLLECTIVES=mpi the process waits there; do one after the other, or use mpi_nonblocking");
        turn.take(reduces);
    }
    network_wait(const network_wait &) = delete;
    network_wait &operator=(const network_wait &) = delete;
    ~network_wait() { node_.network_turn().give(); }

private:
    node &node_;
};

/** Who is in it, who I am in it, and what its messages are called. */
class group_base {
public:
    explicit group_base(std::vector<int> members) : node_(node::here()), members_(std::move(members))
    {
        const auto me = std::find(members_.begin(), members_.end(), node_.id());
        if (me == members_.end())
            throw error("node " + std::to_string(node_.id()) + " is not in the group that it makes");
        me_ = static_cast<size_t>(me - members_.begin());
        std::vector<int> each = members_;
        std::sort(each.begin(), each.end());
        if (const auto twice = std::adjacent_find(each.begin(), each.end()); twice != each.end())
            throw error("node " + std::to_string(*twice) + " is in a group twice");
        node_.out().checked(each.front()), node_.out().checked(each.back());
        id_ = node_.group_open(members_);
        if (node_.collective() != collectives::own && members_.size() > 1)
            make_native(each);
    }
    group_base(const group_base &) = delete;
    group_base &operator=(const group_base &) = delete;

    size_t size() const { return members_.size(); }
    /** This node's place in the list of members. */
    size_t place() const { return me_; }

protected:
    void send(size_t to, uint32_t step, const void *data, size_t bytes, uint8_t flags)
    {
        node_.send_collective(members_[to], id_, number_, step, data, bytes, flags);
    }
    void receive(uint32_t step, void *data, size_t bytes) { node_.receive_collective(id_, number_, step, data, bytes); }
    void next() { ++number_; }

    /** All members come here.  `flags`: wire::ahead where the process waits inside the network next; it takes no credit
     *  there, so what is kept for want of it must not hold this up. */
    void meet(uint32_t first_step, uint8_t flags = 0)
    {
        double_up(first_step, nullptr, nullptr, 0, [](bool) {}, flags);
    }
    /** Recursive doubling over `bytes` of `mine`; combine(mine is lower) adds `other` to them, on each member in the same way. */
    template <class Combine>
    void double_up(uint32_t first_step, void *mine, void *other, size_t bytes, Combine combine, uint8_t flags = 0)
    {
        const in_use now(used_);
        const size_t n = size();
        size_t power = 1;
        while (2 * power <= n)
            power *= 2;
        const size_t extra = n - power;         // so many pairs (2i, 2i+1) act as one
        const uint32_t hand_in = first_step + 100, hand_out = first_step + 101;

        node_.out().flush();    // who waits first does not send first: small writes that are held leave now
        const bool paired = me_ < 2 * extra;
        if (paired && me_ % 2 == 1) {
            send(me_ - 1, hand_in, mine, bytes, flags);
            receive(hand_out, mine, bytes);
            return;
        }
        if (paired) {
            receive(hand_in, other, bytes);
            combine(true);
        }
        const size_t place = paired ? me_ / 2 : me_ - extra;
        uint32_t step = first_step;
        for (size_t d = 1; d < power; d *= 2, ++step) {
            const size_t partner = place ^ d;
            send(partner < extra ? 2 * partner : partner + extra, step, mine, bytes, flags);
            receive(step, other, bytes);
            combine(place < partner);
        }
        if (paired)
            send(me_ + 1, hand_out, mine, bytes, flags);
    }
    /** Throws where another thread is in a collective of it. */
    void unused() const { in_use::check(used_); }
    /** Blocks the thread while the network does start(native group, completion). */
    template <class Start> void through_network(Start start)
    {
        const in_use now(used_);
        transfer t(node_.threads());
        node_.out().flush();    // the process may wait inside the network: small writes that are held leave before
        start(*native_, &t);
        t.wait();
        next();
    }

    node &node_;
    std::vector<int> members_;
    size_t me_ = 0;
    std::unique_ptr<native_group> native_;

private:
    static constexpr uint32_t asked = 1000, made = 1001;

    /** One thread at a time; found here, before anything is sent that would be an error of others. */
    struct in_use {
        explicit in_use(bool &u) : used(u)
        {
            check(used);
            used = true;
        }
        static void check(bool used)
        {
            if (used)
                throw error("two threads are in the same collective of a group");
        }
        in_use(const in_use &) = delete;
        in_use &operator=(const in_use &) = delete;
        ~in_use() { used = false; }
        bool &used;
    };

    /** The network makes a group where the process waits, so no two that share members may be made at once, in whatever
     *  order their members come here.  A word goes along the members in the order of the nodes; each passes it on when it
     *  is here and it is its turn, which it keeps: a circle of members that wait for each other cannot come about.  When
     *  the last one has it, all are ready and none is in another group; until then all processes serve. */
    void make_native(const std::vector<int> &line)
    {
        const size_t at = static_cast<size_t>(std::find(line.begin(), line.end(), node_.id()) - line.begin());
        if (at > 0)
            node_.receive_collective(id_, 0, asked, nullptr, 0);
        const network_wait turn(node_, false);
        if (at + 1 < line.size()) {
            node_.send_collective(line[at + 1], id_, 0, asked, nullptr, 0, wire::ahead);
            node_.out().flush();
            node_.receive_collective(id_, 0, made, nullptr, 0);
        } else {
            for (size_t i = 0; i < at; ++i)
                node_.send_collective(line[i], id_, 0, made, nullptr, 0, wire::ahead);
        }
        node_.out().flush();        // nobody waits for what this one still holds
        native_ = node_.network().native(members_, id_, node_.collective());
    }

    uint32_t id_ = 0;
    uint32_t number_ = 0;
    bool used_ = false;
};

inline std::vector<int> all_nodes()
{
    std::vector<int> all(static_cast<size_t>(node::here().size()));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

} // namespace detail

class Barrier : public detail::group_base {
public:
    Barrier() : group_base(detail::all_nodes()) {}
    explicit Barrier(std::vector<int> members) : group_base(std::move(members)) {}

    /** Blocks the thread until all members have come here. */
    void exec()
    {
        if (native_)
            return through_network([](native_group &g, completion *c) { g.barrier(c); });
        meet(0);
        next();
    }
};

namespace detail {

/** What a network needs to know of an operator on Ts. */
template <class T, class Op> constexpr native_operation native_operation_of()
{
    native_operation o;
    o.element_bytes = sizeof(T);
    if constexpr (std::is_same_v<Op, std::plus<>> || std::is_same_v<Op, std::plus<T>>) {
        if constexpr (std::is_same_v<T, float>)
            o.sum = native_operation::float32;
        else if constexpr (std::is_same_v<T, double>)
            o.sum = native_operation::float64;
        else if constexpr (std::is_integral_v<T> && sizeof(T) == 4)
            o.sum = std::is_signed_v<T> ? native_operation::int32 : native_operation::uint32;
        else if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
            o.sum = std::is_signed_v<T> ? native_operation::int64 : native_operation::uint64;
    }
    o.apply = [](void *left, void *right, int *n, void *) {
        const T *a = static_cast<const T *>(left);
        T *b = static_cast<T *>(right);
        for (int i = 0; i < *n; ++i)
            b[i] = Op{}(a[i], b[i]);
    };
    return o;
}

} // namespace detail

template <class T> class Reduction : public detail::group_base {
    static_assert(detail::direct<T>, "mttl: only what is copied as its bytes is reduced");

public:
    Reduction() : group_base(detail::all_nodes()) {}
    explicit Reduction(std::vector<int> members) : group_base(std::move(members)) {}

    /** op over the values of all members, in their order. */
    template <class Op = std::plus<>> T exec(T value, Op op = {})
    {
        exec(std::span<T>(&value, 1), op);
        return value;
    }

    /** The same for each element; as many elements on each node. */
    template <class Op = std::plus<>> void exec(std::span<T> values, Op op = {})
    {
        if constexpr (std::is_empty_v<Op> && std::is_default_constructible_v<Op>) {
            const auto reduce = [&](native_group &g, completion *c) {
                g.allreduce(values.data(), values.size(), detail::native_operation_of<T, Op>(), c);
            };
            if (native_ && node_.collective() == collectives::mpi) {
                const detail::network_wait turn(node_, true);
                meet(0, wire::ahead);
                next();
                return through_network(reduce);
            }
            if (native_)
                return through_network(reduce);
        }
        unused();           // by a thread that receives into it now
        other_.resize(values.size());
        double_up(0, values.data(), other_.data(), values.size_bytes(),
                  [&](bool mine_is_lower) { combine(values, op, mine_is_lower); });
        next();
    }

private:
    template <class Op> void combine(std::span<T> values, Op &op, bool mine_is_lower)
    {
        if (mine_is_lower) {
            for (size_t i = 0; i < values.size(); ++i)
                values[i] = op(values[i], other_[i]);
        } else {
            for (size_t i = 0; i < values.size(); ++i)
                values[i] = op(other_[i], values[i]);
        }
    }

    std::vector<T> other_;
};

} // namespace mttl

#endif
