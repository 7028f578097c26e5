# What a placement on a fat tree leaves to exchanges of all with all: of wan-info, the simulator and tests, not of the plugin.
# SPDX-License-Identifier: BSD-3-Clause

EXTRA_LTLIBRARIES += libwan_contention.la
CLEANFILES += libwan_contention.la
libwan_contention_la_SOURCES = \
	contrib/contention/fabric.cpp \
	contrib/contention/fabric.hpp \
	contrib/contention/fat_tree.cpp \
	contrib/contention/fat_tree.hpp
contention_cppflags = -I$(top_srcdir)/contrib
libwan_contention_la_CPPFLAGS = $(AM_CPPFLAGS) $(contention_cppflags)
