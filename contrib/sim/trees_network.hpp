/*
 * The simulated network of wantrees: clusters of any size, hosts with a full-duplex
 * interface each, clusters with a full-duplex uplink each.  Latencies differ from
 * host to host and from cluster to cluster by the seed, and a little from message to
 * message, since trees are chosen by what is measured.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SIM_TREES_NETWORK_HPP
#define SIM_TREES_NETWORK_HPP

#include <cstdint>
#include <simgrid/s4u.hpp>
#include <vector>

namespace sim {

struct trees_network {
    std::vector<int> clusters;          // hosts of each
    double nic_mbps = 1000, uplink_mbps = 1000;     // each direction
    double lan_us = 100, wan_ms = 2;    // one way, host to host; between clusters, besides
    double spread = 0.4;                // of a host's and of a cluster's latency, for good
    double jitter = 0.1;                // at most, of a message's
    double overhead_us = 5;             // of a process for a message, at either end
    uint64_t seed = 1;

    /** Of its shape, for programs' command lines. */
    template <typename App> void options(App &app)
    {
        app.add_option("--clusters", clusters, "hosts of each, as in 40,40,40")->delimiter(',')->required()->allow_extra_args(false);
        app.add_option("--nic", nic_mbps, "Mb/s of an interface");
        app.add_option("--uplink", uplink_mbps, "Mb/s of a cluster");
        app.add_option("--lan", lan_us, "us one way inside a cluster");
        app.add_option("--wan", wan_ms, "ms one way between clusters");
    }

    int processes() const;
    double nic_rate() const { return nic_mbps * 1e6 / 8; }     // bytes/s
    /** Of each process, in the order of hosts. */
    std::vector<int> sites() const;
    /** Hosts in the order of clusters. */
    std::vector<simgrid::s4u::Host *> build() const;
};

} // namespace sim

#endif
