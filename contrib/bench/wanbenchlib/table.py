"""The table on the terminal.

SPDX-License-Identifier: BSD-3-Clause
"""

from . import records as rec
from . import statistics
from .sizes import size_text


def ms_text(us):
    ms = us / 1000
    return f'{ms:.0f}' if ms >= 1000 else f'{ms:.1f}' if ms >= 20 else f'{ms:.2f}'


def cell_marks(cell):
    return ('W' if cell.wrong else '') + ('!' if cell.late else '') + \
        ('f' if cell.only_first else '') + \
        ('-' if cell.served is not None and cell.served < cell.calls else '')


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
        body = []
        for size in sorted(rows):
            row = rows[size]
            bound = rec.bound_us(row.values())
            texts = [cell_text(row[s], bound, jobs) if s in row else '' for s in here]
            marks.update(m for s in row for m in cell_marks(row[s]))
            ratios = [f'{row[s].times.median / row[base].times.median:.2f}'
                      if s in row and base in row and row[base].times.median > 0 else ''
                      for s in others]
            body.append([size_text(size), ms_text(bound)] + texts + ratios)
        where = f'root {root}, ' if op.removeprefix('i') in ROOTED else ''
        out.append(f'{op}, {mode}, {where}{placement} -- {network}')
        out.append(f'ms, median of {jobs} jobs (min-max), minus the empty operation '
                   f'({ms_text(empty)} ms), multiple of the lower bound')
        out += grid_text(['bytes', 'bound'] + here + [f'{s}/{base}' for s in others], body)
        out.append('')
    notes = {'W': 'W: WRONG RESULTS', '!': '!: the emulator was late (more than 1 ms and 1% of the time) in too many rounds',
             'f': 'f: too long to repeat within a job: its first call counts',
             '-': '-: coll/wan did not serve every call'}
    out += [notes[m] for m in 'W!f-' if m in marks]
    return '\n'.join(out).rstrip() + '\n'


ROOTED = ('bcast', 'reduce', 'gather', 'gatherv', 'scatter', 'scatterv')
