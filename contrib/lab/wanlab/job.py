# SPDX-License-Identifier: BSD-3-Clause
"""`lab run`: mpirun inside the lab.

mpirun runs on the host `head` of site a, which has no ranks and no NIC limit, and
starts one Open MPI daemon per host through rsh-agent. So every rank gets what the
agent puts into its host's environment; if mpirun ran on a host with ranks, those
would inherit mpirun's environment instead, and anything named OMPI_MCA_* there would
be handed to all hosts alike.
"""
import json
import os
import shutil
import subprocess
import sys

from . import LabError, emulator, network, shape
from .state import kill

# Environment, not arguments: a --mca of the user wins.
MCA = {
    'pml': 'ob1',
    'osc': '^ucx',
    'btl_tcp_if_include': 'eth0',
    'btl_tcp_disable_family': '6',
    'oob_tcp_if_include': 'eth0',
    'oob_tcp_disable_family': '6',
    'coll_hcoll_enable': '0',
    'mpi_yield_when_idle': '1',
    'hwloc_base_binding_policy': 'none',
    'rmaps_base_oversubscribe': '1',
    'orte_keep_fqdn_hostnames': '0',
    'btl_vader_single_copy_mechanism': 'none',
}


def environment(state, options, agent):
    env = {key: value for key, value in os.environ.items()
           if key not in ('DISPLAY', 'OMPI_MCA_coll_wan_cluster_id', 'LD_PRELOAD')
           and not key.startswith('PMIX_')}
    for key, value in MCA.items():
        env.setdefault(f'OMPI_MCA_{key}', value)
    # Shared memory only where ranks share a host.
    env.setdefault('OMPI_MCA_btl', 'tcp,self' if options.ppn == 1 else 'tcp,self,vader')
    env['OMPI_MCA_plm_rsh_agent'] = agent
    env['WAN_LAB_STATE'] = state.dir
    env['WAN_LAB_NAME'] = state.name
    if not options.site_ids:
        env['WAN_LAB_NO_SITE_IDS'] = '1'
    return env


def gives_count(arguments):
    """Do mpirun's own arguments say how many ranks? They end at the first program."""
    for word in arguments:
        if word in ('-n', '-np', '--np', '-c', '--n'):
            return True
        if not word.startswith('-') and (shutil.which(word) or os.path.isfile(word)):
            return False
    return False


def without_plugin(arguments, env):
    """What to tell who runs a job in which coll/wan is neither found nor meant to be left out; else None."""
    words = ' '.join(arguments) + ' ' + env.get('OMPI_MCA_coll', '')
    if '^wan' in words or 'coll_wan_priority' in words:
        return None
    command = ['ompi_info', '--param', 'coll', 'wan', '--level', '9', '--parsable']
    try:
        said = subprocess.run(command, env=env, capture_output=True, text=True, check=False).stdout
    except OSError:
        return None
    if 'coll_wan_priority' in said:
        return None
    build = os.path.abspath(os.environ.get('WAN_BUILD_DIR') or os.environ.get('WAN_BUILD') or 'build')
    return ('Open MPI does not find coll/wan: this job runs without it (--mca coll ^wan says that it shall);\n'
            f'     make install, or export OMPI_MCA_mca_base_component_path={build}/.libs:SYSTEM_DEFAULT')


def run_filtered(command, env):
    """Runs it; of its standard error only mpirun's harmless race warning is left out."""
    process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE)
    for line in process.stderr:
        if b'plm:rsh: Warning: setpgid(' not in line:
            sys.stderr.buffer.write(line)
            sys.stderr.buffer.flush()
    return process.wait()


def run(state, options, arguments, say):
    """Exit status of mpirun; 124 when the time was up."""
    network.check_machine()
    facts = state.load()
    if not arguments:
        raise LabError('nothing to run: lab run [options] [mpirun arguments] PROGRAM')
    if not shutil.which('mpirun'):
        raise LabError("'mpirun' is missing: apt-get install openmpi-bin")
    lock = state.job_lock()
    if lock is None:
        raise LabError('a job runs in this lab already: wait for it, or use another --name')
    ranks = shape.rank_hosts(shape.hosts_of(facts['sizes']), options.placement, options.ppn)
    state.write('hostfile', ''.join(f'{host}\n' for host in ranks))
    env = environment(state, options, os.path.join(emulator.HERE, 'rsh-agent'))
    if options.idle:
        env['WAN_LAB_PRELOAD'] = emulator.tool(state, 'idle.so', say)
        env.setdefault('OMPI_MCA_btl_udp_timer', '1')       # sleepers need a descriptor
        # With shared memory there is no descriptor that tells of a message.
        env.setdefault('WAN_IDLE_US', '2000' if options.ppn == 1 else '50')
    command = ['timeout', '--foreground', '-k', '15', str(options.timeout),
               'mpirun', '--allow-run-as-root', '--hostfile', state.path('hostfile'),
               '--map-by', 'seq', '--bind-to', 'none']
    if not gives_count(arguments):
        command += ['-np', str(len(ranks))]
    command += arguments
    if options.verbose:
        say(' '.join(command))
    missing = without_plugin(arguments, env)
    if missing:
        say(missing)
    if options.stat:
        emulator.ask(state, op='reset')
    try:
        status = run_filtered(network.inside(state, shape.HEAD, command), env)
    except KeyboardInterrupt:
        status = 130
    finally:
        left = kill(state.strangers())
    if status in (124, 137):
        say(f'the job was ended after {options.timeout} s (--timeout)')
    if left and not status:
        say(f'{left} processes of the job were still there and were ended')
    if options.stat:
        report(state, sys.stderr)
    lock.close()
    return status


# -- what the network did

def collect(state, reset=False):
    """The daemon's counters and the NICs' in one dictionary."""
    facts = state.load()
    answer = emulator.ask(state, op='stat', reset=reset)
    nics = network.nic_counters(facts)
    base = {}
    mark = state.path('nic-base.json')
    if os.path.exists(mark):
        with open(mark) as file:
            base = json.load(file)
    answer['nics'] = {name: {'drops': now['drops'] - base.get(name, {}).get('drops', 0),
                             'bytes': now['bytes'] - base.get(name, {}).get('bytes', 0),
                             'backlog': now['backlog']} for name, now in nics.items()}
    if reset:
        state.write('nic-base.json', json.dumps(nics))
    answer['nic_drops'] = sum(nic['drops'] for nic in answer['nics'].values())
    answer['worst_ms'] = max(answer['lateness']['max_us'], answer['wake']['max_us']) / 1000
    answer['late'] = answer['worst_ms'] > 1.0
    return answer


def report(state, out, reset=False):
    answer = collect(state, reset)
    late, wake = answer['lateness'], answer['wake']
    print(f"since reset {answer['seconds']:.1f} s", file=out)
    print(f"{'way':>6} {'delay ms':>9} {'jitter':>7} {'loss':>8} {'packets':>10} {'bytes':>13} {'lost':>7} "
          f"{'dropped':>8} {'late max us':>12}", file=out)
    for pair in answer['pairs']:
        print(f"{pair['from'] + '>' + pair['to']:>6} {pair['delay_ms']:9g} {pair['jitter']:7g} {pair['loss']:8g} "
              f"{pair['packets']:10d} {pair['bytes']:13d} {pair['lost']:7d} "
              f"{pair['queue_drops']:8d} {pair['late_max_us']:12.0f}", file=out)
    dropping = {name: nic['drops'] for name, nic in answer['nics'].items() if nic['drops']}
    print(f"NIC drops {answer['nic_drops']}" +
          (f' ({", ".join(f"{k} {v}" for k, v in dropping.items())})' if dropping else ''), file=out)
    print(f"departures late by: median {late['p50_us']:.0f} us, 99.9% {late['p999_us']:.0f} us, "
          f"max {late['max_us']:.0f} us; wake-ups late by: 99.9% {wake['p999_us']:.0f} us, "
          f"max {wake['max_us']:.0f} us", file=out)
    if answer['late']:
        print(f"LATE: {answer['worst_ms']:.2f} ms at worst since reset; reject what was measured",
              file=out)
