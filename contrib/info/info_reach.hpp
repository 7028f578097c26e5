/*
 * Does UDP reach another host, both ways, and how large may a datagram be?  For `wan-info doctor
 * --udp`; `--answer` is the other end, which sends back what it gets and never more.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef INFO_REACH_HPP
#define INFO_REACH_HPP

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace info {

struct reach {
    std::string error;              // why nothing could be tried; "": it was
    int sent = 0, answered = 0;     // small ones, one after the other
    int64_t median_ns = 0;          // there and back
    std::vector<int> sizes, back;   // bytes of datagrams that were tried, and of those that came back; not fragmented
    int burst = 0, burst_answered = 0;      // of 1200 bytes, at once
};

/** Throws wrong_word where that is no HOST:PORT; both. */
std::pair<std::string, std::string> reach_place(const std::string &where);

/** `where`: HOST:PORT, [ADDRESS]:PORT.  At most some seconds. */
reach reach_try(const std::string &where);

/** Sends back what comes, for so long.  Throws wrong_word. */
int reach_answer(int port, int seconds);

} // namespace info

#endif
