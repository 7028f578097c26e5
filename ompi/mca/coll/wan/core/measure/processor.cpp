/*
 * See processor.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "measure/processor.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <vector>

namespace wan {

namespace {

/** As long as segments are, mostly: two of them fit the cache of a processor. */
constexpr size_t bytes = 128 * 1024;
/** Between them: where they begin at nearly the same place of a page, copying takes ten times as long. */
constexpr size_t apart_bytes = 2048;
/** Of which the least counts: others have the processor now and then, and the first one finds nothing in the cache. */
constexpr int repetitions = 5;

/** Two doubles at a time, as Open MPI combines them, however this file is compiled. */
struct pair {
    __attribute__((vector_size(16))) double of;
};

template <typename F> int64_t byte_ps(F work)
{
    using clock = std::chrono::steady_clock;
    int64_t least_ns = INT64_MAX;
    for (int i = 0; i < repetitions; ++i) {
        const auto from = clock::now();
        work();
        least_ns = std::min<int64_t>(least_ns, std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - from).count());
    }
    return std::max<int64_t>(1, least_ns * 1000 / static_cast<int64_t>(bytes));
}

} // namespace

processor processor_measure()
{
    constexpr size_t pairs = bytes / sizeof(pair), between = apart_bytes / sizeof(pair);
    std::vector<pair> both(2 * pairs + between, pair{{1.5, 0.25}});
    // Where the compiler cannot tell where they are, it does each time what it is told.
    const pair *volatile source = both.data();
    pair *volatile target = both.data() + pairs + between;
    const int64_t copy_ps = byte_ps([&] { std::memcpy(target, source, bytes); });
    const int64_t reduce_ps = byte_ps([&] {
        const pair *__restrict a = source;
        pair *__restrict b = target;
        for (size_t i = 0; i < pairs; ++i)
            b[i].of += a[i].of;
    });
    return {copy_ps, reduce_ps};
}

const processor &processor_here()
{
    static const processor here = processor_measure();
    return here;
}

} // namespace wan
