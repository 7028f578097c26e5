/*
 * The adaptive trees of one process: a node (node.hpp) for each communicator that
 * uses them, what they have measured of other processes, and one way in and out
 * for the messages of all of them.
 *
 * Messages carry the number of their communicator and stream, since they travel
 * apart from its own: what comes for one that is not yet open here waits; what comes
 * for one that is closed is dropped, but for the one question that somebody may wait
 * for.  Numbers are given in turn, so that little is kept of those that are closed.
 *
 * A process has two names here.  Its number, which is the glue's, says by which way
 * it is reached: it has another one in each communicator of several jobs, which goes
 * with that, and what was sent by it.  Who it is (process_id) is the same in all: what
 * is measured, and places in trees, are kept by that.  Neither travels: whoever
 * a message tells of is a rank in its communicator.
 *
 * Open MPI makes that of a job from a hash of 16 bits of its mpirun's host and
 * process number: those of two mpiruns are the same once in 65536 times.  Open MPI itself
 * takes two of one name for one where it meets both.  Here who is taken for one who has gone begins with
 * that one's figures, which are doubted when messages show otherwise, and places, which
 * the others contradict; of two of one name in a communicator nothing is kept.
 *
 * Calls come from the application's threads and from its progress: `lock`.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_ADAPTIVE_SERVICE_HPP
#define WAN_ADAPTIVE_SERVICE_HPP

#include "adaptive/arrivals.hpp"
#include "adaptive/node.hpp"
#include "algo/registry.hpp"
#include "wan_core.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <set>

namespace wan {

/** In the list of algorithms: what stands behind their last enumerator. */
struct adaptive_algorithm {
    const char *name = "adaptive";
    const char *source = "Phoenix (Saito et al.), with changes";
};
inline constexpr adaptive_algorithm adaptive;
constexpr bool adaptive_serves(wan_collective_t c)
{
    return c == WAN_BCAST || c == WAN_REDUCE || c == WAN_ALLREDUCE || c == WAN_BARRIER || c == WAN_GATHER;
}
/** What it does, and of which calls: bytes that are only moved may be of any type. */
constexpr const char *adaptive_summary(wan_collective_t c)
{
#define ADAPTIVE "along trees that processes find by themselves, from what they measure of each other, not from sites (communicators over two sites or more, at most 16384 ranks"
    switch (c) {
    case WAN_REDUCE:
    case WAN_ALLREDUCE:
        return ADAPTIVE "; predefined types without gaps; with coll_wan_stable where both Reduce and Allreduce are asked for)";
    case WAN_GATHER:
        return ADAPTIVE "; blocks of one size, below coll_wan_tree_threshold)";
    default:
        return ADAPTIVE ")";
    }
#undef ADAPTIVE
}
/** The enumerator behind those of the registered algorithms. */
inline int adaptive_enumerator(wan_collective_t c) { return algorithm_count(c) + 1; }

/** Calls of a communicator that begin in one order on all its ranks. */
struct adaptive_stream {
    uint64_t number = 0;        // of the communicator: higher than those of all before it on each of its processes;
    uint64_t more = 0;          // others may have the same number, but not this
    uint64_t stream = 0;
    auto operator<=>(const adaptive_stream &) const = default;
    bool beside(const adaptive_stream &o) const { return number == o.number && more == o.more; }
};

class adaptive_service {
public:
    /** Takes a copy.  counted > 0: when it has come there, arrived(process, counted) is to be called. */
    using sender =
        std::function<void(int process, std::span<const std::byte> head, std::span<const std::byte> payload, uint64_t counted)>;
    /** Told of each message of an operation that leaves: to which rank, and its payload's bytes. */
    using observer = std::function<void(int rank, size_t payload)>;

    class member final : adaptive_port {
    public:
        adaptive_node &node() { return node_; }
        /** One of its processes is gone, or it may not be used any more: nothing of it can be relied on to end. */
        void abandon() noexcept;
        bool failed() const { return failed_; }
        /** Of how many others there were figures when it was opened. */
        int known_before() const { return known_before_; }

    private:
        friend class adaptive_service;
        member(adaptive_service &s, adaptive_stream name, std::vector<int> processes, std::vector<process_id> who, int me, observer seen, adaptive_places where);
        void send(int to, std::span<const std::byte> head, std::span<const std::byte> payload) override;
        uint64_t under_way(int to) const override;
        uint64_t delivered(int to) const override;
        int64_t round_trip_ns(int to) const override;
        int64_t waited_ns() const override { return service_.looks_.away_ns(node_.now_ns()) + service_.kept_ns_; }
        void limited(int to) override;
        uint64_t ahead(int to) const override;
        void ahead_by(int to, int64_t more) override;
        int64_t longest_ns() const override;
        former_place former(tree_name tree) const override { return service_.former(*this, tree); }
        /** Whether all of these are among its processes; nobody is in none. */
        bool has_all(const std::vector<process_id> &who) const;
        /** -1: it is not there. */
        int rank_of(process_id p) const;
        void begins_nothing() noexcept;
        void forget();

        adaptive_service &service_;
        adaptive_stream name_;
        std::vector<int> processes_;            // by rank: their numbers, and who they are
        std::vector<process_id> who_;
        std::map<int, int> rank_of_;            // by number; by who it is
        std::map<process_id, int> rank_of_who_;
        observer seen_;
        adaptive_node node_;
        bool failed_ = false;
        int known_before_ = 0;
    };

    /** What is measured goes to `known`, and what is there already is not measured; `job`: that of this process. */
    adaptive_service(const adaptive_options &o, sender send, measured_table &known, uint32_t job)
        : options_(o), send_(std::move(send)), known_(known), job_(job)
    {
    }

    /**
     * processes[r]: the number of rank r; who[r]: who that is, or, empty: those of this job by these numbers.  A communicator is open from
     * its stream 0's opening to its closing.
     */
    member *open(adaptive_stream name, std::vector<int> processes, int me, observer seen, int64_t now_ns, adaptive_places where = {}, std::vector<process_id> who = {});
    void close(member *m) noexcept;
    /** `count` numbers from `first` on name nobody any more, in no communicator, or others from now on. */
    void forget(int first, int count) noexcept;
    /** No communicator of a lower number is opened from now on. */
    void pass(uint64_t number, int64_t now_ns);
    /** From now on all communicators are as if closed: no operation is under way, and others may leave. */
    void quiet() noexcept;
    bool is_quiet() const { return quiet_; }
    /** Streams that are closed, and messages for those that are not open yet, of which something is kept. */
    size_t kept() const;
    /** Closed communicators of which it is kept where this process was in their trees. */
    size_t remembered() const { return places_.size(); }
    /** Bytes of these, and of what communicators keep for operations that have not begun here. */
    uint64_t kept_bytes() const;
    /** Numbers of processes of which it is known what was sent there. */
    size_t sent_to() const { return traffic_.size(); }
    void receive(int process, std::span<const std::byte> bytes, int64_t now_ns);
    /** Links are said to have changed: for all communicators. */
    void measure_again();
    /** So many bytes of payload have come there. */
    void arrived(int process, uint64_t payload, int64_t now_ns);
    /** What is due. */
    void step(int64_t now_ns);
    /** When step() has something to do even if nothing comes; INT64_MAX: never. */
    int64_t deadline() const;

    std::mutex lock;
    /** Something was lost: no operation can be relied on to end. */
    std::atomic<bool> failed = false;

private:
    struct waiting {
        int process;
        std::optional<tree_name> asks;      // it is a question about that
        std::vector<std::byte> bytes;
        int64_t come_ns;
    };
    void receive_kept(const std::vector<waiting> &those, int64_t now_ns);
    void learn(const member &m);
    void remember(const member &m);
    former_place former(const member &m, tree_name tree) const;
    /** Whether it is over here, and not yet to come. */
    bool closed(adaptive_stream name) const;

    adaptive_options options_;
    sender send_;
    std::map<adaptive_stream, std::unique_ptr<member>> open_;
    std::set<adaptive_stream> closed_;          // of communicators that are open, or not below passed_
    std::map<adaptive_stream, std::vector<waiting>> early_;
    int64_t kept_ns_ = 0;                       // so long the one that is received now was among these
    uint64_t passed_ = 0;                       // numbers below are of open communicators, or of none any more
    measured_table &known_;
    uint32_t job_;
    /** Where this process was in the trees of a communicator. */
    struct places {
        std::vector<process_id> who;            // by rank there
        std::map<tree_name, former_place> trees;
    };
    std::map<adaptive_stream, places> places_;  // of the last few that were closed
    uint64_t most_bandwidth_ = 0;               // to any process of any of them
    /** Who is there for all: who was given, or of this job; of two of one name, nobody. */
    std::vector<process_id> named(std::vector<process_id> who, const std::vector<int> &processes) const;
    /** Payload to a process, by one way. */
    struct traffic {
        uint64_t under_way = 0;
        uint64_t uncounted = 0;         // under way, and no arrival will tell of it by itself
        uint64_t messages = 0, uncounted_messages = 0;      // the same
        uint64_t ahead = 0;             // of operations that have not begun there
        int64_t last_ns = 0, counted_ns = 0;    // when one was sent, and when one of which an arrival tells
        std::deque<uint64_t> asked_for;         // those of which it will: the messages since the one before
        arrivals seen;
        pace calls;
    };
    int64_t count(traffic &t, uint64_t payload, int64_t now_ns);
    std::map<int, traffic> traffic_;            // by number
    uint64_t limited_ = 0;                      // of these
    looks looks_;
    bool room_again_ = false;
    std::atomic<bool> quiet_ = false;
};

} // namespace wan

#endif
