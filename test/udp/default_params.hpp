/*
 * For tests of whole engines: every parameter at its default, and a user who takes notice of nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TEST_UDP_DEFAULT_PARAMS_HPP
#define TEST_UDP_DEFAULT_PARAMS_HPP

#include "udp_core.h"

#include <cstddef>
#include <cstdint>

inline udp_params_t default_params()
{
    static char empty[] = "";
    udp_params_t p = {};
    for (size_t i = 0; i < udp_knob_count(); ++i) {
        const udp_knob_t *k = udp_knob_get(i);
        char *at = reinterpret_cast<char *>(&p) + k->offset;
        if (k->type == UDP_KNOB_STRING)
            *reinterpret_cast<char **>(at) = empty;
        else if (k->type == UDP_KNOB_INT64)
            *reinterpret_cast<int64_t *>(at) = k->initial;
        else
            *reinterpret_cast<int *>(at) = static_cast<int>(k->initial);
    }
    return p;
}

inline constexpr udp_events_t no_events = {[](void *, uint32_t, uint8_t, const void *, size_t) {}, [](void *, uint32_t, udp_outgoing_t *, bool) {},
                                           [](void *, uint32_t) {}, [](void *, uint32_t) {}, [](void *, uint32_t) {}};

#endif
