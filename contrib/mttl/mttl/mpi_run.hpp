/*
 * The start of a program over MPI:
 *
 *   int main(int argc, char **argv)
 *   {
 *       return mttl::run(argc, argv, [](int, char **) { ...; return 0; });
 *   }
 *
 * MPI is initialised unless the program has done so; then the program ends it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MTTL_MPI_RUN_HPP
#define MTTL_MPI_RUN_HPP

#include "mpi_port.hpp"
#include "runtime.hpp"

#include <algorithm>

namespace [[gnu::visibility("default")]] mttl {

/** Runs main(argc, argv) on node 0, the others serve; or on all nodes (start::spmd). */
template <class Main> int run(int argc, char **argv, Main main, const options &o)
{
    options enough = o;
    if (o.node.collective != collectives::own)
        enough.node.stacks.bytes = std::max(o.node.stacks.bytes, stack_options::for_collectives);
    mpi_port p(&argc, &argv, o.small);
    if (!o.unknown.empty() && p.node() == 0)
        std::fprintf(stderr, "mttl: nobody reads %s; there are MTTL_STACK_BYTES, MTTL_GUARDED_STACKS, MTTL_SMALL_BYTES, MTTL_WINDOW and MTTL_COLLECTIVES\n",
                     o.unknown.c_str());
    return run(p, [=]() mutable { return main(argc, argv); }, enough);
}
template <class Main> int run(int argc, char **argv, Main main, start mode = start::main_on_zero)
{
    options o;
    try {
        o = options::from_environment();
    } catch (const error &e) {      // said by a job that has started, so that its launcher ends it in order
        mpi_port p(&argc, &argv, o.small);
        std::fprintf(stderr, "mttl: %s\n", e.what());
        p.abort(1);
    }
    o.mode = mode;
    return run(argc, argv, main, o);
}

} // namespace mttl

#endif
