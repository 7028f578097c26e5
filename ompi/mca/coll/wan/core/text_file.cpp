/*
 * See text_file.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "text_file.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
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
    ~opened() { finish(); }
    /** False where what was written did not arrive, which some file systems say only now. */
    bool finish() { return fd < 0 || close(std::exchange(fd, -1)) == 0; }
};

/** For writing, which locks of network file systems want; for reading where its directory alone may be written to.  Makes it where it is missing. */
opened open_to_change(const std::string &file)
{
    constexpr int always = O_CLOEXEC | O_NONBLOCK;
    opened f(open(file.c_str(), O_RDWR | O_CREAT | always, 0666));
    if (f.fd >= 0 || errno == ENOENT)
        return f;
    const int why = errno;
    f = opened(open(file.c_str(), O_RDONLY | always));
    if (f.fd < 0)
        errno = why;        // that it cannot be made is what is wrong, not that it is not there
    return f;
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

/** A new file beside `place`, open; its name.  Who may use it: its owner at first, or all whom the umask lets. */
opened open_beside(const std::string &place, bool for_all, std::string &name)
{
    opened f;
    for (int n = 0; f.fd < 0 && n < 100; ++n) {
        name = place + '.' + std::to_string(getpid()) + '.' + std::to_string(n);
        f = opened(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, for_all ? 0666 : 0600));
        if (f.fd < 0 && errno != EEXIST)
            break;
    }
    return f;
}

/** By a new file that takes its place, with mode and group of what `was` there, if anything; what is wrong in errno. */
bool replace(const std::string &place, const struct stat *was, const std::string &text)
{
    std::string fresh;
    opened f = open_beside(place, !was, fresh);
    if (f.fd < 0)
        return false;
    [[maybe_unused]] const int group = was ? fchown(f.fd, static_cast<uid_t>(-1), was->st_gid) : 0;       // if that may be
    if ((!was || fchmod(f.fd, was->st_mode & 0777) == 0) && write_all(f.fd, text) && f.finish() && std::rename(fresh.c_str(), place.c_str()) == 0)
        return true;
    const int why = errno;
    std::remove(fresh.c_str());
    errno = why;
    return false;
}

std::string directory_of(const std::string &file)
{
    const size_t slash = file.rfind('/');
    return slash == file.npos ? "." : file.substr(0, std::max<size_t>(slash, 1));
}

/** Where a file is, or would be made: links are followed, also one to what there is not.  "": nowhere, why in errno. */
std::string place_of(const std::string &file)
{
    std::string at = file;
    for (int links = 0; links < 40; ++links) {
        if (const std::unique_ptr<char, decltype(&std::free)> place(realpath(at.c_str(), nullptr), &std::free); place)
            return place.get();
        char target[PATH_MAX];
        const int why = errno;
        const ssize_t length = readlink(at.c_str(), target, sizeof target);
        if (why != ENOENT || length < 0)
            return (errno = why) == ENOENT ? at : "";
        const std::string to(target, static_cast<size_t>(length));
        at = to.starts_with('/') ? to : directory_of(at) + '/' + to;
    }
    errno = ELOOP;
    return "";
}

} // namespace

const char *write_remedy(int error)
{
    switch (error) {
    case ENOSPC:
        return "Free space on that disk, or give a path on another one.";
    case EDQUOT:
        return "Your share of that disk is used up: delete files of yours there, or give a path on another one.";
    case EROFS:
        return "Nothing can be written on that file system: give a path on another one.";
    default:
        return "Give a path in a directory that exists on the first rank's host and that you may write to.";
    }
}

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
        struct stat was;
        if (!text_file_read(file, text, error) || !change(text, error))
            return false;
        if (const std::string place = place_of(file); !place.empty() && fstat(old.fd, &was) == 0 && replace(place, &was, text))
            return true;
    }
    const int why = errno;
    error = {file, std::string("what was learned cannot be written: ") + std::strerror(why), write_remedy(why)};
    return false;
}

bool text_file_changeable(const std::string &file, input_error &error)
{
    const auto refuse = [&](int why, const std::string &what) {
        error = {file, what, write_remedy(why)};
        return false;
    };
    struct stat above, there;
    const std::string place = place_of(file), directory = directory_of(place);
    if (place.empty())
        return refuse(errno, std::string("the path leads nowhere: ") + std::strerror(errno));
    if (stat(directory.c_str(), &above) != 0)
        return refuse(errno, errno == ENOENT ? "there is no directory " + directory : directory + ": " + std::strerror(errno));
    const bool exists = stat(place.c_str(), &there) == 0;
    if (exists && !S_ISREG(there.st_mode))
        return refuse(0, S_ISDIR(there.st_mode) ? "this is a directory, not a file" : "this is not a regular file");
    // What is written is a new file that takes the other's place: the directory must allow that, the file itself need not.
    if (faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
        return refuse(errno, "no file can be made in " + directory + ": " + std::strerror(errno));
    if (const uid_t me = geteuid(); exists && (above.st_mode & S_ISVTX) && me != 0 && me != there.st_uid && me != above.st_uid)
        return refuse(0, "it is another user's, in a directory where only the owner may replace a file");
    return true;
}

bool text_file_write(const std::string &file, const std::string &text)
{
    struct stat was;
    const std::string place = place_of(file);
    if (place.empty())
        return false;
    if (stat(place.c_str(), &was) != 0)
        return errno == ENOENT && replace(place, nullptr, text);
    // Who has protected it means that.
    return faccessat(AT_FDCWD, place.c_str(), W_OK, AT_EACCESS) == 0 && replace(place, &was, text);
}

} // namespace wan
