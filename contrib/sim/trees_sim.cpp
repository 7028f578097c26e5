/*
 * wantrees_sim: coll/wan's adaptive trees, and what the Phoenix paper compares them with, on a
 * simulated network (trees_network.hpp).  Started by `wansim trees`; prints one JSON
 * object a line.
 *
 * All processes begin an operation at one instant; its time is from there to the end of
 * the last one's part.  Trees have been in use before, and settled, unless --repeat.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sim_engine.hpp"
#include "trees_network.hpp"
#include "trees_static.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <stdexcept>

namespace {

namespace sg4 = simgrid::s4u;
using json = nlohmann::ordered_json;

/** From the end of an operation to the beginning of the next one, and of how many bytes of all buffers together each has its own. */
constexpr double pause_s = 0.05;
constexpr uint64_t most_own_bytes = 256 << 20;

struct step {
    std::string op, how;            // bcast, reduce; adaptive, mpich, magpie, list
    uint64_t bytes = 0;
    uint64_t comm = 1;              // its number
    std::vector<int> members;       // of the communicator; the first one is the root
    double start_s = 0;
    bool shown = true;
};

struct repetition {
    uint64_t bytes = 0;             // 0: none
    double leave_s = 60, back_s = 90, until_s = 130;
    bool anew = false;
};

struct settings {
    sim::trees_network network;
    wan::adaptive_options trees;
    std::vector<std::string> points;
    double settle_s = 20;
    int rounds = 1;
    bool each = false;
    repetition repeat;
};

step step_make(const char *op, const char *how, uint64_t bytes, bool shown = true)
{
    step s;
    s.op = op, s.how = how, s.bytes = bytes, s.shown = shown;
    return s;
}

std::byte pattern(uint64_t comm, int process, size_t i)
{
    return static_cast<std::byte>(comm * 31 + static_cast<uint64_t>(process) * 7 + i * 13 + (i >> 8));
}

/** What all processes share: the list of operations, and who is at which. */
class experiment {
public:
    explicit experiment(settings s) : set(std::move(s)), site(set.network.sites())
    {
        order.resize(site.size());
        std::iota(order.begin(), order.end(), 0);
        std::mt19937_64 random(set.network.seed * 77);
        std::shuffle(order.begin(), order.end(), random);
        if (set.repeat.bytes) {
            half = {order.begin(), order.begin() + static_cast<std::ptrdiff_t>((order.size() + 1) / 2)};
            next();
            return;
        }
        // Both trees come into being.
        for (uint64_t bytes : {uint64_t{1}, set.trees.threshold_bytes})
            add(step_make("bcast", "adaptive", bytes, false));
        for (const std::string &point : set.points)
            for (int r = 0; r < set.rounds; ++r)
                add(point_parse(point));
        steps[0].start_s = pause_s;
    }

    step point_parse(const std::string &text) const
    {
        step s = step_make("", "", 0);
        const auto first = text.find(':'), second = text.find(':', first + 1);
        if (second == std::string::npos)
            throw std::invalid_argument("'" + text + "' is not OP:BYTES:HOW");
        s.op = text.substr(0, first);
        s.bytes = std::stoull(text.substr(first + 1, second - first - 1));
        s.how = text.substr(second + 1);
        const bool known = s.how == "adaptive" || s.how == "mpich" || s.how == "magpie" || (s.how == "list" && s.op == "bcast");
        if (!known || (s.op != "bcast" && s.op != "reduce"))
            throw std::invalid_argument("'" + text + "': bcast or reduce; adaptive, mpich, magpie, or (bcast) list");
        return s;
    }

    /** A member has ended its part; the last one sees to the next operation. */
    void ended(size_t i, int process, double seconds, bool right)
    {
        step &s = steps[i];
        times.resize(std::max(times.size(), steps.size()));
        auto &mine = times[i];
        mine.emplace_back(process, seconds);
        wrong += !right;
        if (mine.size() < s.members.size())
            return;
        if (s.shown)
            print(i);
        if (set.repeat.bytes)
            next();
        else if (i + 1 == steps.size())
            over = true;
        else
            steps[i + 1].start_s = sg4::Engine::get_clock() + (steps[i + 1].shown && !s.shown ? set.settle_s : pause_s);
        for (sim::trees_process *p : carriers->processes)
            if (p)
                p->wake();
    }

    settings set;
    std::vector<int> site, order, half;
    std::vector<step> steps;
    bool over = false;
    uint64_t wrong = 0;
    double changed_s = 0;           // a parent, last
    std::vector<int> parents[2];    // in the latency tree and the bandwidth tree, at the end
    uint64_t direct = 0;            // messages of broadcasts that went to no child
    uint64_t timeouts = 0, late = 0;    // of reductions so far: processes that waited no longer, contributions after that
    std::vector<std::byte> common;
    std::unique_ptr<sim::trees_carriers> carriers;

private:
    std::vector<std::vector<std::pair<int, double>>> times;
    double phase_s = 0;

    void add(step s)
    {
        s.members = order;
        s.start_s = 1e30;
        steps.push_back(std::move(s));
    }

    /** Of a repetition: all processes, the first half, all again. */
    void next()
    {
        const double now = sg4::Engine::get_clock();
        const repetition &r = set.repeat;
        over = now >= r.until_s;
        if (over)
            return;
        step s = step_make("bcast", "adaptive", r.bytes);
        s.comm = now < r.leave_s ? 1 : now < r.back_s ? 2 : 3;
        s.members = s.comm == 2 ? half : order;
        s.start_s = now + 1e-3;
        steps.push_back(std::move(s));
    }

    void print(size_t i)
    {
        const step &s = steps[i];
        auto t = times[i];
        std::sort(t.begin(), t.end(), [](auto &a, auto &b) { return a.second < b.second; });
        json line{{"type", "point"}, {"point", s.op + ":" + std::to_string(s.bytes) + ":" + s.how}, {"op", s.op}, {"bytes", s.bytes},
                  {"how", s.how}, {"processes", s.members.size()}, {"us", t.back().second * 1e6}};
        if (set.repeat.bytes)
            line.update({{"start_s", s.start_s}, {"changed_s", changed_s}, {"direct", direct}});
        if (s.how == "adaptive" && s.op == "reduce")
            line.update({{"timeouts", timeouts}, {"late", late}});
        if (set.each) {
            json all = json::array();
            for (const auto &[process, seconds] : t)
                all.push_back(seconds * 1e6);
            line["each"] = all;
        }
        std::puts(line.dump().c_str());
        std::fflush(stdout);
        times[i].clear();
        times[i].shrink_to_fit();
    }
};

/** Of parents in a tree: edges between clusters, depth, children of one process at most. */
json tree_text(const experiment &x, const std::vector<int> &parents)
{
    const auto &members = x.steps.back().members;
    const auto cluster = [&](size_t rank) { return x.site[static_cast<size_t>(members[rank])]; };
    std::vector<int> children(parents.size());
    int crossing = 0, depth = 0, alone = 0;
    for (size_t r = 1; r < parents.size(); ++r) {
        alone += parents[r] < 0;
        if (parents[r] < 0)
            continue;
        ++children[static_cast<size_t>(parents[r])];
        crossing += cluster(r) != cluster(static_cast<size_t>(parents[r]));
        int d = 0;
        for (size_t at = r; parents[at] >= 0 && d < static_cast<int>(parents.size()); at = static_cast<size_t>(parents[at]))
            ++d;
        depth = std::max(depth, d);
    }
    return {{"crossing", crossing}, {"depth", depth}, {"children", *std::max_element(children.begin(), children.end())}, {"alone", alone}};
}

class actor {
public:
    actor(experiment &x, int me) : x_(x), me_(me), p_(options(x), *x.carriers, me) {}

    void operator()()
    {
        for (size_t i = 0;; ++i) {
            for (;;) {
                const double now = sg4::Engine::get_clock();
                if (i < x_.steps.size() && x_.steps[i].start_s <= now)
                    break;
                if (x_.over) {
                    leave();
                    return;
                }
                serve(i < x_.steps.size() ? x_.steps[i].start_s : 1e18);
            }
            const step s = x_.steps[i];
            if (!std::count(s.members.begin(), s.members.end(), me_))
                continue;
            const bool right = run(s);
            x_.ended(i, me_, sg4::Engine::get_clock() - s.start_s, right);
        }
    }

private:
    static wan::adaptive_options options(const experiment &x)
    {
        wan::adaptive_options o = x.set.trees;
        o.seed = x.set.network.seed;
        return o;
    }

    void serve(double until_s)
    {
        p_.serve(until_s);
        if (!member_)
            return;
        unsigned n = 0;
        const int root = 0;
        for (bool bandwidth : {false, true})
            if (const wan::tree *t = member_->node().tree_at({root, bandwidth}))
                n += t->changes();
        if (n != std::exchange(changes_, n))
            x_.changed_s = sg4::Engine::get_clock();
    }

    /** Tells what the trees are. */
    void leave()
    {
        if (!member_ || comm_ != x_.steps.back().comm)
            return;
        const auto &members = x_.steps.back().members;
        const auto me = static_cast<size_t>(std::find(members.begin(), members.end(), me_) - members.begin());
        for (bool bandwidth : {false, true}) {
            const wan::tree *t = member_->node().tree_at({0, bandwidth});
            auto &parents = x_.parents[bandwidth];
            parents.resize(members.size(), -1);
            parents[me] = t ? t->parent() : -1;
        }
    }

    void enter(const step &s)
    {
        if (comm_ == s.comm)
            return;
        const bool away = comm_ != 0 && s.comm > comm_ + 1;
        if (member_)
            p_.service().close(member_);
        if (away && x_.set.repeat.anew)
            p_.forget();
        comm_ = s.comm;
        const auto me = static_cast<int>(std::find(s.members.begin(), s.members.end(), me_) - s.members.begin());
        member_ = p_.service().open({s.comm, 0, 0}, s.members, me, [](int, size_t) {}, p_.now_ns());
        seen_ = {};
    }

    bool run(const step &s)
    {
        if (s.how == "adaptive")
            return run_adaptive(s);
        if (s.how == "list")
            sim::list_broadcast(p_, me_, s.members, x_.site, s.bytes);
        else if (s.op == "bcast")
            s.how == "mpich" ? sim::mpich_broadcast(p_, me_, s.members, s.bytes)
                             : sim::magpie_broadcast(p_, me_, s.members, x_.site, s.bytes);
        else
            s.how == "mpich" ? sim::mpich_reduce(p_, me_, s.members, s.bytes) : sim::magpie_reduce(p_, me_, s.members, x_.site, s.bytes);
        return true;
    }

    /** False: the result is wrong. */
    bool run_adaptive(const step &s)
    {
        enter(s);
        wan::adaptive_node &node = member_->node();
        const bool own = s.bytes * s.members.size() <= most_own_bytes, root = s.members[0] == me_, reduce = s.op == "reduce";
        if (!own && x_.common.size() < s.bytes)
            x_.common.resize(s.bytes);
        std::vector<std::byte> mine(own ? s.bytes : 0);
        const std::span<std::byte> buffer = own ? std::span(mine) : std::span(x_.common).first(s.bytes);
        for (size_t i = 0; own && (root || reduce) && i < s.bytes; ++i)
            buffer[i] = pattern(s.comm, me_, i);
        std::vector<std::byte> result(own && reduce && root ? s.bytes : 0);
        const auto add = [](const std::byte *in, std::byte *inout, size_t n) {
            for (size_t i = 0; i < n; ++i)
                inout[i] = static_cast<std::byte>(static_cast<unsigned>(inout[i]) + static_cast<unsigned>(in[i]));
        };
        const uint64_t op = reduce ? node.reduce_begin(0, buffer, own ? result.data() : buffer.data(), {add, 1}) : node.broadcast_begin(0, buffer);
        node.step(p_.now_ns());
        while (!node.done(op))
            serve(1e18);
        node.end(op);
        const wan::adaptive_counters before = std::exchange(seen_, node.seen());
        x_.direct += seen_.direct - before.direct;
        x_.timeouts += seen_.timeouts - before.timeouts;
        x_.late += seen_.late - before.late;
        for (size_t i = 0; own && !reduce && i < s.bytes; ++i)
            if (buffer[i] != pattern(s.comm, s.members[0], i))
                return false;
        for (size_t i = 0; own && reduce && root && i < s.bytes; ++i) {
            unsigned sum = 0;
            for (int member : s.members)
                sum += static_cast<unsigned>(pattern(s.comm, member, i));
            if (result[i] != static_cast<std::byte>(sum))
                return false;
        }
        return true;
    }

    experiment &x_;
    int me_;
    sim::trees_process p_;
    uint64_t comm_ = 0;
    wan::adaptive_service::member *member_ = nullptr;
    unsigned changes_ = 0;
    wan::adaptive_counters seen_;
};

settings settings_parse(int argc, char **argv)
{
    settings s;
    bool phoenix = false;
    std::vector<std::string> without;
    CLI::App app{"coll/wan's adaptive trees on a simulated network"};
    s.network.options(app);
    app.add_option("--overhead", s.network.overhead_us, "us of a process for a message, at either end");
    app.add_option("--seed", s.network.seed, "of the network, the order of ranks, and the processes' draws");
    app.add_option("--settle", s.settle_s, "s from the first use of trees to the first point");
    app.add_option("--rounds", s.rounds, "of each point");
    app.add_flag("--each", s.each, "the time of each process");
    app.add_flag("--phoenix", phoenix, "the paper's rules alone");
    std::string names;
    for (const auto &[variant, name] : wan::tree_variants)
        names += std::string(names.empty() ? "" : ", ") + name;
    app.add_option("--without", without, "leave a variant out: " + names)->delimiter(',')->allow_extra_args(false);
    app.add_option("--repeat", s.repeat.bytes, "broadcast so many bytes again and again, half of the processes leaving");
    app.add_option("--leave", s.repeat.leave_s, "s");
    app.add_option("--back", s.repeat.back_s, "s");
    app.add_option("--until", s.repeat.until_s, "s");
    app.add_flag("--anew", s.repeat.anew, "those that come back are new processes, which know nothing");
    app.add_option("points", s.points, "OP:BYTES:HOW, of bcast, reduce; adaptive, mpich, magpie, list");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &e) {
        std::exit(app.exit(e));
    }
    if (phoenix)
        s.trees.variants = 0;
    for (const std::string &name : without) {
        const auto at = std::find_if(wan::tree_variants.begin(), wan::tree_variants.end(), [&](auto &v) { return v.name == name; });
        if (at == wan::tree_variants.end())
            throw std::invalid_argument("'" + name + "' is no variant: see --help");
        s.trees.variants &= ~static_cast<unsigned>(at->variant);
    }
    if (s.network.processes() < 2 || (s.points.empty() && !s.repeat.bytes))
        throw std::invalid_argument("nothing to do: two processes at least, and points or --repeat");
    return s;
}

} // namespace

int main(int argc, char **argv)
{
    sim::engine engine(argv[0]);
    try {
        experiment x(settings_parse(argc, argv));
        const auto hosts = x.set.network.build();
        x.carriers = std::make_unique<sim::trees_carriers>(x.set.network, hosts);
        for (size_t i = 0; i < hosts.size(); ++i)
            sg4::Actor::create("p" + std::to_string(i), hosts[i], [&x, i] { actor(x, static_cast<int>(i))(); });
        engine.run();
        if (!x.over)
            throw std::runtime_error("the simulation came to a stop before its end");
        std::puts(json{{"type", "end"}, {"wrong", x.wrong}, {"changed_s", x.changed_s}, {"latency_tree", tree_text(x, x.parents[0])},
                       {"bandwidth_tree", tree_text(x, x.parents[1])}}.dump().c_str());
        if (x.wrong)
            std::fprintf(stderr, "wantrees_sim: %s wrong results\n", std::to_string(x.wrong).c_str());
        return x.wrong ? 1 : 0;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "wantrees_sim: %s\n", e.what());
        return 2;
    }
}
