# Spack recipe: copy to var/spack/repos/*/packages/wan-ompi/package.py, then `spack install wan-ompi`,
# and where the plugins are loaded: `spack load wan-ompi`.
# SPDX-License-Identifier: BSD-3-Clause

from spack.package import *


class WanOmpi(AutotoolsPackage):
    """Open MPI's collectives across sites (coll/wan), and a transport over UDP (btl/udp)."""

    # A release's tarball (make dist) in this directory; from a checkout: spack dev-build wan-ompi@main
    manual_download = True

    license("BSD-3-Clause")

    version("main")
    version("0.1.0")

    variant("udp", default=True, description="btl/udp, which seals its datagrams with libcrypto")
    variant("info", default=True, description="wan-info")
    variant("mttl", default=False, description="the headers of mttl")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("autoconf", type="build", when="@main")
    depends_on("automake", type="build", when="@main")
    depends_on("libtool", type="build", when="@main")
    depends_on("pkgconfig", type="build")
    # Its internal headers: Open MPI built with --with-devel-headers.
    depends_on("openmpi@4.1:5.0")
    depends_on("pmix", when="^openmpi@5:")
    depends_on("hwloc")
    depends_on("libevent")
    depends_on("openssl@3:", when="+udp")
    depends_on("cli11", when="+info")
    depends_on("nlohmann-json", when="+info")

    conflicts("%gcc@:9", msg="the core is C++20")

    def autoreconf(self, spec, prefix):
        which("sh")("./autogen.sh")

    def configure_args(self):
        # Not into Open MPI's own prefix, which is another package's.
        return (
            [
                "--with-ompi=" + self.spec["openmpi"].prefix,
                "--with-plugin-dir=" + self.prefix.lib.openmpi,
            ]
            + self.with_or_without("udp")
            + self.with_or_without("info")
            + self.with_or_without("mttl")
        )

    def setup_run_environment(self, env):
        env.set("OMPI_MCA_mca_base_component_path", self.prefix.lib.openmpi + ":SYSTEM_DEFAULT")
