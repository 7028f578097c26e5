/*
 * The manual page and the shell's completion, written from the command line's own definition, so
 * that they cannot tell of other options than there are.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef INFO_PAGES_HPP
#define INFO_PAGES_HPP

#include <string>

namespace CLI {
class App;
}

namespace info {

/** roff, for man. */
std::string manual_page(const CLI::App &app);

/** coll_wan(7): parameters, algorithms, variables, messages, from the core's own tables. */
std::string plugin_page();

/** For bash. */
std::string completion(const CLI::App &app);

} // namespace info

#endif
