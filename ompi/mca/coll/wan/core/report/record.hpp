/*
 * What is kept of the calls of one communicator, for the report: of each
 * collective and power of two of bytes how often it was called, by which plans,
 * how long it took here, what this process sent to other sites.  When the
 * communicator goes, it becomes a text (with what had to cross, the least time,
 * the other plans that there were, which are worked out only then), and the book
 * keeps that.
 *
 * A call costs two look-ups and a few additions; measured in test/unit/report.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_REPORT_RECORD_HPP
#define WAN_REPORT_RECORD_HPP

#include "plan/planner.hpp"
#include "report/book.hpp"
#include "report/histogram.hpp"

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

struct wan_comm;

namespace wan {

class json_text;

/** Calls that are kept together. */
struct call_kind {
    wan_collective_t collective;
    int log_bytes;              // of [2^log_bytes, 2^(log_bytes+1)); -1: no bytes
    bool blocking;
    bool counts_vary;           // blocks of different sizes: `bytes` is what this rank knows

    /** Calls that are planned alike. */
    struct form {
        request call;           // root: one of its site
        std::optional<plan> how;        // none: along adaptive trees
        size_t era;             // which of what was known of links
        uint64_t calls = 0;
        const char *unfit = "";         // for trees, the first of them: trees_unfit()
    };
    static constexpr size_t most_forms = 16;

    std::vector<form> forms;
    size_t last = 0;                    // form: the next call is mostly like it
    uint64_t other_calls = 0;           // of forms beyond those
    uint64_t bytes = 0, wan_bytes = 0, wan_messages = 0;
    uint64_t predicted_calls = 0;
    int64_t elapsed_ns = 0, predicted_ns = 0;
    log_histogram times;
};

class record {
public:
    /** Of a call that is under way. */
    struct noted {
        call_kind *kind = nullptr;     // nullptr: there is no memory for it
        uint32_t form = no_form;
        uint64_t bytes = 0;
        static constexpr uint32_t no_form = UINT32_MAX;
    };

    /** `comm` knows its links; id: Open MPI's. */
    record(std::shared_ptr<book> b, wan_comm &comm, uint32_t id);
    ~record();
    record(const record &) = delete;

    /** These with the lock of the communicator.  `how`: nullptr along adaptive trees. */
    noted note(const wan_call_t &call, const request &r, const plan *how);
    void add(const noted &n, int64_t elapsed_ns, uint64_t wan_bytes, uint64_t wan_messages);
    void declined(const request &r, bool by_choice);

    /** What is known of the links from now on; how: see comm_links::how_known(); changed: they are no longer as they were. */
    void links(std::string_view how, bool changed = false);
    void happened(std::string_view what, const std::string &text);

    void call(const char *name) { name_ = name; }
    /** Calls that were handed to the module before. */
    void passed(uint64_t calls) { passed_ = calls; }
    /** This process's edges in the adaptive trees as they are now, before they are left; with the lock of the trees. */
    void keep_trees();
    /** Nothing more comes: into the book with it.  Once. */
    void finish();

    size_t memory_bytes() const;

private:
    struct left {
        request call;
        bool by_choice;
        uint64_t calls = 0;
    };

    std::shared_ptr<book> book_;
    wan_comm &comm_;
    uint32_t id_;
    std::string name_;
    int64_t began_ns_;
    bool finished_ = false, began_ = false;
    bool assumed_ = false;      // its links, not yet measured
    std::unordered_map<uint32_t, std::unique_ptr<call_kind>> classes_;
    uint64_t left_out_ = 0, passed_ = 0;        // calls
    std::vector<left> declined_;
    std::vector<size_t> links_;                 // numbers of measurements
    std::string trees_ = "[]";                  // JSON
    size_t held_ = 0;                           // of the book's memory

    bool take(size_t bytes);
    uint32_t form_of(call_kind &c, const wan_call_t &call, const request &r, const plan *how);
    void print(json_text &out, book::totals &sums, book::highlight &most);
    /** What all ranks together send in a call, where there was time to count it. */
    struct sent {
        uint64_t across = 0;        // bytes to other sites
        std::string hosts;          // JSON of what hosts send each other; "": not told
    };
    using crossing_flows = std::unordered_map<const call_kind::form *, sent>;
    crossing_flows crossings(const std::vector<const call_kind *> &all) const;
    void fit(std::vector<const call_kind *> &all, const crossing_flows &across, json_text &out);
    void print_class(json_text &out, const call_kind &c, const crossing_flows &across, book::totals &sums,
                     book::highlight &most);
    void print_choice(json_text &out, const call_kind &c, const call_kind::form &f);
};

/** "1.5 ms". */
std::string time_words(int64_t ns);

} // namespace wan

#endif
