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

const wan_card_t usual{.priority = 50, .arch = 0x1234, .node = 0xfedcba9876543210u, .domain = 7, .site = "eu/paris/rack3"};

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
            const char *reason = "";
            const std::string text = text_of(card);
            WAN_CHECK_THAT(wan_card_read(&card, text.c_str(), &got, &reason), reason);
            WAN_CHECK(got.priority == card.priority && got.arch == card.arch && got.node == card.node && got.domain == card.domain
                      && !std::strcmp(got.site, card.site));
        }
    // The longest site fits.
    const std::string longest(WAN_SITE_MAX - 1, 's');
    wan_card_t card = usual, got;
    card.site = longest.c_str();
    card.node = card.domain = UINT64_MAX;
    card.arch = UINT32_MAX;
    const char *reason = "";
    const std::string text = text_of(card);
    WAN_CHECK(wan_card_read(&card, text.c_str(), &got, &reason) && got.site == longest);
    WAN_CHECK(!wan_card_read(&card, (text + "s").c_str(), &got, &reason));
    return "";
}

std::string check_foreign()
{
    auto foreign = [](const wan_card_t &mine, const std::string &text, const std::string &why) -> std::string {
        wan_card_t got;
        const char *reason = "";
        WAN_CHECK_THAT(!wan_card_read(&mine, text.c_str(), &got, &reason), text);
        WAN_CHECK_THAT(std::string(reason).find(why) != std::string::npos, text + ": " + reason);
        return "";
    };
    wan_card_t priority = usual, arch = usual;
    priority.priority = 10;
    arch.arch ^= 8;
    std::string build = text_of(usual), version = build;
    build.replace(build.find(std::to_string(WAN_SOURCE_ID)), 1, "x");
    version[0] = 'x';
    for (const std::string &what :
         {foreign(usual, text_of(priority), "coll_wan_priority"), foreign(priority, text_of(usual), "coll_wan_priority"),
          foreign(usual, text_of(arch), "byte order"), foreign(arch, text_of(usual), "byte order"), foreign(usual, build, "build"),
          foreign(usual, version, "version"), foreign(usual, "", "version"),
          foreign(usual, text_of(usual).substr(0, text_of(usual).find(" 50 ") + 5), "not understand")})
        if (!what.empty())
            return what;
    return "";
}

wan_stand_t stand_of(const std::vector<wan_peer_state_t> &seen, const std::vector<std::string> &sites)
{
    wan_census_t census{};
    const char *reason = nullptr;
    for (size_t i = 0; i < seen.size(); ++i)
        wan_census_add(&census, seen[i], sites[i].c_str(), "why");
    const wan_stand_t stand = wan_census_decide(&census, &reason);
    if (stand != WAN_STAND_ASK && !reason)
        throw std::logic_error("no reason");
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

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_round_trip>),
        cmocka_unit_test(test<check_foreign>),
        cmocka_unit_test(test<check_same_decision>),
        cmocka_unit_test(test<check_decisions>),
    };
    return cmocka_run_group_tests_name("topo_card", tests, nullptr, nullptr);
}
