/*
 * Host lists: parsing, membership without expansion, overlap.  Membership
 * and overlap are compared with plain expansion on random small lists.
 * WAN_TEST_SEED=N repeats a run.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/hostlist.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "unit.hpp"

namespace {

using namespace wan_test;

struct membership {
    const char *list, *host;
    bool in;
};

const membership memberships[] = {
    {"n[001-016,20],gw1,rack[1-2]n[0-3]", "n001", true},
    {"n[001-016,20],gw1,rack[1-2]n[0-3]", "n016", true},
    {"n[001-016,20],gw1,rack[1-2]n[0-3]", "n017", false},
    {"n[001-016,20],gw1,rack[1-2]n[0-3]", "n20", true},
    {"n[001-016,20],gw1,rack[1-2]n[0-3]", "n020", false},
    {"n[001-016,20],gw1,rack[1-2]n[0-3]", "n1", false},
    {"n[001-016,20],gw1,rack[1-2]n[0-3]", "n0001", false},
    {"n[001-016,20],gw1,rack[1-2]n[0-3]", "n", false},
    {"n[001-016,20],gw1,rack[1-2]n[0-3]", "gw1", true},
    {"n[001-016,20],gw1,rack[1-2]n[0-3]", "gw11", false},
    {"n[001-016,20],gw1,rack[1-2]n[0-3]", "rack2n3", true},
    {"n[001-016,20],gw1,rack[1-2]n[0-3]", "rack3n0", false},
    {"n[001-016,20],gw1,rack[1-2]n[0-3]", "rack1n", false},
    // padding grows with the number
    {"n[08-11]", "n08", true}, {"n[08-11]", "n8", false}, {"n[08-11]", "n11", true},
    {"n[8-11]", "n8", true}, {"n[8-11]", "n08", false}, {"n[8-11]", "n10", true},
    {"n[098-102]", "n102", true}, {"n[98-102]", "n098", false},
    {"n[0-0]", "n0", true}, {"n[00]", "n0", false}, {"n[00]", "n00", true},
    // huge ranges cost nothing
    {"n[0-999999999999999999]", "n123456789012345678", true},
    {"n[0-999999999999999999]", "n1234567890123456789", false},
    {"n[0-999999999999999999]", "n00", false},
    {"n[000000000000000001-999999999999999999]", "n000000000000000001", true},
    // brackets side by side, text behind
    {"c[1-2][00-09]x", "c209x", true}, {"c[1-2][00-09]x", "c210x", false},
    {"c[1-20][1-3]", "c203", true}, {"c[1-20][1-3]", "c23", true}, {"c[1-20][1-3]", "c2", false},
    {"[1-3]", "2", true},
    // case, FQDN
    {"Node[1-3]", "nODE2", true},
    {"n[1-3]", "n2.eu.example.org", true}, {"n[1-3]", "n4.eu.example.org", false}, {"n[1-3]", "n2.", true},
    {"n[1-3].eu", "n2.eu", true}, {"n[1-3].eu", "n2.EU", true}, {"n[1-3].eu", "n2", false},
    {"n[1-3].eu", "n2.eu.example", false}, {"10.0.[0-3].[1-254]", "10.0.2.77", true},
    {"10.0.[0-3].[1-254]", "10.0.4.77", false},
    {"n", "", false}, {"n1", ".n1", false},
};

std::string check_membership()
{
    for (const auto &m : memberships) {
        wan::hostlist list;
        std::string what;
        if (!wan::hostlist::parse(m.list, list, what))
            return std::string(m.list) + " refused: " + what;
        if (list.contains(m.host) != m.in)
            return std::string(m.host) + (m.in ? " is not in " : " is in ") + m.list;
    }
    wan::hostlist any;
    std::string what;
    wan::hostlist::parse("[0-9]", any, what);
    return any.contains(std::string(100000, '1')) ? "a name of 100000 bytes is a host" : "";
}

std::string check_malformed()
{
    const struct {
        std::string list;
        const char *says;
    } bad[] = {
        {"", "empty entry"}, {",", "empty entry"}, {"a,,b", "empty entry"}, {"a,", "empty entry"},
        {"n[1-", "no ']'"}, {"n[1-2", "no ']'"}, {"n[1[2]]", "no ']'"}, {"n1]", "']'"},
        {"n[]", "missing"}, {"n[1,]", "missing"}, {"n[-3]", "missing"}, {"n[1-]", "missing"},
        {"n[3-1]", "backwards"}, {"n[a-c]", "not a number"}, {"n[1-2-3]", "not a number"},
        {"n[1 -2]", "not a number"}, {"n[0x1]", "not a number"}, {"n[1000000000000000000]", "18 digits"},
        {"n(1)", "'('"}, {"n 1", "' '"}, {"n*", "'*'"}, {"n\xc3\xa9", "\\xc3"}, {std::string("n\0", 2), "\\x00"},
        {std::string(256, 'a'), "longer than a host name"},
        {"[1][1][1][1][1][1][1][1][1]", "8 brackets"},
    };
    for (const auto &b : bad) {
        wan::hostlist list;
        std::string what;
        if (wan::hostlist::parse(b.list, list, what))
            return "accepted " + b.list;
        if (what.find(b.says) == what.npos)
            return b.list + ": no '" + b.says + "' in: " + what;
    }
    return {};
}

std::vector<std::string> expand(const wan::hostlist &list)
{
    std::vector<std::string> names;
    list.for_each([&](const std::string &n) {
        names.push_back(n);
        return true;
    });
    return names;
}

std::string check_expansion()
{
    wan::hostlist list;
    std::string what, joined;
    if (!wan::hostlist::parse("A[08-11]b,x,r[1-2]n[0-1]", list, what))
        return what;
    for (const auto &n : expand(list))
        joined += n + " ";
    if (joined != "A08b A09b A10b A11b x r1n0 r1n1 r2n0 r2n1 ")
        return "expanded to " + joined;
    wan::hostlist::parse("n[0-999999999999999999]", list, what);
    int seen = 0;
    if (list.for_each([&](const std::string &) { return ++seen < 5; }) || seen != 5)
        return "for_each does not stop";
    return {};
}

/* Example of a common host by hostlist_overlaps(), "" if it finds none. */
std::string overlap(const wan::hostlist &a, const wan::hostlist &b)
{
    const wan::hostlist *lists[] = {&a, &b};
    std::string host;
    wan::hostlist_overlaps(
        lists, [](size_t, size_t) { return true; },
        [&](size_t, size_t, const std::string &h) {
            host = h;
            return false;
        });
    return host;
}

std::string check_overlap()
{
    const struct {
        const char *a, *b, *host;       // host: "?" for whichever of many
    } table[] = {
        {"n[1-10]", "n[11-20]", ""}, {"n[1-10]", "n[10-20]", "n10"}, {"n[01-10]", "n[1-9]", ""},
        {"n[0-19]", "n1[0-9]", "n10"}, {"n[1-2][0-9]", "n[29-40]", "n29"}, {"n[1-2][0-9]", "n[30-40]", ""},
        {"n[1,3,5]", "n[2,4,6]", ""}, {"a[1-3],b7", "c1,b[5-9]", "b7"},
        {"n1", "N1", "n1"}, {"n1", "n1.eu", "n1.eu"}, {"n1.eu", "n1.us", ""}, {"gw", "gw.eu1", "gw.eu1"},
        {"gw.eu1", "gw", "gw.eu1"}, {"n[0-999999999999999999]", "n[500000000000000000-999999999999999999]", "?"},
        {"n[127-305]", "n[000-126,306-999]", ""}, {"n[127-305]", "n[299]", "n299"},
        {"r[1-2]n[0-3]", "r2n[3-9]", "r2n3"}, {"r[1-2]n[0-3]", "r3n[0-3],r[1-2]n[4-5]", ""},
        {"n[1-3][127-305]", "n[1-2][306-309]", ""}, {"n[1-3][127-305]", "n[2-3][120-126]", ""},
        {"n[1-3][127-305]", "n[2-3][120-127]", "?"}, {"[1-20][1-3]", "203", "203"}, {"n", "n0", ""}, {"n[0]", "n[00]", ""},
    };
    for (const auto &t : table) {
        wan::hostlist a, b;
        std::string what;
        if (!wan::hostlist::parse(t.a, a, what) || !wan::hostlist::parse(t.b, b, what))
            return what;
        for (const std::string &host : {overlap(a, b), overlap(b, a)})
            if (std::string(t.host) == "?" ? !a.contains(host) || !b.contains(host) : host != t.host)
                return std::string(t.a) + " and " + t.b + " share '" + host + "'";
    }
    return {};
}

uint64_t seed()
{
    const char *s = std::getenv("WAN_TEST_SEED");
    return s ? std::strtoull(s, nullptr, 10)
             : static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
}

std::string random_list(std::mt19937_64 &rng)
{
    const auto pick = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
    std::string list;
    for (int entries = 1 + pick(2); entries-- > 0;) {
        for (int pieces = 1 + pick(3); pieces-- > 0;) {
            if (pick(2)) {
                static const char *const words[] = {"n", "1", "0", "n1", "N", "x.1", "20"};
                list += words[pick(7)];
                continue;
            }
            list += '[';
            for (int ranges = 1 + pick(2); ranges-- > 0;) {
                const int lo = pick(120), hi = lo + pick(40);
                char text[32];
                std::snprintf(text, sizeof text, "%0*d-%d", 1 + pick(3), lo, hi);
                list += text;
                list += ranges ? "," : "";
            }
            list += ']';
        }
        list += entries ? "," : "";
    }
    return list;
}

bool matches(const std::string &entry, const std::string &host)
{
    return host == entry || (entry.find('.') == entry.npos && host.compare(0, entry.size() + 1, entry + ".") == 0);
}

std::string lower(std::string s)
{
    for (char &c : s)
        c = c == 'N' ? 'n' : c;
    return s;
}

std::string check_random()
{
    const uint64_t s = seed();
    std::printf("topo_hostlist: WAN_TEST_SEED=%llu\n", static_cast<unsigned long long>(s));
    std::mt19937_64 rng(s);
    for (int round = 0; round < 150; ++round) {
        const std::string ta = random_list(rng), tb = random_list(rng);
        wan::hostlist a, b;
        std::string what;
        if (!wan::hostlist::parse(ta, a, what) || !wan::hostlist::parse(tb, b, what))
            return ta + " or " + tb + " refused: " + what;
        std::set<std::string> na, nb;
        if (!a.for_each([&](const std::string &n) { return na.insert(lower(n)), na.size() < 20000; })
            || !b.for_each([&](const std::string &n) { return nb.insert(lower(n)), nb.size() < 20000; }))
            continue;
        bool common = false;
        for (const auto &n : na) {
            if (!a.contains(n))
                return n + " is not in " + ta;
            common = common || nb.count(n) || (n.find('.') != n.npos && nb.count(n.substr(0, n.find('.'))));
        }
        for (const auto &n : nb) {
            common = common || (n.find('.') != n.npos && na.count(n.substr(0, n.find('.'))));
            const bool in = std::any_of(na.begin(), na.end(), [&](const auto &e) { return matches(e, n); });
            if (rng() % 64 == 0 && a.contains(n) != in)
                return n + (in ? " is not in " : " is in ") + ta;
        }
        const std::string host = overlap(a, b);
        if (host.empty() == common || (!host.empty() && (!a.contains(host) || !b.contains(host))))
            return ta + " and " + tb + " share '" + host + "', expansion says " + (common ? "yes" : "no");
    }
    return {};
}

/* 5000 switches of 20 nodes: disjoint in blocks, dealt out like cards; 5000 addresses. */
std::string check_large()
{
    const auto begin = std::chrono::steady_clock::now();
    for (int kind = 0; kind < 3; ++kind) {
        std::vector<wan::hostlist> lists(5000);
        std::vector<const wan::hostlist *> pointers;
        for (int i = 0; i < 5000; ++i) {
            std::string text = "n[", what;
            for (int k = 0; k < 20; ++k) {
                char number[16];
                std::snprintf(number, sizeof number, "%s%06d", k ? "," : "", kind == 1 ? k * 5000 + i : i * 20 + k);
                text += number;
            }
            text += ']';
            if (kind == 2)
                text = "10.0." + std::to_string(i / 256) + "." + std::to_string(i % 256);
            if (!wan::hostlist::parse(text, lists[static_cast<size_t>(i)], what))
                return what;
            pointers.push_back(&lists[static_cast<size_t>(i)]);
        }
        std::string host;
        wan::hostlist_overlaps(
            pointers, [](size_t, size_t) { return true; },
            [&](size_t, size_t, const std::string &h) { return host = h, false; });
        if (!host.empty())
            return "disjoint lists share " + host;
    }
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
    std::printf("topo_hostlist: 3 x 5000 lists in %d ms\n", static_cast<int>(ms.count()));
    return {};
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(test<check_membership>), cmocka_unit_test(test<check_malformed>),
        cmocka_unit_test(test<check_expansion>),  cmocka_unit_test(test<check_overlap>),
        cmocka_unit_test(test<check_random>),     cmocka_unit_test(test<check_large>),
    };
    return cmocka_run_group_tests_name("topo_hostlist", tests, nullptr, nullptr);
}
