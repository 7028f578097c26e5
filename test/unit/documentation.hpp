/*
 * What the two parts of the test of documents share.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TEST_DOCUMENTATION_HPP
#define WAN_TEST_DOCUMENTATION_HPP

#include "algo/registry.hpp"
#include "unit.hpp"
#include "wan_core.h"

#include <string>

namespace wan_test {

inline std::string collective_name(wan_collective_t c) { return wan::kind_of(c).name; }

inline std::string counter_name(size_t i)
{
    wan_counter_t counter;
    wan_counter_get(i, &counter);
    return counter.name;
}

inline bool is_knob(const std::string &name)
{
    for (size_t i = 0; i < wan_knob_count(); ++i)
        if (name == wan_knob_get(i)->name)
            return true;
    return false;
}

/** documents.cpp */
std::string check_names();
std::string check_report_members();
std::string check_commands();
std::string check_mttl_messages();

} // namespace wan_test

#endif
