/*
 * The C boundary of measuring (wan_core.h): this process, and the links of a communicator.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm.hpp"
#include "guarded.hpp"
#include "input_error.hpp"
#include "measure/processor.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

using wan::guarded;

extern "C" {

int wan_machine_measure(wan_machine_t *machine)
{
    return guarded([&]() -> int {
        const wan::processor &here = wan::processor_here();
        machine->copy_ps = here.copy_ps;
        machine->reduce_ps = here.reduce_ps;
        return WAN_OK;
    });
}

int wan_comm_probe(wan_comm_t *comm, const wan_port_t *port, void *port_ctx, wan_run_t **run)
{
    *run = nullptr;
    return guarded([&]() -> int {
        auto next = comm->links.next();
        if (!next)
            return WAN_DONE;
        auto prepared = std::make_shared<wan_comm::prepared>();
        prepared->code = std::make_shared<wan::program>(std::move(*next));
        const std::span<char> message = comm->links.message();
        const wan::binding b{.in = message.data(), .out = message.data(), .count = message.size(), .segment = message.size()};
        auto code = prepared->code;
        *run = new wan_run{comm, std::nullopt, prepared, std::optional<wan::engine>(std::in_place, code, b, port, port_ctx), port, port_ctx};
        return WAN_OK;
    });
}

bool wan_comm_measures(const wan_comm_t *comm)
{
    return comm->links.measuring();
}

bool wan_comm_doubts(const wan_comm_t *comm)
{
    return comm->links.doubtful();
}

bool wan_comm_affords(const wan_comm_t *comm)
{
    return comm->links.affords();
}

int wan_comm_assume(wan_comm_t *comm)
{
    return guarded([&]() -> int {
        comm->links.assume();
        return WAN_OK;
    });
}

void wan_comm_facts(const wan_comm_t *comm, int64_t facts[WAN_FACTS])
{
    std::ranges::copy(comm->links.found(), facts);
}

int wan_comm_learn(wan_comm_t *comm, const int64_t facts[WAN_FACTS])
{
    return guarded([&]() -> int {
        wan::fact_vector v;
        std::copy(facts, facts + WAN_FACTS, v.begin());
        return comm->links.take(v);
    });
}

int wan_comm_contradiction(const wan_comm_t *comm, wan_message_t *message)
{
    return guarded([&]() -> int {
        static std::atomic<unsigned> told{0};
        wan::contradictions c = comm->links.doubts();
        const auto once = [&](unsigned kind, auto... clauses) {
            if ((!clauses->empty() || ...) && (told.fetch_or(kind) & kind))
                (clauses->clear(), ...);
        };
        once(1, &c.links);
        once(2, &c.widths);
        once(4, &c.wide, &c.near);
        if (!c.any())
            return WAN_OK;
        wan::message_fill(*message, {"links of " + std::to_string(comm->topo.site_count()) + " sites", c.text(500), c.remedy()});
        // Who pretends sites for a test knows that they are near.
        return c.links.empty() && c.widths.empty() && comm->links.pretended ? WAN_OK : WAN_DONE;
    });
}

int wan_comm_defers(wan_comm_t *comm, uint64_t bytes, int64_t votes[WAN_CHECK_VOTES])
{
    return guarded([&]() -> int {
        const auto asked = comm->links.defers(bytes);
        if (asked)
            std::ranges::copy(*asked, votes);
        return asked ? WAN_DONE : WAN_OK;
    });
}

int wan_comm_check(wan_comm_t *comm, wan_collective_t collective, int64_t now_ns, int64_t votes[WAN_CHECK_VOTES])
{
    return guarded([&]() -> int {
        const auto asked = wan::everyone_waits(collective) ? comm->links.check(now_ns) : std::nullopt;
        if (asked)
            std::ranges::copy(*asked, votes);
        return asked ? WAN_DONE : WAN_OK;
    });
}

int wan_comm_check_answer(wan_comm_t *comm, const int64_t votes[WAN_CHECK_VOTES])
{
    return guarded([&]() -> int {
        wan::check_votes combined;
        std::copy_n(votes, combined.size(), combined.begin());
        return comm->links.answer(combined);
    });
}

} // extern "C"
