# SimGrid (optional): the simulated platform of contrib/sim.
# SPDX-License-Identifier: BSD-3-Clause

AC_DEFUN([WAN_SIMGRID], [
    AC_PATH_PROG([SMPICXX], [smpicxx])
    AC_PATH_PROG([SMPIRUN], [smpirun])
    PKG_CHECK_MODULES([SIMGRID], [simgrid >= 3.31], [wan_simgrid=yes], [wan_simgrid=no])
    AS_IF([test -z "$SMPICXX" || test -z "$SMPIRUN" || test $wan_simgrid = no],
        [wan_simgrid="no (wansim is left out: install libsimgrid-dev)"])
    # Its ranks are contexts of SimGrid's own making, of which sanitizers know nothing.
    AS_IF([test "$wan_sanitizers" != no], [wan_simgrid="no (--enable-sanitizers)"])
    AM_CONDITIONAL([HAVE_SIMGRID], [test "$wan_simgrid" = yes])
])
