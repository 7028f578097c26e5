"""Runs wansim_worker: in a simulation by smpirun, or (to check its port) by mpirun.

SPDX-License-Identifier: BSD-3-Clause
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

EAGER = 65536           # bytes from which a message waits for its receiver, as Open MPI over TCP

# What wansim_worker can run.
OPERATIONS = ('bcast', 'allreduce', 'reduce', 'barrier', 'scan', 'exscan', 'allgather', 'gather', 'scatter', 'reduce_scatter', 'alltoall')


class SimError(Exception):
    """What the user reads instead of a traceback."""


def build_dir():
    return os.environ.get('WAN_BUILD') or os.environ.get('WAN_BUILD_DIR') or os.path.join(HERE, '..', '..', 'build')


WITHOUT_MPI = 'libsimgrid-dev, libcli11-dev and nlohmann-json3-dev'
NEEDS = {'wantrees_sim': WITHOUT_MPI, 'wanalltoall_sim': WITHOUT_MPI, 'wandiscovery_sim': WITHOUT_MPI}


def built(name):
    path = os.path.abspath(os.path.join(build_dir(), 'contrib', 'sim', name))
    if not os.path.exists(path):
        raise SimError(f'{path} is not built: install {NEEDS.get(name, "libsimgrid-dev")}, configure and make tools, or set WAN_BUILD')
    return path


def options(network):
    """smpirun's: reasons in README.md."""
    overhead = f'0:{network.overhead * 1e-6:.9g}:0'
    chosen = {
        'smpi/coll-selector': 'ompi',
        'smpi/simulate-computation': 'no',
        'smpi/wtime': 0, 'smpi/init': 0,
        'smpi/os': overhead, 'smpi/ois': overhead, 'smpi/or': overhead,
        'smpi/async-small-thresh': EAGER, 'smpi/send-is-detached-thresh': EAGER,
        'network/TCP-gamma': '1e15',
        'network/crosstraffic': 'no',
        'contexts/stack-size': 512 if network.ranks > 512 else 2048,
    }
    return [f'--cfg={key}:{value}' for key, value in chosen.items()]


def run_lines(command, deadline_s, environment=None, cwd=None):
    """Yields the objects that a program prints, each with `seconds` since the one before (of this machine).

    Ends with {'type': 'cut'} where the deadline ended it.  Raises SimError with what it said last.
    Whoever stops listening stops the program."""
    with tempfile.TemporaryFile('w+', encoding='utf-8', errors='replace') as errors:
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment, cwd=cwd,
                                       start_new_session=True)
        except FileNotFoundError as error:
            raise SimError(f'{command[0]} is missing: install libsimgrid-dev') from error
        began = last = time.monotonic()
        timer = threading.Timer(deadline_s, os.killpg, (process.pid, signal.SIGKILL)) if deadline_s else None
        if timer:
            timer.start()
        try:
            for text in process.stdout:
                if text.startswith('{'):
                    now = time.monotonic()
                    yield dict(json.loads(text), seconds=round(now - last, 3))
                    last = now
            code = process.wait()
        finally:
            if timer:
                timer.cancel()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if code and deadline_s and time.monotonic() - began >= deadline_s:
            yield {'type': 'cut', 'seconds': round(time.monotonic() - last, 3)}
        elif code:
            errors.seek(0)
            raise SimError(f'{os.path.basename(command[0])} ended with {code}: ' + errors.read()[-2000:].strip())


def told(args, known):
    """Arguments of a program for what wansim was told of the network; `known` maps wansim's options to the program's."""
    for name in ('nic', 'uplink', 'lan', 'delay', 'overhead', 'fifo', 'burst', 'cores', 'core', 'facts'):
        if name not in known and getattr(args, name) is not None:
            raise ValueError(f'--{name} is not for {args.command}')
    given = {option: getattr(args, name) for name, option in known.items() if getattr(args, name) is not None}
    return [word for option, value in given.items() for word in (option, f'{value:g}')]


def recorded(kept, key, command, deadline_s, name):
    """What a program printed, each object with what is in `key`: what `kept` (Records) holds of a run that
    ended well, or else a new run, kept line by line.  The last one's type is 'end' unless it was cut.  `name`: for people."""
    def matches(record):
        return all(record.get(k) == v for k, v in key.items())

    known = [r for r in kept.lines if matches(r)]
    ended = [r.get('run') for r in known if r['type'] == 'end' and not r.get('wrong')]
    if ended:
        return [r for r in known if r.get('run') == ended[0]]
    run = 1 + max((r.get('run', 0) for r in known), default=0)
    new = []
    print(f'... {name}', file=sys.stderr)
    for line in run_lines(command, deadline_s):
        new.append(dict(key, run=run, **line))
        kept.append(new[-1])
    if not new or new[-1]['type'] != 'end':
        print(f'  {name}: CUT, it took more than {deadline_s:g} s', file=sys.stderr)
    return new


def job(network, placement, points, facts=None, fold_over=None, rounds=1, deadline_s=None, mpirun=None, smpi=()):
    """Yields the worker's objects, each with `seconds` since the one before (of this machine).

    Ends with {'type': 'cut'} where the deadline ended it.  Raises SimError."""
    with tempfile.TemporaryDirectory(prefix='wansim-') as scratch:
        hosts = os.path.join(scratch, 'hosts')
        with open(hosts, 'w', encoding='ascii') as file:
            file.write(''.join(host + '\n' for host in network.placed(placement)))
        work = ['--hosts', hosts, '--rounds', str(rounds)]
        if facts:
            work += ['--facts', ','.join(map(str, facts))]
        if fold_over is not None:
            work += ['--fold-over', str(fold_over)]
        environment = dict(os.environ)
        if mpirun:
            command = mpirun + ['-np', str(network.ranks), built('wansim_mpi'), '--lead', '0.05'] + work + points
        else:
            environment['WANSIM_PLATFORM'] = network.environment()
            command = [os.environ.get('SMPIRUN', 'smpirun'), '-quiet', '-no-privatize', '-np', str(network.ranks),
                       '-platform', built('sim_platform.so'), '-hostfile', hosts,
                       *options(network), *(f'--cfg={word}' for word in smpi), '--log=root.thres:warning', built('wansim_worker.so'), *work, *points]
        yield from run_lines(command, deadline_s, environment, scratch)


def measure_facts(network):
    """What the core's own probe finds on two small sites with the same links: it looks at
    single pairs and at steps of a site, whose size changes nothing where processors are not shared."""
    import dataclasses
    small = dataclasses.replace(network, sites=2, hosts=min(network.hosts, 16))
    for line in job(small, 'block', []):
        if line['type'] == 'facts':
            return line['values'][:6]       # not those of the one pair of sites
    raise SimError('the links could not be measured')
