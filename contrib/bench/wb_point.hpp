// One point: a collective at one size, measured in batches of rounds.
//
// A batch is announced once, point to point, by rank 0; between its rounds
// nothing is communicated.  Round k starts everywhere at the agreed instant
// t0 + k * period:
//
//     start_k        last rank's end     start_k + quiet             start_k+1
//        |-- measured --|------- idle -------|-- check, fill -- idle ----|
//
// quiet is the expected duration with a small margin: nobody burns CPU on
// checking while another rank may still be working.  A round that any rank
// reaches after its start is rejected and measured again, and so is a round
// during which the lab's emulator was late.
// A job's first calls may take seconds, as connections are opened and links are
// measured: they are made before its first point, until calls take alike.
// warm: about 30 ms of idle network before a round; the first round of each
// batch comes after the announcement's lead and does not count.
// cold: at least 1 s of idle network before every round.
//
// SPDX-License-Identifier: BSD-3-Clause
#ifndef WB_POINT_HPP
#define WB_POINT_HPP

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "wb_control.hpp"
#include "wb_counters.hpp"
#include "wb_emulator.hpp"
#include "wb_operation.hpp"

namespace wb {

// Of coll/wan, for each rank of a point: calls served, bytes and messages to other sites, predicted ns.
inline constexpr std::size_t counts_of_rank = 4;

struct point {
    const operation_kind *kind = nullptr;
    request what;
    bool cold = false;
    int rounds = 10;
};

struct limits {
    ns_t lead_ns = 200 * millisecond_ns;
    ns_t warm_gap_ns = 30 * millisecond_ns;
    ns_t cold_gap_ns = second_ns;
    ns_t point_ns = 10 * second_ns;     // effort per point; a longer operation runs once
};

struct outcome {
    std::vector<ns_t> times_ns;         // last rank's end - common start, accepted rounds
    std::vector<ns_t> idle_ns;          // idle time before each of them
    int rejected = 0;                   // some rank came late
    int emulator_rejected = 0;          // the emulator was late, and there were enough better ones
    ns_t emulator_late_ns = 0;          // most in an accepted round
    bool emulator_known = true;         // it could be asked about every round
    bool spoilt = false;                // too few rounds without lateness: all of them count
    int wrong = 0;                      // rounds with a wrong result on some rank
    bool only_first = false;            // too long to repeat: the first call counts
    std::uint64_t digest = 0;           // of the first call's result on all ranks
    int calls = 0;                      // all calls of a rank, discarded ones included
    std::int64_t served_least = -1;     // calls served by coll/wan: least and most of all ranks
    std::int64_t served_most = -1;
    std::int64_t predicted_ns = -1;     // by coll/wan, sum over the calls that rank 0 made
    std::int64_t wan_bytes = -1;        // all ranks, all calls
    std::int64_t wan_messages = -1;
};

// Both sides of a point: every rank has one while the point lasts.
class point_run {
public:
    point_run(world &w, counters &c, const point &p);

    void batch(const command &c);               // every rank; rank 0 keeps the report
    std::vector<std::int64_t> counts();         // what this rank's counters gained

    outcome control(const limits &l);           // rank 0
    outcome begin(const limits &l);             // rank 0: a job's first calls, whose times are not wanted

private:
    struct report {                             // of the last batch, at rank 0
        std::vector<ns_t> end_ns, enter_ns;     // per round, latest rank
        std::vector<bool> late, wrong;
        std::vector<ns_t> emulator_late_ns;     // 0 where it is not known
        ns_t chores_ns = 0;                     // longest check + fill
    };

    struct round {
        ns_t time_ns, idle_ns, emulator_late_ns;
        bool credible() const { return emulator_late_ns <= lateness_allowed(time_ns); }
    };
    void rounds_accept(const std::vector<round> &seen);
    const report &announce(int rounds, ns_t lead_ns, ns_t quiet_ns, ns_t period_ns);

    world &world_;
    counters &counters_;
    point point_;
    std::unique_ptr<operation> operation_;
    std::uint64_t round_ = 0;
    std::array<std::int64_t, counts_of_rank> before_;
    emulator emulator_;                         // asked by rank 0
    report last_;
    outcome outcome_;
};

}  // namespace wb
#endif
