# hwloc (optional): for tests with synthetic and captured machines.
# SPDX-License-Identifier: BSD-3-Clause

AC_DEFUN([WAN_HWLOC], [
    PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.0], [wan_hwloc=yes], [wan_hwloc=no])
    AM_CONDITIONAL([HAVE_HWLOC], [test $wan_hwloc = yes])
    AS_IF([test $wan_hwloc = yes], [AC_DEFINE([WAN_HAVE_HWLOC], [1], [hwloc can be used])])
])
