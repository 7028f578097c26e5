# The bench: one MPI program that measures, Python that plans, compares, plots.
# SPDX-License-Identifier: BSD-3-Clause

if HAVE_BENCH
tool_programs += contrib/bench/wanbench_worker
endif
contrib_bench_wanbench_worker_SOURCES = \
	contrib/bench/wanbench_worker.cpp \
	contrib/bench/wb_calibrate.cpp \
	contrib/bench/wb_calibrate.hpp \
	contrib/bench/wb_clock.cpp \
	contrib/bench/wb_clock.hpp \
	contrib/bench/wb_control.cpp \
	contrib/bench/wb_control.hpp \
	contrib/bench/wb_counters.cpp \
	contrib/bench/wb_counters.hpp \
	contrib/bench/wb_emulator.cpp \
	contrib/bench/wb_emulator.hpp \
	contrib/bench/wb_operation.cpp \
	contrib/bench/wb_operation.hpp \
	contrib/bench/wb_pattern.hpp \
	contrib/bench/wb_point.cpp \
	contrib/bench/wb_point.hpp
# MPI's C interface only: the C++ bindings are gone from the standard.
contrib_bench_wanbench_worker_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
# Filling and checking buffers at memory speed needs vector instructions.
contrib_bench_wanbench_worker_CXXFLAGS = $(AM_CXXFLAGS) -ftree-vectorize
contrib_bench_wanbench_worker_LDADD = $(OMPI_LIBS)

# btl/udp beside btl/tcp.
tool_programs += contrib/bench/udpbench_worker
contrib_bench_udpbench_worker_SOURCES = \
	contrib/bench/udpbench_worker.cpp \
	contrib/bench/ub_all.cpp \
	contrib/bench/ub_rounds.cpp \
	contrib/bench/ub_rounds.hpp \
	contrib/bench/ub_two.cpp
contrib_bench_udpbench_worker_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
contrib_bench_udpbench_worker_LDADD = $(OMPI_LIBS)

# What a seal costs, beside libsodium's.
if HAVE_UDP
tool_programs += contrib/bench/seal_bench
endif
contrib_bench_seal_bench_SOURCES = contrib/bench/seal_bench.cpp
contrib_bench_seal_bench_CPPFLAGS = $(udp_cppflags)
contrib_bench_seal_bench_LDADD = libudp_core.la

# What a call costs that coll/wan hands on.  Looks into the plugin's module.
tool_programs += contrib/bench/pass_bench
contrib_bench_pass_bench_SOURCES = contrib/bench/pass_bench.c
contrib_bench_pass_bench_CPPFLAGS = $(mca_coll_wan_la_CPPFLAGS)
contrib_bench_pass_bench_LDADD = $(OMPI_LIBS)

# What calls of a program take, the first ones included.
tool_programs += contrib/bench/calls_worker
contrib_bench_calls_worker_SOURCES = contrib/bench/calls_worker.cpp
contrib_bench_calls_worker_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
contrib_bench_calls_worker_LDADD = $(OMPI_LIBS)

# Calls while processes come and go, and links change.
tool_programs += contrib/bench/changes_worker
contrib_bench_changes_worker_SOURCES = contrib/bench/changes_worker.cpp
contrib_bench_changes_worker_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
contrib_bench_changes_worker_CXXFLAGS = $(AM_CXXFLAGS) -ftree-vectorize
contrib_bench_changes_worker_LDADD = $(OMPI_LIBS)

EXTRA_DIST += \
	contrib/bench/README.md \
	contrib/bench/changes \
	contrib/bench/figure4 \
	contrib/bench/first_calls \
	contrib/bench/replay \
	contrib/bench/ways \
	contrib/bench/results \
	contrib/bench/udpbench \
	contrib/bench/wanbench \
	contrib/bench/wanbenchlib/__init__.py \
	contrib/bench/wanbenchlib/doctor.py \
	contrib/bench/wanbenchlib/jobs.py \
	contrib/bench/wanbenchlib/plots.py \
	contrib/bench/wanbenchlib/records.py \
	contrib/bench/wanbenchlib/replays.py \
	contrib/bench/wanbenchlib/runner.py \
	contrib/bench/wanbenchlib/settings.py \
	contrib/bench/wanbenchlib/sizes.py \
	contrib/bench/wanbenchlib/statistics.py \
	contrib/bench/wanbenchlib/table.py \
	contrib/bench/wanbenchlib/traces.py \
	contrib/completion \
	contrib/demo

# Its part without MPI; the rest with WAN_BUILD set, see there.
dist_check_SCRIPTS += test/bench/bench_test.py test/completion
TESTS += test/bench/bench_test.py test/completion
