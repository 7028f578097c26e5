# Tests of btl/udp's core, without a network.
# SPDX-License-Identifier: BSD-3-Clause

udp_test_headers = test/unit/unit.hpp test/udp/simulator.hpp
udp_test_cppflags = $(udp_cppflags) $(CMOCKA_CFLAGS) -I$(top_srcdir)/test/unit -I$(top_srcdir)/test/udp
udp_seeds = \
	test/udp/seeds/play0 test/udp/seeds/play1 test/udp/seeds/play2 test/udp/seeds/play3 \
	test/udp/seeds/play4 test/udp/seeds/play5 test/udp/seeds/play6 test/udp/seeds/play7 \
	test/udp/seeds/play8 test/udp/seeds/play9 test/udp/seeds/play10 test/udp/seeds/unpermitted \
	test/udp/seeds_crowd/play0 test/udp/seeds_crowd/play1 test/udp/seeds_crowd/play2 test/udp/seeds_crowd/play3 \
	test/udp/seeds_crowd/play4 test/udp/seeds_crowd/play5 test/udp/seeds_crowd/play6 test/udp/seeds_crowd/play7 \
	test/udp/seeds_crowd/play8 test/udp/seeds_crowd/play9 test/udp/seeds_crowd/play10 \
	test/udp/seeds_crowd/silent1 test/udp/seeds_crowd/silent2 test/udp/seeds_crowd/silent3 \
	test/udp/seeds_seal/play0 test/udp/seeds_seal/play1 test/udp/seeds_seal/play2 test/udp/seeds_seal/play3 \
	test/udp/seeds_seal/play4 test/udp/seeds_seal/play5 test/udp/seeds_seal/play6 test/udp/seeds_seal/play7 \
	test/udp/seeds_card/play0 test/udp/seeds_card/play1 test/udp/seeds_card/play2 test/udp/seeds_card/play3 \
	test/udp/seeds_card/play4 test/udp/seeds_card/play5 test/udp/seeds_card/play6 test/udp/seeds_card/play7
udp_test_libs = libudp_core.la $(CMOCKA_LIBS)

if HAVE_UDP
if HAVE_CMOCKA
udp_tests = \
	test/udp/acks \
	test/udp/core_parts \
	test/udp/devices \
	test/udp/forged \
	test/udp/fuzz \
	test/udp/fuzz_card \
	test/udp/fuzz_crowd \
	test/udp/fuzz_seal \
	test/udp/handing_on \
	test/udp/meeting \
	test/udp/moved \
	test/udp/path_size \
	test/udp/random_runs \
	test/udp/reference \
	test/udp/scenarios \
	test/udp/socket_calls \
	test/udp/steering \
	test/udp/strict_rules \
	test/udp/thousand
check_PROGRAMS += $(udp_tests)
TESTS += $(udp_tests)
endif
endif

test_udp_random_runs_SOURCES = test/udp/random_runs.cpp $(udp_test_headers)
test_udp_random_runs_CPPFLAGS = $(udp_test_cppflags)
test_udp_random_runs_LDADD = $(udp_test_libs)
test_udp_acks_SOURCES = test/udp/acks.cpp $(udp_test_headers)
test_udp_acks_CPPFLAGS = $(udp_test_cppflags)
test_udp_acks_LDADD = $(udp_test_libs)
test_udp_core_parts_SOURCES = test/udp/core_parts.cpp $(udp_test_headers)
test_udp_core_parts_CPPFLAGS = $(udp_test_cppflags)
test_udp_core_parts_LDADD = $(udp_test_libs)
test_udp_path_size_SOURCES = test/udp/path_size.cpp $(udp_test_headers)
test_udp_path_size_CPPFLAGS = $(udp_test_cppflags)
test_udp_path_size_LDADD = $(udp_test_libs)
test_udp_reference_SOURCES = test/udp/reference.cpp $(udp_test_headers)
test_udp_reference_CPPFLAGS = $(udp_test_cppflags)
test_udp_reference_LDADD = libudp_io.la $(udp_test_libs)
EXTRA_DIST += opal/mca/btl/udp/REFERENCE.md
test_udp_forged_SOURCES = test/udp/forged.cpp $(udp_test_headers)
test_udp_forged_CPPFLAGS = $(udp_test_cppflags)
test_udp_forged_LDADD = $(udp_test_libs)
test_udp_fuzz_SOURCES = test/udp/fuzz.cpp test/udp/fuzz.hpp $(udp_test_headers)
test_udp_fuzz_CPPFLAGS = $(udp_test_cppflags)
test_udp_fuzz_LDADD = $(udp_test_libs)
test_udp_handing_on_SOURCES = test/udp/handing_on.cpp $(udp_test_headers)
test_udp_handing_on_CPPFLAGS = $(udp_test_cppflags)
test_udp_handing_on_LDADD = $(udp_test_libs)
test_udp_meeting_SOURCES = test/udp/meeting.cpp test/udp/default_params.hpp $(udp_test_headers)
test_udp_meeting_CPPFLAGS = $(udp_test_cppflags)
test_udp_meeting_LDADD = libudp_io.la $(udp_test_libs)
test_udp_moved_SOURCES = test/udp/moved.cpp $(udp_test_headers)
test_udp_moved_CPPFLAGS = $(udp_test_cppflags)
test_udp_moved_LDADD = $(udp_test_libs)
test_udp_fuzz_seal_SOURCES = test/udp/fuzz_seal.cpp test/udp/fuzz.hpp $(udp_test_headers)
test_udp_fuzz_seal_CPPFLAGS = $(udp_test_cppflags)
test_udp_fuzz_seal_LDADD = $(udp_test_libs)
test_udp_fuzz_card_SOURCES = test/udp/fuzz_card.cpp test/udp/fuzz.hpp test/udp/default_params.hpp $(udp_test_headers)
test_udp_fuzz_card_CPPFLAGS = $(udp_test_cppflags)
test_udp_fuzz_card_LDADD = libudp_io.la $(udp_test_libs)
test_udp_fuzz_crowd_SOURCES = test/udp/fuzz_crowd.cpp test/udp/fuzz.hpp $(udp_test_headers)
test_udp_fuzz_crowd_CPPFLAGS = $(udp_test_cppflags)
test_udp_fuzz_crowd_LDADD = $(udp_test_libs)
test_udp_scenarios_SOURCES = test/udp/scenarios.cpp $(udp_test_headers)
test_udp_scenarios_CPPFLAGS = $(udp_test_cppflags)
test_udp_scenarios_LDADD = $(udp_test_libs)
test_udp_devices_SOURCES = test/udp/devices.cpp $(udp_test_headers)
test_udp_devices_CPPFLAGS = $(udp_test_cppflags) -I$(top_srcdir)/opal/mca/btl/udp/io
test_udp_devices_LDADD = libudp_io.la $(udp_test_libs)
test_udp_socket_calls_SOURCES = test/udp/socket_calls.cpp test/udp/default_params.hpp $(udp_test_headers)
test_udp_socket_calls_CPPFLAGS = $(udp_test_cppflags) -I$(top_srcdir)/opal/mca/btl/udp/io
test_udp_socket_calls_LDADD = libudp_io.la $(udp_test_libs)
test_udp_steering_SOURCES = test/udp/steering.cpp $(udp_test_headers)
test_udp_steering_CPPFLAGS = $(udp_test_cppflags)
test_udp_steering_LDADD = $(udp_test_libs)
test_udp_strict_rules_SOURCES = test/udp/strict_rules.cpp $(udp_test_headers)
test_udp_strict_rules_CPPFLAGS = $(udp_test_cppflags)
test_udp_strict_rules_LDADD = $(udp_test_libs)
test_udp_thousand_SOURCES = test/udp/thousand.cpp test/udp/default_params.hpp $(udp_test_headers)
test_udp_thousand_CPPFLAGS = $(udp_test_cppflags)
test_udp_thousand_LDADD = libudp_io.la $(udp_test_libs)

# Over the plugin: see jobs.
if HAVE_UDP
mpi_test_programs += test/udp/away test/udp/comings test/udp/flow test/udp/met_again test/udp/ring test/udp/relay test/udp/threads
mpi_test_plugins += test/udp/lossy.so
stage_udp = mca_btl_udp.la
endif
# Preloaded into ranks: see coll_jobs.
test/udp/lossy.so: $(top_srcdir)/test/udp/lossy.c
	@$(MKDIR_P) test/udp
	$(AM_V_CC)$(CC) $(CFLAGS) -shared -fPIC -o $@ $(top_srcdir)/test/udp/lossy.c -ldl
test_udp_flow_SOURCES = test/udp/flow.cpp
test_udp_flow_CPPFLAGS = $(udp_cppflags) $(OMPI_CPPFLAGS) -DOMPI_SKIP_MPICXX
test_udp_flow_LDADD = $(OMPI_LIBS)
test_udp_comings_SOURCES = test/udp/comings.c
test_udp_comings_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS)
test_udp_comings_LDADD = $(OMPI_LIBS)
test_udp_away_SOURCES = test/udp/away.c
test_udp_away_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS)
test_udp_away_LDADD = $(OMPI_LIBS)
test_udp_met_again_SOURCES = test/udp/met_again.c
test_udp_met_again_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS)
test_udp_met_again_LDADD = $(OMPI_LIBS)
test_udp_ring_SOURCES = test/udp/ring.c
test_udp_ring_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS)
test_udp_ring_LDADD = $(OMPI_LIBS)
test_udp_threads_SOURCES = test/udp/threads.c
test_udp_threads_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS)
test_udp_threads_LDADD = $(OMPI_LIBS) -lpthread
test_udp_relay_SOURCES = test/udp/relay.cpp test/udp/default_params.hpp
test_udp_relay_CPPFLAGS = $(udp_cppflags)
test_udp_relay_LDADD = libudp_io.la
EXTRA_DIST += $(udp_seeds) test/udp/bench test/udp/coll_jobs test/udp/jobs test/udp/lab_jobs test/udp/libfuzzer test/udp/lossy.c test/golden/ompi_info_udp.txt
