/*
 * Random jobs of adaptive trees: sites, latencies, operations of all kinds with
 * several under way, several processes a host, messages that come once more, processes that remember where they were, that come late or do not look for a hundred
 * timeouts, timeouts that are far too short, and views that are made wrong on
 * their way, so that trees have cycles and children that are none (contributions that come round: rings.cpp).  Whatever they
 * do, every rank gets every broadcast once, every contribution is counted once,
 * every operation ends on every rank, nothing is left over, and no process keeps more than it should of what comes for
 * operations that it has not begun.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "simulator.hpp"
#include "unit.hpp"

#include <cstdlib>
#include <cstring>
#include <numeric>

namespace {

using namespace adaptive_test;
using namespace wan_test;

enum class kind { broadcast, reduce, allreduce, gather };

struct planned {
    kind what;
    int root;
    size_t words;
    int window;             // operations under way at once, before it begins
    joining how = joining::any;     // reductions: what may be combined
};

uint64_t mixed(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = (a * 0x9e3779b97f4a7c15ull ^ b) * 0xbf58476d1ce4e5b9ull ^ c;
    x ^= x >> 29, x *= 0x94d049bb133111ebull, x ^= x >> 32;
    return x;
}

void add(const std::byte *in, std::byte *inout, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t a, b;
        std::memcpy(&a, in + i, 8), std::memcpy(&b, inout + i, 8);
        b += a;
        std::memcpy(inout + i, &b, 8);
    }
}

/** Neither commutes nor forgets: x -> a x + b, and the other one after it. */
void compose(const std::byte *in, std::byte *inout, size_t bytes)
{
    for (size_t i = 0; i + 16 <= bytes; i += 16) {
        uint64_t f[2], g[2];
        std::memcpy(f, in + i, 16), std::memcpy(g, inout + i, 16);
        const uint64_t both[] = {f[0] * g[0], g[0] * f[1] + g[1]};
        std::memcpy(inout + i, both, 16);
    }
}

/** One rank's way through the job. */
struct worker {
    struct open {
        size_t index;
        uint64_t op;
        std::vector<uint64_t> in, out;
    };
    size_t next = 0;
    std::vector<std::unique_ptr<open>> under_way;
    std::vector<int64_t> late;          // before each operation
    int64_t not_before = 0;
};

struct sums {
    uint64_t runs = 0, operations = 0, timeouts = 0, late = 0, redirected = 0, direct = 0, along = 0, changes = 0, messages = 0;
    uint64_t cycles = 0, limited = 0, repeated = 0, doubts = 0, moved = 0;
};

/** Nobody, all, or some remember where they were: along a chain, or anywhere, below processes that were below them. */
std::vector<std::map<tree_name, former_place>> former_places(uint64_t seed, int size)
{
    std::mt19937_64 random(seed ^ 131);
    const auto below = [&](uint64_t n) { return random() % n; };
    std::vector<std::map<tree_name, former_place>> all;
    if (below(2))
        return all;
    all.resize(static_cast<size_t>(size));
    std::vector<int> chain(all.size());
    std::iota(chain.begin(), chain.end(), 0);
    std::shuffle(chain.begin(), chain.end(), random);
    const uint64_t nonsense = below(3), part = 1 + below(4);       // of processes that remember nonsense: none, some, all; so many of four remember
    for (int root = 0; root < size; ++root)
        for (bool bandwidth : {false, true}) {
            rank_set above = rank_set::one(root);
            for (int rank : chain) {
                if (below(4) < part && rank != root) {
                    former_place &f = all[static_cast<size_t>(rank)][{root, bandwidth}];
                    f.known = true;
                    f.dist_ns = static_cast<int64_t>(below(200)) * ms;
                    f.ancestors = above;
                    for (int other = 0; below(2) < nonsense && other < size; ++other)
                        f.ancestors |= below(3) ? rank_set{} : rank_set::one(other);
                }
                above |= rank_set::one(rank);
            }
        }
    return all;
}

/** ahead: what is sent there of operations that have not begun at a process is limited to little in most jobs, as drawn. */
std::string run_job(uint64_t seed, sums &all, bool ahead = true)
{
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t n) { return random() % n; };
    const int size = static_cast<int>(1 + below(below(4) ? 8 : 24)), sites = static_cast<int>(1 + below(4));
    network net;
    for (int r = 0; r < size; ++r)
        net.site.push_back(static_cast<int>(below(static_cast<uint64_t>(sites))));
    // Several processes a host, of which some may not know each other: that must cost nothing but time.
    if (below(2))
        for (int s : net.site)
            net.host.push_back(4 * s + static_cast<int>(below(1 + below(4))));
    if (!net.host.empty() && below(4) == 0)
        for (int r = 0; r < size; ++r) {
            rank_set some;
            for (int other = 0; other < size; ++other)
                if (other != r && below(3) == 0)
                    some |= rank_set::one(other);
            net.unaware.push_back(some);
        }
    if (below(2)) {
        net.order.resize(static_cast<size_t>(size));
        std::iota(net.order.begin(), net.order.end(), 0);
        std::shuffle(net.order.begin(), net.order.end(), random);
    }
    net.near_ns = static_cast<int64_t>(10 + below(300)) * us;
    net.far_ns = static_cast<int64_t>(500 + below(50'000)) * us;
    net.jitter = below(2) ? 0.05 : 3;
    net.stalls = below(4) ? 0 : below(2) ? 0.02 : 0.2;
    net.rate = below(2) ? 0 : 5e6;
    if (const uint64_t x = mixed(seed, 5, 5); ahead && x % 3)
        net.repeats = x % 3 == 1 ? 0.01 : 0.2;
    adaptive_options o;
    o.variants = below(2) ? 0 : below(2) ? all_variants : static_cast<unsigned>(below(2 * variant_relays)) | (mixed(seed, 7, 7) % 2 ? variant_watch : 0u);
    o.peers = static_cast<int>(1 + below(12));
    o.bulk_bytes = 32 << 10;
    o.threshold_bytes = 1 + below(5000);
    o.reduce_timeout_ns = below(3) ? 0 : static_cast<int64_t>(1 + below(2000)) * us;
    o.segment_bytes = 64 + below(2000);
    o.seed = seed;
    if (const uint64_t x = mixed(seed, 3, 3); ahead && x % 4)
        o.ahead_bytes = x % 4 == 1 ? 1 : 1 + x / 4 % 20'000;
    if (ahead)
        net.former = former_places(seed, size);
    simulator sim(net, o, seed ^ 77);
    if (below(2)) {
        // Views that are not true: nearer or farther than they are, without some or all ancestors.
        auto lies = std::make_shared<std::mt19937_64>(seed ^ 99);
        const int64_t honest_after = static_cast<int64_t>(below(2000)) * ms;
        sim.meddle = [&sim, lies, size, honest_after](int, int, std::vector<std::byte> &bytes) {
            tell_message m;
            if (sim.now > honest_after || !message_get(m, bytes, size) || m.what != tell_kind::tell || (*lies)() % 2)
                return;
            m.view.dist_ns = static_cast<int64_t>((*lies)() % 50'000'000);
            m.view.est = (*lies)() % 100'000'000;
            m.view.gate = static_cast<int>((*lies)() % static_cast<uint64_t>(size));
            if ((*lies)() % 2)
                m.view.ancestors = rank_set::one(static_cast<int>((*lies)() % static_cast<uint64_t>(size)));
            m.view.slowed = (*lies)() % 8 == 0;
            m.view.connected = m.view.connected || (*lies)() % 4 == 0;
            bytes = message_put(m);
        };
    }

    std::vector<planned> job(2 + below(16));
    const int window = static_cast<int>(1 + below(4));
    const int other = static_cast<int>(below(static_cast<uint64_t>(size)));
    for (planned &p : job)
        {
        p = {static_cast<kind>(below(4)), below(8) == 0 ? static_cast<int>(below(static_cast<uint64_t>(size))) : below(2) ? 0 : other, below(4) ? below(20) : below(2000), window};
        if ((p.what == kind::reduce || p.what == kind::allreduce) && below(2)) {
            p.how = below(2) ? joining::neighbours : joining::halves;
            p.words += p.words % 2;
        }
    }
    const int64_t timeout = o.reduce_timeout_ns ? o.reduce_timeout_ns : net.far_ns * 4;
    const bool lateness = below(2);
    const int64_t pause = below(2) ? 0 : static_cast<int64_t>(below(100)) * ms;     // of computing, so that trees can change in between
    std::vector<worker> workers(static_cast<size_t>(size));
    for (worker &w : workers)
        for (size_t i = 0; i < job.size(); ++i)
            w.late.push_back(lateness && below(4) == 0 ? static_cast<int64_t>(below(static_cast<uint64_t>(100 * timeout))) : pause);
    std::string wrong;

    const auto value = [&](size_t op, size_t rank, size_t i) { return mixed(seed + op, rank, i); };
    const auto check = [&](const worker::open &w, int rank) -> std::string {
        const planned &p = job[w.index];
        if ((p.what == kind::reduce || p.what == kind::gather) && rank != p.root)
            return "";
        std::vector<uint64_t> ordered(p.words);
        for (size_t r = 0; p.how != joining::any && r < workers.size(); ++r) {
            std::vector<uint64_t> before = std::exchange(ordered, {});
            for (size_t i = 0; i < p.words; ++i)
                ordered.push_back(value(w.index, r, i));
            if (r > 0)
                compose(std::as_bytes(std::span(before)).data(), std::as_writable_bytes(std::span(ordered)).data(), p.words * 8);
        }
        for (size_t i = 0; p.what == kind::gather && i < w.out.size(); ++i)
            if (w.out[i] != value(w.index, i / p.words, i % p.words))
                return "Gather " + std::to_string(w.index) + " is wrong at " + std::to_string(i);
        for (size_t i = 0; p.what != kind::gather && i < p.words; ++i) {
            uint64_t expected = p.how == joining::any ? 0 : ordered[i];
            for (size_t r = 0; p.how == joining::any && r < workers.size(); ++r)
                if (p.what != kind::broadcast || static_cast<int>(r) == p.root)
                    expected += value(w.index, r, i);
            if (w.out[i] != expected)
                return "operation " + std::to_string(w.index) + " (kind " + std::to_string(static_cast<int>(p.what)) + ", root " + std::to_string(p.root) + ") is wrong on rank " + std::to_string(rank) + " at " + std::to_string(i);
        }
        return "";
    };
    const auto work = [&](int rank) {
        worker &w = workers[static_cast<size_t>(rank)];
        process &p = sim[rank];
        for (bool more = true; more;) {
            more = false;
            for (auto &u : w.under_way)
                if (u && p.node.done(u->op)) {
                    if (const std::string bad = check(*u, rank); !bad.empty())
                        wrong = bad;
                    p.node.end(u->op);
                    u.reset();
                }
            std::erase(w.under_way, nullptr);
            if (w.next == job.size() || static_cast<int>(w.under_way.size()) >= job[w.next].window)
                return;
            if (w.late[w.next]) {
                // Away, or looking but not yet there.
                const int64_t until = sim.now + std::exchange(w.late[w.next], 0);
                if (mixed(seed, static_cast<uint64_t>(rank), w.next) % 3 == 0)
                    p.away_until = until;
                else
                    w.not_before = until;
                sim.wake(rank, until);
                return;
            }
            if (sim.now < w.not_before) {
                sim.wake(rank, w.not_before);
                return;
            }
            const planned &op = job[w.next];
            auto u = std::make_unique<worker::open>();
            u->index = w.next++;
            u->in.resize(op.words), u->out.resize(op.words);
            const bool source = op.what != kind::broadcast || rank == op.root;
            for (size_t i = 0; source && i < op.words; ++i)
                u->in[i] = value(u->index, static_cast<size_t>(rank), i);
            const auto in = std::as_bytes(std::span(u->in));
            const auto out = std::as_writable_bytes(std::span(u->out));
            if (op.what == kind::broadcast) {
                u->out = u->in;
                u->op = p.node.broadcast_begin(op.root, std::as_writable_bytes(std::span(u->out)));
            } else if (op.what == kind::gather) {
                u->out.resize(rank == op.root ? op.words * workers.size() : 0);
                u->op = p.node.gather_begin(op.root, in, [base = u->out.data(), n = op.words](int r) {
                    return reinterpret_cast<std::byte *>(base + n * static_cast<size_t>(r));
                });
            } else {
                const bool commutes = op.how == joining::any;
                const adaptive_node::operation_rules rules{commutes ? combiner(add) : combiner(compose), commutes ? 8ull : 16ull, op.how};
                u->op = op.what == kind::reduce ? p.node.reduce_begin(op.root, in, out.data(), rules) : p.node.allreduce_begin(in, out.data(), rules);
            }
            p.node.step(sim.now);
            w.under_way.push_back(std::move(u));
            more = true;
        }
    };
    const auto paces = std::make_shared<std::mt19937_64>(seed ^ 111);
    const uint64_t went_in = mixed(seed, 9, 9) % 2 ? 0 : 1 + mixed(seed, 9, 9) % 100;
    std::mt19937_64 wents(seed ^ 151);
    uint64_t most_kept = 0;
    const uint64_t one_in = seed % 2 ? 0 : 1 + (*paces)() % 200;
    std::vector<int64_t> quiet_until(workers.size());      // else each answer to it would be another occasion
    for (int r = 0; r < size; ++r)
        sim[r].work = [&, r] {
            // Ways that look slow, or fast again: ten times as often as pace.hpp may tell.
            const uint64_t rate = 1 + (*paces)() % 10'000'000;
            const worker &w = workers[static_cast<size_t>(r)];
            int64_t &quiet = quiet_until[static_cast<size_t>(r)];
            if (size > 1 && one_in && (w.next < job.size() || !w.under_way.empty()) && (*paces)() % one_in == 0 && sim.now >= quiet) {
                quiet = sim.now + 6 * ms;
                for (int i = 0, to = static_cast<int>((*paces)() % static_cast<uint64_t>(size)); i < 5 && to != r; ++i)
                    sim[r].node.paced(to, {rate, rate}, sim.now);
            }
            // Ways that look farther or nearer than they are.
            if (size > 1 && went_in && (w.next < job.size() || !w.under_way.empty()) && wents() % went_in == 0)
                for (int i = 0, to = static_cast<int>(wents() % static_cast<uint64_t>(size)), took = static_cast<int>(wents() % 200); i < 3 && to != r; ++i)
                    sim[r].node.went(to, (1 + took) * ms, sim.now);
            work(r);
            if (const uint64_t kept = o.ahead_bytes ? sim[r].node.kept() : 0; kept > 0) {
                uint64_t longest = 0;
                for (const auto &p : sim.all)
                    longest = std::max<uint64_t>(longest, p->most_payload);
                most_kept = std::max(most_kept, kept);
                // What each of the others may send, of which the last message may go past that.
                if (kept > static_cast<uint64_t>(size - 1) * (o.ahead_bytes + longest + o.message_room_bytes))
                    wrong = "rank " + std::to_string(r) + " keeps " + std::to_string(kept) + " bytes, each may send " + std::to_string(o.ahead_bytes)
                            + " and a message of " + std::to_string(longest);
            }
        };
    uint64_t handled = 0;
    const bool ended = sim.run(20'000 * second, [&] {
        // Bounded: nothing goes round for ever.
        if (sim.handled > 4'000'000)
            wrong = "more than 4000000 messages";
        if (!wrong.empty())
            return true;
        if (sim.handled == handled)
            return false;
        handled = sim.handled;
        return std::all_of(workers.begin(), workers.end(), [&](const worker &w) { return w.next == job.size() && w.under_way.empty(); });
    });
    if (!wrong.empty())
        return wrong;
    if (!ended) {
        std::string who;
        for (int r = 0; r < size; ++r)
            if (const worker &w = workers[static_cast<size_t>(r)]; w.next < job.size() || !w.under_way.empty())
                who += " " + std::to_string(r) + (w.under_way.empty() ? "" : " in " + std::to_string(w.under_way[0]->index));
        return "does not end: rank" + who;
    }
    // What is still under way is of measuring and of trees, and ends.
    if (sim.run(sim.now + 1000 * second, [&] { return sim.handled > 8'000'000; }))
        return "trees do not settle";
    uint64_t repeated = 0;
    for (int r = 0; r < size; ++r) {
        const adaptive_node &n = sim[r].node;
        repeated += n.repeated();
        if (n.open() || n.stray() || n.seen().twice)
            return "rank " + std::to_string(r) + " is left with " + std::to_string(n.open()) + " operations, " + std::to_string(n.stray())
                   + " strays";
        all.timeouts += n.seen().timeouts, all.late += n.seen().late, all.redirected += n.seen().redirected;
        for (int root = 0; root < size; ++root)
            for (bool bandwidth : {false, true})
                if (const tree *t = n.tree_at({root, bandwidth}))
                    all.changes += t->changes(), all.cycles += t->cycles();
        all.doubts += n.near().doubts(), all.moved += n.near().changes();
        all.direct += n.seen().direct, all.along += n.seen().along_tree, all.messages += sim[r].sent;
    }
    if (repeated != sim.repeated)
        return std::to_string(repeated) + " messages known to have come before in place of " + std::to_string(sim.repeated);
    all.repeated += repeated;
    // A broadcast takes a message a rank and segment; a contribution goes up, at worst round and to the root, and says it was the last.
    uint64_t delivered = 0, most = 0, served = 0, data = 0;
    for (const planned &p : job) {
        const uint64_t ranks = static_cast<uint64_t>(size), cuts = 1 + p.words * 8 / std::max<uint64_t>(8, o.segment_bytes / 8 * 8);
        const bool broadcasts = p.what == kind::broadcast || p.what == kind::allreduce;
        delivered += broadcasts ? ranks - 1 : 0;
        most += (broadcasts ? ranks * cuts : 0) + (p.what != kind::broadcast ? ranks * cuts * (2 + ranks) + 2 * ranks : 0);
    }
    for (const auto &p : sim.all)
        served += p->node.seen().along_tree + p->node.seen().direct, data += p->data_sent;
    if (served != delivered || data > most)
        return std::to_string(served) + " ranks served in place of " + std::to_string(delivered) + ", by " + std::to_string(data)
               + " messages, " + std::to_string(most) + " at most";
    ++all.runs, all.operations += job.size();
    all.limited += o.ahead_bytes && most_kept >= o.ahead_bytes;
    return "";
}

std::string check_random_runs()
{
    const char *part = std::getenv("WAN_TEST_RUNS");
    const uint64_t first = test_seed(), runs = part ? std::strtoull(part, nullptr, 10) : is_long() ? 100'000 : is_short() ? 300 : 1'500;
    sums all;
    for (uint64_t s = first; s < first + runs; ++s)
        if (const std::string bad = run_job(s, all); !bad.empty())
            return "seed " + std::to_string(s) + ": " + bad;
    std::printf("%llu runs, %llu operations, %llu messages: %llu passed along trees, %llu direct; %llu timeouts, %llu contributions late, "
                "%llu redirected; %llu changes of a parent, %llu out of a cycle; "
                "in %llu runs as much was kept as a process may send; %llu messages came once more; %llu ways measured again, %llu had changed\n",
                static_cast<unsigned long long>(all.runs), static_cast<unsigned long long>(all.operations),
                static_cast<unsigned long long>(all.messages), static_cast<unsigned long long>(all.along),
                static_cast<unsigned long long>(all.direct), static_cast<unsigned long long>(all.timeouts),
                static_cast<unsigned long long>(all.late), static_cast<unsigned long long>(all.redirected),
                static_cast<unsigned long long>(all.changes), static_cast<unsigned long long>(all.cycles),
                static_cast<unsigned long long>(all.limited), static_cast<unsigned long long>(all.repeated),
                static_cast<unsigned long long>(all.doubts), static_cast<unsigned long long>(all.moved));
    // What is to be survived has happened.
    WAN_CHECK(runs < 300 || (all.timeouts > runs / 20 && all.late > 0 && all.cycles > 0 && all.redirected > runs / 20 && all.direct > 0 && all.along > 0 && all.limited > runs / 20 && all.repeated > runs && all.doubts > runs && all.moved > runs / 20));
    return "";
}

/**
 * Jobs in which what a process did to the children of the one it went to came round to it, and made it leave and come again for
 * ever: along a chain in a bandwidth tree, and beside who was nearer in a latency tree.
 */
std::string check_going_to_and_fro()
{
    sums all;
    for (const uint64_t seed : {5031862, 6000717})
        if (const std::string bad = run_job(seed, all, false); !bad.empty())
            return "seed " + std::to_string(seed) + ": " + bad;
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_random_runs>), cmocka_unit_test(test<check_going_to_and_fro>)};
    return cmocka_run_group_tests_name("adaptive random_runs", tests, nullptr, nullptr);
}
