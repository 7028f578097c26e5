/*
 * Processes that die in collectives (Open MPI 5.0, mpirun --with-ft ulfm): one or two of them are
 * killed at a time, anywhere in a row of calls of one kind; each of the others must get an error
 * from one of those calls, by itself, and no wrong result before that.  They shrink the communicator
 * as such programs do, revoking it before or not, and look whether collectives on what is left are
 * right, served, and cross between sites no more often than they must.  Again, until so many are dead.
 *
 * Everything that is decided comes from the seed and the group, so that no process has to ask.
 * The first survivor says at the end how many of them found all right:
 *
 *     6 killed, 2 right; 5 episodes, 34 calls in them
 *
 * Who waits too long says so; also whether Open MPI itself can hear nothing any more (deaf.hpp).
 *
 * Usage: kills_worker SEED KILLS FORMS [adaptive | hosts | plain]
 *   FORMS   of calls, of these letters: b(locking), n(on-blocking), s(everal at once), p(ersistent),
 *           r(estarted: one persistent request, started in each round)
 *   adaptive: how often calls cross between sites is not looked at, since trees have to settle
 *   hosts: nor where sites have several hosts, since several may then send across
 *   plain: nor who serves, since it is not coll/wan
 *   WAN_SITES: how many sites sites_by_rank has made, the rank modulo that
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.hpp"
#include "deaf.hpp"
#include "persistent.hpp"
#include "pretended_sites.hpp"

#include <mpi-ext.h>

#include <algorithm>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <unistd.h>
#include <utility>

namespace {

using values = std::vector<int64_t>;

constexpr const char *kinds[] = {"bcast", "reduce", "allreduce", "barrier", "allgather", "alltoall", "gather", "scatter", "scan", "reduce_scatter"};
constexpr int kind_count = static_cast<int>(std::size(kinds));
/** Seconds that an episode may take, on a machine that does much else. */
constexpr unsigned patience = 30;

int world_rank = 0;
char state[400] = "";       // for who looks at a job that hangs
long wrong = 0;
own_queue queue;

__attribute__((format(printf, 1, 2))) void complain(const char *format, ...)
{
    char text[600];
    va_list all;
    va_start(all, format);
    std::vsnprintf(text, sizeof text, format, all);
    va_end(all);
    std::printf("rank %d: %s (%s)\n", world_rank, text, state);
    std::fflush(stdout);
    ++wrong;
}

/** Adds to what is told of a job that hangs. */
void say(const char *text)
{
    const size_t n = std::char_traits<char>::length(state);
    std::snprintf(state + n, sizeof state - n, "; %s", text);
}

void hangs(int)
{
    static bool again = false, deaf = false;
    char text[500];
    // This process itself may be in the middle of reading its queue: it looks again when that has gone on.
    if (!std::exchange(again, true)) {
        const int n = std::snprintf(text, sizeof text, "rank %d hangs: %s\n", world_rank, state);
        (void) !write(STDOUT_FILENO, text, static_cast<size_t>(n));
        deaf = queue.broken();
        alarm(1);
        return;
    }
    if (deaf && queue.broken()) {
        const int m = std::snprintf(text, sizeof text, "rank %d is deaf: somebody died in the middle of writing to its queue of shared memory\n", world_rank);
        (void) !write(STDOUT_FILENO, text, static_cast<size_t>(m));
    }
    sleep(3);       // the others' words, too
    _exit(4);
}

/** One call of a kind on a communicator, with its buffers. */
class call {
public:
    call(MPI_Comm comm, int kind, int count, int root, long round) : comm_(comm), kind_(kind), count_(count), root_(root)
    {
        MPI_Comm_rank(comm, &me_);
        MPI_Comm_size(comm, &size_);
        const size_t all = static_cast<size_t>(count) * static_cast<size_t>(size_);
        in_.resize(all);
        out_.resize(all);
        fill(round);
    }

    /** Its buffers for another round. */
    void fill(long round)
    {
        round_ = round;
        out_.assign(out_.size(), -1);
        for (int block = 0; block < size_; ++block)
            for (int i = 0; i < count_; ++i)
                in_[at(block, i)] = value(me_, block, i);
        if (kind_ == 0)
            for (int i = 0; i < count_; ++i)
                out_[at(0, i)] = me_ == root_ ? value(root_, 0, i) : -1;
    }

    int blocking()
    {
        switch (kind_) {
        case 0: return MPI_Bcast(out_.data(), count_, MPI_INT64_T, root_, comm_);
        case 1: return MPI_Reduce(in_.data(), out_.data(), count_, MPI_INT64_T, MPI_SUM, root_, comm_);
        case 2: return MPI_Allreduce(in_.data(), out_.data(), count_, MPI_INT64_T, MPI_SUM, comm_);
        case 3: return MPI_Barrier(comm_);
        case 4: return MPI_Allgather(in_.data(), count_, MPI_INT64_T, out_.data(), count_, MPI_INT64_T, comm_);
        case 5: return MPI_Alltoall(in_.data(), count_, MPI_INT64_T, out_.data(), count_, MPI_INT64_T, comm_);
        case 6: return MPI_Gather(in_.data(), count_, MPI_INT64_T, out_.data(), count_, MPI_INT64_T, root_, comm_);
        case 7: return MPI_Scatter(in_.data(), count_, MPI_INT64_T, out_.data(), count_, MPI_INT64_T, root_, comm_);
        case 8: return MPI_Scan(in_.data(), out_.data(), count_, MPI_INT64_T, MPI_SUM, comm_);
        default: return MPI_Reduce_scatter_block(in_.data(), out_.data(), count_, MPI_INT64_T, MPI_SUM, comm_);
        }
    }
    int begin(MPI_Request *request)
    {
        switch (kind_) {
        case 0: return MPI_Ibcast(out_.data(), count_, MPI_INT64_T, root_, comm_, request);
        case 1: return MPI_Ireduce(in_.data(), out_.data(), count_, MPI_INT64_T, MPI_SUM, root_, comm_, request);
        case 2: return MPI_Iallreduce(in_.data(), out_.data(), count_, MPI_INT64_T, MPI_SUM, comm_, request);
        case 3: return MPI_Ibarrier(comm_, request);
        case 4: return MPI_Iallgather(in_.data(), count_, MPI_INT64_T, out_.data(), count_, MPI_INT64_T, comm_, request);
        case 5: return MPI_Ialltoall(in_.data(), count_, MPI_INT64_T, out_.data(), count_, MPI_INT64_T, comm_, request);
        case 6: return MPI_Igather(in_.data(), count_, MPI_INT64_T, out_.data(), count_, MPI_INT64_T, root_, comm_, request);
        case 7: return MPI_Iscatter(in_.data(), count_, MPI_INT64_T, out_.data(), count_, MPI_INT64_T, root_, comm_, request);
        case 8: return MPI_Iscan(in_.data(), out_.data(), count_, MPI_INT64_T, MPI_SUM, comm_, request);
        default: return MPI_Ireduce_scatter_block(in_.data(), out_.data(), count_, MPI_INT64_T, MPI_SUM, comm_, request);
        }
    }
    /** Of two kinds. */
    int init(MPI_Request *request)
    {
        if (kind_ == 0)
            return PERSISTENT(Bcast)(out_.data(), count_, MPI_INT64_T, root_, comm_, MPI_INFO_NULL, request);
        return PERSISTENT(Allreduce)(in_.data(), out_.data(), count_, MPI_INT64_T, MPI_SUM, comm_, MPI_INFO_NULL, request);
    }

    /** Whether what it gave is right. */
    bool right() const
    {
        switch (kind_) {
        case 0: return block_is(0, [&](int i) { return value(root_, 0, i); });
        case 1: return me_ != root_ || block_is(0, [&](int i) { return sum(0, i, size_); });
        case 2: return block_is(0, [&](int i) { return sum(0, i, size_); });
        case 3: return true;
        case 4: return all_are([&](int r, int i) { return value(r, 0, i); });
        case 5: return all_are([&](int r, int i) { return value(r, me_, i); });
        case 6: return me_ != root_ || all_are([&](int r, int i) { return value(r, 0, i); });
        case 7: return block_is(0, [&](int i) { return value(root_, me_, i); });
        case 8: return block_is(0, [&](int i) { return sum(0, i, me_ + 1); });
        default: return block_is(0, [&](int i) { return sum(me_, i, size_); });
        }
    }

private:
    size_t at(int block, int i) const { return static_cast<size_t>(block) * static_cast<size_t>(count_) + static_cast<size_t>(i); }
    int64_t value(int rank, int block, int i) const { return (rank + 1) * 1000003LL + block * 5003 + i * 7 + round_ * 13; }
    int64_t sum(int block, int i, int ranks) const
    {
        int64_t s = 0;
        for (int r = 0; r < ranks; ++r)
            s += value(r, block, i);
        return s;
    }
    template <class F> bool block_is(int block, F expected) const
    {
        for (int i = 0; i < count_; ++i)
            if (out_[at(block, i)] != expected(i))
                return false;
        return true;
    }
    template <class F> bool all_are(F expected) const
    {
        for (int r = 0; r < size_; ++r)
            if (!block_is(r, [&](int i) { return expected(r, i); }))
                return false;
        return true;
    }

    MPI_Comm comm_;
    int kind_, count_, root_, me_ = 0, size_ = 0;
    long round_ = 0;
    values in_, out_;
};

/** What happens until somebody is dead, the same for all processes. */
struct episode {
    int kind, count, root;
    char form;
    bool revoke;
    long round;                 // in which victims die
    std::vector<int> victims;   // ranks of MPI_COMM_WORLD
    long delay_ns;
};

int site_of(int rank, int sites) { return rank % sites; }

/** late: whose turn it was before, and who came out of that alive: nobody else dies then. */
episode draw(uint64_t seed, long number, std::vector<int> alive, int sites, const std::string &forms, int kills, const std::vector<int> &late)
{
    std::mt19937_64 r(seed * 1000 + static_cast<uint64_t>(number));
    const auto below = [&r](size_t n) { return static_cast<int>(r() % n); };
    constexpr int counts[] = {1, 40, 700, 20000};
    episode e{};
    const size_t size = alive.size();
    e.kind = below(kind_count);
    e.count = counts[below(std::size(counts))] / (e.kind == 4 || e.kind == 5 ? 4 : 1) + 1;
    e.root = below(size);
    e.form = forms[static_cast<size_t>(below(forms.size()))];
    e.revoke = below(2);
    e.round = below(6);
    e.delay_ns = (1L << below(15)) * 1000 + below(1000);
    e.victims = late;
    if (!late.empty())
        return e;
    for (int wanted = kills > 1 && below(3) == 0 ? 2 : 1; wanted > 0; --wanted) {
        // The last one of a site stays: else there is nothing to serve.
        std::vector<int> left(static_cast<size_t>(sites)), may;
        for (int rank : alive)
            ++left[static_cast<size_t>(site_of(rank, sites))];
        for (int rank : alive)
            if (left[static_cast<size_t>(site_of(rank, sites))] > 1)
                may.push_back(rank);
        if (may.empty())
            break;
        const int victim = may[static_cast<size_t>(below(may.size()))];
        e.victims.push_back(victim);
        std::erase(alive, victim);
    }
    return e;
}

/** Killed from outside of what it does then. */
void die_after(long ns)
{
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGKILL;
    timer_t timer;
    const itimerspec when{{0, 0}, {ns / 1'000'000'000, ns % 1'000'000'000}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &when, nullptr) != 0)
        raise(SIGKILL);
}

/** The kind that a persistent request has, of two. */
int persistent_kind(const episode &e) { return e.kind % 2 == 0 ? 0 : 2; }

/** One round of an episode whose calls are the starts of one request. */
int round_of_starts(MPI_Comm comm, const episode &e, long round)
{
    static std::unique_ptr<call> made;
    static MPI_Request request = MPI_REQUEST_NULL;
    int rc = MPI_SUCCESS;
    if (round == 0) {
        made = std::make_unique<call>(comm, persistent_kind(e), e.count, e.root, round);
        rc = made->init(&request);
    } else {
        made->fill(round);
    }
    if (rc == MPI_SUCCESS)
        rc = MPI_Start(&request);
    if (rc == MPI_SUCCESS)
        rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rc == MPI_SUCCESS && !made->right())
        complain("wrong result of a start");
    if (rc != MPI_SUCCESS && request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
    return rc;
}

/** One round.  The first error; results of what gave none are looked at. */
int round_of(MPI_Comm comm, const episode &e, long round, long *calls)
{
    std::vector<call> all;
    std::vector<MPI_Request> requests;
    int first = MPI_SUCCESS;
    const int n = e.form == 's' ? 4 : 1;
    int size;
    *calls += n;
    if (e.form == 'r')
        return round_of_starts(comm, e, round);
    MPI_Comm_size(comm, &size);
    all.reserve(static_cast<size_t>(n));
    for (int k = 0; k < n; ++k) {
        const int kind = e.form == 'p' ? persistent_kind(e) : (e.kind + k) % kind_count;
        all.emplace_back(comm, kind, e.count, (e.root + k) % size, round);
    }
    if (e.form == 'b') {
        first = all[0].blocking();
        if (first == MPI_SUCCESS && !all[0].right())
            complain("wrong result");
        return first;
    }
    for (call &c : all) {
        MPI_Request request = MPI_REQUEST_NULL;
        int rc = e.form == 'p' ? c.init(&request) : c.begin(&request);
        if (rc == MPI_SUCCESS && e.form == 'p')
            rc = MPI_Start(&request);
        if (rc != MPI_SUCCESS && first == MPI_SUCCESS)
            first = rc;
        requests.push_back(request);
        if (rc != MPI_SUCCESS)
            break;
    }
    for (size_t k = 0; k < requests.size(); ++k) {
        if (requests[k] == MPI_REQUEST_NULL)
            continue;
        MPI_Request &request = requests[k];
        const int rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rc == MPI_SUCCESS && first == MPI_SUCCESS && !all[k].right())
            complain("wrong result of call %zu", k);
        if (rc != MPI_SUCCESS && first == MPI_SUCCESS)
            first = rc;
        if (request != MPI_REQUEST_NULL)
            MPI_Request_free(&request);
    }
    return first;
}

int class_of(int code)
{
    int c = MPI_SUCCESS;
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &c);
    return c;
}

struct watched {
    wan_counters counters;
    size_t served = 0, others = 0, messages = 0;        // where in `counters` they begin
    bool open()
    {
        std::vector<std::string> names;
        const std::string all[] = {"bcast", "allreduce", "reduce", "barrier", "scan", "exscan", "allgather", "gather", "scatter", "reduce_scatter", "alltoall"};
        for (const std::string &name : all)
            names.push_back("served_" + name);
        others = names.size();
        for (const std::string &name : all) {
            names.push_back("declined_" + name);
            names.push_back("left_" + name);
        }
        names.push_back("passed");
        messages = names.size();
        names.push_back("wan_messages");
        return counters.open(names);
    }
    unsigned long long sum(size_t from, size_t to) const
    {
        unsigned long long s = 0;
        for (size_t i = from; i < to; ++i)
            s += counters[i];
        return s;
    }
};

/** Collectives on what is left: the first error, or MPI_SUCCESS; what is wrong is said. */
int look_at(MPI_Comm comm, const watched &w, int sites, const std::string &who)
{
    int size, me;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &me);
    const auto made = [&](int kind, int count, int root) {
        say(kinds[kind]);
        call c(comm, kind, count, root, 5);
        const int rc = c.blocking();
        if (rc == MPI_SUCCESS && !c.right())
            complain("wrong result of %s after shrinking", kinds[kind]);
        return rc;
    };
    // In the first one ranks agree and links are measured.
    if (const int rc = made(2, 3, 0); rc != MPI_SUCCESS)
        return rc;
    const unsigned long long served = w.sum(w.served, w.others), others = w.sum(w.others, w.messages);
    const int all[][3] = {{0, 1, size - 1}, {1, 50, 0}, {2, 2000, 0}, {3, 1, 0}, {4, 10, 0}, {0, 20000, size / 2}};
    for (const auto &[kind, count, root] : all)
        if (const int rc = made(kind, count, root); rc != MPI_SUCCESS)
            return rc;
    const unsigned long long calls = std::size(all);
    if (who == "plain")
        return MPI_SUCCESS;
    if (w.sum(w.served, w.others) - served != calls || w.sum(w.others, w.messages) != others)
        complain("after shrinking %llu of %llu calls were served, %llu were not", w.sum(w.served, w.others) - served, calls,
                 w.sum(w.others, w.messages) - others);
    if (who == "adaptive" || who == "hosts")
        return MPI_SUCCESS;
    const unsigned long long before = w.counters[w.messages];
    if (const int rc = made(0, 1, size - 1); rc != MPI_SUCCESS)
        return rc;
    const int64_t mine = static_cast<int64_t>(w.counters[w.messages] - before);
    int64_t crossed = 0;
    if (const int rc = MPI_Allreduce(&mine, &crossed, 1, MPI_INT64_T, MPI_SUM, comm); rc != MPI_SUCCESS)
        return rc;
    if (crossed != sites - 1)
        complain("a broadcast of %zu bytes crosses between %d sites %lld times after shrinking", sizeof(int64_t), sites,
                 static_cast<long long>(crossed));
    return MPI_SUCCESS;
}

/** As a program does that goes on with who is left.  Uniform: all survivors come back with the same group. */
MPI_Comm shrink(MPI_Comm comm, const watched &w, int sites, const std::string &who, bool revoke)
{
    for (bool again = false;; again = true) {
        MPI_Comm next = MPI_COMM_NULL;
        MPI_Group failed;
        int n = 0;
        MPIX_Comm_failure_ack(comm);
        MPIX_Comm_failure_get_acked(comm, &failed);
        MPI_Group_size(failed, &n);
        MPI_Group_free(&failed);
        if (n == 0 && !revoke && !again)
            complain("an error, but nobody is known to be dead");
        if (revoke)
            MPIX_Comm_revoke(comm);
        say("shrinks");
        const int rc = MPIX_Comm_shrink(comm, &next);
        if (rc != MPI_SUCCESS) {
            complain("MPIX_Comm_shrink: error class %d", class_of(rc));
            _exit(5);
        }
        say("frees");
        MPI_Comm_free(&comm);
        comm = next;
        const int found = look_at(comm, w, sites, who);
        const int c = class_of(found);
        if (c != MPI_SUCCESS && c != MPIX_ERR_PROC_FAILED)
            complain("error class %d after shrinking", c);
        int fine = found == MPI_SUCCESS;
        say("agrees");
        if (MPIX_Comm_agree(comm, &fine) == MPI_SUCCESS && fine)
            return comm;
        revoke = false;
    }
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 4) {
        std::fprintf(stderr, "usage: kills_worker SEED KILLS FORMS [adaptive | hosts | plain]\n");
        return 2;
    }
    const uint64_t seed = std::strtoull(argv[1], nullptr, 10);
    const int kills = std::atoi(argv[2]);
    const std::string forms = argv[3];
    const std::string who = argc > 4 ? argv[4] : "";
    const char *given = std::getenv("WAN_SITES");
    const int sites = given ? std::atoi(given) : 2;
    std::signal(SIGALRM, hangs);
    alarm(patience);
    MPI_Init(&argc, &argv);
    int provided, size;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    queue.find(world_rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    watched w;
    if (who != "plain" && !w.open()) {
        std::fprintf(stderr, "kills_worker: coll/wan is not loaded\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    long number = 0, calls = 0;
    int dead = 0;
    std::vector<int> late;
    for (; dead < kills; ++number) {
        const std::vector<int> alive = world_ranks(comm);
        const episode e = draw(seed, number, alive, sites, forms, kills - dead, late);
        if (e.victims.empty())
            break;
        bool victim = false;
        for (int rank : e.victims)
            victim = victim || rank == world_rank;
        int rc = MPI_SUCCESS;
        alarm(patience);
        for (long round = 0; rc == MPI_SUCCESS; ++round) {
            std::snprintf(state, sizeof state, "seed %llu, episode %ld of %zu ranks, %s of %d from %d, form %c, round %ld, %zu die in %ld after %ld us",
                          static_cast<unsigned long long>(seed), number, alive.size(), kinds[e.kind], e.count, e.root, e.form, round,
                          e.victims.size(), e.round, e.delay_ns / 1000);
            if (victim && round == e.round)
                die_after(e.delay_ns);
            rc = round_of(comm, e, round, &calls);
        }
        const int c = class_of(rc);
        if (c != MPIX_ERR_PROC_FAILED && c != MPIX_ERR_REVOKED)
            complain("error class %d, not of a failed process", c);
        if (c == MPIX_ERR_REVOKED && !e.revoke)
            complain("revoked, by nobody");
        say("error");
        comm = shrink(comm, w, sites, who, e.revoke);
        const std::vector<int> left = world_ranks(comm);
        dead = size - static_cast<int>(left.size());
        late.clear();
        for (int rank : e.victims)
            if (std::count(left.begin(), left.end(), rank))
                late.push_back(rank);
    }
    std::snprintf(state, sizeof state, "at the end");
    int me;
    MPI_Comm_rank(comm, &me);
    int mine = wrong == 0, right = 0;
    MPI_Allreduce(&mine, &right, 1, MPI_INT, MPI_SUM, comm);
    if (me == 0)
        std::printf("%d killed, %d right; %ld episodes, %ld calls in them\n", dead, right, number, calls);
    std::fflush(stdout);
    // Not by MPI_Finalize: where processes have died, Open MPI 5.0.7's waits for ever now and then, without coll/wan too.
    MPI_Barrier(comm);
    usleep(200'000);        // mpirun takes up what was printed
    _exit(wrong != 0);
}
