/*
 * Whom a process knows in a communicator, how far they are, how fast the way
 * there is: measured when it begins and when somebody new is worth knowing,
 * never in between.
 *
 * It picks `peers` others at random (Phoenix, section 3.2).  Those who answer tell
 * of their own nearest ones, and trees of their roots and of who is nearest to
 * these; such hints are followed up to three times as many.  (Phoenix names that
 * as future work.)  A round trip is the shortest of three; a bandwidth the better
 * of two transfers, since an idle TCP connection starts slowly.
 *
 * Source: Saito, Taura, Chikayama: Collective Operations for Wide-area Message
 * Passing Systems Using Adaptive Spanning Trees, sections 3.2 and 3.3.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ADAPTIVE_NEIGHBOURS_HPP
#define WAN_ADAPTIVE_NEIGHBOURS_HPP

#include "adaptive/message.hpp"
#include "adaptive/options.hpp"

#include <deque>
#include <functional>
#include <map>
#include <random>

namespace wan {

class neighbours {
public:
    using sender = std::function<void(int to, const tell_message &)>;

    neighbours(const adaptive_options &o, int size, int me, sender send);

    /** Somebody worth knowing; `must`: whatever the limit. */
    void hint(int rank, bool must = false);
    /** From now on bandwidths as well: of the nearest ones (Phoenix: of all). */
    void want_bandwidth();
    /** This one's, if it is not known. */
    void want_bandwidth(int rank);
    void step(int64_t now_ns);
    /** One of ping, pong, bulk, bulk_done. */
    void receive(int from, const tell_message &m, int64_t now_ns);

    /** Whom it knows, in the order in which it came to know them. */
    const std::vector<int> &known() const { return known_; }
    /** 0: not known. */
    int64_t rtt_ns(int rank) const;
    /** bytes/s; 0: not known. */
    uint64_t bandwidth(int rank) const;
    /** The highest that is known. */
    uint64_t most_bandwidth() const { return most_; }
    int64_t largest_rtt_ns() const { return largest_ns_; }
    int64_t least_rtt_ns() const { return least_ns_; }
    /** Rises with all that it learns. */
    unsigned version() const { return version_; }
    bool quiet() const { return under_way_ == 0 && queue_.empty() && bulk_queue_.empty() && bulk_to_ < 0; }

private:
    struct peer {
        int64_t rtt_ns = 0;             // the shortest
        uint64_t bandwidth = 0;
        int pings = 0, bulks = 0;       // answered
        bool bulk_wanted = false;
        int64_t since_ns = 0;
        int64_t coming_ns = -1;         // bulk from there: when its first message came
    };

    void ping(int rank, int64_t now_ns);
    void bulk(int64_t now_ns);
    int hint_for(int rank);
    void bulk_if_near(int rank);

    adaptive_options options_;
    int size_, me_;
    sender send_;
    std::map<int, peer> peers_;         // asked, or who asked
    std::vector<int> known_;
    std::deque<int> queue_, bulk_queue_;
    std::map<int, bool> queued_;
    int under_way_ = 0, bulk_to_ = -1;
    bool wants_bandwidth_ = false;
    int bulks_ = 0;                     // asked for because they are near
    uint64_t most_ = 0;
    int64_t largest_ns_ = 0, least_ns_ = 0;
    unsigned version_ = 0;
    size_t next_hint_ = 0;
    std::vector<std::pair<int, int>> hints_;    // who told of whom
};

} // namespace wan

#endif
