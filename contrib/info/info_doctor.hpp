/*
 * `wan-info doctor`: is coll/wan installed so that jobs use it, and will the kernel let it?
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef INFO_DOCTOR_HPP
#define INFO_DOCTOR_HPP

#include <string>

namespace info {

struct doctor_words {
    std::string rate = "1Gb/s", latency = "10ms";      // for which windows are judged
    bool no_jobs = false;                               // do not start a process by mpirun
    std::string udp;                                    // HOST:PORT of one who answers; "": not tried
    int answer = 0, answer_seconds = 120;               // a port: answer another host's, and nothing else
};

/** 0: nothing bad; 1: what is bad is told, with what to do. */
int doctor_run(const doctor_words &words);

} // namespace info

#endif
