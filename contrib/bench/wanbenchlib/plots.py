"""Plots, as PNG and SVG: time against size, and the GridMPI paper's figure 4.

SPDX-License-Identifier: BSD-3-Clause
"""

import os

import matplotlib
matplotlib.use('Agg')
import matplotlib.pyplot as plt     # noqa: E402

from . import records as rec        # noqa: E402
from . import replays               # noqa: E402
from . import statistics            # noqa: E402
from . import table                 # noqa: E402
from .sizes import size_text        # noqa: E402

MARKERS = 'osv^D<>ph*'
# One hue per setting that stays apart for the colour-blind (Okabe and Ito).
COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000', '#999933']


def style_of(name, names):
    at = names.index(name)
    return {'color': COLOURS[at % len(COLOURS)], 'marker': MARKERS[at % len(MARKERS)],
            'markersize': 5, 'linewidth': 2.2 if name == 'wan' else 1.3}


def figure_save(figure, stem):
    os.makedirs(os.path.dirname(os.path.abspath(stem)), exist_ok=True)
    paths = [f'{stem}.png', f'{stem}.svg']
    for path in paths:
        figure.savefig(path, dpi=150, bbox_inches='tight')
    plt.close(figure)
    return paths


def network_text(network):
    """Short enough for a title; the records and tables have all of it."""
    return network.split(', loss 0,')[0]


def stems(points, stem):
    """Where pictures of each network go: {network: stem}, `stem` itself where there is one only."""
    networks = list(dict.fromkeys(p['network'] for p in points))
    return {network: stem if len(networks) == 1 else f'{stem}-network{number}'
            for number, network in enumerate(networks, 1)}


def sizes_axis(axes, sizes):
    axes.set_xscale('log', base=2)
    shown = sizes if len(sizes) <= 9 else sizes[::2]
    axes.set_xticks(shown, [size_text(s) for s in shown])
    axes.minorticks_off()
    axes.set_xlabel('message, bytes')
    axes.grid(True, which='major', alpha=0.3)


def times_draw(axes, rows, names, title):
    """Medians with bars from the fastest to the slowest job, and the bound."""
    sizes = sorted(rows)
    bounds = [rec.bound_us(rows[s].values()) / 1000 for s in sizes]
    axes.plot(sizes, bounds, 'k--', linewidth=1, label='lower bound')
    for name in names:
        at = [s for s in sizes if name in rows[s]]
        if not at:
            continue
        times = [rows[s][name].times for s in at]
        middle = [t.median / 1000 for t in times]
        bars = [[(t.median - t.low) / 1000 for t in times],
                [(t.high - t.median) / 1000 for t in times]]
        axes.errorbar(at, middle, yerr=bars, capsize=2, label=name, **style_of(name, names))
    sizes_axis(axes, sizes)
    axes.set_yscale('log')
    axes.set_ylabel('ms, last rank, minus the empty operation')
    axes.set_title(title, fontsize=10)
    axes.legend(fontsize=8)


def time_plots(points, names, stem):
    """One figure per operation, mode, placement and root; returns the files."""
    paths, to = [], stems(points, stem)
    for (network, placement, op, mode, root), rows in table.groups(rec.cells(points)).items():
        if min(rows) < 1:       # barrier: no size to plot against
            continue
        figure, axes = plt.subplots(figsize=(6.4, 4.4))
        times_draw(axes, rows, names, f'{op}, {mode}, {placement}\n{network_text(network)}')
        at_root = f'-root{root}' if root else ''
        paths += figure_save(figure, f'{to[network]}-{op}-{mode}-{placement.replace(":", "")}{at_root}')
    return paths


def together_plot(points, names, stem):
    """All operations side by side in one figure."""
    tables = {key: rows for key, rows in table.groups(rec.cells(points)).items() if min(rows) > 0}
    figure, grid = plt.subplots(1, len(tables), figsize=(5.8 * len(tables), 4.4), squeeze=False)
    for axes, ((_, placement, op, mode, _), rows) in zip(grid[0], tables.items()):
        times_draw(axes, rows, names, f'{op}, {mode}, {placement}')
    figure.suptitle(network_text(next(iter(tables))[0]), fontsize=9)
    return figure_save(figure, stem)


def summary_plot(points, reference, stem):
    """How many times faster than the best other setting: a row for each operation, a dot for each size."""
    paths, to = [], stems(points, stem)
    for (network, placement, mode), ops in table.summaries(points, reference).items():
        names = list(ops)
        sizes = sorted({size for rows in ops.values() for size in rows if size}) or [0]
        figure, axes = plt.subplots(figsize=(7.2, 0.42 * len(names) + 1.6))
        shades = matplotlib.colormaps['viridis_r']
        for at, size in enumerate(sizes):
            dots = [(table.ratio(*ops[op][s]), row) for row, op in enumerate(names) for s in (size, 0)
                    if s in ops[op] and (s or at == 0)]
            dots = [(times, row) for times, row in dots if times]
            # Sizes one below the other, so that equal ones do not hide each other.
            offset = (at + 0.5) / len(sizes) - 0.5
            axes.scatter([t for t, _ in dots], [row + 0.6 * offset for _, row in dots], s=26,
                         color=shades((at + 0.5) / len(sizes)), label=size_text(size), zorder=3)
        axes.axvline(1, color='black', linewidth=1)
        axes.set_xscale('log')
        low, high = axes.get_xlim()
        ticks = [t for t in (0.25, 0.5, 0.8, 1, 1.25, 2, 4, 8, 16, 32, 64) if low <= t <= high]
        axes.set_xticks(ticks, [f'{t:g}' for t in ticks])
        axes.minorticks_off()
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.grid(True, which='major', axis='x', alpha=0.3)
        axes.set_xlabel(f'times as fast as the best other setting (right of 1: {reference} is faster)')
        axes.set_title(f'{mode}, {placement}\n{network_text(network)}', fontsize=9)
        axes.legend(title='bytes', fontsize=7, title_fontsize=7, loc='center left', bbox_to_anchor=(1.01, 0.5))
        paths += figure_save(figure, f'{to[network]}-all-{mode}-{placement.replace(":", "")}')
    return paths


def model_plot(points, stem):
    """Predicted against measured time, a dot for each algorithm and size."""
    paths, to = [], stems(points, stem)
    for (network, placement, mode), ops in table.predictions(points).items():
        figure, axes = plt.subplots(figsize=(7.2, 5.4))
        for at, (op, rows) in enumerate(ops.items()):
            pairs = [pair for row in rows.values() for pair in row.values()]
            axes.scatter([m / 1e3 for m, _ in pairs], [p / 1e3 for _, p in pairs], s=22, zorder=3, label=op,
                         color=matplotlib.colormaps['tab20'](at % 20), marker='osD^v<>Pp*hX'[at % 12])
        axes.set_xscale('log')
        axes.set_yscale('log')
        low, high = (min(axes.get_xlim()[0], axes.get_ylim()[0]), max(axes.get_xlim()[1], axes.get_ylim()[1]))
        axes.fill_between([low, high], [0.8 * low, 0.8 * high], [1.2 * low, 1.2 * high], color='0.9')
        axes.plot([low, high], [low, high], color='black', linewidth=1)
        axes.set(xlim=(low, high), ylim=(low, high), xlabel='measured, ms', ylabel='predicted, ms (grey: within 20%)')
        axes.grid(True, which='major', alpha=0.3)
        axes.set_title(f'{mode}, {placement}\n{network_text(network)}', fontsize=9)
        axes.legend(fontsize=7, loc='center left', bbox_to_anchor=(1.01, 0.5))
        paths += figure_save(figure, f'{to[network]}-model-{mode}-{placement.replace(":", "")}')
    return paths


def throughput(op, size, ranks, time_us):
    """What figure 4 of the paper plots, in MB/s (10^6)."""
    power = 2 if op == 'allreduce' else 1
    return size * ranks ** power / time_us


def figure4_plot(points, labels, stem):
    """`labels`: {setting: {op: text}}; one panel per operation."""
    names = list(labels)
    tables = table.groups(rec.cells(points))
    figure, grid = plt.subplots(1, len(tables), figsize=(6.4 * len(tables), 4.8), squeeze=False)
    for axes, ((_, _, op, _, _), rows) in zip(grid[0], tables.items()):
        for name in names:
            sizes = [s for s in sorted(rows) if name in rows[s]]
            if not sizes:
                continue
            ranks = rows[sizes[0]][name].records[0]['ranks']
            axes.plot(sizes, [throughput(op, s, ranks, rows[s][name].times.median) for s in sizes],
                      label=labels[name][op], **style_of(name, names))
        sizes_axis(axes, sorted(rows))
        axes.set_ylabel('bytes x ranks / time, MB/s' if op != 'allreduce'
                        else 'bytes x ranks$^2$ / time, MB/s')
        axes.set_title(op)
        axes.legend(fontsize=8)
    figure.suptitle(network_text(next(iter(tables))[0]), fontsize=9)
    return figure_save(figure, stem)


def changes_plot(rows, mode, static, stem):
    """Bandwidth of each call against time (contrib/bench/changes), a colour for each job; what is compared with is dashed."""
    def bandwidth(row):
        return [row['bytes'] * row['processes'] / s / 1e6 for s in row['seconds']]

    def level(chosen):
        return statistics.median(statistics.median(b[len(b) // 2:]) for b in map(bandwidth, chosen))

    if mode == 'links':
        panels = {row['setting'].rpartition(',')[0]: [r for r in rows if r['setting'].rpartition(',')[0] == row['setting'].rpartition(',')[0]] for row in rows}
    else:
        panels = {f'half of {max(r["processes"] for r in rows)} processes leave and come back ({mode})': rows}
    figure, grid = plt.subplots(1, len(panels), figsize=(max(7.2, 4.6 * len(panels)), 4.4), squeeze=False)
    for axes, (title, here) in zip(grid[0], panels.items()):
        compared = [r for r in here if r['setting'] == static or r['setting'].endswith('fresh')]
        shown = [r for r in here if r not in compared]
        for at, job in enumerate(sorted({r['job'] for r in shown})):
            mine = [r for r in shown if r['job'] == job]
            for k, row in enumerate(mine):
                begins = row['link_s'] if mode == 'links' else 0
                axes.plot([s - begins for s in row['starts']], bandwidth(row), color=COLOURS[at], marker='.', markersize=3, linewidth=0.9,
                          label=f'job {job}' if k == 0 else None)
                if at == 0 or mode == 'links':
                    axes.axvline(0 if mode == 'links' else row['changed_s'], color='black', linewidth=0.6, alpha=0.4)
        for n in sorted({r['processes'] for r in compared}):
            axes.axhline(level([r for r in compared if r['processes'] == n]), color='black', linestyle='--', linewidth=1,
                         label=('a fresh start on the changed network' if mode == 'links' else f'{static}, {n} processes'))
        axes.set_ylim(bottom=0)
        axes.set_xlabel('s after the change' if mode == 'links' else 's')
        axes.set_ylabel('bytes x processes / time, MB/s')
        axes.set_title(title, fontsize=9)
        axes.grid(True, alpha=0.3)
        axes.legend(fontsize=7)
    figure.tight_layout()
    return figure_save(figure, stem)


def replays_plot(found, stem):
    """Time of each trace over that of the fastest job of fixed choices; bars from the fastest to the slowest job."""
    figure, axes = plt.subplots(figsize=(7.2, 0.5 + 0.8 * len(found)))
    for at, way in enumerate(replays.WAYS):
        over = [one.ratios(way) for one in found]
        rows = [row + (at - 1) * 0.22 for row in range(len(found))]
        axes.errorbar([m for m, _, _ in over], rows, xerr=[[m - low for m, low, _ in over], [high - m for m, _, high in over]], linestyle='',
                      capsize=3, label=way, color=COLOURS[at], marker=MARKERS[at], markersize=5)
    axes.axvline(1, color='black', linewidth=1)
    axes.axvline(1.05, color='black', linewidth=0.8, linestyle='--')
    axes.set_xscale('log')
    high = axes.get_xlim()[1]
    ticks = [t for t in (1, 1.05, 1.2, 1.5, 2, 3, 5, 10) if t <= high]
    axes.set_xticks(ticks, [f'{t:g}' for t in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(found)), [one.trace.removesuffix('.trace') for one in found])
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.grid(True, which='major', axis='x', alpha=0.3)
    axes.set_xlabel('time of all calls / that of the fastest job of fixed choices')
    axes.set_title(found[0].network, fontsize=9)
    axes.legend(fontsize=7, loc='center left', bbox_to_anchor=(1.01, 0.5))
    return figure_save(figure, stem)
