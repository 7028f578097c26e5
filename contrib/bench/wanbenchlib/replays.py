"""Replayed calls of a program: what was chosen beside what would have been best, had it been fixed.

SPDX-License-Identifier: BSD-3-Clause
"""

from . import statistics, table
from .sizes import size_text

WAYS = ('coll/wan', 'with trials', 'Open MPI')
# What a choice is compared with: one fixed algorithm for each collective, as parameters can have it; one for each collective and size.
FIXED = ('collective', 'collective and size')


class Replay:
    """The jobs of one trace on one network, of `lines` (contrib/bench/replay's)."""

    def __init__(self, lines, network, trace):
        self.network, self.trace = network, trace
        mine = [r for r in lines if r['network'] == network and r['trace'] == trace]
        self.loads = [r['load'] for r in mine]
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
                    if name in WAYS or name.partition(':')[0] == op:
                        self.took.setdefault(name, {}).setdefault((op, size), []).append(ms)
        self.cut = sorted({', '.join(r['names']) for r in mine if r['kinds'] is None})

    def middle(self, name, kinds):
        """Median over jobs of all calls of these kinds; None where it has none of one."""
        of = self.took.get(name, {})
        return sum(statistics.median(of[kind]) for kind in kinds) if all(kind in of for kind in kinds) else None

    def best(self, kinds):
        """(name, ms) of the fastest that could be fixed for these kinds; Open MPI's and coll/wan's own choices can be, too."""
        found = {name: self.middle(name, kinds) for name in self.took if name != 'with trials'}
        return min(((name, ms) for name, ms in found.items() if ms is not None), key=lambda x: x[1])

    def groups(self, fixed):
        """Kinds for which one choice is fixed."""
        if fixed == 'collective':
            return [[kind for kind in self.calls if kind[0] == op] for op in dict.fromkeys(op for op, _ in self.calls)]
        return [[kind] for kind in self.calls]

    def best_ms(self, fixed):
        return sum(self.best(kinds)[1] for kinds in self.groups(fixed))

    def total(self, way):
        """ms of all calls in each job of a way."""
        of = list(self.took[way].values())
        return [sum(ms[k] for ms in of) for k in range(min(map(len, of)))]

    def ratios(self, way, fixed):
        """(median, smallest, largest) of the jobs of a way, over the best that could be fixed."""
        over = sorted(ms / self.best_ms(fixed) for ms in self.total(way))
        return statistics.median(over), over[0], over[-1]

    def near(self, factor):
        """Names that are within `factor` of the best of some kind or collective."""
        return set(WAYS).union(name for fixed in FIXED for kinds in self.groups(fixed) for name in self.took
                               if (ms := self.middle(name, kinds)) is not None and ms <= factor * self.best(kinds)[1])


def replays_of(lines):
    """Those that have all ways."""
    found = [Replay(lines, *key) for key in dict.fromkeys((r['network'], r['trace']) for r in lines if r['type'] == 'replay')]
    return [one for one in found if all(way in one.took for way in WAYS)]


def table_text(one):
    rows = []
    for kind, count in one.calls.items():
        name, ms = one.best([kind])
        rows.append([kind[0], size_text(kind[1]), str(count), *(f'{one.middle(way, [kind]):.0f}' for way in WAYS), f'{ms:.0f}', name])
    rows.append(['all', '', str(sum(one.calls.values())), *(f'{statistics.median(one.total(way)):.0f}' for way in WAYS),
                 f'{one.best_ms("collective and size"):.0f}', ''])
    out = [f'{one.trace}: {one.network}; medians of {" and ".join(str(n) for n in sorted({len(v) for v in one.whole.values()}))} jobs, '
           f'load {min(one.loads):.0f} to {max(one.loads):.0f}']
    out += table.grid_text(['operation', 'bytes', 'calls', *(f'{way}, ms' for way in WAYS), 'the best fixed, ms', 'that is'], rows)
    for fixed in FIXED:
        out.append(f'over the best fixed for each {fixed}: '
                   + ', '.join('{} {:.3f} ({:.3f}-{:.3f})'.format(way, *one.ratios(way, fixed)) for way in WAYS))
    one_setting = {names: statistics.median(ms) for names, ms in one.whole.items() if names[0] not in WAYS}
    names = min(one_setting, key=one_setting.get)
    out.append(f'whole jobs, ms: ' + ', '.join(f'{way} {statistics.median(one.whole[way,]):.0f} ({min(one.whole[way,]):.0f}-{max(one.whole[way,]):.0f})'
                                               for way in WAYS)
               + f'; of those with fixed algorithms the fastest ({", ".join(names)}) {one_setting[names]:.0f}')
    return out + [f'more than the time of a job: {names}' for names in one.cut]
