# Adaptive trees without MPI: parts, random jobs, what trees become.
# SPDX-License-Identifier: BSD-3-Clause

if HAVE_CMOCKA
adaptive_tests = test/adaptive/ahead test/adaptive/pace test/adaptive/parts test/adaptive/places test/adaptive/random_runs test/adaptive/rings test/adaptive/rules test/adaptive/service test/adaptive/timeouts test/adaptive/trees
check_PROGRAMS += $(adaptive_tests)
TESTS += $(adaptive_tests)
endif

test_adaptive_pace_SOURCES = test/adaptive/pace.cpp test/adaptive/job.hpp $(unit_headers)
test_adaptive_pace_CPPFLAGS = $(unit_cppflags)
test_adaptive_pace_LDADD = $(unit_libs)
test_adaptive_ahead_SOURCES = test/adaptive/ahead.cpp test/adaptive/job.hpp $(unit_headers)
test_adaptive_ahead_CPPFLAGS = $(unit_cppflags)
test_adaptive_ahead_LDADD = $(unit_libs)
test_adaptive_parts_SOURCES = test/adaptive/parts.cpp $(unit_headers)
test_adaptive_parts_CPPFLAGS = $(unit_cppflags)
test_adaptive_parts_LDADD = $(unit_libs)
test_adaptive_places_SOURCES = test/adaptive/places.cpp test/adaptive/job.hpp test/adaptive/ranks.hpp test/adaptive/single.hpp $(unit_headers)
test_adaptive_places_CPPFLAGS = $(unit_cppflags)
test_adaptive_places_LDADD = $(unit_libs)
test_adaptive_random_runs_SOURCES = test/adaptive/random_runs.cpp test/adaptive/simulator.hpp $(unit_headers)
test_adaptive_random_runs_CPPFLAGS = $(unit_cppflags)
test_adaptive_random_runs_LDADD = $(unit_libs)
test_adaptive_rings_SOURCES = test/adaptive/rings.cpp $(unit_headers)
test_adaptive_rings_CPPFLAGS = $(unit_cppflags)
test_adaptive_rings_LDADD = $(unit_libs)
test_adaptive_rules_SOURCES = test/adaptive/rules.cpp test/adaptive/ranks.hpp test/adaptive/single.hpp $(unit_headers)
test_adaptive_rules_CPPFLAGS = $(unit_cppflags)
test_adaptive_rules_LDADD = $(unit_libs)
test_adaptive_service_SOURCES = test/adaptive/job.hpp test/adaptive/service.cpp $(unit_headers)
test_adaptive_service_CPPFLAGS = $(unit_cppflags)
test_adaptive_service_LDADD = $(unit_libs)
test_adaptive_timeouts_SOURCES = test/adaptive/timeouts.cpp test/adaptive/job.hpp test/adaptive/single.hpp $(unit_headers)
test_adaptive_timeouts_CPPFLAGS = $(unit_cppflags)
test_adaptive_timeouts_LDADD = $(unit_libs)
test_adaptive_trees_SOURCES = test/adaptive/trees.cpp test/adaptive/simulator.hpp $(unit_headers)
test_adaptive_trees_CPPFLAGS = $(unit_cppflags)
test_adaptive_trees_LDADD = $(unit_libs)
