/*
 * Times as people are told them.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_MS_TEXT_HPP
#define WAN_MS_TEXT_HPP

#include <cstdint>
#include <cstdio>
#include <string>

namespace wan {

/** "10.25 ms"; less than a tenth of one, such as calls inside a host take, with two more digits: "0.0069 ms".
    width: of the number, filled up with blanks. */
inline std::string ms_text(int64_t ns, int width = 0)
{
    char text[48];
    std::snprintf(text, sizeof text, ns > -100'000 && ns < 100'000 && ns != 0 ? "%*.4f ms" : "%*.2f ms", width, static_cast<double>(ns) / 1e6);
    return text;
}

} // namespace wan

#endif
