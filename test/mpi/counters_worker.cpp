/*
 * A tool and a program in one: reads every performance variable that begins with
 * coll_wan_, knowing nothing but that, around calls that counters_check.py knows, and
 * writes what it saw to counters.RANK.json.  The argument names the calls:
 *
 *     calls     one of each kind, blocking and not; handles of two sessions; what is refused
 *     wait      ranks that come late, so that others wait in a call
 *     comms     calls on several communicators, and handles that are bound to each
 *     trees     broadcasts until every rank but the root has a parent
 *     served    some allreduces, checked, and a communicator in one site
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

using values = std::map<std::string, unsigned long long>;

/** Handles of all variables coll_wan_*, counting from when it is made: those of the process, or, given one, those of a communicator. */
class session {
public:
    explicit session(MPI_Comm of = MPI_COMM_NULL) : comm_(of)
    {
        int count = 0;
        MPI_T_pvar_session_create(&session_);
        MPI_T_pvar_get_num(&count);
        for (int i = 0; i < count; ++i)
            add(i);
    }
    ~session()
    {
        for (auto &[name, handle] : handles_)
            MPI_T_pvar_handle_free(session_, &handle);
        MPI_T_pvar_session_free(&session_);
    }
    session(const session &) = delete;

    values read() const
    {
        values all;
        for (const auto &[name, handle] : handles_)
            MPI_T_pvar_read(session_, handle, &all[name]);
        return all;
    }
    /** What a tool may not do to a counter of an implementation: how much of it is not refused. */
    int allowed() const
    {
        int n = 0;
        for (const auto &[name, handle] : handles_) {
            unsigned long long value = 5;
            n += MPI_T_pvar_write(session_, handle, &value) == MPI_SUCCESS;
            n += MPI_T_pvar_stop(session_, handle) == MPI_SUCCESS;
        }
        return n;
    }
    /** How many handles count from now on; it is Open MPI that keeps what each began with. */
    int reset() const
    {
        int n = 0;
        for (const auto &[name, handle] : handles_)
            n += MPI_T_pvar_reset(session_, handle) == MPI_SUCCESS;
        return n;
    }
    const std::map<std::string, std::string> &told() const { return told_; }

private:
    void add(int index)
    {
        char name[256] = "", help[1024] = "";
        int name_size = sizeof name, help_size = sizeof help, level, kind, bind, read_only, continuous, atomic, elements = 0;
        MPI_Datatype type;
        MPI_T_enum words;
        MPI_T_pvar_handle handle;
        if (MPI_T_pvar_get_info(index, name, &name_size, &level, &kind, &type, &words, help, &help_size, &bind, &read_only,
                                &continuous, &atomic)
                != MPI_SUCCESS
            || std::strncmp(name, "coll_wan_", 9))
            return;
        const bool own = std::strncmp(name, "coll_wan_comm_", 14) == 0;
        const bool counter = kind == MPI_T_PVAR_CLASS_COUNTER && type == MPI_UNSIGNED_LONG_LONG
                             && bind == (own ? MPI_T_BIND_MPI_COMM : MPI_T_BIND_NO_OBJECT) && read_only && continuous;
        told_[name] = counter ? help : "of another kind";
        if (counter && own == (comm_ != MPI_COMM_NULL)
            && MPI_T_pvar_handle_alloc(session_, index, own ? &comm_ : nullptr, &handle, &elements) == MPI_SUCCESS && elements == 1)
            handles_[name] = handle;
    }

    MPI_Comm comm_;
    MPI_T_pvar_session session_{};
    std::map<std::string, MPI_T_pvar_handle> handles_;
    std::map<std::string, std::string> told_;
};

/** What was seen, as JSON. */
class paper {
public:
    explicit paper(int rank) : file_(std::fopen(("counters." + std::to_string(rank) + ".json").c_str(), "w")) {}
    ~paper()
    {
        std::fprintf(file_, "\n}\n");
        std::fclose(file_);
    }
    paper(const paper &) = delete;
    template <typename T> void write(const char *name, const std::map<std::string, T> &all)
    {
        begin(name);
        const char *between = "{";
        for (const auto &[key, value] : all) {
            std::fprintf(file_, "%s\n \"%s\": ", between, key.c_str());
            if constexpr (std::is_same_v<T, std::string>)
                std::fprintf(file_, "\"%s\"", value.c_str());
            else
                std::fprintf(file_, "%llu", value);
            between = ",";
        }
        std::fprintf(file_, "%s}", all.empty() ? "{" : "");
    }
    void write(const char *name, long long value)
    {
        begin(name);
        std::fprintf(file_, "%lld", value);
    }

private:
    void begin(const char *name)
    {
        std::fprintf(file_, "%s\n\"%s\": ", first_ ? "{" : ",", name);
        first_ = false;
    }
    std::FILE *file_;
    bool first_ = true;
};

long long ns_since(double from) { return static_cast<long long>((MPI_Wtime() - from) * 1e9); }

/** Whether every result was right: each rank gives 1. */
bool reduce_all(MPI_Comm comm, int count, bool blocking)
{
    int size, right = 0;
    MPI_Comm_size(comm, &size);
    std::vector<int> in(static_cast<size_t>(count), 1), out(in.size());
    if (blocking) {
        MPI_Allreduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, comm);
    } else {
        MPI_Request request;
        MPI_Iallreduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int v : out)
        right += v == size;
    return right == count;
}

void calls(paper &out, int rank)
{
    const session whole;
    out.write("told", whole.told());
    out.write("begin", whole.read());
    double from = MPI_Wtime();
    std::vector<char> bytes(1 << 20), more(1 << 20);
    for (int i = 0; i < 3; ++i)
        MPI_Bcast(bytes.data(), 1 << 20, MPI_BYTE, 0, MPI_COMM_WORLD);
    out.write("bcast", whole.read());
    out.write("bcast_ns", ns_since(from));
    for (int i = 0; i < 5; ++i)
        reduce_all(MPI_COMM_WORLD, 4096, true);
    out.write("allreduce", whole.read());
    {
        const session late;
        const values before = late.read();
        for (int i = 0; i < 2; ++i)
            reduce_all(MPI_COMM_WORLD, 4096, false);
        out.write("late_begin", before);
        out.write("late", late.read());
        out.write("iallreduce", whole.read());
    }
    out.write("allowed", whole.allowed());
    out.write("still", whole.read());
    const session beside;
    beside.read();
    out.write("reset", beside.reset());
    out.write("not_reset", whole.read());
    MPI_Alltoall(bytes.data(), 1000, MPI_BYTE, more.data(), 1000, MPI_BYTE, MPI_COMM_WORLD);
    out.write("alltoall", whole.read());
    out.write("beside", beside.read());
    MPI_Comm second, half;
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &second);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    out.write("split", whole.read());
    reduce_all(half, 10, true);
    MPI_Barrier(second);
    MPI_Barrier(second);
    out.write("second", whole.read());
    MPI_Comm_free(&half);
    MPI_Comm_free(&second);
    out.write("freed", whole.read());
}

void wait(paper &out, int rank)
{
    const session whole;
    reduce_all(MPI_COMM_WORLD, 1, true);
    MPI_Barrier(MPI_COMM_WORLD);
    const values before = whole.read();
    const double from = MPI_Wtime();
    if (rank == 3)
        usleep(400'000);
    reduce_all(MPI_COMM_WORLD, 1, true);
    out.write("before", before);
    out.write("after", whole.read());
    out.write("took_ns", ns_since(from));
}

void trees(paper &out, int rank)
{
    const session whole;
    int done = 0;
    long long calls = 0;
    for (int wrong = 0; !done; ++calls) {
        int word = rank == 0 ? 4711 : 0;
        MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
        wrong += word != 4711;
        usleep(1000);
        if (calls % 50 == 49) {
            const int mine = wrong == 0 && (rank == 0 || whole.read()["coll_wan_tree_changes"] > 0);
            MPI_Allreduce(&mine, &done, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        }
    }
    out.write("calls", calls);
    out.write("trees", whole.read());
}

/** Two communicators over both sites and one in a site, each with calls of its own. */
void communicators(paper &out, int rank)
{
    MPI_Comm second, half;
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &second);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    {
        // MPI_COMM_WORLD's has counted what Open MPI itself called until here.
        const session of_world(MPI_COMM_WORLD), of_second(second), of_half(half), whole;
        std::vector<char> bytes(1 << 16);
        for (int i = 0; i < 3; ++i)
            MPI_Bcast(bytes.data(), 1 << 16, MPI_BYTE, 0, MPI_COMM_WORLD);
        const values world = of_world.read();
        for (int i = 0; i < 5; ++i)
            reduce_all(second, 4096, i % 2 == 0);
        reduce_all(half, 10, true);
        out.write("world_between", world);
        out.write("world", of_world.read());
        out.write("second", of_second.read());
        out.write("half", of_half.read());
        out.write("whole", whole.read());
    }
    MPI_Comm_free(&half);
    MPI_Comm_free(&second);
}

/** Sums of another component's variables of this name, over the ranks that it tells of; -1: there is none. */
long long other(const char *name, MPI_Comm comm)
{
    int index, size = 0;
    long long sum = -1;
    MPI_T_pvar_session of;
    MPI_T_pvar_handle handle;
    MPI_T_pvar_session_create(&of);
    for (const int kind : {MPI_T_PVAR_CLASS_SIZE, MPI_T_PVAR_CLASS_COUNTER, MPI_T_PVAR_CLASS_GENERIC, MPI_T_PVAR_CLASS_AGGREGATE})
        if (MPI_T_pvar_get_index(name, kind, &index) == MPI_SUCCESS
            && MPI_T_pvar_handle_alloc(of, index, &comm, &handle, &size) == MPI_SUCCESS) {
            std::vector<unsigned long long> v(static_cast<size_t>(size));
            MPI_T_pvar_start(of, handle);
            for (int i = 0; i < 4; ++i)
                reduce_all(MPI_COMM_WORLD, 100, true);
            if (MPI_T_pvar_read(of, handle, v.data()) == MPI_SUCCESS) {
                sum = 0;
                for (const unsigned long long x : v)
                    sum += static_cast<long long>(x);
            }
            MPI_T_pvar_handle_free(of, &handle);
            break;
        }
    MPI_T_pvar_session_free(&of);
    return sum;
}

/** Where this process runs, and who shares its host: hwloc's and the runtime's matter. */
void places(paper &out)
{
    cpu_set_t cpus;
    long long mask = 0;
    sched_getaffinity(0, sizeof cpus, &cpus);
    for (int i = 0; i < 62; ++i)
        mask |= CPU_ISSET(i, &cpus) ? 1ll << i : 0;
    out.write("cpus", mask);
    MPI_Comm host;
    int size;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &size);
    MPI_Comm_free(&host);
    out.write("on_host", size);
}

void served(paper &out, int rank)
{
    const session whole;
    int right = 0;
    for (int i = 0; i < 10; ++i)
        right += reduce_all(MPI_COMM_WORLD, 1000, true);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    right += reduce_all(half, 10, true);
    MPI_Comm_free(&half);
    out.write("right", right);
    out.write("after", whole.read());
    out.write("pml_messages", other("pml_monitoring_messages_count", MPI_COMM_WORLD));
    out.write("coll_messages", other("coll_monitoring_messages_count", MPI_COMM_WORLD));
    places(out);
}

} // namespace

int main(int argc, char **argv)
{
    int provided, rank;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const std::map<std::string, void (*)(paper &, int)> what{{"calls", calls}, {"wait", wait}, {"comms", communicators},
                                                                   {"trees", trees}, {"served", served}};
    const auto it = what.find(argc > 1 ? argv[1] : "");
    if (it == what.end()) {
        std::fprintf(stderr, "usage: counters_worker calls|wait|comms|trees|served\n");
        return 2;
    }
    {
        paper out(rank);
        it->second(out, rank);
    }
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
