/*
 * Reports of jobs (coll_wan_report; ompi/mca/coll/wan/core/report/): a summary on the terminal, two
 * side by side, a page (info_report_page.cpp).  What a report says is taken as it is: nothing is
 * planned or measured here.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef INFO_REPORT_HPP
#define INFO_REPORT_HPP

#include "info_words.hpp"

#include <nlohmann/json.hpp>

namespace info {

using json = nlohmann::ordered_json;

struct report_words {
    std::vector<std::string> files;     // one; two, side by side; more: which is of which job; for a page, those of other ranks behind it
    std::string html;                   // file to write, "-": standard output
};

int report_run(const report_words &w);

/** Throws wrong_word for what is no report that this program knows. */
json report_read(const std::string &file);
/** The page of a report; what adaptive trees are like is told by those of the job's other ranks, too. */
std::string report_page(const json &report, const std::vector<json> &others = {});

// Words of both.
/** "1.5 MB". */
std::string amount_text(uint64_t bytes);
/** Bytes that this rank alone sent to other sites, whatever carried them. */
uint64_t sent_across(const json &report);
/** What all ranks sent to other sites, "7.00 MB, the least possible 6.00 MB (of 3 calls of which that is known)"; "": of none. */
std::string crossed_by_all(const json &report);
/** "1 KB to 2 KB", "no bytes". */
std::string class_text(const json &calls);
/** "1 host", "3 hosts". */
std::string count_text(const json &n, const char *what);
/** The communicators: those first whose calls took most time. */
std::vector<const json *> by_time(const json &report);
/** "tree", "rabenseifner (n 16, 64 KB)", with how many calls where there are several: each way once. */
std::vector<std::string> ways_of(const json &calls);
/** "rank 0 of 32", "rank 0 of 2, spawned job 1". */
std::string process_text(const json &report);
/** "job [47613,1] (Slurm 4711): ./program 7"; "": not known. */
std::string job_text(const json &report);
/** "MPI_COMM_WORLD (0)". */
std::string communicator_text(const json &communicator);
/** Median over the least possible time; null where that is not known: of calls in which nobody waits for all, or by links that were only assumed. */
json nearness_of(const json &report, const json &communicator, const json &calls);
/** "allreduce, 64 B to 128 B", of something that was tried. */
std::string trial_text(const json &trial);
/** Its time, "-" for null. */
std::string time_or_dash(const json &ns);
/** What is worth knowing first, a sentence each. */
std::vector<std::string> in_short(const json &report);
/** What was left out for want of memory or time, a sentence each. */
std::vector<std::string> left_out_of(const json &report);

} // namespace info

#endif
