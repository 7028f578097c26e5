/*
 * Every reason why a communicator is not ours, once: counters, verbose lines
 * and tests take names and sentences from here.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/site_name.hpp"
#include "wan_core.h"

#include <cstdio>
#include <string>

namespace {

struct entry {
    wan_reason_t reason;
    const char *name, *text, *remedy;
};

constexpr entry entries[] = {
    {WAN_REASON_NONE, "none", "there is no reason", "nothing"},
    {WAN_REASON_INTERCOMMUNICATOR, "intercommunicator", "it is an inter-communicator",
     "nothing: those are Open MPI's own; MPI_Intercomm_merge makes one that may be served"},
    {WAN_REASON_ONE_SITE, "one_site", "all ranks are in one site",
     "on one cluster nothing; else, where hosts have names: those have a third part where they should have two, or one id was set for all "
     "hosts; where they have none: name them, as clusters less than half a millisecond apart must be"},
    {WAN_REASON_UNKNOWN_SITE, "unknown_site", "the site of some ranks is not known",
     "complete the map for the host that is named (a line 'default SITE' takes the rest), or name the site of all hosts, or of none: then they are "
     "found by measuring"},
    {WAN_REASON_NO_NAMES, "no_names", "no rank has the name of a site, and coll_wan_discover is 0",
     "name the sites of all hosts (coll_wan_cluster_map, say), or leave coll_wan_discover out: then they are found by measuring"},
    {WAN_REASON_NOT_FOUND, "not_found", "the sites of some ranks have no name, and cannot be found by measuring",
     "name the sites of all hosts (coll_wan_cluster_map, say): processes that were spawned on one host, or that use MPI sessions, and jobs on more than "
     "4096 hosts are not measured; where this is none of them, a process had no memory for that, or has died"},
    {WAN_REASON_NO_PLUGIN, "no_plugin", "a process runs without coll/wan",
     "install it on the host that is named as on the others, and look there: wan-info doctor; where it is installed, it stays out by "
     "coll_wan_priority -1, by `coll` without wan, by lists with an end (pml_ob1_free_list_max), or by a bad file or name, of which it has told itself"},
    {WAN_REASON_OTHER_BUILD, "other_build", "a process runs another version or build of coll/wan",
     "install the same on all hosts, built from the same sources"},
    {WAN_REASON_OTHER_PRIORITY, "other_priority", "a process has another coll_wan_priority", "make it equal on all hosts"},
    {WAN_REASON_OTHER_DISCOVER, "other_discover", "a process has another coll_wan_discover", "make it equal on all hosts"},
    {WAN_REASON_OTHER_ARCHITECTURE, "other_architecture", "a process has another byte order or other sizes of types",
     "nothing: such jobs are Open MPI's own"},
    {WAN_REASON_NO_CARD, "no_card", "what a process published could not be looked up",
     "start the job again; where it happens again, run it without coll/wan"},
    {WAN_REASON_OTHER_SITES, "other_sites", "the ranks know different sites", "put the same map, at the same path, on all hosts"},
    {WAN_REASON_OTHER_LINKS, "other_links", "the cluster maps of the ranks tell different links",
     "put the same map, at the same path, on all hosts"},
    {WAN_REASON_OTHER_RULES, "other_rules", "the ranks have different files of coll_wan_rules", "put the same file on all hosts"},
    {WAN_REASON_OTHER_PARAMETERS, "other_parameters", "the ranks have different parameters",
     "make the one that is named equal on all hosts: parameters may come from a file of a host, or its environment"},
    {WAN_REASON_NO_MEMORY, "no_memory", "a rank has no memory for what it must know", "run fewer processes on a host"},
    {WAN_REASON_NO_TAGS, "no_tags", "the transport has too few tags, or the ranks are too far apart in their use",
     "free communicators and requests that are not used any more, or take another transport"},
    {WAN_REASON_NO_MODULE, "no_module", "no component of a lower priority serves its collectives",
     "leave the parameter `coll` empty, or name others beside wan in it (--mca coll wan,tuned,libnbc,basic); coll_wan_priority, where it is set, "
     "must be above theirs (tuned: 30)"},
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

const char *wan_reason_remedy(wan_reason_t reason)
{
    return entries[reason].remedy;
}

void wan_refusal_differs(wan_refusal_t *refusal, int mine, int mine_has, int other_has)
{
    refusal->knob = refusal->reason == WAN_REASON_OTHER_PRIORITY ? "priority" : "discover";
    refusal->has_other = true;
    refusal->other = mine;
    std::snprintf(refusal->held[0], sizeof refusal->held[0], "%d", other_has);
    std::snprintf(refusal->held[1], sizeof refusal->held[1], "%d", mine_has);
}

int wan_refusal_describe(const wan_refusal_t *refusal, char *text, size_t size)
{
    const char *const why = wan_reason_text(refusal->reason);
    if (refusal->reason == WAN_REASON_ONE_SITE) {
        if (!refusal->site)
            return std::snprintf(text, size, "%s: they are on one host, and have no names of sites", why);
        const std::string site(wan::wan_site(refusal->site));
        return site.starts_with("measured/")
                   ? std::snprintf(text, size, "%s, %s, by their round trips (clusters less than a few milliseconds apart may need names)", why, site.c_str())
                   : std::snprintf(text, size, "%s, %s", why, site.c_str());
    }
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
