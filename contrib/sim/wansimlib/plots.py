"""Pictures, as PNG and SVG.

SPDX-License-Identifier: BSD-3-Clause
"""

import matplotlib
matplotlib.use('Agg')
import matplotlib.pyplot as plt     # noqa: E402

from wanbenchlib.plots import COLOURS, MARKERS, figure_save, sizes_axis     # noqa: E402
from wanbenchlib.sizes import size_text     # noqa: E402

from .table import name_of      # noqa: E402


def _bytes_text(size):
    return f'{size_text(size)}B' if size >= 1024 else f'{size} B'


def style_of(at, bold=False):
    return {'color': COLOURS[at % len(COLOURS)], 'marker': MARKERS[at % len(MARKERS)], 'markersize': 5,
            'linewidth': 2.2 if bold else 1.3}


def scale_plot(points, stem):
    """Time against ranks: a panel for each operation and size, a colour for each number of sites."""
    cells = {}
    for r in points:
        cells.setdefault((r['op'], r['bytes']), {}).setdefault((r['sites'], r['setting']), []).append(r)
    ops = list(dict.fromkeys(op for op, _ in cells))
    sizes = sorted({size for _, size in cells})
    figure, grid = plt.subplots(len(ops), len(sizes), figsize=(4.2 * len(sizes), 3.6 * len(ops)), squeeze=False)
    all_sites = sorted({r['sites'] for r in points})
    for y, op in enumerate(ops):
        for x, size in enumerate(sizes):
            axes = grid[y][x]
            for (sites, setting), records in sorted(cells.get((op, size), {}).items()):
                records.sort(key=lambda r: r['ranks'])
                axes.plot([r['ranks'] for r in records], [r['us'] / 1000 for r in records],
                          linestyle='-' if setting == 'wan' else '--' if setting == 'mpi' else ':', label=f'{name_of(setting)}, {sites} sites',
                          **style_of(all_sites.index(sites), setting == 'wan'))
            least = min((r['bound_us'] for rs in cells.get((op, size), {}).values() for r in rs), default=None)
            if least:
                axes.axhline(least / 1000, color='k', linestyle=':', linewidth=1, label='lower bound')
            axes.set_xscale('log', base=2)
            ranks = sorted({r['ranks'] for r in points})
            axes.set_xticks(ranks, [str(n) for n in ranks])
            axes.minorticks_off()
            axes.set_yscale('log')
            axes.set_title(f'{op}, {_bytes_text(size)}', fontsize=10)
            axes.grid(True, which='major', alpha=0.3)
            if y == len(ops) - 1:
                axes.set_xlabel('ranks')
            if x == 0:
                axes.set_ylabel('ms, simulated')
    grid[0][0].legend(fontsize=7)
    network = points[0]['network'].split(': ', 1)[1]
    figure.suptitle(f'coll/wan (full), SMPI\'s Open MPI selector (dashed), SMPI told an algorithm (dotted); {network}', fontsize=9)
    figure.tight_layout()
    return figure_save(figure, stem)


def throughput(record):
    """What the paper's figures 4 and 5 plot, in MB/s (10^6)."""
    op, size, ranks = record['op'], record['bytes'], record['ranks']
    moved = {'bcast': size * ranks, 'allreduce': size * ranks ** 2, 'alltoall': size * ranks}.get(op, size)
    return moved / record['us']


LABELS = {'bcast': 'bytes x ranks / time', 'allreduce': 'bytes x ranks$^2$ / time',
          'gather': 'bytes of a process / time', 'alltoall': 'bytes of a process / time'}


def paper_plot(points, stem):
    """A panel for each operation, a line for each setting."""
    ops = list(dict.fromkeys(r['op'] for r in points))
    figure, grid = plt.subplots(1, len(ops), figsize=(5.6 * len(ops), 4.6), squeeze=False)
    for axes, op in zip(grid[0], ops):
        here = [r for r in points if r['op'] == op]
        for at, setting in enumerate(dict.fromkeys(r['setting'] for r in here)):
            line = sorted((r for r in here if r['setting'] == setting), key=lambda r: r['bytes'])
            style = style_of(at)
            if setting == 'wan':
                style |= {'color': '#000000', 'marker': '', 'linestyle': '--'}
            axes.plot([r['bytes'] for r in line], [throughput(r) for r in line], label=name_of(setting), **style)
        sizes_axis(axes, sorted({r['bytes'] for r in here}))
        axes.set_ylabel(LABELS[op] + ', MB/s')
        axes.set_title(op)
        axes.legend(fontsize=8)
    figure.suptitle('simulated: ' + points[0]['network'], fontsize=9)
    figure.tight_layout()
    return figure_save(figure, stem)


def trees_plot(records, stem):
    """The Phoenix paper's figures 6 to 9, those that there are."""
    from . import trees
    figures = [f for f in (6, 7, 8, 9) if trees.points_of(records, f)]
    if not figures:
        return []
    figure, grid = plt.subplots(1, len(figures), figsize=(5.6 * len(figures), 4.6), squeeze=False)
    for axes, number in zip(grid[0], figures):
        points = trees.points_of(records, number)
        if number == 9:
            for at, setting in enumerate(dict.fromkeys(r['setting'] for r in points)):
                line = [r for r in points if r['setting'] == setting]
                axes.plot([r['start_s'] for r in line], [r['bytes'] * r['processes'] / r['us'] for r in line],
                          label='new processes come' if setting == 'anew' else 'the same come back', **style_of(at) | {'markersize': 2})
            axes.set_xlabel('s')
            axes.set_ylabel('bytes x processes / time, MB/s')
            most = max(r['processes'] for r in points)
            axes.set_title(f"{_bytes_text(points[0]['bytes'])} Bcast, half of {most} processes leave and come back")
        for at, how in enumerate(dict.fromkeys(trees.how_of(r) for r in points) if number != 9 else ()):
            line = sorted((r for r in points if trees.how_of(r) == how), key=lambda r: r['bytes'])
            style = style_of(at, how == 'adaptive')
            if number == 6:
                axes.plot(range(1, len(line[0]['each']) + 1), [us / 1000 for us in line[0]['each']], label=trees.NAMES[how],
                          **style | {'marker': ''})
            else:
                axes.plot([r['bytes'] for r in line], [r['bytes'] * r['processes'] / r['us'] for r in line],
                          label=trees.NAMES[how], **style)
        if number == 6:
            axes.set_xlabel('processes served')
            axes.set_ylabel('ms')
            axes.set_title(f"{_bytes_text(points[0]['bytes'])} Bcast, {points[0]['processes']} processes")
        elif number != 9:
            sizes_axis(axes, sorted({r['bytes'] for r in points}))
            axes.set_yscale('log')
            axes.set_ylabel('bytes x processes / time, MB/s')
            axes.set_title(f"{points[0]['op']}, {points[0]['processes']} processes")
        axes.grid(True, alpha=0.3)
        axes.legend(fontsize=8)
    told = next(r['arguments'] for r in records)
    network = dict(zip(told, told[1:]))
    figure.suptitle(f"simulated: {network.get('--nic', 1000)} Mb/s interfaces, {network.get('--uplink', 1000)} Mb/s uplinks, "
                    f"{network.get('--wan', 2)} ms between clusters", fontsize=9)
    figure.tight_layout()
    return figure_save(figure, stem)


def alltoall_plot(cells, stem):
    """Measured against predicted time: a panel for each number of ranks and size; colours are ways, marks what they wait for."""
    rows, columns = sorted({c.ranks for c in cells}), sorted({c.bytes for c in cells})
    figure, grid = plt.subplots(len(rows), len(columns), figsize=(3.6 * len(columns), 3.6 * len(rows)), squeeze=False)
    families = ('Simple', 'Pair', 'Ring', 'Bruck')
    waits = {'': 'o', 'light_barrier': '^', 'one_barrier': 's', 'mpi_barrier': 'D'}
    for y, ranks in enumerate(rows):
        for x, size in enumerate(columns):
            axes = grid[y][x]
            here = [c for c in cells if c.ranks == ranks and c.bytes == size]
            for way in here[0].us if here else ():
                family, _, wait = way.partition('_')
                colour = COLOURS[families.index(family)]
                for kept in (True, False):
                    dots = [c for c in here if (way in c.kept) == kept]
                    if dots:
                        axes.plot([c.predicted[way] / 1000 for c in dots], [c.us[way] / 1000 for c in dots], linestyle='',
                                  markersize=4.5, marker=waits[wait], markeredgecolor=colour, markerfacecolor=colour if kept else 'none')
            axes.set(xscale='log', yscale='log')
            ends = [f(*axes.get_xlim(), *axes.get_ylim()) for f in (min, max)]
            axes.plot(ends, ends, color='black', linewidth=0.8)
            ticks = [t for t in (a * 10 ** b for b in range(-3, 6) for a in (1, 2, 5)) if ends[0] <= t <= ends[1]]
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_ticks(ticks, [f'{t:g}' for t in ticks])
            axes.minorticks_off()
            axes.set(xlim=ends, ylim=ends)
            axes.set_title(f'{_bytes_text(size)}, {ranks} ranks', fontsize=9)
            axes.grid(True, which='major', alpha=0.3)
            if y == len(rows) - 1:
                axes.set_xlabel('predicted, ms')
        grid[y][0].set_ylabel('measured, ms (simulated)')
    for way in cells[0].us:
        family, _, wait = way.partition('_')
        grid[0][0].plot([], [], linestyle='', marker=waits[wait], color=COLOURS[families.index(family)], label=way.replace('_', ' '))
    grid[0][0].plot([], [], linestyle='', marker='o', markerfacecolor='none', color='black', label='hollow: dropped')
    figure.legend(*grid[0][0].get_legend_handles_labels(), fontsize=8, loc='center left', bbox_to_anchor=(1, 0.5))
    figure.tight_layout()
    return figure_save(figure, stem)


def oracle_plot(cells, net, stem):
    """Excess over the best of all ways by size, a panel for each operation: the model's choice, the tuned one, Open MPI's."""
    ops = list(dict.fromkeys(c.op for c in cells))
    columns = min(4, len(ops))
    figure, grid = plt.subplots(-(-len(ops) // columns), columns, figsize=(3.6 * columns, 3 * -(-len(ops) // columns)), squeeze=False)
    for axes in grid.flat[len(ops):]:
        axes.set_visible(False)
    for axes, op in zip(grid.flat, ops):
        line = sorted((c for c in cells if c.op == op), key=lambda c: c.bytes)
        x = [max(1, c.total) for c in line]
        for at, (name, values) in enumerate((('tuned', [c.tuned for c in line]), ("the model's choice", [c.model for c in line]),
                                             ("SMPI as Open MPI's selector", [c.mpi_us / c.best_us - 1 for c in line if c.mpi_us]))):
            if len(values) == len(x):
                axes.plot(x, [max(0, 100 * v) for v in values], label=name, **style_of(at, at == 0))
        sizes_axis(axes, x)
        axes.set_yscale('symlog', linthresh=10)
        axes.set_ylim(bottom=-1)
        axes.axhline(3, color='black', linewidth=0.8, linestyle=':')
        axes.set_title(op, fontsize=9)
        axes.grid(True, alpha=0.3)
    for row in grid:
        row[0].set_ylabel('% over the best way')
    figure.legend(*grid[0][0].get_legend_handles_labels(), fontsize=8, loc='lower right')
    figure.suptitle(f'simulated: {net.text()}', fontsize=9)
    figure.tight_layout()
    return figure_save(figure, stem)
