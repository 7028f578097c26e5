/*
 * What members of groups have sent for a collective, and the threads that wait
 * for it, by group, number of the collective and step.  It must not know what
 * the collectives compute; that is in group.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_CONTRIBUTIONS_HPP
#define MTTL_CONTRIBUTIONS_HPP

#include "registry.hpp"
#include "serial.hpp"
#include "thread.hpp"

#include <map>
#include <set>

namespace [[gnu::visibility("default")]] mttl {
namespace detail {

struct contribution_key {
    uint32_t group = 0, number = 0, step = 0;
    auto operator<=>(const contribution_key &) const = default;
};

class contributions {
public:
    explicit contributions(scheduler &s) : threads_(s) {}

    /** Blocks until that contribution has arrived and takes it, exactly `bytes`. */
    void receive(const contribution_key &k, void *data, size_t bytes)
    {
        const auto it = arrived_.find(k);
        if (it != arrived_.end()) {
            const std::vector<std::byte> got = std::move(it->second);
            arrived_.erase(it);
            check(got.size(), bytes);
            if (bytes)
                std::memcpy(data, got.data(), bytes);
            return;
        }
        if (!threads_.in_thread())
            throw error("blocked outside a thread");
        expected e{data, bytes, false, 0, threads_.current()};
        if (!expected_.emplace(k, &e).second)
            throw error("two threads are in the same collective of a group");
        while (!e.done)
            threads_.block();
        check(e.got, bytes);
    }

    void take(const contribution_key &k, std::span<const std::byte> payload)
    {
        const auto it = expected_.find(k);
        if (it == expected_.end()) {
            if (!arrived_.emplace(k, std::vector<std::byte>(payload.begin(), payload.end())).second)
                throw wire_error("two contributions to one step of a collective");
            return;
        }
        expected &e = *it->second;
        expected_.erase(it);
        e.got = payload.size();
        if (e.got == e.bytes && e.bytes)
            std::memcpy(e.data, payload.data(), e.bytes);
        e.done = true;
        threads_.ready(e.waiter);
    }

    /** A number for a new object of a group, the same on all members that make them in the same order. */
    uint32_t open(const std::vector<int> &members)
    {
        std::string name;
        for (const int m : members)
            name += std::to_string(m) + ' ';
        const uint32_t instance = groups_[name]++;
        const uint64_t hash = fnv1a(name + '#' + std::to_string(instance));
        const auto id = static_cast<uint32_t>((hash ^ (hash >> 29)) * 0x9E3779B97F4A7C15 >> 32) | 1;
        if (!ids_.insert(id).second)
            throw error("two groups have the same hash: make them in another order");
        return id;
    }

private:
    struct expected {
        void *data;
        size_t bytes;
        bool done;
        size_t got;
        thread *waiter;
    };

    static void check(size_t got, size_t wanted)
    {
        if (got != wanted)
            throw error("nodes disagree on the size of a collective: " + std::to_string(got) + " bytes came, " +
                        std::to_string(wanted) + " were expected");
    }

    scheduler &threads_;
    std::map<contribution_key, std::vector<std::byte>> arrived_;
    std::map<contribution_key, expected *> expected_;
    std::map<std::string, uint32_t> groups_;
    std::set<uint32_t> ids_;
};

} // namespace detail
} // namespace mttl

#endif
