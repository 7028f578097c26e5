# The simulator: the core over MPI's public calls, on SimGrid's SMPI (optional:
# `make tools` leaves it out without SimGrid), and under mpirun to check the port.
# SPDX-License-Identifier: BSD-3-Clause

sim_sources = \
	contrib/sim/sim_common.hpp \
	contrib/sim/sim_operation.cpp \
	contrib/sim/sim_operation.hpp \
	contrib/sim/sim_port.cpp \
	contrib/sim/sim_port.hpp \
	contrib/sim/sim_runner.cpp \
	contrib/sim/sim_runner.hpp \
	contrib/sim/sim_tuning.cpp \
	contrib/sim/sim_tuning.hpp \
	contrib/sim/sim_worker.cpp \
	contrib/bench/wb_operation.cpp \
	contrib/bench/wb_operation.hpp

# smpirun loads shared objects: no program of Automake's.  libwan_core.la is a
# convenience library, so that its objects are fit for that.
sim_flags = -std=c++20 -O2 -Wall -Wextra -DSMPI_NO_OVERRIDE_MALLOC $(AM_CPPFLAGS)
contrib/sim/wansim_worker.so: $(sim_sources) contrib/bench/wb_pattern.hpp libwan_core.la
	@$(MKDIR_P) contrib/sim
	$(AM_V_CXX)$(SMPICXX) $(sim_flags) -o $@ \
	    $(top_srcdir)/contrib/sim/sim_operation.cpp $(top_srcdir)/contrib/sim/sim_port.cpp \
	    $(top_srcdir)/contrib/sim/sim_runner.cpp $(top_srcdir)/contrib/sim/sim_tuning.cpp $(top_srcdir)/contrib/sim/sim_worker.cpp \
	    $(top_srcdir)/contrib/bench/wb_operation.cpp .libs/libwan_core.a
contrib/sim/sim_platform.so: contrib/sim/sim_platform.cpp
	@$(MKDIR_P) contrib/sim
	$(AM_V_CXX)$(CXX) $(CXXFLAGS) -std=c++20 $(SIMGRID_CFLAGS) -shared -fPIC -o $@ \
	    $(top_srcdir)/contrib/sim/sim_platform.cpp $(SIMGRID_LIBS)
# Adaptive trees, on SimGrid without MPI.
trees_sources = \
	contrib/sim/sim_engine.hpp \
	contrib/sim/trees_network.cpp \
	contrib/sim/trees_network.hpp \
	contrib/sim/trees_process.cpp \
	contrib/sim/trees_process.hpp \
	contrib/sim/trees_sim.cpp \
	contrib/sim/trees_static.cpp \
	contrib/sim/trees_static.hpp
# All with all on a fat tree, on SimGrid without MPI.
alltoall_sources = \
	contrib/sim/sim_engine.hpp \
	contrib/sim/alltoall_network.cpp \
	contrib/sim/alltoall_network.hpp \
	contrib/sim/alltoall_rank.cpp \
	contrib/sim/alltoall_rank.hpp \
	contrib/sim/alltoall_sim.cpp
# Sites found by measuring, on SimGrid without MPI.
discovery_sources = \
	contrib/sim/discovery_sim.cpp \
	contrib/sim/sim_engine.hpp \
	contrib/sim/trees_network.cpp \
	contrib/sim/trees_network.hpp
if HAVE_SIMGRID
if HAVE_BENCH
tool_programs += contrib/sim/wandiscovery_sim
contrib_sim_wandiscovery_sim_SOURCES = $(discovery_sources)
contrib_sim_wandiscovery_sim_CPPFLAGS = $(AM_CPPFLAGS) $(SIMGRID_CFLAGS)
contrib_sim_wandiscovery_sim_LDADD = libwan_core.la $(SIMGRID_LIBS)
tool_programs += contrib/sim/wanalltoall_sim
contrib_sim_wanalltoall_sim_SOURCES = $(alltoall_sources)
contrib_sim_wanalltoall_sim_CPPFLAGS = $(AM_CPPFLAGS) $(contention_cppflags) $(SIMGRID_CFLAGS)
contrib_sim_wanalltoall_sim_LDADD = libwan_contention.la libwan_core.la $(SIMGRID_LIBS)
tool_programs += contrib/sim/wantrees_sim
contrib_sim_wantrees_sim_SOURCES = $(trees_sources)
contrib_sim_wantrees_sim_CPPFLAGS = $(AM_CPPFLAGS) $(SIMGRID_CFLAGS)
contrib_sim_wantrees_sim_LDADD = libwan_core.la $(SIMGRID_LIBS)
endif
tool_files += contrib/sim/wansim_worker.so contrib/sim/sim_platform.so
endif

# The same over the installed MPI, for test/sim/sim_test.
contrib_sim_wansim_mpi_SOURCES = $(sim_sources)
contrib_sim_wansim_mpi_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
contrib_sim_wansim_mpi_LDADD = libwan_core.la $(OMPI_LIBS)
mpi_test_programs += contrib/sim/wansim_mpi

EXTRA_DIST += \
	contrib/sim/README.md \
	contrib/sim/results \
	contrib/sim/sim_platform.cpp \
	contrib/sim/wansim \
	contrib/sim/wansimlib/__init__.py \
	contrib/sim/wansimlib/alltoall.py \
	contrib/sim/wansimlib/discovery.py \
	contrib/sim/wansimlib/jobs.py \
	contrib/sim/wansimlib/network.py \
	contrib/sim/wansimlib/oracle.py \
	contrib/sim/wansimlib/plots.py \
	contrib/sim/wansimlib/table.py \
	contrib/sim/traces \
	contrib/sim/wansimlib/trace.py \
	contrib/sim/wansimlib/trees.py \
	test/sim/sim_test
