/*
 * IS: the classes, the keys, and what a process computes by itself.  Integer
 * keys are ranked by buckets; process k ends with a range of buckets that holds
 * about as many keys as each other's.  It must not communicate.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef NPB_IS_HPP
#define NPB_IS_HPP

#include "npb.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

namespace npb::is {

inline constexpr int iterations = 10, tests = 5;

struct size {
    char name;
    int log_total, log_max, log_buckets;
    int test_index[tests], test_rank[tests];
    /** What is added to test_rank[i] in iteration `it`. */
    int (*offset)(int i, int it);
};
inline constexpr size sizes[] = {
    {'S', 16, 11, 9, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463},
     [](int i, int it) { return i <= 2 ? it : -it; }},
    {'W', 20, 16, 10, {357773, 934767, 875723, 898999, 404505}, {1249, 11698, 1039987, 1043896, 1048018},
     [](int i, int it) { return i < 2 ? it - 2 : -it; }},
    {'A', 23, 19, 10, {2112377, 662041, 5336171, 3642833, 4250760}, {104, 17523, 123928, 8288932, 8388264},
     [](int i, int it) { return i <= 2 ? it - 1 : 1 - it; }},
    {'B', 25, 21, 10, {41869, 812306, 5102857, 18232239, 26860214}, {33422937, 10244, 59149, 33135281, 99},
     [](int i, int it) { return i == 1 || i == 2 || i == 4 ? it : -it; }},
    {'C', 27, 23, 10, {44172927, 72999161, 74326391, 129606274, 21736814}, {61147, 882988, 266290, 133997595, 133525895},
     [](int i, int it) { return i <= 2 ? it : -it; }},
};

inline const size &size_named(const char *argument)
{
    for (const size &s : sizes)
        if (argument && argument[0] == s.name && !argument[1])
            return s;
    throw std::runtime_error("usage: is S|W|A|B|C");
}

using keys = std::vector<int>;

/** Where the keys of each process lie among all that it sends or gets: np + 1 places. */
using places = std::vector<int>;

/** What does not communicate; its parts are never inlined, so that both versions run the same instructions. */
class process {
public:
    process(const size &s, int me, int np) : size_(s), me_(me), np_(np), shift_(s.log_max - s.log_buckets)
    {
        const int64_t total = int64_t(1) << s.log_total;
        if (total % np || np > 1 << s.log_buckets)
            throw std::runtime_error("IS needs a power of two of processes");
        own_.resize(static_cast<size_t>(total / np));
        generator random;
        random.skip(static_cast<uint64_t>(me) * 4 * own_.size());
        const double quarter = (1 << s.log_max) / 4;
        for (int &k : own_) {
            const double a = random.next(), b = random.next(), c = random.next(), d = random.next();
            k = static_cast<int>(quarter * (a + b + c + d));
        }
        sorted_.resize(own_.size());
    }

    /** Sizes of the buckets here, and after them the keys under test that are here (else 0). */
    [[gnu::noinline]] void count(int iteration, std::vector<int> &buckets)
    {
        if (me_ == 0) {
            own_[static_cast<size_t>(iteration)] = iteration;
            own_[static_cast<size_t>(iteration + iterations)] = (1 << size_.log_max) - iteration;
        }
        buckets.assign(buckets_and_tests(), 0);
        for (int i = 0; i < tests; ++i)
            if (size_.test_index[i] / static_cast<int>(own_.size()) == me_)
                buckets[bucket_count() + static_cast<size_t>(i)] = own_[static_cast<size_t>(size_.test_index[i]) % own_.size()];
        for (const int k : own_)
            ++buckets[bucket(k)];
        // Own keys in the order of buckets.
        std::vector<int> &at = bucket_at_;
        at.assign(bucket_count(), 0);
        for (size_t b = 1; b < at.size(); ++b)
            at[b] = at[b - 1] + buckets[b - 1];
        for (const int k : own_)
            sorted_[static_cast<size_t>(at[bucket(k)]++)] = k;
    }

    /** From the sizes over all: which buckets are whose, so what is sent where. */
    [[gnu::noinline]] void distribute(const std::vector<int> &all)
    {
        all_ = all;
        first_bucket_.assign(1, 0);
        int64_t sum = 0;
        for (size_t b = 0; b < bucket_count(); ++b) {
            sum += all[b];
            if (sum >= static_cast<int64_t>(first_bucket_.size()) * static_cast<int64_t>(own_.size()) &&
                first_bucket_.size() < static_cast<size_t>(np_))
                first_bucket_.push_back(b + 1);
        }
        first_bucket_.resize(static_cast<size_t>(np_) + 1, bucket_count());
        send_.assign(1, 0);
        for (size_t k = 0; k < static_cast<size_t>(np_); ++k)     // at[b] is now the end of bucket b
            send_.push_back(first_bucket_[k + 1] ? bucket_at_[first_bucket_[k + 1] - 1] : 0);
        smaller_ = 0, expected_ = 0;
        for (size_t b = 0; b < first_bucket_[static_cast<size_t>(me_) + 1]; ++b)
            (b < first_bucket_[static_cast<size_t>(me_)] ? smaller_ : expected_) += all[b];
    }
    const keys &sorted() const { return sorted_; }
    const places &send() const { return send_; }

    /** Ranks what has come here; how many of the keys under test have the right rank. */
    [[gnu::noinline]] int rank(int iteration, const keys &got)
    {
        const int least = static_cast<int>(first_bucket_[static_cast<size_t>(me_)]) << shift_;
        const int end = static_cast<int>(first_bucket_[static_cast<size_t>(me_) + 1]) << shift_;
        up_to_.assign(static_cast<size_t>(end - least), 0);
        for (int i = 0; i < expected_; ++i)
            ++up_to_[static_cast<size_t>(got[static_cast<size_t>(i)] - least)];
        for (size_t i = 1; i < up_to_.size(); ++i)
            up_to_[i] += up_to_[i - 1];
        int passed = 0;
        for (int i = 0; i < tests; ++i) {
            const int k = all_[bucket_count() + static_cast<size_t>(i)];
            if (k < least || k >= end)
                continue;
            const int rank = smaller_ + (k > least ? up_to_[static_cast<size_t>(k - 1 - least)] : 0);
            passed += rank == size_.test_rank[i] + size_.offset(i, iteration);
        }
        return passed;
    }

    /** Puts the keys here into order by their ranks. */
    keys in_order(const keys &got)
    {
        const int least = static_cast<int>(first_bucket_[static_cast<size_t>(me_)]) << shift_;
        keys k(static_cast<size_t>(expected_));
        for (int i = 0; i < expected_; ++i)
            k[static_cast<size_t>(--up_to_[static_cast<size_t>(got[static_cast<size_t>(i)] - least)])] = got[static_cast<size_t>(i)];
        return k;
    }

    size_t buckets_and_tests() const { return bucket_count() + tests; }
    /** More than any process gets: buckets are not cut. */
    size_t room() const { return np_ == 1 ? own_.size() : own_.size() * 3 / 2 + 65536; }

private:
    size_t bucket_count() const { return size_t(1) << size_.log_buckets; }
    size_t bucket(int key) const { return static_cast<size_t>(key >> shift_); }

    const size &size_;
    int me_, np_, shift_;
    keys own_, sorted_;
    std::vector<int> bucket_at_, all_, up_to_;
    std::vector<size_t> first_bucket_;
    places send_;
    int smaller_ = 0, expected_ = 0;
};

} // namespace npb::is

#endif
