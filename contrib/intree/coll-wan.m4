# coll/wan as a component of an Open MPI source tree; put there by contrib/intree/into.
# SPDX-License-Identifier: BSD-3-Clause

@macros@

# MCA_ompi_coll_wan_CONFIG([action-if-can-compile], [action-if-cant-compile])
AC_DEFUN([MCA_ompi_coll_wan_CONFIG], [
    AC_CONFIG_FILES([ompi/mca/coll/wan/Makefile])
    WAN_CXX20_FIND
    coll_wan_CXXSTD=$WAN_CXXSTD
    AC_SUBST([coll_wan_CXXSTD])
    AS_IF([test "$wan_cxx20" = yes], [$1], [$2])
])dnl
