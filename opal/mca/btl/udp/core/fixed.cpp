/*
 * A rate that somebody has reserved: never slower, never faster.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "congestion.hpp"

namespace udp {
namespace {

class fixed : public congestion {
public:
    fixed(uint32_t mtu, uint64_t rate) : mtu_(mtu), rate_(std::max<uint64_t>(rate, mtu)) {}
    void acked(const ack_event &e) override { trip_ = e.trip.smoothed(); }
    void lost(const loss_event &) override {}
    // Twice what fits into a round trip: the rate alone decides, but a dead path does not fill up.
    uint64_t window() const override
    {
        return static_cast<uint64_t>(2.0 * static_cast<double>(rate_) * static_cast<double>(trip_) / second) + window_initial(mtu_);
    }
    uint64_t pace(const rtt &) const override { return rate_; }

private:
    uint64_t mtu_, rate_;
    time_ns trip_ = rtt::unknown;
};

} // namespace

std::unique_ptr<congestion> make_fixed(uint32_t mtu, uint64_t rate) { return std::make_unique<fixed>(mtu, rate); }

} // namespace udp
