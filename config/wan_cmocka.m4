# cmocka (optional): without it, `make check` leaves out the unit tests.
# SPDX-License-Identifier: BSD-3-Clause

AC_DEFUN([WAN_CMOCKA], [
    PKG_CHECK_MODULES([CMOCKA], [cmocka >= 1.1],
        [wan_cmocka=yes],
        [wan_cmocka="no (make check leaves out the unit tests: install libcmocka-dev)"])
    AM_CONDITIONAL([HAVE_CMOCKA], [test "$wan_cmocka" = yes])
])
