/*
 * See slurm_topology.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "topo/slurm_topology.hpp"

#include "topo/site_name.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace wan {

namespace {

constexpr std::string_view blanks = " \t\v\f\r";

std::string lower(std::string_view s)
{
    std::string out(s);
    for (char &c : out)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    return out;
}

struct key_value {
    std::string key;            // lower case
    std::string_view value;
};

/* Takes "Key = value" off the front of a statement; false when there is none. */
bool key_value_take(std::string_view &rest, key_value &out)
{
    const size_t equals = rest.find('=');
    if (equals == rest.npos)
        return false;
    std::string_view key = rest.substr(0, equals);
    key = key.substr(0, std::min(key.find_last_not_of(blanks), key.size() - 1) + 1);
    if (key.empty() || key.find_first_of(blanks) != key.npos)
        return false;
    out.key = lower(key);
    rest.remove_prefix(std::min(rest.find_first_not_of(blanks, equals + 1), rest.size()));
    size_t end;
    if (!rest.empty() && rest.front() == '"') {
        rest.remove_prefix(1);
        end = rest.find('"');
        if (end == rest.npos)
            return false;
        out.value = rest.substr(0, end++);
    } else {
        end = std::min(rest.find_first_of(blanks), rest.size());
        out.value = rest.substr(0, end);
    }
    rest.remove_prefix(std::min(rest.find_first_not_of(blanks, end), rest.size()));
    return true;
}

/* Takes the next statement with its continuations; `line` is the first line's number. */
bool statement_take(std::string_view &text, std::string &statement, int &line, int &lines_read)
{
    while (!text.empty()) {
        statement.clear();
        line = lines_read + 1;
        bool more = true;
        while (more && !text.empty()) {
            std::string_view content = line_content(line_take(text));
            ++lines_read;
            more = !content.empty() && content.back() == '\\';
            if (more)
                content.remove_suffix(1);
            statement += content;
            if (more)
                statement += ' ';
        }
        if (statement.find_first_not_of(blanks) != statement.npos)
            return true;
    }
    return false;
}

class slurm_parser {
public:
    slurm_parser(const std::string &file, input_error &error) : file_(file), error_(error) {}

    bool parse(std::string_view text, std::vector<map_entry> &out)
    {
        std::string statement;
        int line = 0, lines_read = 0;
        while (statement_take(text, statement, line, lines_read))
            if (!switch_line(statement, line))
                return false;
        return children_find() && cycles_check() && (fabrics_find(), entries_make(out));
    }

private:
    static constexpr size_t none = static_cast<size_t>(-1);

    struct fabric_switch {
        std::string name;
        int line = 0;
        hostlist nodes, switches;
        std::vector<size_t> children;
        size_t parent = none;       // the first one that lists it
    };

    const std::string &file_;
    input_error &error_;
    std::vector<fabric_switch> switches_;
    std::unordered_map<std::string, size_t> number_;
    std::vector<size_t> fabric_;    // union-find over switches_; a fabric's representative is its lowest number

    bool fail(int line, std::string what, std::string remedy)
    {
        error_ = {file_ + ":" + std::to_string(line), std::move(what), std::move(remedy)};
        return false;
    }

    bool list_parse(std::string_view text, hostlist &list, int line, const char *key)
    {
        std::string what;
        if (!list.patterns().empty())
            return fail(line, std::string(key) + "= is given twice", "Join the two lists with a comma.");
        if (!hostlist::parse(text, list, what))
            return fail(line, std::string("bad list in ") + key + "=: " + what,
                        "Write names and ranges without blanks between them, such as n[001-016,20].");
        return true;
    }

    bool switch_line(std::string_view rest, int line)
    {
        static const char *const remedy =
            "Write 'SwitchName=NAME Nodes=HOSTS' or 'SwitchName=NAME Switches=NAMES', as topology.conf(5) says.";
        fabric_switch s;
        s.line = line;
        rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size()));
        while (!rest.empty()) {
            const std::string_view before = rest;
            key_value kv;
            if (!key_value_take(rest, kv))
                return fail(line, quoted(before) + " is not KEY=VALUE", remedy);
            if (kv.key == "switchname") {
                if (!s.name.empty() || kv.value.empty())
                    return fail(line, s.name.empty() ? "SwitchName= is empty" : "SwitchName= is given twice", remedy);
                s.name = kv.value;
            } else if (kv.key == "nodes") {
                if (!list_parse(kv.value, s.nodes, line, "Nodes"))
                    return false;
            } else if (kv.key == "switches") {
                if (!list_parse(kv.value, s.switches, line, "Switches"))
                    return false;
            } else if (kv.key == "blockname" || kv.key == "blocksizes") {
                return fail(line, "this is a file of topology/block, which has no tree of switches",
                            "Write a cluster map with lines 'HOSTS SITE' instead.");
            } else if (kv.key != "linkspeed") {
                return fail(line, "unknown key " + quoted(kv.key), remedy);
            }
        }
        if (s.name.empty())
            return fail(line, "a line without SwitchName=", remedy);
        const auto [it, fresh] = number_.try_emplace(s.name, switches_.size());
        if (!fresh)
            return fail(line, "switch " + quoted(s.name) + " is also defined in line "
                                  + std::to_string(switches_[it->second].line),
                        "Keep one of the two lines, or rename one switch.");
        switches_.push_back(std::move(s));
        return true;
    }

    bool children_find()
    {
        for (size_t i = 0; i < switches_.size(); ++i) {
            std::string undefined;
            switches_[i].switches.for_each([&](const std::string &name) {
                const auto it = number_.find(name);
                if (it == number_.end()) {
                    undefined = name;
                    return false;
                }
                switches_[i].children.push_back(it->second);
                if (switches_[it->second].parent == none)
                    switches_[it->second].parent = i;
                return true;
            });
            if (!undefined.empty())
                return fail(switches_[i].line, "switch " + quoted(undefined) + " is not defined",
                            "Add a line 'SwitchName=" + undefined.substr(0, 80) + " ...' or correct Switches=.");
        }
        return true;
    }

    bool cycles_check()
    {
        enum : char { untouched, open, closed };
        std::vector<char> state(switches_.size(), untouched);
        struct frame {
            size_t at, child;
        };
        for (size_t start = 0; start < switches_.size(); ++start) {
            if (state[start] != untouched)
                continue;
            std::vector<frame> stack{{start, 0}};
            state[start] = open;
            while (!stack.empty()) {
                frame &f = stack.back();
                if (f.child == switches_[f.at].children.size()) {
                    state[f.at] = closed;
                    stack.pop_back();
                    continue;
                }
                const size_t c = switches_[f.at].children[f.child++];
                if (state[c] == open)
                    return fail(switches_[f.at].line,
                                "switch " + quoted(switches_[f.at].name) + " lists " + quoted(switches_[c].name)
                                    + ", which is above it",
                                "Remove one of the lines of the circle from Switches=.");
                if (state[c] == untouched) {
                    state[c] = open;
                    stack.push_back({c, 0});
                }
            }
        }
        return true;
    }

    size_t fabric_of(size_t i)
    {
        while (fabric_[i] != i)
            i = fabric_[i] = fabric_[fabric_[i]];
        return i;
    }

    void fabrics_join(size_t a, size_t b)
    {
        a = fabric_of(a);
        b = fabric_of(b);
        fabric_[std::max(a, b)] = std::min(a, b);
    }

    void fabrics_find()
    {
        fabric_.resize(switches_.size());
        std::iota(fabric_.begin(), fabric_.end(), size_t{0});
        std::vector<size_t> leaves;
        std::vector<const hostlist *> nodes;
        for (size_t i = 0; i < switches_.size(); ++i) {
            for (size_t c : switches_[i].children)
                fabrics_join(i, c);
            if (!switches_[i].nodes.patterns().empty()) {
                leaves.push_back(i);
                nodes.push_back(&switches_[i].nodes);
            }
        }
        hostlist_overlaps(
            nodes, [&](size_t a, size_t b) { return fabric_of(leaves[a]) != fabric_of(leaves[b]); },
            [&](size_t a, size_t b, const std::string &) {
                fabrics_join(leaves[a], leaves[b]);
                return true;
            });
    }

    /* The switches from below the root down to `i`, as levels. */
    std::vector<std::string> levels_above(size_t i) const
    {
        std::vector<std::string> levels;
        for (; switches_[i].parent != none; i = switches_[i].parent)
            levels.push_back(site_level_from(switches_[i].name));
        if (switches_[i].children.empty())      // a lone leaf, in a fabric by a shared node only
            levels.push_back(site_level_from(switches_[i].name));
        std::reverse(levels.begin(), levels.end());
        return levels;
    }

    bool entries_make(std::vector<map_entry> &out)
    {
        std::unordered_map<size_t, std::string> site;           // fabric -> name
        std::unordered_map<std::string, size_t> root_of;
        for (size_t i = 0; i < switches_.size(); ++i) {
            const fabric_switch &s = switches_[i];
            if (s.parent != none || s.children.empty() || site.count(fabric_of(i)))
                continue;
            const std::string name = site_level_from(s.name);
            if (name.size() > site_name_max_bytes)
                return fail(s.line, "the name of the switch " + quoted(s.name) + " is longer than "
                                        + std::to_string(site_name_max_bytes) + " bytes", "Give it a shorter name.");
            const auto [it, fresh] = root_of.try_emplace(name, i);
            if (!fresh)
                return fail(s.line,
                            "the switches " + quoted(s.name) + " and " + quoted(switches_[it->second].name) + " give the same site name " + quoted(name),
                            "Rename one of them with letters, digits, '.', '_' and '-'.");
            site.emplace(fabric_of(i), name);
        }
        for (size_t i = 0; i < switches_.size(); ++i) {
            fabric_switch &s = switches_[i];
            if (s.nodes.patterns().empty())
                continue;
            map_entry entry;
            entry.line = s.line;
            if (const auto it = site.find(fabric_of(i)); it != site.end())
                entry.site = site_name_join(it->second, levels_above(i));
            entry.hosts = std::move(s.nodes);
            out.push_back(std::move(entry));
        }
        if (out.empty())
            return fail(switches_.empty() ? 1 : switches_.front().line, "no switch has nodes",
                        "Add Nodes= to the leaf switches.");
        return true;
    }
};

} // namespace

bool slurm_topology_detect(std::string_view text)
{
    std::string statement;
    int line = 0, lines_read = 0;
    if (!statement_take(text, statement, line, lines_read))
        return false;
    std::string_view rest = statement;
    rest.remove_prefix(rest.find_first_not_of(blanks));
    key_value kv;
    if (!key_value_take(rest, kv))
        return false;
    for (const char *key : {"switchname", "nodes", "switches", "linkspeed", "blockname", "blocksizes"})
        if (kv.key == key)
            return true;
    return false;
}

bool slurm_topology_parse(std::string_view text, const std::string &file, std::vector<map_entry> &out,
                          input_error &error)
{
    out.clear();
    return slurm_parser(file, error).parse(text, out);
}

} // namespace wan
