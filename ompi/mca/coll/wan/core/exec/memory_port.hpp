/*
 * A port inside one process: N engines exchange real bytes through mailboxes.
 * The order in which messages arrive, and whether a send completes when it is
 * posted (eager) or when it is received (rendezvous: its bytes are read only
 * then), come from a seed.  For tests, the verifier and tools; it must not
 * be more forgiving than MPI: sizes must agree, every message must be received.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_EXEC_MEMORY_PORT_HPP
#define WAN_EXEC_MEMORY_PORT_HPP

#include "exec/engine.hpp"

#include <functional>
#include <memory>

namespace wan {

/** dst[i] = src[i] (operator) dst[i] for `count` elements. */
using reduce_function = std::function<void(const void *src, void *dst, size_t count)>;

/** Called for each message that is delivered. */
using message_observer = std::function<void(int from, int to, size_t elements)>;

class memory_fabric {
public:
    memory_fabric(int ranks, size_t extent_bytes, uint64_t seed, reduce_function reduce);

    void observe(message_observer observer) { observer_ = std::move(observer); }
    /** Called where a send is posted (true) and where the sender learns that it is complete (false). */
    void observe_sends(std::function<void(int from, int to, size_t elements, bool begins)> observer) { sends_observer_ = std::move(observer); }

    /** Runs one engine a rank to the end; the reason ("" if all is well) why it could not. */
    std::string run(std::vector<std::unique_ptr<engine>> &engines) { return run(engines, nullptr); }
    /**
     * The same where all ranks make progress once, then all that can arrive does, and so on: how often
     * ranks that call MPI rarely must, at least.
     */
    std::string run_in_rounds(std::vector<std::unique_ptr<engine>> &engines, size_t &rounds) { return run(engines, &(rounds = 0)); }

    /** The port and context to construct the engine of `rank` with. */
    const wan_port_t *port() const { return &port_; }
    void *context(int rank) { return &ends_[static_cast<size_t>(rank)]; }

private:
    struct endpoint {
        memory_fabric *fabric;
        int rank;
    };
    static constexpr uint32_t nothing = UINT32_MAX;
    struct posted_send {
        std::unique_ptr<char[]> bytes;  // eager
        const char *from;               // rendezvous
        size_t count;
        uint32_t token;
        bool eager;
        uint32_t next = nothing;        // of its mailbox
    };
    struct posted_recv {
        char *to;
        size_t count;
        uint32_t token;
        uint32_t next = nothing;
    };
    struct queue {
        uint32_t first = nothing, last = nothing;   // into sends_ or recvs_
        size_t length = 0;
    };
    struct mailbox {
        int from, to, label;
        queue sends, recvs;
        size_t matched = 0;             // entries in matchable_
    };
    /** Splitmix64: it costs nothing to seed, and most runs are short. */
    struct generator {
        uint64_t state;
        uint64_t operator()();
    };
    struct finished {
        int rank;
        uint32_t token;
        int peer;
        size_t count;
    };

    struct delivery {
        int ranks[2] = {-1, -1};        // whose operation is complete
    };

    std::string run(std::vector<std::unique_ptr<engine>> &engines, size_t *rounds);
    bool deliver_one(std::vector<std::unique_ptr<engine>> &engines, delivery &told, std::string &why);
    uint32_t mailbox_at(int from, int to, int label);
    void match(uint32_t at);
    template <typename T> static void enqueue(std::vector<T> &pool, queue &q, T entry);
    template <typename T> static T dequeue(std::vector<T> &pool, queue &q);

    size_t extent_;
    generator random_;
    reduce_function reduce_;
    message_observer observer_;
    std::function<void(int, int, size_t, bool)> sends_observer_;
    wan_port_t port_;
    std::vector<endpoint> ends_;
    std::vector<mailbox> mailboxes_;
    std::vector<uint32_t> index_;               // hash table into mailboxes_, at most half full
    std::vector<posted_send> sends_;
    std::vector<posted_recv> recvs_;
    std::vector<uint32_t> matchable_;           // a mailbox for each possible delivery
    std::vector<finished> finished_;            // sends that completed early
    std::vector<std::unique_ptr<char[]>> scratch_;
};

} // namespace wan

#endif
