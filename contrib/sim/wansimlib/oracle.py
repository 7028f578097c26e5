"""All that can serve a call, simulated; and what coll/wan's model and trials choose beside the best of it.

SPDX-License-Identifier: BSD-3-Clause
"""

import sys

from wanbenchlib import statistics
from wanbenchlib.sizes import size_text, sizes_parse
from wanbenchlib.table import grid_text, ms_text
from wanbenchlib.traces import BY_BLOCK, OPS

from . import jobs
from .table import name_of

SIZES = '4..4M:4'
CALLS = 1000            # of a class, over which trials are to pay
# What Open MPI's tuned can be forced to, by the names that SMPI has for it; besides its selector's own choice.
FORCED = {
    'bcast': ['flattree', 'ompi_pipeline', 'ompi_split_bintree', 'binomial_tree', 'scatter_rdb_allgather', 'scatter_LR_allgather'],
    'allreduce': ['redbcast', 'rdb', 'lr', 'ompi_ring_segmented', 'rab_rdb'],
    'reduce': ['ompi_basic_linear', 'ompi_chain', 'ompi_pipeline', 'ompi_binary', 'ompi_binomial', 'ompi_in_order_binary'],
    'barrier': ['ompi_basic_linear', 'ompi_doublering', 'ompi_recursivedoubling', 'ompi_bruck', 'ompi_tree'],
    'allgather': ['bruck', 'rdb', 'ring', 'ompi_neighborexchange'],
    'gather': ['ompi_basic_linear', 'ompi_binomial', 'ompi_linear_sync'],
    'scatter': ['ompi_basic_linear', 'ompi_binomial'],
    'reduce_scatter': ['ompi_basic_recursivehalving', 'ompi_ring', 'ompi_butterfly'],
    'alltoall': ['basic_linear', 'pair', 'bruck'],
    'scan': [], 'exscan': []}


def points_of(op, sizes, ranks):
    """Bytes of a point for so many in all of each process."""
    if op == 'barrier':
        return [0]
    return [size // ranks if op in BY_BLOCK else size for size in sizes if op not in BY_BLOCK or size >= ranks]


def segments_of(ways, size, excess):
    """Settings with longer and shorter segments, of each algorithm's best way that could be tried."""
    out, seen = [], set()
    for way in ways:
        algorithm = way['as'].split('/')[0]
        if algorithm not in seen and way['segment'] < size and way['predicted_us'] <= ways[0]['predicted_us'] * (1 + excess / 100):
            out += [f"wan,as={way['as']},segment={n}" for n in (way['segment'] * f // 4 for f in (1, 2, 8, 16)) if 512 <= n <= size]
        seen.add(algorithm)
    return out


def ways_list(sweep, net, points):
    """{point: ways}, of this or an earlier run."""
    def kept():
        return {r['point']: r['ways'] for r in sweep.kept.lines
                if r['type'] == 'ways' and r['network'] == net.text() and r['placement'] == sweep.args.placement}
    wanted = [f'{op}:{size}:ways' for op, size in points]
    todo = [p for p in wanted if p not in kept()]
    if todo:
        for line in jobs.job(net, sweep.args.placement, todo, sweep.facts_of(net), sweep.args.fold_over, deadline_s=sweep.args.job_seconds):
            if line['type'] == 'ways':
                sweep.kept.append(dict(line, network=net.text(), placement=sweep.args.placement))
    known = kept()
    return {point: known[name] for point, name in zip(points, wanted) if name in known}


def tuned_setting(args):
    return f'wan,tune={args.trials},excess={args.tune_excess},share={args.tune_share}'


def measure_points(args, sweep, net, op, points):
    """Records of all ways to serve (op, bytes)..., of the model's choice and of trials."""
    found = []
    for (_, size), ways in ways_list(sweep, net, points).items():
        settings = ['wan', tuned_setting(args), 'mpi'] + [f"wan,as={w['as']}" for w in ways]
        settings += segments_of(ways, size, args.tune_excess)
        found += sweep.run(net, [f'{op}:{size}:{s}' for s in settings])
    for name in FORCED[op]:
        args.smpi = [f'smpi/{op}:{name}']
        try:
            found += sweep.run(net, [f'{op}:{size}:mpi' for _, size in points])
        except jobs.SimError as error:      # what a platform or a size does not let run
            print(f'  {op}, {name}: {error}', file=sys.stderr)
        args.smpi = []
    return found


def measure(args, sweep, net):
    found, sizes = [], sizes_parse(args.sizes or SIZES)
    for op in (args.ops.split(',') if args.ops else OPS):
        found += measure_points(args, sweep, net, op, [(op, b) for b in points_of(op, sizes, net.ranks)])
    return found


def tuned_us(trial, calls):
    """Time of so many calls of a class that is tried: the first ones as they were, the last one's for all others."""
    total = 0
    for _, _, us, n in trial['calls']:
        total += us * min(n, calls)
        calls -= min(n, calls)
    return total + calls * trial['us']


class Cell:
    """One collective and size: the best of all, and what was chosen."""

    def __init__(self, records, tuned):
        by = {r['setting']: r for r in records}
        self.op, self.bytes = records[0]['op'], records[0]['bytes']
        self.total = self.bytes * (records[0]['ranks'] if self.op in BY_BLOCK else 1)
        fixed = {s: r['us'] for s, r in by.items() if ',tune=' not in s and not r['wrong']}
        self.count = len(fixed)
        self.best = min(fixed, key=fixed.get)
        self.best_us = fixed[self.best]
        self.mpi_us = by['mpi']['us'] if 'mpi' in by else None
        self.ours_us = min((us for s, us in fixed.items() if s.startswith('wan')), default=None)
        self.model = by['wan']['us'] / self.best_us - 1
        trial = by[tuned]
        self.tuned = trial['us'] / self.best_us - 1
        self.ways = max(0, len(trial['tried']) - 1)
        self.chosen = trial['chosen']
        self.calls = sum(n for _, _, _, n in trial['calls'][:-1])       # until it was settled
        self.timed = sum(timed for _, timed, _, _ in trial['calls'])
        self.worst = max(us for _, _, us, _ in trial['calls']) / trial['us']       # with what is beside those of trials
        self.worst_untimed = max(us for _, timed, us, _ in trial['calls'] if not timed) / trial['us']
        self.total_us = tuned_us(trial, CALLS)
        self.explored = explored_us(trial, by['wan']['us'], CALLS) / self.total_us
        self.share = self.total_us / (CALLS * trial['us']) - 1
        self.regret = self.total_us / (CALLS * self.best_us) - 1
        self.wrong = sum(r['wrong'] for s, r in by.items() if s.startswith('wan'))


def explored_us(trial, model_us, calls):
    """Of so many calls: what those that were timed, or were of other ways before the choice, took longer than by the model's."""
    total = 0
    for way, timed, us, n in trial['calls'][:-1]:
        n = min(n, calls)
        calls -= n
        total += n * max(0, us - model_us) if timed or way else 0
    return total


def cells_make(found, tuned):
    groups = {}
    for r in found:
        groups.setdefault((r['op'], r['bytes']), []).append(r)
    return [Cell(g, tuned) for g in groups.values() if {'wan', tuned} <= {r['setting'] for r in g}]


def percent(x):
    return f'{100 * x:.1f}%'


def by_operation(cells):
    """Rows of a table: each operation's points, then all."""
    rows = []
    for op in [*dict.fromkeys(c.op for c in cells), 'all']:
        here = [c for c in cells if op in (c.op, 'all')]
        def both(values):
            tail = [statistics.percentile(values, 95)] if op == 'all' else []
            return ', '.join(percent(x) for x in [sum(values) / len(values), *tail, max(values)])
        def most(field):
            return max(getattr(c, field) for c in here)
        rows.append([op, f'{len(here)}', f'{min(c.count for c in here)} to {most("count")}', both([c.model for c in here]), both([c.tuned for c in here]),
                     both([c.regret for c in here]), f'{most("ways")}, {most("timed")}', str(most('calls')), f'{most("worst_untimed"):.2f}',
                     f'{statistics.percentile([c.worst for c in here], 50):.2f}, {most("worst"):.2f}', f'{100 * most("explored"):.1f}%, {100 * most("share"):.1f}%'])
    return rows


def tables_text(cells, net, placement):
    rows = [[c.op, size_text(c.total), str(c.count), ms_text(c.best_us), name_of(c.best).replace('/', ' '), percent(c.model), percent(c.tuned),
             c.chosen.replace('/', ' '), str(c.ways), str(c.timed), str(c.calls), f'{c.worst:.2f}', f'{100 * c.share:.2f}%'] for c in cells]
    out = [f'{placement} -- {net.text()}', 'bytes: in all of a process; excess over the best of all ways; trials: ways besides the model\'s, calls for them (timed, or with word of the '
           'clock or scores beside them), '
           'calls until all is',
           f'settled, slowest of all calls, what is beside them in it, / chosen, what trials, and waiting for them, add to {CALLS} calls']
    out += grid_text(['operation', 'bytes', 'ways', 'best, ms', 'the best', 'model', 'tuned', 'chosen', 'trials', 'timed', 'calls', 'slowest', 'added'], rows)
    for name, values in (('model', [c.model for c in cells]), ('tuned', [c.tuned for c in cells]),
                         (f'{CALLS} calls, trials included', [c.regret for c in cells])):
        out.append(f'{name}: excess {percent(sum(values) / len(values))} in the mean, 95th percentile {percent(statistics.percentile(values, 95))}, '
                   f'at most {percent(max(values))}, of {len(values)} points')
    out += ['', f'excess over the best, mean and most (of all: 95th percentile between): by the model, after trials, of {CALLS} calls with trials;',
            f'slowest / chosen: of calls that are not for trials, of all (median of points, most); at most: part of {CALLS} calls that those add, and that trials and '
            'waiting for them add']
    out += grid_text(['operation', 'points', 'ways', 'model', 'tuned', f'{CALLS} calls', 'tried, calls', 'settled', 'others', 'all calls', 'trials, added'], by_operation(cells))
    us = sum(c.best_us for c in cells)
    total = sum(c.best_us * (1 + c.tuned) * c.share for c in cells) / sum(c.best_us * (1 + c.tuned) for c in cells)
    out += [f'trials: at most {max(c.ways for c in cells)} ways and {max(c.timed for c in cells)} calls for trials of a class, settled after {max(c.calls for c in cells)}; slowest '
            f'{max(c.worst for c in cells):.2f} times the choice; added to {CALLS} calls: {100 * total:.2f}% of all time, '
            f'at most {100 * max(c.share for c in cells):.2f}% of a class',
            f'model, tuned: {percent(sum(c.best_us * (1 + c.model) for c in cells) / us - 1)}, '
            f'{percent(sum(c.best_us * (1 + c.tuned) for c in cells) / us - 1)} more time than the best, over all points']
    if any(c.wrong for c in cells):
        out.append('WRONG RESULTS')
    return '\n'.join(out) + '\n'


def run(args, sweep, net):
    found = measure(args, sweep, net)
    cells = cells_make(found, tuned_setting(args))
    if not cells:
        print('nothing was simulated to its end')
        return 1
    print(tables_text(cells, net, args.placement), end='')
    for text in sweep.missing:
        print(text)
    if args.plot:
        from . import plots
        for path in plots.oracle_plot(cells, net, args.plot):
            print(f'wrote {path}')
    return 1 if any(c.wrong for c in cells) else 0
