"""The table on the terminal.

SPDX-License-Identifier: BSD-3-Clause
"""

import itertools

from . import records as rec
from . import statistics
from .sizes import size_text


def ms_text(us):
    ms = us / 1000
    return f'{ms:.0f}' if ms >= 1000 else f'{ms:.1f}' if ms >= 20 else f'{ms:.2f}'


def cell_marks(cell):
    return ('W' if cell.wrong else '') + ('!' if cell.late else '') + ('r' if cell.shaky else '') + \
        ('f' if cell.only_first else '') + \
        ('-' if cell.served is not None and cell.served < cell.calls else '')


NOTES = {'W': 'W: WRONG RESULTS', '!': '!: the emulator was late (more than 1 ms and 1% of the time) in too many rounds',
         'r': 'r: more than a third of the rounds came late, and are not counted',
         'f': 'f: too long to repeat within a job: its first call counts',
         '-': '-: coll/wan did not serve every call',
         'n': 'n=: of so many jobs: more were not needed, or the emulator was late in them'}


def notes_lines(marks, all_cells):
    """What the marks mean; and what to think of the figures where this machine had too little time for them."""
    notes = [NOTES[m] for m in NOTES if m in marks]
    busy = sum(cell.late or cell.shaky for cell in all_cells)
    if busy:
        notes.append(f'The machine was busy: {busy} of {len(all_cells)} figures are marked ! or r, and may be off. '
                     'Measure again when nothing else runs.')
    return notes


def cell_text(cell, bound, jobs):
    """'26.1 (25.8-26.9) 1.10x', with marks explained under the table."""
    times = cell.times
    marks = cell_marks(cell)
    few = f' n={times.count}' if times.count != jobs else ''
    multiple = f' {times.median / bound:.2f}x' if bound > 0 else ''
    return (f'{ms_text(times.median)} ({ms_text(times.low)}-{ms_text(times.high)})'
            f'{multiple}{few}{" " + marks if marks else ""}')


def grid_text(head, rows):
    widths = [max(len(row[i]) for row in [head] + rows) for i in range(len(head))]
    line = lambda row: '  '.join(text.rjust(w) for text, w in zip(row, widths)).rstrip()
    return [line(head), line(['-' * w for w in widths])] + [line(row) for row in rows]


def groups(all_cells):
    """Cells by table: {(network, placement, op, mode, root): {bytes: {setting: cell}}}."""
    tables = {}
    for key, cell in all_cells.items():
        *group, size, setting = key
        tables.setdefault(tuple(group), {}).setdefault(size, {})[setting] = cell
    return tables


def tables_text(points, settings, reference=None):
    """All tables; `settings` are names in order of columns, ratios against `reference`."""
    out = []
    marks = set()
    for group, rows in groups(rec.cells(points)).items():
        network, placement, op, mode, root = group
        here = [s for s in settings if any(s in row for row in rows.values())]
        base = reference if reference in here else None
        jobs = max(c.times.count for row in rows.values() for c in row.values())
        empty = statistics.median([r['empty_us'] for row in rows.values()
                                   for c in row.values() for r in c.records])
        others = [s for s in here if s != base] if base else []
        body, bounds = [], []
        for size in sorted(rows):
            row = rows[size]
            bound = rec.bound_us(row.values())
            texts = [cell_text(row[s], bound, jobs) if s in row else '' for s in here]
            marks.update(m for s in row for m in cell_marks(row[s]))
            marks.update('n' for s in row if row[s].times.count != jobs)
            ratios = [f'{row[s].times.median / row[base].times.median:.2f}'
                      if s in row and base in row and row[base].times.median > 0 else ''
                      for s in others]
            bounds.append(bound)
            body.append([size_text(size)] + texts + ratios)
        where = f'root {root}, ' if op.removeprefix('i') in ROOTED else ''
        out.append(f'{op}, {mode}, {where}{placement} -- {network}')
        out.append(f'ms, median of {jobs} jobs (min-max), minus the empty operation '
                   f'({ms_text(empty)} ms)' + (', multiple of the lower bound' if any(bounds) else ''))
        head = ['bytes'] + here + [f'{s}/{base}' for s in others]
        if any(bounds):     # not without a network
            head.insert(1, 'bound')
            for line, bound in zip(body, bounds):
                line.insert(1, ms_text(bound))
        out += grid_text(head, body)
        out.append('')
    out += notes_lines(marks, list(rec.cells(points).values()))
    return '\n'.join(out).rstrip() + '\n'


def summaries(points, reference):
    """All operations together: {(network, placement, mode): {op: {bytes: (best, own)}}}.

    `own` is the cell of `reference`, `best` that of the fastest other setting; sizes
    without one of the two are left out, and roots other than 0."""
    found = {}
    for (network, placement, op, mode, root), rows in groups(rec.cells(points)).items():
        for size, row in rows.items():
            others = [cell for name, cell in row.items() if name != reference]
            if root or reference not in row or not others:
                continue
            best = min(others, key=lambda cell: cell.times.median)
            found.setdefault((network, placement, mode), {}).setdefault(op, {})[size] = (best, row[reference])
    return found


def ratio(best, own):
    """How many times as long the best other takes; None where that cannot be said."""
    return best.times.median / own.times.median if own.times.median > 0 else None


SUMMARY_MARKS = 'W!rf'


def summary_cell(best, own, bound):
    marks = ''.join(m for m in SUMMARY_MARKS if m in cell_marks(best) + cell_marks(own))
    times = ratio(best, own)
    multiple = f' {own.times.median / bound:.2f}x' if bound > 0 else ''
    return (f'{ms_text(best.times.median)} / {ms_text(own.times.median)}{multiple}'
            f'{f" ({times:.2f})" if times else ""}{" " + marks if marks else ""}')


def summary_text(points, reference):
    """One table for each network, placement and mode: operations by sizes."""
    out = []
    shown_cells = []
    for (network, placement, mode), ops in summaries(points, reference).items():
        sizes = sorted({size for rows in ops.values() for size in rows if size})
        out.append(f'{mode}, {placement} -- {network}')
        out.append(f'ms: best of the others / {reference}, multiple of the lower bound (how many times faster)')
        body = []
        for op, rows in ops.items():
            shown = dict(rows)
            if 0 in shown:      # a barrier: in the first column
                shown[sizes[0] if sizes else 0] = shown.pop(0)
            body.append([op] + [summary_cell(*shown[s], rec.bound_us(shown[s])) if s in shown else ''
                                for s in sizes or [0]])
        out += grid_text(['bytes'] + [size_text(s) for s in sizes or [0]], body)
        shown_cells += [cell for rows in ops.values() for pair in rows.values() for cell in pair]
        over = excesses(ops)
        out.append(f'At each point (a collective, a size), beside the fastest of all settings there ({reference} among them: 0% where it is the fastest), '
                   f'{reference} takes {100 * sum(over) / len(over):.1f}% longer on average of {len(over)} points, '
                   f'and at 95% of them {100 * statistics.percentile(over, 95):.1f}% at most')
        out.append('')
    marks = {m for cell in shown_cells for m in cell_marks(cell) if m in SUMMARY_MARKS}
    out += notes_lines(marks, shown_cells)
    return '\n'.join(out).rstrip() + '\n'


def excesses(ops):
    """By how much the reference takes longer than the fastest setting, itself among them: 0 where it is that."""
    times = [ratio(*pair) for rows in ops.values() for pair in rows.values()]
    return [max(0.0, 1 / t - 1) for t in times if t] or [0.0]


def predictions(points):
    """{(network, placement, mode): {op: {bytes: {setting: (measured, predicted)}}}}, in us, root 0."""
    found = {}
    for (network, placement, op, mode, root), rows in groups(rec.cells(points)).items():
        for size, row in rows.items():
            known = {name: (cell.times.median, statistics.median([r['predicted_us'] for r in cell.records]))
                     for name, cell in row.items()
                     if cell.times.median > 0 and all('predicted_us' in r for r in cell.records)}
            if known and not root:
                found.setdefault((network, placement, mode), {}).setdefault(op, {})[size] = known
    return found


def prediction_error(pair):
    measured, predicted = pair
    return abs(predicted / measured - 1)


def repeated_text(ops, again):
    """How far a second measurement puts settings in the order of the first; more is not to be expected of predictions."""
    ranks, alike, of_all, far, predicted, far_predicted = [], 0, 0, 0, 0, 0
    for op, rows in ops.items():
        for size, row in rows.items():
            both = [(row[name], again[op][size][name][0]) for name in row if name in again.get(op, {}).get(size, {})]
            first, second = [pair[0] for pair, _ in both], [m for _, m in both]
            repeated = statistics.rank_correlation(first, second)
            if repeated is not None:
                ranks.append((repeated, statistics.rank_correlation(first, [pair[1] for pair, _ in both])))
            for ((m, p), n), ((o, q), r) in itertools.combinations(both, 2):
                of_all += 1
                if (m - o) * (n - r) > 0:
                    right = (p - q) * (m - o) > 0
                    wide = max(m, o) > 1.1 * min(m, o) and max(n, r) > 1.1 * min(n, r)
                    alike, predicted, far, far_predicted = alike + 1, predicted + right, far + wide, far_predicted + (wide and right)
    if not ranks:
        return 'measured again: nothing of these'
    sure = [p for m, p in ranks if m >= 0.9]
    return (f'measured again: the rank correlation of both measurements is at least 0.9 in {len(sure)} of {len(ranks)} (median '
            f'{statistics.median([m for m, _ in ranks]):.2f}); that of predictions in {sum(p is not None and p >= 0.9 for p in sure)} of these {len(sure)} and in '
            f'{sum(p is not None and p >= 0.9 for m, p in ranks if m < 0.9)} of the other {len(ranks) - len(sure)}. Both put {alike} of {of_all} pairs in one order: '
            f'{predicted} are predicted; of the {far} that differ by more than a tenth in both: {far_predicted}')


def model_text(points, again=()):
    """What coll/wan predicted beside what was measured: each algorithm, then how good that is; and how good a second measurement is."""
    out, second = [], predictions(again)
    for (network, placement, mode), ops in predictions(points).items():
        errors, ranks, orders, pairs, losses, body = {}, [], [], [], [], []
        for op, rows in ops.items():
            for size, row in sorted(rows.items()):
                errors.setdefault(op, []).extend(prediction_error(pair) for pair in row.values())
                rank = statistics.rank_correlation(*zip(*row.values()))
                if rank is not None:
                    ranks.append(rank)
                apart = [(p - q) * (m - n) for (m, p), (n, q) in itertools.combinations(row.values(), 2) if max(m, n) > 1.1 * min(m, n)]
                pairs += [x > 0 for x in apart]
                told = [x > 0 for x in apart if x]      # equal predictions tell nothing
                if told:
                    orders.append(2 * sum(told) / len(told) - 1)        # Goodman and Kruskal's gamma
                losses.append(min(row.values(), key=lambda pair: pair[1])[0] / min(measured for measured, _ in row.values()) - 1)
                body.append([op, size_text(size), '' if rank is None else f'{rank:.2f}'] + [
                    f'{name.partition(":")[2] or name} {ms_text(measured)} ({100 * (predicted / measured - 1):+.0f}%)'
                    for name, (measured, predicted) in sorted(row.items(), key=lambda item: item[1][0])])
        widest = max(len(line) for line in body)
        body = [line + [''] * (widest - len(line)) for line in body]
        out.append(f'{mode}, {placement} -- {network}')
        out.append('ms (predicted more or less than that), fastest first; rank: do predictions put them in this order (1: yes)')
        out += grid_text(['', 'bytes', 'rank', 'fastest'] + [''] * (widest - 4), body)
        every = [e for of in errors.values() for e in of]
        out.append('median error: ' + ', '.join(f'{op} {100 * statistics.median(of):.0f}%' for op, of in errors.items())
                   + f'; of all {len(every)}: {100 * statistics.median(every):.0f}%')
        if ranks:
            out.append(f'rank correlation: median {statistics.median(ranks):.2f}, at least 0.9 in {sum(r >= 0.9 for r in ranks)} of {len(ranks)}')
        if again:
            out.append(repeated_text(ops, second.get((network, placement, mode), {})))
        if orders:
            out.append(f'of two that differ by more than a tenth the faster one is predicted: {sum(pairs)} of {len(pairs)} (by collective and size, '
                       f'pairs in order less those that are not: median {statistics.median(orders):.2f}, at least 0.9 in {sum(r >= 0.9 for r in orders)} '
                       f'of {len(orders)}); what is predicted '
                       f'to be the fastest takes {100 * sum(losses) / len(losses):.1f}% more than the fastest on average, {100 * max(losses):.0f}% at most')
        out.append('')
    return '\n'.join(out).rstrip() + '\n'


ROOTED = ('bcast', 'reduce', 'gather', 'gatherv', 'scatter', 'scatterv')
