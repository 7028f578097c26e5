/*
 * Completions from other threads while the owner makes progress: meant to be
 * run under ThreadSanitizer too (configure --enable-sanitizers=thread).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "exec/engine.hpp"

#include "scripted_port.hpp"
#include "unit.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace {

using namespace wan;
using namespace wan_test;

/** Ports whose completions come from `threads` others; a receive writes its bytes there. */
struct threaded_port {
    wan_port_t table{};
    std::mutex lock;
    std::condition_variable some;
    struct job {
        char *to;
        size_t count;
        uint32_t token;
    };
    std::deque<job> jobs;
    bool stop = false;
    engine *e = nullptr;
    int fail_at = -1;
    int served = 0;

    threaded_port()
    {
        table.post_send = [](void *c, const void *, size_t n, int, int, uint32_t token) {
            return static_cast<threaded_port *>(c)->add({nullptr, n, token});
        };
        table.post_recv = [](void *c, void *b, size_t n, int, int, uint32_t token) {
            return static_cast<threaded_port *>(c)->add({static_cast<char *>(b), n, token});
        };
        table.reduce = [](void *, const void *src, void *dst, size_t n) -> int {
            for (size_t i = 0; i < n; ++i)
                static_cast<char *>(dst)[i] = static_cast<char>(static_cast<char *>(dst)[i] + static_cast<const char *>(src)[i]);
            return WAN_OK;
        };
        table.copy = [](void *, const void *src, void *dst, size_t n) -> int { return std::memcpy(dst, src, n), WAN_OK; };
        table.scratch = [](void *c, size_t n) -> void * {
            return static_cast<threaded_port *>(c)->scratch.emplace_back(n).data();
        };
        table.now_ns = [](void *) -> int64_t { return 0; };
    }
    std::deque<std::vector<char>> scratch;

    int add(const job &j)
    {
        std::lock_guard hold(lock);
        jobs.push_back(j);
        some.notify_one();
        return WAN_OK;
    }
    void serve()
    {
        for (;;) {
            job j;
            int code = 0;
            {
                std::unique_lock hold(lock);
                some.wait(hold, [&] { return stop || !jobs.empty(); });
                if (jobs.empty())
                    return;
                j = jobs.front();
                jobs.pop_front();
                code = served++ == fail_at ? 77 : 0;
            }
            if (j.to)
                std::memset(j.to, 1, j.count);
            e->complete(j.token, code);
        }
    }
};

const char *const sum_of_three = "schedule rank 0 tmp 3\n"
                                 "0 copy in out 0/1..1/1\n"
                                 "1 recv tmp0 0/1..1/1 from 1 label 0\n"
                                 "2 recv tmp1 0/1..1/1 from 2 label 0\n"
                                 "3 recv tmp2 0/1..1/1 from 3 label 0\n"
                                 "4 reduce tmp0 out 0/1..1/1 after 0 1\n"
                                 "5 reduce tmp1 out 0/1..1/1 after 2 4\n"
                                 "6 reduce tmp2 out 0/1..1/1 after 3 5\n"
                                 "7 send out 0/1..1/1 to 1 label 1 after 6\n"
                                 "8 send out 0/1..1/1 to 2 label 1 after 6\n";

std::string run(int threads, uint32_t window, int fail_at)
{
    constexpr size_t count = 3001, segment = 7;
    std::vector<char> in(count, 5), out(count, 0);
    threaded_port port;
    port.fail_at = fail_at;
    engine e(program_of(sum_of_three),
             binding{.in = in.data(), .out = out.data(), .count = count, .segment = segment, .window = window, .extent = 1},
             &port.table, &port);
    port.e = &e;
    std::vector<std::thread> pool;
    for (int i = 0; i < threads; ++i)
        pool.emplace_back([&] { port.serve(); });
    int rc;
    while ((rc = e.progress()) == WAN_OK)
        while (!e.pending())
            std::this_thread::yield();
    // After an error: until nothing is outstanding.
    while (rc < 0 && e.outstanding())
        e.progress();
    {
        std::lock_guard hold(port.lock);
        port.stop = true;
        port.some.notify_all();
    }
    for (auto &t : pool)
        t.join();
    if (fail_at >= 0) {
        WAN_CHECK(rc == WAN_ERR_PORT && e.error() == 77);
        return "";
    }
    WAN_CHECK(rc == WAN_DONE && e.outstanding() == 0);
    for (size_t i = 0; i < count; ++i)
        WAN_CHECK_THAT(out[i] == 8, "element " + std::to_string(i));
    return "";
}

std::string check_threads()
{
    for (int threads : {1, 2, 4})
        for (uint32_t window : {1u, 4u, 64u})
            for (int repeat = 0; repeat < 5; ++repeat)
                if (std::string why = run(threads, window, -1); !why.empty())
                    return why;
    return "";
}

std::string check_failing()
{
    for (int at : {0, 1, 17, 500})
        for (uint32_t window : {1u, 8u})
            if (std::string why = run(3, window, at); !why.empty())
                return why;
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_threads>), cmocka_unit_test(test<check_failing>)};
    return cmocka_run_group_tests_name("engine_threads", tests, nullptr, nullptr);
}
