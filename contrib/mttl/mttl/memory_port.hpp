/*
 * The thin layer inside one process, for tests: N ports of one `memory_fabric`
 * move real bytes.  In which order the messages of different nodes arrive, and
 * whether data is copied when it is sent or only when it is received, comes
 * from a seed.  It must not be more forgiving than MPI: order holds only per
 * pair of nodes and channel, sizes must agree, what was sent must be received,
 * and a message's memory is overwritten when its receiver has returned.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_MEMORY_PORT_HPP
#define MTTL_MEMORY_PORT_HPP

#include "port.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

namespace [[gnu::visibility("default")]] mttl {

class memory_fabric;

class memory_port final : public port {
public:
    memory_port(memory_fabric &f, int node) : fabric_(f), node_(node) {}

    int node() const override { return node_; }
    int nodes() const override;
    size_t small_bytes() const override;
    void finish() override;
    std::byte *send_buffer() override;
    void send(int to, size_t bytes) override;
    void nsend(int to, int channel, const void *data, size_t bytes, completion *c) override;
    void recv_node(int from, int channel, void *data, size_t bytes, completion *c) override;
    bool cancel(completion *c) override;
    void discard(int from, int channel, completion *c) override;
    void recv_any(port_sink *sink) override { sink_ = sink; }
    bool probe() override;
    bool wait() override { return false; }
    [[noreturn]] void abort(int code) override { throw error("abort with code " + std::to_string(code)); }

private:
    friend class memory_fabric;
    memory_fabric &fabric_;
    int node_;
    port_sink *sink_ = nullptr;
    std::vector<std::byte> buffer_;
    std::vector<completion *> finished_;
};

class memory_fabric {
public:
    memory_fabric(int nodes, uint64_t seed, size_t small = 4032) : small_(small), random_(seed), mail_(static_cast<size_t>(nodes))
    {
        for (int i = 0; i < nodes; ++i) {
            ports_.push_back(std::make_unique<memory_port>(*this, i));
            mail_[static_cast<size_t>(i)].resize(static_cast<size_t>(nodes));
        }
    }

    memory_port &at(int node) { return *ports_[static_cast<size_t>(node)]; }
    std::mt19937_64 &random() { return random_; }
    /** Small messages under way to all nodes together, at most so far. */
    size_t high_water() const { return high_water_; }
    /** The same of data that travels by itself. */
    size_t data_high_water() const { return data_high_water_; }

    /** What is still under way; "" if nothing is. */
    std::string rest() const
    {
        for (size_t to = 0; to < mail_.size(); ++to)
            for (size_t from = 0; from < mail_.size(); ++from)
                if (!mail_[to][from].empty())
                    return "a message from " + std::to_string(from) + " to " + std::to_string(to) + " was not received";
        for (const auto &[k, c] : channels_) {
            const auto &[from, to, channel] = k;
            const std::string where =
                std::to_string(from) + " to " + std::to_string(to) + " on channel " + std::to_string(channel);
            if (!c.sends.empty())
                return "data from " + where + " was not received";
            if (!c.recvs.empty())
                return "data from " + where + " was awaited and not sent";
        }
        return "";
    }

private:
    friend class memory_port;
    struct data_send {
        std::vector<std::byte> copy;    // if it was copied when it was sent
        const void *data;
        size_t bytes;
        completion *c;                  // null: told already
    };
    struct data_recv {
        void *data;
        size_t bytes;
        completion *c;
        bool dropped = false;   // whatever size it has
    };
    struct channel {
        std::deque<data_send> sends;
        std::deque<data_recv> recvs;
    };
    using key = std::tuple<int, int, int>;      // from, to, channel

    bool chance() { return random_() & 1; }

    size_t small_;
    std::mt19937_64 random_;
    std::vector<std::unique_ptr<memory_port>> ports_;
    std::vector<std::vector<std::deque<std::vector<std::byte>>>> mail_;     // [to][from]
    std::map<key, channel> channels_;
    size_t under_way_ = 0, high_water_ = 0, data_under_way_ = 0, data_high_water_ = 0;
};

inline int memory_port::nodes() const { return static_cast<int>(fabric_.ports_.size()); }
inline size_t memory_port::small_bytes() const { return fabric_.small_; }

inline void memory_port::finish()
{
    sink_ = nullptr;
}

inline std::byte *memory_port::send_buffer()
{
    buffer_.resize(fabric_.small_);
    return buffer_.data();
}

inline void memory_port::send(int to, size_t bytes)
{
    if (bytes > fabric_.small_)
        throw error("a small message of " + std::to_string(bytes) + " bytes");
    ++counters_.sends;
    counters_.send_bytes += bytes;
    fabric_.mail_[static_cast<size_t>(to)][static_cast<size_t>(node_)].emplace_back(buffer_.begin(),
                                                                                  buffer_.begin() + static_cast<ptrdiff_t>(bytes));
    fabric_.high_water_ = std::max(fabric_.high_water_, ++fabric_.under_way_);
    buffer_.assign(fabric_.small_, std::byte{0xDD});
}

inline void memory_port::nsend(int to, int channel, const void *data, size_t bytes, completion *c)
{
    ++counters_.nsends;
    counters_.send_bytes += bytes;
    memory_fabric::data_send s{{}, data, bytes, c};
    if (fabric_.chance()) {
        const auto *p = static_cast<const std::byte *>(data);
        s.copy.assign(p, p + bytes);
        s.data = nullptr;
        s.c = nullptr;
        finished_.push_back(c);
    }
    fabric_.channels_[{node_, to, channel}].sends.push_back(std::move(s));
    fabric_.data_high_water_ = std::max(fabric_.data_high_water_, ++fabric_.data_under_way_);
}

inline void memory_port::recv_node(int from, int channel, void *data, size_t bytes, completion *c)
{
    ++counters_.recv_nodes;
    fabric_.channels_[{from, node_, channel}].recvs.push_back({data, bytes, c, false});
}

inline bool memory_port::cancel(completion *c)
{
    for (auto &[k, ch] : fabric_.channels_) {
        if (std::get<1>(k) != node_)
            continue;
        const auto r = std::find_if(ch.recvs.begin(), ch.recvs.end(), [c](const auto &e) { return e.c == c; });
        if (r == ch.recvs.end())
            continue;
        // What has been sent may have been matched, as in MPI.
        if (static_cast<size_t>(r - ch.recvs.begin()) < ch.sends.size() && fabric_.chance())
            return false;
        ch.recvs.erase(r);
        if (ch.sends.empty() && ch.recvs.empty())
            fabric_.channels_.erase(k);
        return true;
    }
    return false;
}

inline void memory_port::discard(int from, int channel, completion *c)
{
    auto &ch = fabric_.channels_[{from, node_, channel}];
    if (ch.sends.size() <= ch.recvs.size())
        throw error("data was to be dropped that has not been sent");
    ch.recvs.push_back({nullptr, 0, c, true});
}

inline bool memory_port::probe()
{
    ++counters_.probes;
    // Data first or last, by chance: MPI promises nothing between the two.
    const bool data_first = fabric_.chance();
    for (int turn = 0; turn < 2; ++turn) {
        if ((turn == 0) == data_first) {
            if (!finished_.empty() && fabric_.chance()) {
                completion *c = finished_.front();
                finished_.erase(finished_.begin());
                c->done();
                return true;
            }
            for (auto &[k, ch] : fabric_.channels_) {
                if (std::get<1>(k) != node_ || ch.sends.empty() || ch.recvs.empty())
                    continue;
                memory_fabric::data_send s = std::move(ch.sends.front());
                const memory_fabric::data_recv r = ch.recvs.front();
                const int from = std::get<0>(k);
                ch.sends.pop_front();
                ch.recvs.pop_front();
                --fabric_.data_under_way_;
                if (ch.sends.empty() && ch.recvs.empty())
                    fabric_.channels_.erase(k);
                if (s.bytes != r.bytes && !r.dropped)
                    throw error("sent " + std::to_string(s.bytes) + " bytes, received " + std::to_string(r.bytes));
                if (s.bytes && !r.dropped)
                    std::memcpy(r.data, s.data ? s.data : s.copy.data(), s.bytes);
                if (s.c)
                    fabric_.at(from).finished_.push_back(s.c);
                r.c->done();
                return true;
            }
            if (!finished_.empty()) {
                completion *c = finished_.front();
                finished_.erase(finished_.begin());
                c->done();
                return true;
            }
        } else {
            auto &boxes = fabric_.mail_[static_cast<size_t>(node_)];
            const size_t start = fabric_.random_() % boxes.size();
            for (size_t i = 0; i < boxes.size(); ++i) {
                const size_t from = (start + i) % boxes.size();
                if (boxes[from].empty() || !sink_)
                    continue;
                std::vector<std::byte> m = std::move(boxes[from].front());
                boxes[from].pop_front();
                --fabric_.under_way_;
                ++counters_.messages;
                sink_->message(static_cast<int>(from), m.data(), m.size());
                std::fill(m.begin(), m.end(), std::byte{0xDD});
                return true;
            }
        }
    }
    return false;
}

} // namespace mttl

#endif
