// SPDX-License-Identifier: BSD-3-Clause
// What the lines of the configuration file and the control socket mean:
//
//   {"op":"daemon","socket":PATH,"tick_us":100,"priority":50,"seed":1}
//   {"op":"site","name":"a","net":"10.1.0.0","bits":16,"netns":PATH,"tun":"wan0"}
//   {"op":"uplink","site":"a","direction":"egress|ingress|both","rate_mbit":400,"queue_bytes":N}
//   {"op":"pair","from":"a","to":"b","delay_ms":10,"loss":0,"jitter":0,"rate_mbit":0,"queue_bytes":N}
//   {"op":"stat","reset":true}   {"op":"reset"}   {"op":"seed","seed":7}
//   {"op":"late","from_us":T,"to_us":T}      of CLOCK_MONOTONIC: spells of more than 1 ms, summed
//
// uplink and pair may come at any time and leave what they do not name as it was.
#include <arpa/inet.h>

#include <cmath>
#include <cstdio>

#include "daemon.h"

namespace wan::lab {
namespace {

std::string refusal(const std::string& why)
{
    return "{\"ok\":false,\"error\":" + json_quote(why) + "}";
}

const std::string accepted = "{\"ok\":true}";

double us(time_ns t)
{
    return static_cast<double>(t) / 1e3;
}

/// Reads an optional number within [low, high]; false when it is there and wrong.
bool number_in(const FlatJson& line, const char* key, double low, double high, double& value,
               std::string& why)
{
    const double given = line.number(key, value);
    if (std::isnan(given) || given < low || given > high) {
        char text[160];
        std::snprintf(text, sizeof text, "%s must be a number from %g to %g", key, low, high);
        why = text;
        return false;
    }
    value = given;
    return true;
}

bool link_read(const FlatJson& line, LinkSettings& settings, std::string& why)
{
    double queue = static_cast<double>(settings.queue_bytes);
    if (!number_in(line, "rate_mbit", 0, 1e6, settings.rate_mbit, why) ||
        !number_in(line, "queue_bytes", 0, 1e12, queue, why)) {
        return false;
    }
    settings.queue_bytes = static_cast<std::int64_t>(queue);
    return true;
}

std::string lateness_json(const Lateness& late)
{
    char text[256];
    std::snprintf(text, sizeof text,
                  "{\"count\":%llu,\"mean_us\":%.1f,\"p50_us\":%.1f,\"p99_us\":%.1f,"
                  "\"p999_us\":%.1f,\"max_us\":%.1f}",
                  static_cast<unsigned long long>(late.count()), late.mean_ns() / 1e3,
                  us(late.quantile_ns(0.5)), us(late.quantile_ns(0.99)),
                  us(late.quantile_ns(0.999)), us(late.max_ns()));
    return text;
}

std::string link_json(const Link& link, time_ns now)
{
    char text[160];
    std::snprintf(text, sizeof text,
                  "{\"rate_mbit\":%g,\"queue_bytes\":%lld,\"backlog_bytes\":%lld}",
                  link.settings.rate_mbit, static_cast<long long>(link.settings.queue_bytes),
                  static_cast<long long>(link.backlog_bytes(now)));
    return text;
}

std::string pair_json(const Pair& way, const Site& from, const Site& to, time_ns now)
{
    char text[320];
    std::snprintf(text, sizeof text,
                  "\"delay_ms\":%g,\"loss\":%g,\"jitter\":%g,\"packets\":%llu,\"bytes\":%llu,\"lost\":%llu,"
                  "\"queue_drops\":%llu,\"late_max_us\":%.1f,\"link\":",
                  way.settings.delay_ms, way.settings.loss, way.settings.jitter,
                  static_cast<unsigned long long>(way.counters.packets),
                  static_cast<unsigned long long>(way.counters.bytes),
                  static_cast<unsigned long long>(way.counters.lost),
                  static_cast<unsigned long long>(way.counters.queue_drops),
                  us(way.counters.late_max_ns));
    return "{\"from\":" + json_quote(from.name) + ",\"to\":" + json_quote(to.name) + "," + text +
           link_json(way.link, now) + "}";
}

}  // namespace

std::string Daemon::command(const std::string& text)
{
    std::string why;
    const auto line = FlatJson::parse(text, why);
    if (!line) {
        return refusal(why);
    }
    const std::string op = line->text("op");
    if (op == "daemon" && !started_) {
        settings.socket_path = line->text("socket", settings.socket_path);
        double tick = settings.tick_us, priority = settings.realtime_priority;
        double seed = static_cast<double>(settings.seed);
        if (!number_in(*line, "tick_us", 0, 10000, tick, why) ||
            !number_in(*line, "priority", 0, 99, priority, why) ||
            !number_in(*line, "seed", 0, 9e15, seed, why)) {
            return refusal(why);
        }
        settings.tick_us = static_cast<int>(tick);
        settings.realtime_priority = static_cast<int>(priority);
        settings.seed = static_cast<std::uint64_t>(seed);
        return accepted;
    }
    if (op == "site" && !started_) {
        return site_command(*line);
    }
    if (op == "uplink") {
        return uplink_set(*line);
    }
    if (op == "pair") {
        return pair_set(*line);
    }
    if (op == "stat") {
        return stat(line->text("reset") == "true");
    }
    if (op == "late") {
        double from = 0, to = 0;
        if (!number_in(*line, "from_us", 0, 9e15, from, why) ||
            !number_in(*line, "to_us", 0, 9e15, to, why)) {
            return refusal(why);
        }
        const auto a = static_cast<time_ns>(from * 1e3), b = static_cast<time_ns>(to * 1e3);
        const time_ns departures = path_.lateness().sum_between(a, b), wakes = wake_.sum_between(a, b);
        if (departures < 0 || wakes < 0) {
            return refusal("that is too long ago");
        }
        return "{\"ok\":true,\"late_us\":" + std::to_string(us(std::max(departures, wakes))) + "}";
    }
    if (op == "reset") {
        stat(true);
        return accepted;
    }
    if (op == "seed") {
        double seed = 1;
        if (!number_in(*line, "seed", 0, 9e15, seed, why)) {
            return refusal(why);
        }
        path_.seed_set(static_cast<std::uint64_t>(seed));
        return accepted;
    }
    return refusal("unknown or untimely op '" + op + "'");
}

std::string Daemon::site_command(const FlatJson& line)
{
    in_addr address{};
    double bits = 16;
    std::string why;
    if (::inet_pton(AF_INET, line.text("net").c_str(), &address) != 1) {
        return refusal("net must be an IPv4 address");
    }
    if (!number_in(line, "bits", 1, 32, bits, why)) {
        return refusal(why);
    }
    if (line.text("name").empty() || path_.site_by_name(line.text("name")) >= 0) {
        return refusal("a site needs a name of its own");
    }
    if (path_.sites().size() >= 255) {
        return refusal("at most 255 sites");
    }
    Tun tun;
    if (!tun.open(line.text("netns", "/proc/self/ns/net"), line.text("tun", "wan0"), why)) {
        return refusal(why);
    }
    Site site;
    site.name = line.text("name");
    site.mask = ~std::uint32_t{0} << (32 - static_cast<int>(bits));
    site.net = ntohl(address.s_addr) & site.mask;
    path_.site_add(site);
    tuns_.push_back(std::move(tun));
    return accepted;
}

std::string Daemon::uplink_set(const FlatJson& line)
{
    const int index = path_.site_by_name(line.text("site"));
    if (index < 0) {
        return refusal("there is no site '" + line.text("site") + "'");
    }
    const std::string direction = line.text("direction", "both");
    if (direction != "egress" && direction != "ingress" && direction != "both") {
        return refusal("direction must be egress, ingress or both");
    }
    Site& site = path_.sites()[static_cast<std::size_t>(index)];
    LinkSettings egress = site.egress.settings, ingress = site.ingress.settings;
    std::string why;
    if (!link_read(line, egress, why) || !link_read(line, ingress, why)) {
        return refusal(why);
    }
    if (direction != "ingress") {
        site.egress.settings = egress;
    }
    if (direction != "egress") {
        site.ingress.settings = ingress;
    }
    return accepted;
}

std::string Daemon::pair_set(const FlatJson& line)
{
    const int from = path_.site_by_name(line.text("from"));
    const int to = path_.site_by_name(line.text("to"));
    if (from < 0 || to < 0 || from == to) {
        return refusal("a pair needs two different sites, got '" + line.text("from") + "' and '" +
                       line.text("to") + "'");
    }
    Pair& way = path_.pair(static_cast<std::size_t>(from), static_cast<std::size_t>(to));
    PairSettings settings_new = way.settings;
    LinkSettings link = way.link.settings;
    std::string why;
    if (!number_in(line, "delay_ms", 0, 100000, settings_new.delay_ms, why) ||
        !number_in(line, "loss", 0, 1, settings_new.loss, why) ||
        !number_in(line, "jitter", 0, 1, settings_new.jitter, why) || !link_read(line, link, why)) {
        return refusal(why);
    }
    way.settings = settings_new;
    way.link.settings = link;
    if (started_) {
        offload_update();
    }
    return accepted;
}

void Daemon::offload_update()
{
    // Loss of a super-packet would be harsher than loss of a frame.
    for (std::size_t i = 0; i < tuns_.size(); ++i) {
        tuns_[i].segments_together(!path_.lossy_from(i));
    }
}

std::string Daemon::stat(bool reset)
{
    const time_ns now = now_ns();
    auto& sites = path_.sites();
    std::string out = "{\"ok\":true,\"seconds\":" + std::to_string(us(now - since_) / 1e6) +
                      ",\"lateness\":" + lateness_json(path_.lateness()) +
                      ",\"wake\":" + lateness_json(wake_) +
                      ",\"wakeups\":" + std::to_string(wakeups_) +
                      ",\"in_flight\":" + std::to_string(path_.in_flight()) +
                      ",\"no_route\":" + std::to_string(no_route_) +
                      ",\"write_errors\":" + std::to_string(write_errors_) + ",\"sites\":[";
    for (std::size_t i = 0; i < sites.size(); ++i) {
        out += (i ? ",{\"name\":" : "{\"name\":") + json_quote(sites[i].name) +
               ",\"egress\":" + link_json(sites[i].egress, now) +
               ",\"ingress\":" + link_json(sites[i].ingress, now) + "}";
    }
    out += "],\"pairs\":[";
    bool first = true;
    for (std::size_t from = 0; from < sites.size(); ++from) {
        for (std::size_t to = 0; to < sites.size(); ++to) {
            if (from != to) {
                out += (first ? "" : ",") + pair_json(path_.pair(from, to), sites[from], sites[to], now);
                first = false;
            }
        }
    }
    if (reset) {
        path_.counters_reset();
        wake_.reset();
        no_route_ = write_errors_ = wakeups_ = 0;
        since_ = now;
    }
    return out + "]}";
}

}  // namespace wan::lab
