# wan-info: what coll/wan would do, and whether it is well (needs CLI11 and
# nlohmann/json, as the bench).  Its manual page and completion are written by
# itself and kept in the tree: test/info compares.
# SPDX-License-Identifier: BSD-3-Clause

bin_PROGRAMS =
if HAVE_INFO
bin_PROGRAMS += wan-info
dist_man_MANS += contrib/info/wan-info.1
bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = contrib/info/wan-info
endif
# Of the plugin, with or without the tool that wrote it.
dist_man_MANS += contrib/info/coll_wan.7
wan_info_SOURCES = \
	contrib/info/info_check.cpp \
	contrib/info/info_check.hpp \
	contrib/info/info_cluster.cpp \
	contrib/info/info_cluster.hpp \
	contrib/info/info_contention.cpp \
	contrib/info/info_contention.hpp \
	contrib/info/info_doctor.cpp \
	contrib/info/info_doctor.hpp \
	contrib/info/info_draw.cpp \
	contrib/info/info_draw.hpp \
	contrib/info/info_html.hpp \
	contrib/info/info_links.cpp \
	contrib/info/info_links.hpp \
	contrib/info/info_pages.cpp \
	contrib/info/info_pages.hpp \
	contrib/info/info_picture.cpp \
	contrib/info/info_picture.hpp \
	contrib/info/info_plan.cpp \
	contrib/info/info_plan.hpp \
	contrib/info/info_reach.cpp \
	contrib/info/info_reach.hpp \
	contrib/info/info_report.cpp \
	contrib/info/info_report.hpp \
	contrib/info/info_report_page.cpp \
	contrib/info/info_report_pictures.cpp \
	contrib/info/info_report_pictures.hpp \
	contrib/info/info_report_several.cpp \
	contrib/info/info_report_several.hpp \
	contrib/info/info_report_words.cpp \
	contrib/info/info_simulate.cpp \
	contrib/info/info_simulate.hpp \
	contrib/info/info_table.hpp \
	contrib/info/info_words.cpp \
	contrib/info/info_words.hpp \
	contrib/info/wan_info.cpp
nodist_wan_info_SOURCES = contrib/info/installed_text.hpp
wan_info_CPPFLAGS = $(AM_CPPFLAGS) $(contention_cppflags) -I$(top_srcdir)/opal/util -DWAN_HELPDIR='"$(helpdir)"'
wan_info_LDADD = libwan_contention.la libwan_core.la -ldl

# contrib/installed, for the doctor: one text, in whatever directory the tool is.
contrib/info/installed_text.hpp: contrib/installed
	@$(MKDIR_P) contrib/info
	$(AM_V_GEN){ echo 'static const char installed_text[] = R"INSTALLED(' && cat $(top_srcdir)/contrib/installed && echo ')INSTALLED";'; } >$@.new && mv $@.new $@
contrib/info/wan_info-info_doctor.$(OBJEXT): contrib/info/installed_text.hpp
BUILT_SOURCES += contrib/info/installed_text.hpp
CLEANFILES += contrib/info/installed_text.hpp

EXTRA_DIST += \
	contrib/info/README.md \
	contrib/topologies/README.md \
	contrib/topologies/cloud-zones.map \
	contrib/topologies/full-names.map \
	contrib/topologies/links.map \
	contrib/topologies/racks.map \
	contrib/topologies/slurm-topology.conf \
	contrib/topologies/two-sites.map

# Its part without mpirun; the doctor with WAN_STAGE set, see there.
dist_check_SCRIPTS += test/info
TESTS += test/info
