"""Calls of programs, as contrib/sim/traces has them.

SPDX-License-Identifier: BSD-3-Clause
"""

import itertools
import tempfile

from . import jobs
from .sizes import size_parse

OPS = ('bcast', 'allreduce', 'reduce', 'barrier', 'allgather', 'gather', 'scatter', 'reduce_scatter', 'alltoall', 'scan', 'exscan')
BY_BLOCK = ('allgather', 'gather', 'scatter', 'reduce_scatter', 'alltoall')     # a call's bytes are those of one rank's block


def trace_read(path):
    """[(op, bytes)], one for each call, in their order.

    One call a line, 'OP BYTES' (of one rank's block where there is one for each, else of the vector);
    'repeat N' ... 'end' around lines; '#' begins a comment."""
    nested, times = [[]], []
    with open(path, encoding='utf-8') as file:
        for number, text in enumerate(file, 1):
            words = text.split('#')[0].split()
            if not words:
                continue
            if words[0] == 'repeat' and len(words) == 2 and words[1].isdigit():
                times.append(int(words[1]))
                nested.append([])
            elif words == ['end'] and times:
                inner = nested.pop() * times.pop()
                nested[-1] += inner
            elif len(words) == 2 and words[0] in OPS:
                nested[-1].append((words[0], size_parse(words[1])))
            else:
                raise ValueError(f"{path}:{number}: '{text.strip()}' is no call: write 'OP BYTES', 'repeat N' or 'end'")
    if times:
        raise ValueError(f"{path}: a 'repeat' without its 'end'")
    return nested[0]


def calls_write(calls, path):
    """For contrib/bench/calls_worker."""
    with open(path, 'w', encoding='ascii') as file:
        for (op, size), same in itertools.groupby(calls):
            file.write(f'{op} {size} {len(list(same))}\n')


def times_of(said):
    """What calls_worker printed: ({(op, bytes): (calls, ms)}, ms of all); None without its last line."""
    classes, total = {}, None
    for line in said.splitlines():
        words = line.split()
        if len(words) == 6 and words[2] == 'x' and words[5] == 'ms':
            classes[words[0], int(words[1])] = int(words[3].rstrip(':')), float(words[4])
        elif len(words) == 3 and words[0] == 'all:' and words[2] == 'ms':
            total = float(words[1])
    return (classes, total) if total is not None else None


def calls_run(args, words, calls):
    """times_of() a job of args.program (calls_worker) in the lab args.name, told `words`; None where it does not end in args.timeout seconds."""
    with tempfile.NamedTemporaryFile('r') as file:
        calls_write(calls, file.name)
        ran = jobs.lab('run', '--name', args.name, '--timeout', str(args.timeout), *words, args.program, file.name)
    if ran.returncode != 0 and 'timeout' not in ran.stdout and ran.returncode != 124:
        raise jobs.BenchError(f'a job ended with {ran.returncode}:\n{ran.stdout}')
    if 'coll/wan stays out' in ran.stdout:
        raise jobs.BenchError(ran.stdout)
    return times_of(ran.stdout) if ran.returncode == 0 else None
