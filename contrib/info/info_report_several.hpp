/*
 * Several reports: which are of one job, two side by side, more in a list.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef INFO_REPORT_SEVERAL_HPP
#define INFO_REPORT_SEVERAL_HPP

#include "info_report.hpp"

namespace info {

/** Whether both are of ranks of one job: of reports of before, which name none, what all its ranks share is compared. */
bool of_one_job(const json &a, const json &b);
/** Which reports are of which job, and what its ranks say; for more of them than can stand side by side. */
void jobs_print(const std::vector<json> &all, const std::vector<std::string> &files);
/** Two side by side; files: their names. */
void compare_print(const json &a, const json &b, const std::vector<std::string> &files);

} // namespace info

#endif
