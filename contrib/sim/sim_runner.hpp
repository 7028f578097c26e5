/*
 * What coll/wan does with a call, without Open MPI: measure the links once by the
 * core's own probe, plan on rank 0 and tell the others the plan as text, build
 * this rank's schedule, bind it, run it over the port.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SIM_RUNNER_HPP
#define SIM_RUNNER_HPP

#include "model/probe.hpp"
#include "plan/planner.hpp"
#include "sim_operation.hpp"
#include "sim_port.hpp"
#include "tune/manner.hpp"

#include <memory>
#include <optional>
#include <string>

namespace sim {

/** Hosts of all ranks, by name; the site is what follows the last dot. */
struct placement {
    std::vector<std::string> hosts;
    wan::topology topology() const;
};

class runner {
public:
    runner(MPI_Comm comm, const placement &where);

    const wan::topology &topology() const { return topo_; }
    sim::port &port() { return port_; }
    const wan::facts &facts() const { return facts_; }

    /** Measures the links, with all ranks; what all know then.  Throws std::runtime_error. */
    const wan::fact_vector &measure();
    /** What an earlier measurement on such links found, instead. */
    void learn(const wan::fact_vector &known);

    /** What a call is run by: made before the clock runs. */
    struct prepared {
        wan::plan plan;
        std::unique_ptr<wan::engine> engine;
    };
    /** The same on all ranks, all of which call it; nullopt: nothing serves the call.  `how`: nothing, or an algorithm's. */
    std::optional<prepared> prepare(const operation &what, const wan::wishes &wish, const std::optional<wan::manner> &how = {});
    /** Throws std::runtime_error. */
    void run(prepared &call);

private:
    MPI_Comm comm_;
    int me_ = 0;
    wan::topology topo_;
    sim::port port_;
    wan::fact_vector known_{};
    wan::facts facts_;
};

} // namespace sim

#endif
