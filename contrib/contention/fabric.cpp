/*
 * See fabric.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "contention/fabric.hpp"

#include "topo/slurm_topology.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

namespace wan {

namespace {

constexpr std::string_view mark = "#wan:", blanks = " \t\v\f\r";
constexpr int most_uplinks = 1024, most_hosts = 1'000'000;

bool fail(input_error &error, const std::string &file, int line, std::string what, std::string remedy)
{
    error = {file + ":" + std::to_string(line), std::move(what), std::move(remedy)};
    return false;
}

std::optional<int> number_of(std::string_view digits)
{
    int n = 0;
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    return fault == std::errc{} && end == digits.data() + digits.size() ? std::optional(n) : std::nullopt;
}

/** Of "rack3-n017": 17, of its last nine digits; nothing where there are none. */
std::optional<int> number_in(const std::string &host)
{
    const std::string name = host.substr(0, host.find('.'));
    const size_t end = name.find_last_of("0123456789");
    if (end == name.npos)
        return std::nullopt;
    const size_t before = name.find_last_not_of("0123456789", end);
    const size_t begin = before == name.npos ? 0 : before + 1;
    return number_of(name.substr(std::max(begin, end < 8 ? 0 : end - 8), end + 1 - std::max(begin, end < 8 ? 0 : end - 8)));
}

/** What the comments tell. */
struct notes {
    std::optional<int> uplinks;
    std::map<int, int> uplinks_of;          // by the line of their switch
    std::optional<fabric::routing_rule> routing;
};

bool word_take(std::string_view word, int line, bool beside, const std::string &file, notes &out, input_error &error)
{
    static const char *const remedy = "Write 'uplinks=NUMBER', of all leaf switches or in the line of one, or 'routing=position' or 'routing=name'.";
    if (word.starts_with("uplinks=")) {
        const auto n = number_of(word.substr(8));
        if (!n || *n < 1 || *n > most_uplinks)
            return fail(error, file, line, "'" + std::string(word) + "': a leaf switch has 1 to " + std::to_string(most_uplinks) + " uplinks", remedy);
        if (beside ? !out.uplinks_of.try_emplace(line, *n).second : out.uplinks.has_value())
            return fail(error, file, line, "'uplinks=' is told twice", "Keep one of the two.");
        if (!beside)
            out.uplinks = *n;
        return true;
    }
    if (word.starts_with("routing=")) {
        const std::string_view rule = word.substr(8);
        if (rule != "position" && rule != "name")
            return fail(error, file, line, "'" + std::string(word) + "' is no rule of routing", remedy);
        if (out.routing)
            return fail(error, file, line, "'routing=' is told twice", "Keep one of the two.");
        out.routing = rule == "name" ? fabric::routing_rule::name : fabric::routing_rule::position;
        return true;
    }
    return fail(error, file, line, "'" + std::string(word) + "' after '" + std::string(mark) + "' is not known", remedy);
}

bool notes_read(std::string_view text, const std::string &file, notes &out, input_error &error)
{
    bool goes_on = false;
    for (int line = 1, first = 1; !text.empty(); ++line) {      // first: of a statement that goes on behind a '\\'
        const std::string_view whole = line_take(text);
        first = std::exchange(goes_on, line_content(whole).ends_with('\\')) ? first : line;
        const size_t at = whole.find('#');
        if (at == whole.npos || !whole.substr(at).starts_with(mark))
            continue;
        const bool beside = whole.substr(0, at).find_first_not_of(blanks) != whole.npos;
        std::string_view rest = whole.substr(at + mark.size());
        bool any = false;
        for (size_t begin; (begin = rest.find_first_not_of(blanks)) != rest.npos; any = true) {
            const size_t end = std::min(rest.find_first_of(blanks, begin), rest.size());
            if (!word_take(rest.substr(begin, end - begin), beside ? first : line, beside, file, out, error))
                return false;
            rest.remove_prefix(end);
        }
        if (!any)
            return fail(error, file, line, "nothing follows '" + std::string(mark) + "'", "Write what it tells, such as 'uplinks=4', or leave it out.");
    }
    return true;
}

} // namespace

bool fabric::parse(std::string_view text, const std::string &file, fabric &out, input_error &error)
{
    out = {};
    notes told;
    if (!slurm_topology_detect(text))
        return fail(error, file, 1, "this is no topology.conf of Slurm, which tells leaf switches", "Write 'SwitchName=NAME Nodes=HOSTS' for each leaf switch.");
    std::vector<map_entry> entries;
    if (!slurm_topology_parse(text, file, entries, error) || !notes_read(text, file, told, error))
        return false;
    out.routing = told.routing.value_or(routing_rule::position);
    for (const map_entry &e : entries) {
        leaf l{e.line};
        std::string nameless, twice;
        const bool all = e.hosts.for_each([&](const std::string &host) {
            const auto number = out.routing == routing_rule::name ? number_in(host) : std::optional(static_cast<int>(out.hosts.size()));
            if (!number)
                nameless = host;
            else if (out.hosts.try_emplace(host, fat_tree_node{static_cast<int>(out.leaves.size()), *number}).second)
                ++l.hosts;
            else
                twice = host;
            return number && twice.empty() && out.hosts.size() <= most_hosts;
        });
        if (!twice.empty())
            return fail(error, file, e.line, "the host " + twice + " is under two leaf switches, or twice under one", "Take it out of one of the lines.");
        if (!nameless.empty())
            return fail(error, file, e.line, "the host " + nameless + " has no number in its name, by which 'routing=name' goes", "Write 'routing=position', or rename it.");
        if (!all)
            return fail(error, file, e.line, "there are more than " + std::to_string(most_hosts) + " hosts", "Leave out those that no job here has.");
        const auto own = told.uplinks_of.find(e.line);
        l.told = own != told.uplinks_of.end() || told.uplinks;
        l.uplinks = own != told.uplinks_of.end() ? own->second : told.uplinks.value_or(std::max(1, l.hosts));
        if (own != told.uplinks_of.end())
            told.uplinks_of.erase(own);
        out.leaves.push_back(l);
    }
    if (!told.uplinks_of.empty())
        return fail(error, file, told.uplinks_of.begin()->first, "this line is none of a leaf switch, which alone has uplinks here",
                    "Write it into a line of its own, for all leaf switches, or into a line with Nodes=.");
    return true;
}

bool fabric::read(const std::string &file, fabric &out, input_error &error)
{
    std::string text;
    return text_file_read(file, text, error) && parse(text, file, out, error);
}

} // namespace wan
