/*
 * A plan as a picture: sites, their hosts, who sends to whom.  SVG that needs nothing else.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef INFO_DRAW_HPP
#define INFO_DRAW_HPP

#include "info_cluster.hpp"
#include "report/traffic.hpp"

namespace info {

/** Hosts beyond which a picture says nothing. */
inline constexpr int most_drawn_hosts = 512;

/** Throws wrong_word for too many hosts. */
std::string draw(const cluster &c, const wan::plan &p, const wan::traffic &t, const std::string &title);

} // namespace info

#endif
