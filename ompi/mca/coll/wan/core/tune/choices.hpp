/*
 * What was learned by trial on this process's communicators, by their shape: sites, hosts and ranks in their order
 * (topology::digest()).  The next communicator of that shape, a copy or a part of another one, begins with it where all its
 * ranks hold the same, and what is kept for later jobs is of all of them.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TUNE_CHOICES_HPP
#define WAN_TUNE_CHOICES_HPP

#include "tune/rules.hpp"

#include <map>
#include <mutex>

namespace wan {

/** Any thread. */
class choices {
public:
    /** The newest counts, for each kind of call.  sites: a name for the sites of t, as of all that share their links. */
    void keep(const topology &t, const std::string &sites, const std::vector<rule> &learned);
    std::vector<rule> of(const topology &t) const;
    /** Of all shapes, one for the same calls. */
    std::vector<rule> all() const;
    /** Their links have changed. */
    void forget(const std::string &sites);

private:
    struct known {
        std::string sites;
        std::vector<rule> learned;      // by print(): all ranks that hold the same have it in the same order
    };
    mutable std::mutex lock_;
    std::map<uint64_t, known> by_shape_;
};

/** Those of this process. */
choices &chosen();

} // namespace wan

#endif
