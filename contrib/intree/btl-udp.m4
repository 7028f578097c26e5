# btl/udp as a component of an Open MPI source tree; put there by contrib/intree/into.
# SPDX-License-Identifier: BSD-3-Clause

@macros@

# MCA_opal_btl_udp_CONFIG([action-if-can-compile], [action-if-cant-compile])
AC_DEFUN([MCA_opal_btl_udp_CONFIG], [
    AC_CONFIG_FILES([opal/mca/btl/udp/Makefile])
    WAN_CXX20_FIND
    btl_udp_CXXSTD=$WAN_CXXSTD
    WAN_CX16_FIND
    btl_udp_CFLAGS=$UDP_CFLAGS
    AC_MSG_CHECKING([for libcrypto 3 (btl/udp)])
    wan_save_LIBS=$LIBS
    LIBS="-lcrypto $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <openssl/evp.h>
        #if OPENSSL_VERSION_NUMBER < 0x30000000L
        #error too old
        #endif]], [[return !EVP_aes_128_gcm();]])], [btl_udp_happy=$wan_cxx20], [btl_udp_happy=no])
    LIBS=$wan_save_LIBS
    AC_MSG_RESULT([$btl_udp_happy])
    btl_udp_LIBS=-lcrypto
    btl_udp_CPPFLAGS=
    AC_SUBST([btl_udp_CXXSTD])
    AC_SUBST([btl_udp_CFLAGS])
    AC_SUBST([btl_udp_CPPFLAGS])
    AC_SUBST([btl_udp_LIBS])
    AS_IF([test "$btl_udp_happy" = yes], [$1], [$2])
])dnl
