# What contrib/bench/wanbench_worker includes (optional): CLI11 and nlohmann/json.
# SPDX-License-Identifier: BSD-3-Clause

AC_DEFUN([WAN_BENCH], [
    AC_LANG_PUSH([C++])
    wan_bench=yes
    AC_CHECK_HEADERS([CLI/CLI.hpp nlohmann/json.hpp], [],
        [wan_bench="no (wanbench is left out: install libcli11-dev nlohmann-json3-dev)"])
    AC_LANG_POP([C++])
    AM_CONDITIONAL([HAVE_BENCH], [test "$wan_bench" = yes])
])
