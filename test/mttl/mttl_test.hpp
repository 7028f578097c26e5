/*
 * What the tests of mttl without MPI share: jobs over the in-memory port, each
 * for several seeds, that is orders of arrival.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TEST_MTTL_MTTL_TEST_HPP
#define TEST_MTTL_MTTL_TEST_HPP

#include <mttl/memory_job.hpp>
#include <mttl/mttl.hpp>

#include "unit.hpp"

#include <csignal>

namespace mttl_test {

using namespace mttl;

/** Lets main(job) run on node 0 (or all) of `nodes`, so many times, few where tests are to be short; what it returns is
 *  the first thing that is wrong, or "". */
template <class Main> std::string jobs(int nodes, Main main, options o = {}, int times = 20)
{
    if (wan_test::is_short())
        times = std::min(times, 4);
    for (int i = 0; i < times; ++i) {
        const uint64_t seed = wan_test::test_seed() + static_cast<uint64_t>(i);
        memory_job job(nodes, seed, o);
        std::string wrong;
        const std::string why = job.run([&]() -> int {
            const std::string m = main(job);
            if (!m.empty() && wrong.empty())
                wrong = m;
            return 0;
        });
        const std::string of = " (nodes " + std::to_string(nodes) + ", seed " + std::to_string(seed) + ")";
        if (!wrong.empty())
            return wrong + of;
        if (!why.empty())
            return why + of;
    }
    return "";
}

inline options spmd(options o = {})
{
    o.mode = start::spmd;
    return o;
}

/** Runs f in a child process; how that ended: 0, an exit code, or 1000 + signal. `said`: what it wrote to stderr. */
template <class F> int in_child(F f, std::string *said = nullptr);

} // namespace mttl_test

#include <sys/wait.h>
#include <unistd.h>

template <class F> int mttl_test::in_child(F f, std::string *said)
{
    std::fflush(nullptr);
    std::FILE *words = std::tmpfile();
    if (!words)
        return 98;
    const pid_t pid = fork();
    if (pid == 0) {
        // What the child says is what the test expects: not for the log.
        if (dup2(fileno(words), STDERR_FILENO) < 0)
            _exit(99);
        std::signal(SIGSEGV, SIG_DFL);
        std::signal(SIGABRT, SIG_DFL);
        f();
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    std::rewind(words);
    for (int c; (c = std::fgetc(words)) != EOF;)
        if (said)
            *said += static_cast<char>(c);
    std::fclose(words);
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

#endif
