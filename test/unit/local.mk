# Unit tests of the core: one program a source, all alike.
# SPDX-License-Identifier: BSD-3-Clause

if HAVE_CMOCKA
unit_tests = \
	test/unit/alltoall \
	test/unit/builder \
	test/unit/counters \
	test/unit/discovery \
	test/unit/discovery_garbage \
	test/unit/documentation \
	test/unit/drift \
	test/unit/engine \
	test/unit/fat_tree \
	test/unit/engine_threads \
	test/unit/exchange \
	test/unit/knobs \
	test/unit/links_file \
	test/unit/parts \
	test/unit/plan_memory \
	test/unit/plan_memory_peak \
	test/unit/planner \
	test/unit/planner_vectors \
	test/unit/planner_ways \
	test/unit/polled \
	test/unit/port \
	test/unit/progress \
	test/unit/shared_ways \
	test/unit/probe \
	test/unit/processor \
	test/unit/report \
	test/unit/report_parts \
	test/unit/schedule \
	test/unit/site_finder \
	test/unit/site_parts \
	test/unit/boundary \
	test/unit/boundary_files \
	test/unit/boundary_learned \
	test/unit/boundary_links \
	test/unit/boundary_trials \
	test/unit/boundary_tried_trees \
	test/unit/rules \
	test/unit/text_file \
	test/unit/topology \
	test/unit/trees \
	test/unit/tried_trees \
	test/unit/tuner \
	test/unit/tuner_candidates \
	test/unit/tuner_clock \
	test/unit/verifier \
	test/unit/ways \
	test/unit/widths
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
endif

dist_check_SCRIPTS += test/unit/source_id
TESTS += test/unit/source_id

unit_cppflags = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) -I$(top_srcdir)/test/unit -I$(top_srcdir)/test/algo
unit_libs = libwan_core.la $(CMOCKA_LIBS)
unit_headers = test/unit/unit.hpp test/unit/scripted_port.hpp test/algo/matrix.hpp
EXTRA_DIST += doc/add-an-algorithm.md doc/administrator.md doc/algorithms.md doc/architecture.md doc/btl-udp.md doc/figures.md doc/limits.md doc/report.md doc/sites.md doc/tuning.md
EXTRA_DIST += test/README.md test/golden/plans.txt test/golden/schedules.txt ompi/mca/coll/wan/REFERENCE.md

test_unit_alltoall_SOURCES = test/unit/alltoall.cpp test/unit/planned.hpp $(unit_headers)
test_unit_alltoall_CPPFLAGS = $(unit_cppflags)
test_unit_alltoall_LDADD = $(unit_libs)
test_unit_builder_SOURCES = test/unit/builder.cpp $(unit_headers)
test_unit_builder_CPPFLAGS = $(unit_cppflags)
test_unit_builder_LDADD = $(unit_libs)
test_unit_discovery_SOURCES = test/unit/discovery.cpp test/unit/discovery_network.hpp $(unit_headers)
test_unit_discovery_CPPFLAGS = $(unit_cppflags)
test_unit_discovery_LDADD = $(unit_libs)
test_unit_discovery_garbage_SOURCES = test/unit/discovery_garbage.cpp test/unit/discovery_network.hpp $(unit_headers)
test_unit_discovery_garbage_CPPFLAGS = $(unit_cppflags)
test_unit_discovery_garbage_LDADD = $(unit_libs)
test_unit_site_finder_SOURCES = test/unit/site_finder.cpp test/unit/finder_rounds.hpp $(unit_headers)
test_unit_site_finder_CPPFLAGS = $(unit_cppflags)
test_unit_site_finder_LDADD = $(unit_libs)
test_unit_site_parts_SOURCES = test/unit/site_parts.cpp test/unit/finder_rounds.hpp $(unit_headers)
test_unit_site_parts_CPPFLAGS = $(unit_cppflags)
test_unit_site_parts_LDADD = $(unit_libs)
test_unit_links_file_SOURCES = test/unit/links_file.cpp $(unit_headers)
test_unit_links_file_CPPFLAGS = $(unit_cppflags)
test_unit_links_file_LDADD = $(unit_libs)
test_unit_text_file_SOURCES = test/unit/text_file.cpp $(unit_headers)
test_unit_text_file_CPPFLAGS = $(unit_cppflags)
test_unit_text_file_LDADD = $(unit_libs)
test_unit_drift_SOURCES = test/unit/drift.cpp $(unit_headers)
test_unit_drift_CPPFLAGS = $(unit_cppflags)
test_unit_drift_LDADD = $(unit_libs)
test_unit_documentation_SOURCES = test/unit/documentation.cpp test/unit/documents.cpp test/unit/documentation.hpp doc/bcast_relay.cpp $(unit_headers)
test_unit_documentation_CPPFLAGS = $(unit_cppflags)
test_unit_documentation_LDADD = $(unit_libs)
test_unit_fat_tree_SOURCES = test/unit/fat_tree.cpp $(unit_headers)
test_unit_fat_tree_CPPFLAGS = $(unit_cppflags) $(contention_cppflags)
test_unit_fat_tree_LDADD = libwan_contention.la $(unit_libs)
test_unit_exchange_SOURCES = test/unit/exchange.cpp $(unit_headers)
test_unit_exchange_CPPFLAGS = $(unit_cppflags)
test_unit_exchange_LDADD = $(unit_libs)
test_unit_engine_SOURCES = test/unit/engine.cpp $(unit_headers)
test_unit_engine_CPPFLAGS = $(unit_cppflags)
test_unit_engine_LDADD = $(unit_libs)
test_unit_engine_threads_SOURCES = test/unit/engine_threads.cpp $(unit_headers)
test_unit_engine_threads_CPPFLAGS = $(unit_cppflags)
test_unit_engine_threads_LDADD = $(unit_libs) -lpthread
test_unit_tried_trees_SOURCES = test/unit/tried_trees.cpp test/unit/planned.hpp $(unit_headers)
test_unit_tried_trees_CPPFLAGS = $(unit_cppflags)
test_unit_tried_trees_LDADD = $(unit_libs)
test_unit_tuner_candidates_SOURCES = test/unit/tuner_candidates.cpp test/unit/trial_ranks.hpp test/unit/planned.hpp $(unit_headers)
test_unit_tuner_candidates_CPPFLAGS = $(unit_cppflags)
test_unit_tuner_candidates_LDADD = $(unit_libs)
test_unit_tuner_clock_SOURCES = test/unit/tuner_clock.cpp test/unit/trial_ranks.hpp test/unit/planned.hpp $(unit_headers)
test_unit_tuner_clock_CPPFLAGS = $(unit_cppflags)
test_unit_tuner_clock_LDADD = $(unit_libs)
test_unit_tuner_SOURCES = test/unit/tuner.cpp test/unit/trial_ranks.hpp test/unit/planned.hpp $(unit_headers)
test_unit_tuner_CPPFLAGS = $(unit_cppflags)
test_unit_tuner_LDADD = $(unit_libs)
test_unit_rules_SOURCES = test/unit/rules.cpp test/unit/planned.hpp $(unit_headers)
test_unit_rules_CPPFLAGS = $(unit_cppflags)
test_unit_rules_LDADD = $(unit_libs)
test_unit_topology_SOURCES = test/unit/topology.cpp $(unit_headers)
test_unit_topology_CPPFLAGS = $(unit_cppflags)
test_unit_topology_LDADD = $(unit_libs)
test_unit_knobs_SOURCES = test/unit/knobs.cpp $(unit_headers)
test_unit_knobs_CPPFLAGS = $(unit_cppflags)
test_unit_knobs_LDADD = $(unit_libs)
test_unit_parts_SOURCES = test/unit/parts.cpp $(unit_headers)
test_unit_parts_CPPFLAGS = $(unit_cppflags)
test_unit_parts_LDADD = $(unit_libs)
test_unit_plan_memory_SOURCES = test/unit/plan_memory.cpp $(unit_headers)
test_unit_plan_memory_CPPFLAGS = $(unit_cppflags)
test_unit_plan_memory_LDADD = $(unit_libs)
test_unit_processor_SOURCES = test/unit/planned.hpp test/unit/processor.cpp $(unit_headers)
test_unit_processor_CPPFLAGS = $(unit_cppflags)
test_unit_processor_LDADD = $(unit_libs)
test_unit_shared_ways_SOURCES = test/unit/planned.hpp test/unit/shared_ways.cpp $(unit_headers)
test_unit_shared_ways_CPPFLAGS = $(unit_cppflags)
test_unit_shared_ways_LDADD = $(unit_libs)
test_unit_planner_vectors_SOURCES = test/unit/planned.hpp test/unit/planner_vectors.cpp $(unit_headers)
test_unit_planner_vectors_CPPFLAGS = $(unit_cppflags)
test_unit_planner_vectors_LDADD = $(unit_libs)
test_unit_planner_ways_SOURCES = test/unit/planned.hpp test/unit/planner_ways.cpp $(unit_headers)
test_unit_planner_ways_CPPFLAGS = $(unit_cppflags)
test_unit_planner_ways_LDADD = $(unit_libs)
test_unit_planner_SOURCES = test/unit/planned.hpp test/unit/planner.cpp $(unit_headers)
test_unit_planner_CPPFLAGS = $(unit_cppflags)
test_unit_planner_LDADD = $(unit_libs)
# The glue's port with Open MPI's headers and a core of its own.
test_unit_port_SOURCES = test/unit/port.c
test_unit_port_CPPFLAGS = $(mca_coll_wan_la_CPPFLAGS) $(CMOCKA_CFLAGS) -I$(top_srcdir)/ompi/mca/coll/wan
test_unit_port_LDADD = $(OMPI_LIBS) $(CMOCKA_LIBS)
test_unit_progress_SOURCES = test/unit/progress.c
test_unit_progress_CPPFLAGS = $(test_unit_port_CPPFLAGS)
test_unit_progress_LDADD = $(test_unit_port_LDADD) -lpthread
test_unit_counters_SOURCES = test/unit/counters.c
test_unit_counters_CPPFLAGS = $(test_unit_port_CPPFLAGS)
test_unit_counters_LDADD = $(test_unit_port_LDADD)
test_unit_trees_SOURCES = test/unit/trees.c
test_unit_trees_CPPFLAGS = $(test_unit_port_CPPFLAGS)
test_unit_trees_LDADD = $(test_unit_port_LDADD)
test_unit_ways_SOURCES = test/unit/ways.c
test_unit_ways_CPPFLAGS = $(test_unit_port_CPPFLAGS)
test_unit_ways_LDADD = $(test_unit_port_LDADD)
test_unit_polled_SOURCES = test/unit/planned.hpp test/unit/polled.cpp $(unit_headers)
test_unit_polled_CPPFLAGS = $(unit_cppflags)
test_unit_polled_LDADD = $(unit_libs)
test_unit_probe_SOURCES = test/unit/probe.cpp $(unit_headers)
test_unit_probe_CPPFLAGS = $(unit_cppflags)
test_unit_probe_LDADD = $(unit_libs)
test_unit_widths_SOURCES = test/unit/planned.hpp test/unit/widths.cpp $(unit_headers)
test_unit_widths_CPPFLAGS = $(unit_cppflags)
test_unit_widths_LDADD = $(unit_libs)
test_unit_schedule_SOURCES = test/unit/schedule.cpp $(unit_headers)
test_unit_schedule_CPPFLAGS = $(unit_cppflags)
test_unit_schedule_LDADD = $(unit_libs)
test_unit_report_SOURCES = test/unit/boundary_job.hpp test/unit/report.cpp $(unit_headers)
test_unit_report_CPPFLAGS = $(unit_cppflags)
test_unit_report_LDADD = $(unit_libs)
test_unit_report_parts_SOURCES = test/unit/boundary_job.hpp test/unit/report_parts.cpp $(unit_headers)
test_unit_report_parts_CPPFLAGS = $(unit_cppflags)
test_unit_report_parts_LDADD = $(unit_libs)
test_unit_boundary_SOURCES = test/unit/boundary.cpp test/unit/boundary_job.hpp $(unit_headers)
test_unit_boundary_CPPFLAGS = $(unit_cppflags)
test_unit_boundary_LDADD = $(unit_libs)

test_unit_boundary_files_SOURCES = test/unit/boundary_files.cpp test/unit/watched_job.hpp test/unit/boundary_job.hpp $(unit_headers)
test_unit_boundary_files_CPPFLAGS = $(unit_cppflags)
test_unit_boundary_files_LDADD = $(unit_libs)
test_unit_boundary_learned_SOURCES = test/unit/boundary_learned.cpp test/unit/watched_job.hpp test/unit/boundary_job.hpp $(unit_headers)
test_unit_boundary_learned_CPPFLAGS = $(unit_cppflags)
test_unit_boundary_learned_LDADD = $(unit_libs)
test_unit_boundary_tried_trees_SOURCES = test/unit/boundary_tried_trees.cpp test/unit/boundary_trees.hpp test/unit/boundary_job.hpp $(unit_headers)
test_unit_boundary_tried_trees_CPPFLAGS = $(unit_cppflags)
test_unit_boundary_tried_trees_LDADD = $(unit_libs)
test_unit_boundary_links_SOURCES = test/unit/boundary_links.cpp test/unit/boundary_trees.hpp test/unit/watched_job.hpp test/unit/boundary_job.hpp $(unit_headers)
test_unit_boundary_links_CPPFLAGS = $(unit_cppflags)
test_unit_boundary_links_LDADD = $(unit_libs)
test_unit_boundary_trials_SOURCES = test/unit/boundary_trials.cpp test/unit/boundary_job.hpp $(unit_headers)
test_unit_boundary_trials_CPPFLAGS = $(unit_cppflags)
test_unit_boundary_trials_LDADD = $(unit_libs)
test_unit_verifier_SOURCES = test/unit/verifier.cpp $(unit_headers)
test_unit_verifier_CPPFLAGS = $(unit_cppflags)
test_unit_verifier_LDADD = $(unit_libs)
test_unit_plan_memory_peak_SOURCES = test/unit/plan_memory.cpp $(unit_headers)
test_unit_plan_memory_peak_CPPFLAGS = $(unit_cppflags) -DWAN_PEAK
test_unit_plan_memory_peak_LDADD = $(unit_libs)
