/*
 * See trees_process.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "trees_process.hpp"

#include <algorithm>

namespace sg4 = simgrid::s4u;

namespace sim {

namespace {

/** What a message has besides what is in it: Open MPI's and TCP's headers, in bytes. */
constexpr uint64_t header = 100;
/** Messages of up to so many bytes share no link with others: most are of trees, and SimGrid is slow with thousands at once. */
constexpr uint64_t frame = 1500;
/** Nobody waits for a time that is later. */
constexpr double forever_s = 1e17;

} // namespace

void trees_carriers::carry(std::function<void()> trip)
{
    carrier *c;
    if (idle_.empty()) {
        all_.push_back(std::make_unique<carrier>());
        c = all_.back().get();
        sg4::Actor::create("carrier", hosts[0], [this, c] {
            for (;;) {
                c->wake->acquire();
                c->trip();
                idle_.push_back(c);
            }
        })->daemonize();
    } else {
        c = idle_.back();
        idle_.pop_back();
    }
    c->trip = std::move(trip);
    c->wake->release();
}

double trees_carriers::latency_s(size_t from, size_t to)
{
    double &known = latencies_[from * hosts.size() + to];
    if (known == 0) {
        std::vector<sg4::Link *> links;
        hosts[from]->route_to(hosts[to], links, &known);
    }
    return known * (1 + std::uniform_real_distribution<double>(0, network.jitter)(drawn_));
}

trees_process::trees_process(const wan::adaptive_options &o, trees_carriers &carriers, int me)
    : options_(o), carriers_(carriers), me_(me), overhead_s_(carriers.network.overhead_us * 1e-6), rate_(carriers.network.nic_rate()),
      sent_(carriers.hosts.size()), had_(sent_.size()), ahead_(sent_.size()), plain_(sent_.size())
{
    carriers.processes[static_cast<size_t>(me)] = this;
    forget();
}

trees_process::~trees_process()
{
    carriers_.processes[static_cast<size_t>(me_)] = nullptr;
}

void trees_process::forget()
{
    ++life_;
    service_.reset();
    known_ = std::make_unique<wan::measured_table>();
    service_ = std::make_unique<wan::adaptive_service>(
        options_, [this](int to, std::span<const std::byte> head, std::span<const std::byte> payload, uint64_t counted) {
            std::vector<std::byte> bytes(head.begin(), head.end());
            bytes.insert(bytes.end(), payload.begin(), payload.end());
            const uint64_t size = bytes.size();
            post(to, kind::tree, counted, life_, std::move(bytes), size);
        }, *known_, 0);
}

void trees_process::post(int to, kind what, uint64_t value, int life, std::vector<std::byte> bytes, uint64_t size)
{
    sg4::this_actor::sleep_for(overhead_s_);
    const auto t = static_cast<size_t>(to);
    size += header;
    const double at_s = std::max(free_s_, sg4::Engine::get_clock());
    free_s_ = at_s + static_cast<double>(size) / rate_;
    auto p = std::make_shared<parcel>(parcel{what, me_, sent_[t]++, value, life, std::move(bytes)});
    carriers_.carry([&all = carriers_, from = static_cast<size_t>(me_), t, at_s, size, p] {
        sg4::this_actor::sleep_until(at_s);
        if (size <= frame)
            sg4::this_actor::sleep_for(all.latency_s(from, t) + static_cast<double>(size) / all.network.nic_rate());
        else
            sg4::Comm::sendto(all.hosts[from], all.hosts[t], size);
        if (trees_process *there = all.processes[t])
            there->arrive(std::move(*p));
    });
}

/** In order of sending. */
void trees_process::arrive(parcel p)
{
    const auto from = static_cast<size_t>(p.from);
    const uint64_t number = p.number;
    ahead_[from].emplace(number, std::move(p));
    for (auto at = ahead_[from].begin(); at != ahead_[from].end() && at->first == had_[from]; at = ahead_[from].begin()) {
        ++had_[from];
        inbox_.push_back(std::move(at->second));
        ahead_[from].erase(at);
        come_->release();
    }
}

void trees_process::send(int to, uint64_t bytes)
{
    post(to, kind::plain, 0, 0, {}, bytes);
}

void trees_process::receive(int from)
{
    while (plain_[static_cast<size_t>(from)] == 0)
        serve(1e18);
    --plain_[static_cast<size_t>(from)];
}

void trees_process::handle(const parcel &p)
{
    switch (p.what) {
    case kind::plain: ++plain_[static_cast<size_t>(p.from)]; return;
    case kind::arrived:
        if (p.life == life_)
            service_->arrived(p.from, p.value, now_ns());
        return;
    case kind::tree:
        service_->receive(p.from, p.bytes, now_ns());
        if (p.value)
            post(p.from, kind::arrived, p.value, p.life, {}, 0);
        return;
    }
}

void trees_process::serve(double until_s)
{
    service_->step(now_ns());
    const double now_s = sg4::Engine::get_clock();
    const int64_t due_ns = service_->deadline();
    if (due_ns != INT64_MAX)
        until_s = std::min(until_s, std::max(now_s + 1e-6, static_cast<double>(due_ns) * 1e-9 + 1e-9));
    if (until_s > forever_s)
        come_->acquire();
    else if (until_s <= now_s || come_->acquire_timeout(until_s - now_s))
        return;
    if (inbox_.empty())
        return;             // it was woken
    const parcel p = std::move(inbox_.front());
    inbox_.pop_front();
    sg4::this_actor::sleep_for(overhead_s_);
    handle(p);
    service_->step(now_ns());
}

} // namespace sim
