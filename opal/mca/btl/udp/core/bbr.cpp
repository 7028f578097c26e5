/*
 * A controller after BBR's first version (Cardwell et al., ACM Queue 2016): it
 * models the path by the largest delivery rate of the last ten rounds and the
 * shortest round trip of the last ten seconds, and keeps about their product under
 * way.  Loss does not enter the model; only silence makes it cautious.
 *
 *   startup --no growth for 3 rounds--> drain --queue gone--> probing bandwidth
 *   any --no new shortest trip for 10 s--> probing the round trip (200 ms) --> back
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "congestion.hpp"

namespace udp {
namespace {

class bbr : public congestion {
public:
    explicit bbr(uint32_t mtu) : mtu_(mtu), window_(window_initial(mtu)) {}

    void acked(const ack_event &e) override
    {
        silences_ = 0;
        const bool round = e.prior_delivered >= round_end_;
        if (round) {
            round_end_ = e.delivered;
            ++rounds_;
            rates_[rounds_ % rounds_kept] = 0;
        }
        if (e.rate > 0 && (!e.app_limited || e.rate > rate()))
            rates_[rounds_ % rounds_kept] = std::max(rates_[rounds_ % rounds_kept], e.rate);
        const uint64_t after = e.under_way > e.bytes ? e.under_way - e.bytes : 0;
        if (shortest_ == 0 || e.trip.latest() <= shortest_) {
            shortest_ = e.trip.latest();
            shortest_at_ = e.now;
        }
        if (state_ == state::startup && round && !e.app_limited)
            look_for_plateau();
        if (state_ == state::drain && after <= product(1.0))
            enter_bandwidth(e.now);
        if (state_ == state::bandwidth)
            cycle(e, after);
        look_at_trip(e, after);
        set_window(e.bytes);
    }

    void lost(const loss_event &e) override
    {
        if (e.silence && ++silences_ >= 2)
            window_ = 4 * mtu_;     // grows again with the Acks
    }

    uint64_t window() const override { return window_; }
    uint64_t pace(const rtt &trip) const override
    {
        const uint64_t r = rate();
        if (r == 0)
            return static_cast<uint64_t>(high * static_cast<double>(window_) * second / static_cast<double>(trip.smoothed())) + 1;
        uint64_t pace = std::max<uint64_t>(static_cast<uint64_t>(gain() * static_cast<double>(r)), mtu_);
        // Rates of a few small messages say nothing of the path: until it is full, never slower than at first.
        if (!full_)
            pace = std::max(pace, static_cast<uint64_t>(high * static_cast<double>(window_initial(static_cast<uint32_t>(mtu_))) * second
                                                        / static_cast<double>(trip.smoothed())));
        return pace;
    }

private:
    enum class state { startup, drain, bandwidth, trip };
    static constexpr double high = 2.885;       // 2/ln 2: doubles the rate each round
    static constexpr unsigned rounds_kept = 10;
    static constexpr double phases[8] = {1.25, 0.75, 1, 1, 1, 1, 1, 1};

    uint64_t rate() const
    {
        uint64_t r = 0;
        for (uint64_t x : rates_)
            r = std::max(r, x);
        return r;
    }
    uint64_t product(double g) const
    {
        return static_cast<uint64_t>(g * static_cast<double>(rate()) * static_cast<double>(shortest_) / second);
    }
    double gain() const
    {
        switch (state_) {
        case state::startup: return high;
        case state::drain: return 1 / high;
        case state::bandwidth: return phases[phase_];
        case state::trip: return 1;
        }
        return 1;
    }

    void look_for_plateau()
    {
        const uint64_t r = rate();
        if (r >= plateau_ + plateau_ / 4) {
            plateau_ = r;
            flat_ = 0;
        } else if (++flat_ >= 3) {
            state_ = state::drain;
            full_ = true;
        }
    }
    void enter_bandwidth(time_ns now)
    {
        state_ = state::bandwidth;
        phase_ = 2 + rounds_ % 6;       // not all flows probe at once
        phase_at_ = now;
    }
    void cycle(const ack_event &e, uint64_t after)
    {
        const bool over = e.now - phase_at_ > shortest_;
        const bool drained = phases[phase_] < 1 && after <= product(1.0);
        const bool probed = phases[phase_] <= 1 || after >= product(phases[phase_]) || e.now - phase_at_ > 2 * shortest_;
        if ((over && probed) || drained) {
            phase_ = (phase_ + 1) % 8;
            phase_at_ = e.now;
        }
    }
    void look_at_trip(const ack_event &e, uint64_t after)
    {
        if (state_ != state::trip && e.now - shortest_at_ > rtt::memory) {
            state_ = state::trip;
            trip_until_ = 0;
        }
        if (state_ != state::trip)
            return;
        if (trip_until_ == 0) {
            if (after > 4 * mtu_)
                return;
            trip_until_ = e.now + 200 * ms;
            shortest_ = e.trip.latest();
        } else if (e.now > trip_until_) {
            shortest_at_ = e.now;
            if (full_)
                enter_bandwidth(e.now);
            else
                state_ = state::startup;
        }
    }
    void set_window(uint64_t bytes)
    {
        if (state_ == state::trip) {
            window_ = 4 * mtu_;
            return;
        }
        // Acks come in groups: their worth on top, so that sending does not stop between them.
        const uint64_t target = std::max(product(state_ == state::bandwidth ? 2.0 : high) + 3 * bytes, 4 * mtu_);
        if (full_)
            window_ = std::min(window_ + bytes, target);
        else if (window_ < target || rate() == 0)
            window_ += bytes;
        window_ = std::max(window_, 4 * mtu_);
    }

    uint64_t mtu_, window_;
    state state_ = state::startup;
    uint64_t rates_[rounds_kept] = {};
    uint64_t round_end_ = 0, plateau_ = 0;
    unsigned rounds_ = 0, flat_ = 0, phase_ = 0, silences_ = 0;
    bool full_ = false;
    time_ns shortest_ = 0, shortest_at_ = 0, phase_at_ = 0, trip_until_ = 0;
};

} // namespace

std::unique_ptr<congestion> make_bbr(uint32_t mtu) { return std::make_unique<bbr>(mtu); }

} // namespace udp
