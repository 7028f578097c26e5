# The core: C++ without Open MPI. A new algorithm adds its file here and a line
# in algo/registry.cpp.
# SPDX-License-Identifier: BSD-3-Clause

core_sources = \
	ompi/mca/coll/wan/core/algo/allgather_counterpart.cpp \
	ompi/mca/coll/wan/core/algo/allgather_direct.cpp \
	ompi/mca/coll/wan/core/algo/allgather_leaders.cpp \
	ompi/mca/coll/wan/core/algo/allreduce_flat.cpp \
	ompi/mca/coll/wan/core/algo/allreduce_leaders.cpp \
	ompi/mca/coll/wan/core/algo/allreduce_ordered.cpp \
	ompi/mca/coll/wan/core/algo/allreduce_runs.cpp \
	ompi/mca/coll/wan/core/algo/allreduce_rabenseifner.cpp \
	ompi/mca/coll/wan/core/algo/allreduce_twotier.cpp \
	ompi/mca/coll/wan/core/algo/barrier_leaders.cpp \
	ompi/mca/coll/wan/core/algo/alltoall_bundled.cpp \
	ompi/mca/coll/wan/core/algo/alltoall_direct.cpp \
	ompi/mca/coll/wan/core/algo/bcast_chain.cpp \
	ompi/mca/coll/wan/core/algo/bcast_farfirst.cpp \
	ompi/mca/coll/wan/core/algo/bcast_tree.cpp \
	ompi/mca/coll/wan/core/algo/bcast_vandegeijn.cpp \
	ompi/mca/coll/wan/core/algo/bundles.hpp \
	ompi/mca/coll/wan/core/algo/fold.hpp \
	ompi/mca/coll/wan/core/algo/gather_bundled.cpp \
	ompi/mca/coll/wan/core/algo/gather_direct.cpp \
	ompi/mca/coll/wan/core/algo/host_combiner.hpp \
	ompi/mca/coll/wan/core/algo/parts.cpp \
	ompi/mca/coll/wan/core/algo/parts.hpp \
	ompi/mca/coll/wan/core/algo/reduce_chain.cpp \
	ompi/mca/coll/wan/core/algo/reduce_flat.cpp \
	ompi/mca/coll/wan/core/algo/reduce_leaders.cpp \
	ompi/mca/coll/wan/core/algo/reduce_rabenseifner.cpp \
	ompi/mca/coll/wan/core/algo/reduce_runs.cpp \
	ompi/mca/coll/wan/core/algo/reduce_twotier.cpp \
	ompi/mca/coll/wan/core/algo/registry.cpp \
	ompi/mca/coll/wan/core/algo/registry.hpp \
	ompi/mca/coll/wan/core/algo/runs.hpp \
	ompi/mca/coll/wan/core/algo/scan_chain.cpp \
	ompi/mca/coll/wan/core/algo/scan_leaders.cpp \
	ompi/mca/coll/wan/core/algo/scan_runs.cpp \
	ompi/mca/coll/wan/core/algo/scatter_bundled.cpp \
	ompi/mca/coll/wan/core/algo/scatter_direct.cpp \
	ompi/mca/coll/wan/core/algo/reduce_scatter_by_sites.cpp \
	ompi/mca/coll/wan/core/algo/reduce_scatter_by_sites.hpp \
	ompi/mca/coll/wan/core/algo/reduce_scatter_direct.cpp \
	ompi/mca/coll/wan/core/algo/reduce_scatter_pairwise.cpp \
	ompi/mca/coll/wan/core/algo/reduce_scatter_runs.cpp \
	ompi/mca/coll/wan/core/algo/reduce_scatter_sites.cpp \
	ompi/mca/coll/wan/core/algo/reduce_scatter_swap.cpp \
	ompi/mca/coll/wan/core/algo/shares.cpp \
	ompi/mca/coll/wan/core/algo/shares.hpp \
	ompi/mca/coll/wan/core/algo/sites.hpp \
	ompi/mca/coll/wan/core/algo/turns.hpp \
	ompi/mca/coll/wan/core/collective.hpp \
	ompi/mca/coll/wan/core/comm.cpp \
	ompi/mca/coll/wan/core/comm.hpp \
	ompi/mca/coll/wan/core/core.cpp \
	ompi/mca/coll/wan/core/exec/engine.cpp \
	ompi/mca/coll/wan/core/exec/engine.hpp \
	ompi/mca/coll/wan/core/exec/memory_port.cpp \
	ompi/mca/coll/wan/core/exec/memory_port.hpp \
	ompi/mca/coll/wan/core/guarded.hpp \
	ompi/mca/coll/wan/core/knobs.cpp \
	ompi/mca/coll/wan/core/knobs.hpp \
	ompi/mca/coll/wan/core/model/cost.hpp \
	ompi/mca/coll/wan/core/model/facts.hpp \
	ompi/mca/coll/wan/core/model/probe.cpp \
	ompi/mca/coll/wan/core/model/probe.hpp \
	ompi/mca/coll/wan/core/plan/plan.cpp \
	ompi/mca/coll/wan/core/plan/plan.hpp \
	ompi/mca/coll/wan/core/plan/planner.cpp \
	ompi/mca/coll/wan/core/plan/planner.hpp \
	ompi/mca/coll/wan/core/plan/shared_ways.cpp \
	ompi/mca/coll/wan/core/plan/shared_ways.hpp \
	ompi/mca/coll/wan/core/measure/discovery.cpp \
	ompi/mca/coll/wan/core/measure/discovery.hpp \
	ompi/mca/coll/wan/core/measure/entry.cpp \
	ompi/mca/coll/wan/core/reasons.cpp \
	ompi/mca/coll/wan/core/sched/builder.cpp \
	ompi/mca/coll/wan/core/sched/builder.hpp \
	ompi/mca/coll/wan/core/sched/schedule.cpp \
	ompi/mca/coll/wan/core/sched/schedule.hpp \
	ompi/mca/coll/wan/core/sched/terms.hpp \
	ompi/mca/coll/wan/core/sched/verifier.cpp \
	ompi/mca/coll/wan/core/sched/verifier.hpp \
	ompi/mca/coll/wan/core/topo/card.cpp \
	ompi/mca/coll/wan/core/topo/cluster_map.cpp \
	ompi/mca/coll/wan/core/topo/cluster_map.hpp \
	ompi/mca/coll/wan/core/topo/domain.cpp \
	ompi/mca/coll/wan/core/topo/hostlist.cpp \
	ompi/mca/coll/wan/core/topo/hostlist.hpp \
	ompi/mca/coll/wan/core/topo/site_name.cpp \
	ompi/mca/coll/wan/core/topo/site_name.hpp \
	ompi/mca/coll/wan/core/topo/site_resolve.cpp \
	ompi/mca/coll/wan/core/topo/site_resolve.hpp \
	ompi/mca/coll/wan/core/topo/slurm_topology.cpp \
	ompi/mca/coll/wan/core/topo/slurm_topology.hpp \
	ompi/mca/coll/wan/core/topo/topology.cpp \
	ompi/mca/coll/wan/core/topo/topology.hpp \
	ompi/mca/coll/wan/core/vectors.cpp \
	ompi/mca/coll/wan/core/vectors.hpp

# Needs hwloc; tested, but not yet part of the library.
locality_sources = \
	ompi/mca/coll/wan/core/topo/locality.cpp \
	ompi/mca/coll/wan/core/topo/locality.hpp
