// SPDX-License-Identifier: BSD-3-Clause
// The emulated path without TUNs, root or a clock: delay, jitter, rate, queue, order, loss.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "../../contrib/lab/emu/flat_json.h"
#include "../../contrib/lab/emu/path.h"

using namespace wan::lab;

namespace {

constexpr time_ns ms = 1'000'000;
int failures = 0;

void expect(bool good, const char* what)
{
    std::printf("%s: %s\n", good ? "ok" : "FAILED", what);
    failures += !good;
}

Path two_sites(double rate_mbit, std::int64_t queue_bytes, double delay_ms, double loss)
{
    Path path;
    for (const char* name : {"a", "b"}) {
        Site site;
        site.name = name;
        site.net = name[0] == 'a' ? 0x0a010000u : 0x0a020000u;
        site.mask = 0xffff0000u;
        site.egress.settings = site.ingress.settings = {rate_mbit, queue_bytes};
        path.site_add(site);
    }
    path.pair(0, 1).settings = {delay_ms, loss, 0};
    return path;
}

Packet packet_of(std::uint32_t bytes)
{
    Packet packet;
    packet.wire_bytes = packet.size_bytes = bytes;
    packet.from = 0;
    packet.to = 1;
    return packet;
}

/// Departure times of everything in flight, as a perfectly punctual daemon sees them.
std::vector<time_ns> drain(Path& path)
{
    std::vector<time_ns> times;
    Packet packet;
    bool dropped = false;
    while (path.next_due() != INT64_MAX) {
        const time_ns now = path.next_due();
        while (path.take_due(now, packet, dropped)) {
            times.push_back(now);
        }
    }
    return times;
}

std::vector<bool> lost_pattern(std::uint64_t seed, double jitter = 0)
{
    Path path = two_sites(0, 0, 1, 0.1);
    path.seed_set(seed);
    path.pair(0, 1).settings.jitter = jitter;
    std::vector<bool> lost;
    for (int i = 0; i < 2000; ++i) {
        lost.push_back(!path.admit(i * ms, packet_of(1500)));
    }
    return lost;
}

void delay_and_rate()
{
    Path path = two_sites(400, 1'000'000, 10, 0);
    path.admit(0, packet_of(5000));   // 0.1 ms at 400 Mb/s
    path.admit(0, packet_of(5000));
    const auto times = drain(path);
    expect(times.size() == 2 && times[0] == 10 * ms + ms / 10 && times[1] == 10 * ms + ms / 5,
           "a packet takes delay plus its time on the uplink, once");
    expect(path.lateness().max_ns() == 0, "a punctual daemon has no lateness");
    expect(path.pair(0, 1).counters.bytes == 10000, "bytes are counted");
}

void late_spells()
{
    Lateness late;
    for (int i = 1; i <= 5; ++i) {
        late.add(i * 100 * ms, i * ms / 2);     // 0.5, 1, 1.5, 2, 2.5 ms
    }
    late.reset();
    expect(late.count() == 0 && late.max_ns() == 0, "reset forgets the counters");
    expect(late.sum_between(0, 250 * ms) == 0, "up to 1 ms is not notable");
    expect(late.sum_between(0, 300 * ms) == 3 * ms / 2, "a spell that reaches in counts");
    expect(late.sum_between(299 * ms, 399 * ms) == 7 * ms / 2, "two spells are summed");
    expect(late.sum_between(301 * ms, 397 * ms) == 0, "between two spells there is none");
    late.add(501 * ms, 2 * ms);
    expect(late.sum_between(501 * ms, 501 * ms) == 5 * ms / 2, "spells that overlap are one");
    for (int i = 0; i < 5000; ++i) {
        late.add((1000 + 10 * i) * ms, 2 * ms);
    }
    expect(late.sum_between(0, ms) < 0, "of what is forgotten, nothing is claimed");
    expect(late.sum_between(50'985 * ms, 50'987 * ms) == 0, "what is kept stays exact");
}

void queue_drops()
{
    Path path = two_sites(8, 10'000, 1, 0);
    int taken = 0;
    for (int i = 0; i < 20; ++i) {
        taken += path.admit(0, packet_of(1000));
    }
    expect(taken == 10, "a queue of 10000 bytes takes ten packets of 1000 at once");
    expect(path.pair(0, 1).counters.queue_drops == 10, "and counts what it drops");
    expect(path.admit(5 * ms, packet_of(1000)), "and takes more when it has drained");
}

void order_kept()
{
    Path path = two_sites(0, 0, 50, 0);
    path.admit(0, packet_of(100));
    path.pair(0, 1).settings.delay_ms = 1;
    path.admit(ms, packet_of(200));
    Packet packet;
    bool dropped = false;
    expect(!path.take_due(49 * ms, packet, dropped) && path.take_due(50 * ms, packet, dropped) &&
               packet.wire_bytes == 100 && path.take_due(50 * ms, packet, dropped),
           "a shorter delay does not let packets overtake");
}

/// Delays of packets that are far from each other, and of some that come together.
std::vector<time_ns> jittered(std::uint64_t seed, double jitter, time_ns gap, int count = 2000)
{
    Path path = two_sites(0, 0, 10, 0);
    path.seed_set(seed);
    path.pair(0, 1).settings.jitter = jitter;
    for (int i = 0; i < count; ++i) {
        path.admit(i * gap, packet_of(100));
    }
    auto times = drain(path);
    for (int i = 0; i < static_cast<int>(times.size()); ++i) {
        times[static_cast<std::size_t>(i)] -= i * gap;
    }
    return times;
}

void jitter_is_drawn()
{
    const auto one = jittered(1, 0.2, 100 * ms);
    double sum = 0;
    for (const time_ns t : one) {
        sum += static_cast<double>(t);
    }
    const auto [least, most] = std::minmax_element(one.begin(), one.end());
    expect(one.size() == 2000 && *least >= 8 * ms && *most <= 12 * ms, "a jitter of a fifth is 8 to 12 of 10 ms");
    expect(*least < 8 * ms + ms / 10 && *most > 12 * ms - ms / 10 && sum / 2000 > 9.9 * ms && sum / 2000 < 10.1 * ms, "all of that, 10 in the mean");
    expect(one == jittered(1, 0.2, 100 * ms) && one != jittered(2, 0.2, 100 * ms), "and seeded");
    expect(jittered(1, 0, 100 * ms, 3) == std::vector<time_ns>(3, 10 * ms), "none, if none was asked for");
    const auto together = jittered(1, 0.2, 0, 100);
    expect(std::is_sorted(together.begin(), together.end()) && together.back() > 11 * ms, "packets keep their order");
    expect(lost_pattern(1, 0.2) == lost_pattern(1), "and jitter changes nothing in what is lost");
}

void ingress_shared()
{
    Path path = two_sites(0, 0, 10, 0);
    path.sites()[1].ingress.settings = {8, 1'000'000};   // 1000 bytes per ms
    for (int i = 0; i < 3; ++i) {
        path.admit(0, packet_of(1000));
    }
    const auto times = drain(path);
    expect(times.size() == 3 && times[2] - times[1] == ms, "the destination's uplink limits too");
}

void loss_is_seeded()
{
    const auto one = lost_pattern(1), again = lost_pattern(1), other = lost_pattern(2);
    long lost = 0;
    for (const bool is_lost : one) {
        lost += is_lost;
    }
    expect(one == again, "one seed loses the same packets");
    expect(one != other, "another seed loses others");
    expect(lost > 150 && lost < 250, "10% of 2000 packets are about 200");
}

void json_is_read()
{
    std::string why;
    const auto good = FlatJson::parse("{\"op\": \"pair\", \"delay_ms\": 2.5, \"x\": true}", why);
    expect(good && good->text("op") == "pair" && good->number("delay_ms") == 2.5, "flat JSON");
    for (const char* text : {"", "{", "{\"a\":}", "{\"a\":1", "{\"a\":1}x", "{\"a\":{}}", "[1]"}) {
        expect(!FlatJson::parse(text, why) && !why.empty(), "malformed JSON is refused");
    }
}

}  // namespace

int main()
{
    delay_and_rate();
    late_spells();
    queue_drops();
    order_kept();
    jitter_is_drawn();
    ingress_shared();
    loss_is_seeded();
    json_is_read();
    return failures ? 1 : 0;
}
