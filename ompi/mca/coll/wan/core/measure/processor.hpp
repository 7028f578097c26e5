/*
 * What a byte takes this host's processors, beside what networks take: copying it, and combining two.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_MEASURE_PROCESSOR_HPP
#define WAN_MEASURE_PROCESSOR_HPP

#include <cstdint>

namespace wan {

struct processor {
    int64_t copy_ps, reduce_ps;     // a byte, 1 at least
};

/** Takes some 0.2 ms, where nothing else runs there. */
processor processor_measure();

/** The same, measured once in a process.  Any thread. */
const processor &processor_here();

} // namespace wan

#endif
