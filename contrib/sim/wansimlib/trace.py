"""Calls of a program, replayed: what trials cost and gain over all of them, beside the best fixed choice in hindsight.

SPDX-License-Identifier: BSD-3-Clause
"""

import collections
import os

from wanbenchlib.sizes import size_text
from wanbenchlib.table import grid_text, ms_text
from wanbenchlib.traces import trace_read

from . import oracle


def run(args, sweep, net):
    """A table for each trace; calls of a class take what they take from a common start, so nothing is said of skew."""
    paths = args.traces or [os.path.join(os.path.dirname(oracle.__file__), '..', 'traces', f'{n}.trace') for n in ('is', 'cg', 'md')]
    print(f'{args.placement} -- {net.text()}')
    for path in paths:
        rows, total = [], {'model': 0, 'tuned': 0, 'best': 0, 'Open MPI': 0}
        for (op, size), calls in collections.Counter(trace_read(path)).items():
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
