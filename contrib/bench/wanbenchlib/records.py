"""The results file: one JSON object a line, appended as soon as it is known.

A point that is in the file is not measured again (--resume), unless the
emulator was late during it or its job failed.  A line cut off by a crash is
ignored.

SPDX-License-Identifier: BSD-3-Clause
"""

import json
import os

from . import statistics
from .settings import WITHOUT_PLUGIN

LATE_US = 1000.0        # an emulator later than this spoils a point whose rounds are not told apart


def point_key(record):
    return (record['network'], record['placement'], record['setting'], tuple(record['args']),
            record['job'], record['op'], record['bytes'], record['root'], record['mode'])


def lateness_us(record):
    """Of the emulator: in the rounds that count, or where they are not told apart in the whole point."""
    return record.get('emulator_late_us', record.get('lateness_us')) or 0


def is_late(record):
    """Whether too few rounds were without lateness; the worker knows each round's (wb_point.cpp)."""
    return record.get('spoilt', lateness_us(record) > LATE_US)


class Records:
    """Lines of one file (path None: memory only)."""

    def __init__(self, path=None):
        self.path = path
        self.lines = []
        self._done = set()
        if path and os.path.exists(path):
            with open(path, encoding='utf-8') as file:
                for text in file:
                    try:
                        self._take(json.loads(text))
                    except json.JSONDecodeError:
                        continue

    def _take(self, line):
        self.lines.append(line)
        # (Points without a network are of programs whose key is another one.)
        if line.get('type') == 'point' and 'network' in line and line.get('op') != 'empty' and not is_late(line):
            self._done.add(point_key(line))

    def append(self, line):
        self._take(line)
        if self.path:
            with open(self.path, 'a+b') as file:
                if file.tell():         # after a line that was cut off
                    file.seek(-1, os.SEEK_END)
                    if file.read(1) != b'\n':
                        file.write(b'\n')
                file.write(json.dumps(line).encode() + b'\n')
                file.flush()
                os.fsync(file.fileno())

    def done(self, key):
        return key in self._done

    def points(self):
        return [r for r in self.lines if r.get('type') == 'point' and r['op'] != 'empty']


def point_time_us(record):
    """What is compared: the median round of a job, minus the empty operation."""
    return max(record['median_us'] - max(record.get('empty_us', 0), 0), 0.0)


def cell_key(record):
    return (record['network'], record['placement'], record['op'], record['mode'],
            record['root'], record['bytes'], record['setting'])


class Cell:
    """One setting at one point: its jobs' figures."""

    def __init__(self, records):
        clean = [r for r in records if not is_late(r)]
        self.late = not clean                   # nothing better than spoilt points
        self.late_count = len(records) - len(clean)
        self.records = clean or records
        rejected = sum(r.get('rejected', 0) + r.get('emulator_rejected', 0) for r in self.records)
        self.shaky = 2 * rejected > sum(r['rounds'] for r in self.records)      # a third of those that were made, and more
        self.times = statistics.summarize([point_time_us(r) for r in self.records])
        self.bounds = [r['bound_us'] for r in self.records]
        self.wrong = sum(r.get('wrong', 0) for r in records)
        self.only_first = any(r.get('only_first') for r in self.records)
        served = [r['served'] for r in self.records if 'served' in r]
        self.calls = sum(r['calls'] for r in self.records if 'served' in r)
        self.served = sum(s[0] for s in served) if served else None
        if any(r['args'][-len(WITHOUT_PLUGIN):] == list(WITHOUT_PLUGIN) for r in self.records):
            self.served = None                  # and is not meant to


def cells(points):
    groups = {}
    for record in points:
        groups.setdefault(cell_key(record), {}).setdefault(record['job'], []).append(record)
    result = {}
    for key, jobs in groups.items():    # of a repeated point, the clean or else the last one
        chosen = [next((r for r in reversed(tries) if not is_late(r)), tries[-1])
                  for tries in jobs.values()]
        result[key] = Cell(chosen)
    return result


def digests_compare(points):
    """(results that two or more settings computed alike, list of those that differ).

    Contents depend on rank and round only, so the first call of a point must
    give the same bits under every setting."""
    seen = {}
    for r in points:
        if r.get('digest'):
            seen.setdefault((r['op'], r['bytes'], r['root'], r['ranks']), {}).setdefault(
                r['digest'], set()).add(r['setting'])
    alike, differ = 0, []
    for (op, size, root, _), found in sorted(seen.items()):
        if len(found) > 1:
            differ.append(f'{op} {size} B, root {root}: ' + ' | '.join(
                ', '.join(sorted(names)) for names in found.values()))
        elif len(next(iter(found.values()))) > 1:
            alike += 1
    return alike, differ


def unserved(points, settings):
    """Points of `settings` (names) in which coll/wan did not serve every call."""
    return [f"{r['setting']} {r['op']} {r['bytes']} B: {r.get('served', [0])[0]} of "
            f"{r['calls']} calls" for r in points
            if r['setting'] in settings and r.get('served', [0])[0] < r['calls']]


def bound_us(row):
    """Bound of a row of cells: one network, so the median over all its jobs."""
    return statistics.median([b for cell in row for b in cell.bounds])
