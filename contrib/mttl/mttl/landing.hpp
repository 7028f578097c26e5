/*
 * A write that was announced: the receiver says where the next write of one
 * node will land, the writer sends, and the receiver waits for it.  Neither a
 * header nor an answer travels, only the data, straight into place; this is
 * what replaces a pair of MPI_Irecv and MPI_Send.
 *
 *   receiver                               writer
 *   Landing<double> in(x, n, 1);           LandingPtr<double> out = ... in.handle(), sent here
 *   in.arm();                              out.write(y, n);
 *   in.wait();
 *
 * Writes land in the order of arm(); a write before arm() waits in MPI.  When a
 * Landing goes, the writer is told: what it writes later throws, and what is on
 * its way is dropped (node::late_writes() counts).  Writes are ordered only among
 * themselves: small writes that were held for others have left before them, but
 * what a function has sent without credit has not (it is kept, see outbox.hpp),
 * and what arrives together is told to the receiver in an order of the port's.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_LANDING_HPP
#define MTTL_LANDING_HPP

#include "invoke.hpp"

namespace [[gnu::visibility("default")]] mttl {

/** The writer's end; it travels. */
template <class T> class LandingPtr {
public:
    LandingPtr() = default;
    LandingPtr(int node, uint32_t landing) : node_(node), landing_(landing) {}

    /** Writes `n` elements, as many as are awaited; blocks the thread until `from` may be reused.  Throws error where this
     *  node has been told that the landing has gone; what was on its way then is dropped there. */
    void write(const T *from, size_t n) const
    {
        if (n > port::nsend_bytes / sizeof(T))
            throw error("an announced write of more than 1 GiB: write in parts");
        mttl::node &h = mttl::node::here();
        h.out().checked(node_);
        h.out().flush(node_);       // small writes that are held: they were before
        if (!h.writes_to_landing(node_, landing_))
            throw error("an announced write to node " + std::to_string(node_) + ", where the landing for it has gone");
        detail::transfer sent(h.threads());
        try {
            h.network().nsend(node_, detail::landing_channel(landing_), from, n * sizeof(T), &sent);
        } catch (...) {
            h.no_write_to_landing(node_, landing_);
            throw;
        }
        sent.wait();
    }
    int node() const { return node_; }

private:
    int32_t node_ = -1;
    uint32_t landing_ = 0;
};

template <class T> class Landing final : completion {
    static_assert(detail::direct<T>);

public:
    /** The next write of `from` lands at `to`, `n` elements; throws std::out_of_range where there is no such node. */
    Landing(T *to, size_t n, int from)
        : node_(node::here()), to_(to), n_(n), from_(node_.out().checked(from)), landing_(node_.open_landing())
    {
    }
    Landing(const Landing &) = delete;
    Landing &operator=(const Landing &) = delete;
    /** A write that is still expected is not waited for, unless it is landing right now: whoever writes is told that this
     *  has gone, and what has been sent is dropped.  Nothing at all where the node that it was made on does not run any more. */
    ~Landing()
    {
        if (node::current() != &node_)
            return;
        try {
            if (armed_ && !landed_ && !node_.network().cancel(this))
                while (!landed_)
                    waiting_.wait(node_.threads());
            node_.close_landing(from_, landing_, writes_);
        } catch (...) {     // no memory: the channel is not used again
        }
    }

    LandingPtr<T> handle() const { return {node_.id(), landing_}; }

    /** Expects the next write; the memory is the port's until wait() has returned. */
    void arm() { arm(to_, n_); }
    /** The same, elsewhere: the next write lands at `to`, `n` elements. */
    void arm(T *to, size_t n)
    {
        if (armed_)
            throw error("a landing was armed twice");
        if (n > port::nsend_bytes / sizeof(T))
            throw error("a landing of more than 1 GiB: write in parts");
        to_ = to, n_ = n, armed_ = true;
        node_.network().recv_node(from_, detail::landing_channel(landing_), to_, n_ * sizeof(T), this);
    }
    /** Blocks the thread until it has landed. */
    void wait()
    {
        if (!armed_)
            throw error("a landing that is not armed was waited for");
        while (!landed_)
            waiting_.wait(node_.threads());
        armed_ = landed_ = false;
    }

private:
    void done() override
    {
        landed_ = true;
        ++writes_;
        waiting_.wake_all(node_.threads());
    }
    void withdrawn() override
    {
        landed_ = true;
        waiting_.wake_all(node_.threads());
    }

    node &node_;
    T *to_;
    size_t n_;
    int from_;
    uint32_t landing_;
    uint64_t writes_ = 0;       // that have landed
    bool armed_ = false, landed_ = false;
    detail::wait_queue waiting_;
};

} // namespace mttl

#endif
