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

udp_io_sources = \
	opal/mca/btl/udp/udp_core.h \
	opal/mca/btl/udp/io/card.cpp \
	opal/mca/btl/udp/io/card.hpp \
	opal/mca/btl/udp/io/devices.cpp \
	opal/mca/btl/udp/io/devices.hpp \
	opal/mca/btl/udp/io/engine.cpp \
	opal/mca/btl/udp/io/host.cpp \
	opal/mca/btl/udp/io/knobs.cpp \
	opal/mca/btl/udp/io/socket.cpp \
	opal/mca/btl/udp/io/socket.hpp \
	opal/mca/btl/udp/io/timer.hpp

if HAVE_UDP
noinst_LTLIBRARIES += libudp_io.la
endif
libudp_io_la_SOURCES = $(udp_io_sources)
libudp_io_la_CPPFLAGS = $(udp_cppflags)
libudp_io_la_LIBADD = libudp_core.la

# For programs: flow control per peer.
wandir = $(includedir)/openmpi-wan
udp_flow_headers = opal/mca/btl/udp/udp_flow.h opal/mca/btl/udp/udp_flow.hpp
EXTRA_DIST += opal/mca/btl/udp/udp_flow.hpp
if HAVE_UDP
wan_HEADERS = $(udp_flow_headers)
endif

if HAVE_UDP
plugin_LTLIBRARIES += mca_btl_udp.la
dist_help_DATA += opal/mca/btl/udp/help-mpi-btl-udp.txt
dist_man_MANS += opal/mca/btl/udp/btl_udp.7
endif
# Linked as C++.
nodist_EXTRA_mca_btl_udp_la_SOURCES = dummy.cxx
mca_btl_udp_la_SOURCES = \
	opal/mca/btl/udp/btl_udp.h \
	opal/mca/btl/udp/btl_udp_compat.h \
	opal/mca/btl/udp/btl_udp_component.c \
	opal/mca/btl/udp/btl_udp_flow.c \
	opal/mca/btl/udp/btl_udp_module.c \
	opal/mca/btl/udp/btl_udp_watch.c \
	opal/mca/btl/udp/udp_flow.h
mca_btl_udp_la_CPPFLAGS = $(udp_cppflags) -I$(top_srcdir)/opal/util $(OMPI_CPPFLAGS) -DWAN_HELPDIR='"$(helpdir)"'
mca_btl_udp_la_CFLAGS = $(AM_CFLAGS) $(UDP_CFLAGS)
mca_btl_udp_la_LDFLAGS = -module -avoid-version -shared -Wl,-z,now
mca_btl_udp_la_LIBADD = libudp_io.la $(OMPI_LIBS)
EXTRA_DIST += opal/mca/btl/udp/help-mpi-btl-udp.txt opal/mca/btl/udp/README.md opal/mca/btl/udp/btl_udp.7.in
