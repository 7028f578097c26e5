/*
 * See record.hpp; what is told of it in the end: record_text.cpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report/record.hpp"

#include "adaptive/run.hpp"
#include "adaptive/service.hpp"
#include "comm.hpp"
#include "report/json.hpp"

#include <algorithm>
#include <bit>

namespace wan {

namespace {

/** Whether two plans are one but for the root's rank in its site. */
bool alike(const plan &a, const plan &b)
{
    return a.algo == b.algo && a.links == b.links && a.segment_bytes == b.segment_bytes && a.window == b.window
           && a.entries == b.entries && a.lambda == b.lambda && a.order == b.order && a.inner == b.inner
           && a.grouping == b.grouping && a.pieces == b.pieces;
}

/** Bytes that a call is filed under: where ranks do not know each other's, this one's. */
uint64_t bytes_of(const topology &t, const wan_call_t &call, const request &r)
{
    if (!r.counts_local)
        return r.collective == WAN_BARRIER ? 0 : r.bytes;
    if (r.collective != WAN_ALLTOALL)
        return call.own_count * call.element_bytes;
    uint64_t elements = 0;
    for (int rank = 0; rank < t.size(); ++rank)
        elements += call.in_vector.counts ? call.in_vector.counts[rank] : call.count;
    return elements * call.element_bytes;
}

/** Of the table of classes, for each. */
constexpr size_t class_overhead = 64;

} // namespace

record::record(std::shared_ptr<book> b, wan_comm &comm, uint32_t id)
    : book_(std::move(b)),
      comm_(comm),
      id_(id),
      began_ns_(book_->now_ns())
{
    (void) take(sizeof *this);
    book_->enter(this);
}

record::~record() { finish(); }

bool record::take(size_t bytes)
{
    if (bytes && !book_->take(bytes))
        return false;
    held_ += bytes;
    return true;
}

uint32_t record::form_of(call_kind &c, const wan_call_t &call, const request &r, const plan *how)
{
    const size_t era = comm_.links.era_of(call.epoch);
    const auto matches = [&](const call_kind::form &f) {
        return f.era == era && f.call == r && f.how.has_value() == (how != nullptr) && (!how || alike(*f.how, *how));
    };
    if (c.last < c.forms.size() && matches(c.forms[c.last]))
        return static_cast<uint32_t>(c.last);
    const auto it = std::find_if(c.forms.begin(), c.forms.end(), matches);
    if (it != c.forms.end())
        return static_cast<uint32_t>(c.last = static_cast<size_t>(it - c.forms.begin()));
    if (c.forms.size() == call_kind::most_forms || !take(sizeof(call_kind::form)))
        return noted::no_form;
    c.forms.reserve(c.forms.size() + 1);
    c.forms.push_back({r, how ? std::optional(*how) : std::nullopt, era, 0, how ? trees_unfit(comm_, call) : ""});
    return static_cast<uint32_t>(c.last = c.forms.size() - 1);
}

record::noted record::note(const wan_call_t &call, const request &asked, const plan *how)
{
    const topology &t = comm_.topo;
    request r = asked;
    if (kind_of(r.collective).root)    // what crosses is the same from any rank of its site
        r.root = t.rank_at(t.site_of(r.root), 0);
    const uint64_t bytes = bytes_of(t, call, r);
    const bool vary = r.counts_vary || r.counts_local;
    const auto width = static_cast<uint32_t>(std::bit_width(bytes));
    const uint32_t key = static_cast<uint32_t>(r.collective) << 16 | width << 2 | uint32_t{call.blocks} << 1 | uint32_t{vary};
    auto it = classes_.find(key);
    if (it == classes_.end()) {
        if (finished_ || !take(sizeof(call_kind) + class_overhead))
            return {};
        auto made = std::make_unique<call_kind>();
        made->collective = r.collective;
        made->log_bytes = static_cast<int>(width) - 1;
        made->blocking = call.blocks;
        made->counts_vary = vary;
        it = classes_.emplace(key, std::move(made)).first;
    }
    return {it->second.get(), form_of(*it->second, call, r, how), bytes};
}

void record::add(const noted &n, int64_t elapsed_ns, uint64_t wan_bytes, uint64_t wan_messages)
{
    if (finished_ || !n.kind || !take(n.kind->times.more_bytes(elapsed_ns))) {
        ++left_out_;
        return;
    }
    call_kind &c = *n.kind;
    c.times.add(elapsed_ns);
    c.elapsed_ns += elapsed_ns;
    c.bytes += n.bytes;
    c.wan_bytes += wan_bytes;
    c.wan_messages += wan_messages;
    if (n.form == noted::no_form) {
        ++c.other_calls;
        return;
    }
    call_kind::form &f = c.forms[n.form];
    ++f.calls;
    if (f.how) {
        ++c.predicted_calls;
        c.predicted_ns += f.how->predicted_ns;
    }
}

void record::declined(const request &r, bool by_choice)
{
    const auto same = [&](const left &l) {
        return l.by_choice == by_choice && l.call.collective == r.collective && l.call.commutative == r.commutative
               && l.call.counts_vary == r.counts_vary && l.call.counts_local == r.counts_local;
    };
    auto it = std::find_if(declined_.begin(), declined_.end(), same);
    if (it == declined_.end()) {
        (void) take(sizeof(left));    // there are few kinds of them
        it = declined_.insert(it, {r, by_choice});
    }
    ++it->calls;
}

void record::links(std::string_view how, bool changed)
{
    if (finished_)
        return;
    const facts &f = comm_.links.known.back();
    const bool more = began_ && !assumed_ && how == "measured", again = more && changed;
    if (began_)
        happened(again ? "links_changed" : "links_measured",
                 std::string(again ? "links have changed and were measured again" : more ? "how wide links are was measured, too" : "links were measured")
                     + ", the farthest is " + time_words(f.widest_ns()) + " one way");
    began_ = true;
    assumed_ = how == "assumed";
    const size_t number = book_->measured(comm_.topo, f, again ? "measured again" : how);
    if (number != SIZE_MAX)
        links_.push_back(number);
}

void record::happened(std::string_view what, const std::string &text)
{
    if (!finished_)
        book_->event(what, "communicator " + std::to_string(id_) + ": " + text);
}

size_t record::memory_bytes() const
{
    size_t bytes = sizeof *this + trees_.capacity() + declined_.capacity() * sizeof(left) + links_.capacity() * sizeof(size_t);
    for (const auto &[key, c] : classes_)
        bytes += sizeof *c + class_overhead + c->forms.capacity() * sizeof(call_kind::form) + c->times.memory_bytes();
    return bytes;
}

void record::finish()
{
    json_text out;
    book::totals sums;
    book::highlight most;
    if (comm_.node && !finished_) {     // it goes before they are left: a program has MPI_T open
        std::lock_guard hold(comm_.trees->lock);
        try {
            keep_trees();
        } catch (const std::exception &) {    // no memory: without them
        }
    }
    {
        std::lock_guard hold(comm_.lock);
        if (std::exchange(finished_, true))
            return;
        try {
            print(out, sums, most);
        } catch (const std::exception &) {    // no memory: what was counted counts as left out
            out = {};
        }
    }
    {
        std::lock_guard hold(comm_.lock);
        classes_.clear();
    }
    book_->give(held_);
    book_->leave(this, out.take(), sums, most, left_out_);
}

} // namespace wan
