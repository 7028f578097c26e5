/*
 * What a process publishes, as one line of text, and what a rank does with a
 * communicator after it has read the cards of all its ranks.
 *
 *     VERSION BUILD PRIORITY DISCOVER ARCH NODE DOMAIN SITE
 *
 * The decision must be the same on every rank, without a message: a rank that
 * stays in would otherwise start the agreement while another one runs the
 * user's collective.  `Foreign' is seen by everyone or, where it is a
 * difference, by both sides; `one site' by everyone who could read all cards.
 * Only a card that cannot be read leaves it open what the others saw: neither
 * staying in nor staying out is safe then, and the job has to end.
 *
 * Read and decided without memory of its own: lack of it must not make a rank
 * decide otherwise.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/site_name.hpp"
#include "wan_config.h"
#include "wan_core.h"
#include "wan_source_id.h"

#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace {

/** "VERSION BUILD ": how the cards of this build begin. */
std::string_view beginning(char (&text)[64])
{
    const int length = std::snprintf(text, sizeof text, "%s %lu ", PACKAGE_VERSION, static_cast<unsigned long>(WAN_SOURCE_ID));
    return {text, static_cast<size_t>(length)};
}

/** Takes a number and the blank behind it from the front of text. */
template <typename T> bool number(std::string_view &text, T &value, int base)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    const auto length = static_cast<size_t>(end - text.data());
    if (error != std::errc{} || length >= text.size() || text[length] != ' ')
        return false;
    text.remove_prefix(length + 1);
    return true;
}

void first_of(wan_refusal_t &kept, wan_reason_t reason, int rank)
{
    if (kept.reason != WAN_REASON_NONE)
        return;
    kept = {};
    kept.reason = reason;
    kept.has_rank = true;
    kept.rank = rank;
}

} // namespace

extern "C" {

void wan_card_print(const wan_card_t *card, char text[WAN_CARD_MAX])
{
    char own[64];
    std::snprintf(text, WAN_CARD_MAX, "%s%d %d %" PRIx32 " %" PRIx64 " %" PRIx64 " %s", beginning(own).data(), card->priority,
                  card->discover, card->arch, card->node, card->domain, card->site);
}

wan_reason_t wan_card_read(const wan_card_t *mine, const char *text, wan_card_t *card)
{
    char own[64];
    const std::string_view expected = beginning(own);
    std::string_view rest = text;
    *card = {};
    if (!rest.starts_with(expected))
        return WAN_REASON_OTHER_BUILD;
    rest.remove_prefix(expected.size());
    if (!number(rest, card->priority, 10) || !number(rest, card->discover, 10) || !number(rest, card->arch, 16) || !number(rest, card->node, 16)
        || !number(rest, card->domain, 16) || rest.size() >= WAN_SITE_MAX)
        return WAN_REASON_NO_CARD;
    card->site = text + std::strlen(text) - rest.size();
    if (card->priority != mine->priority)
        return WAN_REASON_OTHER_PRIORITY;
    if (card->discover != mine->discover)
        return WAN_REASON_OTHER_DISCOVER;
    if (card->arch != mine->arch)
        return WAN_REASON_OTHER_ARCHITECTURE;
    return WAN_REASON_NONE;
}

void wan_census_add(wan_census_t *census, int rank, wan_peer_state_t state, const char *site, uint64_t node,
                    wan_reason_t reason)
{
    switch (state) {
    case WAN_PEER_KNOWN:
        census->nodes |= census->any && census->node != node;
        if (!census->any)
            census->node = node;
        census->any = true;
        if (!*site)
            first_of(census->nameless, WAN_REASON_UNKNOWN_SITE, rank);
        else if (!census->site)
            census->site = site;
        else if (wan::wan_site(census->site) != wan::wan_site(site))
            census->several = true;
        break;
    case WAN_PEER_FOREIGN:
        first_of(census->foreign, reason, rank);
        break;
    case WAN_PEER_UNKNOWN:
        first_of(census->unknown, WAN_REASON_NO_CARD, rank);
        break;
    }
}

wan_stand_t wan_census_decide(const wan_census_t *census, bool discovers, wan_refusal_t *refusal)
{
    *refusal = {};
    const bool nobody_named = !census->site && census->nameless.reason != WAN_REASON_NONE;
    if (discovers && nobody_named && census->foreign.reason == WAN_REASON_NONE && census->unknown.reason == WAN_REASON_NONE) {
        if (census->nodes)
            return WAN_STAND_WATCH;
        refusal->reason = WAN_REASON_ONE_SITE;      // a host is no two sites
        return WAN_STAND_REFUSE;
    }
    // A foreign one first, whatever the unknown ones are: it stands back, or this rank is foreign to it.
    for (const wan_refusal_t *found : {&census->foreign, &census->unknown, &census->nameless})
        if (found->reason != WAN_REASON_NONE) {
            if (found == &census->nameless && nobody_named)     // nor are they found: that would have given this rank one
                refusal->reason = WAN_REASON_NO_NAMES;
            else
                *refusal = *found;
            return found == &census->unknown ? WAN_STAND_ABORT : WAN_STAND_REFUSE;
        }
    if (census->several)
        return WAN_STAND_ASK;
    refusal->reason = WAN_REASON_ONE_SITE;
    refusal->site = census->site;
    return WAN_STAND_REFUSE;
}

} // extern "C"
