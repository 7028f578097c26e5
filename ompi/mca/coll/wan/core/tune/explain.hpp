/*
 * What coll_wan_explain tells: a paragraph for each class of calls that there was, whoever chose how they are served.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TUNE_EXPLAIN_HPP
#define WAN_TUNE_EXPLAIN_HPP

#include "tune/candidates.hpp"

namespace wan {

/** Calls of a class on a communicator. */
struct calls_told {
    call_class what{};
    bool sizes_local = false;           // not all ranks know them
    bool pairs_alike = false;           // there are too many sites to tell the ways between them apart
    uint64_t blocking = 0, others = 0;  // calls
    std::string how{};                  // the last one was served
    int64_t how_predicted_ns = 0;       // 0: not known
    std::string why{};                  // "": it is predicted to be the fastest
    std::string instead{};              // why it is served so though another way is predicted to be faster; ""
    std::string unused{};               // what was learned of it elsewhere, and why it does not count; ""
    std::vector<plan> ways{};           // that serve such a call, fastest first
    std::optional<int64_t> own_ns{};    // Open MPI's own module, as predicted, where it may serve
    const tuner::state *tried = nullptr;    // nullptr: no blocking call has come to the tuner
};

/** left_out: calls of further classes. */
std::string explain(const std::vector<calls_told> &all, const tune_options &o, uint64_t left_out);

} // namespace wan

#endif
