# The mttl library: headers only.
# SPDX-License-Identifier: BSD-3-Clause

mttldir = $(includedir)/mttl
dist_mttl_HEADERS = \
	contrib/mttl/mttl/context.hpp \
	contrib/mttl/mttl/exception.hpp \
	contrib/mttl/mttl/future.hpp \
	contrib/mttl/mttl/invoke.hpp \
	contrib/mttl/mttl/memory_port.hpp \
	contrib/mttl/mttl/mpi_port.hpp \
	contrib/mttl/mttl/node.hpp \
	contrib/mttl/mttl/port.hpp \
	contrib/mttl/mttl/registry.hpp \
	contrib/mttl/mttl/serial.hpp \
	contrib/mttl/mttl/stack.hpp \
	contrib/mttl/mttl/thread.hpp \
	contrib/mttl/mttl/wire.hpp
