# libcrypto (optional): seals the datagrams of btl/udp, which is left out without it.
# SPDX-License-Identifier: BSD-3-Clause

AC_DEFUN([WAN_CRYPTO], [
    PKG_CHECK_MODULES([CRYPTO], [libcrypto >= 3.0],
        [wan_udp=yes],
        [wan_udp="no (install libssl-dev)"])
    AM_CONDITIONAL([HAVE_UDP], [test "$wan_udp" = yes])
])
