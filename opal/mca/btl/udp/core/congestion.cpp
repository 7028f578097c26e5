/* SPDX-License-Identifier: BSD-3-Clause */
#include "congestion.hpp"

namespace udp {

std::unique_ptr<congestion> make_congestion(const config &c, uint32_t mtu)
{
    switch (c.control) {
    case controller::tolerant: return make_cubic(mtu, true);
    case controller::cubic: return make_cubic(mtu, false);
    case controller::bbr: return make_bbr(mtu);
    case controller::fixed: return make_fixed(mtu, c.rate);
    }
    return make_cubic(mtu, true);
}

} // namespace udp
