"""Tables on the terminal.

SPDX-License-Identifier: BSD-3-Clause
"""

from wanbenchlib.sizes import size_text
from wanbenchlib.table import grid_text, ms_text


def name_of(setting):
    """For people: 'wan,links=4,algo=direct' is 'direct n=4'."""
    kind, *rest = setting.split(',')
    if kind == 'mpi':
        return ' '.join(['SMPI'] + [word.split(':')[-1] for word in rest if ':' in word])
    values = dict(word.split('=') for word in rest)
    algo = values.pop('algo', 'coll/wan')
    links = values.pop('links', None)
    return ' '.join([algo] + ([f'n={links}'] if links else []) + [f'{k}={v}' for k, v in values.items()])


def algorithm_of(record):
    """'vandegeijn, n=32' of the plan in a record."""
    words = record.get('plan', '').split()
    if len(words) < 2:
        return ''
    values = dict(zip(words[2::2], words[3::2]))
    segment = int(values.get('segment', 0))
    cut = f', {size_text(segment)} segments' if segment and segment < record['bytes'] else ''
    return f"{words[1]}, n={values['links']}{cut}"


def tables_text(points):
    """One table for each network, placement and operation; a column for each setting."""
    groups = {}
    for r in points:
        groups.setdefault((r['network'], r['placement'], r['op']), {}).setdefault(r['bytes'], {})[r['setting']] = r
    out = []
    for (network, placement, op), rows in groups.items():
        settings = list(dict.fromkeys(s for row in rows.values() for s in row))
        head = ['bytes', 'bound'] + [name_of(s) for s in settings]
        both = 'wan' in settings and 'mpi' in settings
        head += (['SMPI/wan'] if both else []) + (['wan/bound', 'plan', 'predicted'] if 'wan' in settings else [])
        body = []
        for size in sorted(rows):
            row = rows[size]
            line = [size_text(size), ms_text(next(iter(row.values()))['bound_us'])]
            for s in settings:
                line.append((ms_text(row[s]['us']) + (' W' if row[s]['wrong'] else '')) if s in row else '')
            wan = row.get('wan')
            if both:
                line.append(f"{row['mpi']['us'] / wan['us']:.2f}" if wan and 'mpi' in row else '')
            if 'wan' in settings:
                line += [f"{wan['us'] / wan['bound_us']:.2f}", algorithm_of(wan), ms_text(wan['predicted_us'])] if wan else [''] * 3
            body.append(line)
        out += [f'{op}, {placement} -- {network}', 'ms, simulated, last rank'] + grid_text(head, body) + ['']
        for r in (r for row in rows.values() for r in row.values() if 'noticed_most' in r):
            what = f"{op} of {size_text(r['bytes'])}, {r['setting'].replace('wan,', '')}: the links are looked at again "
            out.append(what + (f"after {r['noticed_mean']:.1f} calls, at most {r['noticed_most']}" if r['noticed_most'] else 'never'))
    if any(r['wrong'] for r in points):
        out.append('W: WRONG RESULTS')
    return '\n'.join(out).rstrip() + '\n'
