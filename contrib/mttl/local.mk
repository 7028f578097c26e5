# The mttl library: headers only.  And the NAS benchmarks CG and IS on it and
# on plain MPI, with a micro-benchmark: `make mttl-programs`.
# SPDX-License-Identifier: BSD-3-Clause

mttldir = $(includedir)/mttl
mttl_headers = \
	contrib/mttl/mttl/awaited.hpp \
	contrib/mttl/mttl/context.hpp \
	contrib/mttl/mttl/contributions.hpp \
	contrib/mttl/mttl/exception.hpp \
	contrib/mttl/mttl/future.hpp \
	contrib/mttl/mttl/global_ptr.hpp \
	contrib/mttl/mttl/group.hpp \
	contrib/mttl/mttl/inbox.hpp \
	contrib/mttl/mttl/invoke.hpp \
	contrib/mttl/mttl/landing.hpp \
	contrib/mttl/mttl/memory_job.hpp \
	contrib/mttl/mttl/memory_port.hpp \
	contrib/mttl/mttl/mpi_collectives.hpp \
	contrib/mttl/mttl/mpi_port.hpp \
	contrib/mttl/mttl/mpi_run.hpp \
	contrib/mttl/mttl/mttl.hpp \
	contrib/mttl/mttl/node.hpp \
	contrib/mttl/mttl/outbox.hpp \
	contrib/mttl/mttl/overflow.hpp \
	contrib/mttl/mttl/port.hpp \
	contrib/mttl/mttl/registry.hpp \
	contrib/mttl/mttl/runtime.hpp \
	contrib/mttl/mttl/serial.hpp \
	contrib/mttl/mttl/stack.hpp \
	contrib/mttl/mttl/sync.hpp \
	contrib/mttl/mttl/thread.hpp \
	contrib/mttl/mttl/virtual.hpp \
	contrib/mttl/mttl/virtual_ptr.hpp \
	contrib/mttl/mttl/virtual_space.hpp \
	contrib/mttl/mttl/wire.hpp

EXTRA_DIST += $(mttl_headers)
pkgconfigdir = $(libdir)/pkgconfig
# An administrator who installs a plugin asked for nothing in PREFIX.
if INSTALL_MTTL
mttl_HEADERS = $(mttl_headers)
nodist_pkgconfig_DATA = contrib/mttl/mttl.pc
endif
contrib/mttl/mttl.pc: contrib/mttl/mttl.pc.in Makefile
	@$(MKDIR_P) contrib/mttl
	$(AM_V_GEN)$(SED) -e 's|@includedir[@]|$(includedir)|' -e 's|@version[@]|$(PACKAGE_VERSION)|' $(top_srcdir)/contrib/mttl/mttl.pc.in >$@
CLEANFILES += contrib/mttl/mttl.pc
EXTRA_DIST += contrib/mttl/mttl.pc.in contrib/mttl/README.md contrib/mttl/REFERENCE.md contrib/mttl/npb/lines contrib/mttl/bench/sites

# Tried by test/mttl/examples.
mttl_examples = \
	contrib/mttl/examples/halo.cpp \
	contrib/mttl/examples/hash_table.cpp \
	contrib/mttl/examples/hello.cpp \
	contrib/mttl/examples/migration.cpp \
	contrib/mttl/examples/ring.cpp
EXTRA_DIST += $(mttl_examples)

mttl_programs = \
	contrib/mttl/bench/chase_mpi \
	contrib/mttl/bench/chase_mttl \
	contrib/mttl/bench/groups_mttl \
	contrib/mttl/bench/mttl_bench \
	contrib/mttl/bench/npb_bench \
	contrib/mttl/npb/cg_mpi \
	contrib/mttl/npb/cg_mttl \
	contrib/mttl/npb/is_mpi \
	contrib/mttl/npb/is_mttl
EXTRA_PROGRAMS += $(mttl_programs)
CLEANFILES += $(mttl_programs)
mttl-programs: $(mttl_programs)
.PHONY: mttl-programs

mttl_mpi_cppflags = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -I$(top_srcdir)/contrib/mttl

contrib_mttl_bench_chase_mpi_SOURCES = contrib/mttl/bench/chase_mpi.cpp contrib/mttl/bench/chase.hpp contrib/mttl/npb/clock.hpp contrib/mttl/npb/plain_mpi.hpp
contrib_mttl_bench_chase_mpi_CPPFLAGS = $(mttl_mpi_cppflags)
contrib_mttl_bench_chase_mpi_LDADD = $(OMPI_LIBS)
contrib_mttl_bench_chase_mttl_SOURCES = contrib/mttl/bench/chase_mttl.cpp contrib/mttl/bench/chase.hpp contrib/mttl/npb/clock.hpp
contrib_mttl_bench_chase_mttl_CPPFLAGS = $(mttl_mpi_cppflags)
contrib_mttl_bench_chase_mttl_LDADD = $(OMPI_LIBS)
contrib_mttl_bench_groups_mttl_SOURCES = contrib/mttl/bench/groups_mttl.cpp contrib/mttl/npb/clock.hpp
contrib_mttl_bench_groups_mttl_CPPFLAGS = $(mttl_mpi_cppflags)
contrib_mttl_bench_groups_mttl_LDADD = $(OMPI_LIBS)
contrib_mttl_bench_mttl_bench_SOURCES = contrib/mttl/bench/mttl_bench.cpp contrib/mttl/bench/spread.hpp
contrib_mttl_bench_mttl_bench_CPPFLAGS = $(mttl_mpi_cppflags)
contrib_mttl_bench_mttl_bench_LDADD = $(OMPI_LIBS)
contrib_mttl_bench_npb_bench_SOURCES = contrib/mttl/bench/npb_bench.cpp contrib/mttl/bench/spread.hpp
contrib_mttl_bench_npb_bench_CPPFLAGS = $(mttl_mpi_cppflags)
contrib_mttl_bench_npb_bench_LDADD = $(OMPI_LIBS)
contrib_mttl_npb_cg_mpi_SOURCES = contrib/mttl/npb/cg_mpi.cpp contrib/mttl/npb/cg.hpp contrib/mttl/npb/clock.hpp contrib/mttl/npb/npb.hpp contrib/mttl/npb/plain_mpi.hpp
contrib_mttl_npb_cg_mpi_CPPFLAGS = $(mttl_mpi_cppflags)
contrib_mttl_npb_cg_mpi_LDADD = $(OMPI_LIBS)
contrib_mttl_npb_cg_mttl_SOURCES = contrib/mttl/npb/cg_mttl.cpp contrib/mttl/npb/cg.hpp contrib/mttl/npb/clock.hpp contrib/mttl/npb/npb.hpp
contrib_mttl_npb_cg_mttl_CPPFLAGS = $(mttl_mpi_cppflags)
contrib_mttl_npb_cg_mttl_LDADD = $(OMPI_LIBS)
contrib_mttl_npb_is_mpi_SOURCES = contrib/mttl/npb/is_mpi.cpp contrib/mttl/npb/is.hpp contrib/mttl/npb/clock.hpp contrib/mttl/npb/npb.hpp contrib/mttl/npb/plain_mpi.hpp
contrib_mttl_npb_is_mpi_CPPFLAGS = $(mttl_mpi_cppflags)
contrib_mttl_npb_is_mpi_LDADD = $(OMPI_LIBS)
contrib_mttl_npb_is_mttl_SOURCES = contrib/mttl/npb/is_mttl.cpp contrib/mttl/npb/is.hpp contrib/mttl/npb/clock.hpp contrib/mttl/npb/npb.hpp
contrib_mttl_npb_is_mttl_CPPFLAGS = $(mttl_mpi_cppflags)
contrib_mttl_npb_is_mttl_LDADD = $(OMPI_LIBS)
