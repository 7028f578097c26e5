/*
 * Every reason why a communicator is not ours, once: counters, verbose lines
 * and tests take names and sentences from here.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "wan_core.h"

#include <cstdio>

namespace {

struct entry {
    wan_reason_t reason;
    const char *name, *text;
};

constexpr entry entries[] = {
    {WAN_REASON_NONE, "none", "there is no reason"},
    {WAN_REASON_INTERCOMMUNICATOR, "intercommunicator", "it is an inter-communicator"},
    {WAN_REASON_ONE_SITE, "one_site", "all ranks are in one site"},
    {WAN_REASON_UNKNOWN_SITE, "unknown_site", "the site of some ranks is not known"},
    {WAN_REASON_NO_PLUGIN, "no_plugin", "a process runs without coll/wan"},
    {WAN_REASON_OTHER_BUILD, "other_build", "a process runs another version or build of coll/wan"},
    {WAN_REASON_OTHER_PRIORITY, "other_priority", "a process has another coll_wan_priority"},
    {WAN_REASON_OTHER_DISCOVER, "other_discover", "a process has another coll_wan_discover"},
    {WAN_REASON_OTHER_ARCHITECTURE, "other_architecture", "a process has another byte order or other sizes of types"},
    {WAN_REASON_NO_CARD, "no_card", "what a process published could not be looked up"},
    {WAN_REASON_OTHER_SITES, "other_sites", "the ranks know different sites"},
    {WAN_REASON_OTHER_LINKS, "other_links", "the cluster maps of the ranks tell different links"},
    {WAN_REASON_OTHER_RULES, "other_rules", "the ranks have different files of coll_wan_rules"},
    {WAN_REASON_OTHER_PARAMETERS, "other_parameters", "the ranks have different parameters"},
    {WAN_REASON_NO_MEMORY, "no_memory", "a rank has no memory for what it must know"},
    {WAN_REASON_NO_TAGS, "no_tags", "the transport has too few tags, or the ranks are too far apart in their use"},
    {WAN_REASON_NO_MODULE, "no_module", "no other component serves its collectives"},
};

constexpr bool in_order()
{
    for (int i = 0; i < WAN_REASONS; ++i)
        if (entries[i].reason != i)
            return false;
    return sizeof entries / sizeof *entries == WAN_REASONS;
}
static_assert(in_order());

} // namespace

extern "C" {

const char *wan_reason_name(wan_reason_t reason)
{
    return entries[reason].name;
}

const char *wan_reason_text(wan_reason_t reason)
{
    return entries[reason].text;
}

int wan_refusal_describe(const wan_refusal_t *refusal, char *text, size_t size)
{
    const char *const why = wan_reason_text(refusal->reason);
    if (refusal->knob && refusal->has_other)
        return std::snprintf(text, size, "%s: coll_wan_%s is %s on rank %d, %s on rank %d", why, refusal->knob, refusal->held[0],
                             refusal->rank, refusal->held[1], refusal->other);
    if (refusal->knob)
        return std::snprintf(text, size, "%s: coll_wan_%s", why, refusal->knob);
    if (refusal->has_other)
        return std::snprintf(text, size, "%s: those of rank %d are not those of rank %d", why, refusal->rank, refusal->other);
    return std::snprintf(text, size, "%s", why);
}

} // extern "C"
