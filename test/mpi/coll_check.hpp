/*
 * One collective call, compared byte by byte with what it should have done.
 *
 * Every value is a function of (seed, number of the call, rank, position), so
 * that each rank knows what all others put in: the expected result is computed
 * here, by MPI_Reduce_local in the order of ranks, and nothing is sent for it.
 * What is compared is the whole region around and between the elements: bytes
 * that are in no element must be as they were.  A digest of all results lets
 * the script compare with a job that runs Open MPI alone.
 *
 * Around each call, MPI_T counters tell who served it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_TEST_COLL_CHECK_HPP
#define WAN_TEST_COLL_CHECK_HPP

#include "pretended_sites.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace check {

/** splitmix64: small, and the same everywhere. */
struct random {
    uint64_t state;
    random(uint64_t a, uint64_t b = 0, uint64_t c = 0);
    uint64_t next();
    uint64_t below(uint64_t n) { return next() % n; }
};

/** Where the data bytes of one element lie, in the order of the type map; known without asking MPI. */
struct layout {
    std::string name;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    ptrdiff_t extent = 0;
    std::vector<ptrdiff_t> bytes;
    bool owned = false;         // free() frees it
    bool loose = false;         // operators may write the holes (pair types)

    size_t size() const { return bytes.size(); }
    bool dense() const;
};
/** `blocks`: offset and length, in the order of the type map. */
layout layout_of(std::string name, MPI_Datatype type, ptrdiff_t extent,
                 const std::vector<std::pair<ptrdiff_t, size_t>> &blocks);
void free(layout &l);

/** A communicator, and why coll/wan does not serve it (empty: it must). */
struct target {
    MPI_Comm comm;
    int rank, size;
    std::string name;
    std::string unserved;
};

/** How an element is made: writes size() bytes, in the order of the type map. */
using maker = std::function<void(random &, char *element)>;

/** An Allreduce: what to reduce, and how results are compared. */
struct reduction {
    std::string name;
    const layout *l;
    MPI_Op op;
    maker make;
    /** Empty: bit by bit.  Otherwise compares two elements, and all ranks must have the same bits. */
    std::function<bool(const char *got, const char *wanted)> same;
};

struct state {
    int rank = 0, size = 0;     // of MPI_COMM_WORLD
    uint64_t seed = 1;
    bool plugin = false;        // its counters are there
    bool background = false;    // calls that nobody looks at are under way: counters say no less than expected
    std::string unserved;       // why no communicator of this job is served
    std::string phase;
    pretended_sites sites;
    uint64_t calls = 0, compared = 0, wrong = 0, digest = 0;
    std::vector<std::pair<std::string, uint64_t>> digests;  // of groups that are over
    std::map<std::string, uint64_t> served, reasons;
};
extern thread_local state now;

/** Counters, sites of all ranks; after MPI_Init. */
void open(uint64_t seed, const char *unserved);
/** The calls since the last one of these have a digest of their own in the summary. */
void end_group(const std::string &name);
/** Calls are counted from 0 again; what fails is told with it. */
void begin_phase(size_t number, const std::string &what);
/** One summary by rank 0; the job's exit code. */
int close();
void fail(const std::string &what);
/** Names the call for people who look at a job that does not go on; 20 s from now it tells. */
void doing(const std::string &what);
void watch(unsigned seconds);

target target_of(MPI_Comm comm, const std::string &name);
/** All ranks: MPI_COMM_WORLD, or its duplicate of the phase. */
extern MPI_Comm whole_comm;
inline target whole() { return target_of(whole_comm, "world"); }

void bcast(const target &t, const layout &at_root, int root_count, const layout &elsewhere, int count, int root);
inline void bcast(const target &t, const layout &l, int count, int root) { bcast(t, l, count, l, count, root); }
void allreduce(const target &t, const reduction &r, int count, bool in_place);

/** From here on, expect_total() counts. */
void look();
/** Where calls of threads overlap: how many were served since the last call that was looked at. */
void expect_total(unsigned long long bcasts, unsigned long long allreduces);

/** For calls that are made by hand: what the counters should say afterwards. */
class witness {
public:
    witness(const target &t, int collective, bool empty);
    void done();

private:
    const target &target_;
    int collective_;
    bool empty_;
    unsigned long long before_[4];  // served, then declined
};

} // namespace check

#endif
