/*
 * The C boundary of the core (wan_core.h): communicators, how their ranks agree, and runs.  Catches
 * every exception; decides nothing itself.
 *
 * Next: comm.hpp; the rest of the boundary is in describe.cpp, measure/links_entry.cpp, measure/entry.cpp,
 * tune/entry.cpp, report/entry.cpp, adaptive/run.cpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/run.hpp"
#include "comm.hpp"
#include "given_files.hpp"
#include "graph/run.hpp"
#include "guarded.hpp"
#include "report/entry.hpp"
#include "text_file.hpp"
#include "topo/site_name.hpp"
#include "tune/choices.hpp"
#include "vectors.hpp"
#include "wan_source_id.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace {

using wan::guarded;

int64_t positive(uint64_t v)
{
    return static_cast<int64_t>(v >> 2);
}

/** Differs where two builds might not plan alike: made from their sources. */
constexpr int64_t protocol_version = int64_t{1} << 32 | WAN_SOURCE_ID;

/** Places of the votes, in pairs, see wan_comm_vote(); the last ones are alone: what the rank counts that knows of the fewest calls, and what all are like: the least limit, the slowest processor. */
enum : size_t { vote_build, vote_sites, vote_links, vote_learned, vote_rules, vote_learned_rules, vote_learned_here, vote_sites_of, vote_links_of, vote_rules_of, vote_knobs };
static_assert(vote_knobs == wan_comm::fixed_votes);
constexpr size_t vote_spent = WAN_VOTES - 1, vote_eager = WAN_VOTES - 2, vote_copy = WAN_VOTES - 3, vote_reduce = WAN_VOTES - 4;
static_assert(vote_reduce == WAN_VOTES - wan_comm::lone_votes);

/**
 * A value and a rank that has it in one number: after MIN over all ranks, the least value with the first such rank, and,
 * of the negative ones, the greatest with its.
 */
namespace with_rank {
constexpr int rank_bits = 21;
constexpr int64_t most_value = int64_t{1} << 40, last_rank = (int64_t{1} << rank_bits) - 1;
constexpr int64_t of(int64_t value, int rank) { return value * (last_rank + 1) + std::min<int64_t>(rank, last_rank); }
constexpr int64_t value(int64_t v) { return v >> rank_bits; }
constexpr int64_t rank(int64_t v) { return v & last_rank; }
static_assert(value(of(-most_value, 3)) == -most_value && rank(of(-most_value, 3)) == 3 && of(-most_value, 0) > INT64_MIN);
} // namespace with_rank

std::string told(const wan_knob_t &knob, int64_t value)
{
    const char *word = knob.type == WAN_KNOB_ENUM ? wan_knob_enumerator(&knob, static_cast<int>(value), nullptr) : nullptr;
    return word ? word : std::to_string(value);
}

bool named(const char *file) { return file && *file; }

/** Whether a host is in two sites: then they are pretended, for a test. */
bool share_hosts(const std::vector<wan::place> &places)
{
    std::unordered_map<uint64_t, std::string_view> site_of;
    return std::any_of(places.begin(), places.end(), [&](const wan::place &p) { return site_of.try_emplace(p.node, p.site).first->second != p.site; });
}

} // namespace

extern "C" {

const char *wan_collective_name(wan_collective_t collective)
{
    return collective < WAN_COUNTED ? wan::kind_of(collective).name : "?";
}

int wan_params_check(const wan_params_t *params, wan_message_t *message)
{
    *message = {};
    return guarded([&]() -> int {
        wan::input_error error;
        const bool good = wan::files().begin(*params, error);
        wan::message_fill(*message, error);
        return good ? WAN_OK : WAN_ERR_INPUT;
    });
}

int wan_comm_open(const wan_params_t *params, const wan_peer_t *peers, int size, int me, wan_comm_t **comm,
                  wan_refusal_t *refusal)
{
    *comm = nullptr;
    *refusal = {};
    return guarded([&]() -> int {
        std::vector<wan::place> places(static_cast<size_t>(size));
        for (size_t r = 0; r < places.size(); ++r) {
            if (!peers[r].site || !*peers[r].site) {
                refusal->reason = WAN_REASON_UNKNOWN_SITE;
                refusal->has_rank = true;
                refusal->rank = static_cast<int>(r);
                return WAN_DECLINED;
            }
            places[r] = {wan::wan_site(peers[r].site), peers[r].node, peers[r].domain, wan::site_inside(peers[r].site)};
        }
        wan::topology topo{places};
        if (topo.site_count() < 2) {
            refusal->reason = WAN_REASON_ONE_SITE;
            refusal->site = peers[0].site;
            return WAN_DECLINED;
        }
        *comm = new wan_comm(std::move(topo), me, *params, share_hosts(places));
        return WAN_OK;
    });
}

void wan_comm_close(wan_comm_t *comm)
{
    delete comm;
}

void wan_comm_machine(wan_comm_t *comm, const wan_machine_t *machine)
{
    for (const auto x : {&wan_machine_t::eager_bytes, &wan_machine_t::copy_ps, &wan_machine_t::reduce_ps})
        if (machine->*x > 0)
            comm->links.machine.*x = machine->*x;
}

/* Each value with its negative: after MIN they are opposite only if all ranks had the same; parameters with who has them. */
void wan_comm_vote(const wan_comm_t *comm, int64_t votes[WAN_VOTES])
{
    std::fill(votes, votes + WAN_VOTES, 0);
    auto cast = [&](size_t i, int64_t value) {
        votes[2 * i] = value;
        votes[2 * i + 1] = -value;
    };
    cast(vote_build, protocol_version);
    cast(vote_sites, positive(comm->topo.digest()));
    cast(vote_links, positive(comm->links.map_digest()));
    cast(vote_learned, comm->links.digest());
    cast(vote_rules, positive(wan::digest(comm->given)));
    cast(vote_learned_rules, positive(wan::digest(comm->learned_before)));
    cast(vote_learned_here, positive(wan::digest(comm->learned_here)));
    auto cast_of = [&](size_t i, int64_t value) {
        votes[2 * i] = with_rank::of(value, comm->me);
        votes[2 * i + 1] = with_rank::of(-value, comm->me);
    };
    // A part of what is compared above, only to tell who has which.
    for (auto [vote, of] : {std::pair{vote_sites, vote_sites_of}, {vote_links, vote_links_of}, {vote_rules, vote_rules_of}})
        cast_of(of, votes[2 * vote] % with_rank::most_value);
    for (size_t i = 0; i < comm->shaping.size(); ++i)
        cast_of(vote_knobs + i, comm->shaping[i].second);
    votes[vote_spent] = comm->links.spent_ns();
    votes[vote_eager] = comm->links.machine.eager_bytes;
    votes[vote_copy] = -comm->links.machine.copy_ps;
    votes[vote_reduce] = -comm->links.machine.reduce_ps;
}

int wan_comm_agree(wan_comm_t *comm, const int64_t votes[WAN_VOTES], wan_refusal_t *refusal)
{
    *refusal = {};
    return guarded([&]() -> int {
        auto equal = [&](size_t i) { return votes[2 * i] == -votes[2 * i + 1]; };
        auto least = [&](size_t i) { return with_rank::value(votes[2 * i]); };
        auto greatest = [&](size_t i) { return -with_rank::value(votes[2 * i + 1]); };
        auto ranks_tell = [&](size_t i) {
            const int64_t one = with_rank::rank(votes[2 * i]), other = with_rank::rank(votes[2 * i + 1]);
            if (least(i) == greatest(i) || one == with_rank::last_rank || other == with_rank::last_rank)
                return;
            refusal->has_rank = refusal->has_other = true;
            refusal->rank = static_cast<int>(one);
            refusal->other = static_cast<int>(other);
        };
        const struct {
            size_t vote, of;
            wan_reason_t reason;
        } all[] = {{vote_build, vote_build, WAN_REASON_OTHER_BUILD}, {vote_sites, vote_sites_of, WAN_REASON_OTHER_SITES},
                   {vote_links, vote_links_of, WAN_REASON_OTHER_LINKS}, {vote_rules, vote_rules_of, WAN_REASON_OTHER_RULES}};
        for (const auto &a : all)
            if (!equal(a.vote)) {
                refusal->reason = a.reason;
                if (a.of != a.vote)
                    ranks_tell(a.of);
                return WAN_DECLINED;
            }
        for (size_t i = 0; i < comm->shaping.size(); ++i)
            if (const size_t vote = vote_knobs + i; least(vote) != greatest(vote)) {
                const wan_knob_t &knob = *comm->shaping[i].first;
                refusal->reason = WAN_REASON_OTHER_PARAMETERS;
                refusal->knob = knob.name;
                ranks_tell(vote);
                const auto held = [&](auto &text, int64_t value) { std::snprintf(text, sizeof text, "%s", told(knob, value).c_str()); };
                held(refusal->held[0], least(vote));
                held(refusal->held[1], greatest(vote));
                return WAN_DECLINED;
            }
        comm->links.machine = {votes[vote_eager], -votes[vote_copy], -votes[vote_reduce]};
        if (!equal(vote_learned_rules))
            comm->learned_before.clear();       // some hosts do not have the file
        if (!equal(vote_learned_here))
            comm->learned_here.clear();         // some ranks have learned elsewhere
        comm->links.agree(equal(vote_learned), votes[vote_spent]);
        return WAN_OK;
    });
}

int wan_comm_save(const wan_comm_t *comm, const wan_params_t *params, wan_message_t *message)
{
    return guarded([&]() -> int {
        wan::input_error error, other;
        const auto links = named(params->links_file) ? comm->links.to_keep() : std::nullopt;
        const bool rules_kept = !named(params->tune_file) || wan::rules_save(wan::files().path_of(params->tune_file), wan::chosen().all(), error);
        const bool links_kept = !links || wan::links_save(wan::files().path_of(params->links_file), *links, rules_kept ? error : other);
        if (rules_kept && links_kept)
            return WAN_OK;
        if (!other.what.empty())        // neither
            error.what += "; " + other.where + ": " + other.what;
        wan::message_fill(*message, error);
        return WAN_ERR_INPUT;
    });
}

int wan_params_keep(const wan_params_t *params, int which, wan_message_t *message)
{
    if (which > 1)
        return WAN_DECLINED;
    return guarded([&]() -> int {
        // Where nothing will be learned, nothing is lost: a file may be given to be read only.
        const char *const file = which == 0 ? params->tune_file : params->links_file;
        if (!named(file) || (which == 0 ? params->tune_trials : params->measure_share) == 0)
            return WAN_OK;
        wan::input_error error;
        const std::string path = wan::files().path_of(file);
        if (which == 0 ? wan::rules_savable(path, error) : wan::text_file_changeable(path, error))
            return WAN_OK;
        error.where += which == 0 ? " (coll_wan_tune_file)" : " (coll_wan_links_file)";
        wan::message_fill(*message, error);
        return WAN_ERR_INPUT;
    });
}

int wan_file_write(const char *file, const char *text)
{
    return guarded([&]() -> int { return wan::text_file_write(file, text) ? WAN_OK : WAN_ERR_INPUT; });
}

const char *wan_write_remedy(int error) { return wan::write_remedy(error); }

int wan_run_begin(wan_comm_t *comm, const wan_call_t *call, const wan_port_t *port, void *port_ctx, wan_run_t **run)
{
    *run = nullptr;
    return guarded([&]() -> int {
        if (call->collective == WAN_NEIGHBOR) {
            *run = wan::exchange_begin(*comm, *call, port, port_ctx);
            return WAN_OK;
        }
        if (call->blocks)
            comm->trial = 0;
        wan::request r = wan::request_of(comm->topo, *call);
        r.polled = !call->blocks && !call->internal;
        const char *const unfit = wan::trees_unfit(*comm, *call);
        auto [where, scattered, far_block_bytes] = wan::bind_call(comm->topo, comm->me, *call);
        const auto [plan, prepared, left, along_trees] = comm->decide(r, {scattered, call->epoch, call->internal, call->blocks, call->asks, unfit}, far_block_bytes);
        if (call->blocks && comm->trial)
            comm->trial_predicted_ns = plan ? plan->predicted_ns : comm->usually_ns(r, call->epoch);
        if (along_trees) {
            *run = wan::trees_begin(*comm, *call, port, port_ctx);
            wan::report_note(**run, *call, r);
            return WAN_OK;
        }
        if (!plan) {
            if (left && call->blocks && !comm->trial) {
                comm->trial = WAN_TRIAL_LEFT;
                comm->left = wan_comm::left_kind(r);
            }
            wan::report_declined(*comm, *call, r, left);
            return WAN_DECLINED;
        }
        where.segment = std::max<size_t>(1, plan->segment_bytes / r.element_bytes);
        where.window = plan->window;
        auto code = prepared->code;
        *run = new wan_run{comm, plan, prepared, std::optional<wan::engine>(std::in_place, code, std::move(where), port, port_ctx), port, port_ctx, r.element_bytes};
        (*run)->internal = call->internal;
        (*run)->waits = call->blocks;
        (*run)->blocks = call->blocks && !call->counts_vary && !comm->trial;     // one kind of call, one size
        wan::report_note(**run, *call, r);
        return WAN_OK;
    });
}

int wan_run_progress(wan_run_t *run)
{
    return guarded([&]() -> int {
        if (run->started_ns < 0)
            run->started_ns = run->port->now_ns(run->port_ctx);
        const int rc = run->engine ? run->engine->progress() : wan::trees_progress(*run);
        if (rc == WAN_DONE && !run->finished) {
            run->finished = true;
            const int64_t elapsed_ns = run->port->now_ns(run->port_ctx) - run->started_ns;
            if (!run->engine)
                wan::trees_account(*run, elapsed_ns);
            else if (!run->plan && !run->by_edges)
                run->comm->links.ran(elapsed_ns);
            else if (!run->internal)
                run->account(elapsed_ns);
        }
        return rc;
    });
}

void wan_run_complete(wan_run_t *run, uint32_t token, int code)
{
    run->engine->complete(token, code);
}

bool wan_run_pending(const wan_run_t *run)
{
    return run->engine ? run->engine->pending() : wan::trees_pending(*run);
}

bool wan_run_along_trees(const wan_run_t *run)
{
    return !run->engine;
}

int wan_run_error(const wan_run_t *run)
{
    return run->engine ? run->engine->error() : 0;
}

void wan_run_abandon(wan_run_t *run)
{
    if (!run->engine)
        wan::trees_abandon(*run);
}

void wan_run_release(wan_run_t *run)
{
    if (run && !run->engine)
        wan::trees_release(*run);
    delete run;
}

} // extern "C"
