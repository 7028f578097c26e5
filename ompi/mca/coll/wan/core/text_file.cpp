/*
 * See text_file.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "text_file.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace wan {

namespace {

/** For others to change a file: each takes milliseconds. */
constexpr std::chrono::seconds patience{3};
constexpr std::chrono::milliseconds between{5};

struct opened {
    int fd = -1;
    opened() = default;
    explicit opened(int f) : fd(f) {}
    opened(opened &&o) noexcept : fd(std::exchange(o.fd, -1)) {}
    opened &operator=(opened &&o) noexcept
    {
        std::swap(fd, o.fd);
        return *this;
    }
    ~opened()
    {
        if (fd >= 0)
            close(fd);
    }
};

/** For writing, which locks of network file systems want; for reading where its directory alone may be written to.  Makes it where it is missing. */
opened open_to_change(const std::string &file)
{
    constexpr int always = O_CLOEXEC | O_NONBLOCK;
    const int fd = open(file.c_str(), O_RDWR | O_CREAT | always, 0666);
    return opened(fd < 0 && errno != ENOENT ? open(file.c_str(), O_RDONLY | always) : fd);
}

/** A file that took its place meanwhile is another one. */
bool is_at(const opened &f, const std::string &file)
{
    struct stat mine, there;
    const opened again(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));      // what is there now, also across a network
    return again.fd >= 0 && fstat(f.fd, &mine) == 0 && fstat(again.fd, &there) == 0 && mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

/** A file that nobody else changes as long as it is open; without that after some time, or at once where it cannot be locked. */
opened lock(const std::string &file)
{
    const auto until = std::chrono::steady_clock::now() + patience;
    for (opened f = open_to_change(file);;) {
        const bool locked = f.fd >= 0 && flock(f.fd, LOCK_EX | LOCK_NB) == 0;
        const bool waits = f.fd >= 0 && !locked && (errno == EWOULDBLOCK || errno == EINTR);
        if ((!locked && !waits) || (locked && is_at(f, file)) || std::chrono::steady_clock::now() > until)
            return f;
        if (waits)
            std::this_thread::sleep_for(between);
        else
            f = open_to_change(file);
    }
}

bool write_all(int fd, const std::string &text)
{
    for (size_t at = 0; at < text.size();) {
        const ssize_t n = write(fd, text.data() + at, text.size() - at);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? static_cast<size_t>(n) : 0;
    }
    return true;
}

/** By a new file that takes its place, with its mode and group; what is wrong in errno. */
bool replace(const std::string &file, const opened &old, const std::string &text)
{
    struct stat was;
    const std::unique_ptr<char, decltype(&std::free)> place(realpath(file.c_str(), nullptr), &std::free);
    if (!place || fstat(old.fd, &was) != 0)
        return false;
    std::string fresh = place.get() + std::string(".XXXXXX");
    const opened f(mkstemp(fresh.data()));
    if (f.fd < 0)
        return false;
    [[maybe_unused]] const int group = fchown(f.fd, static_cast<uid_t>(-1), was.st_gid);       // if that may be
    if (fchmod(f.fd, was.st_mode & 0777) == 0 && write_all(f.fd, text) && std::rename(fresh.c_str(), place.get()) == 0)
        return true;
    const int why = errno;
    std::remove(fresh.c_str());
    errno = why;
    return false;
}

} // namespace

bool text_file_read(const std::string &file, std::string &text, input_error &error)
{
    // 100,000 hosts, a line of the longest host and site names each, are 51 MB.
    constexpr off_t bytes_max = 64 << 20;
    const auto fail = [&](const std::string &what) {
        error = {file, what, "Give the path of a text file that exists on this host and that you may read."};
        return false;
    };

    // Not blocking: opening a pipe that nobody writes would hang the job.
    const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail(std::string("the file cannot be opened: ") + std::strerror(errno));
    struct stat status;
    std::string what;
    if (fstat(fd, &status) != 0)
        what = std::string("the file cannot be examined: ") + std::strerror(errno);
    else if (S_ISDIR(status.st_mode))
        what = "this is a directory, not a file";
    else if (!S_ISREG(status.st_mode))
        what = "this is not a regular file";
    else if (status.st_size > bytes_max)
        what = "the file is larger than 64 MiB";

    text.clear();
    char buffer[16384];
    while (what.empty()) {
        const ssize_t n = ::read(fd, buffer, sizeof buffer);
        if (n == 0)
            break;
        if (n > 0)
            text.append(buffer, static_cast<size_t>(n));
        else if (errno != EINTR)
            what = std::string("the file cannot be read: ") + std::strerror(errno);
        if (text.size() > static_cast<size_t>(bytes_max))
            what = "the file is larger than 64 MiB";
    }
    ::close(fd);
    return what.empty() || fail(what);
}

bool text_file_change(const std::string &file, const std::function<bool(std::string &text, input_error &error)> &change, input_error &error)
{
    const opened old = lock(file);
    std::string text;
    if (old.fd >= 0) {
        if (!text_file_read(file, text, error) || !change(text, error))
            return false;
        if (replace(file, old, text))
            return true;
    }
    error = {file, std::string("what was learned cannot be written: ") + std::strerror(errno),
             "Give a path in a directory that exists on the first rank's host and that you may write to."};
    return false;
}

} // namespace wan
