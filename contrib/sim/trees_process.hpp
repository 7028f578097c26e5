/*
 * One simulated process of wantrees: coll/wan's adaptive_service over SimGrid's
 * links, and plain messages for the algorithms it is compared with.
 *
 * A process that waits for something goes on serving the trees of the others.
 * Messages of a pair arrive in the order in which they were sent, as over TCP.  An interface
 * sends one message after the other: SimGrid would let them share it, so that segments of a
 * pipeline arrive all together with the last one.  (Its own limit of a link's messages lets
 * those to near hosts wait for those to far ones.)
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SIM_TREES_PROCESS_HPP
#define SIM_TREES_PROCESS_HPP

#include "adaptive/service.hpp"
#include "trees_network.hpp"

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <simgrid/s4u.hpp>
#include <vector>

namespace sim {

class trees_process;

/** All processes of a simulation, and what carries their messages. */
class trees_carriers {
public:
    trees_carriers(const trees_network &network, std::vector<simgrid::s4u::Host *> hosts) : network(network), hosts(std::move(hosts)) {}

    const trees_network network;
    const std::vector<simgrid::s4u::Host *> hosts;
    std::vector<trees_process *> processes{hosts.size()};

private:
    friend class trees_process;
    /** An actor that takes one message at a time to where it goes. */
    struct carrier {
        simgrid::s4u::SemaphorePtr wake = simgrid::s4u::Semaphore::create(0);
        std::function<void()> trip;
    };
    std::vector<std::unique_ptr<carrier>> all_;
    std::vector<carrier *> idle_;
    void carry(std::function<void()> trip);
    /** One way, of a message. */
    double latency_s(size_t from, size_t to);
    std::vector<double> latencies_ = std::vector<double>(hosts.size() * hosts.size());
    std::mt19937_64 drawn_{network.seed ^ 0xfaced};
};

class trees_process {
public:
    /** To be made by the actor that it is: number `me`. */
    trees_process(const wan::adaptive_options &o, trees_carriers &carriers, int me);
    trees_process(const trees_process &) = delete;
    ~trees_process();

    /** A plain message; does not wait. */
    void send(int to, uint64_t bytes);
    /** The next plain message from there. */
    void receive(int from);
    /** Serves others until then, in seconds of simulated time, or until a message has come. */
    void serve(double until_s);
    /** Ends the serve() that it is in, or the next one. */
    void wake() { come_->release(); }
    /** As if this process had ended and another one had begun in its place. */
    void forget();

    wan::adaptive_service &service() { return *service_; }
    static int64_t now_ns() { return static_cast<int64_t>(simgrid::s4u::Engine::get_clock() * 1e9); }

private:
    enum class kind { tree, arrived, plain };
    struct parcel {
        kind what;
        int from;
        uint64_t number;        // of the pair
        uint64_t value;         // tree: to be told when it is there; arrived: that
        int life;               // of the sender's, or the one that is answered
        std::vector<std::byte> bytes;
    };
    void post(int to, kind what, uint64_t value, int life, std::vector<std::byte> bytes, uint64_t size);
    void arrive(parcel p);
    void handle(const parcel &p);

    wan::adaptive_options options_;
    trees_carriers &carriers_;
    int me_;
    double overhead_s_, rate_;
    int life_ = 0;
    std::unique_ptr<wan::measured_table> known_;
    std::unique_ptr<wan::adaptive_service> service_;
    double free_s_ = 0;                 // the interface, from then on
    simgrid::s4u::SemaphorePtr come_ = simgrid::s4u::Semaphore::create(0);
    std::deque<parcel> inbox_;
    std::vector<uint64_t> sent_, had_;  // messages to and from each
    std::vector<std::map<uint64_t, parcel>> ahead_;     // of others that are still on their way
    std::vector<uint64_t> plain_;       // that nobody has received yet
};

} // namespace sim

#endif
