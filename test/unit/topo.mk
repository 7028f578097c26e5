# Unit tests of where sites come from: one program a source.
# SPDX-License-Identifier: BSD-3-Clause

if HAVE_CMOCKA
topo_tests = \
	test/unit/topo_card \
	test/unit/topo_site_name \
	test/unit/topo_hostlist \
	test/unit/topo_cluster_map \
	test/unit/topo_slurm_topology \
	test/unit/topo_site_resolve \
	test/unit/topo_fuzz
check_PROGRAMS += $(topo_tests)
TESTS += $(topo_tests)
if HAVE_HWLOC
check_PROGRAMS += test/unit/topo_locality
TESTS += test/unit/topo_locality
endif
endif

test_unit_topo_card_SOURCES = test/unit/topo_card.cpp
test_unit_topo_card_CPPFLAGS = $(unit_cppflags)
test_unit_topo_card_LDADD = $(unit_libs)
test_unit_topo_site_name_SOURCES = test/unit/topo_site_name.cpp
test_unit_topo_site_name_CPPFLAGS = $(unit_cppflags)
test_unit_topo_site_name_LDADD = $(unit_libs)
test_unit_topo_hostlist_SOURCES = test/unit/topo_hostlist.cpp
test_unit_topo_hostlist_CPPFLAGS = $(unit_cppflags)
test_unit_topo_hostlist_LDADD = $(unit_libs)
test_unit_topo_cluster_map_SOURCES = test/unit/topo_cluster_map.cpp
test_unit_topo_cluster_map_CPPFLAGS = $(unit_cppflags)
test_unit_topo_cluster_map_LDADD = $(unit_libs)
test_unit_topo_slurm_topology_SOURCES = test/unit/topo_slurm_topology.cpp
test_unit_topo_slurm_topology_CPPFLAGS = $(unit_cppflags)
test_unit_topo_slurm_topology_LDADD = $(unit_libs)
test_unit_topo_site_resolve_SOURCES = test/unit/topo_site_resolve.cpp
test_unit_topo_site_resolve_CPPFLAGS = $(unit_cppflags)
test_unit_topo_site_resolve_LDADD = $(unit_libs)
test_unit_topo_fuzz_SOURCES = test/unit/topo_fuzz.cpp
test_unit_topo_fuzz_CPPFLAGS = $(unit_cppflags)
test_unit_topo_fuzz_LDADD = $(unit_libs)
# Not in the plugin: that takes what the runtime's hwloc found as text; this hwloc is the reference.
test_unit_topo_locality_SOURCES = test/unit/topo_locality.cpp $(locality_sources)
test_unit_topo_locality_CPPFLAGS = $(unit_cppflags) $(HWLOC_CFLAGS)
test_unit_topo_locality_LDADD = $(unit_libs) $(HWLOC_LIBS)

EXTRA_DIST += \
	test/data/topo_captured_vm.xml \
	test/data/topo_hbm_four_caches.xml \
	test/data/topo_sites.map \
	test/data/topo_slurm_52_leaves.conf \
	test/data/topo_two_packages.xml
