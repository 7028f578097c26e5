/*
 * Pictures of a report for its page (info_report_page.cpp): map, time line, who sends to whom, trees.
 * SVG in HTML; texts of the report are escaped.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef INFO_REPORT_PICTURES_HPP
#define INFO_REPORT_PICTURES_HPP

#include "info_report.hpp"

#include <string>
#include <vector>

namespace info {

/** "2 hosts, 4 ranks". */
std::string people_text(const json &site);

struct mark {
    int64_t at_ns;
    std::string what;
};
/** What happened, and communicators that were not served, in the order of time. */
std::vector<mark> marks_of(const json &report);

/** Sites of the largest communicator on a ring, links as they were known last. */
std::string map_svg(const json &report);
/** A bar for each communicator's life, a stroke for each thing that happened. */
std::string timeline_svg(const json &report);
/** Trees in use: of the calls that took most time, those that have a picture; the first one is open. */
std::string ways_section(const json &communicator);
/** Adaptive trees as they were at the end; same: this communicator in reports of other ranks. */
std::string trees_section(const json &communicator, const std::vector<const json *> &same);

} // namespace info

#endif
