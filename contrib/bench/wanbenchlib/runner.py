"""Interleaved fresh jobs: job 1 of every setting, job 2 of every setting, ...

Whatever disturbs the machine for a while then hits all settings alike.  Every
point is appended to the records as soon as it arrives; what is in there is
skipped, so that a stopped sweep goes on where it was.

SPDX-License-Identifier: BSD-3-Clause
"""

import collections
import dataclasses
import os
import sys
import time

from . import records as rec
from . import statistics
from .jobs import BenchError, Job, environment
from .sizes import size_text

SETTLE_MS = 300         # between points: the emulator's counters are read there
CLEAR_FACTOR = 2.0      # an opponent this much slower ...
CLEAR_SPREAD = 0.15     # ... with a spread below this ...
CLEAR_JOBS = 2          # ... gets no more jobs than these


@dataclasses.dataclass
class Plan:
    settings: list
    ops: list
    sizes: list
    roots: list
    modes: list                 # 'warm', 'cold'
    placements: list
    jobs: int = 5
    rounds: int = 10
    point_seconds: float = 10.0
    reference: str = ''
    full: bool = False          # no opponent is spared
    retries: int = 1            # of points that the emulator spoilt
    type: str = 'auto'
    worker_args: tuple = ()

    def points(self, setting):
        for op in self.ops:
            if setting.ops and op not in setting.ops:
                continue
            roots = self.roots if op.removeprefix('i') in ROOTED else [0]
            for mode in self.modes:
                for root in roots:
                    for size in [0] if op == 'barrier' else self.sizes:
                        yield op, size, root, mode


ROOTED = ('bcast', 'reduce', 'gather', 'gatherv', 'scatter', 'scatterv')


class Sweep:
    def __init__(self, plan, place, worker, plugin_dir, records, say=None):
        self.plan = plan
        self.place = place
        self.worker = worker
        self.plugin_dir = plugin_dir
        self.records = records
        self.say = say or (lambda text: print(text, file=sys.stderr, flush=True))
        self.failures = 0
        self.wrong = 0
        self.late = 0
        self.spared = set()
        self._seen = set()          # keys that arrived in this run, good or spoilt
        self._costs = collections.defaultdict(list)     # (setting, op, size, mode) -> seconds
        self._job_cost = [6.0]
        for line in records.points():
            if 'seconds' in line:
                self._cost_note(line)

    # -- what is left to do

    def key(self, setting, placement, job, point):
        op, size, root, mode = point
        return (self.place.network, placement, setting.name, tuple(setting.command), job, op,
                size, root, mode)

    def clear_case(self, setting, placement, point):
        """Is this opponent so far behind that more jobs tell nothing new?"""
        if self.plan.full or not self.plan.reference or setting.name == self.plan.reference:
            return False
        op, size, root, mode = point
        found = {}
        for line in self.records.points():
            if (line['network'], line['placement'], line['op'], line['bytes'], line['root'],
                    line['mode']) == (self.place.network, placement, op, size, root, mode) \
                    and not rec.is_late(line):
                found.setdefault(line['setting'], []).append(rec.point_time_us(line))
        own, ours = found.get(setting.name, []), found.get(self.plan.reference, [])
        if min(len(own), len(ours)) < CLEAR_JOBS:
            return False
        return min(own) > CLEAR_FACTOR * max(ours) and \
            statistics.summarize(own).spread < CLEAR_SPREAD

    def todo(self, setting, placement, job):
        left = []
        for point in self.plan.points(setting):
            if self.records.done(self.key(setting, placement, job, point)):
                continue
            if self.clear_case(setting, placement, point):
                self.spared.add((setting.name, placement) + point)
                continue
            left.append(point)
        return left

    def slots(self):
        for job in range(1, self.plan.jobs + 1):
            for placement in self.plan.placements:
                for setting in self.plan.settings:
                    yield job, placement, setting

    # -- time

    def _cost_note(self, line):
        self._costs[line['setting'], line['op'], line['bytes'], line['mode']].append(line['seconds'])

    def cost(self, setting, point):
        op, size, _, mode = point
        known = self._costs.get((setting.name, op, size, mode))
        if not known:
            known = [c for (_, o, b, m), cs in self._costs.items() if (o, b, m) == (op, size, mode)
                     for c in cs]
        return statistics.median(known) if known else min(self.plan.point_seconds, 4.0)

    def remaining_seconds(self):
        total = 0.0
        for job, placement, setting in self.slots():
            keys = {p: self.key(setting, placement, job, p) for p in self.plan.points(setting)}
            left = [p for p, key in keys.items()
                    if not self.records.done(key) and key not in self._seen]
            if left:
                total += statistics.median(self._job_cost) + \
                    sum(self.cost(setting, p) for p in left)
        return total

    # -- running

    def run(self):
        for job, placement, setting in self.slots():
            for attempt in range(1 + self.plan.retries):
                left = self.todo(setting, placement, job)
                if not left:
                    break
                if attempt:
                    self.say(f'again: {setting.name} {placement}, {len(left)} points')
                self.run_job(setting, placement, job, left)
        if self.spared:
            self.say(f'{len(self.spared)} points of opponents over {CLEAR_FACTOR:g}x slower with '
                     f'a spread below {CLEAR_SPREAD:.0%} got {CLEAR_JOBS} jobs only '
                     '(n= in the table; --full measures them all)')
        return self.failures == 0 and self.wrong == 0

    def command(self, setting, placement, points, seconds):
        plan = self.plan
        words = self.place.command(placement, seconds) + list(setting.command) + [self.worker]
        words += ['--point-seconds', str(plan.point_seconds), '--type', plan.type,
                  '--settle', str(SETTLE_MS if self.place.lab else 0), *plan.worker_args]
        return words + [f'{op}:{size}:{root}:{mode}:{plan.rounds}'
                        for op, size, root, mode in points]

    def run_job(self, setting, placement, number, points):
        if setting.plugin and not self.plugin_dir:
            raise BenchError(f"setting '{setting.name}' needs the plugin: build it, or give "
                             '--plugin-dir with the directory of mca_coll_wan.so')
        seconds = 120 + sum(2 * self.plan.point_seconds + 60 for _ in points)
        env = environment(self.plugin_dir if setting.plugin else None)
        identity = {'network': self.place.network, 'placement': placement,
                    'setting': setting.name, 'args': list(setting.command), 'job': number,
                    'started': round(time.time(), 1)}
        self.place.stat()
        began = last = time.monotonic()
        run = Job(self.command(setting, placement, points, seconds), env, seconds + 30)
        arrived = 0
        try:
            for line in run:
                now = time.monotonic()
                lateness, drops = self.place.stat()
                line.update(identity)
                line['seconds'] = round(now - last, 3)
                line['load'] = round(os.getloadavg()[0], 2)
                if lateness is not None:
                    line['lateness_us'] = round(lateness, 1)
                    line['drops'] = drops
                if line['type'] == 'point' and line['op'] != 'empty':
                    arrived += 1
                    self.point_take(line)
                else:
                    self.records.append(line)
                if arrived == 0:
                    first = now - began
                last = now
        except BaseException:
            run.stop()
            raise
        if arrived:
            self._job_cost.append(first)
        if run.timed_out or run.status not in (0, 3) or arrived < len(points):
            self.failures += 1
            why = 'it took too long' if run.timed_out else f'exit status {run.status}'
            self.records.append({'type': 'failure', **identity, 'why': why,
                                 'errors': run.errors, 'arrived': arrived,
                                 'asked': len(points)})
            self.say(f'FAILED: {setting.name} {placement} job {number} after {arrived} of '
                     f'{len(points)} points, {why}\n{run.errors}')
        elif arrived and self.failures and not self.todo(setting, placement, number):
            self.failures = max(0, self.failures - 1)       # a repetition made it good

    def point_take(self, line):
        self.records.append(line)
        self._seen.add(rec.point_key(line))
        self._cost_note(line)
        time_us = rec.point_time_us(line)
        bound = line['bound_us']
        notes = f' {time_us / bound:.2f}x' if bound > 0 else ''
        if line['wrong']:
            self.wrong += 1
            notes += '  WRONG RESULT'
        if rec.is_late(line):
            self.late += 1
            notes += f"  emulator {rec.lateness_us(line) / 1000:.1f} ms late: counts only if nothing better comes"
        rejected = line['rejected'] + line.get('emulator_rejected', 0)
        if rejected:
            notes += f"  ({rejected} rounds rejected)"
        left = self.remaining_seconds()
        eta = f'{left / 60:.0f} min' if left >= 90 else f'{left:.0f} s'
        self.say(f"job {line['job']}/{self.plan.jobs} {line['placement']:>10} "
                 f"{line['setting']:>8} {line['op']:>9} {size_text(line['bytes']):>5} "
                 f"{line['mode']}: {time_us / 1000:9.2f} ms{notes}   [{eta} left]")
