/*
 * How wide the ways between sites are: what one connection gets across, and what the hosts of two
 * sites get together.  Where a network limits connections (clouds, TCP windows) or hosts (their
 * interfaces) more than the way itself, several carry more than one: the n that pays.
 *
 * In rounds, each after ranks have put together what the one before found, since it decides how much
 * is sent and by how many:
 *
 *   0. one pair of hosts for each pair of sites, as much as passes an interface in 20 ms, or 224 KB: so fast, about;
 *   1. the same for 35 ms, and two pairs at once;
 *   2. as many pairs as there are, up to 8, where two carried nearly twice as much as one;
 *   3. up to 64, likewise.
 *
 * Where calls take longer than before, a look tells whether known ways still carry as much: as many pairs of
 * hosts as that is known of where one connection gets less, else one, for 20 ms of what they carried.
 *
 * So what a way that is shared carries in vain never takes more than 70 ms.  Pairs of sites take turns,
 * those without a site in common at once, and directions one after the other.  A sender waits until its receiver is there, and where there are
 * several, for all of them; then one message goes ahead, which opens windows and uses up the burst of a
 * rate limit, and a train of more: the receiver times it from there.
 * Receivers of all pairs begin and end nearly together; the last one's time counts.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_MODEL_WIDTHS_HPP
#define WAN_MODEL_WIDTHS_HPP

#include "model/probe.hpp"

#include <map>

namespace wan {

/** What is known of the bandwidth between two sites, in the slower direction. */
struct width_bounds {
    int64_t least_bytes_per_s = 0;      // that hosts got, one or several at once; 0: not measured
    bool filled = false;                // and that is all: more of them got no more, nearly
};

class widths : public measurement {
public:
    static constexpr int rounds = 4, a_look = -1;

    /** The first round from `first` on that has something to find, by what was found before; `rounds`: none. */
    static int next_round(const topology &t, const fact_vector &known, int first);

    /**
     * known: equal on all ranks, whatever was measured before.  round: or a_look; seen: by a look just before, so that ways that
     * have become slow are not busy for long again.
     */
    widths(const topology &t, int me, const fact_vector &known, int round, const fact_vector &seen = {});

    std::optional<schedule> next() override;
    size_t message_bytes() const override { return bytes_; }
    void record(int64_t elapsed_ns) override;
    fact_vector measured() const override;

    /** Of two sites: whether so many hosts as a link's rate is known of did not fill it, and there are more. */
    static bool narrower_than_hosts(const topology &t, const fact_vector &known, int a, int b);

    /** Of two sites. */
    static width_bounds bounds(const topology &t, const fact_vector &known, int a, int b);

    /** What all rounds take at most, by what is known of interfaces and latencies; a look where nothing has changed. */
    static int64_t cost_ns(const topology &t, const facts &f);
    static int64_t look_cost_ns(const topology &t, const facts &f);

    /** Whether there is anything to look at. */
    static bool any(const topology &t, const fact_vector &known);
    /** What two looks have seen alike: of what both have seen as slower, or both as faster, the less so; else what is known. */
    static fact_vector agreed(const fact_vector &known, const fact_vector &first, const fact_vector &second);
    /** What is known but for widths. */
    static fact_vector without(fact_vector known);
    /**
     * What is known, where a look has seen a way carry more than twice or less than half of that: what it has
     * seen, to be measured again from round 1 on.  nullopt: nowhere.
     */
    static std::optional<fact_vector> corrected(const topology &t, const fact_vector &known, const fact_vector &seen);

    /** What passes between two sites in a step. */
    struct train {
        int pairs = 0;              // of hosts, at once; 0: nothing
        int64_t pieces = 0, piece_bytes = 0;
        int64_t bytes() const { return pairs * pieces * piece_bytes; }
    };

private:
    struct step {
        bool ahead;                 // what opens a train, or the train
        bool timed;
        int from = -1, to = -1;     // sites, of which this rank's is one; -1: none
        train what{};
    };
    schedule open(const step &s) const;
    schedule follow(const step &s) const;
    /** Which of the pairs of hosts this rank belongs to, -1: none. */
    int lane_of(const step &s) const;
    int rank_of(int site, int host) const { return topo_.rank_at(site_id{static_cast<uint32_t>(site)}, host); }

    const topology &topo_;
    int me_;
    std::vector<step> steps_;
    size_t at_ = 0, bytes_ = 1;
    std::map<size_t, int64_t> least_ps_;        // a byte, of the fastest train; by place in a fact_vector
    std::map<size_t, int64_t> pairs_;           // of hosts, by which that was measured; likewise
};

} // namespace wan

#endif
