/*
 * A thousand real peers on loopback: engines with a socket each, all of them peers of one.
 * Each sends to it and gets an answer; then all are idle.  The one has one socket, and an
 * idle peer takes of its heap what the simulated thousand in `scenarios` do.
 *
 *   UDP_PEERS=200 thousand     default 1000, as far as the limit of open files goes
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "default_params.hpp"

#include "unit.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <malloc.h>
#include <memory>
#include <sys/resource.h>
#include <vector>

namespace {

constexpr size_t bytes = 20000;

struct process {
    udp_engine_t *engine = nullptr;
    udp_message_t message{};
    unsigned delivered = 0, freed = 0, wrong = 0;
    std::vector<uint8_t> expected;

    process(uint64_t id, uint32_t ids)
    {
        static char here[] = "127.0.0.1";
        static const udp_events_t calls = {
            [](void *c, uint32_t, uint8_t user, const void *block, size_t length) {
                process *p = static_cast<process *>(c);
                ++p->delivered;
                p->wrong += user != 7 || length != bytes || std::memcmp(p->expected.data(), block, length) != 0;
            },
            [](void *c, uint32_t, udp_outgoing_t *, bool arrived) {
                process *p = static_cast<process *>(c);
                ++p->freed;
                p->wrong += !arrived;
            },
            [](void *, uint32_t) {}, [](void *, uint32_t) {}, [](void *, uint32_t) {}};
        udp_params_t p = default_params();
        p.address = here;
        p.linger = 0;
        if (udp_engine_open(&engine, &p, id, ids, 1, &calls, this, &message) != UDP_OK)
            throw std::runtime_error(message.what);
    }
    ~process() { close(); }
    void close()
    {
        if (engine)
            udp_engine_close(engine);
        engine = nullptr;
    }
};

size_t sockets_open()
{
    size_t n = 0;
    for (const auto &fd : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        n += std::filesystem::read_symlink(fd.path(), gone).string().starts_with("socket:");
    }
    return n;
}

std::string sockstat()
{
    std::istringstream lines(wan_test::read_all("/proc/net/sockstat"));
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("UDP:"))
            return line;
    return "?";
}

std::string thousand()
{
    rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    const char *text = std::getenv("UDP_PEERS");
    const size_t peers = std::min<size_t>(text ? std::strtoull(text, nullptr, 0) : 1000, limit.rlim_cur - 50);
    const uint32_t ids = static_cast<uint32_t>(peers) + 1;
    std::vector<uint8_t> data(bytes);
    for (size_t i = 0; i < bytes; ++i)
        data[i] = static_cast<uint8_t>(i * 7 + i / 256);
    const std::string before = sockstat();
    std::vector<std::unique_ptr<process>> all;
    for (uint32_t i = 1; i <= peers; ++i)
        all.push_back(std::make_unique<process>(i, ids));
    const size_t others = sockets_open();
    process hub(0, ids);
    hub.expected = data;
    uint8_t card[UDP_CARD_MAX], own[UDP_CARD_MAX];
    const size_t own_bytes = udp_engine_card(hub.engine, own);
    std::vector<udp_outgoing_t> out(peers), back(peers);
    std::vector<uint32_t> to_hub(peers), of_hub(peers);
    for (size_t i = 0; i < peers; ++i) {
        all[i]->expected = data;
        WAN_CHECK(udp_engine_peer(hub.engine, card, udp_engine_card(all[i]->engine, card), &of_hub[i], &hub.message) == UDP_OK);
        WAN_CHECK(udp_engine_peer(all[i]->engine, own, own_bytes, &to_hub[i], &all[i]->message) == UDP_OK);
    }
    const auto work = [&](auto &&until) {
        // No time is judged, but a hang must end: so many passes of all are minutes.
        for (int pass = 0; pass < 200'000 && !until(); ++pass) {
            udp_engine_progress(hub.engine);
            for (auto &p : all)
                udp_engine_progress(p->engine);
        }
        return until();
    };
    for (size_t i = 0; i < peers; ++i)
        udp_engine_send(all[i]->engine, to_hub[i], &out[i], data.data(), bytes, 2, 7);
    WAN_CHECK_THAT(work([&] { return hub.delivered == peers; }), std::to_string(hub.delivered));
    for (size_t i = 0; i < peers; ++i)
        udp_engine_send(hub.engine, of_hub[i], &back[i], data.data(), bytes, 2, 7);
    WAN_CHECK_THAT(work([&] {
                       return hub.freed == peers && std::all_of(all.begin(), all.end(), [](const auto &p) { return p->delivered == 1 && p->freed == 1; });
                   }), std::to_string(hub.freed));
    WAN_CHECK(hub.wrong == 0 && std::all_of(all.begin(), all.end(), [](const auto &p) { return p->wrong == 0; }));
    WAN_CHECK_THAT(sockets_open() == others + 1, std::to_string(sockets_open() - others));
    const std::string with = sockstat();
    // Idle: what they needed while they worked is given back after a second, by who looks: a few times, though others have the processors.
    const time_t began = time(nullptr);
    int looks = 0;
    work([&] { return time(nullptr) - began > 3 && ++looks > 10; });
    const size_t heap = mallinfo2().uordblks;
    hub.close();
    const size_t each = (heap - mallinfo2().uordblks) / peers;
    std::printf("%zu peers: one socket; an idle peer takes %zu bytes of the heap \n"
                "sockets of the machine before: %s\nand with them: %s\n", peers, each, before.c_str(), with.c_str());
    // Under a sanitizer the heap does not tell.
    WAN_CHECK_THAT(heap == 0 || peers < 500 || each <= 4096, std::to_string(each));
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test_prestate(wan_test::test<thousand>, nullptr)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
