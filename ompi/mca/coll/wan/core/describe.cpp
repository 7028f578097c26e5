/*
 * The C boundary of what people are told of a communicator and of its calls (wan_core.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "adaptive/run.hpp"
#include "comm.hpp"
#include "graph/run.hpp"
#include "guarded.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace {

using wan::guarded;

int copy_text(const std::string &s, char *text, size_t size)
{
    return std::snprintf(text, size, "%s", s.c_str());
}

/** Mb/s of so many ps a byte: slow ones with three digits. */
std::string mbit_words(int64_t ps)
{
    char text[32];
    const double mbit = 8e6 / static_cast<double>(std::max<int64_t>(1, ps));
    std::snprintf(text, sizeof text, mbit < 10 ? "%.3g" : "%.0f", mbit);
    return text;
}

/** A list for people, of which so many are written; of few more all are. */
class short_list {
public:
    short_list(std::ostream &s, int size, const char *between, const char *before = "") : s_(s), size_(size), between_(between), before_(before) {}
    /** Whether the next one is to be written, and what comes before it. */
    bool next()
    {
        const bool shown = seen_ < most || size_ <= most + 4;
        if (shown)
            s_ << (seen_ ? between_ : before_);
        ++seen_;
        return shown;
    }
    void end(const char *what)
    {
        if (seen_ > most && size_ > most + 4)
            s_ << between_ << "and " << seen_ - most << " more" << what;
    }

private:
    static constexpr int most = 12;
    std::ostream &s_;
    int size_, seen_ = 0;
    const char *between_, *before_;
};

/** What is known of the levels inside sites: by how many of them two hosts share. */
std::string levels_words(const wan::facts &f)
{
    std::string all;
    for (size_t shared = 0; shared < f.level_ns.size(); ++shared)
        if (f.level_ns[shared] > 0)
            all += (all.empty() ? " (levels shared: " : ", ") + std::to_string(shared) + ": " + std::to_string(f.level_ns[shared] / 1000) + " us";
    if (all.empty())
        return "";
    return all + (f.level_byte_ps > 0 ? "; " + mbit_words(f.level_byte_ps) + " Mb/s a connection" : "") + ")";
}

std::string sites_words(const wan::topology &t)
{
    std::ostringstream s;
    const auto counted = [](int n, const char *what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); };
    s << counted(t.site_count(), "site") << ": ";
    short_list sites(s, t.site_count(), ", ");
    for (int i = 0; i < t.site_count(); ++i) {
        const wan::site_id site{static_cast<uint32_t>(i)};
        if (sites.next())
            s << t.site_name(site) << " (" << counted(t.node_count(site), "host") << ", " << counted(t.rank_count(site), "rank") << ")";
    }
    sites.end("");
    return s.str();
}

/** In a line of their own. */
std::string links_words(const wan::topology &t, const wan::facts &f)
{
    std::ostringstream s;
    const auto name = [&](int site) { return t.site_name(wan::site_id{static_cast<uint32_t>(site)}); };
    s << (f.assumed ? "\nassumed: " : "\n") << "farthest " << f.farthest_ns(wan::site_id{0}) / 1000 << " us, inside " << f.lan_ns / 1000
      << " us one way" << levels_words(f) << ", " << mbit_words(f.byte_ps) << " Mb/s a host (bursts of " << f.burst_bytes << " bytes), "
      << f.message_ns / 1000 << " us a message, " << f.step_ns / 1000 << " us a step";
    if (f.eager_bytes != wan::facts{}.eager_bytes)
        s << "; eager limit " << f.eager_bytes << " bytes";
    if (f.copy_ps != wan::facts{}.copy_ps || f.reduce_ps != wan::facts{}.reduce_ps)
        s << "; copying " << f.copy_ps << ", combining " << f.reduce_ps << " ps a byte";
    const auto told = [](const auto &all) { return static_cast<int>(std::count_if(all.begin(), all.end(), [](int64_t ps) { return ps > 0; })); };
    short_list uplinks(s, told(f.uplink_ps), "; ", "; ");
    for (size_t i = 0; i < f.uplink_ps.size(); ++i)
        if (f.uplink_ps[i] > 0 && uplinks.next())
            s << "uplink of " << name(static_cast<int>(i)) << ' ' << mbit_words(f.uplink_ps[i]) << " Mb/s";
    uplinks.end(" uplinks");
    short_list links(s, told(f.link_ps) / 2, "; ", "; ");
    for (int a = 0; a < f.sites; ++a)
        for (int b = a + 1; b < f.sites; ++b)
            if (const int64_t ps = f.pair(f.link_ps, a, b); ps > 0 && links.next())
                s << "link " << name(a) << ' ' << name(b) << ' ' << mbit_words(ps) << " Mb/s"
                  << (f.pair(f.flow_ps, a, b) > 0 ? ", " + mbit_words(f.pair(f.flow_ps, a, b)) + " a connection" : "");
    links.end(" links");
    return s.str();
}

} // namespace

extern "C" {

int wan_comm_explain(const wan_comm_t *comm, char *text, size_t size)
{
    std::string s;
    const int code = guarded([&]() -> int {
        s = comm->explain();
        return WAN_OK;
    });
    return copy_text(code == WAN_OK ? s : "out of memory", text, size);
}

int wan_comm_describe(const wan_comm_t *comm, char *text, size_t size)
{
    std::string s;
    const int code = guarded([&]() -> int {
        s = sites_words(comm->topo);
        if (!comm->links.known.empty())
            s += links_words(comm->topo, comm->links.known.back());
        return WAN_OK;
    });
    return copy_text(code == WAN_OK ? s : "out of memory", text, size);
}

int wan_run_describe(const wan_run_t *run, char *text, size_t size)
{
    std::string s = "out of memory";
    guarded([&]() -> int {
        s = !run->engine ? wan::trees_describe(*run)
            : run->by_edges ? wan::exchange_describe(*run)
            : run->plan     ? wan::print(*run->plan) + ", predicted " + std::to_string(run->plan->predicted_ns / 1000) + " us"
                            : "measuring the links";
        return WAN_OK;
    });
    return copy_text(s, text, size);
}

} // extern "C"
