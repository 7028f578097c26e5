/*
 * `wan-info links`: what jobs have measured of the links between sites and kept
 * (coll_wan_links_file), one file, or two side by side.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef INFO_LINKS_HPP
#define INFO_LINKS_HPP

#include <string>
#include <vector>

namespace info {

/** Files: one or two.  0; 1 where two differ by more than noise, or know nothing of the same sites. */
int links_run(const std::vector<std::string> &files, bool as_json);

} // namespace info

#endif
