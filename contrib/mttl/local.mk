# The mttl library: headers only.
# SPDX-License-Identifier: BSD-3-Clause

mttldir = $(includedir)/mttl
dist_mttl_HEADERS = \
	contrib/mttl/mttl/context.hpp \
	contrib/mttl/mttl/exception.hpp \
	contrib/mttl/mttl/future.hpp \
	contrib/mttl/mttl/global_ptr.hpp \
	contrib/mttl/mttl/group.hpp \
	contrib/mttl/mttl/invoke.hpp \
	contrib/mttl/mttl/landing.hpp \
	contrib/mttl/mttl/memory_job.hpp \
	contrib/mttl/mttl/memory_port.hpp \
	contrib/mttl/mttl/mpi_port.hpp \
	contrib/mttl/mttl/mpi_run.hpp \
	contrib/mttl/mttl/mttl.hpp \
	contrib/mttl/mttl/node.hpp \
	contrib/mttl/mttl/port.hpp \
	contrib/mttl/mttl/registry.hpp \
	contrib/mttl/mttl/runtime.hpp \
	contrib/mttl/mttl/serial.hpp \
	contrib/mttl/mttl/stack.hpp \
	contrib/mttl/mttl/sync.hpp \
	contrib/mttl/mttl/thread.hpp \
	contrib/mttl/mttl/wire.hpp
