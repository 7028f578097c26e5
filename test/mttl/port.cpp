/*
 * The thin layer in memory, which the other tests stand on: it must be as
 * strict as MPI.  And what goes over it: sizes of headers, where control and
 * data part.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "mttl_test.hpp"

namespace {

using namespace mttl_test;

struct collector final : port_sink {
    void message(int from, const std::byte *data, size_t bytes) override
    {
        last = data;
        got.push_back(std::to_string(from) + ":" + std::string(reinterpret_cast<const char *>(data), bytes));
    }
    std::vector<std::string> got;
    const std::byte *last = nullptr;
};

struct flag final : completion {
    void done() override { ++count; }
    int count = 0;
};

void say(port &p, int to, const std::string &s)
{
    std::memcpy(p.send_buffer(), s.data(), s.size());
    p.send(to, s.size());
}

std::string order()
{
    bool mixed = false, straight = false;
    for (uint64_t seed = 0; seed < 20; ++seed) {
        memory_fabric f(3, seed);
        collector c;
        f.at(2).recv_any(&c);
        for (const char *s : {"a", "b", "c"}) {
            say(f.at(0), 2, s);
            say(f.at(1), 2, s);
        }
        while (f.at(2).probe()) {
        }
        WAN_CHECK(c.got.size() == 6);
        std::map<char, std::string> each;
        std::string all;
        for (const std::string &s : c.got)
            each[s[0]] += s[2], all += s[0];
        WAN_CHECK(each['0'] == "abc" && each['1'] == "abc");
        (all == "010101" ? straight : mixed) = true;
    }
    WAN_CHECK(mixed);       // else the tests above it see one order only
    return "";
}

std::string strict()
{
    bool early = false, late = false;
    for (uint64_t seed = 0; seed < 20; ++seed) {
        memory_fabric f(2, seed);
        collector c;
        f.at(0).recv_any(&c);
        f.at(1).recv_any(&c);
        int from = 1, to = 0;
        flag sent, received;
        f.at(0).nsend(1, 5, &from, sizeof from, &sent);
        WAN_CHECK(sent.count == 0);
        while (f.at(0).probe()) {
        }
        (sent.count ? early : late) = true;
        WAN_CHECK(f.rest() == "data from 0 to 1 on channel 5 was not received");
        const bool copied = sent.count;
        from = 2;       // allowed only when it has been sent
        f.at(1).recv_node(0, 5, &to, sizeof to, &received);
        while (f.at(1).probe() || f.at(0).probe()) {
        }
        WAN_CHECK(received.count == 1 && sent.count == 1);
        WAN_CHECK(to == (copied ? 1 : 2));
        WAN_CHECK(f.rest().empty());

        f.at(0).nsend(1, 5, &from, sizeof from, &sent);
        f.at(1).recv_node(0, 5, &to, 2, &received);
        std::string why;
        try {
            while (f.at(1).probe()) {
            }
        } catch (const error &e) {
            why = e.what();
        }
        WAN_CHECK(why == "sent 4 bytes, received 2");
    }
    WAN_CHECK(early && late);
    return "";
}

int target;

std::string headers()
{
    return jobs(2, [](memory_job &) -> std::string {
        const port_counters &c = node::here().network().counters();
        static std::vector<char> there;
        there.assign(10000, 'x');
        const GlobalPtr<char> p(1, reinterpret_cast<uint64_t>(there.data()));
        const size_t small = node::here().network().small_bytes();
        std::vector<char> data(10000, 'y');

        port_counters before = c;
        p.nwrite(data.data(), 1);
        WAN_CHECK(c.sends - before.sends == 1 && c.send_bytes - before.send_bytes <= 16 + 1);
        before = c;
        char got = 0;
        p.nread(&got, 1);
        WAN_CHECK(got == 'y');
        WAN_CHECK(c.sends - before.sends == 1 && c.send_bytes - before.send_bytes <= 24);

        before = c;     // as long as fits one message
        p.nwrite(data.data(), small - 16);
        WAN_CHECK(c.sends - before.sends == 1 && c.nsends == before.nsends);
        before = c;     // one byte more travels apart, still with 16 bytes of header
        p.nwrite(data.data(), small - 15);
        WAN_CHECK(c.sends - before.sends == 1 && c.nsends - before.nsends == 1);
        WAN_CHECK(c.send_bytes - before.send_bytes == 16 + small - 15);
        WAN_CHECK(there[small - 16] == 'y' && there[small - 15] == 'x');
        before = c;     // large reads ask with 24 bytes
        std::vector<char> back(10000);
        p.nread(back.data(), back.size());
        WAN_CHECK(c.sends - before.sends == 1 && c.send_bytes - before.send_bytes <= 24);
        WAN_CHECK(back == there);
        return "";
    });
}

std::string invocation_is_one_message()
{
    return jobs(2, [](memory_job &job) -> std::string {
        const port_counters &c = node::here().network().counters(), before = c;
        const port_counters there = job.at(1).network().counters();
        invoke(1, [](int v) { target = v; }, 7);
        WAN_CHECK(target == 7);
        WAN_CHECK(c.sends - before.sends == 1 && c.send_bytes - before.send_bytes == 12 + 4);
        WAN_CHECK(job.at(1).network().counters().sends - there.sends == 1);
        WAN_CHECK(job.at(1).network().counters().send_bytes - there.send_bytes == 8);
        for (int i = 1; i < 200; ++i)
            invoke(1, [](int v) { target = v; }, i);
        WAN_CHECK(c.sends - before.sends == 200);
        WAN_CHECK(job.at(1).network().counters().sends - there.sends == 200);      // credit goes along with results
        return "";
    });
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {
        cmocka_unit_test(wan_test::test<order>),
        cmocka_unit_test(wan_test::test<strict>),
        cmocka_unit_test(wan_test::test<headers>),
        cmocka_unit_test(wan_test::test<invocation_is_one_message>),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
