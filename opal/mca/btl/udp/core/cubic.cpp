/*
 * CUBIC (RFC 9438), and a form of it that tolerates random loss.
 *
 * Slow start ends at the first loss that counts, or when round trips show for some
 * rounds that a queue is growing; meanwhile, from the first trips of a round on, it is
 * slower, and if they become short again it was no queue (HyStart++, RFC 9406).  Both look at
 * the first trips of a round, which lag a round behind a queue that doubles in one: so while the
 * latest trips are long, the window does not pass one and a half times what the path delivers in
 * a shortest trip.  The tolerant form lets a loss count only
 * when it comes with signs of a queue: round trips longer than the shortest by an
 * eighth (and 200 us: the noise of two schedulers), or more than a seventh of all
 * datagrams lost.  Where loss is random, CUBIC would reduce its window in spite
 * of a free path; where a queue overflows, both behave the same, and share with
 * TCP alike.  A queue too short to show is the price: 15% of loss bounds it.
 * Nor does it fall below what the path delivered in a shortest round trip (as
 * Westwood: Mascolo et al., MobiCom 2001): with the queue full to one product of
 * rate and trip that is half the window, so it matters only where the signs were
 * those of something else, such as a busy host.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "congestion.hpp"

#include <algorithm>
#include <cmath>

namespace udp {
namespace {

class cubic : public congestion {
public:
    cubic(uint32_t mtu, bool tolerant) : mtu_(mtu), tolerant_(tolerant), window_(static_cast<double>(window_initial(mtu))) {}

    void acked(const ack_event &e) override
    {
        counted_acked_ += static_cast<double>(e.bytes);
        look_at_round(e);
        double &best = rates_[rounds_ % rounds_kept];
        best = std::max(best, static_cast<double>(e.rate));
        if (!e.full || e.sent <= reduced_at_)
            return;     // what was not needed is no proof that more would fit
        const double bytes = static_cast<double>(e.bytes);
        if (window_ < threshold_) {
            const double step = slow_rounds_ || (samples_ >= samples_least && grown(round_min_, e.trip)) ? bytes / slow_divisor : bytes;
            const double most = queued(e.trip) ? products(rate(), slow_most, e.trip) : threshold_;
            window_ = std::max(window_, std::min(window_ + step, most));
            return;
        }
        if (epoch_ == 0)
            begin_epoch(e.now);
        const double t = static_cast<double>(e.now - epoch_ + e.trip.smoothed()) / second;
        const double target = mtu_ * (c * std::pow(t - k_, 3)) + most_;
        friendly_ += friendly_step * mtu_ * bytes / window_;
        const double goal = std::min(std::max(target, friendly_), 1.5 * window_);
        if (goal > window_)
            window_ += (goal - window_) * bytes / window_;
        else
            window_ += 0.01 * mtu_ * bytes / window_;
    }

    void lost(const loss_event &e) override
    {
        counted_lost_ += static_cast<double>(e.bytes);
        if (e.silence) {
            // One timeout is a lost tail; several in a row a path that has gone.
            if (++silences_ >= 2 && e.now > reduced_at_ + e.trip.smoothed()) {
                if (silences_ == 2) {       // taken back if the peer was only busy
                    undo_window_ = window_;
                    undo_threshold_ = threshold_;
                }
                reduce(e.now, 0.5);
                window_ = std::max(window_ / 2, floor());
            }
            return;
        }
        silences_ = 0;
        if (e.newest <= reduced_at_ || (tolerant_ && looks_random(e)))
            return;     // one reduction a round trip
        undo_window_ = window_;
        undo_threshold_ = threshold_;
        reduce(e.now, beta);
        if (tolerant_)
            window_ = threshold_ = std::max(window_, std::min(delivered(e.trip), undo_window_));
    }

    void spurious() override
    {
        if (undo_window_ > window_) {
            window_ = undo_window_;
            threshold_ = undo_threshold_;
        }
        undo_window_ = 0;
    }

    uint64_t window() const override { return static_cast<uint64_t>(window_); }
    uint64_t enough(const rtt &trip) const override
    {
        if (path_at_ == never || now_ - path_at_ > rtt::memory)
            return ~uint64_t(0);
        return static_cast<uint64_t>(std::max(products(std::max(path_rate_, rate()), busy, trip), floor()));
    }
    uint64_t pace(const rtt &trip) const override
    {
        const double gain = window_ < threshold_ ? 2.0 : 1.2;
        return static_cast<uint64_t>(gain * window_ * second / static_cast<double>(std::max<time_ns>(trip.smoothed(), 1))) + 1;
    }

private:
    static constexpr double c = 0.4, beta = 0.7;                        // RFC 9438
    static constexpr double friendly_step = 3 * (1 - beta) / (1 + beta);
    static constexpr double loss_bound = 0.15;
    static constexpr time_ns noise = 200 * us;

    double floor() const { return 2 * mtu_; }
    /** Bytes/s, at the best of the last rounds. */
    double rate() const { return *std::max_element(rates_, rates_ + rounds_kept); }
    /** Bytes that the path took in a shortest round trip. */
    double delivered(const rtt &trip) const { return rate() * static_cast<double>(trip.smallest()) / second; }

    /** Products of a rate and the shortest trip, and what leaves while a process is late. */
    static double products(double rate, double n, const rtt &trip) { return rate * (n * static_cast<double>(trip.smallest()) + late) / second; }
    /** Whether all of the latest trips waited in a queue: some samples, or those of a part of a trip where a busy host sends few Acks. */
    bool queued(const rtt &trip) const { return latest_before_ && grown(std::min(latest_before_, latest_min_), trip); }

    bool looks_random(const loss_event &e) const
    {
        if (counted_lost_ > loss_bound * (counted_acked_ + counted_lost_) && counted_lost_ > 20 * mtu_)
            return false;
        return round_min_ != never && round_min_ - e.trip.smallest() < e.trip.smallest() / 8 + noise
               && last_round_min_ - e.trip.smallest() < e.trip.smallest() / 8 + noise;
    }

    void look_at_round(const ack_event &e)
    {
        silences_ = 0;
        if (e.prior_delivered >= round_end_) {
            round_end_ = e.delivered;
            last_round_min_ = round_min_ == never ? e.trip.latest() : round_min_;
            end_slow_round(e.trip);
            round_min_ = never;
            rates_[++rounds_ % rounds_kept] = 0;
            full_rounds_ = full_round_ ? full_rounds_ + 1 : 0;
            full_round_ = false;
            samples_ = 0;
            counted_acked_ *= 0.75;     // about the last four rounds
            counted_lost_ *= 0.75;
        }
        round_min_ = std::min(round_min_, e.trip.latest());
        full_round_ |= !e.app_limited;
        ++samples_;
        now_ = e.now;
        latest_min_ = std::min(latest_min_, e.trip.latest());
        if (++latest_ >= samples_least / 2 || e.now - latest_at_ > std::max(e.trip.smallest() / latest_part, static_cast<time_ns>(late))) {
            latest_before_ = latest_min_;
            latest_min_ = never;
            latest_ = 0;
            latest_at_ = e.now;
        }
        // A rate that was limited by what there was to send, or still doubles, is not the path's; but what it was is remembered:
        // the next transfer need not fill the queue to find it again.
        if (full_rounds_ >= busy_rounds && (window_ >= threshold_ || queued(e.trip))) {
            path_rate_ = rate();
            path_at_ = e.now;
        }
    }

    /** Whether the shortest of some trips is so long that a queue may be growing. */
    static bool grown(time_ns shortest, const rtt &trip) { return shortest > trip.smallest() + std::max(trip.smallest() / 8, noise); }
    /** Out of slow start when the shortest trips of several rounds have grown. */
    void end_slow_round(const rtt &trip)
    {
        if (window_ >= threshold_ || samples_ < samples_least)
            return;
        if (!grown(last_round_min_, trip))
            slow_rounds_ = 0;
        else if (++slow_rounds_ > slow_rounds_most)
            threshold_ = window_;
    }

    void begin_epoch(time_ns now)
    {
        epoch_ = now;
        if (window_ < most_) {
            k_ = std::cbrt((most_ - window_) / mtu_ / c);
        } else {
            k_ = 0;
            most_ = window_;
        }
        friendly_ = window_;
    }

    void reduce(time_ns now, double to)
    {
        most_ = window_ < most_ ? window_ * (1 + beta) / 2 : window_;   // fast convergence
        window_ = std::max(window_ * to, floor());
        threshold_ = window_;
        reduced_at_ = now;
        epoch_ = 0;
    }

    static constexpr unsigned rounds_kept = 8;
    static constexpr unsigned slow_rounds_most = 5, slow_divisor = 4, samples_least = 8;    // RFC 9406
    static constexpr int latest_part = 8;

    static constexpr double slow_most = 1.5, busy = 1.25;   // products: half a queue of one, and what a pause of an eighth of a trip needs
    static constexpr double late = 2 * ms;                  // the pacer's burst
    static constexpr unsigned busy_rounds = 2;              // after which the rate is that of the path

    double mtu_;
    bool tolerant_;
    double window_, threshold_ = 1e18, most_ = 0, friendly_ = 0, k_ = 0;
    double undo_window_ = 0, undo_threshold_ = 0;
    time_ns epoch_ = 0, reduced_at_ = -1;
    uint64_t round_end_ = 0;
    time_ns round_min_ = never, last_round_min_ = 0;
    time_ns latest_min_ = never, latest_before_ = 0, latest_at_ = 0;
    unsigned latest_ = 0, samples_ = 0, silences_ = 0, rounds_ = 0, slow_rounds_ = 0, full_rounds_ = 0;
    bool full_round_ = false;
    double path_rate_ = 0;              // bytes/s
    time_ns path_at_ = never, now_ = 0; // when that was the path's
    double rates_[rounds_kept] = {};    // bytes/s
    double counted_acked_ = 0, counted_lost_ = 0;
};

} // namespace

std::unique_ptr<congestion> make_cubic(uint32_t mtu, bool tolerant) { return std::make_unique<cubic>(mtu, tolerant); }

} // namespace udp
