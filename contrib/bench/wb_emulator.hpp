// What the lab's emulator says about itself, asked by rank 0 between batches.
//
// A round during which the emulated network was late did not see the network
// that the table's heading describes.  Outside a lab nobody is asked.
// Next: wb_point.hpp (what happens to such a round).
//
// SPDX-License-Identifier: BSD-3-Clause
#ifndef WB_EMULATOR_HPP
#define WB_EMULATOR_HPP

#include <optional>
#include <string>

#include "wb_clock.hpp"

namespace wb {

class emulator {
public:
    // The one of the lab that this process runs in, if there is one.
    emulator();

    bool there() const { return !socket_path_.empty(); }

    // How late it was in an interval of this kernel's CLOCK_MONOTONIC: all spells
    // of more than 1 ms together.  Nothing if it does not say.
    std::optional<ns_t> late_ns(ns_t from, ns_t to) const;

private:
    std::string socket_path_;
};

// The largest lateness that leaves a round of this duration credible: 1 ms,
// or a hundredth of the round.
constexpr ns_t lateness_allowed(ns_t duration) {
    return duration / 100 > millisecond_ns ? duration / 100 : millisecond_ns;
}

}  // namespace wb
#endif
