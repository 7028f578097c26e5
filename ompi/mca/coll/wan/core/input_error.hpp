/*
 * What users need to mend their input, on its way to the C boundary.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_INPUT_ERROR_HPP
#define WAN_INPUT_ERROR_HPP

#include "wan_core.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace wan {

struct input_error {
    std::string where;      // "FILE:LINE", "FILE" or a parameter's name
    std::string what;
    std::string remedy;
};

inline void message_fill(wan_message_t &message, const input_error &error)
{
    const auto fill = [](char (&to)[512], const std::string &from) {
        const size_t n = std::min(from.size(), sizeof to - 1);
        std::memcpy(to, from.data(), n);
        to[n] = '\0';
    };
    fill(message.where, error.where);
    fill(message.what, error.what);
    fill(message.remedy, error.remedy);
}

} // namespace wan

#endif
