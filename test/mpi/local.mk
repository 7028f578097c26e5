# Integration tests: jobs under mpirun on this host, with pretended sites.
# SPDX-License-Identifier: BSD-3-Clause

mpi_test_programs = test/mpi/behind test/mpi/probe test/mpi/discover test/mpi/forgetful test/mpi/in_step test/mpi/long_run test/mpi/collectives_worker test/mpi/comings_worker test/mpi/counters_worker test/mpi/fuzz test/mpi/neighbors_worker test/mpi/report_worker test/mpi/requests_worker test/mpi/slots test/mpi/spawn_worker test/mpi/trees test/mpi/tuning_worker
# Needs the extensions of Open MPI with fault tolerance: made by the test that needs it.
EXTRA_PROGRAMS += test/mpi/kills_worker
mpi_test_plugins = test/mpi/other_series.so test/mpi/faults.so
EXTRA_PROGRAMS += $(mpi_test_programs)

# MPI's public interface only.
test_mpi_probe_SOURCES = test/mpi/counters.hpp test/mpi/probe.cpp
test_mpi_probe_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
test_mpi_probe_LDADD = $(OMPI_LIBS)

test_mpi_behind_SOURCES = test/mpi/behind.cpp
test_mpi_behind_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
test_mpi_behind_LDADD = $(OMPI_LIBS)

test_mpi_discover_SOURCES = test/mpi/counters.hpp test/mpi/discover.cpp
test_mpi_discover_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
test_mpi_discover_LDADD = $(OMPI_LIBS)

test_mpi_forgetful_SOURCES = test/mpi/forgetful.cpp
test_mpi_forgetful_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
test_mpi_forgetful_LDADD = $(OMPI_LIBS)

test_mpi_long_run_SOURCES = test/mpi/long_run.cpp test/mpi/persistent.hpp
test_mpi_long_run_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
test_mpi_long_run_LDADD = $(OMPI_LIBS)

test_mpi_trees_SOURCES = test/mpi/counters.hpp test/mpi/trees.cpp
test_mpi_trees_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
test_mpi_trees_LDADD = $(OMPI_LIBS)

test_mpi_counters_worker_SOURCES = test/mpi/counters_worker.cpp
test_mpi_counters_worker_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
test_mpi_counters_worker_LDADD = $(OMPI_LIBS)

test_mpi_spawn_worker_SOURCES = test/mpi/spawn_worker.cpp
test_mpi_spawn_worker_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
test_mpi_spawn_worker_LDADD = $(OMPI_LIBS)

test_mpi_comings_worker_SOURCES = test/mpi/comings_worker.cpp test/mpi/counters.hpp
test_mpi_comings_worker_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
test_mpi_comings_worker_LDADD = $(OMPI_LIBS)

test_mpi_kills_worker_SOURCES = test/mpi/counters.hpp test/mpi/deaf.hpp test/mpi/kills_worker.cpp test/mpi/persistent.hpp
test_mpi_kills_worker_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
test_mpi_kills_worker_LDADD = $(OMPI_LIBS)

test_mpi_report_worker_SOURCES = test/mpi/counters.hpp test/mpi/report_worker.cpp
test_mpi_report_worker_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
test_mpi_report_worker_LDADD = $(OMPI_LIBS)

test_mpi_in_step_SOURCES = test/mpi/in_step.c
test_mpi_in_step_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS)
test_mpi_in_step_LDADD = $(OMPI_LIBS) -ldl

test_mpi_slots_SOURCES = test/mpi/slots.c
test_mpi_slots_CPPFLAGS = $(mca_coll_wan_la_CPPFLAGS) -I$(top_srcdir)/ompi/mca/coll/wan
test_mpi_slots_LDADD = $(OMPI_LIBS) -ldl

test_mpi_collectives_worker_SOURCES = \
	test/mpi/coll_check.cpp \
	test/mpi/coll_check.hpp \
	test/mpi/coll_data.cpp \
	test/mpi/coll_groups.hpp \
	test/mpi/coll_knobs.c \
	test/mpi/coll_knobs.h \
	test/mpi/coll_order.cpp \
	test/mpi/collectives_worker.cpp \
	test/mpi/counters.hpp \
	test/mpi/pretended_sites.hpp
test_mpi_collectives_worker_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
test_mpi_collectives_worker_LDADD = $(OMPI_LIBS) -lpthread

test_mpi_fuzz_SOURCES = test/mpi/counters.hpp test/mpi/fuzz.cpp test/mpi/fuzz_served.hpp test/mpi/fuzz_types.hpp test/mpi/persistent.hpp test/mpi/pretended_sites.hpp
test_mpi_fuzz_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
test_mpi_fuzz_LDADD = $(OMPI_LIBS)

test_mpi_neighbors_worker_SOURCES = test/mpi/counters.hpp test/mpi/neighbors_worker.cpp test/mpi/persistent.hpp test/mpi/pretended_sites.hpp
test_mpi_neighbors_worker_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
test_mpi_neighbors_worker_LDADD = $(OMPI_LIBS)

test_mpi_requests_worker_SOURCES = test/mpi/counters.hpp test/mpi/requests_worker.cpp test/mpi/persistent.hpp
test_mpi_requests_worker_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
test_mpi_requests_worker_LDADD = $(OMPI_LIBS) -lpthread

test_mpi_tuning_worker_SOURCES = test/mpi/counters.hpp test/mpi/tuning_worker.cpp
test_mpi_tuning_worker_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
test_mpi_tuning_worker_LDADD = $(OMPI_LIBS)

# A component that claims to be for another series: see selection.
test/mpi/other_series.so: $(top_srcdir)/test/mpi/other_series.c
	@$(MKDIR_P) test/mpi
	$(AM_V_CC)$(CC) $(CFLAGS) $(OMPI_CPPFLAGS) -shared -fPIC -o $@ $(top_srcdir)/test/mpi/other_series.c

# Preloaded into ranks that something fails in.
test/mpi/faults.so: $(top_srcdir)/test/mpi/faults.c
	@$(MKDIR_P) test/mpi
	$(AM_V_CC)$(CC) $(CFLAGS) -shared -fPIC -o $@ $(top_srcdir)/test/mpi/faults.c -ldl

stage = $(abs_top_builddir)/test/stage

# The plugin as it would be installed, without installing it.  Renamed into
# place: a job that runs meanwhile keeps the file that it has mapped.
stage-am: mca_coll_wan.la $(stage_udp)
	@$(MKDIR_P) $(stage)
	@cp -f .libs/mca_coll_wan.so $(stage)/mca_coll_wan.new
	@mv -f $(stage)/mca_coll_wan.new $(stage)/mca_coll_wan.so
	@cp -f $(top_srcdir)/ompi/mca/coll/wan/help-mpi-coll-wan.txt $(stage)/
	@if test -n "$(stage_udp)"; then \
	    cp -f .libs/mca_btl_udp.so $(stage)/mca_btl_udp.new && mv -f $(stage)/mca_btl_udp.new $(stage)/mca_btl_udp.so && \
	    cp -f $(top_srcdir)/opal/mca/btl/udp/help-mpi-btl-udp.txt $(stage)/; \
	fi

test_environment = \
	WAN_SRC=$(abs_top_srcdir) WAN_BUILD=$(abs_top_builddir) WAN_STAGE=$(stage) \
	OMPI_INFO=$(OMPI_INFO) MPIRUN=$(MPIRUN) MPICC=$(MPICC)

mpi-tests-am: $(mpi_test_programs) $(mpi_test_plugins)

check-mpi: mpi-tests
	@$(test_environment) $(top_srcdir)/test/run-scripts mpi

.PHONY: check-mpi

CLEANFILES += $(mpi_test_programs) test/mpi/kills_worker $(mpi_test_plugins) \
	test/stage/mca_coll_wan.so test/stage/help-mpi-coll-wan.txt \
	test/stage/mca_btl_udp.so test/stage/help-mpi-btl-udp.txt

EXTRA_DIST += \
	contrib/check \
	contrib/installed \
	contrib/intree/README.md \
	contrib/intree/btl-udp.am \
	contrib/intree/btl-udp.m4 \
	contrib/intree/coll-wan.am \
	contrib/intree/coll-wan.m4 \
	contrib/intree/into \
	test/debian_tree.bash \
	test/intree \
	test/packages \
	contrib/dist/README.md \
	contrib/dist/wan-ompi.spec \
	contrib/dist/spack/package.py \
	debian/changelog \
	debian/control \
	debian/copyright \
	debian/libmttl-dev.docs \
	debian/libmttl-dev.examples \
	debian/libmttl-dev.install \
	debian/openmpi-wan.README.Debian \
	debian/openmpi-wan.docs \
	debian/openmpi-wan.examples \
	debian/openmpi-wan.install \
	debian/rules \
	debian/source/format \
	test/demo \
	test/install \
	test/golden/ompi_info.txt \
	test/mpi/common.bash \
	test/mpi/collectives \
	test/mpi/comings \
	test/mpi/fuzz_jobs \
	test/mpi/faults.c \
	test/mpi/job_tests.py \
	test/mpi/kills \
	test/mpi/neighbors \
	test/mpi/ompi_info \
	test/mpi/placed \
	test/mpi/report \
	test/mpi/report_check.py \
	test/mpi/browser.py \
	test/mpi/counters \
	test/mpi/counters_check.py \
	test/mpi/page \
	test/mpi/page_check.py \
	test/mpi/requests \
	test/mpi/other_series.c \
	test/mpi/selection \
	test/mpi/sites \
	test/mpi/sites_by_rank \
	test/mpi/links \
	test/mpi/programs \
	test/mpi/objects.py \
	test/mpi/reads \
	test/mpi/tuning \
	test/run-scripts \
	test/sanitizers \
	test/scripts.list \
	test/trixie
