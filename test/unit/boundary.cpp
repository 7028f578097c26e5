/*
 * The C boundary as the glue uses it: open, vote, agree, measure, learn, run,
 * counters; all ranks of a job live in this process, over a small port whose
 * messages arrive in any order.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boundary_job.hpp"

#include <unistd.h>

namespace {

using namespace wan_test;

std::string check_open()
{
    const params p;
    std::string reason;
    WAN_CHECK(!open(p, peers_of({"a", "a", "a"}), 0, &reason));
    WAN_CHECK_THAT(reason.find("one site") != reason.npos, reason);
    // Switches below a site are one site.
    WAN_CHECK(!open(p, peers_of({"eu/paris/r1", "eu/paris/r2"}), 0, &reason));
    WAN_CHECK_THAT(reason.find("one site") != reason.npos, reason);
    for (const auto &sites : {std::vector<const char *>{"a", "", "b"}, {"a", nullptr}, {"", ""}}) {
        WAN_CHECK(!open(p, peers_of(sites), 0, &reason));
        WAN_CHECK_THAT(reason.find("not known") != reason.npos, reason);
    }
    const auto c = open(p, peers_of({"eu/paris/r1", "us", "eu/paris/r2"}), 1, &reason);
    WAN_CHECK_THAT(c, reason);
    char text[400];
    const int wanted = wan_comm_describe(c.get(), text, sizeof text);
    WAN_CHECK_THAT(std::string(text) == "2 sites: eu/paris (2 hosts, 2 ranks), us (1 host, 1 rank)", text);
    WAN_CHECK(wanted == static_cast<int>(std::strlen(text)));
    char small[8];
    WAN_CHECK(wan_comm_describe(c.get(), small, sizeof small) == wanted && std::string(small) == "2 sites");
    // Of many sites the first are named, and how many there are.
    for (const int n : {2, 16, 17, 201}) {
        std::vector<std::string> names;
        for (int s = 0; s < n; ++s)
            names.push_back("site" + std::to_string(s));
        std::vector<const char *> many;
        for (const std::string &s : names)
            many.push_back(s.c_str());
        const auto wide = open(p, peers_of(many), 0);
        std::string told(static_cast<size_t>(wan_comm_describe(wide.get(), nullptr, 0)) + 1, 0);
        wan_comm_describe(wide.get(), told.data(), told.size());
        WAN_CHECK_THAT(told.find(std::to_string(n) + " sites: site0 (1 host, 1 rank), site1 (1 host, 1 rank)") == 0 && told.size() < 500, told);
        const std::string last = n <= 16 ? "site" + std::to_string(n - 1) + " (1 host, 1 rank)" : "site11 (1 host, 1 rank), and " + std::to_string(n - 12) + " more";
        WAN_CHECK_THAT(told.find(last) + last.size() + 1 == told.size(), told);
    }
    // Before agreement nothing can be run.
    wan_run_t *run = nullptr;
    fabric f(3);
    wan_call_t call = call_of(WAN_BCAST, 0, 1, 1, nullptr, text);
    WAN_CHECK(wan_run_begin(c.get(), &call, &f.port, &f.ends[1], &run) < 0 && !run);
    return "";
}

std::string agree(const wan_params_t &pa, const std::vector<const char *> &a, const wan_params_t &pb, const std::vector<const char *> &b,
                  int64_t version_off = 0)
{
    const auto x = open(pa, peers_of(a), 0), y = open(pb, peers_of(b), 1);
    if (!x || !y)
        return "not opened";
    ballot other = vote(y.get());
    other[0] += version_off;
    other[1] -= version_off;
    const ballot all = least(vote(x.get()), other);
    wan_refusal_t why, theirs;
    const int rc = wan_comm_agree(x.get(), all.data(), &why);
    if (rc != wan_comm_agree(y.get(), all.data(), &theirs) || text_of(why) != text_of(theirs))
        return "the ranks decide differently";
    return rc == WAN_OK ? "agreed" : rc == WAN_DECLINED ? "declined: " + text_of(why) : "code " + std::to_string(rc);
}

std::string check_agree()
{
    const params p;
    const std::vector<const char *> sites{"a", "b", "b"};
    WAN_CHECK(agree(p, sites, p, sites) == "agreed");
    for (int64_t off : {int64_t{1}, int64_t{-1}}) {
        const std::string r = agree(p, sites, p, sites, off);
        WAN_CHECK_THAT(r.starts_with("declined") && r.find("build") != r.npos, r);
    }
    const std::string r = agree(p, sites, p, {"a", "b", "a"});
    WAN_CHECK_THAT(r == "declined: the ranks know different sites: those of rank 0 are not those of rank 1"
                       || r == "declined: the ranks know different sites: those of rank 1 are not those of rank 0",
                   r);
    WAN_CHECK(agree(p, sites, p, {"a", "c", "c"}).starts_with("declined"));
    // What shapes plans must be equal; what does not, need not.
    auto with = [](auto change) {
        params q;
        change(q);
        return q;
    };
    // Who has which: M is the rank of `mine`, T that of `theirs`.
    const struct {
        params mine, theirs;
        std::string knob, is;
    } cases[] = {
        {p, with([](params &q) { q.links = 2; }), "coll_wan_links", "0 on rank M, 2 on rank T"},
        {p, with([](params &q) { q.segment = 4096; }), "coll_wan_segment", "0 on rank M, 4096 on rank T"},
        {p, with([](params &q) { q.threshold = int64_t{1} << 40; }), "coll_wan_threshold", "0 on rank M, 1099511627776 on rank T"},
        {p, with([](params &q) { q.stable = 1; }), "coll_wan_stable", "0 on rank M, 1 on rank T"},
        {p, with([](params &q) { q.tree_threshold = 1000; }), "coll_wan_tree_threshold", "0 on rank M, 1000 on rank T"},
        {p, with([](params &q) { q.tree_phoenix = 1; }), "coll_wan_tree_phoenix", "0 on rank M, 1 on rank T"},
        {p, with([](params &q) { q.algorithm[WAN_BCAST] = 1; }), "coll_wan_bcast_algorithm", "automatic on rank M, tree on rank T"},
        {p, with([](params &q) { q.algorithm[WAN_ALLTOALL] = 1; }), "coll_wan_alltoall_algorithm", "automatic on rank M, direct on rank T"},
        {with([](params &q) { q.algorithm[WAN_BCAST] = 1; }), with([](params &q) { q.algorithm[WAN_ALLREDUCE] = 1; }), "coll_wan_bcast_algorithm",
         "automatic on rank T, tree on rank M"},
        {with([](params &q) { q.links = 3; }), with([](params &q) { q.segment = 3; }), "coll_wan_links", "0 on rank T, 3 on rank M"},
    };
    const auto ranks = [](std::string text, char mine, char theirs) {
        for (char &c : text)
            c = c == 'M' ? mine : c == 'T' ? theirs : c;
        return text;
    };
    for (const auto &c : cases) {
        const std::string beginning = "declined: the ranks have different parameters: " + c.knob + " is ";
        const std::string told = agree(c.mine, sites, c.theirs, sites), turned = agree(c.theirs, sites, c.mine, sites);
        WAN_CHECK_THAT(told == beginning + ranks(c.is, '0', '1'), told);
        WAN_CHECK_THAT(turned == beginning + ranks(c.is, '1', '0'), turned);
    }
    WAN_CHECK(agree(p, sites, with([](params &q) { q.verbose = 3; q.priority = 60; }), sites) == "agreed");
    // What one process measures of trees, and how long it waits, is its own.
    WAN_CHECK(agree(p, sites, with([](params &q) { q.tree_peers = 3; q.reduce_timeout = 10; q.measure_bytes = 4096; q.ping_bytes = 9; }), sites) == "agreed");
    // A rank without a view: nobody's vote may look like that.
    const auto c = open(p, peers_of(sites), 0);
    for (int64_t v : vote(c.get()))
        WAN_CHECK(v != INT64_MIN);
    return "";
}

/** What maps say of the links shapes plans: it must be the same about the same pairs. */
/** What ranks know of their transports may differ: the least limit counts, and the slowest processor, on all of them, whether links are measured or not. */
std::string check_agree_machines()
{
    for (const int64_t share : {100, 0}) {
        fabric f(2);
        params p;
        p.measure_share = share;
        const auto peers = peers_of(share ? std::vector<const char *>{"limit1", "limit2"} : std::vector<const char *>{"limit3", "limit4"});
        std::vector<comm_ptr> comms;
        for (int r = 0; r < 2; ++r)
            comms.push_back(open(p, peers, r));
        const wan_machine_t machines[] = {{0, 0, 25}, {8192, 12, 40}};
        for (size_t r = 0; r < comms.size(); ++r)
            wan_comm_machine(comms[r].get(), &machines[r]);
        if (std::string why = share ? bring_up(comms, f) : agree(comms); !why.empty())
            return why;
        for (const auto &c : comms) {
            char text[1024];
            wan_comm_describe(c.get(), text, sizeof text);
            WAN_CHECK_THAT(std::strstr(text, "; eager limit 8192 bytes; copying 30, combining 40 ps a byte"), text);
        }
    }
    return "";
}

std::string check_agree_maps()
{
    char name[] = "/tmp/wan-boundary-XXXXXX";
    const std::string dir = mkdtemp(name) ? name : "";
    WAN_CHECK(!dir.empty());
    const char *texts[] = {
        "default j1\nlink j1 j2 latency=10ms\nnic j1 bandwidth=40Mb/s\n",
        "default j1\nlink j1 j2 latency=11ms\nnic j1 bandwidth=40Mb/s\n",
        "default j1\nlink j1 j3 latency=10ms\nnic j1 bandwidth=40Mb/s\n",
        "default j1\nlink j1 j2 latency=10ms\nnic j2 bandwidth=40Mb/s\n",
        "default j1\nlink j1 j2 latency=10ms\nnic j1 bandwidth=50Mb/s\n",
        "default j1\nlink j1 j2 latency=10ms\nnic j1 bandwidth=40Mb/s\nuplink j2 bandwidth=90Mb/s\n",
        "default j1\nlink j1 j2 latency=10ms bandwidth=90Mb/s\nnic j1 bandwidth=40Mb/s\n",
    };
    std::vector<std::string> files;
    for (const char *text : texts) {
        files.push_back(dir + "/" + std::to_string(files.size()));
        std::ofstream(files.back()) << text;
    }
    const std::vector<const char *> sites{"j1", "j2", "j3"};
    std::string why;
    for (size_t a = 0; a < files.size() && why.empty(); ++a)
        for (size_t b = 0; b < files.size() && why.empty(); ++b) {
            params x, y;
            x.cluster_map = files[a].data();
            y.cluster_map = files[b].data();
            const std::string r = agree(x, sites, y, sites);
            const std::string other = "declined: the cluster maps of the ranks tell different links: those of rank ";
            if (a == b ? r != "agreed" : r != other + "0 are not those of rank 1" && r != other + "1 are not those of rank 0")
                why = "maps " + std::to_string(a) + " and " + std::to_string(b) + ": " + r;
        }
    for (const auto &f : files)
        std::remove(f.c_str());
    rmdir(dir.c_str());
    return why;
}

std::string run_calls(const std::vector<const char *> &sites, const wan_params_t &p, bool first)
{
    const size_t ranks = sites.size();
    std::vector<comm_ptr> comms;
    for (size_t r = 0; r < ranks; ++r)
        comms.push_back(open(p, peers_of(sites), static_cast<int>(r)));
    fabric f(static_cast<int>(ranks));
    int runs = 0;
    if (std::string why = bring_up(comms, f, &runs); !why.empty())
        return why;
    WAN_CHECK_THAT((runs > 0) == first, "links are measured once for the same sites");
    f.extent = sizeof(uint32_t);
    uint64_t served[2] = {0, 0};
    for (size_t count : {0u, 1u, 7u, 1000u, 100'000u})
        for (auto collective : {WAN_BCAST, WAN_ALLREDUCE})
            for (bool in_place : {false, true})
                for (int root : {0, static_cast<int>(ranks) - 1}) {
                    std::vector<std::vector<uint32_t>> in(ranks), out(ranks);
                    for (size_t r = 0; r < ranks; ++r) {
                        for (size_t i = 0; i < count; ++i)
                            in[r].push_back(static_cast<uint32_t>(r * 1000 + i));
                        out[r] = in_place || collective == WAN_BCAST ? in[r] : std::vector<uint32_t>(count, 0xdead);
                        const wan_call_t call = call_of(collective, collective == WAN_BCAST ? root : 0, count, 4,
                                                        in_place || collective == WAN_BCAST ? out[r].data() : in[r].data(), out[r].data());
                        auto &e = f.ends[r];
                        WAN_CHECK(wan_run_begin(comms[r].get(), &call, &f.port, &e, &e.run) == WAN_OK && e.run);
                        char text[300];
                        WAN_CHECK(wan_run_describe(e.run, text, sizeof text) > 0 && std::strstr(text, wan_collective_name(collective)));
                    }
                    WAN_CHECK(f.run_all() == WAN_DONE && f.empty());
                    for (auto &e : f.ends) {
                        WAN_CHECK(wan_run_error(e.run) == 0 && wan_run_progress(e.run) == WAN_DONE);
                        wan_run_release(e.run);
                        e.run = nullptr;
                        e.scratch.clear();
                    }
                    ++served[collective];
                    for (size_t r = 0; r < ranks; ++r)
                        for (size_t i = 0; i < count; ++i) {
                            uint32_t wanted = static_cast<uint32_t>(static_cast<size_t>(root) * 1000 + i);
                            if (collective == WAN_ALLREDUCE) {
                                wanted = 0;
                                for (size_t k = 0; k < ranks; ++k)
                                    wanted += static_cast<uint32_t>(k * 1000 + i);
                            }
                            WAN_CHECK(out[r][i] == wanted);
                        }
                }
    uint64_t messages = 0, bytes = 0;
    for (const auto &c : comms) {
        const auto *n = wan_comm_counters(c.get());
        WAN_CHECK(n->served[WAN_BCAST] == served[WAN_BCAST] && n->served[WAN_ALLREDUCE] == served[WAN_ALLREDUCE]);
        WAN_CHECK(n->declined[WAN_BCAST] == 0 && n->declined[WAN_ALLREDUCE] == 0);
        messages += n->wan_messages;
        bytes += n->wan_bytes;
    }
    // At least M to each other site a broadcast, M each way an allreduce; the probe is not counted.
    const uint64_t all = 4 * (0 + 1 + 7 + 1000 + 100'000);
    WAN_CHECK_THAT(messages > 0 && bytes >= 4 * all + 4 * 2 * all, std::to_string(bytes));
    return "";
}

std::string check_calls()
{
    const params p;
    for (const auto &sites : {std::vector<const char *>{"c1", "c1", "c2", "c2"}, {"d1", "d2", "d1", "d2", "d1"}, {"e1", "e2"}, {"f1", "f2", "f3", "f1", "f2"}}) {
        if (std::string why = run_calls(sites, p, true); !why.empty())
            return std::string(sites[0]) + ": " + why;
        if (std::string why = run_calls(sites, p, false); !why.empty())
            return std::string(sites[0]) + " again: " + why;
    }
    params one;
    one.links = 1;
    one.segment = 4096;
    return run_calls({"g1", "g1", "g1", "g2", "g2", "g2"}, one, true);
}

/** A Barrier has no elements, and still nobody leaves before the last has come. */
std::string check_barrier()
{
    const params p;
    const std::vector<const char *> sites{"k1", "k1", "k2", "k2"};
    std::vector<comm_ptr> comms;
    for (int r = 0; r < 4; ++r)
        comms.push_back(open(p, peers_of(sites), r));
    fabric f(4);
    if (std::string why = bring_up(comms, f); !why.empty())
        return why;
    const wan_call_t call = call_of(WAN_BARRIER, 0, 0, 0, nullptr, nullptr);
    for (size_t r = 0; r < 4; ++r) {
        auto &e = f.ends[r];
        WAN_CHECK(wan_run_begin(comms[r].get(), &call, &f.port, &e, &e.run) == WAN_OK && e.run);
        WAN_CHECK(r == 3 || wan_run_progress(e.run) == WAN_OK);
    }
    WAN_CHECK(f.run_all() == WAN_DONE && f.empty());
    uint64_t messages = 0, bytes = 0;
    for (size_t r = 0; r < 4; ++r) {
        wan_run_release(f.ends[r].run);
        f.ends[r].run = nullptr;
        messages += wan_comm_counters(comms[r].get())->wan_messages;
        bytes += wan_comm_counters(comms[r].get())->wan_bytes;
    }
    WAN_CHECK(messages >= 2 && bytes == 0);
    return "";
}

std::string check_declined()
{
    // Ranks in turn, one link, and an operator that does not commute: more runs than are exchanged one by one.
    params p;
    p.links = 1;
    constexpr int ranks = 54;
    std::vector<const char *> sites;
    for (int r = 0; r < ranks; ++r)
        sites.push_back(r % 2 ? "h2" : "h1");
    std::vector<comm_ptr> comms;
    for (int r = 0; r < ranks; ++r)
        comms.push_back(open(p, peers_of(sites), r));
    fabric f(ranks);
    if (std::string why = bring_up(comms, f); !why.empty())
        return why;
    uint32_t x[2] = {1, 2};
    wan_call_t call = call_of(WAN_ALLREDUCE, 0, 2, 4, x, x);
    call.commutative = false;
    for (int r = 0; r < ranks; ++r) {
        wan_run_t *run = nullptr;
        WAN_CHECK(wan_run_begin(comms[static_cast<size_t>(r)].get(), &call, &f.port, &f.ends[static_cast<size_t>(r)], &run) == WAN_DECLINED && !run);
        WAN_CHECK(wan_comm_counters(comms[static_cast<size_t>(r)].get())->declined[WAN_ALLREDUCE] == 1);
        WAN_CHECK(wan_comm_counters(comms[static_cast<size_t>(r)].get())->served[WAN_ALLREDUCE] == 0);
    }
    return "";
}

std::string check_errors()
{
    const params p;
    const std::vector<const char *> sites{"i1", "i2"};
    std::vector<comm_ptr> comms;
    for (int r = 0; r < 2; ++r)
        comms.push_back(open(p, peers_of(sites), r));
    fabric f(2);
    if (std::string why = bring_up(comms, f); !why.empty())
        return why;
    f.extent = 4;
    std::vector<uint32_t> a(100, 1), b(100, 2);
    auto begin = [&] {
        for (int r = 0; r < 2; ++r) {
            auto *data = r ? b.data() : a.data();
            const wan_call_t call = call_of(WAN_ALLREDUCE, 0, 100, 4, data, data);
            if (wan_run_begin(comms[static_cast<size_t>(r)].get(), &call, &f.port, &f.ends[static_cast<size_t>(r)], &f.ends[static_cast<size_t>(r)].run) != WAN_OK)
                return false;
        }
        return true;
    };
    auto release = [&] {
        for (auto &e : f.ends) {
            wan_run_release(e.run);
            e.run = nullptr;
        }
        f.sent.clear();
        f.wanted.clear();
    };
    WAN_CHECK(begin());
    f.fail_code = 16;
    WAN_CHECK(f.run_all() == WAN_ERR_PORT);
    WAN_CHECK(wan_run_error(f.ends[0].run) == 16 && wan_run_error(f.ends[1].run) == 0);
    WAN_CHECK(wan_run_progress(f.ends[0].run) == WAN_ERR_PORT);
    WAN_CHECK(wan_comm_counters(comms[0].get())->served[WAN_ALLREDUCE] == 0 && wan_comm_counters(comms[1].get())->served[WAN_ALLREDUCE] == 1);
    release();
    f.fail_code = 0;
    f.no_scratch = true;
    WAN_CHECK(begin());
    WAN_CHECK(wan_run_progress(f.ends[0].run) == WAN_ERR_NOMEM && f.empty());
    release();
    f.no_scratch = false;
    a.assign(100, 1), b.assign(100, 2);
    WAN_CHECK(begin());
    WAN_CHECK(f.run_all() == WAN_DONE && a[0] == 3 && b[99] == 3);
    release();
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_open>),     cmocka_unit_test(test<check_agree>),  cmocka_unit_test(test<check_agree_machines>), cmocka_unit_test(test<check_agree_maps>), cmocka_unit_test(test<check_calls>), cmocka_unit_test(test<check_barrier>),
        cmocka_unit_test(test<check_declined>), cmocka_unit_test(test<check_errors>),
    };
    return cmocka_run_group_tests_name("boundary", tests, nullptr, nullptr);
}
