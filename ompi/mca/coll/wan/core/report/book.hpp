/*
 * What a process keeps for the report of its job: what happened when, links as
 * they were measured, communicators that are not served, and of those that are
 * what their records (record.hpp) say when they end.  It turns into a JSON text.
 *
 * There is none where no report is asked for.  What it holds is limited; what
 * does not fit is counted.  Any thread; it knows no clock but the one it is given.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_REPORT_BOOK_HPP
#define WAN_REPORT_BOOK_HPP

#include "model/facts.hpp"
#include "wan_core.h"

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace wan {

class record;

class book {
public:
    /** Of all that is kept, about: a process may have 1 MB for its report, and in the end there is the text beside it. */
    static constexpr size_t most_bytes = 440 << 10;
    static constexpr size_t most_events = 1000, most_refusals = 200, most_measurements = 100;
    /** Pairs of sites that are told of a measurement. */
    static constexpr size_t most_pairs = 300;
    /**
     * For counting what crosses, and planning anew, when communicators end: of all of them together that end while
     * the program runs, and of those that end with it.
     */
    static constexpr int64_t most_afterthought_ns = 50'000'000, most_at_end_ns = 100'000'000;
    /** Version of the format: programs that read it may rely on what it has. */
    static constexpr int format = 1;

    struct process {
        int rank = 0;
        int spawned = 0;            // how-manieth job that was spawned; 0: none
        std::string host;           // "": not known
        int64_t began_s = 0;        // of the calendar
        std::string job, batch, command;    // see wan_report_process_t
    };
    using clock = std::function<int64_t()>;

    book(process who, const wan_params_t &params, clock now);

    /** From its beginning. */
    int64_t now_ns() const { return clock_() - began_ns_; }
    void event(std::string_view what, std::string text);
    void refused(uint32_t id, int ranks, wan_reason_t reason, const std::string &text);
    /** Calls on communicators without a record that were handed to other components. */
    void passed(uint64_t calls);
    /** Links as they are known from now on; its number, SIZE_MAX where there is no room. */
    size_t measured(const topology &t, const facts &f, std::string_view how);

    /** Memory for something; false: there is no more. */
    bool take(size_t bytes);
    void give(size_t bytes);
    size_t held_bytes() const;

    /**
     * f(enough) where there is time left for an afterthought: `enough` says when it is used up.  Whether f ran to its
     * end.  A tenth is kept for brief ones.
     */
    bool afterthought(bool brief, const std::function<bool(const std::function<bool()> &enough)> &f);
    /** The program has ended: communicators that end from now on cost it nothing that it waits for. */
    void end();

    /** A record's whole life: it is listed until it ends with its text, "" where there was no memory for that. */
    void enter(record *r);
    struct totals {
        uint64_t calls = 0, wan_bytes = 0, least_bytes = 0, compared_calls = 0, declined = 0, passed = 0;
        int64_t elapsed_ns = 0;
    };
    /** What most time went to, for a line on the terminal. */
    struct highlight {
        int64_t elapsed_ns = -1;
        std::string text;
    };
    void leave(record *r, std::string json, const totals &sums, const highlight &most, uint64_t calls_left_out);

    /** Once: ends records that have not ended, and keeps no more of them.  ranks: of the job, 0: not known. */
    std::string json(int ranks);
    /** Some lines for people. */
    std::string summary();

private:
    struct happening {
        int64_t at_ns;
        std::string what, text;
    };
    struct refusal {
        uint32_t id;
        int ranks;
        wan_reason_t reason;
        std::string text;
        int64_t at_ns;
        uint64_t communicators = 1;     // alike
    };

    process who_;
    clock clock_;
    int64_t began_ns_;
    std::string parameters_;            // JSON
    mutable std::mutex lock_;
    size_t held_ = 0;
    int64_t afterthoughts_ns_ = 0, may_take_ns_ = most_afterthought_ns;
    bool afterthoughts_left_out_ = false;
    std::vector<happening> events_;
    uint64_t events_left_out_ = 0;
    std::vector<refusal> refusals_;
    uint64_t refusals_left_out_ = 0;
    std::vector<std::string> measurements_;     // JSON
    uint64_t measurements_left_out_ = 0;
    std::vector<record *> live_;
    std::vector<std::string> ended_;            // JSON
    uint64_t served_ = 0, communicators_left_out_ = 0, calls_left_out_ = 0;
    totals sums_;
    highlight most_;
};

} // namespace wan

#endif
