# The installed Open MPI: where it is, whether its internal headers compile,
# where its components and help texts go.
# SPDX-License-Identifier: BSD-3-Clause
#
# Sets OMPI_CPPFLAGS, OMPI_LIBS, OMPI_INFO, MPICC, MPIRUN, plugindir, helpdir.

# WAN_OMPI_PATH(VARIABLE, KIND): one directory as ompi_info prints it.  Lines
# without the prefix are noise of other libraries.
AC_DEFUN([WAN_OMPI_PATH], [
    $1=`"$OMPI_INFO" --path $2 --parsable 2>/dev/null | $SED -n 's/^path:$2://p'`
    AS_IF([test -z "$$1"],
        [AC_MSG_ERROR([$OMPI_INFO does not tell its $2: the Open MPI installation is incomplete (Debian: apt-get install openmpi-bin libopenmpi-dev)])])
])

AC_DEFUN([WAN_OPENMPI], [
    AC_ARG_WITH([ompi],
        [AS_HELP_STRING([--with-ompi=DIR],
            [Open MPI installed under DIR (default: that of mpicc and ompi_info in PATH)])],
        [], [with_ompi=yes])
    AC_ARG_WITH([plugin-dir],
        [AS_HELP_STRING([--with-plugin-dir=DIR],
            [where `make install' puts the plugin and its help text (default: Open MPI's own component directory)])],
        [], [with_plugin_dir=no])
    AS_CASE([$with_plugin_dir],
        [no|yes|/*|'$'*], [],
        [AC_MSG_ERROR([--with-plugin-dir=$with_plugin_dir: give an absolute directory])])

    AS_CASE([$with_ompi],
        [no], [AC_MSG_ERROR([coll/wan is a part for Open MPI and cannot be built --without-ompi])],
        [yes], [wan_ompi_path=$PATH],
        [wan_ompi_path=$with_ompi/bin])
    AC_PATH_PROG([OMPI_INFO], [ompi_info], [], [$wan_ompi_path])
    AC_PATH_PROG([MPICC], [mpicc], [], [$wan_ompi_path])
    AC_PATH_PROG([MPIRUN], [mpirun], [], [$wan_ompi_path])
    AC_PATH_PROGS([MPICXX], [mpicxx mpic++], [], [$wan_ompi_path])
    AS_IF([test -z "$OMPI_INFO"],
        [AC_MSG_ERROR([no ompi_info in $wan_ompi_path: install Open MPI (Debian: apt-get install openmpi-bin libopenmpi-dev) or give --with-ompi=DIR])])

    AC_MSG_CHECKING([for the version of Open MPI])
    wan_ompi_version=`"$OMPI_INFO" --version 2>/dev/null | $SED -n 's/^Open MPI v//p'`
    AC_MSG_RESULT([$wan_ompi_version])
    AS_CASE([$wan_ompi_version],
        [4.1.*|5.0.*], [],
        [''], [AC_MSG_ERROR([$OMPI_INFO is not Open MPI's: give --with-ompi=DIR])],
        [AC_MSG_WARN([coll/wan was written for Open MPI 4.1 and 5.0; going on with $wan_ompi_version])])
    WAN_OMPI_SERIES=`AS_ECHO(["$wan_ompi_version"]) | $SED 's/^\([[0-9]]*\.[[0-9]]*\).*/\1/'`
    AC_SUBST([WAN_OMPI_SERIES])

    WAN_OMPI_PATH([wan_ompi_pkglibdir], [pkglibdir])
    WAN_OMPI_PATH([wan_ompi_pkgdatadir], [pkgdatadir])
    WAN_OMPI_PATH([wan_ompi_pkgincludedir], [pkgincludedir])
    WAN_OMPI_PATH([wan_ompi_incdir], [incdir])
    WAN_OMPI_PATH([wan_ompi_libdir], [libdir])

    OMPI_CPPFLAGS="-I$wan_ompi_pkgincludedir -I$wan_ompi_incdir"
    for wan_module in pmix hwloc libevent; do
        AS_IF([$PKG_CONFIG --exists $wan_module 2>/dev/null],
            [OMPI_CPPFLAGS="$OMPI_CPPFLAGS `$PKG_CONFIG --cflags $wan_module`"])
    done
    OMPI_LIBS="-L$wan_ompi_libdir -lmpi -lopen-pal"
    # Searched last: only for headers that Open MPI's packages leave out.
    OMPI_STANDIN='-idirafter $(top_srcdir)/ompi/mca/coll/wan/standin'

    wan_save_CPPFLAGS=$CPPFLAGS
    wan_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $OMPI_CPPFLAGS -idirafter $srcdir/ompi/mca/coll/wan/standin"
    LIBS="$LIBS $OMPI_LIBS"
    AC_MSG_CHECKING([whether Open MPI's internal headers compile])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
            #include "ompi_config.h"
            #include "ompi/mca/coll/coll.h"
            #include "ompi/mca/coll/base/coll_base_util.h"
            #include "ompi/mca/pml/pml.h"
            #include "ompi/op/op.h"
            #include "ompi/communicator/communicator.h"
        ]], [[
            mca_coll_base_module_t module;
            module.coll_bcast = NULL;
            return NULL != module.coll_bcast || NULL == mca_pml.pml_isend;
        ]])], [AC_MSG_RESULT([yes])], [
        AC_MSG_RESULT([no])
        AS_IF([test -f "$wan_ompi_pkgincludedir/ompi/mca/coll/coll.h"],
            [AC_MSG_ERROR([Open MPI's internal headers are in $wan_ompi_pkgincludedir but do not compile, see config.log: install what they include (Debian: apt-get install libopenmpi-dev libhwloc-dev libevent-dev libpmix-dev)])],
            [AC_MSG_ERROR([Open MPI's internal headers are missing in $wan_ompi_pkgincludedir: install them (Debian: apt-get install libopenmpi-dev; own builds: configure Open MPI with --with-devel-headers)])])
    ])
    CPPFLAGS=$wan_save_CPPFLAGS
    LIBS=$wan_save_LIBS

    OMPI_CPPFLAGS="$OMPI_CPPFLAGS $OMPI_STANDIN"
    AS_CASE([$with_plugin_dir],
        [no|yes], [plugindir=$wan_ompi_pkglibdir
                   helpdir=$wan_ompi_pkgdatadir],
        [plugindir=$with_plugin_dir
         helpdir=$with_plugin_dir])
    AC_SUBST([OMPI_CPPFLAGS])
    AC_SUBST([OMPI_LIBS])
    AC_SUBST([plugindir])
    AC_SUBST([wan_ompi_pkglibdir])
    AC_SUBST([helpdir])
    AC_SUBST([wan_ompi_version])
])
