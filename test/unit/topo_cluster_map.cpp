/*
 * The cluster map: statements, units, every kind of malformed line with its
 * FILE:LINE, what and remedy, line ends, and files that cannot be read.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/cluster_map.hpp"

#include <cstdlib>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include "unit.hpp"

namespace {

using namespace wan_test;

std::string data(const std::string &file) { return test_file("data/" + file); }

std::string show(const wan::input_error &e) { return e.where + " | " + e.what + " | " + e.remedy; }

std::string site_of(const wan::cluster_map &map, const std::string &host)
{
    return map.site_of(host).value_or("(unknown)");
}

std::string check_file()
{
    wan::cluster_map map;
    wan::input_error error;
    if (!wan::cluster_map::read(data("topo_sites.map"), map, error))
        return show(error);
    const struct {
        const char *host, *site;
    } table[] = {
        {"n001", "eu/paris"}, {"n016.paris.example.org", "eu/paris"}, {"gw1", "eu/paris"},
        {"n1", "us/elsewhere"}, {"rack2n3", "eu/lyon/rack"}, {"t7.tokyo.example.org", "jp/tokyo"},
        {"t7", "us/elsewhere"}, {"", "us/elsewhere"},
    };
    for (const auto &t : table)
        if (site_of(map, t.host) != t.site)
            return std::string(t.host) + " is in " + site_of(map, t.host);

    wan::link_hints hints;
    if (!wan::link_hints_read(data("topo_sites.map"), hints, error))
        return show(error);
    const wan::link_hint *l = hints.link("jp/tokyo", "eu/paris"), *m = hints.link("eu/paris", "eu/lyon");
    if (!l || l->latency_ns != 120000000 || l->bandwidth_bytes_per_s != 125000000)
        return "link eu/paris jp/tokyo is wrong";
    if (!m || m->latency_ns != 2500000 || m->bandwidth_bytes_per_s != 0)
        return "link eu/paris eu/lyon is wrong";
    if (hints.link("eu/lyon", "jp/tokyo") || hints.nic_bytes_per_s("eu/lyon") != 0)
        return "hints that nobody gave";
    if (hints.nic_bytes_per_s("eu/paris") != 5000000 || hints.uplink_bytes_per_s("eu/paris") != 50000000)
        return "rates of eu/paris are wrong";
    return {};
}

std::string check_good()
{
    const struct {
        const char *text, *host, *site;
    } table[] = {
        {"n1 a\n", "n1", "a"},
        {"n1 a", "n1", "a"},                                    // no newline at the end
        {"n1 a\r\nn2 b\r\n", "n2", "b"},                        // CRLF
        {"n1 a\r\nn2 b", "n1", "a"},
        {"\xef\xbb\xbfn1 a\n", "n1", "a"},                      // byte order mark
        {"\t n[1-2] \t a/b:c # x\n\n  # y\n", "n2", "a/b/c"},   // canonical spelling
        {"a:b x\n#", "a", nullptr},                             // not a host name
        {"n1 a\nn1 a\n", "n1", "a"},                            // twice the same
        {"n1 a\nn1.eu a\n", "n1.eu", "a"},
        {"n[1-9] a\nn[01-09] b\n", "n01", "b"},
        {"n[0-999999999999999999] a\nm1 b\n", "n77", "a"},
        {"default a\ndefault a\n", "any", "a"},
        {"n1 a\n", "n2", "(unknown)"},
        {"link a b latency=1ms\n", "n1", "(unknown)"},
        {"link a b latency=1ms\nn1 c\n", "n1", "c"},
    };
    for (const auto &t : table) {
        wan::cluster_map map;
        wan::input_error error;
        const bool good = wan::cluster_map::parse(t.text, "M", map, error);
        if (good != (t.site != nullptr))
            return std::string(t.text) + ": " + show(error);
        if (good && site_of(map, t.host) != t.site)
            return std::string(t.text) + ": " + t.host + " is in " + site_of(map, t.host);
    }
    return {};
}

std::string check_malformed()
{
    const struct {
        std::string text;
        const char *where, *what;
    } table[] = {
        {"", "M", "says nothing"},
        {"\n# only a comment\n", "M", "says nothing"},
        {"n1 a\nn[1-2] b\n", "M:2", "host 'n1' is in 'b' here and in 'a' in line 1"},
        {"n1 a/b/c\nn1 a/b/d\n", "M:2", "is in 'a/b/d'"},
        {"n1 a\n\nn1.eu b\n", "M:3", "host 'n1.eu'"},
        {"N1 a\nn1 b\n", "M:2", "host 'n1'"},
        {"n[0-999999999999999999] a\r\nn5 b\r\n", "M:2", "host 'n5'"},
        {"n1\n", "M:1", "a site is missing"},
        {"n1 a\nlnk a b latency=1ms\n", "M:2", "unknown keyword 'lnk'"},
        {"n1, n2 a\n", "M:1", "unknown keyword 'n1,'"},
        {"n1 a b\n", "M:1", "unknown keyword"},
        {"\nn[3-1] a\n", "M:2", "bad host range: the range '3-1' runs backwards"},
        {"n[1-2 a\n", "M:1", "bad host range"},
        {"n1 a//b\n", "M:1", "empty level"},
        {"n1 a;b\n", "M:1", "';'"},
        {std::string("n1 a\0b\n", 7), "M:1", "\\x00"},
        {"default\n", "M:1", "takes one site"},
        {"default a b\n", "M:1", "takes one site"},
        {"default a\ndefault b\n", "M:2", "second default"},
        {"link a\n", "M:1", "takes two sites"},
        {"link a b\n", "M:1", "gives no rate"},
        {"link a a latency=1ms\n", "M:1", "to itself"},
        {"link a/b/c d latency=1ms\n", "M:1", "inside the site 'a/b'"},
        {"link a:x d latency=1ms\n", "M:1", "inside the site 'a'"},
        {"link a b latency=10\n", "M:1", "have a unit"},
        {"link a b latency=10 ms\n", "M:1", "have a unit"},
        {"link a b latency=0ms\n", "M:1", "positive"},
        {"link a b latency=-1ms\n", "M:1", "positive"},
        {"link a b latency=nanms\n", "M:1", "positive"},
        {"link a b latency=1e400s\n", "M:1", "positive"},
        {"link a b bandwidth=400Mb\n", "M:1", "have a unit"},
        {"link a b latency\n", "M:1", "unknown attribute 'latency'"},
        {"link a b loss=1%\n", "M:1", "unknown attribute"},
        {"link a b latency=1ms latency=2ms\n", "M:1", "given twice"},
        {"link a b latency=1ms\nlink b a latency=2ms\n", "M:2", "second link"},
        {"nic\n", "M:1", "takes a site"},
        {"nic a\n", "M:1", "gives no rate"},
        {"nic a latency=1ms\n", "M:1", "unknown attribute"},
        {"nic a bandwidth=1Gb/s\nnic a bandwidth=1Gb/s\n", "M:2", "second 'nic'"},
        {"uplink a b\n", "M:1", "unknown attribute 'b'"},
    };
    for (const auto &t : table) {
        wan::cluster_map map;
        wan::input_error error;
        if (wan::cluster_map::parse(t.text, "M", map, error))
            return "accepted " + t.text;
        if (error.where != t.where || error.what.find(t.what) == error.what.npos || error.remedy.empty())
            return t.text + ": " + show(error);
    }
    return {};
}

std::string check_units()
{
    const struct {
        const char *text;
        int64_t ns;     // 0: refused
    } latencies[] = {
        {"10ms", 10000000}, {"1s", 1000000000}, {"250us", 250000}, {"7ns", 7}, {"0.5ms", 500000}, {"1.5us", 1500},
        {"10", 0}, {"ms", 0}, {"", 0}, {"10MS", 0}, {"10m", 0}, {"+1ms", 0}, {"0.1ns", 0}, {"1e3ms", 0},
        {"0x10ms", 0}, {"infs", 0}, {"10000000s", 0},
    };
    for (const auto &t : latencies) {
        int64_t ns = 0;
        if (wan::latency_parse(t.text, ns) != (t.ns != 0) || ns != t.ns)
            return std::string(t.text) + " is " + std::to_string(ns) + " ns";
    }
    const struct {
        const char *text;
        int64_t bytes_per_s;
    } bandwidths[] = {
        {"400Mb/s", 50000000}, {"40Mbit/s", 5000000}, {"1GB/s", 1000000000}, {"10Gb/s", 1250000000},
        {"1Tb/s", 125000000000}, {"8b/s", 1}, {"64kb/s", 8000}, {"2.5Gb/s", 312500000}, {"1B/s", 1},
        {"400", 0}, {"400Mb", 0}, {"400M", 0}, {"Mb/s", 0}, {"400mb/s", 0}, {"400Kb/s", 0}, {"1b/s", 0},
        {"400MMb/s", 0}, {"-1b/s", 0}, {"99999999TB/s", 0}, {"400MBit/s", 0},
    };
    for (const auto &t : bandwidths) {
        int64_t b = 0;
        if (wan::bandwidth_parse(t.text, b) != (t.bytes_per_s != 0) || b != t.bytes_per_s)
            return std::string(t.text) + " is " + std::to_string(b) + " bytes/s";
    }
    return {};
}

std::string check_unreadable()
{
    char dir[] = "/tmp/wan_topo_XXXXXX";
    if (!mkdtemp(dir))
        return "no temporary directory";
    const std::string d = dir, pipe = d + "/pipe", secret = d + "/secret", huge = d + "/huge";
    std::string message;
    if (mkfifo(pipe.c_str(), 0600) != 0)
        message = "no pipe";
    if (FILE *f = std::fopen(secret.c_str(), "w"))
        std::fclose(f);
    if (FILE *f = std::fopen(huge.c_str(), "w")) {      // sparse
        if (ftruncate(fileno(f), (64l << 20) + 1) != 0)
            message = "no large file";
        std::fclose(f);
    }
    chmod(secret.c_str(), 0);
    const struct {
        std::string file;
        const char *what;
    } table[] = {
        {d, "directory"}, {d + "/absent", "cannot be opened: No such file"}, {pipe, "not a regular file"},
        {"/dev/zero", "not a regular file"}, {huge, "larger than 64 MiB"},
        // root reads it all the same, and finds it empty
        {secret, geteuid() == 0 ? "says nothing" : "cannot be opened: Permission denied"},
    };
    for (const auto &t : table) {
        wan::cluster_map map;
        wan::input_error error;
        if (wan::cluster_map::read(t.file, map, error))
            message = "read " + t.file;
        else if (error.where != t.file || error.what.find(t.what) == error.what.npos || error.remedy.empty())
            message = show(error);
    }
    for (const auto &f : {pipe, secret, huge})
        unlink(f.c_str());
    rmdir(dir);
    return message;
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_file>),  cmocka_unit_test(test<check_good>),
        cmocka_unit_test(test<check_malformed>), cmocka_unit_test(test<check_units>),
        cmocka_unit_test(test<check_unreadable>),
    };
    return cmocka_run_group_tests_name("topo_cluster_map", tests, nullptr, nullptr);
}
