# The algorithms of the registry: matrix, mutants, benchmark of planning.
# SPDX-License-Identifier: BSD-3-Clause

if HAVE_CMOCKA
algo_tests = \
	test/algo/matrix \
	test/algo/matrix_random \
	test/algo/mutation \
	test/algo/stable
check_PROGRAMS += $(algo_tests)
TESTS += $(algo_tests)
endif

# Prints times, asserts none: run it by hand.
check_PROGRAMS += test/algo/plan_bench

test_algo_matrix_SOURCES = test/algo/matrix.cpp test/algo/matrix.hpp test/unit/unit.hpp
test_algo_matrix_CPPFLAGS = $(unit_cppflags)
test_algo_matrix_LDADD = $(unit_libs)
test_algo_matrix_random_SOURCES = test/algo/matrix_random.cpp test/algo/matrix.hpp test/unit/unit.hpp
test_algo_matrix_random_CPPFLAGS = $(unit_cppflags)
test_algo_matrix_random_LDADD = $(unit_libs)
test_algo_mutation_SOURCES = test/algo/mutation.cpp test/algo/matrix.hpp test/unit/unit.hpp
test_algo_mutation_CPPFLAGS = $(unit_cppflags)
test_algo_mutation_LDADD = $(unit_libs)
test_algo_stable_SOURCES = test/algo/stable.cpp test/algo/matrix.hpp test/unit/unit.hpp
test_algo_stable_CPPFLAGS = $(unit_cppflags)
test_algo_stable_LDADD = $(unit_libs)
test_algo_plan_bench_SOURCES = test/algo/plan_bench.cpp
test_algo_plan_bench_CPPFLAGS = $(unit_cppflags)
test_algo_plan_bench_LDADD = libwan_core.la
