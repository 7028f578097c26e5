"""Calls of a program, replayed: what trials cost and gain over all of them, beside the best fixed choice in hindsight.

SPDX-License-Identifier: BSD-3-Clause
"""

import os

from wanbenchlib.sizes import size_parse, size_text
from wanbenchlib.table import grid_text, ms_text

from . import oracle


def trace_read(path):
    """{(op, bytes): calls} in the order of their first calls.

    One call a line, 'OP BYTES' (bytes as wansim's --sizes has them: of one rank's block where there is one for
    each); 'repeat N' ... 'end' around lines; '#' begins a comment."""
    counts, times = {}, [1]
    with open(path, encoding='utf-8') as file:
        for number, text in enumerate(file, 1):
            words = text.split('#')[0].split()
            if not words:
                continue
            if words[0] == 'repeat' and len(words) == 2 and words[1].isdigit():
                times.append(times[-1] * int(words[1]))
            elif words == ['end'] and len(times) > 1:
                times.pop()
            elif len(words) == 2 and words[0] in oracle.OPS.split(','):
                call = words[0], size_parse(words[1])
                counts[call] = counts.get(call, 0) + times[-1]
            else:
                raise ValueError(f"{path}:{number}: '{text.strip()}' is no call: write 'OP BYTES', 'repeat N' or 'end'")
    if len(times) > 1:
        raise ValueError(f"{path}: a 'repeat' without its 'end'")
    return counts


def run(args, sweep, net):
    """A table for each trace; calls of a class take what they take from a common start, so nothing is said of skew."""
    paths = args.traces or [os.path.join(os.path.dirname(oracle.__file__), '..', 'traces', f'{n}.trace') for n in ('is', 'cg', 'md')]
    print(f'{args.placement} -- {net.text()}')
    for path in paths:
        rows, total = [], {'model': 0, 'tuned': 0, 'best': 0, 'Open MPI': 0}
        for (op, size), calls in trace_read(path).items():
            by = {r['setting']: r for r in oracle.measure_points(args, sweep, net, op, [(op, size)])}
            fixed = {s: r['us'] for s, r in by.items() if ',tune=' not in s and not r['wrong']}
            best = min(fixed, key=fixed.get)
            us = {'model': calls * by['wan']['us'], 'tuned': oracle.tuned_us(by[oracle.tuned_setting(args)], calls), 'best': calls * fixed[best],
                  'Open MPI': calls * by['mpi']['us']}
            total = {k: total[k] + us[k] for k in total}
            rows.append([op, size_text(size), str(calls)] + [ms_text(v) for v in us.values()] + [best.replace('wan,as=', '').replace('/', ' ')])
        rows.append(['all', '', ''] + [ms_text(v) for v in total.values()] + [''])
        print('\n'.join(grid_text(['operation', 'bytes', 'calls'] + [f'{k}, ms' for k in total] + ['the best'], rows)))
        print(f"{os.path.basename(path)}: tuned {total['tuned'] / total['best']:.3f}, model {total['model'] / total['best']:.3f}, "
              f"Open MPI's selector {total['Open MPI'] / total['best']:.3f} times the best fixed choice of each class in hindsight\n")
    return 0
