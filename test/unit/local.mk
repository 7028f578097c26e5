# Unit tests of the core: one program a source, all alike.
# SPDX-License-Identifier: BSD-3-Clause

if HAVE_CMOCKA
unit_tests = \
	test/unit/builder \
	test/unit/engine \
	test/unit/engine_threads \
	test/unit/topology
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
endif

unit_cppflags = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) -I$(top_srcdir)/test/unit -I$(top_srcdir)/test/algo
unit_libs = libwan_core.la $(CMOCKA_LIBS)
unit_headers = test/unit/unit.hpp test/unit/scripted_port.hpp

test_unit_builder_SOURCES = test/unit/builder.cpp $(unit_headers)
test_unit_builder_CPPFLAGS = $(unit_cppflags)
test_unit_builder_LDADD = $(unit_libs)
test_unit_engine_SOURCES = test/unit/engine.cpp $(unit_headers)
test_unit_engine_CPPFLAGS = $(unit_cppflags)
test_unit_engine_LDADD = $(unit_libs)
test_unit_engine_threads_SOURCES = test/unit/engine_threads.cpp $(unit_headers)
test_unit_engine_threads_CPPFLAGS = $(unit_cppflags)
test_unit_engine_threads_LDADD = $(unit_libs) -lpthread
test_unit_topology_SOURCES = test/unit/topology.cpp $(unit_headers)
test_unit_topology_CPPFLAGS = $(unit_cppflags)
test_unit_topology_LDADD = $(unit_libs)
