/*
 * What a process publishes, as one line of text, and what a rank does with a
 * communicator after it has read the cards of all its ranks.
 *
 *     VERSION BUILD PRIORITY ARCH NODE DOMAIN SITE
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

} // namespace

extern "C" {

void wan_card_print(const wan_card_t *card, char text[WAN_CARD_MAX])
{
    char own[64];
    std::snprintf(text, WAN_CARD_MAX, "%s%d %" PRIx32 " %" PRIx64 " %" PRIx64 " %s", beginning(own).data(), card->priority,
                  card->arch, card->node, card->domain, card->site);
}

bool wan_card_read(const wan_card_t *mine, const char *text, wan_card_t *card, const char **reason)
{
    char own[64];
    const std::string_view expected = beginning(own);
    std::string_view rest = text;
    if (!rest.starts_with(expected)) {
        *reason = rest.starts_with(expected.substr(0, expected.find(' ') + 1)) ? "a process runs another build of coll/wan"
                                                                               : "a process runs another version of coll/wan";
        return false;
    }
    rest.remove_prefix(expected.size());
    *card = {};
    if (!number(rest, card->priority, 10) || !number(rest, card->arch, 16) || !number(rest, card->node, 16)
        || !number(rest, card->domain, 16) || rest.size() >= WAN_SITE_MAX) {
        *reason = "a process published what coll/wan does not understand";
        return false;
    }
    card->site = text + std::strlen(text) - rest.size();
    if (card->priority != mine->priority) {
        *reason = "a process has another coll_wan_priority";
        return false;
    }
    if (card->arch != mine->arch) {
        *reason = "a process has another byte order or other sizes of types";
        return false;
    }
    return true;
}

void wan_census_add(wan_census_t *census, wan_peer_state_t state, const char *site, const char *reason)
{
    switch (state) {
    case WAN_PEER_KNOWN:
        if (!*site)
            census->nameless = true;
        else if (!census->site)
            census->site = site;
        else if (wan::wan_site(census->site) != wan::wan_site(site))
            census->several = true;
        break;
    case WAN_PEER_FOREIGN:
        if (!census->foreign)
            census->reason = reason;
        census->foreign = true;
        break;
    case WAN_PEER_UNKNOWN:
        if (!census->foreign && !census->unknown)
            census->reason = reason;
        census->unknown = true;
        break;
    }
}

wan_stand_t wan_census_decide(const wan_census_t *census, const char **reason)
{
    *reason = census->reason;
    if (census->foreign)        // whatever the unknown ones are: it stands back, or this rank is foreign to it
        return WAN_STAND_REFUSE;
    if (census->unknown)
        return WAN_STAND_ABORT;
    if (census->nameless) {
        *reason = "the site of some ranks is not known";
        return WAN_STAND_REFUSE;
    }
    if (!census->several) {
        *reason = "all ranks are in one site";
        return WAN_STAND_REFUSE;
    }
    return WAN_STAND_ASK;
}

} // extern "C"
