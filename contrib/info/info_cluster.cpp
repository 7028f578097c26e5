/*
 * See info_cluster.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "info_cluster.hpp"

#include "topo/cluster_map.hpp"
#include "vectors.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <random>
#include <sstream>

namespace info {

namespace {

constexpr size_t most_hosts = 200'000;
constexpr size_t most_ranks = 1'000'000;

std::string located(const wan::input_error &e) { return e.where + ": " + e.what + "\n" + e.remedy; }

int whole(std::string_view text)
{
    int n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    return error == std::errc() && end == text.data() + text.size() ? n : -1;
}

/** "2x16" or "3+11+5", named as the lab names them. */
std::vector<host> shape_hosts(const std::string &text)
{
    std::vector<int> sizes;
    if (const size_t x = text.find('x'); x != text.npos) {
        const int sites = whole(text.substr(0, x)), hosts = whole(text.substr(x + 1));
        if (sites > 0 && sites <= 1000 && hosts > 0)
            sizes.assign(static_cast<size_t>(sites), hosts);
    } else {
        std::istringstream parts(text + '+');
        for (std::string part; std::getline(parts, part, '+');)
            sizes.push_back(whole(part));
    }
    int64_t sum = 0;
    for (int n : sizes)
        sum = n < 1 ? INT64_MAX / 2 : sum + n;
    if (sizes.empty() || sum > static_cast<int64_t>(most_hosts))
        throw wrong_word("'" + text + "' is no shape: write 2x16 (sites x hosts) or 3+11+5 (hosts of each site), at most "
                         + std::to_string(most_hosts) + " hosts");
    std::vector<host> hosts;
    for (size_t s = 0; s < sizes.size(); ++s) {
        const std::string site = s < 26 ? std::string(1, static_cast<char>('a' + s)) : "s" + std::to_string(s);
        for (int h = 0; h < sizes[s]; ++h)
            hosts.push_back({site + (s < 26 ? "" : "h") + std::to_string(h), 1, site, "", 0});
    }
    return hosts;
}

void names_take(const wan::hostlist &list, std::vector<host> &hosts)
{
    list.for_each([&](const std::string &name) {
        if (hosts.size() >= most_hosts)
            throw wrong_word("more than " + std::to_string(most_hosts) + " hosts: name fewer with --hosts");
        hosts.push_back({name, 1, "", "", 0});
        return true;
    });
}

/** "host slots=4" a line, as for mpirun. */
std::vector<host> hostfile_hosts(const std::string &file)
{
    std::string text;
    wan::input_error error;
    if (!wan::text_file_read(file, text, error))
        throw wrong_word(located(error));
    std::vector<host> hosts;
    std::map<std::string, size_t, std::less<>> known;
    std::string_view rest = text;
    for (int line = 1; !rest.empty(); ++line) {
        std::istringstream words{std::string(wan::line_content(wan::line_take(rest)))};
        std::string name, word;
        int slots = 1;
        if (!(words >> name))
            continue;
        while (words >> word) {
            if (word.starts_with("slots="))
                slots = whole(std::string_view(word).substr(6));
            if (slots < 1 || (word.starts_with("slots") && !word.starts_with("slots=")))
                throw wrong_word(file + ":" + std::to_string(line) + ": bad number of slots '" + word
                                 + "'\nWrite a host a line: n1 slots=4.");
        }
        if (const size_t at = name.find('@'); at != name.npos)      // user@host
            name.erase(0, at + 1);
        if (hosts.size() >= most_hosts)
            throw wrong_word(file + ": more than " + std::to_string(most_hosts) + " hosts");
        const auto [it, fresh] = known.try_emplace(name, hosts.size());
        if (fresh)
            hosts.push_back({name, slots, "", "", 0});
        else
            hosts[it->second].slots += slots;
    }
    if (hosts.empty())
        throw wrong_word(file + ": no host in it\nWrite a host a line: n1 slots=4.");
    return hosts;
}

/** Their hosts without sites, in the map's order where nobody names them. */
std::vector<host> hosts_named(const cluster_words &words, const std::string &map_file, const wan::cluster_map &map)
{
    std::vector<host> hosts;
    if (!words.hosts.empty()) {
        wan::hostlist list;
        std::string what;
        if (!wan::hostlist::parse(words.hosts, list, what))
            throw wrong_word("--hosts: " + what + ": write names and ranges such as n[001-016],gw1");
        names_take(list, hosts);
        std::map<std::string, size_t> known;        // twice: two ranks of it, as in mpirun's --host
        std::vector<host> all;
        for (host &h : hosts)
            if (const auto [it, fresh] = known.try_emplace(h.name, all.size()); fresh)
                all.push_back(std::move(h));
            else
                ++all[it->second].slots;
        return all;
    }
    if (!words.hostfile.empty())
        return hostfile_hosts(words.hostfile);
    for (const wan::map_entry &e : map.entries())
        names_take(e.hosts, hosts);
    std::map<std::string_view, int> seen;       // a host may be listed twice in one site
    std::erase_if(hosts, [&](const host &h) { return seen[h.name]++ > 0; });
    if (hosts.empty())
        throw wrong_word(map_file + " lists no hosts: name them with --hosts LIST or --hostfile FILE, or give --shape");
    return hosts;
}

/** What the map says of where a host is. */
void site_find(const wan::cluster_map &map, host &h)
{
    const wan::map_entry *entry = nullptr;
    for (const wan::map_entry &e : map.entries())
        if (e.hosts.contains(h.name)) {
            entry = &e;
            break;
        }
    const auto site = entry ? std::optional(entry->site) : map.site_of(h.name);
    h.site = site.value_or("");
    h.line = entry ? entry->line : 0;
    if (!site)
        h.note = "the map does not list it";
    else if (site->empty())
        h.note = "it is under a lone leaf switch";
}

std::vector<host> hosts_by_map(const cluster_words &words, const std::string &map_file)
{
    if (map_file.empty())
        throw wrong_word(
            !words.hosts.empty() || !words.hostfile.empty()
                ? "which site a host is in must be told: --map FILE. (Jobs without one find their sites by measuring, "
                  "coll_wan_discover.)"
                : "no sites: give --map FILE (with --hosts LIST or --hostfile FILE for a part of it) or --shape 2x16");
    wan::cluster_map map;
    wan::input_error error;
    if (!wan::cluster_map::read(map_file, map, error))
        throw wrong_word(located(error));

    std::vector<host> hosts = hosts_named(words, map_file, map);
    for (host &h : hosts)
        site_find(map, h);
    return hosts;
}

} // namespace

parameters parameters_of(const cluster_words &words)
{
    parameters params(words.settings);
    const bool set = std::any_of(words.settings.begin(), words.settings.end(), [](const std::string &s) {
        return s.starts_with("cluster_map=") || s.starts_with("coll_wan_cluster_map=");
    });
    if (!words.shape.empty() && (set || !words.map.empty()))
        throw wrong_word("--shape has sites of its own: give it or "
                         + std::string(set ? "the parameter cluster_map" : "--map"));
    if (!words.map.empty())
        params.set("cluster_map", words.map);
    if (!words.shape.empty())
        params.leave("cluster_map");        // of the environment: its links are not meant for sites of these names
    wan_message_t fault;
    if (wan_params_check(&params.values(), &fault) == WAN_ERR_INPUT)        // jobs would run without coll/wan
        throw wrong_word(std::string(fault.where) + ": " + fault.what + "\n" + fault.remedy);
    if (params.values().priority < 0)
        throw wrong_word("coll/wan would leave this job alone: coll_wan_priority is " + std::to_string(params.values().priority)
                         + ", which switches it off\nLeave it out, or set it to 0 or more (50 if not told).");
    return params;
}

std::vector<host> hosts_of(const cluster_words &words, const std::string &map_file)
{
    if (!words.hosts.empty() + !words.hostfile.empty() + !words.shape.empty() > 1)
        throw wrong_word("--hosts, --hostfile and --shape: give one of them");
    if (words.per_host < 0)
        throw wrong_word("--ranks-per-host: a positive number, or 0 for a host's slots in the hostfile, else 1");
    std::vector<host> hosts = words.shape.empty() ? hosts_by_map(words, map_file) : shape_hosts(words.shape);
    for (host &h : hosts)
        if (words.per_host)
            h.slots = words.per_host;
    return hosts;
}

std::vector<size_t> ranks_of(const std::vector<host> &hosts, const std::string &placement)
{
    std::vector<size_t> ranks;
    size_t slots = 0;
    for (const host &h : hosts)
        slots += static_cast<size_t>(h.slots);
    if (slots > most_ranks)
        throw wrong_word("more than " + std::to_string(most_ranks) + " ranks");
    ranks.reserve(slots);
    if (placement == "roundrobin") {        // sites in turn, their hosts in turn, then the second rank of each
        std::map<std::string, std::vector<size_t>> by_site;
        std::vector<std::string> sites;
        size_t longest = 0;
        for (size_t h = 0; h < hosts.size(); ++h) {
            auto &members = by_site[hosts[h].site];
            if (members.empty())
                sites.push_back(hosts[h].site);
            members.push_back(h);
            longest = std::max(longest, members.size());
        }
        for (int lane = 0; ranks.size() < slots; ++lane)
            for (size_t turn = 0; turn < longest; ++turn)
                for (const std::string &s : sites)
                    if (const auto &members = by_site[s]; turn < members.size() && hosts[members[turn]].slots > lane)
                        ranks.push_back(members[turn]);
        return ranks;
    }
    for (size_t h = 0; h < hosts.size(); ++h)
        ranks.insert(ranks.end(), static_cast<size_t>(hosts[h].slots), h);
    if (placement == "block")
        return ranks;
    uint32_t seed = 1;
    if (placement.starts_with("shuffled:"))
        seed = static_cast<uint32_t>(whole(placement.substr(9)));
    if ((placement != "shuffled" && !placement.starts_with("shuffled:")) || seed == UINT32_MAX)
        throw wrong_word("'" + placement + "' is no placement: write block, roundrobin, shuffled or shuffled:SEED");
    std::mt19937 source(seed);
    for (size_t i = ranks.size(); i > 1; --i)       // std::shuffle differs between libraries
        std::swap(ranks[i - 1], ranks[source() % i]);
    return ranks;
}

cluster::cluster(const cluster_words &words) : params_(parameters_of(words))
{
    const std::string map_file = params_.values().cluster_map;
    hosts_ = hosts_of(words, map_file);
    for (const host &h : hosts_)
        if (h.site.empty())
            throw wrong_word("coll/wan would leave this job alone: of the host " + h.name + " no site is known: "
                             + h.note + " (" + map_file + ")\nAdd it to the map, or a line 'default SITE'.");
    ranks_ = ranks_of(hosts_, words.placement);
    std::vector<wan_peer_t> peers;
    peers.reserve(ranks_.size());
    for (size_t h : ranks_)
        peers.push_back({hosts_[h].site.c_str(), h, 0});
    wan_comm *opened = nullptr;
    wan_refusal_t refusal;
    const int code = wan_comm_open(&params_.values(), peers.data(), static_cast<int>(peers.size()), 0, &opened, &refusal);
    comm_.reset(opened);
    if (code == WAN_DECLINED)
        throw wrong_word("coll/wan would leave this job alone: " + std::string(wan_reason_text(refusal.reason))
                         + "\nA site is what the first two parts of a name say: see 'Telling it the sites' in README.");
    if (code != WAN_OK)
        throw std::runtime_error("out of memory");
    links_tell(words);
}

void cluster::links_tell(const cluster_words &words)
{
    const wan::fact_vector kept = comm_->links.learned;       // by coll_wan_links_file
    const auto time = [&](wan::fact::place at, const std::string &text, const char *option) {
        if (!text.empty())
            comm_->links.learned[at] = latency_of(text, option);
    };
    time(wan::fact::inside_ns, words.inside, "--inside");
    time(wan::fact::message_ns, words.message, "--message");
    time(wan::fact::farthest_ns, words.latency, "--latency");
    time(wan::fact::step_ns, words.step, "--step");
    if (!words.nic.empty())
        comm_->links.learned[wan::fact::byte_ps] = std::max<int64_t>(1, 1'000'000'000'000 / rate_of(words.nic, "--nic"));
    if (!words.eager.empty())
        comm_->links.machine.eager_bytes = static_cast<int64_t>(size_parse(words.eager, "--eager"));
    comm_->links.learn();
    wan::facts &f = comm_->links.known.back();
    if (!words.burst.empty())
        f.burst_bytes = static_cast<int64_t>(size_parse(words.burst, "--burst"));
    if (!words.uplink.empty()) {
        f.uplink_ps.resize(static_cast<size_t>(f.sites));
        for (int64_t &ps : f.uplink_ps)
            if (ps == 0)        // the map says more
                ps = std::max<int64_t>(1, 1'000'000'000'000 / rate_of(words.uplink, "--uplink"));
    }
    f.settle();

    const auto assume = [&](bool yes, const char *what) {
        if (yes)
            assumed_ += (assumed_.empty() ? "" : ", ") + std::string(what);
    };
    wan::link_hints hints;
    wan::input_error ignored;       // read once already
    if (const std::string file = params_.values().cluster_map; !file.empty())
        (void)wan::link_hints_read(file, hints, ignored);
    bool all_pairs = true, any_nic = false;
    for (uint32_t a = 0; a < static_cast<uint32_t>(f.sites); ++a) {
        any_nic |= hints.nic_bytes_per_s(topo().site_name(wan::site_id{a})) > 0;
        for (uint32_t b = 0; b < a && all_pairs; ++b) {
            const wan::link_hint *h = hints.link(topo().site_name(wan::site_id{a}), topo().site_name(wan::site_id{b}));
            all_pairs = h && h->latency_ns > 0;
        }
    }
    const auto told = [&](const std::string &word, wan::fact::place at) { return !word.empty() || kept[at] > 0; };
    assume(!told(words.latency, wan::fact::farthest_ns) && !all_pairs, "latency between sites (--latency)");
    assume(!told(words.nic, wan::fact::byte_ps) && !any_nic, "rate of an interface (--nic)");
    assume(!told(words.inside, wan::fact::inside_ns) || !told(words.message, wan::fact::message_ns) || !told(words.step, wan::fact::step_ns),
           "times inside a site (--inside, --message, --step)");
}

std::string cluster::describe() const
{
    std::string text(static_cast<size_t>(wan_comm_describe(comm_.get(), nullptr, 0)) + 1, '\0');
    wan_comm_describe(comm_.get(), text.data(), text.size());
    text.pop_back();
    if (!assumed_.empty())
        text += "\nassumed, since nobody told: " + assumed_;
    for (const std::string &t : params_.told())
        text += "\nwith " + t;
    if (const std::string file = comm_->links.file; !file.empty() && !comm_->links.from_file())
        text += "\n" + file + " has nothing of these sites";
    if (const std::string first = outranked(); !first.empty())
        text += "\n" + first + ": blocking calls are Open MPI's own";
    else if (params_.values().priority <= 35)
        text += "\nin Open MPI 5.0, han has priority 35: blocking calls that it knows are its own";
    return text;
}

std::string cluster::outranked() const
{
    // Of 4.1.4 and 5.0.7, as they are shipped; who of equals comes first is not said anywhere.
    constexpr int64_t tuned = 30;
    const int64_t ours = params_.values().priority;
    return ours > tuned ? "" : "coll_wan_priority is " + std::to_string(ours) + ", not above tuned's " + std::to_string(tuned);
}

wan::request cluster::request_of(wan_collective_t collective, uint64_t bytes, int root, bool commutative) const
{
    return wan::request_of(topo(), call_of(collective, bytes, root, commutative));
}

wan_call_t cluster::call_of(wan_collective_t collective, uint64_t bytes, int root, bool commutative) const
{
    const wan::collective_kind &kind = wan::kind_of(collective);
    if (root < 0 || root >= topo().size())
        throw wrong_word("--root: a rank from 0 to " + std::to_string(topo().size() - 1));
    wan_call_t call{};
    call.collective = collective;
    call.root = kind.root ? root : 0;
    call.element_bytes = kind.operation && bytes % 8 == 0 && bytes ? 8 : 1;
    call.count = collective == WAN_BARRIER ? 1 : bytes / call.element_bytes;
    call.extent = static_cast<ptrdiff_t>(call.element_bytes);
    call.commutative = commutative || !kind.operation;
    return call;
}

} // namespace info
