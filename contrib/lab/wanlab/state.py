# SPDX-License-Identifier: BSD-3-Clause
"""A lab's state directory and the processes recorded in it.

A process is recorded before anything else is done with it, as 'PID STARTTIME NETNS
ROLE'; the start time tells it from a later process with the same number. So `lab
down` finds everything also after a crash.
"""
import fcntl
import json
import os
import shutil
import signal
import time

from . import LabError

RUN = '/run'
PREFIX = 'wan-lab-'


def start_time(pid):
    try:
        with open(f'/proc/{pid}/stat') as stat:
            fields = stat.read().rpartition(')')[2].split()
    except OSError:
        return None
    return None if fields[0] == 'Z' else int(fields[19])


def netns_inode(pid):
    try:
        return os.stat(f'/proc/{pid}/ns/net').st_ino
    except OSError:
        return None


class State:
    def __init__(self, name):
        if not name.replace('-', '').replace('_', '').isalnum():
            raise LabError(f"'{name}' is no name for a lab: letters, digits, - and _ only")
        self.name = name
        self.dir = os.path.join(RUN, PREFIX + name)

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def exists(self):
        return os.path.isdir(self.dir)

    def write(self, name, text):
        with open(self.path(name), 'w') as file:
            file.write(text)

    # -- what the lab is

    def save(self, facts):
        self.write('lab.json.new', json.dumps(facts, indent=1) + '\n')
        os.rename(self.path('lab.json.new'), self.path('lab.json'))

    def load(self):
        try:
            with open(self.path('lab.json')) as file:
                return json.load(file)
        except FileNotFoundError:
            hint = ' (it was not completed: lab down first)' if self.exists() else ''
            name = '' if self.name == 'lab' else f" '{self.name}'"
            raise LabError(f'no lab{name} is up{hint}; start one with: lab up 2x4') from None

    # -- its processes

    def record(self, pid, role):
        with open(self.path('pids'), 'a') as file:
            file.write(f'{pid} {start_time(pid)} {netns_inode(pid)} {role}\n')

    def recorded(self):
        """[(pid, alive, netns, role), ...]; a namespace entered later wins."""
        try:
            with open(self.path('pids')) as file:
                lines = [line.split() for line in file if line.endswith('\n')]
        except FileNotFoundError:
            return []
        found = {}
        for pid, started, netns, role in lines:
            alive = str(start_time(int(pid))) == started
            found[pid] = (int(pid), alive, int(netns) if netns.isdigit() else None, role)
        return list(found.values())

    def namespaces(self):
        return {netns_inode(pid) if alive else netns for pid, alive, netns, role in self.recorded()
                if role.startswith(('host:', 'switch:'))} - {None}

    def strangers(self):
        """Processes inside our namespaces that are not the recorded ones."""
        ours = self.namespaces() - {netns_inode('self'), netns_inode(1)}
        for other in labs():
            if other != self.name:
                ours -= {netns_inode(pid) for pid, alive, _, _ in State(other).recorded() if alive}
        known = {pid for pid, alive, _, _ in self.recorded() if alive}
        return [int(pid) for pid in os.listdir('/proc') if pid.isdigit()
                and int(pid) not in known and netns_inode(pid) in ours and start_time(pid)]

    def kill_all(self):
        """Ends all processes in the namespaces, then the recorded ones; returns how many."""
        count = kill(self.strangers())
        count += kill([pid for pid, alive, _, _ in self.recorded() if alive])
        return count

    def remove(self):
        shutil.rmtree(self.dir, ignore_errors=True)

    def job_lock(self):
        """Held while a job runs; None when another one runs."""
        lock = open(self.path('job.lock'), 'w')
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        return lock


def labs():
    """Names of the labs that have a state directory."""
    return sorted(entry[len(PREFIX):] for entry in os.listdir(RUN) if entry.startswith(PREFIX))


def kill(pids, patience=3.0):
    """SIGTERM, then SIGKILL; returns how many there were."""
    born = {pid: start_time(pid) for pid in pids}
    left = [pid for pid in pids if born[pid]]
    count = len(left)
    for signum in (signal.SIGTERM, signal.SIGKILL):
        for pid in left:
            try:
                os.kill(pid, signum)
            except ProcessLookupError:
                pass
        end = time.monotonic() + patience
        while left and time.monotonic() < end:
            time.sleep(0.005)
            left = [pid for pid in left if start_time(pid) == born[pid]]
    if left:
        raise LabError('processes that do not end: ' + ' '.join(map(str, left)))
    return count
