# Tests of mttl without MPI: jobs of several nodes inside one process.
# SPDX-License-Identifier: BSD-3-Clause

if HAVE_CMOCKA
mttl_tests = \
	test/mttl/port \
	test/mttl/threads \
	test/mttl/invoke \
	test/mttl/pointers
check_PROGRAMS += $(mttl_tests)
TESTS += $(mttl_tests)
endif

mttl_cppflags = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) -DMTTL_NO_MPI -I$(top_srcdir)/contrib/mttl -I$(top_srcdir)/test/unit

test_mttl_port_SOURCES = test/mttl/port.cpp test/mttl/mttl_test.hpp
test_mttl_port_CPPFLAGS = $(mttl_cppflags)
test_mttl_port_LDADD = $(CMOCKA_LIBS)
test_mttl_threads_SOURCES = test/mttl/threads.cpp test/mttl/mttl_test.hpp
test_mttl_threads_CPPFLAGS = $(mttl_cppflags)
test_mttl_threads_LDADD = $(CMOCKA_LIBS)
test_mttl_invoke_SOURCES = test/mttl/invoke.cpp test/mttl/mttl_test.hpp
test_mttl_invoke_CPPFLAGS = $(mttl_cppflags)
test_mttl_invoke_LDADD = $(CMOCKA_LIBS)
test_mttl_pointers_SOURCES = test/mttl/pointers.cpp test/mttl/mttl_test.hpp
test_mttl_pointers_CPPFLAGS = $(mttl_cppflags)
test_mttl_pointers_LDADD = $(CMOCKA_LIBS)
