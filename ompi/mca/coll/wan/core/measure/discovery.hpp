/*
 * Discovery: which hosts of a job make up a site, found from round trips.
 *
 * Of each host one process, the delegate (its lowest rank), takes part; all run
 * the same state machine, fed by messages and by time, which answers with
 * messages and never waits:
 *
 *   1. Every delegate measures the round trip to each of up to 8 landmarks,
 *      hosts spread over all, and reports to the coordinator, the first host's
 *      delegate.
 *   2. What that makes of them is site_finder's: it may ask some hosts for more,
 *      until every host has its site, and its part of one where there are such.
 *   3. The coordinator tells the first host of each site, that one its hosts,
 *      each host's delegate the other processes there.
 *   4. A while later the first hosts of the sites, up to 32, measure the ways to each other
 *      (site_ways.hpp), which everybody is told of in the same manner.
 *
 * With up to a few sites that is one round or two (more on busy hosts, and before hosts whose ways are not short are one site), in which a host measures 8
 * ways, or some 20, at the same time: each three times (long ones a second and a
 * third time at once), and short ones now and then until the longest is known.
 *
 * Messages grow with the hosts, not with their square, and where there are many sites, with these, too: a host sends 20 to 110
 * pings up to 16 sites, then some six for each site, at most 100 and 7 a site (asserted up to 256 sites; as many answers come
 * back).  For who only learns of pairs whether they are near, that is the law: of hosts in equal sites one for each host and site
 * is the least that can tell them apart (Devanny, Goodrich, Jetviroj, SPAA 2016).
 *
 * A message waits until the process that it is for looks, and reads the network: times count only if
 * both ends had done so not long before (`gap`), and the shortest two must agree.
 * A way takes less than the shortest time, and more than any less what that may have
 * waited; where that is less than half, only the former is reported, and who may be near
 * or far by that is asked again.  Who looks seldom learns little itself: of its own pings the
 * answers all come while it does not look.  Pings of others' come at any time: some when it does,
 * and the shortest of many is short.  After a while what is known is reported, whatever it is.
 *
 * Source: Phoenix measures round trips to few peers of each process (Taura et
 * al., section 3); landmarks as in Ratnasamy et al., INFOCOM 2002.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_MEASURE_DISCOVERY_HPP
#define WAN_MEASURE_DISCOVERY_HPP

#include "measure/site_finder.hpp"
#include "measure/site_ways.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace wan {

class discovery {
public:
    /** Bytes of a message at most. */
    static constexpr size_t message_max = 2048;
    static constexpr size_t most_hosts = 4096;
    /** Of more sites the ways are not measured: everybody would have to be told of too many. */
    static constexpr int most_sites_with_ways = 32;

    using sender = std::function<void(int rank, const void *bytes, size_t size)>;
    /** Told of what this process measures itself; a bandwidth of 0 is not known. */
    using observer = std::function<void(int rank, int64_t rtt_ns, int64_t bytes_per_s, int64_t now_ns)>;

    /** node[r]: equal for ranks of one host, as published. */
    discovery(std::span<const uint64_t> node, int me, sender send, site_ways::options o = {}, observer learned = {});

    /**
     * To be called whenever this process looks for messages, before it takes them.  read_ns: what had come by then has been read from the
     * network; 0: that may have happened in any of the last looks_a_read looks: Open MPI reads after it has called us, in each of its
     * passes (btl/tcp, connected) or in every eighth.
     */
    void look(int64_t now_ns, int64_t read_ns);
    void look(int64_t now_ns) { look(now_ns, now_ns); }
    static constexpr size_t looks_a_read = 8;
    /**
     * A message that came from `rank`; ignored is what is none of ours, comes twice or too late, makes no sense, or is from
     * a process that does not say such things: of the sites each hears from one other process only.  now_ns: it is taken then, which a
     * process that has lost its processor does some time after it has looked.
     */
    void receive(int rank, const void *bytes, size_t size, int64_t now_ns);
    void receive(int rank, const void *bytes, size_t size) { receive(rank, bytes, size, now_); }

    /** The sites are known. */
    bool finished() const { return !place_.empty(); }
    /** And the ways between them, or they are not measured: nothing comes any more. */
    bool complete() const { return complete_; }
    struct way_between {
        uint16_t from, to;          // sites
        uint32_t unused = 0;
        site_way what;
    };
    /** Once complete. */
    const std::vector<way_between> &ways_between() const { return between_; }
    /** A gateway's time of transfers. */
    int64_t spent_ns() const { return ways_between_.spent_ns(); }
    /** Of a rank, once finished: sites are numbered by their lowest rank. */
    int site_of(int rank) const { return place_of(rank).site; }
    /** And where in that; hosts of one place are as near to each other as hosts can be told apart. */
    const site_finder::place &place_of(int rank) const { return place_[static_cast<size_t>(host_of_[static_cast<size_t>(rank)])]; }
    int sites() const { return sites_; }
    int hosts() const { return static_cast<int>(delegate_.size()); }
    int ranks() const { return static_cast<int>(host_of_.size()); }
    /** The coordinator's, which knows the times; nullptr on others. */
    const site_finder *finder() const { return finder_ ? &*finder_ : nullptr; }

private:
    enum kind : uint32_t { ping, pong, report, ask, table, part, done, way_report, way_table };
    struct header {
        uint32_t what;
        uint32_t number;        // ping, pong: which; report, ask: of the round; table, way_table: of the first host, way
        int64_t value;          // pong: gap; way_table: how many in all
    };
    /** The way to one host. */
    struct way {
        struct ping {
            uint32_t number;
            int64_t since;
        };
        int host;
        uint32_t sent = 0;                  // pings
        std::vector<ping> under_way;        // those without an answer yet
        std::vector<int64_t> samples;       // shortest first
        int64_t due = 0;                    // when to ping again; 0: not yet, or never
        uint32_t answers = 0;
        int64_t first_answer = 0;           // when
        int64_t shortest = 0;               // of all answers, also of those that do not count
        /** What no message can have been under way for less than, by the two answers for which that is most: the second one counts, since
         *  any process may lose its processor just before it sends. */
        std::array<int64_t, 2> longer{};
        int64_t least() const { return longer.back(); }
        bool confirmed = false;
    };

    bool delegate() const { return delegate_[static_cast<size_t>(host_)] == me_; }
    void send(int rank, header h, std::span<const std::byte> more = {});
    void measure(uint32_t round, std::vector<int> hosts);
    void send_ping(size_t i);
    void take_pong(int rank, uint32_t number, int64_t gap, int64_t taken_ns);
    static bool far(const way &w);
    static bool tells(const way &w, int64_t time);
    void give_report();
    void take_report(int rank, uint32_t round, std::span<const int64_t> times);
    void ask_hosts();
    void take_ask(int rank, uint32_t round, std::vector<int> targets);
    void take_table(int rank, size_t first, std::span<const site_finder::place> some);

    /** Of a site's first host: its delegate is the gateway. */
    static int first_host(std::span<const site_finder::place> places, uint16_t site);
    /** From whom this process hears what goes from the coordinator to all. */
    int told_by(std::span<const site_finder::place> places) const;
    /** Passes on what goes from the coordinator to all. */
    void pass_on(const std::function<void(int rank)> &tell);
    void tell_sites(int rank);
    void tell_ways(int rank);
    void begin_ways();
    void give_ways();
    bool are_ways(std::span<const way_between> some) const;
    void take_way_report(int rank, std::span<const way_between> some);
    void take_way_table(int rank, size_t first, size_t all, std::span<const way_between> some);

    std::vector<int> delegate_;             // of each host: its lowest rank
    std::vector<int> host_of_;              // of each rank
    int me_, host_;
    sender send_;
    int64_t now_ = -1, gap_ = 0;
    std::array<int64_t, looks_a_read + 1> looks_{};     // when this process looked, by turns; since the last time that all was read, which
    size_t turn_ = 0;                                   // stands in for those before

    uint32_t round_ = 0;
    std::vector<way> ways_;
    size_t open_ways_ = 0;              // not yet confirmed
    bool reported_ = true;

    std::vector<site_finder::place> place_;     // of each host; empty before
    std::vector<site_finder::place> coming_;    // the table, in parts
    int coming_from_ = -1;
    int sites_ = 0;

    site_ways ways_between_;
    observer learned_;
    std::vector<way_between> between_;      // complete, or as they come
    bool complete_ = false, gave_ways_ = false;

    // The coordinator's.
    std::optional<site_finder> finder_;
    int patience_ = 0;                          // of its rounds, how many have waited
    int64_t ask_at_ = 0;                        // when the one that is due begins; 0: none
    std::map<int, std::vector<way_between>> way_reports_;   // by site
};

} // namespace wan

#endif
