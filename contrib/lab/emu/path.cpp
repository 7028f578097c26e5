// SPDX-License-Identifier: BSD-3-Clause
// See path.h.
#include "path.h"

namespace wan::lab {

namespace {

/// From 0 to less than 1.
double draw(std::mt19937_64& random)
{
    return static_cast<double>(random() >> 11) * 0x1.0p-53;
}

}  // namespace

void Path::site_add(Site site)
{
    sites_.push_back(std::move(site));
    pairs_.assign(sites_.size() * sites_.size(), Pair{});
    seed_set(seed_);
}

void Path::seed_set(std::uint64_t seed)
{
    seed_ = seed;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
        std::seed_seq sequence{static_cast<std::uint32_t>(seed),
                               static_cast<std::uint32_t>(seed >> 32),
                               static_cast<std::uint32_t>(i)};
        pairs_[i].random.seed(sequence);
        pairs_[i].random_delay.seed(pairs_[i].random());
        pairs_[i].random.seed(sequence);
    }
}

int Path::site_by_name(const std::string& name) const
{
    for (std::size_t i = 0; i < sites_.size(); ++i) {
        if (sites_[i].name == name) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

int Path::site_by_address(std::uint32_t address) const
{
    for (std::size_t i = 0; i < sites_.size(); ++i) {
        if ((address & sites_[i].mask) == sites_[i].net) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

bool Path::lossy_from(std::size_t site)
{
    for (std::size_t to = 0; to < sites_.size(); ++to) {
        if (pair(site, to).settings.loss > 0) {
            return true;
        }
    }
    return false;
}

bool Path::admit(time_ns now, const Packet& packet)
{
    Pair& way = pair(packet.from, packet.to);
    // Loss is drawn first, so that the same packets of a pair are lost for one
    // seed whatever the queues do.
    if (way.settings.loss > 0 && draw(way.random) < way.settings.loss) {
        way.counters.lost += packet.frames;
        return false;
    }
    auto left = sites_[packet.from].egress.send(now, packet.wire_bytes);
    if (left) {
        left = way.link.pass(*left, packet.wire_bytes);
    }
    if (!left) {
        way.counters.queue_drops += packet.frames;
        return false;
    }
    const double off = way.settings.jitter > 0 ? way.settings.jitter * (2 * draw(way.random_delay) - 1) : 0;
    const auto delay = static_cast<time_ns>(way.settings.delay_ms * (1 + off) * 1e6);
    way.last_due_ns = std::max(way.last_due_ns, *left + delay);
    queue_.push(Event{way.last_due_ns, order_++, true, packet});
    return true;
}

bool Path::take_due(time_ns now, Packet& packet, bool& dropped)
{
    while (!queue_.empty() && queue_.top().when <= now) {
        Event event = queue_.top();
        queue_.pop();
        packet = event.packet;
        Pair& way = pair(packet.from, packet.to);
        if (event.at_ingress) {
            const auto through = sites_[packet.to].ingress.pass(event.when, packet.wire_bytes);
            if (!through) {
                way.counters.queue_drops += packet.frames;
                dropped = true;
                return true;
            }
            if (*through > now) {
                queue_.push(Event{*through, event.order, false, packet});
                continue;
            }
            event.when = *through;
        }
        const time_ns late = now - event.when;
        lateness_.add(now, late);
        way.counters.late_max_ns = std::max(way.counters.late_max_ns, late);
        way.counters.packets += packet.frames;
        way.counters.bytes += packet.wire_bytes;
        dropped = false;
        return true;
    }
    return false;
}

void Path::counters_reset()
{
    lateness_.reset();
    for (Pair& way : pairs_) {
        way.counters = PairCounters{};
    }
}

}  // namespace wan::lab
