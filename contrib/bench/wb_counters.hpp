// coll/wan's own counters, read through MPI_T: how many calls it served and
// what it put on the WAN.  Absent when the plugin is not loaded; the names are
// looked up, so the bench runs with any Open MPI.
//
// SPDX-License-Identifier: BSD-3-Clause
#ifndef WB_COUNTERS_HPP
#define WB_COUNTERS_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wb {

class counters {
public:
    counters();                     // after MPI_Init
    ~counters();                    // before MPI_Finalize
    counters(const counters &) = delete;
    counters &operator=(const counters &) = delete;

    // Current value of the variable `coll_wan_<name>`; -1 if there is none.
    std::int64_t read(const std::string &name);

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace wb
#endif
