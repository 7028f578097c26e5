"""Discovery of sites on simulated networks, run after run with other seeds: how often they are right, and when.

SPDX-License-Identifier: BSD-3-Clause
"""

from wanbenchlib import statistics
from wanbenchlib.records import Records
from wanbenchlib.table import grid_text

from . import jobs

# wansim's options, and what the program calls them.
NETWORK = {'nic': '--nic', 'uplink': '--uplink', 'lan': '--lan', 'delay': '--wan'}
CLUSTERS = '256,256,256,256'
PLACEMENTS = ('block', 'roundrobin', 'shuffled')


def run(args):
    """Simulates what is not yet in args.json, prints a table."""
    kept, found = Records(args.json), []
    clusters = args.clusters or CLUSTERS
    for number in range(args.draws):
        seed = args.seed + number
        placement = args.placement or PLACEMENTS[seed % len(PLACEMENTS)]
        arguments = ['--clusters', clusters, '--placement', placement, '--seed', str(seed), *jobs.told(args, NETWORK)]
        lines = jobs.recorded(kept, {'arguments': arguments}, [jobs.built('wandiscovery_sim'), *arguments], args.job_seconds,
                              f'{clusters}, {placement}, seed {seed}')
        if lines and lines[-1]['type'] == 'end':
            found.append(dict(lines[-1], placement=placement))
    print(table_text(found, clusters, args), end='')
    return 0 if len(found) == args.draws and not any(r['wrong'] for r in found) else 1


def table_text(found, clusters, args):
    if not found:
        return 'nothing was simulated\n'
    rows = []
    for placement in sorted({r['placement'] for r in found}) + ['all']:
        of = [r for r in found if placement in ('all', r['placement'])]
        known = [r['known_ms'] for r in of]
        rows.append([placement, str(len(of)), str(sum(not r['wrong'] for r in of)), f'{statistics.median(known):.0f}', f'{max(known):.0f}',
                     f"{max(r['messages'] / r['hosts'] for r in of):.0f}", str(max(r['most_messages'] for r in of))])
    delay = args.delay if args.delay is not None else 20
    return '\n'.join([f'sites of {clusters} hosts, {delay:g} ms one way between them',
                      *grid_text(['placement', 'runs', 'right', 'known, ms', 'at most', 'messages a host', 'of one'], rows), ''])
