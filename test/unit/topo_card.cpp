/*
 * Cards: what is foreign to what, both ways; and that all ranks come to the
 * same decision, whichever lookups fail.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "wan_core.h"
#include "wan_source_id.h"

#include "unit.hpp"

#include <cstring>
#include <random>
#include <vector>

namespace {

using namespace wan_test;

const wan_card_t usual{.priority = 50, .discover = 0, .arch = 0x1234, .node = 0xfedcba9876543210u, .domain = 7, .site = "eu/paris/rack3"};

std::string text_of(const wan_card_t &card)
{
    char text[WAN_CARD_MAX];
    wan_card_print(&card, text);
    return text;
}

std::string check_round_trip()
{
    for (const char *site : {"", "a", "eu/paris/rack3"})
        for (int priority : {0, 50, 100}) {
            wan_card_t card = usual, got;
            card.site = site;
            card.priority = priority;
            const std::string text = text_of(card);
            WAN_CHECK_THAT(wan_card_read(&card, text.c_str(), &got) == WAN_REASON_NONE, text);
            WAN_CHECK(got.priority == card.priority && got.arch == card.arch && got.node == card.node && got.domain == card.domain
                      && !std::strcmp(got.site, card.site));
        }
    // The longest site fits.
    const std::string longest(WAN_SITE_MAX - 1, 's');
    wan_card_t card = usual, got;
    card.site = longest.c_str();
    card.node = card.domain = UINT64_MAX;
    card.arch = UINT32_MAX;
    const std::string text = text_of(card);
    WAN_CHECK(wan_card_read(&card, text.c_str(), &got) == WAN_REASON_NONE && got.site == longest);
    WAN_CHECK(wan_card_read(&card, (text + "s").c_str(), &got) == WAN_REASON_NO_CARD);
    return "";
}

std::string check_foreign()
{
    wan_card_t priority = usual, arch = usual, discover = usual;
    priority.priority = 10;
    discover.discover = 1;
    arch.arch ^= 8;
    std::string build = text_of(usual), version = build;
    build.replace(build.find(std::to_string(WAN_SOURCE_ID)), 1, "x");
    version[0] = 'x';
    const struct {
        const wan_card_t &mine;
        std::string text;
        wan_reason_t reason;
    } cases[] = {
        {usual, text_of(priority), WAN_REASON_OTHER_PRIORITY}, {priority, text_of(usual), WAN_REASON_OTHER_PRIORITY},
        {usual, text_of(discover), WAN_REASON_OTHER_DISCOVER}, {discover, text_of(usual), WAN_REASON_OTHER_DISCOVER},
        {usual, text_of(arch), WAN_REASON_OTHER_ARCHITECTURE}, {arch, text_of(usual), WAN_REASON_OTHER_ARCHITECTURE},
        {usual, build, WAN_REASON_OTHER_BUILD}, {usual, version, WAN_REASON_OTHER_BUILD}, {usual, "", WAN_REASON_OTHER_BUILD},
        {usual, text_of(usual).substr(0, text_of(usual).find(" 50 ") + 5), WAN_REASON_NO_CARD},
    };
    for (const auto &c : cases) {
        wan_card_t got;
        const wan_reason_t reason = wan_card_read(&c.mine, c.text.c_str(), &got);
        WAN_CHECK_THAT(reason == c.reason, c.text + ": " + wan_reason_name(reason));
    }
    return "";
}

wan_refusal_t refusal_of(const std::vector<wan_peer_state_t> &seen, const std::vector<std::string> &sites, wan_stand_t *stand,
                         bool discovers = false, const std::vector<uint64_t> &nodes = {})
{
    wan_census_t census{};
    wan_refusal_t refusal{};
    for (size_t i = 0; i < seen.size(); ++i)
        wan_census_add(&census, static_cast<int>(i), seen[i], sites[i].c_str(), nodes.empty() ? i : nodes[i], WAN_REASON_NO_PLUGIN);
    *stand = wan_census_decide(&census, discovers, &refusal);
    return refusal;
}

wan_stand_t stand_of(const std::vector<wan_peer_state_t> &seen, const std::vector<std::string> &sites)
{
    wan_stand_t stand;
    if ((refusal_of(seen, sites, &stand).reason == WAN_REASON_NONE) != (stand == WAN_STAND_ASK))
        throw std::logic_error("a decision without its reason");
    return stand;
}

/** Random jobs with random failures: nobody may ask while another one refuses. */
std::string check_same_decision()
{
    std::mt19937_64 random(test_seed());
    int asked = 0, refused = 0, aborted = 0;
    for (int trial = 0; trial < 20'000; ++trial) {
        const size_t ranks = 2 + random() % 5;
        const char *names[] = {"a", "a:x", "b", "eu/p/r1", "eu/p/r2", ""};
        std::vector<std::string> sites(ranks);
        std::vector<int> kind(ranks);       // 0: usual; 1, 2: foreign to each other and to 0; 3: no card, not there itself
        for (size_t r = 0; r < ranks; ++r) {
            sites[r] = names[random() % (random() % 4 ? 3 : 6)];
            kind[r] = random() % 6 ? 0 : static_cast<int>(random() % 4);
        }
        bool ask = false, refuse = false;
        for (size_t r = 0; r < ranks; ++r) {
            if (kind[r] == 3) {
                refuse = true;
                continue;
            }
            std::vector<wan_peer_state_t> seen(ranks);
            for (size_t p = 0; p < ranks; ++p)
                seen[p] = random() % 10 == 0 && p != r ? WAN_PEER_UNKNOWN : kind[p] == kind[r] ? WAN_PEER_KNOWN : WAN_PEER_FOREIGN;
            const wan_stand_t stand = stand_of(seen, sites);
            ask |= stand == WAN_STAND_ASK;
            refuse |= stand == WAN_STAND_REFUSE;
            aborted += stand == WAN_STAND_ABORT;
        }
        WAN_CHECK_THAT(!(ask && refuse), "trial " + std::to_string(trial));
        asked += ask;
        refused += refuse;
    }
    WAN_CHECK(asked > 1000 && refused > 1000 && aborted > 1000);
    return "";
}

std::string check_decisions()
{
    const auto known = WAN_PEER_KNOWN, foreign = WAN_PEER_FOREIGN, unknown = WAN_PEER_UNKNOWN;
    WAN_CHECK(stand_of({known, known}, {"a", "b"}) == WAN_STAND_ASK);
    WAN_CHECK(stand_of({known, known}, {"eu/p/r1", "eu/q/r1"}) == WAN_STAND_ASK);
    WAN_CHECK(stand_of({known, known}, {"eu/p/r1", "eu/p/r2"}) == WAN_STAND_REFUSE);
    WAN_CHECK(stand_of({known, known, known}, {"a", "b", ""}) == WAN_STAND_REFUSE);
    WAN_CHECK(stand_of({known, known}, {"", ""}) == WAN_STAND_REFUSE);
    WAN_CHECK(stand_of({known, unknown, known}, {"a", "", "b"}) == WAN_STAND_ABORT);
    WAN_CHECK(stand_of({known, unknown}, {"a", ""}) == WAN_STAND_ABORT);
    WAN_CHECK(stand_of({unknown, foreign}, {"a", "b"}) == WAN_STAND_REFUSE);
    return "";
}

/** Which rank is named, and for what. */
std::string check_refusals()
{
    const auto known = WAN_PEER_KNOWN, foreign = WAN_PEER_FOREIGN, unknown = WAN_PEER_UNKNOWN;
    const struct {
        std::vector<wan_peer_state_t> seen;
        std::vector<std::string> sites;
        wan_reason_t reason;
        int rank;       // -1: none
    } cases[] = {
        {{known, known, known, known}, {"a", "b", "", ""}, WAN_REASON_UNKNOWN_SITE, 2},
        {{known, unknown, foreign, foreign}, {"", "", "", ""}, WAN_REASON_NO_PLUGIN, 2},
        {{known, unknown, known, unknown}, {"", "", "b", ""}, WAN_REASON_NO_CARD, 1},
        {{known, known}, {"a", "a"}, WAN_REASON_ONE_SITE, -1},
    };
    for (const auto &c : cases) {
        wan_stand_t stand;
        const wan_refusal_t r = refusal_of(c.seen, c.sites, &stand);
        WAN_CHECK_THAT(r.reason == c.reason && r.has_rank == (c.rank >= 0) && (!r.has_rank || r.rank == c.rank) && !r.knob,
                       wan_reason_name(r.reason));
    }
    // Discovered are the sites of hosts that have no names at all.
    wan_stand_t stand;
    refusal_of({known, known, known}, {"", "", ""}, &stand, true, {7, 7, 8});
    WAN_CHECK(stand == WAN_STAND_WATCH);
    WAN_CHECK(refusal_of({known, known, known}, {"", "", ""}, &stand, true, {7, 7, 7}).reason == WAN_REASON_ONE_SITE && stand == WAN_STAND_REFUSE);
    WAN_CHECK(refusal_of({known, known, known}, {"", "", ""}, &stand).reason == WAN_REASON_NO_NAMES && stand == WAN_STAND_REFUSE);
    WAN_CHECK(refusal_of({known, known}, {"", "a"}, &stand).reason == WAN_REASON_UNKNOWN_SITE);
    WAN_CHECK(refusal_of({known, known}, {"", "a"}, &stand, true).reason == WAN_REASON_UNKNOWN_SITE && stand == WAN_STAND_REFUSE);
    WAN_CHECK(refusal_of({known, foreign}, {"", ""}, &stand, true).reason == WAN_REASON_NO_PLUGIN && stand == WAN_STAND_REFUSE);
    WAN_CHECK(refusal_of({known, unknown}, {"", ""}, &stand, true).reason == WAN_REASON_NO_CARD && stand == WAN_STAND_ABORT);
    refusal_of({known, known}, {"b", "a"}, &stand, true);
    WAN_CHECK(stand == WAN_STAND_ASK);
    // Which site it is, and how that is known.
    const auto told = [](const wan_refusal_t &r) {
        char text[256];
        wan_refusal_describe(&r, text, sizeof text);
        return std::string(text);
    };
    const struct {
        std::vector<std::string> names;
        bool discovers;
        const char *text;
    } sites[] = {
        {{"eu/p/r1", "eu/p/r2"}, false, "all ranks are in one site, eu/p"},
        {{"paris:r1", "paris:r1"}, false, "all ranks are in one site, paris"},
        {{"measured/3/0", "measured/3/1"}, false,
         "all ranks are in one site, measured/3, by their round trips (clusters less than a few milliseconds apart may need names)"},
        {{"", ""}, true, "all ranks are in one site: they are on one host, and have no names of sites"},
    };
    for (const auto &[names, discovers, text] : sites) {
        const std::string got = told(refusal_of({known, known}, names, &stand, discovers, {7, 7}));
        WAN_CHECK_THAT(got == text, got);
    }
    // What two ranks have of a parameter that makes them foreign.
    wan_refusal_t other{};
    other.reason = WAN_REASON_OTHER_PRIORITY;
    other.has_rank = true;
    other.rank = 3;
    wan_refusal_differs(&other, 0, 50, 10);
    WAN_CHECK_THAT(told(other) == "a process has another coll_wan_priority: coll_wan_priority is 10 on rank 3, 50 on rank 0", told(other));
    other.reason = WAN_REASON_OTHER_DISCOVER;
    wan_refusal_differs(&other, 2, 1, 0);
    WAN_CHECK_THAT(told(other) == "a process has another coll_wan_discover: coll_wan_discover is 0 on rank 3, 1 on rank 2", told(other));
    // Each reason has a name and a clause of its own.
    for (int i = 0; i < WAN_REASONS; ++i)
        for (int j = 0; j < i; ++j) {
            const auto a = static_cast<wan_reason_t>(i), b = static_cast<wan_reason_t>(j);
            WAN_CHECK(std::strcmp(wan_reason_name(a), wan_reason_name(b)) && std::strcmp(wan_reason_text(a), wan_reason_text(b)));
        }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_round_trip>),
        cmocka_unit_test(test<check_foreign>),
        cmocka_unit_test(test<check_same_decision>),
        cmocka_unit_test(test<check_decisions>),
        cmocka_unit_test(test<check_refusals>),
    };
    return cmocka_run_group_tests_name("topo_card", tests, nullptr, nullptr);
}
