# The core of btl/udp: C++ without Open MPI and without sockets.
# SPDX-License-Identifier: BSD-3-Clause

udp_core_sources = \
	opal/mca/btl/udp/core/arrivals.hpp \
	opal/mca/btl/udp/core/assembly.cpp \
	opal/mca/btl/udp/core/assembly.hpp \
	opal/mca/btl/udp/core/bbr.cpp \
	opal/mca/btl/udp/core/congestion.cpp \
	opal/mca/btl/udp/core/congestion.hpp \
	opal/mca/btl/udp/core/connection.hpp \
	opal/mca/btl/udp/core/cubic.cpp \
	opal/mca/btl/udp/core/endpoint.cpp \
	opal/mca/btl/udp/core/endpoint.hpp \
	opal/mca/btl/udp/core/fixed.cpp \
	opal/mca/btl/udp/core/grants.cpp \
	opal/mca/btl/udp/core/grants.hpp \
	opal/mca/btl/udp/core/modern.cpp \
	opal/mca/btl/udp/core/modern.hpp \
	opal/mca/btl/udp/core/modern_receive.cpp \
	opal/mca/btl/udp/core/modern_settle.cpp \
	opal/mca/btl/udp/core/pacer.hpp \
	opal/mca/btl/udp/core/path_mtu.hpp \
	opal/mca/btl/udp/core/ring.hpp \
	opal/mca/btl/udp/core/rtt.hpp \
	opal/mca/btl/udp/core/seal.cpp \
	opal/mca/btl/udp/core/seal.hpp \
	opal/mca/btl/udp/core/strict.cpp \
	opal/mca/btl/udp/core/strict.hpp \
	opal/mca/btl/udp/core/types.hpp \
	opal/mca/btl/udp/core/wire.cpp \
	opal/mca/btl/udp/core/wire.hpp \
	opal/mca/btl/udp/core/writer.hpp
