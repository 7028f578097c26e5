/*
 * Random bytes and mutated good texts through every parser of topo/: none
 * may crash, every refusal must be complete, everything accepted must be
 * consistent.  WAN_TEST_SEED=N repeats a run, WAN_TEST_ROUNDS=N lengthens it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/cluster_map.hpp"
#include "topo/site_name.hpp"

#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "unit.hpp"

namespace {

using namespace wan_test;

const char *const good_texts[] = {
    "n[001-016,20],gw1,rack[1-2]n[0-3] eu/paris # c\nt[1-16] jp/tokyo/rack1\ndefault eu/lyon:r\n"
    "link eu/paris jp/tokyo latency=120ms bandwidth=1Gb/s\nnic eu/paris bandwidth=40Mb/s\n"
    "uplink eu/paris bandwidth=400Mb/s\n",
    "n[0-999999999999999999],n[1-9][00-99].x.org a\r\nm[7-8] b\r\n",
    // one switch below two roots, and a continued line
    ("SwitchName=l1 Nodes=n[01-20] LinkSpeed=9\nSwitchName=l2 nodes=\"n[21-40]\"\n"
     "SwitchName=c \\\n Switches=l[1-2]\nSwitchName=d Switches=l2,e\nSwitchName=e Nodes=m[1-3]\n"),
};

uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *s = std::getenv(name);
    return s ? std::strtoull(s, nullptr, 10) : otherwise;
}

std::string text_make(std::mt19937_64 &rng)
{
    const auto pick = [&](size_t n) { return static_cast<size_t>(rng() % n); };
    std::string text;
    if (pick(4) == 0) {
        for (size_t n = pick(200); n-- > 0;)
            text += static_cast<char>(rng());
        return text;
    }
    text = good_texts[pick(3)];
    for (size_t n = 1 + pick(6); n-- > 0 && !text.empty();) {
        static const char alphabet[] = "[]-,/:.#=\\\"\n\r\t 019anlSd";
        const size_t at = pick(text.size());
        switch (pick(6)) {
        case 0: text[at] = static_cast<char>(rng()); break;
        case 1: text.erase(at, 1 + pick(8)); break;
        case 2: text.insert(at, 1, alphabet[pick(sizeof alphabet - 1)]); break;
        case 3: text[at] = alphabet[pick(sizeof alphabet - 1)]; break;
        case 4: text.insert(at, text.substr(pick(text.size()), pick(40))); break;
        case 5: text.resize(at); break;
        }
    }
    return text;
}

std::string consistent(const std::string &text, unsigned &accepted)
{
    std::string what;
    wan::hostlist list;
    if (!wan::hostlist::parse(text, list, what) && (what.empty() || what.size() > 511))
        return "hostlist: " + what;
    what.clear();
    if (wan::site_name_check(text, what)) {
        const std::string canonical = wan::site_name_canonical(text);
        if (!wan::site_name_check(canonical, what) || wan::wan_site(canonical) != wan::wan_site(text)
            || wan::site_inner(canonical).size() != wan::site_inner(text).size())
            return "canonical name " + canonical;
    } else if (what.empty() || what.size() > 511) {
        return "site name: " + what;
    }

    wan::cluster_map map;
    wan::input_error error;
    if (!wan::cluster_map::parse(text, "M", map, error)) {
        if (error.where.rfind("M", 0) != 0 || error.what.empty() || error.what.size() > 511 || error.remedy.empty()
            || error.remedy.size() > 511)
            return "incomplete: " + error.where + " | " + error.what + " | " + error.remedy;
        return {};
    }
    ++accepted;
    for (const auto &e : map.entries()) {
        std::string first;
        e.hosts.for_each([&](const std::string &host) { return first = host, false; });
        if (!e.site.empty() && !wan::site_name_check(e.site, what))
            return "site: " + what;
        if (!e.hosts.contains(first))
            return first + " is not in its own list";
        if (wan::wan_site(*map.site_of(first)) != wan::wan_site(e.site))
            return first + " is in two sites";
    }
    return {};
}

std::string check_random()
{
    const uint64_t seed = number_of(
        "WAN_TEST_SEED", static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()));
    const uint64_t rounds = number_of("WAN_TEST_ROUNDS", 10000);
    std::mt19937_64 rng(seed);
    unsigned accepted = 0;
    for (uint64_t i = 0; i < rounds; ++i) {
        const std::string text = text_make(rng), what = consistent(text, accepted);
        if (!what.empty())
            return "round " + std::to_string(i) + ": " + what + "\nin\n" + text;
    }
    std::printf("topo_fuzz: WAN_TEST_SEED=%llu, %llu texts, %u accepted\n", static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(rounds), accepted);
    return {};
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_random>)};
    return cmocka_run_group_tests_name("topo_fuzz", tests, nullptr, nullptr);
}
