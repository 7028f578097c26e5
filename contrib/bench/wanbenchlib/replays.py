"""Replayed calls of a program: what was chosen beside what would have been best, had it been fixed.

SPDX-License-Identifier: BSD-3-Clause
"""

from . import statistics, table
from .sizes import size_text

WAYS = ('coll/wan', 'with trials', 'Open MPI')
TOGETHER = 'the best of each'       # collective and size, of the first round, in one job


class Replay:
    """The jobs of one trace on one network, of `lines` (contrib/bench/replay's)."""

    def __init__(self, lines, network, trace):
        self.network, self.trace = network, trace
        mine = [r for r in lines if r['network'] == network and r['trace'] == trace]
        self.loads = [r['load'] for r in mine]
        self.rules = [r['rules'] for r in mine if r['names'] == [TOGETHER]]
        self.whole = {}     # {names: [ms]}
        self.took = {}      # {way, or algorithm of a collective: {(op, bytes): [ms]}}
        self.calls = {}     # {(op, bytes): how many}
        for r in mine:
            if r['kinds'] is None:
                continue
            self.whole.setdefault(tuple(r['names']), []).append(r['whole_ms'])
            for op, size, count, ms in r['kinds']:
                self.calls[op, size] = count
                for name in r['names']:
                    if name in (*WAYS, TOGETHER) or name.partition(':')[0] == op:
                        self.took.setdefault(name, {}).setdefault((op, size), []).append(ms)
        self.cut = sorted({', '.join(r['names']) for r in mine if r['kinds'] is None})

    def middle(self, name, kind):
        """Median over jobs of all calls of this kind; None where it has none."""
        ms = self.took.get(name, {}).get(kind)
        return statistics.median(ms) if ms else None

    def best(self, kinds, fits=lambda name: True):
        """(name, ms) of the fastest that could be fixed for all of these kinds; coll/wan's and Open MPI's own choices can be, too."""
        found = {name: [self.middle(name, kind) for kind in kinds] for name in self.took if name not in ('with trials', TOGETHER) and fits(name)}
        ended = [(name, sum(ms)) for name, ms in found.items() if None not in ms]
        if not ended:
            raise ValueError(f'{self.trace}: no job with {", ".join(sorted({op for op, _ in kinds}))} ended in time; a larger --timeout?')
        return min(ended, key=lambda x: x[1])

    def fastest(self):
        """(names, ms) of the fastest job of fixed choices."""
        return min(((names, statistics.median(ms)) for names, ms in self.whole.items() if names[0] not in WAYS), key=lambda x: x[1])

    def ratios(self, way):
        """(median, smallest, largest) of a way's jobs over the fastest of fixed choices."""
        best = self.fastest()[1]
        over = self.whole[way,]
        return statistics.median(over) / best, min(over) / best, max(over) / best

    def near(self, factor):
        """Names of the jobs that are to be repeated."""
        best = self.fastest()[1]
        return {names for names, ms in self.whole.items() if names[0] in (*WAYS, TOGETHER) or statistics.median(ms) <= factor * best}


def replays_of(lines):
    """Those that have all ways."""
    found = [Replay(lines, *key) for key in dict.fromkeys((r['network'], r['trace']) for r in lines if r['type'] == 'replay')]
    return [one for one in found if all((way,) in one.whole for way in (*WAYS, TOGETHER))]


def jobs_text(ms):
    return f'{statistics.median(ms):.0f} ({min(ms):.0f}-{max(ms):.0f}, {len(ms)} jobs)'


def table_text(one):
    shown, rows = (*WAYS, TOGETHER), []
    for kind, count in one.calls.items():
        name, ms = one.best([kind])
        rows.append([kind[0], size_text(kind[1]), str(count), *(f'{one.middle(way, kind):.0f}' for way in shown), f'{ms:.0f}', name])
    out = [f'{one.trace}: {one.network}, load {min(one.loads):.0f} to {max(one.loads):.0f}; ms of all calls of a kind, waiting for ranks among it']
    out += table.grid_text(['operation', 'bytes', 'calls', *shown, 'the fastest', 'that is'], rows)
    out += [f'{TOGETHER}: ' + '; '.join(text.strip() for text in one.rules[0].splitlines())]
    for names, ms in sorted(one.whole.items(), key=lambda x: statistics.median(x[1])):
        out.append(f'whole jobs, ms: {jobs_text(ms)}: {", ".join(names)}')
    out += [f'did not end, in time or at all: {names}' for names in one.cut]
    return out + ['over the fastest job of fixed choices: ' + ', '.join('{} {:.3f} ({:.3f}-{:.3f})'.format(way, *one.ratios(way)) for way in WAYS)]
