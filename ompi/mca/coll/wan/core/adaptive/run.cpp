/*
 * See run.hpp; and the boundary of trees.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/run.hpp"

#include "guarded.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

// A message holds its payload, a set of all ranks and what else there is to say.
static_assert(wan::adaptive_most_payload + wan::adaptive_most_ranks / 8 + 64 <= WAN_TREES_MESSAGE_MAX);

struct wan_trees {
    wan_trees(const wan::adaptive_options &o, wan::adaptive_service::sender send, uint32_t job)
        : service(o, std::move(send), wan::measured(), job)
    {
    }
    wan::adaptive_service service;
};

namespace wan {

namespace {

/** Bytes of the message; a barrier has none. */
size_t bytes_of(const wan_call_t &call)
{
    return call.collective == WAN_BARRIER ? 0 : call.count * call.element_bytes;
}

/** f(node), with the lock: what fails here ends the operations of all trees, since others count on this process. */
template <class F> void with_node(adaptive_service &trees, adaptive_service::member &m, F f)
{
    try {
        f(m.node());
    } catch (...) {
        trees.failed = true;
        m.node().abandon();
        throw;
    }
}

/** Of calls that begin in one order on all ranks; with the lock. */
adaptive_service::member &node_of(wan_comm &comm, unsigned stream, int64_t now_ns)
{
    if (stream == 0)
        return *comm.node;
    const auto [at, fresh] = comm.more_nodes.try_emplace(stream);
    if (!fresh)
        return *at->second;
    try {
        at->second = comm.node_open(stream, now_ns);
    } catch (...) {
        comm.more_nodes.erase(at);      // no memory: none of them is nullptr
        throw;
    }
    if (comm.node->failed())
        at->second->abandon();
    return *at->second;
}

/** Which contributions may be combined; with coll_wan_stable the same expression in all calls that give each other's results. */
joining joining_of(const wan_comm &comm, const wan_call_t &call)
{
    return comm.wish[call.collective].stable ? joining::halves : call.commutative ? joining::any : joining::neighbours;
}

} // namespace

const char *trees_unfit(const wan_comm &comm, const wan_call_t &call)
{
    static_assert(adaptive_most_ranks == 16'384 && adaptive_most_payload == 61'440);      // as is said here
    if (!comm.node)
        return comm.topo.size() > adaptive_most_ranks ? "serve 16384 ranks at most" : "were not begun on this communicator";
    // (Open MPI itself calls collectives in MPI_Finalize, for files that are still open: after all processes are quiet.)
    if (comm.trees->is_quiet())
        return "have ended, since MPI_Finalize was called";
    if (!call.dense)
        return "reduce predefined types without gaps alone, whatever the operator";
    if (call.counts_vary)
        return "take blocks of one size alone";
    return call.element_bytes > adaptive_most_payload ? "take no elements of more than 61440 bytes" : "";
}

wan_run *trees_begin(wan_comm &comm, const wan_call_t &call, const wan_port_t *port, void *port_ctx)
{
    auto run = std::make_unique<wan_run>();
    run->comm = &comm;
    if (call.asks)
        return run.release();
    const size_t bytes = bytes_of(call);
    const std::span<const std::byte> in(static_cast<const std::byte *>(call.in), bytes);
    const std::span<std::byte> out(static_cast<std::byte *>(call.out), bytes);
    const size_t element = call.element_bytes;
    run->port = port;
    run->port_ctx = port_ctx;
    run->element_bytes = element;
    adaptive_node::operation_rules rules{[](const std::byte *, std::byte *, size_t) {}, element, joining::any};
    if (kind_of(call.collective).operation)
        rules = {[port, port_ctx, element](const std::byte *from, std::byte *to, size_t n) {
                     port->reduce(port_ctx, from, to, n / element);
                 },
                 element, joining_of(comm, call)};
    const auto place = [base = out.data(), bytes, displs = call.out_vector.displs](int rank) {
        return base + (displs ? displs[rank] : static_cast<ptrdiff_t>(bytes) * rank);
    };

    std::lock_guard hold(comm.trees->lock);
    const int64_t now_ns = port->now_ns(port_ctx);
    auto &member = node_of(comm, call.stream, now_ns);
    const auto begin = [=, trees = comm.trees, m = &member, collective = call.collective, root = call.root](int64_t at_ns) {
        uint64_t op = 0;
        with_node(*trees, *m, [&](adaptive_node &node) {
            node.step(at_ns);
            switch (collective) {
            case WAN_BCAST: op = node.broadcast_begin(root, out); break;
            case WAN_REDUCE: op = node.reduce_begin(root, in, out.data(), rules); break;
            case WAN_GATHER: op = node.gather_begin(root, in, place); break;
            default: op = node.allreduce_begin(in, out.data(), rules);
            }
        });
        return op;
    };
    run->waits = call.blocks;
    run->blocks = call.blocks && !comm.trial;
    run->trees = wan_run::by_trees{call.collective, call.root, bytes, &member, 0};
    if (call.blocks && comm.trial)
        run->trees->begin = begin;
    else
        run->trees->op = begin(now_ns);
    return run.release();
}

int trees_progress(wan_run &run)
{
    auto [trees, member] = std::tie(*run.comm->trees, *run.trees->node);
    int code = WAN_ERR_PORT;
    std::lock_guard hold(trees.lock);
    with_node(trees, member, [&](adaptive_node &node) {
        if (trees.failed || member.failed())
            return;         // what was abandoned looks done
        const int64_t now_ns = run.port->now_ns(run.port_ctx);
        if (const auto begin = std::exchange(run.trees->begin, {}))
            run.trees->op = begin(now_ns);
        node.step(now_ns);
        code = node.done(run.trees->op) ? WAN_DONE : WAN_OK;
    });
    return code;
}

/** Whether there is something to be told of it: it is done, or has failed. */
bool trees_pending(const wan_run &run)
{
    std::lock_guard hold(run.comm->trees->lock);
    return run.comm->trees->failed || run.trees->node->failed() || run.trees->begin || run.trees->node->node().done(run.trees->op);
}

void trees_abandon(wan_run &run)
{
    std::lock_guard hold(run.comm->trees->lock);
    run.comm->each_node([](auto &n) { n.abandon(); });
}

void trees_account(wan_run &run, int64_t elapsed_ns)
{
    std::lock_guard hold(run.comm->lock);
    ++run.comm->counters.served[run.trees->collective];
    ++run.comm->counters.tree_calls;
    if (run.waits)
        run.comm->counters.blocking_ns[run.trees->collective] += static_cast<uint64_t>(elapsed_ns);
    run.comm->links.took(elapsed_ns, false, false);
    if (run.comm->report)
        run.comm->report->add(run.noted, elapsed_ns, 0, 0);     // what crosses is counted as it goes
    if (run.blocks && everyone_waits(run.trees->collective))
        run.comm->links.seen.record(~(run.trees->bytes * WAN_COLLECTIVES + run.trees->collective), elapsed_ns);
}

void trees_release(wan_run &run)
{
    if (!run.trees || run.trees->begin)
        return;
    std::lock_guard hold(run.comm->trees->lock);
    run.trees->node->node().end(run.trees->op);
}

std::string trees_describe(const wan_run &run)
{
    const auto &t = *run.trees;
    const bool bandwidth = t.node->node().tree_for(t.root, t.bytes).bandwidth;
    return std::string(kind_of(t.collective).name) + " adaptive root " + std::to_string(t.root)
           + (bandwidth ? " bandwidth" : " latency") + " tree";
}

} // namespace wan

extern "C" {

int wan_trees_open(const wan_params_t *params, uint32_t job, wan_trees_send_t send, void *ctx, bool mortal, wan_trees_t **trees)
{
    *trees = nullptr;
    return wan::guarded([&]() -> int {
        wan::adaptive_options o;
        o.variants = params->tree_phoenix ? 0 : wan::all_variants;
        o.peers = static_cast<int>(params->tree_peers);
        o.ping_bytes = static_cast<uint64_t>(params->ping_bytes);
        if (params->measure_bytes > 0)
            o.bulk_bytes = static_cast<uint64_t>(params->measure_bytes);
        o.threshold_bytes = static_cast<uint64_t>(params->tree_threshold);
        o.seed = job;       // (not of the communicator: who was measured in one need not be in the next)
        o.reduce_timeout_ns = params->reduce_timeout * 1000;
        o.segment_bytes = static_cast<uint64_t>(params->segment);
        if (mortal)
            o.message_room_bytes = wan::adaptive_mortal_room_bytes;
        using bytes = std::span<const std::byte>;
        *trees = new wan_trees(o, [send, ctx](int process, bytes head, bytes payload, uint64_t counted) {
            send(ctx, process, head.data(), head.size(), payload.data(), payload.size(), counted);
        }, job);
        return WAN_OK;
    });
}

void wan_trees_close(wan_trees_t *trees)
{
    delete trees;
}

void wan_trees_fail(wan_trees_t *trees)
{
    trees->service.failed = true;
}

void wan_comm_leave_trees(wan_comm_t *comm)
{
    comm->leave_trees();
}

void wan_comm_end_stream(wan_comm_t *comm, unsigned stream)
{
    if (!comm->node)
        return;
    std::lock_guard hold(comm->trees->lock);
    if (const auto at = comm->more_nodes.find(stream); at != comm->more_nodes.end()) {
        comm->leave_node(*at->second);
        comm->more_nodes.erase(at);
    }
}

int wan_trees_pass(wan_trees_t *trees, uint64_t number, int64_t now_ns)
{
    return wan::guarded([&]() -> int {
        std::lock_guard hold(trees->service.lock);
        trees->service.pass(number, now_ns);
        return WAN_OK;
    });
}

void wan_trees_quiet(wan_trees_t *trees)
{
    std::lock_guard hold(trees->service.lock);
    trees->service.quiet();
}

int wan_trees_receive(wan_trees_t *trees, int process, const void *bytes, size_t size, int64_t now_ns)
{
    return wan::guarded([&]() -> int {
        std::lock_guard hold(trees->service.lock);
        trees->service.receive(process, {static_cast<const std::byte *>(bytes), size}, now_ns);
        return WAN_OK;
    });
}

int wan_trees_arrived(wan_trees_t *trees, int process, size_t counted, int64_t now_ns)
{
    return wan::guarded([&]() -> int {
        std::lock_guard hold(trees->service.lock);
        trees->service.arrived(process, counted, now_ns);
        return WAN_OK;
    });
}

void wan_trees_forget(wan_trees_t *trees, int first, int count)
{
    std::lock_guard hold(trees->service.lock);
    trees->service.forget(first, count);
}

int wan_trees_step(wan_trees_t *trees, int64_t now_ns)
{
    return wan::guarded([&]() -> int {
        std::unique_lock hold(trees->service.lock, std::try_to_lock);
        if (hold.owns_lock())
            trees->service.step(now_ns);
        return WAN_OK;
    });
}

bool wan_comm_wants_trees(const wan_comm_t *comm)
{
    if (comm->topo.size() > wan::adaptive_most_ranks)
        return false;
    const auto along_trees = [](const wan::rule &r) { return r.how.along_trees; };
    return (comm->tune.trees && comm->tune.trials)
           || std::find(std::begin(comm->wants_trees), std::end(comm->wants_trees), true) != std::end(comm->wants_trees)
           || std::any_of(comm->given.begin(), comm->given.end(), along_trees)
           || std::any_of(comm->learned_before.begin(), comm->learned_before.end(), along_trees);
}

int wan_comm_use_trees(wan_comm_t *comm, wan_trees_t *trees, uint64_t number, uint64_t more, const wan_tree_peer_t *peers, int64_t now_ns, int *known)
{
    *known = 0;
    return wan::guarded([&]() -> int {
        std::lock_guard hold(trees->service.lock);
        const wan::site_id mine = comm->topo.site_of(comm->me);
        const auto crossed = [comm, mine](int rank, size_t payload) {
            if (comm->topo.site_of(rank) == mine)
                return;
            std::lock_guard hold_counters(comm->lock);
            ++comm->counters.wan_messages;
            comm->counters.wan_bytes += payload;
        };
        const auto here = comm->topo.locate(comm->me);
        wan::adaptive_places where;
        for (int lane = 0; lane < comm->topo.lane_count(here.site, here.node); ++lane)
            where.beside |= wan::rank_set::one(comm->topo.rank_at(here.site, here.node, lane));
        where.order.resize(static_cast<size_t>(comm->topo.size()));
        for (int rank = 0; rank < comm->topo.size(); ++rank)
            where.order[static_cast<size_t>(comm->topo.slot_of(rank))] = rank;
        std::vector<int> processes;
        std::vector<wan::process_id> who;
        for (const wan_tree_peer_t &p : std::span(peers, static_cast<size_t>(comm->topo.size()))) {
            processes.push_back(p.process);
            who.push_back(wan::process_of(p.job, p.rank));
        }
        comm->node_open = [=](unsigned stream, int64_t at_ns) {
            return trees->service.open({number, more, stream}, processes, comm->me, crossed, at_ns, where, who);
        };
        auto *node = comm->node_open(0, now_ns);
        *known = node->known_before();
        std::lock_guard hold_comm(comm->lock);
        comm->trees = &trees->service;
        comm->node = node;
        return WAN_OK;
    });
}

} // extern "C"
