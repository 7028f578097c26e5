"""Where a job runs: in an emulated lab, or by any mpirun.

A job is one mpirun of wanbench_worker; its points arrive as lines while it
runs.  Nothing here decides what is measured; see runner.py.

SPDX-License-Identifier: BSD-3-Clause
"""

import contextlib
import json
import os
import shlex
import signal
import subprocess
import tempfile
import threading

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LAB = os.path.join(os.path.dirname(HERE), 'lab', 'lab')
MARK = 'WANBENCH '


class BenchError(Exception):
    """What the user reads instead of a traceback."""


def build_dir():
    return os.environ.get('WAN_BUILD_DIR') or os.path.join(HERE, '..', '..', 'build')


def program_find(given, *below, make='make tools', option='--program'):
    """The program that was given, or that of the build: build_dir()/below."""
    path = os.path.abspath(given or os.path.join(build_dir(), *below))
    if not os.access(path, os.X_OK):
        raise BenchError(f'{path} is not built: run {make}, set WAN_BUILD_DIR, or give {option}')
    return path


def worker_find(given):
    return program_find(given or os.environ.get('WANBENCH_WORKER'), 'contrib', 'bench', 'wanbench_worker', option='--worker')


def lab(*words):
    """A word to the lab; what it and the job say is in stdout."""
    return subprocess.run([LAB, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


@contextlib.contextmanager
def lab_up(name, *words):
    """A lab of that name for as long as this lasts."""
    up = lab('up', '--name', name, *words)
    if up.returncode:
        raise BenchError(f'the lab did not come up: {up.stdout.strip()}')
    try:
        yield
    finally:
        lab('down', '--name', name)


def plugin_find(given):
    """Directory that holds mca_coll_wan.so; None if there is none."""
    for directory in [given] if given else [os.path.join(build_dir(), '.libs'), build_dir()]:
        directory = os.path.abspath(directory)
        if os.path.exists(os.path.join(directory, 'mca_coll_wan.so')):
            return directory
    return None


class Place:
    """A network and the command that starts ranks in it."""

    placements = ('block',)
    lab = False

    def __init__(self, network):
        self.network = network      # names it in the records

    def command(self, placement, seconds):
        raise NotImplementedError

    def stat(self, reset=True):
        """(lateness in us, dropped packets) since the last reset, or (None, None)."""
        return None, None

    def expected(self):
        """What the user asked the network to be: {'delay_ms': ..., 'nic_mbit': ...}."""
        return {}

    def close(self):
        pass


class MpirunPlace(Place):
    def __init__(self, mpirun, network=None):
        super().__init__(network or mpirun)
        self.words = shlex.split(mpirun)

    def command(self, placement, seconds):
        return list(self.words)


class LabPlace(Place):
    """An emulated network: made here, unless `shape` is 'current'."""

    lab = True

    def __init__(self, shape, options=(), ppn=1, keep=False):
        self.ppn = ppn
        self.made = False
        self.keep = keep
        if shape != 'current':
            answer = self._call('up', shape, *options)
            if answer.returncode:
                raise BenchError(f'the lab did not come up: {answer.stderr.strip()}')
            self.made = True
        lines = self._call('status').stdout.strip().splitlines()
        wanted = os.environ.get('WAN_LAB_NAME', 'lab') + ': '
        mine = [line[len(wanted):] for line in lines if line.startswith(wanted)]
        if not mine:
            raise BenchError('no lab is up: give its shape, as in --lab 2x16')
        self.text = mine[0].rpartition(';')[0]
        super().__init__(self.text + (f', {ppn} ranks a host' if ppn > 1 else ''))

    def _call(self, *words):
        return subprocess.run([LAB, *words], capture_output=True, text=True, check=False)

    def command(self, placement, seconds):
        return [LAB, 'run', '--placement', placement, '--ppn', str(self.ppn),
                '--timeout', str(int(seconds))]

    def stat(self, reset=True):
        answer = self._call('stat', '--json', *(['--reset'] if reset else []))
        try:
            found = json.loads(answer.stdout)
            drops = found['nic_drops'] + sum(p['queue_drops'] for p in found['pairs'])
            return found['worst_ms'] * 1000, drops
        except (ValueError, KeyError):
            return None, None

    def expected(self):
        words = self.text.replace(',', '').split()
        try:
            return {'nic_mbit': float(words[words.index('NIC') + 1]),
                    'delay_ms': float(words[words.index('ms') - 1])}
        except (ValueError, IndexError):
            return {}

    def close(self):
        if self.made and not self.keep:
            self._call('down')
            self.made = False


def environment(plugin_dir):
    env = dict(os.environ)
    env.pop('DISPLAY', None)
    if plugin_dir:      # SYSTEM_DEFAULT is a keyword of Open MPI
        env['OMPI_MCA_mca_base_component_path'] = plugin_dir + ':SYSTEM_DEFAULT'
    return env


class Job:
    """One running worker; iterate over its lines, then read `status` and `errors`."""

    def __init__(self, command, env, seconds):
        self.errors = ''
        self.status = None
        self.timed_out = False
        self._stderr = tempfile.TemporaryFile('w+', errors='replace')
        self._process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True,
                                         errors='replace', stdin=subprocess.DEVNULL,
                                         stderr=self._stderr, start_new_session=True)
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True
        self._timer.start()

    def _expire(self):
        self.timed_out = True
        self.stop()

    def stop(self):
        """Ends the process group that we started, politely first."""
        for sign, patience in ((signal.SIGTERM, 15), (signal.SIGKILL, 5)):
            if self._process.poll() is not None:
                return
            try:
                os.killpg(self._process.pid, sign)
                self._process.wait(patience)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue

    def __iter__(self):
        noise = []
        for text in self._process.stdout:
            at = text.find(MARK)
            if at >= 0:
                try:
                    yield json.loads(text[at + len(MARK):])
                    continue
                except json.JSONDecodeError:
                    pass
            noise.append(text)
        self.status = self._process.wait()
        self._timer.cancel()
        self._stderr.seek(0)
        self.errors = ''.join(noise[-20:]) + self._stderr.read()[-4000:]
        self._stderr.close()
