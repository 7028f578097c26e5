# btl/udp: a C++ core in one no-install library that the plugin and the tests
# link.
# SPDX-License-Identifier: BSD-3-Clause

include opal/mca/btl/udp/core/local.mk

udp_cppflags = $(AM_CPPFLAGS) $(CRYPTO_CFLAGS) -I$(top_srcdir)/opal/mca/btl/udp -I$(top_srcdir)/opal/mca/btl/udp/core

if HAVE_UDP
noinst_LTLIBRARIES += libudp_core.la
endif
libudp_core_la_SOURCES = $(udp_core_sources)
libudp_core_la_CPPFLAGS = $(udp_cppflags)
libudp_core_la_LIBADD = $(CRYPTO_LIBS)
