"""Is this network, on this machine, at this moment, fit for measuring?

Compares what a job measures with what the lab was told to be, and says in
words what is wrong.

SPDX-License-Identifier: BSD-3-Clause
"""

import os

from . import records
from .jobs import BenchError, Job, environment
from .settings import PREDEFINED

# Share of a NIC's rate that is payload: 1448 of 1538 - 24 = 1514 counted bytes.
GOODPUT = 1448 / 1514
EMPTY_LIMIT_MS = 3.0        # 32 ranks on two idle cores: 1.4 to 2
LATENCY_SLACK = 0.05
BANDWIDTH_SLACK = 0.05
ROUNDS_SPREAD = 0.25


class Findings:
    def __init__(self):
        self.bad = 0

    def note(self, good, text):
        self.bad += not good
        print(('good: ' if good else 'BAD:  ') + text)


def examine(place, worker):
    found = Findings()
    cores = os.cpu_count() or 1
    load = os.getloadavg()[0]
    found.note(load < 0.5 * cores, f'load average {load:.2f} on {cores} cores before the job' +
               ('' if load < 0.5 * cores else ': other work would be in every figure'))
    setting = PREDEFINED['ompi']
    command = place.command('block', 300) + list(setting.command) + \
        [worker, '--settle', '300', '--type', 'double', 'barrier:0:0:warm:20', 'allreduce:8:0:warm:20']
    place.stat()
    job = Job(command, environment(None), 330)
    lines = list(job)
    lateness, drops = place.stat(reset=False)
    if job.status != 0 or not lines:
        raise BenchError(f'the job did not run (exit status {job.status}):\n{job.errors}')
    calibration = next(line for line in lines if line['type'] == 'calibration')
    points = {line['op']: line for line in lines if line['type'] == 'point'}
    network_judge(found, place.expected(), calibration)
    points_judge(found, points)
    emulator_judge(found, lateness, drops)
    print('fit for measuring' if not found.bad else
          f'NOT fit for measuring: {found.bad} finding{"s" if found.bad > 1 else ""} above')
    return 0 if not found.bad else 1


def network_judge(found, expected, calibration):
    sites = calibration['site_ranks']
    print(f"      {calibration['ranks']} ranks in {len(sites)} site(s) of {sites}, told by "
          f"{calibration['sites_from']}; clocks agree within {calibration['clock_error_us']} us")
    latency = calibration['latency_us'] / 1000
    wanted = expected.get('delay_ms')
    if wanted and len(sites) > 1:
        good = wanted <= latency <= wanted * (1 + LATENCY_SLACK) + 0.5
        found.note(good, f'one-way latency {latency:.2f} ms, the lab has {wanted:g} ms')
    else:
        print(f'      one-way latency {latency:.3f} ms')
    nic = expected.get('nic_mbit')
    for where in ('near', 'far'):
        rate = calibration[f'{where}_MBps']
        if not rate:
            continue
        text = f'a long flow inside the site: {rate:.2f} MB/s' if where == 'near' else \
            f'a long flow to another site: {rate:.2f} MB/s'
        if nic:
            ideal = nic / 8 * GOODPUT
            found.note(abs(rate / ideal - 1) < BANDWIDTH_SLACK,
                       f'{text}, {nic:g} Mb/s NICs carry {ideal:.2f}')
        else:
            print(f'      {text}')


def points_judge(found, points):
    empty = points['empty']['median_us'] / 1000
    found.note(empty < EMPTY_LIMIT_MS, f'the empty operation takes {empty:.2f} ms (waking all ranks)')
    for op in ('barrier', 'allreduce'):
        point = points[op]
        times = sorted(point['times_us'])
        middle = times[len(times) // 4:len(times) - len(times) // 4]
        spread = (middle[-1] - middle[0]) / point['median_us']
        found.note(spread < ROUNDS_SPREAD and point['rejected'] <= 3 and not point['wrong'],
                   f"{op} {point['bytes']} B: {records.point_time_us(point) / 1000:.2f} ms, middle half of "
                   f"the rounds within {spread:.0%}, {point['rejected']} rejected, "
                   f"{point['wrong']} wrong")


def emulator_judge(found, lateness, drops):
    if lateness is None:
        print('      no emulator to ask for its lateness')
        return
    found.note(lateness <= records.LATE_US, f'the emulator was at most {lateness / 1000:.2f} ms late')
    print(f'      {drops} packets dropped from full queues')
