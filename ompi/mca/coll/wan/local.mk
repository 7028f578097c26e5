# The plugin: C glue that sees Open MPI, and the C++ core in one no-install
# library that tests and tools link too.
# SPDX-License-Identifier: BSD-3-Clause

include ompi/mca/coll/wan/core/local.mk

# A number for all that the ranks of a job must have in common: builds from
# other sources may plan otherwise, take other tags or ask each other otherwise.
wan_source_id.h: $(core_sources) ompi/mca/coll/wan/wan_core.h $(mca_coll_wan_la_SOURCES)
	$(AM_V_GEN){ cat $^ | cksum | awk '{ print "#define WAN_SOURCE_ID " $$1 "u" }' && echo '/* of $(^F) */'; } >$@.new && mv $@.new $@
ompi/mca/coll/wan/core/core.lo ompi/mca/coll/wan/core/topo/card.lo: wan_source_id.h
BUILT_SOURCES += wan_source_id.h
CLEANFILES += wan_source_id.h

noinst_LTLIBRARIES += libwan_core.la
libwan_core_la_SOURCES = ompi/mca/coll/wan/wan_core.h ompi/mca/coll/wan/wan_report.h $(core_sources)

plugin_LTLIBRARIES = mca_coll_wan.la
mca_coll_wan_la_SOURCES = \
	ompi/mca/coll/wan/coll_wan.h \
	ompi/mca/coll/wan/coll_wan_args.h \
	ompi/mca/coll/wan/coll_wan_run.h \
	ompi/mca/coll/wan/coll_wan_call.c \
	ompi/mca/coll/wan/coll_wan_compat.h \
	ompi/mca/coll/wan/coll_wan_component.c \
	ompi/mca/coll/wan/coll_wan_counters.c \
	ompi/mca/coll/wan/coll_wan_discover.c \
	ompi/mca/coll/wan/coll_wan_entry.c \
	ompi/mca/coll/wan/coll_wan_finalize.c \
	ompi/mca/coll/wan/coll_wan_keep.c \
	ompi/mca/coll/wan/coll_wan_line.c \
	ompi/mca/coll/wan/coll_wan_links.c \
	ompi/mca/coll/wan/coll_wan_machine.c \
	ompi/mca/coll/wan/coll_wan_mail.c \
	ompi/mca/coll/wan/coll_wan_message.c \
	ompi/mca/coll/wan/coll_wan_module.c \
	ompi/mca/coll/wan/coll_wan_neighbors.c \
	ompi/mca/coll/wan/coll_wan_peers.c \
	ompi/mca/coll/wan/coll_wan_port_pml.c \
	ompi/mca/coll/wan/coll_wan_progress.c \
	ompi/mca/coll/wan/coll_wan_report.c \
	ompi/mca/coll/wan/coll_wan_request.c \
	ompi/mca/coll/wan/coll_wan_request.h \
	ompi/mca/coll/wan/coll_wan_run.c \
	ompi/mca/coll/wan/coll_wan_trees.c \
	ompi/mca/coll/wan/coll_wan_tune.c \
	ompi/mca/coll/wan/coll_wan_ways.c \
	ompi/mca/coll/wan/coll_wan_ways.h \
	ompi/mca/coll/wan/wan_report.h
# Never compiled: makes Automake link with the C++ compiler.
nodist_EXTRA_mca_coll_wan_la_SOURCES = dummy.cxx
mca_coll_wan_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/opal/util $(OMPI_CPPFLAGS) \
	-DWAN_HELPDIR='"$(helpdir)"' \
	-DWAN_VERSION_MAJOR=$(WAN_VERSION_MAJOR) -DWAN_VERSION_MINOR=$(WAN_VERSION_MINOR) \
	-DWAN_VERSION_RELEASE=$(WAN_VERSION_RELEASE)
# Components are loaded lazily: without -z now, a missing symbol shows when it
# is first called, in the middle of a job.
mca_coll_wan_la_LDFLAGS = -module -avoid-version -shared -Wl,-z,now
mca_coll_wan_la_LIBADD = libwan_core.la $(OMPI_LIBS)

dist_help_DATA = ompi/mca/coll/wan/help-mpi-coll-wan.txt

EXTRA_DIST += \
	ompi/mca/coll/wan/standin/README \
	ompi/mca/coll/wan/standin/ompi/mpi/fortran/base/fint_2_int.h \
	ompi/mca/coll/wan/standin/opal/mca/threads/pthreads/threads_pthreads.h \
	ompi/mca/coll/wan/standin/opal/mca/threads/pthreads/threads_pthreads_mutex.h \
	ompi/mca/coll/wan/standin/opal/mca/threads/pthreads/threads_pthreads_threads.h \
	ompi/mca/coll/wan/standin/opal/mca/threads/pthreads/threads_pthreads_tsd.h

# libtool would leave the .la file in Open MPI's component directory, where
# nothing else has one.
install-data-hook:
	rm -f $(DESTDIR)$(plugindir)/mca_coll_wan.la $(DESTDIR)$(plugindir)/mca_btl_udp.la
	@test -n "$(DESTDIR)" || test "$(plugindir)" != "$(wan_ompi_pkglibdir)" || \
	    MPIRUN='$(MPIRUN)' OMPI_INFO='$(OMPI_INFO)' $(top_srcdir)/contrib/installed || :
	@test -n "$(DESTDIR)" || test "$(plugindir)" = "$(wan_ompi_pkglibdir)" || \
	    echo 'coll/wan: for jobs to find it there: export OMPI_MCA_mca_base_component_path=$(plugindir):SYSTEM_DEFAULT'
uninstall-hook:
	rm -f $(DESTDIR)$(plugindir)/mca_coll_wan.so $(DESTDIR)$(plugindir)/mca_btl_udp.so
	@for d in $(wandir) $(mttldir); do rmdir $(DESTDIR)$$d 2>/dev/null || :; done
# What else is empty now, where the prefix is nobody else's: an empty /usr/local/share is not ours to take away.
	@case $(prefix) in /usr | /usr/local | /) exit ;; esac; \
	for d in $(bindir) $(bashcompletiondir) $(pkgconfigdir) $(includedir) $(mandir)/man1 $(mandir)/man7 $(plugindir) $(helpdir); do \
	    while case $$d in $(prefix)/*) ;; *) false ;; esac && rmdir $(DESTDIR)$$d 2>/dev/null; do d=$${d%/*}; done; \
	done
