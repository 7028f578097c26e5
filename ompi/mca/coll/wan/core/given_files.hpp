/*
 * What the files tell that parameters name - rules, what was learned, links -
 * each read once: as they are when a job begins they count on all its communicators, whatever becomes of them meanwhile.
 * (Ranks that read them at different times would not be served together.)
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_GIVEN_FILES_HPP
#define WAN_GIVEN_FILES_HPP

#include "measure/links_file.hpp"
#include "topo/cluster_map.hpp"
#include "tune/rules.hpp"

#include <map>
#include <mutex>

namespace wan {

/** Any thread.  "" names no file; one that is missing, or has faults, tells nothing. */
class given_files {
public:
    /**
     * A job begins: what was read before is read anew.  False where one is not good, with what is wrong; that is also
     * told of lines that are left out.
     */
    bool begin(const wan_params_t &p, input_error &error);

    /** For communicators like this one. */
    std::vector<rule> rules_of(const std::string &file, bool learned, const topology &t);
    std::optional<known_links> links_of(const std::string &file, const std::vector<std::string> &sites);
    /** Of a map. */
    link_hints hints_of(const std::string &map);
    /** Where a file is that one of these parameters names, wherever the program has gone since the job began. */
    std::string path_of(const std::string &file);

private:
    std::mutex lock_;
    std::string began_in_;      // a directory; "": not known
    std::map<std::string, rules> rules_, learned_;      // all by file
    std::map<std::string, links_file> links_;
    std::map<std::string, link_hints> hints_;
};

/** Those of this process. */
given_files &files();

} // namespace wan

#endif
