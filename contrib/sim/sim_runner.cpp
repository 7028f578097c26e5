/*
 * See sim_runner.hpp.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sim_runner.hpp"

#include "sim_common.hpp"
#include "tune/candidates.hpp"
#include "vectors.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>

namespace sim {

namespace {

std::string site_of(const std::string &host)
{
    return host.substr(host.rfind('.') + 1);
}

} // namespace

wan::topology placement::topology() const
{
    std::vector<std::string> sites;
    sites.reserve(hosts.size());
    std::vector<wan::place> places;
    for (const std::string &host : hosts) {
        sites.push_back(site_of(host));
        places.push_back({.site = sites.back(), .node = std::hash<std::string>{}(host)});
    }
    return wan::topology(places);
}

runner::runner(MPI_Comm comm, const placement &where) : comm_(comm), topo_(where.topology()), port_(comm, topo_)
{
    MPI_Comm_rank(comm, &me_);
}

const wan::fact_vector &runner::measure()
{
    wan::probe probe(topo_, me_);
    std::vector<std::byte> buffer;
    while (auto step = probe.next()) {
        const size_t bytes = probe.message_bytes();
        buffer.resize(bytes);
        port_.begin({}, false);
        wan::engine engine(std::make_shared<wan::program>(std::move(*step)),
                           {.in = buffer.data(), .out = buffer.data(), .count = bytes, .segment = bytes}, port_.table(), &port_);
        const double began = port::now_s();
        if (port_.run(engine) != WAN_DONE)
            throw std::runtime_error("the links could not be measured");
        probe.record(static_cast<int64_t>((port::now_s() - began) * 1e9));
    }
    const wan::fact_vector mine = probe.measured();
    std::vector<int64_t> all(mine.begin(), mine.end());
    combine(all, comm_, [](int64_t a, int64_t b) { return std::max(a, b); });
    tell_all(all.data(), all.size() * sizeof(all[0]), comm_);
    std::copy(all.begin(), all.end(), known_.begin());
    learn(known_);
    return known_;
}

void runner::learn(const wan::fact_vector &known)
{
    known_ = known;
    facts_ = wan::facts_from(topo_, known_);
    facts_.settle();
}

std::optional<runner::prepared> runner::prepare(const operation &what, const wan::wishes &wish, const std::optional<wan::manner> &how)
{
    const wan_call_t call = what.call();
    const wan::request request = wan::request_of(topo_, call);
    struct {
        char text[512] = "";
        int64_t predicted_ns = 0;
    } told;
    if (me_ == 0)
        if (const auto chosen = how ? wan::choose(topo_, facts_, wish, request, *how) : wan::choose(topo_, facts_, wish, request)) {
            wan::print(*chosen).copy(told.text, sizeof(told.text) - 1);
            told.predicted_ns = chosen->predicted_ns;
        }
    tell_all(&told, sizeof(told), comm_);
    auto plan = wan::parse_plan(told.text);
    if (!plan)
        return std::nullopt;
    plan->predicted_ns = told.predicted_ns;

    auto [where, scattered, far_block_bytes] = wan::bind_call(topo_, me_, call);
    where.segment = std::max<size_t>(1, plan->segment_bytes / request.element_bytes);
    where.window = plan->window;
    auto code = std::make_shared<wan::program>(wan::build_schedule(topo_, *plan, me_, scattered));
    return prepared{*plan, std::make_unique<wan::engine>(code, std::move(where), port_.table(), &port_)};
}

void runner::run(prepared &call)
{
    if (port_.run(*call.engine) != WAN_DONE)
        throw std::runtime_error("a collective failed: " + call.engine->describe());
}

} // namespace sim
