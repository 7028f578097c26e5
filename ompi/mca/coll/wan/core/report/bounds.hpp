/*
 * What no algorithm can beat: the bytes that must cross between sites for a call,
 * and the time that it must take on links as they are known.
 *
 * Bytes: each message has one sender and one receiver, so that what sites must
 * receive (or send) is what must cross.  Contributions of a site can be combined
 * before they leave it.  That all of S sites get what each gave a part of takes
 * 2(S-1) messages, if these go one way (gossiping: Harary and Schwenk 1974).
 *
 * Time: as the benchmark has it (contrib/bench/README.md) for several ranks on a
 * host, and what the uplinks that a map tells must let pass.  It does not know
 * what a processor spends on a message.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_REPORT_BOUNDS_HPP
#define WAN_REPORT_BOUNDS_HPP

#include "algo/registry.hpp"

namespace wan {

/** Blocks, where there are any, are of one size (request::counts_vary is false). */
uint64_t least_crossing_bytes(const topology &t, const request &r);

/** For rank `me`, if all ranks begin at once; the root of a broadcast waits for nobody: the others' time then. */
int64_t least_ns(const topology &t, const facts &f, const request &r, int me);

} // namespace wan

#endif
