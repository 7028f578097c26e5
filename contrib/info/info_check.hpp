/*
 * `wan-info sites` and `wan-info check`: what maps say, and what is wrong in them.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef INFO_CHECK_HPP
#define INFO_CHECK_HPP

#include "info_cluster.hpp"

namespace info {

/** Of a job's hosts, or of this one where none are given.  0; 1 where coll/wan would stay out because a host has no site. */
int sites_run(const cluster_words &words, bool each, bool as_json);

/** maps; rules: files for coll_wan_rules or coll_wan_tune_file.  0: all good; 1: a mistake in some file.  Warnings leave it at 0, unless they count. */
int check_run(const std::vector<std::string> &maps, const std::vector<std::string> &rules, bool warnings_count);

/** The site of this host from the parameters: a line, or what is wrong; whether all is well. */
bool own_site_print(const parameters &params);

} // namespace info

#endif
