/*
 * The ways between sites, once these are known: the first process of each site, its gateway,
 * measures those to the gateways of others, in the background: round trips of one small message, of all others
 * before anybody sends more,
 * then transfers in parts, of which the receiving end takes the slope: parts over their times, all but
 * the first quarter, so that neither the beginning of a connection nor the burst of a rate limit counts, nor how late single ones are.
 * Three that agree are enough, else the middle of up to nine counts.  The first transfer tells what a flow gets after a rest.  Both directions are measured, each
 * by its sender: they need not be alike.
 *
 * It begins a while after the sites are known, since calls have their own links measured then.
 * Of several others each gateway begins with the site behind its own, so that nobody is asked by all at
 * once.  It has half a second of a link's time; what does not fit into that goes on with a hundredth of it.
 *
 * A state machine without I/O; a part of discovery (discovery.hpp), which carries its messages.
 *
 * Source: Phoenix measures bandwidths by transfers of 128 KB (Saito et al., section 3.2).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_MEASURE_SITE_WAYS_HPP
#define WAN_MEASURE_SITE_WAYS_HPP

#include "measure/table.hpp"

#include <functional>
#include <map>
#include <span>
#include <vector>

namespace wan {

class site_ways {
public:
    enum class kind { part, done };
    /** A message; `filler` bytes of no meaning follow. */
    using sender = std::function<void(int rank, kind what, uint32_t number, int64_t value, size_t filler)>;

    /** Bytes of a transfer, 0: nothing is measured; of a part; of a message of a round trip and of its answer, beside headers; to how many other sites. */
    struct options {
        uint64_t bytes = 128 << 10;
        uint64_t part = 2032;
        uint64_t ping = 1;
        int others = 10;
    };
    static constexpr int64_t rest_ns = 1'000'000'000;       // after the sites are known
    static constexpr int64_t pings_alone_ns = 1'000'000'000;        // from then on
    static constexpr int64_t budget_ns = 500'000'000;       // of transfers one after the other
    static constexpr int64_t least_share = 100;             // then: one of so many

    site_ways(options o, sender send) : options_(o), send_(std::move(send)) {}

    /** gateway[s]: a rank; of which this process is that of `site`. */
    void begin(std::span<const int> gateway, size_t site, int64_t now_ns);
    /** gap_ns: since this process looked before. */
    void look(int64_t now_ns, int64_t gap_ns);
    void receive(int rank, kind what, uint32_t number, int64_t value);

    /** Whether there is anything to measure. */
    bool wanted() const { return options_.bytes > 0 && options_.others > 0; }
    /** All that this gateway measures is known. */
    bool finished() const { return begun_ && at_ == targets_.size(); }
    struct result {
        size_t site;
        int rank;
        site_way way;
    };
    const std::vector<result> &results() const { return results_; }
    /** Time in which its transfers were under way. */
    int64_t spent_ns() const { return spent_ns_; }

private:
    struct target {
        size_t site;
        int rank;
        int pings = 0, bulks = 0;
        uint32_t transfer = 0;          // the last one
        bool under_way = false;
        int64_t since_ns = 0;
        std::vector<int64_t> rtts{}, rates{}, doubtful{};   // doubtful: seen by the sender alone
        int64_t cold = 0, spoilt_ns = 0;
    };
    /** What comes from one process, in order: of its last transfer, whose parts may all be there. */
    struct coming {
        uint32_t transfer = 0;      // they begin with 1
        int64_t parts = 0;
        int64_t mark_ns = -1, gap_ns = 0;
        // From there on: how many, and sums over them of times, numbers, and products.
        double n = 0, t = 0, i = 0, ti = 0, tt = 0;
    };
    void transfer(target &t, int64_t parts);
    void take_part(int rank, uint32_t number, int64_t parts);
    void take_done(int rank, uint32_t number, int64_t value);
    int64_t all_parts() const;
    void take_ping(target &t, int64_t took_ns, int64_t gap_ns);
    void take_bulk(target &t, int64_t took_ns, int64_t rate_there);

    options options_;
    sender send_;
    bool begun_ = false;
    int64_t now_ns_ = 0, gap_ns_ = 0, due_ns_ = 0, bulks_from_ns_ = 0, spent_ns_ = 0;
    std::map<int, coming> coming_;

    std::vector<target> targets_;
    std::vector<result> results_;
    size_t pinged_ = 0, at_ = 0;        // targets of which round trips are known; of which all is
    uint32_t transfer_ = 0;
};

} // namespace wan

#endif
