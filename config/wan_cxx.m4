# The compilers: C++20 for the core, warnings, sanitizers.
# SPDX-License-Identifier: BSD-3-Clause

# Sets wan_cxx20 to yes or no, and WAN_CXXSTD.
AC_DEFUN([WAN_CXX20_FIND], [
    AC_LANG_PUSH([C++])
    wan_cxx20=no
    for wan_flag in '' -std=c++20 -std=c++2a; do
        wan_save_CXXFLAGS=$CXXFLAGS
        CXXFLAGS="$CXXFLAGS $wan_flag"
        AC_MSG_CHECKING([whether $CXX $wan_flag compiles C++20])
        AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
            #include <compare>
            #include <concepts>
            #include <span>
            #if __cplusplus < 202002L && !(defined(__GNUC__) && __cplusplus > 201703L)
            #error too old
            #endif
            struct point { int x, y; auto operator<=>(const point &) const = default; };
            template <std::integral T> T twice(T t) { return t + t; }
            int sum(std::span<const int> s) { int n = 0; for (int i : s) n += twice(i); return n; }
        ]])], [wan_cxx20=yes], [wan_cxx20=no])
        AC_MSG_RESULT([$wan_cxx20])
        CXXFLAGS=$wan_save_CXXFLAGS
        AS_IF([test $wan_cxx20 = yes], [break])
    done
    AC_LANG_POP([C++])
    WAN_CXXSTD=$wan_flag
])

AC_DEFUN([WAN_CXX20], [
    WAN_CXX20_FIND
    AS_IF([test $wan_cxx20 = no],
        [AC_MSG_ERROR([the core needs a C++20 compiler: install g++ 10 or newer (Debian: apt-get install g++)])])
    AC_SUBST([WAN_CXXSTD])
])

AC_DEFUN([WAN_WARNINGS], [
    WAN_CFLAGS="-Wall -Wextra -fvisibility=hidden"
    WAN_CXXFLAGS="$WAN_CXXSTD -Wall -Wextra -fvisibility=hidden -fvisibility-inlines-hidden"
    AC_SUBST([WAN_CFLAGS])
    AC_SUBST([WAN_CXXFLAGS])
])

AC_DEFUN([WAN_SANITIZERS], [
    AC_ARG_ENABLE([sanitizers],
        [AS_HELP_STRING([--enable-sanitizers@<:@=LIST@:>@],
            [build with -fsanitize=LIST (default: address,undefined); for tests, not for use])],
        [], [enable_sanitizers=no])
    AS_CASE([$enable_sanitizers],
        [no], [wan_sanitizers=no],
        [yes], [wan_sanitizers=address,undefined],
        [wan_sanitizers=$enable_sanitizers])
    AS_IF([test "$wan_sanitizers" != no], [
        CFLAGS="$CFLAGS -g -fsanitize=$wan_sanitizers -fno-omit-frame-pointer"
        CXXFLAGS="$CXXFLAGS -g -fsanitize=$wan_sanitizers -fno-omit-frame-pointer"
    ])
    AM_CONDITIONAL([SANITIZERS], [test "$wan_sanitizers" != no])
])
