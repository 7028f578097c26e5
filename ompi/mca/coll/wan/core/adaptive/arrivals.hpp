/*
 * How fast bytes come somewhere, and how far that is, as messages show of which it is known that they have come.
 *
 * A rate counts what came from one arrival to a later one, in the time that took or in the time in which it was sent, whichever is
 * longer: what a process that did not look takes at once came no faster than it was sent.  The time there and back is that of a
 * message that went alone, or the least since: those behind others also wait for them.
 *
 * And how long this process had not looked for messages when it took them: what waited for that has come earlier.
 *
 * Source: of the two times, Cheng, Cardwell, Hassas Yeganeh, Jacobson: Delivery Rate Estimation (IETF draft), section 3.1.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ADAPTIVE_ARRIVALS_HPP
#define WAN_ADAPTIVE_ARRIVALS_HPP

#include <algorithm>
#include <cstdint>
#include <deque>

namespace wan {

/** A message that shows how far it is, if none has for so long, asks for word of when it has come. */
inline constexpr int64_t tells_every_ns = 100'000'000;

class arrivals {
public:
    /** One that will be told of when it has come; alone: nothing else is on its way there; tells: nothing that takes time is, itself with that. */
    void sent(int64_t now_ns, bool alone, bool tells = false)
    {
        if (alone)
            last_ns_ = last_sent_ns_ = now_ns;
        line_.push_back({come_, last_ns_, last_sent_ns_, now_ns, alone, tells});
    }
    /** The first of these has, so many bytes with what was sent since the one before.  What that took, if it shows how far it is; else 0. */
    int64_t came(int64_t now_ns, uint64_t bytes)
    {
        come_ += bytes;
        last_ns_ = now_ns;
        if (now_ns - since_ns_ > holds_ns)
            next_period(now_ns);
        if (line_.empty())
            return 0;       // of before
        const message m = line_.front();
        line_.pop_front();
        last_sent_ns_ = m.sent_ns;
        const int64_t there_ns = std::max<int64_t>(1, now_ns - m.sent_ns);
        if (m.alone && !rtt_ns_)
            rtt_ns_ = there_ns;
        else if (rtt_ns_)
            rtt_ns_ = std::min(rtt_ns_, there_ns);
        const auto took_ns = std::max({least_ns, now_ns - m.last_ns, m.sent_ns - m.last_sent_ns});
        if (come_ - m.before >= tells_bytes)
            rate_ = std::max(rate_, static_cast<uint64_t>(static_cast<__int128>(come_ - m.before) * 1'000'000'000 / took_ns));
        return m.tells ? there_ns : 0;
    }
    /** bytes/s, the most; 0: nothing has come lately. */
    uint64_t rate(int64_t now_ns) const
    {
        const int64_t age_ns = now_ns - since_ns_;
        return age_ns > 2 * holds_ns ? 0 : age_ns > holds_ns ? rate_ : std::max(rate_, rate_before_);
    }
    /** There and back; 0: not known. */
    int64_t round_trip_ns(int64_t now_ns) const { return now_ns - since_ns_ > 2 * holds_ns ? 0 : rtt_ns_ ? rtt_ns_ : rtt_before_ns_; }

private:
    /** What has been seen is believed for one to two of these; a way that is never idle has nothing newer to say of how far it is. */
    static constexpr int64_t holds_ns = 2'000'000'000;
    static constexpr int64_t least_ns = 1'000;
    /** Fewer do not fill any way: how fast they came tells how often somebody sent. */
    static constexpr uint64_t tells_bytes = 16 << 10;
    void next_period(int64_t now_ns)
    {
        const bool old = now_ns - since_ns_ > 2 * holds_ns;
        rate_before_ = old ? 0 : rate_;
        rtt_before_ns_ = old ? 0 : rtt_ns_ ? rtt_ns_ : rtt_before_ns_;
        rate_ = 0;
        rtt_ns_ = 0;
        since_ns_ = now_ns;
    }

    struct message {
        uint64_t before;        // what was known to have come when it was sent,
        int64_t last_ns;        // since when,
        int64_t last_sent_ns;   // and when the last of that had been sent
        int64_t sent_ns;
        bool alone;
        bool tells;             // how far it is
    };
    std::deque<message> line_;
    uint64_t come_ = 0;
    uint64_t rate_ = 0, rate_before_ = 0;           // the most, since then and in as long a time before
    int64_t rtt_ns_ = 0, rtt_before_ns_ = 0;        // the least, likewise
    int64_t since_ns_ = 0, last_ns_ = 0, last_sent_ns_ = 0;
};

/** When this process looked for messages. */
class looks {
public:
    void at(int64_t now_ns)
    {
        if (const int64_t gap_ns = now_ns - last_ns_; last_ns_ >= 0 && gap_ns >= least_ns) {
            const int64_t both_ns = gap_ns + (last_ns_ - gap_end_ns_ < least_ns ? gap_ns_ : 0);
            if (both_ns >= away_ns(now_ns))
                away_ns_ = both_ns, since_ns_ = now_ns;
            gap_ns_ = gap_ns, gap_end_ns_ = now_ns;
        }
        last_ns_ = now_ns;
    }
    /** What comes now may have been there for so long. */
    int64_t away_ns(int64_t now_ns) const { return now_ns - since_ns_ < one_look_ns ? away_ns_ : 0; }

private:
    /** Open MPI takes messages from the network after it has let us look: who looks once, and again, had them in both gaps. */
    static constexpr int64_t least_ns = 100'000, one_look_ns = 2'000'000;
    int64_t last_ns_ = -1;
    int64_t gap_ns_ = 0, gap_end_ns_ = INT64_MIN / 2;       // the last one
    int64_t away_ns_ = 0, since_ns_ = INT64_MIN / 2;
};

} // namespace wan

#endif
