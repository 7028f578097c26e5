# The lab: the WAN daemon, the preloaded idle library, and scripts.
# Built where it can run; elsewhere `lab` says what is missing.
# SPDX-License-Identifier: BSD-3-Clause

tool_programs += contrib/lab/wanemu
contrib_lab_wanemu_SOURCES = \
	contrib/lab/wanemu.cpp \
	contrib/lab/emu/control.cpp \
	contrib/lab/emu/daemon.cpp \
	contrib/lab/emu/daemon.h \
	contrib/lab/emu/flat_json.cpp \
	contrib/lab/emu/flat_json.h \
	contrib/lab/emu/lateness.h \
	contrib/lab/emu/link.h \
	contrib/lab/emu/packet.h \
	contrib/lab/emu/path.cpp \
	contrib/lab/emu/path.h \
	contrib/lab/emu/tun.cpp \
	contrib/lab/emu/tun.h
contrib_lab_wanemu_CPPFLAGS =

# -rpath makes libtool build a shared object of a library that is not installed.
EXTRA_LTLIBRARIES += contrib/lab/idle.la
tool_files += contrib/lab/idle.la
contrib_lab_idle_la_SOURCES = contrib/lab/idle.c
contrib_lab_idle_la_CPPFLAGS =
contrib_lab_idle_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere

EXTRA_DIST += \
	contrib/lab/README.md \
	contrib/lab/calibrate.c \
	contrib/lab/lab \
	contrib/lab/rsh-agent \
	contrib/lab/wanlab/__init__.py \
	contrib/lab/wanlab/cli.py \
	contrib/lab/wanlab/emulator.py \
	contrib/lab/wanlab/job.py \
	contrib/lab/wanlab/network.py \
	contrib/lab/wanlab/shape.py \
	contrib/lab/wanlab/state.py

check_PROGRAMS += test/lab/path_test
TESTS += test/lab/path_test
test_lab_path_test_SOURCES = \
	test/lab/path_test.cpp \
	contrib/lab/emu/flat_json.cpp \
	contrib/lab/emu/path.cpp
test_lab_path_test_CPPFLAGS =
dist_check_SCRIPTS += test/lab/shape_test test/lab/lab_test test/lab/collectives_jobs test/lab/discover_jobs test/lab/drift_jobs test/lab/trees_jobs test/lab/widths_jobs
TESTS += test/lab/shape_test
