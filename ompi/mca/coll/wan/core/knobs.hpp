/*
 * Values of the knobs that are numbers (wan_core.h: wan_knob).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_KNOBS_HPP
#define WAN_KNOBS_HPP

#include "wan_core.h"

namespace wan {

/** Enumerators by their number; 0 for a string. */
int64_t knob_value(const wan_knob_t &knob, const wan_params_t &params);

} // namespace wan

#endif
