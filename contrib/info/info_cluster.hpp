/*
 * A job that is thought of: hosts and their sites, ranks on them, what is known of links; and the
 * plugin's own view of its communicator (wan_core.h: wan_comm), made as the plugin makes it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef INFO_CLUSTER_HPP
#define INFO_CLUSTER_HPP

#include "comm.hpp"
#include "info_words.hpp"

#include <memory>

namespace info {

/** Options, as given. */
struct cluster_words {
    std::string map, hosts, hostfile, shape;
    int per_host = 0;               // 0: a host's slots in the hostfile, else 1
    std::string placement = "block";
    std::string latency, nic, uplink, inside, message, step, burst, eager;
    std::vector<std::string> settings;
};

struct host {
    std::string name;
    int slots = 1;
    std::string site;               // nested; "": in none
    std::string note;               // why not
    int line = 0;                   // of the map; 0: its default
};

/** The parameters of `words`, with --map as cluster_map; a shape has none.  Throws wrong_word. */
parameters parameters_of(const cluster_words &words);

/**
 * Hosts by --shape, --hosts, --hostfile or all of the map, their slots, and their sites by the map
 * (topo/cluster_map.hpp).  Throws wrong_word.
 */
std::vector<host> hosts_of(const cluster_words &words, const std::string &map_file);

/** The order of ranks: an index of a host each. */
std::vector<size_t> ranks_of(const std::vector<host> &hosts, const std::string &placement);

class cluster {
public:
    /** Throws wrong_word, also where coll/wan would not serve the communicator. */
    explicit cluster(const cluster_words &words);

    const wan_comm &comm() const { return *comm_; }
    const wan::topology &topo() const { return comm_->topo; }
    const wan::facts &facts() const { return comm_->links.known.back(); }
    const host &host_of(int rank) const { return hosts_[ranks_[static_cast<size_t>(rank)]]; }
    /** Sites and links in a line each, as coll_wan_verbose tells them, and which of them are assumed. */
    std::string describe() const;
    /** "", or why another component of Open MPI, with its own priority, serves blocking calls in coll/wan's place. */
    std::string outranked() const;

    /** The call of `bytes` (wanbench's: of a rank's block, where there are blocks). */
    wan::request request_of(wan_collective_t collective, uint64_t bytes, int root, bool commutative) const;
    /** The same; without buffers. */
    wan_call_t call_of(wan_collective_t collective, uint64_t bytes, int root, bool commutative) const;

private:
    struct close {
        void operator()(wan_comm *c) const { wan_comm_close(c); }
    };
    parameters params_;
    std::vector<host> hosts_;
    std::vector<size_t> ranks_;
    std::string assumed_;
    std::unique_ptr<wan_comm, close> comm_;

    void links_tell(const cluster_words &words);
};

} // namespace info

#endif
