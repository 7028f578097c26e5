/*
 * What every unit test needs: a check is a function that returns "" or what is
 * wrong; cmocka asserts on that once, when nothing is left to be destroyed
 * (it leaves a failed assertion by longjmp).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef TEST_UNIT_UNIT_HPP
#define TEST_UNIT_UNIT_HPP

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <sstream>
#include <string>

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
extern "C" {
#include <cmocka.h>
}

namespace wan_test {

template <std::string (*check)()> void test(void **)
{
    static char message[8192];
    try {
        const std::string m = check();
        std::snprintf(message, sizeof message, "%s", m.c_str());
    } catch (const std::exception &e) {
        std::snprintf(message, sizeof message, "exception: %s", e.what());
    }
    if (message[0])
        fail_msg("%s", message);
}

inline bool is_long() { return std::getenv("WAN_TEST_LONG") != nullptr; }
/** For what runs the same tests of the same sources once more: in a tarball, with another compiler. */
inline bool is_short() { return std::getenv("WAN_TEST_SHORT") != nullptr; }

/** Seed of randomised tests: WAN_TEST_SEED or a fixed one; printed once. */
inline uint64_t test_seed()
{
    static const uint64_t seed = [] {
        const char *s = std::getenv("WAN_TEST_SEED");
        const uint64_t v = s ? std::strtoull(s, nullptr, 0) : 20260101;
        std::printf("seed %llu (WAN_TEST_SEED=%llu repeats this run)\n", static_cast<unsigned long long>(v),
                    static_cast<unsigned long long>(v));
        return v;
    }();
    return seed;
}

/** A file below test/, from the top of the sources (srcdir in make check) or from here. */
inline std::string test_file(const std::string &name)
{
    const char *srcdir = std::getenv("srcdir");
    return std::string(srcdir ? srcdir : ".") + "/test/" + name;
}

inline std::string read_all(const std::string &path)
{
    std::ifstream f(path);
    std::ostringstream s;
    s << f.rdbuf();
    return s.str();
}

/** "" if the file holds this text, else the first line that differs.  Writes it where WAN_GOLDEN_WRITE is set. */
inline std::string golden_compare(const std::string &path, const std::string &now)
{
    if (std::getenv("WAN_GOLDEN_WRITE")) {
        return std::ofstream(path) << now ? "" : "cannot write " + path;
    }
    const std::string was = read_all(path);
    if (now == was)
        return "";
    std::istringstream x(was), y(now);
    std::string expected, got;
    int line = 0;
    do {
        ++line;
        if (!std::getline(x, expected))
            expected = "(end)";
        if (!std::getline(y, got))
            got = "(end)";
    } while (expected == got);
    return path + ":" + std::to_string(line) + ": expected '" + expected + "', got '" + got + "'";
}

#define WAN_CHECK(condition)                                                                                          \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            return std::string(__FILE__ ":") + std::to_string(__LINE__) + ": " #condition;                             \
    } while (0)

#define WAN_CHECK_THAT(condition, explanation)                                                                         \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            return std::string(__FILE__ ":") + std::to_string(__LINE__) + ": " #condition ": " + (explanation);        \
    } while (0)

} // namespace wan_test

#endif
