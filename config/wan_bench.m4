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

# wan-info includes them, too.
AC_DEFUN([WAN_INFO], [
    AC_ARG_WITH([info],
        [AS_HELP_STRING([--without-info], [leave wan-info out; --with-info: stop where it cannot be built])],
        [], [with_info=check])
    wan_info=yes
    AS_IF([test "$with_info" = no], [wan_info="no (--without-info)"],
        [test "$wan_bench" != yes],
        [wan_info="no (install libcli11-dev nlohmann-json3-dev)"
        AS_IF([test "$with_info" != check],
            [AC_MSG_ERROR([--with-info: wan-info needs CLI11 and nlohmann/json (Debian: apt-get install libcli11-dev nlohmann-json3-dev)])])])
    AM_CONDITIONAL([HAVE_INFO], [test "$wan_info" = yes])
])
