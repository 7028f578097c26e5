/*
 * What the coordinator of a discovery (discovery.hpp) makes of round trips: which
 * hosts make up a site, and which lie nearer to each other inside one.
 *
 *   cell     hosts that belong together so far: at first all, then each site, then
 *            each part of one
 *   round    those of a cell whose place is not known yet measure the ways to
 *            its landmarks
 *
 * In the times of a cell there may be a gap between near and far.  Who is near a
 * landmark is in its group; those near none do the same among themselves, with
 * twice as many landmarks, and with the groups found so far, until each has its
 * group.  Groups of all hosts are the sites.  Their parts come from what is known
 * by then, or from rounds of near ways: availability zones, buildings.  Where some
 * ways inside a part seem long, or a host seems to be a part of its own, ways of that site are
 * measured once more: then of each counts the shortest time, of both ends and all rounds, but
 * no long one of a way that nobody had measured before.
 * What a busy host makes of them does little harm: they only order the hosts of a site.
 *
 * Who looks for messages now and then only makes ways seem long.  Of such a way is known what it takes at most: it may be
 * a near one, but it is no far one, and none beside which others are near.  Where such are in doubt, those that have a group
 * measure the ways to them, too, and what was known of a way is not forgotten; after some rounds that change nothing who is
 * still in doubt is taken to be near the host that it may be nearest to, or nobody where all its ways may be far, and where
 * nothing is known to be far, all hosts are one site.
 *
 * It sends nothing and knows no clock.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_MEASURE_SITE_FINDER_HPP
#define WAN_MEASURE_SITE_FINDER_HPP

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace wan {

class site_finder {
public:
    /** Round trips below this are never a way between sites, those above that never one inside. */
    static constexpr int64_t least_far_ns = 500'000, most_near_ns = 5'000'000;
    /** Parts of a site are at least so far from each other: below, processes that wait for a processor seem as far. */
    static constexpr int64_t least_apart_ns = 200'000;
    /** Far is so many times near, at least; and other parts of a site so many times the own one. */
    static constexpr double least_gap = 3, least_gap_apart = 2.5;
    /** Of the shorter times of ways the longest one of so many may be late ones. */
    static constexpr size_t late_one_in = 10;
    /** Ways a host measures in a round. */
    static constexpr size_t most_targets = 192;
    /** In place of a round trip: minus a time that it takes at most, and perhaps far less; that is: nothing is known. */
    static constexpr int64_t unknown_ns = -std::numeric_limits<int64_t>::max();
    /** Levels inside a site, at most. */
    static constexpr size_t levels = 2;

    /** Where a host is: its site, and of each level inside which part (from 1; 0: there are none). */
    struct place {
        uint16_t site = 0;
        std::array<uint16_t, levels> inside{};
        friend auto operator<=>(const place &, const place &) = default;
    };

    explicit site_finder(int hosts);

    /** Whom everybody measures in the first round. */
    static std::vector<int> first_targets(int hosts);

    /** Round 0 needs no question. */
    uint32_t round() const { return round_; }
    /**
     * What a host measured in a round, in the order of its targets, or minus what a way takes at most; what was not asked
     * counts for nothing, nor does what is no time: 0 is the way to itself, and to nobody else.  True: now ask(), or it is finished.
     */
    bool take(int host, uint32_t round, std::span<const int64_t> times);
    /** Whom each host that has a part in the round is to measure. */
    void ask(const std::function<void(int host, std::span<const int> targets)> &tell) const;

    /**
     * How many rounds, this one included, are made only to be sure that there is one site: nobody waits for
     * them, so each may come later than the one before.
     */
    int patience() const { return patience_; }

    bool finished() const { return !place_.empty(); }
    /** Of each host, once finished; sites, and parts in each, are numbered by their lowest host. */
    const std::vector<place> &places() const { return place_; }
    /** Shortest round trip that was taken for one between sites, longest that was taken for one inside; 0: none. */
    int64_t far_ns() const { return far_ns_; }
    int64_t near_ns() const { return near_ns_; }
    /** Hosts whose place no time told. */
    int undecided() const { return undecided_; }
    /** Sites with parts; shortest round trip between such. */
    int parted() const { return parted_; }
    int64_t apart_ns() const { return apart_ns_; }

private:
    struct cell {
        std::vector<int> hosts = {};
        size_t level = 0;                   // 0: of all hosts, whose groups are sites
        int64_t limit_ns = 0;               // far from here on
        std::vector<int64_t> limits_ns = {};    // others that it may be
        std::vector<int> targets = {};      // of the round
        std::vector<int> homeless = {};     // without a group yet: they report
        std::vector<int> doubtful = {};     // homeless of which some way is only known at most
        std::vector<int> helpers = {};      // with a group: they measure the ways to those
        uint32_t rounds = 0, vain = 0;      // those since somebody found a group
        enum class repeats : uint8_t { never, asked, done } repeat = repeats::never;       // of ways of which something is known
    };
    struct way {
        int host, to;
        int64_t ns;         // as it was reported
    };

    static std::vector<int> spread(const std::vector<int> &hosts, size_t most);
    static bool is_in(const std::vector<int> &sorted, int host);
    static bool makes_sense(int host, const std::vector<int> &targets, std::span<const int64_t> times);
    void decide();
    template <typename Use> void each_way(const std::vector<int> &hosts, const std::vector<int> &targets, Use use);
    void recall(const cell &c);
    void remember(const cell &c, const std::vector<int> &hosts, const std::vector<int> &doubtful);
    void look_again(cell &c);
    bool tells_some(const cell &c, int host) const;
    std::vector<bool> dark_targets(const cell &c) const;
    int perhaps_near(const cell &c, int host) const;
    bool may_hide_sites(const cell &c, const std::vector<int64_t> &times);
    bool find_limit(cell &c);
    void settle(cell &c);
    void group(cell &c);
    void close();
    void open(cell &c, const std::vector<way> &ways);
    enum class verdict : uint8_t { none, doubtful, parts };
    verdict judge(const cell &c, const std::vector<way> &ways);
    bool perhaps(cell &c, const std::vector<way> &ways);
    static bool find_limits(cell &c, const std::vector<way> &ways, size_t late = late_one_in);
    static void ask_again(cell &c, const std::vector<way> &ways);
    static void put_together(std::vector<way> &ways);
    std::vector<way> ways_inside(const cell &c) const;
    std::vector<cell> cells_inside(const cell &c);
    int root_of(int host);
    void unite(int a, int b);

    uint32_t round_ = 0;
    std::vector<cell> cells_;               // that may have groups
    std::vector<int> parent_;               // hosts of one group have one root, its lowest
    std::map<int, std::vector<int64_t>> times_;     // of the round, by host
    std::map<std::pair<int, int>, int64_t> known_;      // of ways in doubt, and of hosts that have no group; of both directions
    size_t awaited_;
    std::vector<way> near_;                 // all that were taken for near so far
    std::vector<place> coming_, place_;
    int64_t far_ns_ = 0, near_ns_ = 0, apart_ns_ = 0;
    int parted_ = 0, undecided_ = 0, patience_ = 0;
};

} // namespace wan

#endif
