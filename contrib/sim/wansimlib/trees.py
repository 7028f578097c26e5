"""The Phoenix paper's figures 6 to 9, with coll/wan's adaptive trees on a simulated network.

SPDX-License-Identifier: BSD-3-Clause
"""

from wanbenchlib.records import Records
from wanbenchlib.sizes import size_text, sizes_parse
from wanbenchlib.table import grid_text, ms_text

from . import jobs

NAMES = {'mpich': 'MPICH-like', 'magpie': 'MagPIe-like', 'list': 'List', 'phoenix': "Phoenix's rules", 'adaptive': 'adaptive'}
VARIANTS = 0            # not the paper's: what each of our changes is good for
# (`pace`: only where links change, which here they do not.)
# Of each figure: hosts of the clusters, operation, sizes, what is compared.
FIGURES = {
    6: ('67,67,67', 'bcast', '1', ('mpich', 'magpie', 'phoenix', 'adaptive')),
    7: ('35,34,34,34', 'bcast', '32K..64M:2', ('mpich', 'magpie', 'list', 'phoenix', 'adaptive')),
    8: ('43,43,42', 'reduce', '4..16M:8', ('mpich', 'magpie', 'phoenix', 'adaptive')),
    9: ('40,40,40,40', 'bcast', '4M', ('same', 'anew')),
    VARIANTS: ('20,20,20', 'bcast', '1,4M', ('hints', 'gates', 'hops', 'chains', 'same', 'order')),
}
# wansim's options, and what the program calls them.
NETWORK = {'nic': '--nic', 'uplink': '--uplink', 'lan': '--lan', 'delay': '--wan', 'overhead': '--overhead'}
REPEAT = {'leave': 2, 'back': 4, 'until': 6}    # seconds; the paper's 60, 90 and 130


def _figure_jobs(figure, args):
    """Yields (setting, arguments) of the simulations of a figure."""
    clusters, op, span, compared = FIGURES[figure]
    clusters = args.clusters or clusters
    common = ['--clusters', clusters, '--seed', str(args.seed), *jobs.told(args, NETWORK)]
    if figure == VARIANTS:
        points = [f'{op}:{size}:adaptive' for size in sizes_parse(args.sizes or span)]
        yield 'all', [*common, *points]
        for variant in compared:
            yield f'without {variant}', [*common, '--without', variant, *points]
        yield 'none: phoenix', [*common, '--phoenix', *points]
        return
    if figure == 9:
        times = [word for key, value in REPEAT.items() for word in (f'--{key}', str(value))]
        for setting in compared:
            yield setting, [*common, '--repeat', str(sizes_parse(args.sizes or span)[0]), *times, *(['--anew'] if setting == 'anew' else [])]
        return
    sizes = sizes_parse(args.sizes or span)
    at_once = [how for how in compared if how != 'phoenix']     # (which needs other trees)
    yield 'adaptive', [*common, '--each', *(f'{op}:{size}:{how}' for size in sizes for how in at_once)]
    yield 'phoenix', [*common, '--each', '--phoenix', *(f'{op}:{size}:adaptive' for size in sizes)]


def run(args):
    """Simulates what is not yet in args.json, prints tables, draws."""
    kept, records = Records(args.json), []
    for figure in (int(text) for text in (args.figures or '6,7,8,9,0').split(',')):
        if figure not in FIGURES:
            raise ValueError(f'{figure} is none of 6, 7, 8, 9 and 0 (the variants)')
        for setting, arguments in _figure_jobs(figure, args):
            key = {'figure': figure, 'setting': setting, 'arguments': arguments}
            found = jobs.recorded(kept, key, [jobs.built('wantrees_sim'), *arguments], args.job_seconds, f'figure {figure}, {setting}')
            if found and found[-1]['type'] == 'end':    # (wrong results are an error of the program)
                records += found
    print(tables_text(records), end='')
    if args.plot and records:
        from . import plots
        for path in plots.trees_plot(records, args.plot):
            print(f'wrote {path}')
    return 0


def how_of(record):
    """'mpich', ...: 'adaptive' with the paper's rules is 'phoenix'."""
    return record['setting'] if record['how'] == 'adaptive' and record['setting'] != 'adaptive' else record['how']


def points_of(records, figure):
    return [r for r in records if r['figure'] == figure and r['type'] == 'point']


def phases(records, setting):
    """Of figure 9: (processes, operations, first four of them, median) between changes; milliseconds."""
    out, last = [], None
    for r in (r for r in points_of(records, 9) if r['setting'] == setting):
        if r['processes'] != last:
            out.append((r['processes'], []))
            last = r['processes']
        out[-1][1].append(r['us'] / 1000)
    return [(n, len(t), t[:4], sorted(t)[len(t) // 2]) for n, t in out]


def tables_text(records):
    out = []
    for figure in (6, 7, 8):
        points = points_of(records, figure)
        if not points:
            continue
        hows = list(dict.fromkeys(how_of(r) for r in points))
        rows = [[size_text(size)] + [next((ms_text(r['us']) for r in points if r['bytes'] == size and how_of(r) == how), '') for how in hows]
                for size in sorted({r['bytes'] for r in points})]
        out += [f"figure {figure}: {points[0]['op']}, {points[0]['processes']} processes, ms, last process"]
        out += grid_text(['bytes'] + [NAMES[h] for h in hows], rows) + ['']
    ends = [r for r in records if r['type'] == 'end' and r['figure'] == VARIANTS]
    if ends:
        def at(r, size):
            us = [p['us'] for p in points_of(records, VARIANTS) if p['setting'] == r['setting'] and p['bytes'] == size]
            return ms_text(us[0]) if us else ''
        sizes = sorted({p['bytes'] for p in points_of(records, VARIANTS)})
        rows = [[r['setting'], *(at(r, size) for size in sizes), f"{r['changed_s']:.2f}"]
                + [str(r[tree][k]) for tree in ('latency_tree', 'bandwidth_tree') for k in ('crossing', 'depth', 'children')] for r in ends]
        out += ['variants: Bcast (ms), last change (s), edges between clusters, depth, most children']
        heads = ['latency: edges', 'depth', 'children', 'bandwidth: edges', 'depth', 'children']
        out += grid_text(['', *(size_text(size) for size in sizes), 's', *heads], rows) + ['']
    for setting in ('same', 'anew'):
        rows = [[str(n), str(count), ' '.join(f'{t:.0f}' for t in first), f'{median:.1f}']
                for n, count, first, median in phases(records, setting)]
        if rows:
            size = size_text(next(r['bytes'] for r in points_of(records, 9) if r['setting'] == setting))
            who = 'new processes' if setting == 'anew' else 'the same'
            out += [f'figure 9: {size} Bcast again and again, half of the processes leave and come back ({who})']
            out += grid_text(['processes', 'operations', 'the first four, ms', 'median, ms'], rows) + ['']
    return '\n'.join(out).rstrip() + '\n'
