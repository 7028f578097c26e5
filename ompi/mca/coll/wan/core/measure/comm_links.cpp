/*
 * See comm_links.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "measure/comm_links.hpp"
#include "given_files.hpp"
#include "mix.hpp"

#include <algorithm>
#include <utility>

namespace wan {

namespace {

/**
 * So many times what they take must be worth measuring widths: half a dozen times as long as the rest, they tell less,
 * and calls that are served well already gain nothing by them.  At 20% they take a 20th of the time that counts.
 */
constexpr int64_t widths_price = 5;

/** Of a call's time, what no plan saves: the way between sites, and an eighth of it for the steps inside them. */
int64_t least_ns(const facts &f) { return f.widest_ns() * 9 / 8; }

/** from_file: such facts are looked at before they are believed, so that all ranks must have them from there. */
int64_t digest_of(const fact_vector &v, bool from_file)
{
    uint64_t h = 0xcbf29ce484222325ull;
    for (int64_t x : v)
        h = (h ^ static_cast<uint64_t>(x)) * 0x100000001b3ull;
    return v == fact_vector{} ? 0 : (static_cast<int64_t>(h >> 2) & ~int64_t{3}) | 1 | (from_file ? 2 : 0);
}

std::string text_of(const char *parameter) { return parameter ? parameter : ""; }

} // namespace

comm_links::comm_links(const topology &t, int me, const wan_params_t &p, bool sites_pretended, std::mutex &lock, links_user &user)
    : file(text_of(p.links_file)),
      measures(p.measure_share > 0),
      pretended(sites_pretended),
      topo_(t),
      me_(me),
      lock_(lock),
      user_(user),
      hints_(files().hints_of(text_of(p.cluster_map))),
      checks_(p.check_interval * 1'000'000),
      deferred_(p.measure_share),
      spent_everywhere_(measured().spent_ns(sites_key()))
{
    if (const auto here = measured().links(sites_key())) {
        learned = *here;
    } else if (const auto told = files().links_of(file, site_names()); told && told->facts != fact_vector{}) {
        from_file_ = true;
        learned = told->facts;
    }
}

std::vector<std::string> comm_links::site_names() const
{
    std::vector<std::string> names;
    for (int s = 0; s < topo_.site_count(); ++s)
        names.push_back(topo_.site_name(site_id{static_cast<uint32_t>(s)}));
    return names;
}

std::string comm_links::sites_key() const
{
    std::string key;
    for (const std::string &name : site_names())
        key += name + '\n';
    return key;
}

int64_t comm_links::digest() const { return digest_of(learned, from_file_); }

uint64_t comm_links::map_digest() const
{
    // By site and pair, as told() uses them: the same numbers elsewhere are other facts.
    uint64_t digest = 0;
    for (int a = 0; a < topo_.site_count() && !hints_.empty(); ++a) {
        const std::string &at = topo_.site_name(site_id{static_cast<uint32_t>(a)});
        digest = mix(mix(digest, static_cast<uint64_t>(hints_.nic_bytes_per_s(at))), static_cast<uint64_t>(hints_.uplink_bytes_per_s(at)));
        for (int b = a + 1; b < topo_.site_count(); ++b) {
            const link_hint *h = hints_.link(at, topo_.site_name(site_id{static_cast<uint32_t>(b)}));
            digest = mix(mix(digest, h ? static_cast<uint64_t>(h->latency_ns) : 0),
                         h ? static_cast<uint64_t>(h->bandwidth_bytes_per_s) : 0);
        }
    }
    return digest;
}

const char *comm_links::how_known() const
{
    if (learned == fact_vector{})
        return "assumed";
    return probed_ ? "measured" : from_file_ ? "from a file" : "measured on another communicator";
}

std::optional<known_links> comm_links::to_keep() const
{
    if (learned == fact_vector{})
        return std::nullopt;
    known_links l{site_names(), learned, {}};
    for (const std::string &from : l.sites) {
        l.ways.emplace_back();
        for (const std::string &to : l.sites)
            l.ways.back().push_back(measured().way(from, to));
    }
    return l;
}

facts comm_links::told(const fact_vector &v, bool map) const
{
    facts f = facts_from(topo_, v);
    f.assumed = v == fact_vector{};
    f.eager_bytes = machine.eager_bytes;
    f.copy_ps = machine.copy_ps;
    f.reduce_ps = machine.reduce_ps;
    int64_t slowest = 0;
    const auto byte_ps = [](int64_t rate) { return std::max<int64_t>(1, 1'000'000'000'000 / rate); };
    for (int a = 0; map && a < f.sites; ++a) {
        const site_id at{static_cast<uint32_t>(a)};
        if (int64_t rate = hints_.nic_bytes_per_s(topo_.site_name(at)); rate > 0)
            slowest = slowest ? std::min(slowest, rate) : rate;
        if (int64_t rate = hints_.uplink_bytes_per_s(topo_.site_name(at)); rate > 0) {
            f.uplink_ps.resize(static_cast<size_t>(f.sites));
            f.uplink_ps[static_cast<size_t>(a)] = byte_ps(rate);
        }
        for (int b = a + 1; b < f.sites; ++b) {
            const link_hint *h = hints_.link(topo_.site_name(at), topo_.site_name(site_id{static_cast<uint32_t>(b)}));
            if (h && h->latency_ns > 0)
                f.set_pair(f.pair_ns, a, b, h->latency_ns);
            if (h && h->bandwidth_bytes_per_s > 0)
                f.set_pair(f.link_ps, a, b, byte_ps(h->bandwidth_bytes_per_s));
        }
    }
    if (slowest > 0) {
        f.byte_ps = byte_ps(slowest);
        f.burst_bytes = 0;      // it was told apart by the measured rate
    }
    f.settle();
    return f;
}

bool comm_links::changed_to(const fact_vector &v) const
{
    fact_vector before = learned;
    for (size_t i = fact::first_level_ns; i < fact::end; ++i)
        if (before[i] == 0)     // of a level that is looked at first
            before[i] = v[i];
    return differ(facts_from(topo_, before), facts_from(topo_, v));
}

/* ---- what is known, and what is measured next ----------------------------- */

void comm_links::agree(bool alike, int64_t spent_ns)
{
    if (alike && learned != fact_vector{}) {
        learn();
        if (!from_file_)
            widen_later();
    } else {
        from_file_ = false;
        learned = {};
        if (measures)
            measure_for(purpose::learn);
        else
            learn();
    }
    if (from_file_ && measures)
        measure_briefly(purpose::believe, "links are known from a file: are they as they were?");
    if (unsure())
        defer(spent_ns);
}

void comm_links::defer(int64_t spent_ns)
{
    // By a common network's figures, whatever a map or a file tells: one that is wrong must not defer its own correction.
    const facts usual = told({}, false);
    const int64_t cost_ns = probe::cost_ns(topo_, usual, measuring_to_ == purpose::believe);
    std::lock_guard hold(lock_);
    deferred_.begin(cost_ns, spent_ns, least_ns(usual));
}

void comm_links::assume()
{
    in_use_ = true;
    if (known.empty())      // nor from a file
        learn();
}

void comm_links::learn(bool changed)
{
    facts f = told(learned);
    {
        std::lock_guard hold(lock_);
        if (changed)
            changed_from_ = std::min(changed_from_, known.size());
        known.push_back(std::move(f));
        epochs_.push_back(known.size() - 1);
        seen.forget();
        user_.links_learned(epochs() - 1);
    }
    user_.links_known(changed);
}

void comm_links::adopt(const fact_vector &v)
{
    {
        std::lock_guard hold(lock_);
        measuring_.reset();
    }
    measuring_to_ = purpose::learn;
    from_file_ = false;
    const bool changed = !known.empty() && !known.back().assumed && changed_to(v);
    learned = v;
    learn(changed);
    if (changed)
        user_.links_changed();
    widen_later();
}

void comm_links::measure_for(purpose p, bool brief)
{
    std::lock_guard hold(lock_);
    measuring_ = std::make_unique<probe>(topo_, me_, brief);
    measuring_to_ = p;
}

void comm_links::measure_briefly(purpose p, const char *why)
{
    measure_for(p, true);
    user_.links_looked_at(why);
}

void comm_links::look() { measure_briefly(purpose::look, "calls take much more or less time than before: are the links as they were?"); }

bool comm_links::widen(int round)
{
    round = widths::next_round(topo_, learned, round);
    if (round == widths::rounds)
        return false;
    std::lock_guard hold(lock_);
    measuring_ = std::make_unique<widths>(topo_, me_, learned, round);
    measuring_to_ = purpose::widen;
    width_round_ = round;
    return true;
}

void comm_links::widen_later()
{
    if (!measures || !widen(0))
        return;
    const facts &f = known.back();
    const int64_t cost_ns = widths_price * widths::cost_ns(topo_, f);
    std::lock_guard hold(lock_);
    deferred_.begin(cost_ns, 0, least_ns(f));
}

void comm_links::look_wide(purpose p, const fact_vector &before)
{
    std::lock_guard hold(lock_);
    measuring_ = std::make_unique<widths>(topo_, me_, learned, widths::a_look, before);
    measuring_to_ = p;
}

int64_t comm_links::look_cost_ns() const
{
    return probe::cost_ns(topo_, known.back(), true) + (widths::any(topo_, learned) ? widths::look_cost_ns(topo_, known.back()) : 0);
}

std::optional<schedule> comm_links::next()
{
    if (!measuring_)
        return std::nullopt;
    if (auto step = measuring_->next())
        return step;
    found_ = measuring_->measured();
    std::lock_guard hold(lock_);
    measuring_.reset();
    return std::nullopt;
}

std::span<char> comm_links::message()
{
    buffer_.resize(measuring_->message_bytes());
    return buffer_;
}

void comm_links::ran(int64_t elapsed_ns)
{
    if (measuring_)
        measuring_->record(elapsed_ns);
}

/* ---- what was measured ----------------------------------------------------- */

int comm_links::take(const fact_vector &v)
{
    const int code = taken(v);
    if (code == WAN_OK || (code == WAN_DECLINED && from_file_))
        measured().keep(sites_key(), learned);
    return code;
}

int comm_links::taken(const fact_vector &v)
{
    const purpose why = std::exchange(measuring_to_, purpose::learn);
    if (why == purpose::widen)
        return take_widths(v);
    if (why == purpose::look_wide || why == purpose::confirm_wide)
        return take_wide_look(v, why);
    if (why != purpose::learn) {
        fact_vector now = v;
        for (size_t i = 0; i < now.size(); ++i)
            if (now[i] == 0)        // not measured, or too fast to tell
                now[i] = learned[i];
        const bool changed = differ(facts_from(topo_, learned), facts_from(topo_, now));
        if (why != purpose::confirm)
            suspected_ = why == purpose::look;
        if (changed && why != purpose::confirm) {
            measure_for(purpose::confirm);
            return WAN_DONE;
        }
        if (!changed && suspected_ && widths::any(topo_, learned)) {
            look_wide(purpose::look_wide);
            return WAN_DONE;
        }
        if (!changed)
            return unchanged(now);
        if (suspected_)
            checks_.looked(true, look_cost_ns());
    }
    links_are(v, why != purpose::learn && changed_to(v));
    return WAN_OK;
}

int comm_links::take_widths(const fact_vector &v)
{
    for (size_t i = 0; i < v.size(); ++i)
        if (v[i] > 0)
            learned[i] = v[i];
    if (widen(width_round_ + 1))
        return WAN_DONE;
    doubt(learned);
    learn();
    return WAN_OK;
}

int comm_links::take_wide_look(const fact_vector &v, purpose why)
{
    const fact_vector both = why == purpose::confirm_wide ? widths::agreed(learned, seen_wide_, v) : v;
    const auto now = widths::corrected(topo_, learned, both);
    if (!now && suspected_)
        return unchanged(learned);
    if (!now) {
        if (from_file_)
            doubt(learned);
        widen_later();
        return WAN_DECLINED;
    }
    if (why != purpose::confirm_wide) {
        seen_wide_ = v;
        look_wide(purpose::confirm_wide, v);
        return WAN_DONE;
    }
    if (suspected_)
        checks_.looked(true, look_cost_ns());
    links_are(*now, true);
    return WAN_OK;
}

int comm_links::unchanged(const fact_vector &seen_now)
{
    if (suspected_)
        checks_.looked(false, look_cost_ns());
    in_use_ = true;
    // (What a file tells of widths says nothing against what is given before somebody has looked at that.)
    if (from_file_)
        doubt(suspected_ ? seen_now : widths::without(seen_now));
    {
        std::lock_guard hold(lock_);
        seen.forget();
    }
    user_.links_unchanged();
    if (!suspected_ && measures && widths::any(topo_, learned)) {       // as a file tells: when that is worth it
        look_wide(purpose::look_wide);
        std::lock_guard hold(lock_);
        deferred_.begin(widths_price * widths::look_cost_ns(topo_, known.back()), 0, least_ns(known.back()));
    } else {
        widen_later();
    }
    return WAN_DECLINED;
}

void comm_links::links_are(const fact_vector &v, bool changed)
{
    if (std::exchange(from_file_, false) && !in_use_) {     // nobody has called yet, so that nothing was planned by it
        std::lock_guard hold(lock_);
        known.clear();
        epochs_.clear();
    }
    // Another communicator over these links may know already, and have learned since.
    const auto there = measured().links(sites_key());
    const bool news = changed && (!there || differ(facts_from(topo_, *there), facts_from(topo_, v)));
    learned = v;
    probed_ = true;
    doubt(v);
    user_.links_measured(changed, news);
    learn(changed && !known.empty());
    if (changed)
        user_.links_changed();
    widen_later();
}

/* ---- beside calls ------------------------------------------------------------ */

void comm_links::took(int64_t elapsed_ns, bool left, bool is_short)
{
    if (!measuring_ || (left && measuring_to_ == purpose::widen))
        return;
    // Between two sites any plan crosses once; and how wide ways are does not matter to short messages anywhere.
    const bool widths = measuring_to_ == purpose::widen || measuring_to_ == purpose::look_wide;
    spent_everywhere_ += deferred_.took(elapsed_ns, is_short && (widths || topo_.site_count() == 2));
}

std::optional<check_votes> comm_links::defers(uint64_t bytes)
{
    if (!measuring_ || !deferred_.due(bytes))
        return std::nullopt;
    // They may have been measured meanwhile on another communicator.
    asked_for_time_ = true;
    offered_ = measured().links(sites_key()).value_or(fact_vector{});
    if (offered_ == learned)
        offered_ = {};
    std::lock_guard hold(lock_);
    const auto [all, longest] = deferred_.vote();
    const int64_t digest = digest_of(offered_, false);
    return check_votes{all, longest, digest, -digest};
}

std::optional<check_votes> comm_links::check(int64_t now_ns)
{
    if (unsure() || !measures)
        return std::nullopt;
    const facts &f = known.back();
    // Beside a call, so that its way to the other sites costs nothing: some messages of a tree do.
    if (!checks_.due(now_ns, 8 * f.step_ns))
        return std::nullopt;
    std::lock_guard hold(lock_);
    asked_for_time_ = false;
    const drift_votes mine = checks_.votes(seen.look(f.farthest_ns(topo_.site_of(me_)), checks_.whole()));
    check_votes votes{};
    std::copy(mine.begin(), mine.end(), votes.begin());
    return votes;
}

int comm_links::answer(const check_votes &combined)
{
    if (asked_for_time_) {
        if (combined[2] != 0 && combined[2] == -combined[3]) {      // all have the same
            adopt(offered_);
            return WAN_DECLINED;
        }
        std::lock_guard hold(lock_);
        const bool over = deferred_.answer({combined[0], combined[1]});
        spent_everywhere_ = std::max<int64_t>(spent_everywhere_, deferred_.agreed_ns());
        return over ? WAN_DONE : WAN_OK;
    }
    drift_votes drifted;
    std::copy_n(combined.begin(), drifted.size(), drifted.begin());
    if (!checks_.answer(drifted))
        return WAN_OK;
    look();
    return WAN_DONE;
}

} // namespace wan
