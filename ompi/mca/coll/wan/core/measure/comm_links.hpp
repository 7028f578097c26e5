/*
 * What is known of the links between a communicator's sites - assumed, told by a file, learned on
 * another communicator, or measured - and what is measured of them next:
 *
 *     learn           all, once calls have taken so long that it pays (deferral.hpp)
 *     believe         briefly, whether links are as a file tells; likewise
 *     look            briefly, whether they are as they were, since calls take other times (drift.hpp)
 *     confirm         all, since one of these two saw a change: a change must be seen twice
 *     look_wide       whether ways that are as they were by those still carry as much,
 *     confirm_wide    and what that saw, once more
 *     widen           how wide ways are (model/widths.hpp), in rounds, where nobody has measured that; when it pays, too
 *
 * Facts come one after the other; a call goes by those of its epoch.  All ranks call the same here in
 * the same order, with what they have put together, and so all come to the same.
 *
 * Must not: choose an algorithm, run what it measures by.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_MEASURE_COMM_LINKS_HPP
#define WAN_MEASURE_COMM_LINKS_HPP

#include "measure/contradictions.hpp"
#include "measure/deferral.hpp"
#include "measure/drift.hpp"
#include "measure/links_file.hpp"
#include "model/widths.hpp"
#include "topo/cluster_map.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

namespace wan {

/** Who goes by what is known.  Called without the lock, if not told otherwise. */
class links_user {
public:
    /** They are looked at, next; why: for people. */
    virtual void links_looked_at(const char *why) = 0;
    /** And are as they were. */
    virtual void links_unchanged() = 0;
    /** All was measured.  changed: and is not as it was; news: no other communicator of this process knew. */
    virtual void links_measured(bool changed, bool news) = 0;
    /** There are new facts, for calls from this epoch on; with the lock held, */
    virtual void links_learned(unsigned epoch) = 0;
    /** and then without. */
    virtual void links_known(bool changed) = 0;
    /** After these: the facts before were of links that were others. */
    virtual void links_changed() = 0;

protected:
    ~links_user() = default;
};

/** Combined over ranks by MIN. */
using check_votes = std::array<int64_t, WAN_CHECK_VOTES>;

class comm_links {
public:
    /** pretended: sites have hosts in common; lock: the communicator's, of what calls of several threads read. */
    comm_links(const topology &t, int me, const wan_params_t &p, bool pretended, std::mutex &lock, links_user &user);

    std::vector<facts> known;           // the last ones count now; empty before any
    fact_vector learned{};              // what the last of them was made from; all 0: of nothing
    wan_machine_t machine{facts{}.eager_bytes, facts{}.copy_ps, facts{}.reduce_ps};     // this process's; once agreed, of all
    const std::string file;             // of links, that a parameter names
    const bool measures;                // links, ever
    const bool pretended;
    drift seen;                         // how long calls take in which each rank waits for all others; with the lock

    /** Which of `known` counts for calls of an epoch. */
    size_t era_of(unsigned epoch) const { return epochs_.empty() ? 0 : epochs_[std::min<size_t>(epoch, epochs_.size() - 1)]; }
    /** Whether those are of the links that there were when the job began. */
    bool first_links(size_t era) const { return era < changed_from_; }
    unsigned epochs() const { return static_cast<unsigned>(epochs_.size()); }
    /** An epoch without new facts. */
    void repeat() { epochs_.push_back(epochs_.back()); }

    /** In measured(): the names of the sites, each with a line's end. */
    std::string sites_key() const;
    /** Of `learned`, and where it is from; 0: nothing. */
    int64_t digest() const;
    /** Of what the map says of the links between these sites. */
    uint64_t map_digest() const;
    /** Whether `learned` is what an earlier job wrote. */
    bool from_file() const { return from_file_; }
    /** Where what is known comes from, in a word. */
    const char *how_known() const;
    /** For a file; nothing where nothing is known. */
    std::optional<known_links> to_keep() const;
    /** What was given, against what was measured last. */
    const contradictions &doubts() const { return doubts_; }

    /** All ranks begin; alike: they hold the same; spent_ns: how long calls between these sites have taken so far. */
    void agree(bool alike, int64_t spent_ns);
    int64_t spent_ns() const { return spent_everywhere_; }
    /** Calls begin before links are measured. */
    void assume();
    /** Takes what all ranks hold in `learned`, corrected by what the map says, as known.  changed: links are no longer as they were. */
    void learn(bool changed = false);
    /** Measures briefly, next, whether links have changed. */
    void look();
    /** What was measured on another communicator, as all ranks know: in place of measuring. */
    void adopt(const fact_vector &v);

    /** Whether there is something to be measured; */
    bool measuring() const { return measuring_ != nullptr; }
    /** whether since links are not known yet, or not as they are any more: else it adds to that; */
    bool unsure() const { return measuring_ && measuring_to_ != purpose::widen && measuring_to_ != purpose::look_wide; }
    /** whether since they seem to have changed; */
    bool doubtful() const { return measuring_ && measuring_to_ == purpose::look; }
    /** and whether it is time to, as agreed last. */
    bool affords() const { return deferred_.over(); }
    /** What this rank runs next for that; nothing: all has run. */
    std::optional<schedule> next();
    /** For its messages. */
    std::span<char> message();
    /** How long it took. */
    void ran(int64_t elapsed_ns);
    /** Of this rank, when all has run. */
    const fact_vector &found() const { return found_; }
    /** Of all ranks: see wan_comm_learn(). */
    int take(const fact_vector &v);

    /** Of a call, with the lock held: how long it took.  left: to Open MPI's own module, which gains nothing by widths. */
    void took(int64_t elapsed_ns, bool left, bool is_short);
    /** In a call of so many bytes, beside it: what ranks ask each other, whether it is time to measure. */
    std::optional<check_votes> defers(uint64_t bytes);
    /** Likewise, whether to look at links again. */
    std::optional<check_votes> check(int64_t now_ns);
    /** To the last question: see wan_comm_check_answer(). */
    int answer(const check_votes &combined);

private:
    /** A change that a brief look finds must be in the full measurement, too; less or more that ways carry must be seen twice. */
    enum class purpose { learn, believe, look, confirm, look_wide, confirm_wide, widen };

    const topology &topo_;
    const int me_;
    std::mutex &lock_;
    links_user &user_;
    const link_hints hints_;                    // of the map
    std::vector<size_t> epochs_;                // which of `known`
    size_t changed_from_ = SIZE_MAX;            // of `known`, the first of links that have changed
    bool probed_ = false;                       // `learned` was measured here, not on another communicator
    bool from_file_ = false;
    bool in_use_ = false;                       // calls may have been planned by what a file told, or was assumed
    contradictions doubts_;

    std::unique_ptr<measurement> measuring_;    // or what is to be measured
    purpose measuring_to_ = purpose::learn;
    std::vector<char> buffer_;
    fact_vector found_{};
    bool suspected_ = false;                    // that links have changed; else they are known from a file
    fact_vector seen_wide_{};                   // by the first look at widths
    int width_round_ = 0;                       // of widths, to be measured next

    drift_checks checks_;
    deferral deferred_;                         // with `measuring_`, as long as links are not known or a file's
    std::atomic<int64_t> &spent_everywhere_;    // by calls between these sites, in this process
    bool asked_for_time_ = false;               // ranks asked last whether to measure, not whether links have changed
    fact_vector offered_{};                     // what measured() held then, if it was something new

    std::vector<std::string> site_names() const;
    /** What `v` and, if wanted, the map say. */
    facts told(const fact_vector &v, bool map = true) const;
    /** Whether links that are known are others than so. */
    bool changed_to(const fact_vector &v) const;
    /** Compares what was given with that. */
    void doubt(const fact_vector &measured) { doubts_ = contradictions_of(topo_, hints_, measured, pretended); }
    /** It is agreed how long calls have taken so far. */
    void defer(int64_t spent_ns);

    void measure_for(purpose p, bool brief = false);
    void measure_briefly(purpose p, const char *why);
    /** Measures widths from a round on, next, if there is anything to find. */
    bool widen(int round);
    /** From the first one, once calls have taken so long. */
    void widen_later();
    /** Looks, next, whether those known are as they were, or as a file tells; before: what the look before saw. */
    void look_wide(purpose p, const fact_vector &before = {});
    int64_t look_cost_ns() const;

    int taken(const fact_vector &v);
    int take_widths(const fact_vector &v);
    int take_wide_look(const fact_vector &v, purpose why);
    /** Links are as they were, by a look that has seen that; or what they are now. */
    int unchanged(const fact_vector &seen_now);
    void links_are(const fact_vector &v, bool changed);
};

} // namespace wan

#endif
