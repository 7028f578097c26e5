/*
 * Whom a process knows in a communicator, how far they are, how fast the way
 * there is: measured when it begins, when somebody new is worth knowing and when
 * links are said to have changed; in between only a bandwidth that a tree in
 * use doubts (try_bandwidth), a way that seems to have got farther or nearer
 * (doubt), and what a way has turned out to be.
 *
 * It picks `peers` others at random (Phoenix, section 3.2).  Those who answer tell
 * of their own nearest ones, and trees of their roots and of who is nearest to
 * these; such hints are followed up to three times as many, those of near ones to
 * near ones before the rest of the random ones.  (Phoenix names that as future work.)  A round trip is the shortest of three; a bandwidth the better
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
#include "measure/table.hpp"

#include <deque>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <utility>

namespace wan {

class neighbours {
public:
    using sender = std::function<void(int to, const tell_message &)>;

    /** beside: the ranks on this host, itself among them, as far as that is known; loaded: whether what is sent now waits behind
     *  long operations, perhaps. */
    neighbours(const adaptive_options &o, int size, int me, sender send, rank_set beside = {}, std::function<bool()> loaded = [] { return false; });

    /** Somebody worth knowing; `must`: whatever the limit. */
    void hint(int rank, bool must = false);
    /** All that is known once more; it holds until then. */
    void measure_again();
    /** Measured before, for another communicator: in place of one that is to be measured. */
    void know(int rank, const measured_way &way);
    /** Of the fastest way to whomever: the one to who is alone with its site here is not measured. */
    void know_most(uint64_t bandwidth) { most_ = std::max(most_, bandwidth); }
    /**
     * A bandwidth, if it is not known, next.  Those of the nearest ones (Phoenix: of all) are measured in any
     * case: when one is needed, links are busy.
     */
    void want_bandwidth(int rank);
    /** The same though operations are under way: those to come wait for what comes of it. */
    void want_bandwidth_now(int rank);
    /** Operations go there, or come from there, so fast; slow: far slower than was known, else no longer so. */
    void paced(int rank, uint64_t rate, bool slow, int64_t now_ns);
    bool slowed(int rank) const;
    /** It has measured the way here, which may be as fast in both directions; 0: it has not. */
    void told(int rank, uint64_t bandwidth) { peers_[rank].told = std::min(bandwidth, any_bandwidth); }
    /** Bandwidths of all that are not near, but for this one: as if they had never been measured. */
    void forget_far(int but);
    /** One that is known once more, a few times at most: the better figure holds. */
    void try_bandwidth(int rank);
    /** busy: operations are under way. */
    void step(int64_t now_ns, bool busy);
    /** One of ping, pong, bulk, bulk_done, pace, distance.  It may have waited here for so long. */
    void receive(int from, const tell_message &m, int64_t now_ns, int64_t waited_ns = 0);

    /** A message went there, and word of it came back, in that time, of which it may have waited so long here.  1: it has got farther, -1:
     *  nearer, by more than chance may have it; 0: neither.  Where it is near, it is taken for busy, not for farther. */
    int departs(int rank, int64_t took_ns, int64_t waited_ns = 0) const;
    /** The way there seems to have changed: it is measured again, but for one of which that was done just now; pauses get twice as long. */
    void doubt(int rank, int departs, int64_t now_ns);
    /** That is under way. */
    bool doubted(int rank) const;
    /** What is known of the way there may have been an absence of that process; it is measured again by and by. */
    bool unsure(int rank) const;
    /** Ways that have turned out to have changed since this was called last. */
    std::vector<int> changed() { return std::exchange(changed_, {}); }
    /** How often ways were measured again since they seemed to have changed. */
    uint64_t doubts() const { return doubts_; }
    /** How often they had. */
    uint64_t changes() const { return changes_; }

    /** Whom it knows, in the order in which it came to know them. */
    const std::vector<int> &known() const { return known_; }
    /** A question of a tree's was answered after so long: perhaps there is less in the way now. */
    void answered(int rank, int64_t took_ns);
    measured_way way(int rank) const;
    /** 0: not known. */
    int64_t rtt_ns(int rank) const { return way(rank).rtt_ns; }
    /** What is not known is taken for the farthest, and for as fast as the fastest. */
    int64_t rtt_or_largest_ns(int rank) const;
    uint64_t bandwidth_or_most(int rank) const;
    /** Of one that is far as it has told; 0: nothing is known. */
    uint64_t bandwidth_or_told(int rank) const;
    uint64_t most_bandwidth() const { return most_; }
    /** On this host, as near as the nearest on others, or nearly so, or far nearer than the farthest; in no case as far as sites are. */
    bool near(int rank) const;
    const rank_set &beside() const { return beside_; }
    /** bytes/s; 0: not known. */
    uint64_t bandwidth(int rank) const { return way(rank).bandwidth; }
    int64_t largest_rtt_ns() const { return largest_ns_; }
    int64_t least_rtt_ns() const { return least_ns_; }
    /** Of whom something was learned, in that order; grows. */
    const std::vector<int> &news() const { return news_; }
    /** When step() has something to send, if nothing comes before; INT64_MAX: it has not. */
    int64_t deadline() const;
    /** It waits for nothing that others wait for. */
    bool quiet() const;

private:
    static constexpr uint64_t any_bandwidth = 100'000'000'000;
    struct peer {
        measured_way way;
        int pings = 0, bulks = 0;       // answered, of this measurement
        int tries = 0;                  // of a bandwidth that was known
        int64_t best_ns = 0;            // of these
        uint64_t best = 0;
        uint64_t told = 0;              // by it
        bool bulk_wanted = false;
        bool slowed = false;            // as operations show
        int64_t since_ns = 0, bulk_since_ns = 0;
        bool late = false;              // its transfer: others do not wait for that any more
        int64_t coming_ns = -1;         // bulk from there: when its first message came
        int doubted = 0;                // as departs(): it is measured again, and what is known holds until then
        int64_t least_ns = 0;           // of these pings, without what they may have waited
        bool loaded = false;            // the last one may have been behind long operations
        int clear = 0;                  // how many were not
        int given_up = 0;               // pings whose answers do not count any more
        int misses = 0;                 // of those, in a row
        int64_t trusted_until_ns = 0, trusted_ns = 0;       // it is not doubted again before; for so long that was
    };

    void ping(int rank, int64_t now_ns);
    void bulk(int64_t now_ns);
    int hint_for(int rank);
    /** Somebody who is near, as far as others know: before those that were picked at random. */
    void hint_near(int rank, bool must);
    bool is_near(int64_t rtt_ns) const;
    bool has_few() const;
    void bulk_if_near(int rank);
    void learned(int rank);
    void let_go(int rank);
    void give_up(int64_t now_ns);
    bool is_awaited(const peer &p) const;
    size_t pings_awaited() const;
    int64_t answers_by(const peer &p) const;
    int64_t transferred_by(const peer &p) const;
    void pong(int from, const tell_message &m, int64_t now_ns, int64_t waited_ns);
    void doubt_ends(int rank, int64_t now_ns);
    bool waited(const peer &p) const;
    void measured(int rank, bool unsure);
    void distance_set(int rank, int64_t rtt_ns, int64_t now_ns);
    void extremes();

    adaptive_options options_;
    int size_, me_;
    sender send_;
    std::function<bool()> loaded_;
    rank_set beside_;
    std::map<int, peer> peers_;         // asked, or who asked
    std::vector<int> known_;
    std::deque<int> queue_, bulk_queue_;
    size_t near_first_ = 0;             // at the head of queue_: whom near ones have named, or who is near
    std::vector<int> inherited_;        // from another communicator, without a bandwidth
    std::set<int> wanted_;              // all that are known or to be
    std::vector<int> pinged_;           // who has not answered
    std::vector<int> unsure_;           // whose answers may have waited for most of the time: they are doubted when nobody else is to be measured
    int bulk_to_ = -1;
    bool busy_ = false;
    bool again_ = false;                // to be measured again once it is quiet
    std::vector<int> again_wanted_;     // and whose bandwidth, then
    int64_t now_ns_ = 0, bulks_from_ns_ = -1, pauses_until_ns_ = 0;
    int64_t spent_ns_ = 0;              // by transfers
    int bulks_ = 0;                     // asked for because they are near
    uint64_t most_ = 0;
    int64_t largest_ns_ = 0, least_ns_ = 0;
    std::vector<int> news_, changed_;
    uint64_t doubts_ = 0, changes_ = 0;
    size_t next_hint_ = 0;
    std::set<std::pair<int, int>> hints_;       // who told of whom
};

} // namespace wan

#endif
