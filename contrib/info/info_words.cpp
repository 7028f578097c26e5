/*
 * See info_words.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_words.hpp"

#include "collective.hpp"
#include "text_file.hpp"
#include "topo/cluster_map.hpp"
#include "wan_number.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

namespace info {

namespace {

constexpr uint64_t largest_size = uint64_t{1} << 40;

/** For messages only: nothing is escaped. */
std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

/** The knob of "links" or "coll_wan_links"; nullptr: none. */
const wan_knob_t *knob_named(std::string_view name)
{
    if (name.starts_with("coll_wan_"))
        name.remove_prefix(std::strlen("coll_wan_"));
    for (size_t i = 0; i < wan_knob_count(); ++i)
        if (name == wan_knob_get(i)->name)
            return wan_knob_get(i);
    return nullptr;
}

/** The number of an enumerator or in the range, as jobs read it: also 64k, 0x10. */
int64_t knob_parse(const wan_knob_t &knob, const std::string &text)
{
    int64_t number = 0;
    const bool is_number = wan_number_read(text.c_str(), &number) == WAN_NUMBER_GOOD;
    if (knob.type == WAN_KNOB_ENUM) {
        std::string all;
        for (int k = 0; const char *name = wan_knob_enumerator(&knob, k, nullptr); ++k) {
            if (text == name || (is_number && number == k))
                return k;
            all += (k ? ", " : "") + std::string(name);
        }
        throw wrong_word("coll_wan_" + std::string(knob.name) + " has no value " + in_quotes(text) + ": write one of "
                         + all);
    }
    if (!is_number || number < knob.minimum || number > knob.maximum)
        throw wrong_word("coll_wan_" + std::string(knob.name) + " is a number from " + std::to_string(knob.minimum)
                         + " to " + std::to_string(knob.maximum) + ", not " + in_quotes(text));
    return number;
}

} // namespace

std::string joined(const std::vector<std::string> &words, const char *between)
{
    std::string out;
    for (const std::string &w : words)
        out += (out.empty() ? "" : between) + w;
    return out;
}

std::string some_of(std::vector<std::string> words)
{
    constexpr size_t most = 12, few = 4;
    if (words.size() > most + few) {
        const std::string more = "and " + std::to_string(words.size() - most) + " more";
        words.resize(most);
        words.push_back(more);
    }
    return joined(words, ", ");
}

void write_file(const char *option, const std::string &file, const std::string &text)
{
    if (file == "-") {
        std::cout << text;
        return;
    }
    std::error_code none;
    bool good;
    errno = 0;
    if (std::filesystem::exists(file, none) && !std::filesystem::is_regular_file(file, none)) {      // a device, a pipe
        std::ofstream out(file);
        good = static_cast<bool>((out << text).flush());
    } else {
        good = wan::text_file_write(file, text);
    }
    const int why = errno;
    if (!good)
        throw wrong_word(std::string(option) + ": " + file + " cannot be written: " + std::strerror(why) + ": "
                         + (why == ENOSPC || why == EDQUOT || why == EROFS ? wan::write_remedy(why)
                                                                           : "give a path in a directory that you may write, or - for standard output"));
}

void ending_check(const char *option, const std::string &file, const std::string &endings, const char *what, const char *remedy)
{
    std::string ending = std::filesystem::path(file).extension().string();
    std::transform(ending.begin(), ending.end(), ending.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (!ending.empty() && (" " + endings + " ").find(" " + ending + " ") == std::string::npos)
        throw wrong_word(std::string(option) + ": " + file + ": " + what + " is written, which is no " + ending + ": " + remedy);
}

uint64_t size_parse(std::string_view text, std::string_view option)
{
    static constexpr struct { std::string_view unit; int shift; } units[] = {
        {"", 0}, {"B", 0}, {"K", 10}, {"KB", 10}, {"M", 20}, {"MB", 20}, {"G", 30}, {"GB", 30}};
    uint64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    std::string unit(end, text.data() + text.size());
    std::transform(unit.begin(), unit.end(), unit.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    if (error == std::errc())
        for (const auto &u : units)
            if (u.unit == unit && n <= largest_size >> u.shift)
                return n << u.shift;
    throw wrong_word((option.empty() ? "" : std::string(option) + ": ") + in_quotes(text) + " is no size: write bytes, 64K, 1M or 2G, up to 1024G");
}

std::vector<uint64_t> sizes_parse(std::string_view text, std::string_view option)
{
    std::set<uint64_t> sizes;
    const auto refuse = [&](std::string_view part) { throw wrong_word(std::string(option) + ": " + in_quotes(part) + " is no range: write 1..16M or 1..16M:4"); };
    while (true) {
        const std::string_view part = text.substr(0, text.find(','));
        const std::string_view span = part.substr(0, part.find(':'));
        if (const size_t dots = span.find(".."); dots == span.npos) {
            sizes.insert(size_parse(span, option));
            if (span.size() != part.size())
                refuse(part);
        } else {
            const uint64_t step = span.size() == part.size() ? 2 : size_parse(part.substr(span.size() + 1), option);
            const uint64_t last = size_parse(span.substr(dots + 2), option);
            uint64_t size = size_parse(span.substr(0, dots), option);
            if (step < 2 || size < 1 || last < size)
                refuse(part);
            sizes.insert(size);
            while (size <= last / step)     // the product might be more than there is room for
                sizes.insert(size *= step);
        }
        if (part.size() == text.size())
            return {sizes.begin(), sizes.end()};
        text.remove_prefix(part.size() + 1);
    }
}

std::string size_text(uint64_t bytes)
{
    static constexpr struct { const char *unit; int shift; } units[] = {{" GB", 30}, {" MB", 20}, {" KB", 10}};
    for (const auto &u : units)
        if (bytes >> u.shift && (bytes & ((uint64_t{1} << u.shift) - 1)) == 0)
            return std::to_string(bytes >> u.shift) + u.unit;
    return std::to_string(bytes) + " B";
}

std::string time_text(int64_t ns)
{
    static constexpr struct { const char *unit; double ns; } units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}};
    char text[48];
    for (const auto &u : units)
        if (const double v = static_cast<double>(ns) / u.ns; v >= 0.9995) {
            std::snprintf(text, sizeof text, v < 9.995 ? "%.2f %s" : v < 99.95 ? "%.1f %s" : "%.0f %s", v, u.unit);
            return text;
        }
    return std::to_string(ns) + " ns";
}

std::string rate_text(double bytes_per_s)
{
    const double bits = 8 * bytes_per_s;
    char text[48];
    std::snprintf(text, sizeof text, bits >= 1e9 ? "%.3g Gb/s" : "%.3g Mb/s", bits >= 1e9 ? bits / 1e9 : bits / 1e6);
    return text;
}

int64_t latency_of(const std::string &text, const char *option)
{
    int64_t ns = 0;
    if (!wan::latency_parse(text, ns))
        throw wrong_word(std::string(option) + ": " + in_quotes(text)
                         + " is no time: write a positive number and a unit (ns, us, ms, s), such as 10ms");
    return ns;
}

int64_t rate_of(const std::string &text, const char *option)
{
    int64_t rate = 0;
    if (!wan::bandwidth_parse(text, rate))
        throw wrong_word(
            std::string(option) + ": " + in_quotes(text)
            + " is no rate: write a positive number and a unit (b/s or B/s, with k, M, G or T), such as 400Mb/s");
    return rate;
}

std::string collective_names(const char *between)
{
    std::string all;
    for (int c = 0; c < WAN_COLLECTIVES; ++c)
        all += (c ? between : "") + std::string(wan_collective_name(wan::collective_at(c)));
    return all;
}

wan_collective_t collective_of(std::string_view text)
{
    std::string asked;
    for (char c : text)
        asked += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    if (asked.starts_with("mpi_"))
        asked.erase(0, 4);
    for (int c = 0; c < WAN_COLLECTIVES; ++c) {
        const std::string name = wan_collective_name(wan::collective_at(c));
        for (const char *before : {"", "i"})
            for (const char *behind : {"", "v", "w", "_block", "_init"})
                if (asked == before + name + behind)
                    return wan::collective_at(c);
    }
    if (asked.starts_with("neighbor_") || asked.starts_with("ineighbor_"))
        throw wrong_word(in_quotes(text) + " has no plan: it goes straight along the edges of the program's topology, so that there is nothing to choose: "
                         "for another collective write one of " + collective_names());
    throw wrong_word(in_quotes(text) + " is no collective of coll/wan: write one of " + collective_names());
}

parameters::parameters()
{
    strings_.resize(wan_knob_count());
    for (size_t i = 0; i < wan_knob_count(); ++i) {
        const wan_knob_t &k = *wan_knob_get(i);
        char *at = reinterpret_cast<char *>(&values_) + k.offset;
        if (k.type == WAN_KNOB_STRING)
            *reinterpret_cast<char **>(at) = strings_[i].data();
        else if (k.type == WAN_KNOB_INT64)
            *reinterpret_cast<int64_t *>(at) = k.initial;
        else
            *reinterpret_cast<int *>(at) = static_cast<int>(k.initial);
    }
}

parameters::parameters(const std::vector<std::string> &settings) : parameters()
{
    for (size_t i = 0; i < wan_knob_count(); ++i) {
        const std::string name = wan_knob_get(i)->name;
        if (const std::string value = environment(name); !value.empty()) {
            set(name, value);
            told_.push_back("coll_wan_" + name + "=" + value + " (environment)");
        }
    }
    for (const std::string &s : settings) {
        const size_t equals = s.find('=');
        if (equals == s.npos)
            throw wrong_word(in_quotes(s) + " is no setting: write NAME=VALUE, such as links=4");
        set(s.substr(0, equals), s.substr(equals + 1));
        told_.push_back((s.starts_with("coll_wan_") ? "" : "coll_wan_") + s);
    }
}

std::string parameters::environment(const std::string &name)
{
    const char *value = std::getenv(("OMPI_MCA_coll_wan_" + name).c_str());
    return value ? value : "";
}

void parameters::leave(const std::string &name)
{
    set(name, "");
    std::erase_if(told_, [&](const std::string &t) { return t.starts_with("coll_wan_" + name + "="); });
}

void parameters::set(const std::string &name, const std::string &value)
{
    const wan_knob_t *k = knob_named(name);
    if (!k)
        throw wrong_word(in_quotes(name)
                         + " is no parameter of coll/wan: ompi_info --param coll wan --level 9 shows all of them");
    char *at = reinterpret_cast<char *>(&values_) + k->offset;
    if (k->type == WAN_KNOB_STRING) {
        for (size_t i = 0; i < wan_knob_count(); ++i)
            if (wan_knob_get(i) == k) {
                strings_[i] = value;
                *reinterpret_cast<char **>(at) = strings_[i].data();
            }
    } else if (k->type == WAN_KNOB_INT64) {
        *reinterpret_cast<int64_t *>(at) = knob_parse(*k, value);
    } else {
        *reinterpret_cast<int *>(at) = static_cast<int>(knob_parse(*k, value));
    }
}

} // namespace info
