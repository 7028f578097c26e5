/*
 * `wan-info contention`: what a placement on a fat tree leaves to exchanges of all with all, and in
 * which order that puts their algorithms.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef INFO_CONTENTION_HPP
#define INFO_CONTENTION_HPP

#include <string>

namespace info {

struct contention_words {
    std::string topology, hosts, size = "64K", rate = "100Gb/s", latency = "2us";
    int per_host = 1;
    bool json = false;
};

/** 0.  Throws wrong_word. */
int contention_run(const contention_words &words);

} // namespace info

#endif
