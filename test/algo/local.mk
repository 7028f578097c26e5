# The algorithms of the registry: matrix, mutants, benchmark of planning.
# SPDX-License-Identifier: BSD-3-Clause

if HAVE_CMOCKA
algo_tests = \
	test/algo/matrix \
	test/algo/matrix_random
check_PROGRAMS += $(algo_tests)
TESTS += $(algo_tests)
endif

test_algo_matrix_SOURCES = test/algo/matrix.cpp test/algo/matrix.hpp test/unit/unit.hpp
test_algo_matrix_CPPFLAGS = $(unit_cppflags)
test_algo_matrix_LDADD = $(unit_libs)
test_algo_matrix_random_SOURCES = test/algo/matrix_random.cpp test/algo/matrix.hpp test/unit/unit.hpp
test_algo_matrix_random_CPPFLAGS = $(unit_cppflags)
test_algo_matrix_random_LDADD = $(unit_libs)
