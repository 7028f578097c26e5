/*
 * Files that several jobs change: nothing is lost by who does so at once, links and modes stay, and nobody waits for ever.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "measure/links_file.hpp"
#include "text_file.hpp"
#include "tune/rules.hpp"
#include "unit.hpp"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

bool no_locks = false;      // on this file system

} // namespace

extern "C" int flock(int fd, int operation) noexcept
{
    if (!no_locks)
        return static_cast<int>(syscall(SYS_flock, fd, operation));
    errno = ENOLCK;
    return -1;
}

namespace {

using namespace wan;
using namespace wan_test;

struct directory {
    std::string path = "text_file." + std::to_string(getpid());
    directory() { std::filesystem::create_directory(path); }
    ~directory() { std::filesystem::remove_all(path); }
    std::string file(const char *name) const { return path + '/' + name; }
};

std::string text_of(const std::string &file)
{
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

bool append(const std::string &file, const std::string &more, input_error &error)
{
    return text_file_change(file, [&](std::string &text, input_error &) { text += more; return true; }, error);
}

/** Processes that all do one(process, round) at once; whether all of that was true. */
template <class F> bool at_once(int processes, int rounds, F one)
{
    std::vector<pid_t> all;
    for (int p = 0; p < processes; ++p) {
        all.push_back(fork());
        if (all.back() == 0) {
            bool good = true;
            for (int round = 0; round < rounds; ++round)
                good = good && one(p, round);
            _exit(good ? 0 : 1);
        }
    }
    bool good = true;
    for (pid_t p : all) {
        int status = -1;
        good = waitpid(p, &status, 0) == p && status == 0 && good;
    }
    return good;
}

std::string check_together()
{
    const directory d;
    const std::string rules_file = d.file("rules"), links = d.file("links");
    constexpr int processes = 4, rounds = 25;
    const auto number = [](int p, int round) { return static_cast<uint64_t>(p * rounds + round); };
    // Beginning with no file.
    WAN_CHECK(at_once(processes, rounds, [&](int p, int round) {
        input_error e;
        rule r;
        r.ranks.least = r.ranks.most = number(p, round);
        known_links l{{"a", "b" + std::to_string(number(p, round))}, {}, {}};
        l.facts[fact::inside_ns] = 1 + static_cast<int64_t>(number(p, round));
        return rules_save(rules_file, {r}, e) && links_save(links, l, e);
    }));
    const std::string learned = text_of(rules_file);
    links_file all;
    input_error e;
    WAN_CHECK_THAT(links_file::read(links, true, all, e), e.what);
    for (int p = 0; p < processes; ++p)
        for (int round = 0; round < rounds; ++round) {
            const uint64_t n = number(p, round);
            WAN_CHECK_THAT(learned.find("bcast ranks " + std::to_string(n) + ": open_mpi\n") != learned.npos, "a line is lost: " + std::to_string(n));
            const known_links *l = all.find({"a", "b" + std::to_string(n)});
            WAN_CHECK_THAT(l && l->facts[fact::inside_ns] == 1 + static_cast<int64_t>(n), "links are lost: " + std::to_string(n));
        }
    const auto files = std::distance(std::filesystem::directory_iterator(d.path), {});
    WAN_CHECK_THAT(files == 2, std::to_string(files) + " files");
    return "";
}

std::string check_place()
{
    const directory d;
    const std::string file = d.file("file"), to_it = d.file("link"), to_none = d.file("other");
    input_error e;
    std::ofstream(file) << "old\n";
    WAN_CHECK(chmod(file.c_str(), 0660) == 0);
    std::filesystem::create_symlink("file", to_it);
    std::filesystem::create_symlink("new", to_none);
    WAN_CHECK_THAT(append(to_it, "more\n", e) && append(to_none, "all\n", e), e.what);
    struct stat s;
    WAN_CHECK(std::filesystem::is_symlink(to_it) && std::filesystem::is_symlink(to_none) && text_of(file) == "old\nmore\n" && text_of(d.file("new")) == "all\n");
    WAN_CHECK(stat(file.c_str(), &s) == 0 && (s.st_mode & 07777) == 0660);
    // What is not changed keeps what it has.
    const auto refuses = [](std::string &text, input_error &why) {
        text = "no";
        why = {"here", "so", ""};
        return false;
    };
    WAN_CHECK(!text_file_change(file, refuses, e) && e.what == "so" && text_of(file) == "old\nmore\n");
    WAN_CHECK(!append(d.path, "x", e) && e.what.find("directory") != std::string::npos);
    WAN_CHECK(!append(d.file("none/file"), "x", e) && e.what.find("No such file") != std::string::npos && !e.remedy.empty());
    return "";
}

std::string check_without_locks()
{
    const directory d;
    const std::string file = d.file("file");
    input_error e;
    const auto took = [&](const char *more) {
        const auto begin = std::chrono::steady_clock::now();
        return append(file, more, e) ? std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() : -1;
    };
    no_locks = true;
    const double at_once_s = took("1");
    no_locks = false;
    WAN_CHECK_THAT(at_once_s >= 0 && at_once_s < 2, std::to_string(at_once_s));
    // Someone has it, and does not let it go.
    const int held = open(file.c_str(), O_RDONLY);
    WAN_CHECK(held >= 0 && flock(held, LOCK_EX) == 0);
    const double late_s = took("2");
    close(held);
    WAN_CHECK_THAT(late_s > 1 && late_s < 20, std::to_string(late_s));
    WAN_CHECK_THAT(text_of(file) == "12", text_of(file));
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_together>), cmocka_unit_test(test<check_place>), cmocka_unit_test(test<check_without_locks>)};
    return cmocka_run_group_tests_name("text_file", tests, nullptr, nullptr);
}
