/*
 * See coll_check.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_check.hpp"
#include "counters.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace check {

thread_local state now;
MPI_Comm whole_comm = MPI_COMM_WORLD;

namespace {

/** Of each: calls served, or left to Open MPI of coll/wan's choice; calls that it had no algorithm for. */
constexpr int collective_count = 2, counter_count = 2 * collective_count;
const char *const counter_names[] = {"served_bcast", "served_allreduce", "declined_bcast", "declined_allreduce", "left_bcast", "left_allreduce"};
constexpr size_t margin = 64;

wan_counters counters;
unsigned long long seen[counter_count];
char current[256];
unsigned patience = 20;
int turns;                          // of that, so far
double had_before;                  // processor time, when the call began
constexpr int turns_most = 8;

/** Seconds of a processor that this process had. */
double had()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

unsigned long long counter(int i)
{
    const auto at = static_cast<size_t>(i);
    return !now.plugin ? 0 : counters[at] + (i < collective_count ? counters[counter_count + at] : 0);
}

uint64_t hash(uint64_t h, const char *data, size_t size)
{
    for (; size >= 8; data += 8, size -= 8) {
        uint64_t word;
        std::memcpy(&word, data, 8);
        h = (h ^ word) * 0x9e3779b97f4a7c15ull;
        h ^= h >> 29;
    }
    for (size_t i = 0; i < size; ++i)
        h = (h ^ static_cast<unsigned char>(data[i])) * 0x100000001b3ull;
    return h;
}

void fill(random r, char *data, size_t size)
{
    for (; size >= 8; data += 8, size -= 8) {
        const uint64_t word = r.next();
        std::memcpy(data, &word, 8);
    }
    for (size_t i = 0; i < size; ++i)
        data[i] = static_cast<char>(r.next());
}

/** Memory that holds `count` elements and a margin on both sides. */
class region {
public:
    region(const layout &l, size_t count, random r) : layout_(l), count_(count)
    {
        ptrdiff_t low = 0, high = 0;
        if (count && l.size()) {
            const auto [a, b] = std::minmax_element(l.bytes.begin(), l.bytes.end());
            const ptrdiff_t last = static_cast<ptrdiff_t>(count - 1) * l.extent;
            low = std::min<ptrdiff_t>(0, last) + *a;
            high = std::max<ptrdiff_t>(0, last) + *b + 1;
        }
        origin_ = static_cast<ptrdiff_t>(margin) - low;
        // Odd extents and negative lower bounds must not cost alignment.
        origin_ = (origin_ + 15) / 16 * 16;
        memory_.resize(static_cast<size_t>(origin_ + high) + margin);
        fill(r, memory_.data(), memory_.size());
    }
    char *base() { return memory_.data() + origin_; }
    const std::vector<char> &memory() const { return memory_; }

    /** All data bytes, in the order of the type map. */
    void put(const char *packed)
    {
        if (layout_.dense()) {
            std::memcpy(base() + (layout_.size() ? layout_.bytes[0] : 0), packed, count_ * layout_.size());
            return;
        }
        for (size_t i = 0; i < count_; ++i)
            for (ptrdiff_t b : layout_.bytes)
                base()[static_cast<ptrdiff_t>(i) * layout_.extent + b] = *packed++;
    }
    std::vector<char> get()
    {
        std::vector<char> packed(count_ * layout_.size());
        char *to = packed.data();
        if (layout_.dense() && !packed.empty()) {
            std::memcpy(to, base() + layout_.bytes[0], packed.size());
            return packed;
        }
        for (size_t i = 0; i < count_; ++i)
            for (ptrdiff_t b : layout_.bytes)
                *to++ = base()[static_cast<ptrdiff_t>(i) * layout_.extent + b];
        return packed;
    }

private:
    const layout &layout_;
    size_t count_;
    ptrdiff_t origin_ = 0;
    std::vector<char> memory_;
};

/** "": equal; otherwise where they differ first, counted from the first element. */
std::string difference(region &got, region &wanted)
{
    const auto &a = got.memory(), &b = wanted.memory();
    if (a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0)
        return "";
    const size_t at = static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
    size_t differ = 0;
    for (size_t i = 0; i < a.size(); ++i)
        differ += a[i] != b[i];
    return std::to_string(differ) + " bytes differ, the first at offset "
           + std::to_string(static_cast<ptrdiff_t>(at) - (got.base() - a.data()));
}

/** Whether rank 0 of the communicator has the same bits; false is reported there. */
void same_everywhere(const target &t, const std::string &name, const std::vector<char> &result)
{
    constexpr int tag = 7777;
    const uint64_t mine = hash(0, result.data(), result.size());
    if (t.rank != 0) {
        MPI_Send(&mine, 1, MPI_UINT64_T, 0, tag, t.comm);
        return;
    }
    for (int r = 1; r < t.size; ++r) {
        uint64_t other;
        MPI_Recv(&other, 1, MPI_UINT64_T, r, tag, t.comm, MPI_STATUS_IGNORE);
        if (other != mine)
            fail(name + ": rank " + std::to_string(r) + " has other bits than rank 0");
    }
}

/* A call that does not return: say which, show the stack if asked to, and end the job.  Who waits looks all the while: one that
 * had next to nothing of a processor is not stuck, the machine is busy. */
void stuck(int)
{
    if (++turns < turns_most && had() - had_before < patience / 8.) {
        alarm(patience);
        return;
    }
    char line[400];
    const int n = std::snprintf(line, sizeof line, "rank %d (pid %d): %sno end of call %llu: %s\n", now.rank, getpid(), now.phase.c_str(),
                                static_cast<unsigned long long>(now.calls), current);
    (void) !write(2, line, static_cast<size_t>(n));
    if (std::getenv("WAN_TEST_GDB")) {
        char pid[16];
        std::snprintf(pid, sizeof pid, "%d", getpid());
        if (const pid_t child = fork(); child == 0) {
            dup2(2, 1);
            execlp("gdb", "gdb", "-p", pid, "-batch", "-ex", "thread apply all bt 16", static_cast<char *>(nullptr));
            _exit(1);
        } else {
            waitpid(child, nullptr, 0);
        }
    }
    _exit(3);
}

} // namespace

random::random(uint64_t a, uint64_t b, uint64_t c) : state(a)
{
    state = next() ^ b;
    state = next() ^ c;
}

uint64_t random::next()
{
    uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

bool layout::dense() const
{
    if (extent != static_cast<ptrdiff_t>(bytes.size()))
        return false;
    for (size_t i = 1; i < bytes.size(); ++i)
        if (bytes[i] != bytes[i - 1] + 1)
            return false;
    return true;
}

layout layout_of(std::string name, MPI_Datatype type, ptrdiff_t extent,
                 const std::vector<std::pair<ptrdiff_t, size_t>> &blocks)
{
    layout l;
    l.name = std::move(name);
    l.type = type;
    l.extent = extent;
    for (auto [offset, length] : blocks)
        for (size_t i = 0; i < length; ++i)
            l.bytes.push_back(offset + static_cast<ptrdiff_t>(i));
    return l;
}

void free(layout &l)
{
    if (l.owned)
        MPI_Type_free(&l.type);
    l.owned = false;
}

void open(uint64_t seed, const char *unserved)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &now.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &now.size);
    now.seed = seed;
    now.unserved = unserved ? unserved : "";
    now.plugin = counters.open({std::begin(counter_names), std::end(counter_names)});
    if (!now.plugin && now.unserved.empty())
        fail("coll/wan is not in this job (--unserved where it must not be)");
    now.sites.ask();
    std::signal(SIGALRM, stuck);
}

void watch(unsigned seconds)
{
    patience = seconds;
}

void doing(const std::string &what)
{
    std::snprintf(current, sizeof current, "%s", what.c_str());
    turns = 0;
    had_before = had();
    alarm(patience);
}

void fail(const std::string &what)
{
    if (++now.wrong <= 5)
        std::printf("rank %d, %scall %llu: %s\n", now.rank, now.phase.c_str(), static_cast<unsigned long long>(now.calls), what.c_str());
}

void begin_phase(size_t number, const std::string &what)
{
    now.phase = "phase " + std::to_string(number) + " (" + what + "), ";
    now.calls = 0;
}

void end_group(const std::string &name)
{
    now.digests.emplace_back(name, std::exchange(now.digest, 0));
}

int close()
{
    doing("summary");
    counters.close();
    uint64_t sums[2] = {now.compared, now.wrong}, all[2] = {};
    MPI_Reduce(sums, all, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    for (auto &[group, mine] : now.digests) {
        uint64_t sum = 0;
        MPI_Reduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
        mine = sum;
    }
    if (now.rank == 0) {
        std::printf("compared %llu results", static_cast<unsigned long long>(all[0]));
        for (const auto &[what, n] : now.served)
            std::printf(", %s served %llu", what.c_str(), static_cast<unsigned long long>(n));
        std::printf("\n");
        for (const auto &[reason, n] : now.reasons)
            std::printf("not served: %llu calls: %s\n", static_cast<unsigned long long>(n), reason.c_str());
        for (const auto &[group, digest] : now.digests)
            std::printf("digest %s %016llx\n", group.c_str(), static_cast<unsigned long long>(digest));
        if (all[1])
            std::printf("%llu wrong\n", static_cast<unsigned long long>(all[1]));
    }
    std::fflush(stdout);
    MPI_Bcast(all, 2, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    alarm(0);
    return all[1] != 0;
}

target target_of(MPI_Comm comm, const std::string &name)
{
    target t{.comm = comm, .rank = 0, .size = 0, .name = name, .unserved = now.unserved};
    MPI_Comm_rank(comm, &t.rank);
    MPI_Comm_size(comm, &t.size);
    if (t.unserved.empty() && !now.sites.spanned(comm))
        t.unserved = t.size == 1 ? "one rank" : "all ranks are in one site";
    return t;
}

witness::witness(const target &t, int collective, bool empty) : target_(t), collective_(collective), empty_(empty)
{
    ++now.calls;
    for (int i = 0; i < counter_count; ++i)
        before_[i] = counter(i);
}

void witness::done()
{
    static const char *const names[collective_count] = {"bcast", "allreduce"};
    ++now.compared;
    if (!now.plugin) {
        ++now.reasons["the plugin is not there"];
        return;
    }
    const std::string reason = !target_.unserved.empty() ? target_.unserved : empty_ ? "no bytes: nothing to send" : "";
    for (int i = 0; i < collective_count; ++i) {
        const unsigned long long wanted = i == collective_ && reason.empty() ? 1 : 0;
        if (now.background ? counter(i) - before_[i] < wanted : counter(i) - before_[i] != wanted)
            fail(target_.name + ": coll/wan served " + std::to_string(counter(i) - before_[i]) + " calls of " + names[i] + ", "
                 + std::to_string(wanted) + " expected");
    }
    if (reason.empty())
        ++now.served[names[collective_]];
    else
        ++now.reasons[reason];
}

void look()
{
    for (int i = 0; now.plugin && i < counter_count; ++i)
        seen[i] = counter(i);
}

void expect_total(unsigned long long bcasts, unsigned long long allreduces)
{
    const unsigned long long wanted[collective_count] = {bcasts, allreduces};
    for (int i = 0; now.plugin && now.unserved.empty() && i < collective_count; ++i) {
        if (counter(i) - seen[i] != wanted[i])
            fail(std::string(counter_names[i]) + " says " + std::to_string(counter(i) - seen[i]) + ", "
                 + std::to_string(wanted[i]) + " expected");
        seen[i] = counter(i);
        now.served[i ? "allreduce" : "bcast"] += wanted[i];
    }
}

void bcast(const target &t, const layout &at_root, int root_count, const layout &elsewhere, int count, int root)
{
    const bool am_root = t.rank == root;
    const layout &l = am_root ? at_root : elsewhere;
    const size_t n = static_cast<size_t>(am_root ? root_count : count);
    const std::string name = "bcast on " + t.name + " of " + std::to_string(root_count) + " " + at_root.name + " to "
                             + std::to_string(count) + " " + elsewhere.name + " from " + std::to_string(root);
    doing(name);
    witness w(t, 0, n * l.size() == 0);
    std::vector<char> stream(n * l.size());
    fill({now.seed, now.calls, 1}, stream.data(), stream.size());
    const random holes{now.seed, now.calls, 100 + static_cast<uint64_t>(t.rank)};
    region buffer(l, n, holes), wanted(l, n, holes);
    if (am_root)
        buffer.put(stream.data());
    wanted.put(stream.data());
    if (const int rc = MPI_Bcast(buffer.base(), static_cast<int>(n), l.type, root, t.comm); rc != MPI_SUCCESS)
        fail(name + ": code " + std::to_string(rc));
    w.done();
    if (const auto d = difference(buffer, wanted); !d.empty())
        fail(name + ": " + d);
    const auto result = buffer.get();
    now.digest += hash(now.calls * 31 + static_cast<uint64_t>(t.rank), result.data(), result.size());
}

void allreduce(const target &t, const reduction &r, int count, bool in_place)
{
    const layout &l = *r.l;
    const size_t n = static_cast<size_t>(count), size = l.size();
    const std::string name = "allreduce on " + t.name + " of " + std::to_string(count) + " " + l.name + " by " + r.name
                             + (in_place ? " in place" : "");
    doing(name);
    witness w(t, 1, n * size == 0);
    std::vector<char> packed(n * size);
    auto contribution = [&](int rank) -> const std::vector<char> & {
        random g{now.seed, now.calls, 1000 + static_cast<uint64_t>(rank)};
        for (size_t i = 0; i < n; ++i)
            r.make(g, packed.data() + i * size);
        return packed;
    };
    const random holes{now.seed, now.calls, 2000 + static_cast<uint64_t>(t.rank)}, other{now.seed, now.calls, 3000};
    const auto &mine = contribution(t.rank);
    region in(l, n, other), in_before(l, n, other), out(l, n, holes), wanted(l, n, holes);
    in.put(mine.data());
    in_before.put(mine.data());
    if (in_place)
        out.put(mine.data());
    const int rc = MPI_Allreduce(in_place ? MPI_IN_PLACE : in.base(), out.base(), count, l.type, r.op, t.comm);
    if (rc != MPI_SUCCESS)
        fail(name + ": code " + std::to_string(rc));
    w.done();

    region sum(l, n, other), next(l, n, other);
    sum.put(contribution(t.size - 1).data());
    for (int rank = t.size - 1; rank-- > 0;) {
        next.put(contribution(rank).data());
        if (n && MPI_Reduce_local(next.base(), sum.base(), count, l.type, r.op) != MPI_SUCCESS)
            return fail(name + ": MPI_Reduce_local failed");
    }
    auto result = out.get();
    const auto expected = sum.get();
    if (r.same) {
        for (size_t i = 0; i < n; ++i)
            if (!r.same(result.data() + i * size, expected.data() + i * size)) {
                fail(name + ": element " + std::to_string(i) + " is wrong");
                break;
            }
        same_everywhere(t, name, result);
        wanted.put(result.data());  // what is left to compare is around the elements
    } else {
        if (result != expected)
            fail(name + ": the result is wrong from byte "
                 + std::to_string(std::mismatch(result.begin(), result.end(), expected.begin()).first - result.begin()));
        wanted.put(expected.data());
        now.digest += hash(now.calls * 31 + static_cast<uint64_t>(t.rank), result.data(), result.size());
    }
    if (!l.loose)
        if (const auto d = difference(out, wanted); !d.empty())
            fail(name + ": " + d);
    if (const auto d = difference(in, in_before); !d.empty())
        fail(name + ": the send buffer was written: " + d);
}

} // namespace check
