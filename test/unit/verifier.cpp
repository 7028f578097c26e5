/*
 * The verifier finds each kind of defect: schedules written by hand, right
 * ones that pass and their faulty relatives that do not.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sched/verifier.hpp"

#include "scripted_port.hpp"
#include "unit.hpp"

namespace {

using namespace wan;
using namespace wan_test;

struct job {
    std::vector<const char *> lines;    // of rank r, without the head; '\n' between operations
    int tmp = 1;
    verify_options o;
    const char *rooms = nullptr;        // of scratch, where parts are of blocks
};

std::string run(const job &j, observations *traffic = nullptr)
{
    std::vector<std::string> names;
    for (size_t r = 0; r < j.lines.size(); ++r)
        names.push_back(r < j.lines.size() / 2 ? "a" : "b");
    std::vector<place> places;
    for (size_t r = 0; r < j.lines.size(); ++r)
        places.push_back({names[r], r});
    std::vector<std::shared_ptr<const program>> all;
    for (size_t r = 0; r < j.lines.size(); ++r) {
        std::string why;
        auto s = parse_schedule("schedule rank " + std::to_string(r) + " tmp " + std::to_string(j.tmp)
                                    + (kind_of(j.o.collective).blocks ? std::string(" blocks ") + (j.rooms ? j.rooms : "") : "") + "\n" + j.lines[r], &why);
        if (!s)
            return "text: " + why;
        all.push_back(std::make_shared<const program>(std::move(*s)));
    }
    return verify(topology(places), all, j.o, traffic);
}

verify_options bcast(int root = 0, size_t count = 4) { return {.collective = WAN_BCAST, .root = root, .count = count, .segment = count}; }
verify_options sum(size_t count = 4) { return {.collective = WAN_ALLREDUCE, .count = count, .segment = count}; }
verify_options reduce(int root = 0) { return {.collective = WAN_REDUCE, .root = root, .count = 4, .segment = 4}; }
verify_options scan(wan_collective_t c = WAN_SCAN) { return {.collective = c, .count = 4, .segment = 4}; }
verify_options barrier() { return {.collective = WAN_BARRIER, .count = 1, .segment = 1}; }
verify_options of_blocks(wan_collective_t c, size_t count = 2) { return {.collective = c, .count = count, .segment = std::max<size_t>(1, count)}; }
verify_options sized(verify_options o) { return o.sizes = {3, 0, 2}, o; }
verify_options apart(verify_options o) { return o.scattered = true, o; }
verify_options ordered(verify_options o) { return o.commutative = false, o; }
verify_options in_place(verify_options o) { return o.in_place = true, o; }
verify_options cut(verify_options o, size_t segment, uint32_t window) { return o.segment = segment, o.window = window, o; }

verify_options blocks(wan_collective_t c, int root = 0, size_t count = 2)
{
    return {.collective = c, .root = root, .count = count, .segment = std::max<size_t>(1, count)};
}
verify_options scattered(verify_options o) { return o.scattered = true, o; }
verify_options of_sizes(verify_options o, std::vector<size_t> sizes) { return o.sizes = std::move(sizes), o; }

struct row {
    const char *name;
    job j;
    const char *says;       // "" for right ones
};

std::vector<row> rows()
{
    // Two ranks exchange and compute in0 op in1 on both.
    const char *left = "0 send in 0/1..1/1 to 1 label 0\n"
                       "1 recv tmp0 0/1..1/1 from 1 label 0\n"
                       "2 reduce in tmp0 0/1..1/1 after 1\n"
                       "3 copy tmp0 out 0/1..1/1 after 0 2\n";
    const char *right = "0 send in 0/1..1/1 to 0 label 0\n"
                        "1 copy in out 0/1..1/1 after 0\n"
                        "2 recv tmp0 0/1..1/1 from 0 label 0\n"
                        "3 reduce tmp0 out 0/1..1/1 after 1 2\n";
    const char *send = "0 send out 0/1..1/1 to 1 label 0\n", *recv = "0 recv out 0/1..1/1 from 0 label 0\n";
    // Rank 0 adds up what rank 1 gives: in order, in the other order, twice; or hands its own on.
    const char *give = "0 send in 0/1..1/1 to 0 label 0\n";
    const char *take = "0 recv tmp0 0/1..1/1 from 1 label 0\n1 reduce in tmp0 0/1..1/1 after 0\n2 copy tmp0 out 0/1..1/1 after 1\n";
    const char *add = "0 recv tmp0 0/1..1/1 from 1 label 0\n1 copy in out 0/1..1/1\n2 reduce tmp0 out 0/1..1/1 after 0 1\n";
    const char *twice = "0 recv tmp0 0/1..1/1 from 1 label 0\n1 copy in out 0/1..1/1\n2 reduce tmp0 out 0/1..1/1 after 0 1\n3 reduce tmp0 out 0/1..1/1 after 2\n";
    const char *first = "0 send in 0/1..1/1 to 1 label 0\n1 copy in out 0/1..1/1 after 0\n";
    const char *second = "0 recv tmp0 0/1..1/1 from 0 label 0\n1 copy in out 0/1..1/1\n2 reduce tmp0 out 0/1..1/1 after 0 1\n";
    const char *all0 = "0 copy in out 0+0/1..1+0/1\n1 send in 0+0/1..1+0/1 to 1 label 0 after 0\n2 recv out 1+0/1..2+0/1 from 1 label 0\n";
    const char *all1 = "0 copy in out 1+0/1..2+0/1\n1 send in 1+0/1..2+0/1 to 0 label 0 after 0\n2 recv out 0+0/1..1+0/1 from 0 label 0\n";
    const char *give1 = "0 send in 1+0/1..2+0/1 to 0 label 0\n";
    const char *deal0 = "0 send in 1+0/1..2+0/1 to 1 label 0\n1 copy in out 0+0/1..1+0/1\n";
    return {
        {"broadcast", {{send, recv}, 0, bcast()}, ""},
        {"broadcast of nothing", {{send, recv}, 0, bcast(0, 0)}, ""},
        {"broadcast in segments", {{send, recv}, 0, cut(bcast(0, 10), 3, 2)}, ""},
        {"broadcast from 1", {{"0 recv out 0/1..1/1 from 1 label 0\n", "0 send out 0/1..1/1 to 0 label 0\n"}, 0, bcast(1)}, ""},
        {"broadcast in halves", {{"0 send out 0/2..1/2 to 1 label 0\n1 send out 1/2..2/2 to 1 label 1\n",
                                  "0 recv out 0/2..1/2 from 0 label 0\n1 recv out 1/2..2/2 from 0 label 1\n"}, 0, bcast(0, 5)}, ""},
        {"allreduce", {{left, right}, 1, sum()}, ""},
        {"allreduce in order", {{left, right}, 1, ordered(sum())}, ""},
        {"allreduce in place", {{left, right}, 1, in_place(sum())}, ""},
        {"allreduce in segments", {{left, right}, 1, cut(in_place(sum(7)), 2, 3)}, ""},

        {"reduce", {{take, give}, 1, reduce()}, ""},
        {"reduce in order", {{take, give}, 1, ordered(reduce())}, ""},
        {"reduce in place", {{take, give}, 1, in_place(reduce())}, ""},
        {"reduce, a contribution dropped", {{"0 copy in out 0/1..1/1\n1 recv tmp0 0/1..1/1 from 1 label 0\n", give}, 1, reduce()}, "rank 0, element 0: contribution of rank 1 is missing"},
        {"reduce, a contribution doubled", {{twice, give}, 1, reduce()}, "more contributions than ranks"},
        {"reduce in the wrong order", {{add, give}, 1, ordered(reduce())}, "not in the order of ranks"},
        {"reduce in any order", {{add, give}, 1, reduce()}, ""},
        {"reduce at the wrong root", {{take, give}, 1, reduce(1)}, "rank 0: operation 2: only the root"},
        {"reduce into a buffer that is not there", {{take, "0 copy in out 0/1..1/1\n1 send out 0/1..1/1 to 0 label 0 after 0\n"}, 1, reduce()}, "rank 1: operation 0: only the root"},
        {"reduce over a send buffer", {{take, "0 send in 0/1..1/1 to 0 label 0\n1 copy tmp0 in 0/1..1/1 after 0\n"}, 1, in_place(reduce())}, "rank 1, element 0: the send buffer was overwritten"},

        {"scan", {{first, second}, 1, scan()}, ""},
        {"scan in order, in place", {{first, second}, 1, in_place(ordered(scan()))}, ""},
        {"scan, what stands before is dropped", {{first, "0 recv tmp0 0/1..1/1 from 0 label 0\n1 copy in out 0/1..1/1\n"}, 1, scan()}, "rank 1, element 0: contribution of rank 0 is missing"},
        {"scan, too much at the first rank", {{take, give}, 1, scan()}, "rank 0, element 0: more contributions"},
        {"scan in the wrong order", {{first, "0 recv tmp0 0/1..1/1 from 0 label 0\n1 reduce in tmp0 0/1..1/1 after 0\n2 copy tmp0 out 0/1..1/1 after 1\n"}, 1, ordered(scan())}, "not in the order of ranks"},
        {"scan that leaves itself out", {{first, recv}, 1, scan()}, "rank 1, element 0: contribution of rank 1 is missing"},
        {"exscan", {{"0 send in 0/1..1/1 to 1 label 0\n", recv}, 1, scan(WAN_EXSCAN)}, ""},
        {"exscan in place", {{"0 send in 0/1..1/1 to 1 label 0\n", recv}, 1, in_place(scan(WAN_EXSCAN))}, ""},
        {"exscan that includes itself", {{"0 send in 0/1..1/1 to 1 label 0\n", second}, 1, scan(WAN_EXSCAN)}, "rank 1, element 0: more contributions"},
        {"exscan writes at rank 0", {{first, recv}, 1, scan(WAN_EXSCAN)}, "rank 0, element 0: nothing stands before it"},
        {"exscan writes at rank 0, in place", {{"0 send in 0/1..1/1 to 1 label 0\n1 copy tmp0 out 0/1..1/1 after 0\n", recv}, 1, in_place(scan(WAN_EXSCAN))}, "nothing stands before it"},

        {"barrier", {{"0 signal to 1 label 0\n1 await from 1 label 0\n", "0 signal to 0 label 0\n1 await from 0 label 0\n"}, 0, barrier()}, ""},
        {"barrier by a root", {{"0 await from 1 label 0\n1 signal to 1 label 0 after 0\n", "0 signal to 0 label 0\n1 await from 0 label 0 after 0\n"}, 0, barrier()}, ""},
        {"barrier in one direction", {{"0 signal to 1 label 0\n", "0 await from 0 label 0\n"}, 0, barrier()}, "rank 0 may leave before rank 1 has come"},
        {"barrier that does not wait", {{"0 await from 1 label 0\n1 await from 2 label 0\n2 signal to 1 label 0 after 0\n3 signal to 2 label 0 after 0 1\n",
                                         "0 signal to 0 label 0\n1 await from 0 label 0\n", "0 signal to 0 label 0\n1 await from 0 label 0\n"}, 0, barrier()},
         "rank 1 may leave before rank 2 has come"},
        {"barrier, a signal dropped", {{"0 await from 1 label 0\n1 signal to 1 label 0 after 0\n", "0 await from 0 label 0\n"}, 0, barrier()}, "deadlock"},
        {"allgather", {{all0, all1}, 0, blocks(WAN_ALLGATHER)}, ""},
        {"allgather in place", {{all0, all1}, 0, in_place(blocks(WAN_ALLGATHER))}, ""},
        {"allgatherv, with gaps", {{all0, all1}, 0, of_sizes(scattered(blocks(WAN_ALLGATHER)), {3, 0})}, ""},
        {"gather", {{"0 copy in out 0+0/1..1+0/1\n1 recv out 1+0/1..2+0/1 from 1 label 0\n", give1}, 0, blocks(WAN_GATHER)}, ""},
        {"gather in place", {{"0 copy in out 0+0/1..1+0/1\n1 recv out 1+0/1..2+0/1 from 1 label 0\n", give1}, 0, in_place(blocks(WAN_GATHER))}, ""},
        {"gather to 1", {{"0 send in 0+0/1..1+0/1 to 1 label 0\n", "0 copy in out 1+0/1..2+0/1\n1 recv out 0+0/1..1+0/1 from 0 label 0\n"}, 0, of_sizes(blocks(WAN_GATHER, 1), {1, 4})}, ""},
        {"scatter", {{deal0, "0 recv out 1+0/1..2+0/1 from 0 label 0\n"}, 0, blocks(WAN_SCATTER)}, ""},
        {"scatter in place", {{deal0, "0 recv out 1+0/1..2+0/1 from 0 label 0\n"}, 0, in_place(blocks(WAN_SCATTER))}, ""},

        {"allgather without the own block", {{"0 send in 0+0/1..1+0/1 to 1 label 0\n1 recv out 1+0/1..2+0/1 from 1 label 0\n", all1}, 0, blocks(WAN_ALLGATHER)}, "rank 0, element 0: of the block of rank 0"},
        {"allgather, received into the wrong block", {{"0 send in 0+0/1..1+0/1 to 1 label 0\n1 recv out 0+0/1..1+0/1 from 1 label 0 after 0\n", all1}, 0, blocks(WAN_ALLGATHER)}, "of the block of rank 0"},
        {"allgather, half a block", {{"0 copy in out 0+0/1..1+0/1\n1 send in 0+0/1..0+1/2 to 1 label 0 after 0\n2 recv out 1+0/1..2+0/1 from 1 label 0\n",
                                      "0 copy in out 1+0/1..2+0/1\n1 send in 1+0/1..2+0/1 to 0 label 0 after 0\n2 recv out 0+0/1..0+1/2 from 0 label 0\n"}, 0, blocks(WAN_ALLGATHER)}, "rank 1, element 1: of the block of rank 0"},
        {"gather, doubled", {{"0 copy in out 0+0/1..1+0/1\n1 recv out 1+0/1..2+0/1 from 1 label 0\n2 recv out 0+0/1..1+0/1 from 1 label 1 after 0\n",
                              "0 send in 1+0/1..2+0/1 to 0 label 0\n1 send in 1+0/1..2+0/1 to 0 label 1\n"}, 0, blocks(WAN_GATHER)}, "of the block of rank 0"},
        {"gather, dropped", {{"0 copy in out 0+0/1..1+0/1\n", ""}, 0, blocks(WAN_GATHER)}, "rank 0, element 0: of the block of rank 1"},
        {"gather to the wrong root", {{"0 copy in out 0+0/1..1+0/1\n1 recv out 1+0/1..2+0/1 from 1 label 0\n", give1}, 0, blocks(WAN_GATHER, 1)}, "does not hold"},
        {"scatter, the neighbour's block", {{"0 send in 0+0/1..1+0/1 to 1 label 0\n1 copy in out 0+0/1..1+0/1 after 0\n", "0 recv out 1+0/1..2+0/1 from 0 label 0\n"}, 0, blocks(WAN_SCATTER)}, "rank 1"},
        {"scatter, the root goes without", {{"0 send in 1+0/1..2+0/1 to 1 label 0\n", "0 recv out 1+0/1..2+0/1 from 0 label 0\n"}, 0, blocks(WAN_SCATTER)}, "rank 0, element 0"},
        {"scatter, dropped", {{"0 copy in out 0+0/1..1+0/1\n", ""}, 0, blocks(WAN_SCATTER)}, "rank 1, element 0"},
        {"a token that nobody sends", {{"0 copy in out 0+0/1..1+0/1\n1 recv out 1+0/1..2+0/1 from 1 label 0\n", "0 await from 0 label 1\n1 send in 1+0/1..2+0/1 to 0 label 0 after 0\n"}, 0, blocks(WAN_GATHER)}, "deadlock"},
        {"a token that nobody awaits", {{"0 copy in out 0+0/1..1+0/1\n1 recv out 1+0/1..2+0/1 from 1 label 0\n2 signal to 1 label 1\n", give1}, 0, blocks(WAN_GATHER)}, ""},      // says one of two: below

        {"from the wrong root", {{send, recv}, 0, bcast(1)}, "does not hold the root's data"},
        {"half is missing", {{"0 send out 0/2..1/2 to 1 label 0\n", "0 recv out 0/2..1/2 from 0 label 0\n"}, 0, bcast()}, "rank 1, element 2: does not hold"},
        {"halves exchanged", {{"0 send out 0/2..1/2 to 1 label 1\n1 send out 1/2..2/2 to 1 label 0\n",
                               "0 recv out 0/2..1/2 from 0 label 0\n1 recv out 1/2..2/2 from 0 label 1\n"}, 0, bcast()}, "does not hold"},
        {"no receiver", {{send, ""}, 0, bcast()}, ""},      // says one of two: below
        {"no sender", {{"", recv}, 0, bcast()}, "deadlock: rank 1"},
        {"another label", {{send, "0 recv out 0/1..1/1 from 0 label 1\n"}, 0, bcast()}, "deadlock"},
        {"sizes differ", {{send, "0 recv out 0/2..1/2 from 0 label 0\n"}, 0, bcast()}, "expects 2"},
        {"circle", {{"0 recv out 0/1..1/1 from 1 label 0\n1 send out 0/1..1/1 to 1 label 0 after 0\n",
                     "0 recv out 0/1..1/1 from 0 label 0\n1 send out 0/1..1/1 to 0 label 0 after 0\n"}, 0, bcast()}, "deadlock"},
        {"scratch that nobody wrote", {{"0 send tmp0 0/1..1/1 to 1 label 0\n", recv}, 1, bcast()}, "does not hold"},
        {"scratch that nobody wrote is reduced", {{"0 reduce tmp0 out 0/1..1/1\n1 send out 0/1..1/1 to 1 label 0 after 0\n", recv}, 1, bcast()}, "does not hold"},
        {"the root's buffer changes", {{"0 send out 0/1..1/1 to 1 label 0\n1 recv out 0/1..1/1 from 1 label 0 after 0\n",
                                        "0 recv tmp0 0/1..1/1 from 0 label 0\n1 send in 0/1..1/1 to 0 label 0\n2 copy tmp0 out 0/1..1/1 after 0 1\n"}, 1, bcast()}, "rank 0, element 0: does not hold"},

        {"a contribution is missing", {{left, "0 send in 0/1..1/1 to 0 label 0\n1 recv out 0/1..1/1 from 0 label 0 after 0\n"}, 1, sum()}, "evaluates another expression"},
        {"missing at rank 0", {{"0 send in 0/1..1/1 to 1 label 0\n1 recv out 0/1..1/1 from 1 label 0 after 0\n", right}, 1, sum()}, "contribution of rank 0 is missing"},
        {"doubled", {{"0 send in 0/1..1/1 to 1 label 0\n1 recv tmp0 0/1..1/1 from 1 label 0\n2 reduce in tmp0 0/1..1/1 after 1\n"
                      "3 reduce in tmp0 0/1..1/1 after 2\n4 copy tmp0 out 0/1..1/1 after 0 3\n", right}, 1, sum()}, "missing or doubled"},
        {"too many", {{"0 send in 0/1..1/1 to 1 label 0\n1 recv tmp0 0/1..1/1 from 1 label 0\n2 copy tmp0 out 0/1..1/1 after 0 1\n"
                       "3 reduce in tmp0 0/1..1/1 after 1 2\n4 reduce out tmp0 0/1..1/1 after 2 3\n5 copy tmp0 out 0/1..1/1 after 4\n", right}, 1, sum()}, "more contributions than ranks"},
        {"another order at one rank", {{left, "0 send in 0/1..1/1 to 0 label 0\n1 recv tmp0 0/1..1/1 from 0 label 0\n2 reduce in tmp0 0/1..1/1 after 1\n"
                                              "3 copy tmp0 out 0/1..1/1 after 0 2\n"}, 1, sum()}, "rank 1, element 0: evaluates another expression"},
        {"wrong order at all ranks", {{"0 send in 0/1..1/1 to 1 label 0\n1 copy in out 0/1..1/1 after 0\n2 recv tmp0 0/1..1/1 from 1 label 0\n3 reduce tmp0 out 0/1..1/1 after 1 2\n",
                                       "0 send in 0/1..1/1 to 0 label 0\n1 recv tmp0 0/1..1/1 from 0 label 0\n2 reduce in tmp0 0/1..1/1 after 1\n3 copy tmp0 out 0/1..1/1 after 0 2\n"},
                                      1, ordered(sum())}, "not in the order of ranks"},
        {"elements of another place", {{"0 send in 0/2..1/2 to 1 label 0\n1 recv tmp0 1/2..2/2 from 1 label 0\n2 reduce in tmp0 1/2..2/2 after 1\n3 copy tmp0 out 1/2..2/2 after 2\n",
                                        "0 send in 0/2..1/2 to 0 label 0\n1 recv tmp0 1/2..2/2 from 0 label 0\n2 copy in out 1/2..2/2\n3 reduce tmp0 out 1/2..2/2 after 1 2\n"}, 1, sum()}, "element"},
        {"the send buffer is written", {{"0 send in 0/1..1/1 to 1 label 0\n1 recv tmp0 0/1..1/1 from 1 label 0\n2 copy in out 0/1..1/1 after 0\n3 reduce out tmp0 0/1..1/1 after 1 2\n"
                                         "4 copy tmp0 out 0/1..1/1 after 3\n5 copy tmp0 in 0/1..1/1 after 4\n", right}, 1, sum()}, "the send buffer was overwritten"},

        {"a race: recv and send", {{send, "0 recv out 0/1..1/1 from 0 label 0\n1 send out 0/1..1/1 to 0 label 0\n"}, 0, bcast()}, "touch the same bytes and may run at once"},
        {"a race: in is out", {{"0 send in 0/1..1/1 to 1 label 0\n1 recv out 0/1..1/1 from 1 label 0\n", "0 send in 0/1..1/1 to 0 label 0\n1 recv out 0/1..1/1 from 0 label 0 after 0\n"}, 0, sum()}, "touch the same bytes"},
        {"one label twice", {{"0 send out 0/2..1/2 to 1 label 0\n1 send out 1/2..2/2 to 1 label 0\n", recv}, 0, bcast()}, "same peer and label"},
        {"a label too large", {{"0 send out 0/1..1/1 to 1 label 1024\n", "0 recv out 0/1..1/1 from 0 label 1024\n"}, 0, bcast()}, "label 1024 is too large"},
        {"to itself", {{"0 send out 0/1..1/1 to 0 label 0\n", ""}, 0, bcast()}, "is not another rank"},
        {"to nobody", {{"0 send out 0/1..1/1 to 7 label 0\n", recv}, 0, bcast()}, "rank 0: operation 0: there is no rank 7"},
        {"from nobody", {{send, "0 recv out 0/1..1/1 from 2 label 0\n"}, 0, bcast()}, "rank 1: operation 0: there is no rank 2"},
        {"scratch that is not there", {{"0 copy out tmp3 0/1..1/1\n1 send out 0/1..1/1 to 1 label 0\n", recv}, 1, bcast()}, "scratch"},
    };
}

/** Two ranks, a block for each: owners 0 and 1 combine; everyone swaps blocks. */
std::vector<row> block_rows()
{
    const auto sums = of_blocks(WAN_REDUCE_SCATTER), swap = of_blocks(WAN_ALLTOALL);
    const char *left = "0 send in 1+0/1..1+1/1 to 1 label 0\n1 recv tmp0 0/1..1/1 from 1 label 0\n2 reduce in tmp0 0/1..1/1 after 1\n3 copy tmp0 out 0/1..1/1 after 2\n";
    const char *right = "0 send in 0/1..1/1 to 0 label 0\n1 copy in out 1+0/1..1+1/1\n2 recv tmp0 1+0/1..1+1/1 from 0 label 0\n3 reduce tmp0 out 1+0/1..1+1/1 after 1 2\n";
    const char *mine = "0 send in 1+0/1..1+1/1 to 1 label 0\n1 recv out 1+0/1..1+1/1 from 1 label 0\n2 copy in out 0/1..1/1\n";
    const char *theirs = "0 send in 0/1..1/1 to 0 label 0\n1 recv out 0/1..1/1 from 0 label 0\n2 copy in out 1+0/1..1+1/1\n";
    return {
        {"reduce-scatter", {{left, right}, 1, sums, "0..2"}, ""},
        {"reduce-scatter in order", {{left, right}, 1, ordered(sums), "0..2"}, ""},
        {"reduce-scatter, sizes", {{left, right}, 1, sized(sums), "0..2"}, ""},
        {"reduce-scatter, scattered", {{left, right}, 1, apart(sums), "0..2"}, ""},
        {"own contribution missing", {{"0 send in 1+0/1..1+1/1 to 1 label 0\n1 recv out 0/1..1/1 from 1 label 0\n", right}, 1, sums, "0..2"}, "contribution of rank 0 is missing"},
        {"other contribution dropped", {{left, "0 send in 0/1..1/1 to 0 label 0\n1 copy in out 1+0/1..1+1/1\n2 recv tmp0 1+0/1..1+1/1 from 0 label 0\n"}, 1, sums, "0..2"}, "contribution of rank 0 is missing"},
        {"doubled", {{"0 send in 1+0/1..1+1/1 to 1 label 0\n1 recv tmp0 0/1..1/1 from 1 label 0\n2 reduce in tmp0 0/1..1/1 after 1\n3 reduce in tmp0 0/1..1/1 after 2\n4 copy tmp0 out 0/1..1/1 after 3\n", right}, 1, sums, "0..2"}, "missing or doubled"},
        {"the wrong block", {{"0 send in 0/1..1/1 to 1 label 0\n1 recv tmp0 0/1..1/1 from 1 label 0\n2 reduce in tmp0 0/1..1/1 after 1\n3 copy tmp0 out 0/1..1/1 after 2\n", right}, 1, sums, "0..2"}, "not this element"},
        {"wrong order", {{"0 send in 1+0/1..1+1/1 to 1 label 0\n1 copy in out 0/1..1/1\n2 recv tmp0 0/1..1/1 from 1 label 0\n3 reduce tmp0 out 0/1..1/1 after 1 2\n", right}, 1, ordered(sums), "0..2"}, "not in the order of ranks"},
        {"half of a block", {{"0 send in 1+0/1..1+1/2 to 1 label 0\n1 recv tmp0 0/1..1/1 from 1 label 0\n2 reduce in tmp0 0/1..1/1 after 1\n3 copy tmp0 out 0/1..1/1 after 2\n", right}, 1, sums, "0..2"}, "expects 2"},
        {"the vector is written", {{"0 send in 1+0/1..1+1/1 to 1 label 0\n1 recv tmp0 0/1..1/1 from 1 label 0\n2 reduce tmp0 in 0/1..1/1 after 1\n3 reduce in tmp0 0/1..1/1 after 2\n4 copy tmp0 out 0/1..1/1 after 3\n", right}, 1, sums, "0..2"}, "send buffer was overwritten"},
        {"no room", {{left, right}, 1, sums, "0..1"}, "has no room"},

        {"alltoall", {{mine, theirs}, 0, swap, ""}, ""},
        {"alltoall, sizes", {{mine, theirs}, 0, sized(swap), ""}, ""},
        {"alltoall, scattered", {{mine, theirs}, 0, apart(sized(swap)), ""}, ""},
        {"own block missing", {{"0 send in 1+0/1..1+1/1 to 1 label 0\n1 recv out 1+0/1..1+1/1 from 1 label 0\n", theirs}, 0, swap, ""}, "of the block of rank 0"},
        {"the block for another", {{"0 send in 0/1..1/1 to 1 label 0\n1 recv out 1+0/1..1+1/1 from 1 label 0\n2 copy in out 0/1..1/1\n", theirs}, 0, swap, ""}, "rank 1, element 0: of the block of rank 0"},
        {"to another place", {{"0 send in 1+0/1..1+1/1 to 1 label 0\n1 recv out 0/1..1/1 from 1 label 0\n2 copy in out 1+0/1..1+1/1\n", theirs}, 0, swap, ""}, "rank 0, element 0: of the block of rank 0"},
        {"combined instead of copied", {{"0 send in 1+0/1..1+1/1 to 1 label 0\n1 recv out 1+0/1..1+1/1 from 1 label 0\n2 reduce in out 0/1..1/1\n", theirs}, 0, swap, ""}, "rank 0, element 0: of the block of rank 0"},
        {"by way of scratch, renumbered", {{"0 copy in tmp0 1+0/1..1+1/1 shift 1\n1 send tmp0 2+0/1..2+1/1 to 1 label 0 after 0\n2 recv out 1+0/1..1+1/1 from 1 label 0\n3 copy in out 0/1..1/1\n", theirs}, 1, swap, "2..3"}, ""},
        {"renumbered, no room", {{"0 copy in tmp0 1+0/1..1+1/1 shift 2\n1 send tmp0 2+0/1..2+1/1 to 1 label 0 after 0\n2 recv out 1+0/1..1+1/1 from 1 label 0\n3 copy in out 0/1..1/1\n", theirs}, 1, swap, "2..3"}, "has no room"},
        {"renumbered, a race", {{"0 copy in tmp0 1+0/1..1+1/1 shift 1\n1 send tmp0 2+0/1..2+1/1 to 1 label 0\n2 recv out 1+0/1..1+1/1 from 1 label 0\n3 copy in out 0/1..1/1\n", theirs}, 1, swap, "2..3"}, "may run at once"},
    };
}

std::string check_rows(const std::vector<row> &rows)
{
    for (const row &r : rows)
        for (uint64_t seed = 1; seed <= 8; ++seed) {
            job j = r.j;
            j.o.seed = seed;
            const std::string got = run(j);
            if (std::string(r.name) == "no receiver" || std::string(r.name) == "a token that nobody awaits") {
                WAN_CHECK_THAT(got.find("deadlock") != got.npos || got.find("no counterpart") != got.npos, got);
                continue;
            }
            WAN_CHECK_THAT(r.says[0] ? got.find(r.says) != got.npos : got.empty(), std::string(r.name) + ": '" + got + "'");
        }
    return "";
}

std::string check_messages() { return check_rows(rows()); }
std::string check_blocks() { return check_rows(block_rows()); }

std::string check_static()
{
    schedule s;
    s.me = 0;
    s.ops = {op{.kind = op_kind::send, .pred_count = 1, .pred_begin = 0, .peer = 1, .part = whole()},
             op{.kind = op_kind::send, .label = 1, .peer = 1, .part = whole()}};
    s.preds = {1};
    std::string why = verify_static(s);
    WAN_CHECK_THAT(why.find("later one") != why.npos, why);
    s.preds = {0};
    why = verify_static(s);
    WAN_CHECK_THAT(why.find("later one") != why.npos, why);
    // Order through a third operation counts.
    auto p = program_of("schedule rank 0 tmp 0\n"
                        "0 recv out 0/1..1/1 from 1 label 0\n"
                        "1 send out 0/2..1/2 to 1 label 0 after 0\n"
                        "2 recv out 0/2..1/2 from 1 label 1 after 1\n");
    WAN_CHECK(verify_static(p->text()).empty());
    return "";
}

std::string check_traffic()
{
    // Ranks 0, 1 in one site, 2, 3 in the other.
    job j{{"0 send out 0/1..1/1 to 1 label 0\n1 send out 0/1..1/1 to 2 label 0\n",
           "0 recv out 0/1..1/1 from 0 label 0\n1 send out 0/1..1/1 to 3 label 0 after 0\n",
           "0 recv out 0/1..1/1 from 0 label 0\n", "0 recv out 0/1..1/1 from 1 label 0\n"}, 0, cut(bcast(0, 10), 4, 2)};
    observations t;
    const std::string why = run(j, &t);
    WAN_CHECK_THAT(why.empty(), why);
    const auto &there = t.at(site_id{0}, site_id{1}), &back = t.at(site_id{1}, site_id{0});
    WAN_CHECK(t.sites == 2 && there.elements == 20 && there.messages == 6 && (there.senders == std::vector<int>{0, 1}));
    WAN_CHECK((t.at_once == std::vector<int>{2, 0}));
    WAN_CHECK(back.elements == 0 && back.messages == 0 && back.senders.empty());
    return "";
}

/** Of two who send across in turn, one at a time; without the token both at once in some order of delivery. */
std::string check_turns()
{
    const char *root = "0 recv out 2+0/1..3+0/1 from 2 label 0\n1 recv out 3+0/1..4+0/1 from 3 label 0\n2 copy in out 0+0/1..1+0/1\n"
                       "3 recv out 1+0/1..2+0/1 from 1 label 0\n";
    const char *near = "0 send in 1+0/1..2+0/1 to 0 label 0\n";
    for (bool token : {true, false}) {
        int most = 0;
        for (uint64_t seed = 1; seed <= 30; ++seed) {
            job j{{root, near, token ? "0 send in 2+0/1..3+0/1 to 0 label 0\n1 signal to 3 label 1 after 0\n" : "0 send in 2+0/1..3+0/1 to 0 label 0\n",
                   token ? "0 await from 2 label 1\n1 send in 3+0/1..4+0/1 to 0 label 0 after 0\n" : "0 send in 3+0/1..4+0/1 to 0 label 0\n"},
                  0, blocks(WAN_GATHER)};
            j.o.seed = seed;
            observations t;
            const std::string why = run(j, &t);
            WAN_CHECK_THAT(why.empty(), why);
            WAN_CHECK(t.at(site_id{1}, site_id{0}).senders.size() == 2 && t.at(site_id{0}, site_id{1}).senders.empty());
            most = std::max(most, t.at_once[1]);
        }
        WAN_CHECK(most == (token ? 1 : 2));
    }
    return "";
}

} // namespace

int main()
{
    const CMUnitTest tests[] = {cmocka_unit_test(test<check_messages>), cmocka_unit_test(test<check_blocks>), cmocka_unit_test(test<check_static>), cmocka_unit_test(test<check_traffic>), cmocka_unit_test(test<check_turns>)};
    return cmocka_run_group_tests_name("verifier", tests, nullptr, nullptr);
}
