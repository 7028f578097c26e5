/*
 * One MPI job that times collectives, by coll/wan's core and by the MPI library:
 * on SimGrid's SMPI in simulated time, or (to check the port) under mpirun.
 * Started by wansim; prints one JSON object a line.
 *
 * Usage: wansim_worker --hosts FILE [--facts N,...] [--fold-over BYTES] [--rounds N] [--lead S] POINT...
 *   --hosts FILE     one line a rank, HOST.SITE
 *   --facts N,...    as an earlier job printed them: links are not measured again
 *   --fold-over B    where all ranks' buffers together take more, they share memory and
 *                    results are not checked (default: never)
 *   --lead S         seconds from the announcement of a round to its start (default 1)
 *   POINT            OP:BYTES:mpi[,root=R] or
 *                    OP:BYTES:wan[,root=R][,links=N][,segment=N][,threshold=N][,algo=NAME][,as=MANNER][,tune=TRIALS[,excess=PERCENT][,share=PERCENT]]
 *                    OP:BYTES:wan,slower=TIMES[,interval=MS], to know after how many calls that long the links are looked at
 *                    OP:BYTES:ways, to know what could serve it
 *
 * A manner is what rules name behind the colon, with '/' in place of blanks, as in
 * vandegeijn/links/8.  tune: the first calls as the tuner has them, to the end of trials; the time is the next call's.
 *
 * All ranks start a round at one instant of their common clock; its time is from
 * there to the end of the last rank.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sim_common.hpp"
#include "sim_runner.hpp"
#include "sim_tuning.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace {

using sim::operation;

struct point {
    std::string text;           // as given
    wan_collective_t collective = WAN_BCAST;
    size_t bytes = 0;
    bool by_wan = false;
    int root = 0;
    wan::wishes wish;
    std::optional<wan::manner> how;
    uint64_t slower = 0, interval_ms = 50;
    bool lists = false;         // what could serve it
    wan::tune_options tune{.trials = 0};
};

struct options {
    std::string hosts;
    std::string facts;
    uint64_t fold_over = UINT64_MAX;
    double lead_s = 1;
    int rounds = 1;
    std::vector<point> points;
};

uint64_t number_parse(const std::string &text)
{
    char *end = nullptr;
    const uint64_t n = std::strtoull(text.c_str(), &end, 10);
    if (text.empty() || *end)
        throw std::invalid_argument("'" + text + "' is no number");
    return n;
}

std::vector<std::string> split(const std::string &text, char at)
{
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, at);)
        parts.push_back(part);
    return parts;
}

void setting_apply(point &p, const std::string &setting)
{
    const auto equals = setting.find('=');
    const std::string key = setting.substr(0, equals), value = equals == std::string::npos ? "" : setting.substr(equals + 1);
    if (key == "root")
        p.root = static_cast<int>(number_parse(value));
    else if (key == "links")
        p.wish.links = static_cast<uint32_t>(number_parse(value));
    else if (key == "segment")
        p.wish.segment_bytes = number_parse(value);
    else if (key == "threshold")
        p.wish.threshold_bytes = number_parse(value);
    else if (key == "tune")
        p.tune.trials = static_cast<unsigned>(number_parse(value));
    else if (key == "excess")
        p.tune.excess_percent = static_cast<unsigned>(number_parse(value));
    else if (key == "slower")
        p.slower = number_parse(value);
    else if (key == "interval")
        p.interval_ms = number_parse(value);
    else if (key == "share")
        p.tune.share_percent = static_cast<unsigned>(number_parse(value));
    else if (key == "as" && (p.how = sim::manner_from(p.collective, value)) && p.how->algo)
        ;
    else if (key == "algo" && wan::algorithm_named(p.collective, value))
        p.wish.algo = wan::algorithm_named(p.collective, value);
    else
        throw std::invalid_argument("'" + setting + "' in '" + p.text + "'");
}

point point_parse(const std::string &text)
{
    const auto parts = split(text, ':');
    point p;
    p.text = text;
    int c = 0;
    while (c < WAN_COLLECTIVES && (parts.empty() || parts[0] != wan_collective_name(wan::collective_at(c))))
        ++c;
    if (c == WAN_COLLECTIVES || parts.size() != 3)
        throw std::invalid_argument("'" + text + "' is not OP:BYTES:SETTING");
    p.collective = wan::collective_at(c);
    p.bytes = number_parse(parts[1]);
    const auto settings = split(parts[2], ',');
    if (settings.empty() || (settings[0] != "wan" && settings[0] != "mpi" && settings[0] != "ways"))
        throw std::invalid_argument("'" + text + "' is neither mpi nor wan");
    p.by_wan = settings[0] == "wan";
    p.lists = settings[0] == "ways";
    for (size_t i = 1; i < settings.size(); ++i)
        setting_apply(p, settings[i]);
    return p;
}

options options_parse(int argc, char **argv)
{
    options o;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (!word.starts_with("--")) {
            o.points.push_back(point_parse(word));
            continue;
        }
        if (i + 1 == argc)
            throw std::invalid_argument(word + " needs a value");
        const std::string value = argv[++i];
        if (word == "--hosts")
            o.hosts = value;
        else if (word == "--facts")
            o.facts = value;
        else if (word == "--fold-over")
            o.fold_over = number_parse(value);
        else if (word == "--rounds")
            o.rounds = static_cast<int>(number_parse(value));
        else if (word == "--lead")
            o.lead_s = std::strtod(value.c_str(), nullptr);
        else
            throw std::invalid_argument("unknown argument " + word);
    }
    return o;
}

/** Read by rank 0 alone: in a simulation, thousands would read the same file. */
sim::placement placement_read(const std::string &path, int me, int ranks)
{
    std::string text;
    if (me == 0) {
        std::ifstream in(path);
        std::ostringstream all;
        all << in.rdbuf();
        text = all.str();
    }
    uint64_t size = text.size();
    sim::tell_all(&size, sizeof(size), MPI_COMM_WORLD);
    text.resize(size);
    sim::tell_all(text.data(), size, MPI_COMM_WORLD);
    sim::placement where{split(text, '\n')};
    if (where.hosts.size() < static_cast<size_t>(ranks))
        throw std::invalid_argument("--hosts: a line for each rank is needed");
    where.hosts.resize(static_cast<size_t>(ranks));
    return where;
}

wan::fact_vector facts_parse(const std::string &text)
{
    wan::fact_vector v{};
    size_t i = 0;
    for (const std::string &word : split(text, ','))
        if (i < v.size())
            v[i++] = static_cast<int64_t>(number_parse(word));
    return v;
}

void facts_print(const wan::fact_vector &v)
{
    size_t last = v.size();
    while (last > 0 && v[last - 1] == 0)
        --last;
    std::printf("{\"type\": \"facts\", \"values\": [");
    for (size_t i = 0; i < last; ++i)
        std::printf("%s%lld", i ? ", " : "", static_cast<long long>(v[i]));
    std::printf("]}\n");
    std::fflush(stdout);
}

/** What a point gives, on rank 0. */
struct result {
    double us = 0;
    int wrong = 0;              // ranks with a wrong result, over all rounds
    bool checked = false;
    int64_t messages = 0;       // sent to other sites, over all rounds
    std::vector<int64_t> out, in;       // bytes by site that sent, that received
    std::string plan;
    int64_t predicted_ns = 0;
    sim::noticed noticed;
    std::vector<sim::tuning::call> calls;       // of a tuned class, the first ones
    std::vector<wan::tuner::candidate> tried;
    std::string chosen;
};

class job {
public:
    explicit job(const options &o)
        : options_(o), me_(rank()), ranks_(size()), runner_(MPI_COMM_WORLD, placement_read(o.hosts, me_, ranks_))
    {
        if (o.facts.empty())
            facts_ = runner_.measure();
        else
            runner_.learn(facts_ = facts_parse(o.facts));
        if (me_ == 0)
            facts_print(facts_);
    }

    void run(const point &p)
    {
        const bool folded = operation::footprint(p.collective, p.bytes, static_cast<uint64_t>(ranks_)) > options_.fold_over;
        result r;
        r.checked = !folded && p.collective != WAN_BARRIER;
        auto what = std::make_unique<operation>(p.collective, p.bytes, p.root, me_, ranks_, folded);
        if (p.lists) {
            if (me_ == 0)
                list(p, *what);
            return;
        }
        if (p.tune.trials) {
            tuned(p, *what, r);
            return;
        }
        std::vector<double> times;
        const auto sites = static_cast<size_t>(runner_.topology().site_count());
        r.out.resize(sites);
        r.in.resize(sites);
        for (int round = 0; round < options_.rounds; ++round) {
            const bool served = one_round(p, *what, static_cast<uint64_t>(round), folded, times, r);
            if (!served) {
                if (me_ == 0)
                    std::printf("{\"type\": \"unserved\", \"point\": \"%s\"}\n", p.text.c_str());
                return;
            }
        }
        std::sort(times.begin(), times.end());
        r.us = times[times.size() / 2] * 1e6;
        if (p.slower) {
            const auto ns = static_cast<int64_t>(r.us * 1000);
            r.noticed = sim::calls_until_noticed(runner_.facts(), runner_.facts().farthest_ns(runner_.topology().site_of(me_)), ns,
                                                 ns * static_cast<int64_t>(p.slower), static_cast<int64_t>(p.interval_ms) * 1'000'000);
        }
        if (me_ == 0)
            print(p, r);
    }

private:
    const options &options_;
    int me_, ranks_;
    sim::runner runner_;
    wan::fact_vector facts_{};

    static int rank()
    {
        int r;
        MPI_Comm_rank(MPI_COMM_WORLD, &r);
        return r;
    }
    static int size()
    {
        int n;
        MPI_Comm_size(MPI_COMM_WORLD, &n);
        return n;
    }

    void list(const point &p, const operation &what)
    {
        std::printf("{\"type\": \"ways\", \"point\": \"%s\", \"ways\": [", p.text.c_str());
        const char *before = "";
        for (const wan::plan &x : sim::ways_of(runner_, what, p.wish)) {
            std::printf("%s{\"as\": \"%s\", \"predicted_us\": %.3f, \"segment\": %llu}", before, sim::words_of(wan::manner_of(x)).c_str(),
                        static_cast<double>(x.predicted_ns) / 1000, static_cast<unsigned long long>(x.segment_bytes));
            before = ", ";
        }
        std::printf("]}\n");
        std::fflush(stdout);
    }

    /** A class of its own for each point. */
    void tuned(const point &p, operation &what, result &r)
    {
        sim::tuning with(runner_, MPI_COMM_WORLD, options_.lead_s, p.tune);
        r.calls = with.settle(what, p.wish);
        r.us = r.calls.back().us;
        std::vector<int> wrong{0};
        for (const auto &c : r.calls)
            wrong[0] += c.wrong;
        sim::combine(wrong, MPI_COMM_WORLD, std::plus<int>());
        r.wrong = wrong[0];
        r.tried = with.state().candidates;
        r.chosen = r.tried.empty() ? "" : sim::words_of(r.tried[with.state().standing].how);
        if (me_ == 0)
            print(p, r);
    }

    bool one_round(const point &p, operation &what, uint64_t round, bool folded, std::vector<double> &times, result &r)
    {
        std::optional<sim::runner::prepared> call;
        runner_.port().begin(what.elements(), folded);
        if (!folded)
            what.fill(round);
        if (p.by_wan) {
            call = runner_.prepare(what, p.wish, p.how);
            if (!call)
                return false;
            r.plan = wan::print(call->plan);
            r.predicted_ns = call->plan.predicted_ns;
        }
        const double start = sim::latest(sim::port::now_s(), true, MPI_COMM_WORLD) + options_.lead_s;
        sim::sleep_until(start);
        if (p.by_wan)
            runner_.run(*call);
        else
            what.by_mpi(MPI_COMM_WORLD);
        times.push_back(sim::latest(sim::port::now_s() - start, false, MPI_COMM_WORLD));
        gather(r, r.checked && !what.verify(round));
        return true;
    }

    /** Adds up what ranks know: wrong results, what went across. */
    void gather(result &r, bool wrong)
    {
        const sim::crossing &mine = runner_.port().crossed();
        const size_t sites = r.out.size();
        std::vector<int64_t> sums(2 + 2 * sites);
        sums[0] = wrong;
        sums[1] = mine.messages;
        const size_t home = value(runner_.topology().site_of(me_));
        for (size_t s = 0; s < sites; ++s) {
            sums[2 + home] += mine.bytes_to[s];
            sums[2 + sites + s] += mine.bytes_to[s];
        }
        sim::combine(sums, MPI_COMM_WORLD, std::plus<int64_t>());
        r.wrong += static_cast<int>(sums[0]);
        r.messages += sums[1];
        for (size_t s = 0; s < sites; ++s) {
            r.out[s] += sums[2 + s];
            r.in[s] += sums[2 + sites + s];
        }
    }

    void print(const point &p, const result &r) const
    {
        std::ostringstream line;
        line.precision(12);
        line << "{\"type\": \"point\", \"point\": \"" << p.text << "\", \"op\": \"" << wan_collective_name(p.collective)
             << "\", \"bytes\": " << p.bytes << ", \"root\": " << p.root << ", \"ranks\": " << ranks_
             << ", \"rounds\": " << options_.rounds << ", \"us\": " << r.us << ", \"checked\": " << (r.checked ? "true" : "false")
             << ", \"wrong\": " << r.wrong;
        if (p.tune.trials) {
            line << ", \"chosen\": \"" << r.chosen << "\", \"calls\": [";
            for (size_t i = 0; i < r.calls.size(); ++i)
                line << (i ? ", " : "") << "[\"" << r.calls[i].how << "\", " << (r.calls[i].timed ? "true" : "false") << ", " << r.calls[i].us << ", " << r.calls[i].count
                     << ']';
            line << "], \"tried\": [";
            for (size_t i = 0; i < r.tried.size(); ++i)
                line << (i ? ", " : "") << "[\"" << sim::words_of(r.tried[i].how) << "\", " << r.tried[i].predicted_ns / 1000 << ", "
                     << r.tried[i].measured_ns / 1000 << ", " << r.tried[i].again_ns / 1000 << ']';
            line << ']';
        } else if (p.by_wan) {
            auto list = [&](const char *name, const std::vector<int64_t> &v) {
                line << ", \"" << name << "\": [";
                for (size_t s = 0; s < v.size(); ++s)
                    line << (s ? ", " : "") << v[s];
                line << ']';
            };
            line << ", \"plan\": \"" << r.plan << "\", \"predicted_us\": " << r.predicted_ns / 1000 << ", \"wan_messages\": " << r.messages;
            list("wan_out_bytes", r.out);
            list("wan_in_bytes", r.in);
            if (p.slower)
                line << ", \"noticed_mean\": " << r.noticed.mean << ", \"noticed_most\": " << r.noticed.most;
        }
        std::printf("%s}\n", line.str().c_str());
        std::fflush(stdout);
    }
};

} // namespace

/* smpirun looks it up in a shared object. */
__attribute__((visibility("default"))) int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    try {
        const options o = options_parse(argc, argv);
        job work(o);
        for (const point &p : o.points)
            work.run(p);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "wansim_worker: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return 0;
}
