"""Ways of exchanging all with all on a fat tree: what a model says of them, and what they take.

The predictions of a placement are in the records before anything of it is simulated; what is
tried would be those that are kept, and the best of these be used from then on.

SPDX-License-Identifier: BSD-3-Clause
"""

import random

from wanbenchlib import statistics
from wanbenchlib.records import Records
from wanbenchlib.sizes import size_text, sizes_parse
from wanbenchlib.table import grid_text, ms_text

from . import jobs

NODES, PORTS, UPLINKS = 1024, 20, 4         # RICC: nodes, those of a leaf switch, its uplinks
NETWORK = {'nic': '--nic', 'uplink': '--uplink', 'lan': '--lan', 'overhead': '--overhead'}
KINDS = {'compact': 'nodes with consecutive numbers',
         'scattered': 'one of each leaf, then another one of each',
         'random': 'any of all',
         'filled': 'the first free ones, where three of four are busy with other jobs',
         'aligned': 'consecutive ones whose messages all come down by the same uplink of their leaf'}
SIZES = '256,1K,4K,28070,256K'              # (28070 bytes take the report's 14.035 us at 16 Gb/s)


def nodes_draw(kind, count, seed):
    """Numbers of `count` nodes, in ascending order: ranks follow them."""
    drawn = random.Random(f'{kind}:{seed}')
    if kind == 'scattered':
        leaves = [list(range(first, min(first + PORTS, NODES))) for first in range(0, NODES, PORTS)]
        drawn.shuffle(leaves)
        for leaf in leaves:
            drawn.shuffle(leaf)
        from_each = [leaf[turn] for turn in range(PORTS) for leaf in leaves if turn < len(leaf)]
        return sorted(from_each[:count])
    free = {'compact': lambda: range(NODES), 'random': lambda: drawn.sample(range(NODES), count),
            'filled': lambda: drawn.sample(range(NODES), NODES // 4),
            'aligned': lambda: range(drawn.randrange(UPLINKS), NODES, UPLINKS)}
    if kind not in free:
        raise ValueError(f"'{kind}' is no placement: {', '.join(KINDS)}")
    nodes = sorted(free[kind]())
    if count > len(nodes):
        raise ValueError(f'{kind}: {count} nodes, but there are {len(nodes)}')
    first = 0 if kind == 'filled' else drawn.randrange(len(nodes) - count + 1)
    return nodes[first:first + count]


def run(args):
    """Simulates what is not yet in args.json, prints tables, draws."""
    if args.per_node < 1 or args.draws < 1:
        raise ValueError('--per-node and --draws: at least 1')
    kept, cells, missing = Records(args.json), [], 0
    for ranks in (int(n) for n in (args.ranks or '32,64').split(',')):
        if ranks < 2 or ranks % args.per_node:
            raise ValueError(f'--ranks: {ranks} is not a multiple of {args.per_node} processes a node, at least 2')
        for kind in (args.placement or ','.join(KINDS)).split(','):
            for seed in range(args.seed, args.seed + args.draws):
                nodes = nodes_draw(kind, ranks // args.per_node, seed)
                arguments = ['--per-node', str(args.per_node), '--seed', str(seed), '--excess', f'{args.excess:g}',
                             *jobs.told(args, NETWORK), *map(str, sizes_parse(args.sizes or SIZES))]
                key = {'ranks': ranks, 'kind': kind, 'draw': seed, 'arguments': ' '.join(arguments)}
                command = [jobs.built('wanalltoall_sim'), '--nodes', ','.join(map(str, nodes)), '--ports', str(PORTS),
                           '--uplinks', str(UPLINKS), *arguments]
                found = jobs.recorded(kept, key, command, args.job_seconds, f'{ranks} ranks, {kind}:{seed}')
                if found and found[-1]['type'] == 'end':
                    cells += cells_make(found, args.excess)
                else:
                    missing += 1
    print(tables_text(cells, args.excess), end='')
    if missing:
        print(f'{missing} placements cut after {args.job_seconds:g} s')
    if args.plot and cells:
        from . import plots
        for path in plots.alltoall_plot(cells, args.plot):
            print(f'wrote {path}')
    return 0


class Pruned:
    """What comes of trying only the ways `kept`, each once, of those that take `us`."""

    def __init__(self, kept, us, excess):
        least = min(us.values())
        self.kept = kept
        self.regret = min(us[w] for w in kept) / least - 1
        self.saved = 1 - sum(us[w] for w in kept) / sum(us.values())
        self.slow = [w for w in kept if us[w] > excess * least]                     # kept in vain
        self.good = [w for w in us if w not in kept and us[w] <= excess * least]    # dropped


class Cell:
    """One placement and size: what was predicted and measured of each way."""

    def __init__(self, placement, prediction, points, excess):
        self.ranks, self.share, self.leaves = placement['ranks'], placement['share'], placement['leaves']
        self.kind, self.draw, self.bytes = placement['kind'], placement['draw'], points[0]['bytes']
        self.predicted = prediction['us']
        self.us = {r['way']: r['us'] for r in points}
        self.best = min(self.us, key=self.us.get)
        self.order = statistics.rank_correlation(list(self.predicted.values()), [self.us[w] for w in self.predicted])
        self.pruned, self.blind = (Pruned(prediction[k], self.us, excess) for k in ('kept', 'kept_blindly'))

    @property
    def kept(self):
        return self.pruned.kept


def cells_make(records, excess):
    return [Cell(records[0], p, [r for r in records if r['type'] == 'point' and r['bytes'] == p['bytes']], excess)
            for p in records if p['type'] == 'prediction']


def _groups(cells, *names):
    out = {}
    for c in cells:
        out.setdefault(tuple(getattr(c, n) for n in names), []).append(c)
    return out


def _span(values, form):
    low, high = form(min(values)), form(max(values))
    return low if low == high else f'{low}..{high}'


def _each_text(cells):
    """Predicted/measured of each way."""
    out = []
    for (ranks, size), here in _groups(cells, 'ranks', 'bytes').items():
        rows = []
        for c in here:
            marks = {w: ('' if w in c.kept else '-') + ('*' if w == c.best else '') for w in c.us}
            rows.append([f'{c.kind}:{c.draw}', f'{c.share:.2f}']
                        + [f'{ms_text(c.predicted[w])}/{ms_text(us)}{marks[w]}' for w, us in c.us.items()])
        heads = [w.replace('_barrier', '') for w in here[0].us]
        out += [f'{size_text(size)} bytes, {ranks} ranks: predicted/measured, ms; -: dropped, *: the fastest']
        out += grid_text(['placement', 'share'] + heads, rows) + ['']
    return out


def tables_text(cells, excess):
    if not cells:
        return 'nothing was simulated to its end\n'
    out, rows = _each_text(cells), []
    percent = lambda x: f'{100 * x:.0f}%'
    for (ranks, size, kind), here in _groups(cells, 'ranks', 'bytes', 'kind').items():
        orders = [c.order for c in here if c.order is not None]
        rows.append([str(ranks), size_text(size), kind, _span([c.share for c in here], lambda x: f'{x:.2f}'),
                     ', '.join(dict.fromkeys(c.best for c in here)), _span([len(c.kept) for c in here], str),
                     f'{sum(c.best in c.kept for c in here)}/{len(here)}', percent(max(c.pruned.regret for c in here)),
                     f'{statistics.median(orders):.2f}' if orders else '', percent(statistics.median([c.pruned.saved for c in here])),
                     _span([len(c.pruned.slow) for c in here], str), _span([len(c.pruned.good) for c in here], str),
                     _span([c.predicted[c.best] / c.us[c.best] for c in here], lambda x: f'{x:.2f}')])
    out += ['by placement: over its draws; regret: of using the best that was kept, at most; order: rank correlation, median;',
            'saved: of the time of trying all, median; slow kept, good dropped: ways of more, not more than '
            f'{excess:g} times the fastest']
    out += grid_text(['ranks', 'bytes', 'placement', 'share', 'fastest', 'kept', 'it kept', 'regret', 'order', 'saved',
                      'slow kept', 'good dropped', 'predicted/measured'], rows) + ['']
    rows = []
    sizes = sorted({c.bytes for c in cells})
    for way in cells[0].us:
        ratios = {size: [c.predicted[way] / c.us[way] for c in cells if c.bytes == size] for size in sizes}
        rows.append([way] + [f'{statistics.median(r):.2f} ({min(r):.2f}-{max(r):.2f})' for r in ratios.values()])
    out += ['predicted/measured of each way: median over all placements (smallest-largest)']
    out += grid_text(['way'] + [size_text(s) for s in sizes], rows) + ['']
    for name, pruned in (('by the placement', [c.pruned for c in cells]), ('without knowing it', [c.blind for c in cells])):
        kept = sum(c.best in p.kept for c, p in zip(cells, pruned))
        out += [f'{name}: the fastest kept in {kept} of {len(cells)} placements and sizes, regret at most '
                f'{percent(max(p.regret for p in pruned))}, '
                f'{percent(statistics.median([p.saved for p in pruned]))} saved (median); '
                f'{sum(len(p.slow) for p in pruned)} slow ones kept, {sum(len(p.good) for p in pruned)} good ones dropped']
    return '\n'.join(out) + '\n'
