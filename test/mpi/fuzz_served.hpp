/*
 * Which calls of the fuzzer coll/wan has to serve, and whether it did.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TEST_FUZZ_SERVED_HPP
#define WAN_TEST_FUZZ_SERVED_HPP

#include "counters.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>

/** coll/wan's counters: one for all forms of a collective. */
inline constexpr std::array<std::string_view, 11> families{"allgather", "alltoall", "allreduce", "barrier", "bcast", "exscan",
                                                           "gather", "reduce", "reduce_scatter", "scan", "scatter"};

/** Calls by counter. */
class expected_calls {
public:
    /** `name`: of the collective; `required`: it has to be served, otherwise it may. */
    void add(std::string_view name, bool required)
    {
        size_t best = 0, length = 0;    // the longest that the name begins with
        for (size_t f = 0; f < families.size(); ++f)
            if (name.starts_with(families[f]) && families[f].size() > length) {
                best = f;
                length = families[f].size();
            }
        ++most_[best];
        least_[best] += required;
    }
    uint64_t least(size_t family) const { return least_[family]; }
    uint64_t most(size_t family) const { return most_[family]; }

private:
    std::array<uint64_t, families.size()> least_{}, most_{};
};

/** What coll/wan counted from here on, against what it had to serve, or to leave to Open MPI of its own choice. */
class served_check {
public:
    explicit served_check(bool alone) : alone_(alone)
    {
        std::vector<std::string> all;
        for (const char *kind : {"served_", "declined_", "left_"})
            for (std::string_view f : families)
                all.push_back(kind + std::string(f));
        all.push_back("passed");
        counters_.open(all);
        for (size_t i = 0; i < all.size(); ++i)
            before_.push_back(counters_[i]);
    }
    /** What f() does is not counted: Open MPI's own collectives, where communicators are made. */
    template <typename F> void leave_out(F f)
    {
        std::vector<unsigned long long> then;
        for (size_t i = 0; i < before_.size(); ++i)
            then.push_back(counters_[i]);
        f();
        for (size_t i = 0; i < before_.size(); ++i)
            before_[i] += counters_[i] - then[i];
    }
    void close() { counters_.close(); }
    /** Prints what is wrong. */
    uint64_t faults(const expected_calls &calls) const
    {
        if (alone_ || !counters_.there()) {
            if (alone_ == !counters_.there())
                return 0;
            std::printf("WRONG: coll/wan is %s\n", alone_ ? "in this job" : "not in this job");
            return 1;
        }
        uint64_t found = 0;
        for (size_t f = 0; f < families.size(); ++f) {
            const uint64_t served = since(f) + since(2 * families.size() + f), declined = since(families.size() + f);
            if (served < calls.least(f) || served > calls.most(f) || declined) {
                std::printf("WRONG: coll/wan served or left %llu calls of %s and had no algorithm for %llu, %llu to %llu served expected\n",
                            static_cast<unsigned long long>(served), families[f].data(), static_cast<unsigned long long>(declined),
                            static_cast<unsigned long long>(calls.least(f)), static_cast<unsigned long long>(calls.most(f)));
                ++found;
            }
        }
        if (const uint64_t passed = since(3 * families.size())) {
            std::printf("WRONG: %llu calls were handed on\n", static_cast<unsigned long long>(passed));
            ++found;
        }
        return found;
    }

private:
    bool alone_;
    wan_counters counters_;
    std::vector<unsigned long long> before_;
    unsigned long long since(size_t i) const { return counters_[i] - before_[i]; }
};

#endif
