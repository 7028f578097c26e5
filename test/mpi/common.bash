# What the scripts that run jobs on this host share: the environment in which
# Open MPI finds the staged plugin, and a counter of results.  Sourced.
#
# SPDX-License-Identifier: BSD-3-Clause

WAN_SRC=${WAN_SRC:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
WAN_BUILD=${WAN_BUILD:-$PWD}
WAN_STAGE=${WAN_STAGE:-$WAN_BUILD/test/stage}
MPIRUN=${MPIRUN:-mpirun}
OMPI_INFO=${OMPI_INFO:-ompi_info}
export WAN_SRC WAN_BUILD WAN_STAGE

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_MCA_mpi_yield_when_idle=1
unset DISPLAY
# Ranks do not open what talks to networks that are not here: a quarter of the time to start one.  (The lab names its own
# btl.)  test/mpi/selection, test/mpi/counters, test/install and
# test/packages try all components.
export OMPI_MCA_pml=${OMPI_MCA_pml:-ob1} OMPI_MCA_osc=${OMPI_MCA_osc:-^ucx} OMPI_MCA_atomic=${OMPI_MCA_atomic:-^ucx}
[[ $0 != *test/mpi/* ]] || export OMPI_MCA_btl=${OMPI_MCA_btl:-^openib,ofi,uct}
all_components() { unset OMPI_MCA_pml OMPI_MCA_osc OMPI_MCA_atomic OMPI_MCA_btl; }

# plugins_from DIRECTORY: Open MPI's own components and those of DIRECTORY.
# In 5.0 (Debian 13), mpirun's PMIx hands its own component path to every
# process under Open MPI's name, unless it was given one itself.
plugins_from() {
    local pmix
    export OMPI_MCA_mca_base_component_path=$1:SYSTEM_DEFAULT
    for pmix in /usr/lib/*/pmix2/lib/pmix; do
        [[ -d $pmix ]] && export PMIX_MCA_mca_base_component_path=$pmix
    done
}
if [[ $0 == *mpi/* || $0 == *lab/* || $0 == *udp/*jobs ]] && [[ ! -f $WAN_STAGE/mca_coll_wan.so ]]; then
    echo "${0##*/}: there is no plugin in $WAN_STAGE: 'make stage' in the build directory puts it there; start this in that directory, or with WAN_BUILD naming it"
    exit 1
fi
plugins_from "$WAN_STAGE"

# On one host, shared memory does; 5.0 calls it sm, 4.1 vader.
ompi_series=$("$OMPI_INFO" --version 2>/dev/null | sed -n 's/^Open MPI v\([0-9]*\.[0-9]*\).*/\1/p')

# told COMMAND...: its output in $output, its exit code in $code.  Again, up to six times, where ORTE of
# Open MPI 4.1.4 has lost a message of Open MPI's own for users, which it does now and then.  (Ours do not go by ORTE.)
told() {
    local attempt
    for attempt in 1 2 3 4 5 6; do
        output=$("$@" 2>&1)
        code=$?
        grep -q 'ORTE_ERROR_LOG.*show_help' <<<"$output" || return 0
        echo "ORTE lost a message for users (attempt $attempt): the job again" >&2
    done
}

# Jobs may take so many times what they are given elsewhere: where transports are slow, or the machine busy.
patience=${WAN_TEST_PATIENCE:-1}

passed=0 failed=0
pass() { passed=$((passed + 1)); }
fail() {
    failed=$((failed + 1))
    echo "FAILED: $1"
    [[ -n ${2:-} ]] && sed 's/^/    /' <<<"$2"
    return 0
}
finish() {
    echo "$passed passed, $failed failed"
    [[ $failed == 0 ]]
    exit
}
