/*
 * See rules.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tune/rules.hpp"

#include "adaptive/options.hpp"
#include "algo/registry.hpp"
#include "collective.hpp"

#include <cerrno>
#include <charconv>
#include <set>
#include <sstream>
#include <unistd.h>

namespace wan {

namespace {

bool ranks_in_blocks(const topology &t)
{
    int runs = 1;
    for (int r = 1; r < t.size(); ++r)
        runs += t.site_of(r) != t.site_of(r - 1);
    return runs == t.site_count();
}

bool number_parse(std::string_view text, uint64_t &out)
{
    const char *const end = text.data() + text.size();
    auto [at, error] = std::from_chars(text.data(), end, out);
    if (error != std::errc{} || at == text.data())
        return false;
    if (at != end) {
        const unsigned shift = *at == 'K' ? 10 : *at == 'M' ? 20 : *at == 'G' ? 30 : 0;
        if (!shift || ++at != end || out > (UINT64_MAX >> shift))
            return false;
        out <<= shift;
    }
    return true;
}

/** "7", "4-9", "4-", "-9". */
bool range_parse(std::string_view text, whole_range &out)
{
    const size_t dash = text.find('-');
    if (dash == text.npos)
        return number_parse(text, out.least) && (out.most = out.least, true);
    const std::string_view from = text.substr(0, dash), to = text.substr(dash + 1);
    return (from.empty() || number_parse(from, out.least)) && (to.empty() || number_parse(to, out.most)) && text.size() > 1
           && out.least <= out.most;
}

std::string range_print(const char *name, const whole_range &r)
{
    if (r == whole_range{})
        return "";
    std::string text = std::string(" ") + name + " " + std::to_string(r.least);
    if (r.most != r.least)
        text += "-" + (r.most == UINT64_MAX ? "" : std::to_string(r.most));
    return text;
}

std::string_view without_comment(std::string_view line)
{
    return line.substr(0, line.find('#'));
}

bool blank(std::string_view line)
{
    return line.find_first_not_of(" \t\r") == line.npos;
}

/** nullopt, with what is wrong. */
std::optional<rule> line_parse(std::string_view line, std::string &fault)
{
    const size_t colon = line.find(':');
    if (colon == line.npos) {
        fault = "there is no ':' between calls and how they are served";
        return std::nullopt;
    }
    std::istringstream words{std::string(line.substr(0, colon))};
    std::string word, value;
    rule r;
    words >> word;
    int c = 0;
    while (c < WAN_COLLECTIVES && word != kind_of(collective_at(c)).name)
        ++c;
    if (c == WAN_COLLECTIVES) {
        fault = "'" + word + "' is no collective";
        return std::nullopt;
    }
    r.collective = collective_at(c);
    std::set<std::string> seen;
    while (words >> word) {
        value.clear();
        words >> value;
        if (!seen.insert(word).second) {
            fault = "'" + word + "' is there twice";
            return std::nullopt;
        }
        const char *wrong = " says nothing of calls";
        if (word == "placement") {
            wrong = value == "blocks" || value == "mixed" ? nullptr : " is neither blocks nor mixed";
            r.blocks = value == "blocks";
        } else if (whole_range *of = word == "bytes"            ? &r.bytes
                                     : word == "ranks"          ? &r.ranks
                                     : word == "sites"          ? &r.sites
                                     : word == "ranks-per-host" ? &r.ranks_per_host
                                                                : nullptr) {
            wrong = range_parse(value, *of) ? nullptr : " is no range, such as 8, 1-64K, 1M- or -4K, the smaller number first";
        }
        if (wrong) {
            fault = "'" + word + (value.empty() ? "" : " " + value) + "'" + wrong;
            return std::nullopt;
        }
    }
    const auto how = parse_manner(r.collective, line.substr(colon + 1), fault);
    if (!how)
        return std::nullopt;
    r.how = *how;
    if (r.how.along_trees && r.ranks.least > adaptive_most_ranks) {
        fault = "adaptive trees serve " + std::to_string(adaptive_most_ranks) + " ranks at most";
        return std::nullopt;
    }
    return r;
}

/** Without how. */
std::string calls_of(const rule &r)
{
    std::string text = kind_of(r.collective).name;
    text += range_print("bytes", r.bytes) + range_print("ranks", r.ranks) + range_print("sites", r.sites)
            + range_print("ranks-per-host", r.ranks_per_host);
    if (r.blocks)
        text += *r.blocks ? " placement blocks" : " placement mixed";
    return text;
}

/** Of the lines of a file, those of the same calls. */
bool put_in_place(std::string &text, const std::string &file, const std::vector<rule> &learned, input_error &error)
{
    std::string kept;
    if (text.empty())
        text = "# What coll/wan has learned by trial, a line for each kind of call.  To be read, edited and\n"
               "# shipped: --mca coll_wan_tune_file FILE, or, before all that is learned, --mca coll_wan_rules FILE.\n";
    std::istringstream lines(text);
    size_t understood = 0, others = 0;
    for (std::string line, fault; std::getline(lines, line);) {
        const std::string_view said = without_comment(line);
        const auto old = blank(said) ? std::nullopt : line_parse(said, fault);
        if (!blank(said))
            ++(old ? understood : others);
        const bool anew = old && std::any_of(learned.begin(), learned.end(), [&](const rule &r) { return same_calls(r, *old); });
        if (!anew)
            kept += line + '\n';
    }
    if (others != 0 && understood == 0) {
        error = {file, "it has lines, and none of what jobs learn: nothing is written into it", "is it another kind of file? Name one of its own in coll_wan_tune_file"};
        return false;
    }
    for (const rule &r : learned)
        kept += print(r) + '\n';
    text = std::move(kept);
    return true;
}

} // namespace

bool rules::parse(std::string_view text, const std::string &file, rules &out, input_error &error, bool learned)
{
    out.all_.clear();
    out.left_out_ = 0;
    int number = 0;
    for (size_t at = 0; at < text.size(); ++number) {
        const size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = without_comment(text.substr(at, end - at));
        at = end + 1;
        if (blank(line))
            continue;
        std::string fault;
        const auto r = line_parse(line, fault);
        if (!r && learned && out.left_out_++)      // of another version, perhaps
            continue;
        if (!r) {
            error = {file + ":" + std::to_string(number + 1), fault,
                     "Write 'COLLECTIVE [bytes RANGE] [ranks RANGE] [sites RANGE] [ranks-per-host RANGE] [placement blocks|mixed]: ALGORITHM "
                     "[links N] [entries N] [order star|chain] [inner circulant|ring|halving] [pieces N] [cuts N|1/N]', such as 'bcast bytes 1M-: vandegeijn'; "
                     "'adaptive' and 'open_mpi' stand alone; 'ompi_info --param coll wan --level 9' lists algorithms."};
            if (!learned)
                return false;
            continue;
        }
        out.all_.push_back(*r);
    }
    if (out.left_out_) {
        error.what += out.left_out_ == 1 ? ": this line is left out" : ": this line is left out, and " + std::to_string(out.left_out_ - 1) + " more";
        error.remedy = "correct or delete it; 'wan-info check --rules " + file + "' names all such lines";
    }
    return true;
}

bool rules::read(const std::string &file, bool learned, rules &out, input_error &error)
{
    out.all_.clear();
    out.left_out_ = 0;
    std::string text;
    if (learned && access(file.c_str(), F_OK) != 0 && errno == ENOENT)
        return true;
    return text_file_read(file, text, error) && parse(text, file, out, error, learned);
}

std::vector<rule> rules::of(const topology &t) const
{
    std::vector<rule> found;
    const bool blocks = !all_.empty() && ranks_in_blocks(t);
    const auto per_host = static_cast<uint64_t>(t.most_lanes());
    for (const rule &x : all_)
        if (x.ranks.holds(static_cast<uint64_t>(t.size())) && x.sites.holds(static_cast<uint64_t>(t.site_count())) && x.ranks_per_host.holds(per_host)
            && (!x.blocks || *x.blocks == blocks))
            found.push_back(x);
    return found;
}

const rule *find(const std::vector<rule> &of, const request &r)
{
    for (const rule &x : of)
        if (x.collective == r.collective && (r.counts_local ? x.bytes == whole_range{} : x.bytes.holds(r.bytes)))
            return &x;
    return nullptr;
}

uint64_t digest(const std::vector<rule> &of)
{
    uint64_t h = of.empty() ? 0 : 0xcbf29ce484222325ull;
    for (const rule &r : of)
        for (char c : print(r) + '\n')
            h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    return h;
}

bool same_calls(const rule &a, const rule &b) { return calls_of(a) == calls_of(b); }

std::string print(const rule &r)
{
    return calls_of(r) + ": " + print(r.how);
}

std::vector<rule> learned_rules(const topology &t, const std::vector<tuner::state> &classes)
{
    std::vector<rule> all;
    for (const tuner::state &c : classes) {
        if (c.phase != tuner::state::phase::settled || c.candidates.size() < 2 || !c.what.commutative || c.what.counts_vary
            || (c.candidates[c.standing].measured_ns == 0 && c.candidates[c.standing].late > 0))      // nothing is known of it
            continue;
        const auto only = [](uint64_t x) { return whole_range{x, x}; };
        rule r;
        r.collective = c.what.collective;
        if (c.what.size > 0)
            r.bytes = {uint64_t{1} << (c.what.size - 1), (uint64_t{1} << (c.what.size - 1)) * 2 - 1};
        else
            r.bytes = only(0);
        r.ranks = only(static_cast<uint64_t>(t.size()));
        r.sites = only(static_cast<uint64_t>(t.site_count()));
        r.ranks_per_host = only(static_cast<uint64_t>(t.most_lanes()));
        r.blocks = ranks_in_blocks(t);
        r.how = c.candidates[c.standing].how;
        // Roots in several sites have classes of their own: the first one stands for all.
        if (std::none_of(all.begin(), all.end(), [&](const rule &x) { return same_calls(x, r); }))
            all.push_back(r);
    }
    return all;
}

bool rules_savable(const std::string &file, input_error &error)
{
    std::string text;
    return text_file_changeable(file, error)
           && (access(file.c_str(), F_OK) != 0 || (text_file_read(file, text, error) && put_in_place(text, file, {}, error)));
}

bool rules_save(const std::string &file, const std::vector<rule> &learned, input_error &error)
{
    if (learned.empty())
        return true;
    return text_file_change(file, [&](std::string &text, input_error &fault) { return put_in_place(text, file, learned, fault); }, error);
}

} // namespace wan
