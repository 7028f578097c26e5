# Tests of mttl without MPI: jobs of several nodes inside one process.
# SPDX-License-Identifier: BSD-3-Clause

if HAVE_CMOCKA
mttl_tests = \
	test/mttl/port \
	test/mttl/stacks \
	test/mttl/threads \
	test/mttl/invoke \
	test/mttl/flow \
	test/mttl/pointers \
	test/mttl/life \
	test/mttl/virtual
check_PROGRAMS += $(mttl_tests)
TESTS += $(mttl_tests)
endif

mttl_cppflags = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) -DMTTL_NO_MPI -I$(top_srcdir)/contrib/mttl -I$(top_srcdir)/test/unit

test_mttl_port_SOURCES = test/mttl/port.cpp test/mttl/mttl_test.hpp
test_mttl_port_CPPFLAGS = $(mttl_cppflags)
test_mttl_port_LDADD = $(CMOCKA_LIBS)
test_mttl_stacks_SOURCES = test/mttl/stacks.cpp
test_mttl_stacks_CPPFLAGS = $(mttl_cppflags)
test_mttl_stacks_LDADD = $(CMOCKA_LIBS)
test_mttl_threads_SOURCES = test/mttl/threads.cpp test/mttl/mttl_test.hpp
test_mttl_threads_CPPFLAGS = $(mttl_cppflags)
test_mttl_threads_LDADD = $(CMOCKA_LIBS)
test_mttl_invoke_SOURCES = test/mttl/invoke.cpp test/mttl/mttl_test.hpp test/mttl/no_memory.hpp
test_mttl_invoke_CPPFLAGS = $(mttl_cppflags)
test_mttl_invoke_LDADD = $(CMOCKA_LIBS)
test_mttl_flow_SOURCES = test/mttl/flow.cpp test/mttl/mttl_test.hpp
test_mttl_flow_CPPFLAGS = $(mttl_cppflags)
test_mttl_flow_LDADD = $(CMOCKA_LIBS)
test_mttl_pointers_SOURCES = test/mttl/pointers.cpp test/mttl/mttl_test.hpp
test_mttl_pointers_CPPFLAGS = $(mttl_cppflags)
test_mttl_pointers_LDADD = $(CMOCKA_LIBS)
test_mttl_life_SOURCES = test/mttl/life.cpp test/mttl/mttl_test.hpp
test_mttl_life_CPPFLAGS = $(mttl_cppflags)
test_mttl_life_LDADD = $(CMOCKA_LIBS)
test_mttl_virtual_SOURCES = test/mttl/virtual.cpp test/mttl/mttl_test.hpp test/mttl/no_memory.hpp
test_mttl_virtual_CPPFLAGS = $(mttl_cppflags)
test_mttl_virtual_LDADD = $(CMOCKA_LIBS)

# What must not compile.
dist_check_SCRIPTS += test/mttl/refused
TESTS += test/mttl/refused

# Under mpirun, with functions in a shared library: see jobs.
mttl_mpi_programs = test/mttl/worker test/mttl/other test/mttl/larger
EXTRA_PROGRAMS += $(mttl_mpi_programs)
mttl_plugins = test/mttl/plugin1.so test/mttl/plugin2.so
CLEANFILES += $(mttl_mpi_programs) test/mttl/libmttl_test.so $(mttl_plugins)
EXTRA_DIST += test/mttl/jobs test/mttl/sites test/mttl/examples test/mttl/sanitizers test/mttl/library.cpp test/mttl/library.hpp \
	test/mttl/plugin.cpp

test/mttl/libmttl_test.so: $(top_srcdir)/test/mttl/library.cpp $(top_srcdir)/test/mttl/library.hpp $(mttl_headers)
	@$(MKDIR_P) test/mttl
	$(AM_V_CXX)$(CXX) $(AM_CXXFLAGS) $(CXXFLAGS) $(mttl_mpi_cppflags) -shared -fPIC -Wl,-soname,libmttl_test.so -o $@ $(top_srcdir)/test/mttl/library.cpp

$(mttl_plugins): test/mttl/plugin%.so: $(top_srcdir)/test/mttl/plugin.cpp $(mttl_headers)
	@$(MKDIR_P) test/mttl
	$(AM_V_CXX)$(CXX) $(AM_CXXFLAGS) $(CXXFLAGS) $(mttl_mpi_cppflags) -DWAN_MTTL_PLUGIN=$* -shared -fPIC -o $@ \
		$(top_srcdir)/test/mttl/plugin.cpp

test_mttl_worker_SOURCES = test/mttl/worker.cpp test/mttl/library.hpp
test_mttl_worker_CPPFLAGS = $(mttl_mpi_cppflags)
test_mttl_worker_LDADD = test/mttl/libmttl_test.so $(OMPI_LIBS)
test_mttl_worker_LDFLAGS = -rdynamic -Wl,-rpath,$(abs_top_builddir)/test/mttl
test_mttl_other_SOURCES = test/mttl/worker.cpp test/mttl/library.hpp
test_mttl_other_CPPFLAGS = $(mttl_mpi_cppflags) -DWAN_MTTL_OTHER
test_mttl_other_LDADD = test/mttl/libmttl_test.so $(OMPI_LIBS)
test_mttl_other_LDFLAGS = -Wl,-rpath,$(abs_top_builddir)/test/mttl

test_mttl_larger_SOURCES = test/mttl/worker.cpp test/mttl/library.hpp
test_mttl_larger_CPPFLAGS = $(mttl_mpi_cppflags) -DWAN_MTTL_LARGER
test_mttl_larger_LDADD = test/mttl/libmttl_test.so $(OMPI_LIBS)
test_mttl_larger_LDFLAGS = -Wl,-rpath,$(abs_top_builddir)/test/mttl

mpi-tests-am: $(mttl_plugins) $(mttl_mpi_programs) $(mttl_programs)
