/*
 * Files that several jobs change: nothing is lost by who does so at once, nor on a full disk, links and modes stay, and nobody
 * waits for ever.  Whether a file can be written is known before.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "measure/links_file.hpp"
#include "text_file.hpp"
#include "tune/rules.hpp"
#include "unit.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <set>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

bool no_locks = false;      // on this file system
enum { room, full, full_at_the_end } disk = room;      // at the end: written files say so when they are closed

} // namespace

extern "C" ssize_t write(int fd, const void *bytes, size_t size)
{
    static bool half;
    half = !half;
    if (disk != full || fd < 3)
        return syscall(SYS_write, fd, bytes, size);
    if (half && size > 1)
        return syscall(SYS_write, fd, bytes, size / 2);
    errno = ENOSPC;
    return -1;
}

extern "C" int close(int fd)
{
    const bool written = (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY;
    const int rc = static_cast<int>(syscall(SYS_close, fd));
    if (disk != full_at_the_end || !written)
        return rc;
    errno = ENOSPC;
    return -1;
}

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
    std::string path;
    explicit directory(const std::string &where = "") : path(where + "text_file." + std::to_string(getpid())) { std::filesystem::create_directory(path); }
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

/** What was there stays, nothing else is left, and it is said what helps. */
std::string check_full_disk()
{
    const directory d;
    const std::string file = d.file("file"), none = d.file("none");
    input_error e;
    const auto files = [&] { return std::distance(std::filesystem::directory_iterator(d.path), {}); };
    for (const auto how : {full, full_at_the_end}) {
        std::ofstream(file) << "old\n";
        disk = how;
        const bool changed = append(file, "more\n", e);
        disk = room;
        WAN_CHECK_THAT(!changed && text_of(file) == "old\n" && files() == 1, text_of(file));
        WAN_CHECK_THAT(e.where == file && e.what.find(std::strerror(ENOSPC)) != e.what.npos && e.remedy.find("Free space") == 0, e.what + ": " + e.remedy);
        for (const std::string &f : {file, none}) {
            disk = how;
            errno = 0;
            const bool written = wan_file_write(f.c_str(), "another text\n") == WAN_OK;
            const int why = errno;
            disk = room;
            WAN_CHECK_THAT(!written && why == ENOSPC && text_of(file) == "old\n" && files() == 1, f + ": " + std::strerror(why) + ": " + text_of(file));
        }
    }
    WAN_CHECK(append(file, "more\n", e) && text_of(file) == "old\nmore\n");
    std::set<std::string> remedies;
    for (const int why : {ENOSPC, EDQUOT, EROFS, EACCES})
        remedies.insert(wan_write_remedy(why));
    WAN_CHECK(remedies.size() == 4);
    return "";
}

/** A whole file: new ones with the usual mode, others with theirs, at the other end of a link. */
std::string check_write()
{
    const directory d;
    const std::string file = d.file("file"), to_it = d.file("link"), other = d.file("other");
    struct stat s;
    std::filesystem::create_symlink("file", to_it);
    const mode_t mask = umask(027);
    const bool made = text_file_write(to_it, "one\n");
    umask(mask);
    WAN_CHECK(made && std::filesystem::is_symlink(to_it) && text_of(file) == "one\n" && stat(file.c_str(), &s) == 0 && (s.st_mode & 07777) == 0640);
    WAN_CHECK(chmod(file.c_str(), 0606) == 0 && text_file_write(to_it, "two\n") && text_of(file) == "two\n");
    WAN_CHECK(stat(file.c_str(), &s) == 0 && (s.st_mode & 07777) == 0606);
    WAN_CHECK(text_file_write(other, "") && std::filesystem::file_size(other) == 0);
    WAN_CHECK(!text_file_write(d.file("none/file"), "x") && errno == ENOENT);
    WAN_CHECK(!text_file_write(d.path, "x") && std::filesystem::is_directory(d.path));
    return "";
}

/** As somebody who may not do everything, in a process of its own. */
template <class F> bool as_nobody(F f)
{
    const pid_t p = fork();
    if (p == 0)
        _exit((geteuid() != 0 || seteuid(65534) == 0) && f() ? 0 : 1);
    int status = -1;
    return waitpid(p, &status, 0) == p && status == 0;
}

std::string check_changeable()
{
    const directory d("/tmp/");
    const std::string file = d.file("file"), none = d.file("none"), to_none = d.file("to none"), lost = d.file("lost"), round = d.file("round");
    input_error e;
    std::ofstream(file) << "old\n";
    std::filesystem::create_symlink("none", to_none);
    std::filesystem::create_symlink("nowhere/file", lost);
    std::filesystem::create_symlink("round", round);
    const auto before = std::filesystem::last_write_time(d.path);
    const auto refused = [&](const std::string &f, const char *why) {
        e = {};
        return !text_file_changeable(f, e) && e.where == f && e.what.find(why) != e.what.npos && !e.remedy.empty();
    };
    // One that is not there yet is what a first job has.
    for (const std::string &good : {file, none, to_none, std::string("text_file.none")})
        WAN_CHECK_THAT(text_file_changeable(good, e), good + ": " + e.what);
    WAN_CHECK_THAT(refused(d.file("nowhere/file"), "there is no directory /tmp/"), e.what);
    WAN_CHECK_THAT(refused(lost, "there is no directory /tmp/"), e.what);
    WAN_CHECK_THAT(refused(file + "/file", std::strerror(ENOTDIR)), e.what);
    WAN_CHECK_THAT(refused(d.path, "this is a directory"), e.what);
    WAN_CHECK_THAT(refused("/dev/null", "not a regular file"), e.what);
    WAN_CHECK_THAT(refused(round, std::strerror(ELOOP)), e.what);
    WAN_CHECK(text_of(file) == "old\n" && !std::filesystem::exists(none) && !std::filesystem::exists("text_file.none") && std::filesystem::last_write_time(d.path) == before);
    // A directory that may not be written to; one in which another user's file may not be replaced.  What it says is so.
    WAN_CHECK(chmod(d.path.c_str(), 0555) == 0);
    WAN_CHECK(as_nobody([&] { return refused(file, std::strerror(EACCES)) && refused(none, std::strerror(EACCES)) && !append(file, "x", e); }));
    WAN_CHECK(as_nobody([&] { return !append(none, "x", e) && e.what.find(std::strerror(EACCES)) != e.what.npos; }));
    if (geteuid() == 0) {
        WAN_CHECK(chmod(d.path.c_str(), 01777) == 0);
        WAN_CHECK(as_nobody([&] { return refused(file, "another user's") && !append(file, "x", e) && text_file_changeable(none, e) && append(none, "x", e); }));
        WAN_CHECK(chown(file.c_str(), 65534, static_cast<gid_t>(-1)) == 0);
        WAN_CHECK(as_nobody([&] { return text_file_changeable(file, e) && append(file, "x", e); }));
        // The file need not be writable, as its directory is.
        WAN_CHECK(chmod(d.path.c_str(), 0777) == 0 && chmod(file.c_str(), 0444) == 0);
        WAN_CHECK(as_nobody([&] { return text_file_changeable(file, e) && append(file, "x", e) && !text_file_write(file, "x"); }));
    }
    WAN_CHECK(chmod(d.path.c_str(), 0755) == 0);
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
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_together>), cmocka_unit_test(test<check_place>), cmocka_unit_test(test<check_full_disk>),
                                cmocka_unit_test(test<check_write>), cmocka_unit_test(test<check_changeable>), cmocka_unit_test(test<check_without_locks>)};
    return cmocka_run_group_tests_name("text_file", tests, nullptr, nullptr);
}
