// SPDX-License-Identifier: BSD-3-Clause
// One direction of a rate-limited link: a drop-tail byte queue in virtual time.
//
// The queue is not a container but the instant at which the link will have
// sent everything it accepted; its length follows from that instant and the
// rate. Time is an argument, there is no I/O. Next: path.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "packet.h"

namespace wan::lab {

struct LinkSettings {
    double rate_mbit = 0;            ///< 0: no limit
    std::int64_t queue_bytes = 0;    ///< bytes that may wait behind the link
};

class Link {
public:
    LinkSettings settings;

    /// A whole packet is here at `now`; returns when its last byte has left
    /// (store and forward), or nothing when the queue is full.
    std::optional<time_ns> send(time_ns now, std::uint32_t bytes)
    {
        return accept(std::max(now, free_ns_), now, bytes);
    }

    /// The last byte of a packet arrives at `now` from a link that had already
    /// spread it in time, so an idle link adds nothing (cut through).
    std::optional<time_ns> pass(time_ns now, std::uint32_t bytes)
    {
        return accept(std::max(now - wire_ns(bytes), free_ns_), now, bytes);
    }

    std::int64_t backlog_bytes(time_ns now) const
    {
        if (settings.rate_mbit <= 0 || free_ns_ <= now) {
            return 0;
        }
        return static_cast<std::int64_t>(static_cast<double>(free_ns_ - now) *
                                         settings.rate_mbit / 8000.0);
    }

private:
    time_ns wire_ns(std::uint32_t bytes) const
    {
        return settings.rate_mbit > 0
                   ? static_cast<time_ns>(static_cast<double>(bytes) * 8000.0 / settings.rate_mbit)
                   : 0;
    }

    std::optional<time_ns> accept(time_ns start, time_ns now, std::uint32_t bytes)
    {
        if (settings.rate_mbit <= 0) {
            return now;
        }
        // A packet always fits into an idle link, however short its queue.
        if (free_ns_ > now && backlog_bytes(now) + bytes > settings.queue_bytes) {
            return std::nullopt;
        }
        free_ns_ = start + wire_ns(bytes);
        return std::max(now, free_ns_);
    }

    time_ns free_ns_ = 0;   ///< when everything accepted so far has left
};

}  // namespace wan::lab
