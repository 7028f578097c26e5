/*
 * Every counter that tools can read, once: Open MPI's performance variables, the
 * reference and tests take names and sentences from here.  What counts is elsewhere.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/service.hpp"
#include "comm.hpp"

#include <cstddef>
#include <cstdio>
#include <iterator>

namespace {

/** One for each of something: %s in both texts is its name, in `help` of reasons its sentence. */
struct family {
    const char *name, *help;
    size_t offset, first, members;
    bool of_reasons;
};

constexpr family families[] = {
    {"served_%s", "Calls of %s that coll/wan served", offsetof(wan_counters_t, served), 0, WAN_COUNTED, false},
    {"declined_%s", "Calls of %s for which coll/wan had no algorithm, handed to the module before it",
     offsetof(wan_counters_t, declined), 0, WAN_COLLECTIVES, false},
    {"left_%s", "Calls of %s left to the module before coll/wan by a rule, to try it, or since it was measured to be the fastest",
     offsetof(wan_counters_t, left), 0, WAN_COLLECTIVES, false},
    {"blocking_%s_ns", "Nanoseconds that blocking calls of %s took on this process, of those served, each from beginning to end",
     offsetof(wan_counters_t, blocking_ns), 0, WAN_COUNTED, false},
    {"passed",
     "Calls handed to the module before coll/wan on communicators that it does not serve "
     "(communicators in one site do not even pass through it)",
     offsetof(wan_counters_t, passed), 0, 1, false},
    {"communicators", "Communicators that coll/wan serves or served", offsetof(wan_counters_t, communicators), 0, 1, false},
    {"refused_%s", "Communicators left to other components: %s", offsetof(wan_counters_t, refused), WAN_REASON_NONE + 1,
     WAN_REASONS, true},
    {"wan_messages", "Messages that this process sent to another site", offsetof(wan_counters_t, wan_messages), 0, 1, false},
    {"wan_bytes", "Bytes that this process sent to another site", offsetof(wan_counters_t, wan_bytes), 0, 1, false},
    {"elapsed_ns",
     "Nanoseconds from beginning to end of the calls served, blocking or not, but along adaptive trees and of neighbourhood collectives; "
     "calls that overlap count each",
     offsetof(wan_counters_t, elapsed_ns), 0, 1, false},
    {"predicted_ns", "Nanoseconds that those calls were predicted to take", offsetof(wan_counters_t, predicted_ns), 0, 1, false},
    {"trials", "Calls that were trials of a way to serve them, by coll/wan or by the module before it",
     offsetof(wan_counters_t, trials), 0, 1, false},
    {"links_measured", "Measurements of links that plans were made by, the first ones included",
     offsetof(wan_counters_t, links_measured), 0, 1, false},
    {"links_looked_at", "Short looks whether links have changed, since calls took much more or less time",
     offsetof(wan_counters_t, links_looked_at), 0, 1, false},
    {"links_changed", "How often links had changed, so that plans are made anew", offsetof(wan_counters_t, links_changed), 0, 1,
     false},
    {"tree_calls", "Calls that coll/wan served along adaptive trees, of those served", offsetof(wan_counters_t, tree_calls), 0, 1, false},
    {"tree_changes", "Parents that this process took in adaptive trees, the first of each tree included, or left",
     offsetof(wan_counters_t, tree_changes), 0, 1, false},
    {"tree_direct",
     "Messages of broadcasts along adaptive trees that this process sent to a process that was not its child there: some while trees "
     "change, none afterwards",
     offsetof(wan_counters_t, tree_direct), 0, 1, false},
};

constexpr size_t of_process()
{
    size_t n = 0;
    for (const family &f : families)
        n += f.members - f.first;
    return n;
}
// No number that no tool can see.
static_assert(of_process() == sizeof(wan_counters_t) / sizeof(uint64_t) - 1 && WAN_REASON_NONE == 0);

/** Those that a tool may have of one communicator; few, since each of them is a sum where those above are many. */
struct own {
    const char *name, *help;
    size_t offset, members;
};

constexpr own owns[] = {
    {"comm_calls", "Calls on this communicator that coll/wan served", offsetof(wan_counters_t, served), WAN_COUNTED},
    {"comm_declined", "Calls on this communicator for which coll/wan had no algorithm, or that a rule or a trial left to the module before it",
     offsetof(wan_counters_t, declined), 2 * WAN_COLLECTIVES},
    {"comm_passed", "Calls on this communicator handed to the module before coll/wan, since it was not served",
     offsetof(wan_counters_t, passed), 1},
    {"comm_blocking_ns", "Nanoseconds that blocking calls served on this communicator took on this process", offsetof(wan_counters_t, blocking_ns),
     WAN_COUNTED},
    {"comm_elapsed_ns", "Nanoseconds of the calls served on this communicator by a plan, blocking or not, each from beginning to end",
     offsetof(wan_counters_t, elapsed_ns), 1},
    {"comm_predicted_ns", "Nanoseconds that those calls were predicted to take", offsetof(wan_counters_t, predicted_ns), 1},
    {"comm_wan_messages", "Messages that this process sent to another site in calls on this communicator",
     offsetof(wan_counters_t, wan_messages), 1},
    {"comm_wan_bytes", "Bytes that this process sent to another site in calls on this communicator", offsetof(wan_counters_t, wan_bytes), 1},
    {"comm_links_changed", "How often links had changed, as seen on this communicator", offsetof(wan_counters_t, links_changed), 1},
    {"comm_tree_changes", "Parents that this process took in this communicator's adaptive trees, or left", offsetof(wan_counters_t, tree_changes),
     1},
};
static_assert(offsetof(wan_counters_t, left) == offsetof(wan_counters_t, declined) + WAN_COLLECTIVES * sizeof(uint64_t));

} // namespace

extern "C" {

size_t wan_counter_count(void) { return of_process() + std::size(owns); }

// Its texts are formats, all of them above.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
void wan_counter_get(size_t i, wan_counter_t *counter)
{
    if (i >= of_process()) {
        const own &o = owns[i - of_process()];
        *counter = {{}, {}, o.offset, o.members, true};
        std::snprintf(counter->name, sizeof counter->name, "%s", o.name);
        std::snprintf(counter->help, sizeof counter->help, "%s", o.help);
        return;
    }
    const family *f = families;
    for (; i >= f->members - f->first; ++f)
        i -= f->members - f->first;
    const size_t member = f->first + i;
    const char *name = f->of_reasons ? wan_reason_name(static_cast<wan_reason_t>(member))
                       : f->members > 1 ? wan_collective_name(static_cast<wan_collective_t>(member))
                                        : "";
    const char *said = f->of_reasons ? wan_reason_text(static_cast<wan_reason_t>(member)) : name;
    std::snprintf(counter->name, sizeof counter->name, f->name, name);
    std::snprintf(counter->help, sizeof counter->help, f->help, said);
    counter->offset = f->offset + member * sizeof(uint64_t);
    counter->members = 1;
    counter->of_communicator = false;
}
#pragma GCC diagnostic pop

uint64_t wan_counter_value(const wan_counter_t *counter, const wan_counters_t *of)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < counter->members; ++i)
        sum += *reinterpret_cast<const uint64_t *>(reinterpret_cast<const char *>(of) + counter->offset + i * sizeof sum);
    return sum;
}

const wan_counters_t *wan_comm_counters(const wan_comm_t *comm)
{
    return &comm->counters;
}

void wan_comm_count(const wan_comm_t *comm, wan_counters_t *sum)
{
    auto *whole = reinterpret_cast<uint64_t *>(sum);
    uint64_t changes = 0, direct = 0;
    wan::adaptive_service *trees;
    {
        std::lock_guard hold(const_cast<wan_comm_t *>(comm)->lock);
        trees = comm->trees;
    }
    if (trees) {
        std::lock_guard hold(trees->lock);
        comm->each_node([&](auto &n) {
            changes += n.node().tree_changes();
            direct += n.node().seen().direct;
        });
    }
    std::lock_guard hold(const_cast<wan_comm_t *>(comm)->lock);
    const auto *one = reinterpret_cast<const uint64_t *>(&comm->counters);
    for (size_t i = 0; i < sizeof *sum / sizeof *whole; ++i)
        whole[i] += one[i];
    sum->tree_changes += changes;
    sum->tree_direct += direct;
}

} // extern "C"
