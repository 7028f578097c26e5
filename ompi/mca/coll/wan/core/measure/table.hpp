/*
 * What this process has measured, in one table for its whole life: the ways to other
 * processes, by who they are, and the links between sites, by the names of these.
 *
 * All that measure write here: discovery (its landmarks, and the ways between sites), adaptive trees
 * (their peers), the probe of a communicator (its links).  The latter two read here before they measure,
 * so that a communicator begins with what is known, whoever found it out; discovery is the first, and only writes.
 *
 * It measures nothing, and does not judge: the newest counts.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_MEASURE_TABLE_HPP
#define WAN_MEASURE_TABLE_HPP

#include "model/probe.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace wan {

/** What is known of the way to a process. */
struct measured_way {
    int64_t rtt_ns = 0;             // the shortest; 0: not known
    uint64_t bandwidth = 0;         // bytes/s; 0: not known
    int64_t at_ns = 0;              // when it was measured
};

/** A process, whatever communicator it is met in: its job, and its number there. */
enum class process_id : uint64_t {};
constexpr process_id process_of(uint32_t job, uint32_t number)
{
    return process_id{uint64_t{job} << 32 | number};
}
/** Of whom it is not known who it is; as Open MPI has it, too. */
constexpr process_id nobody = process_of(UINT32_MAX, UINT32_MAX);

/** What was measured between two sites by their first processes, one way of it. */
struct site_way {
    int64_t rtt_ns = 0;
    int64_t bytes_per_s = 0, cold_bytes_per_s = 0;      // of a flow; of one after a rest; 0: not known
};

/** Any thread. */
class measured_table {
public:
    /**
     * The newest; a bandwidth that is not known replaces none.  Nothing of nobody.  Processes may have gone, of which nothing tells, and may come
     * back: of more than most_processes those go that were kept longest ago.
     */
    void keep(process_id p, const measured_way &way);
    measured_way way(process_id p) const;
    /** Of how many something is known. */
    size_t processes() const;
    /** With adaptive trees a process measures 30 others of a communicator, as they are set: those of over a hundred such, below 1 MB. */
    static constexpr size_t most_processes = 4096;

    /** From a site to another one, by name; the newest. */
    void keep(const std::string &from, const std::string &to, const site_way &way);
    site_way way(const std::string &from, const std::string &to) const;

    /** The facts of communicators over these sites: their names, each with a line's end. */
    void keep(const std::string &sites, const fact_vector &links);
    std::optional<fact_vector> links(const std::string &sites) const;

    /** Counts the time of calls for which nobody has measured these links, as long as the table is there. */
    std::atomic<int64_t> &spent_ns(const std::string &sites);

private:
    struct kept_way {
        measured_way way;
        uint64_t kept = 0;              // the higher, the later
    };
    void forget_oldest();

    mutable std::mutex lock_;
    std::map<process_id, kept_way> ways_;
    uint64_t kept_ = 0;
    std::map<std::pair<std::string, std::string>, site_way> between_;
    std::map<std::string, fact_vector> links_;
    std::map<std::string, std::atomic<int64_t>> spent_;
};

/** That of this process. */
measured_table &measured();

} // namespace wan

#endif
