# libcrypto (optional): seals the datagrams of btl/udp, which is left out without it.
# SPDX-License-Identifier: BSD-3-Clause

# Sets UDP_CFLAGS.
AC_DEFUN([WAN_CX16_FIND], [
    # Open MPI's inlined lists swap 16 bytes at once where it found that possible.
    UDP_CFLAGS=
    AC_MSG_CHECKING([whether $CC needs -mcx16 for Open MPI's lists])
    wan_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -mcx16"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[__int128 v;]], [[return !__sync_bool_compare_and_swap(&v, 0, 1);]])],
        [UDP_CFLAGS=-mcx16; AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no])])
    CFLAGS=$wan_save_CFLAGS
])

AC_DEFUN([WAN_CRYPTO], [
    AC_ARG_WITH([udp],
        [AS_HELP_STRING([--without-udp], [leave btl/udp out; --with-udp: stop where it cannot be built])],
        [], [with_udp=check])
    AS_IF([test "$with_udp" = no], [wan_udp="no (--without-udp)"],
        [PKG_CHECK_MODULES([CRYPTO], [libcrypto >= 3.0],
            [wan_udp=yes],
            [wan_udp="no (install libssl-dev)"
            AS_IF([test "$with_udp" != check],
                [AC_MSG_ERROR([--with-udp: btl/udp needs libcrypto 3 (Debian: apt-get install libssl-dev)])])])])
    WAN_CX16_FIND
    AC_SUBST([UDP_CFLAGS])
    AM_CONDITIONAL([HAVE_UDP], [test "$wan_udp" = yes])
])
