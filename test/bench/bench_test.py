#!/usr/bin/python3
"""Tests of the bench's own reasoning: statistics, sizes, settings, what is left
after a crash, the table.  No MPI job, unless WAN_BUILD (a build tree) or
WANBENCH_WORKER is set: then also the worker itself: every operation, bounds,
digests, clocks, and that it notices wrong results and a late emulator.

SPDX-License-Identifier: BSD-3-Clause
"""

import contextlib
import importlib.machinery
import importlib.util
import itertools
import json
import math
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

sys.dont_write_bytecode = True
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
BENCH = os.path.join(TOP, 'contrib', 'bench')
sys.path.insert(0, BENCH)
from wanbenchlib import jobs, records, replays, runner, settings, sizes, statistics, table, traces  # noqa: E402


def point(**changes):
    line = {'type': 'point', 'op': 'bcast', 'bytes': 1024, 'root': 0, 'mode': 'warm', 'ranks': 4,
            'median_us': 12500.0, 'empty_us': 500.0, 'bound_us': 10000.0, 'rounds': 5,
            'rejected': 0, 'wrong': 0, 'only_first': False, 'calls': 9, 'digest': 'aa',
            'network': 'net', 'placement': 'block', 'setting': 'ompi', 'args': ['x'], 'job': 1,
            'seconds': 1.0}
    return {**line, **changes}


class TracesTest(unittest.TestCase):
    def read(self, text):
        with tempfile.NamedTemporaryFile('w', suffix='.trace') as file:
            file.write(text)
            file.flush()
            return traces.trace_read(file.name)

    def test_order(self):
        self.assertEqual(self.read('repeat 2\nbcast 4 # comment\nrepeat 2\nscan 1K\nend\nend\n\nbarrier 0\n'),
                         [('bcast', 4), ('scan', 1024), ('scan', 1024)] * 2 + [('barrier', 0)])
        self.assertEqual(self.read('repeat 0\nbcast 4\nend\n'), [])

    def test_refused(self):
        for text, words in (('repeat 2\nbcast 4', "without its 'end'"), ('bcast', ':1: '), ('bcast 4\nend', ':2: '), ('dance 4', 'is no call')):
            with self.assertRaisesRegex(ValueError, words):
                self.read(text)

    def test_worker(self):
        with tempfile.NamedTemporaryFile('r') as file:
            traces.calls_write([('bcast', 4)] * 3 + [('scan', 8)] + [('bcast', 4)], file.name)
            self.assertEqual(file.read(), 'bcast 4 3\nscan 8 1\nbcast 4 1\n')
        said = 'a warning: 3 ms\nbcast 4 x 4: 40.5 ms\nscan 8 x 1: 11.0 ms\n'
        self.assertEqual(traces.times_of(said + 'all: 51.5 ms\n'), ({('bcast', 4): (4, 40.5), ('scan', 8): (1, 11.0)}, 51.5))
        self.assertIsNone(traces.times_of(said))        # not to its end

    @unittest.skipUnless(os.environ.get('WAN_BUILD'), 'WAN_BUILD is not set')
    def test_calls_are_made(self):
        worker = os.path.join(os.environ['WAN_BUILD'], 'contrib', 'bench', 'calls_worker')
        mpirun = ['mpirun', '--allow-run-as-root', '--oversubscribe', '-np', '3', '--mca', 'coll_wan_priority', '-1', worker]
        calls = [(op, size) for op in traces.OPS for size in (12, 8, 5)]
        with tempfile.NamedTemporaryFile('r') as file:
            traces.calls_write(calls * 2, file.name)
            ran = subprocess.run([*mpirun, file.name], capture_output=True, text=True, timeout=120)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            classes, total = traces.times_of(ran.stdout)
            self.assertEqual({kind: n for kind, (n, _) in classes.items()}, {kind: 2 for kind in calls})
            self.assertLessEqual(max(ms for _, ms in classes.values()), total)
            for text in ('dance 4\n', 'bcast\n', 'bcast 4 x\n', ''):
                with open(file.name, 'w', encoding='ascii') as wrong:
                    wrong.write(text)
                ran = subprocess.run([*mpirun, file.name], capture_output=True, text=True, timeout=120)
                self.assertNotEqual(ran.returncode, 0)
                self.assertIn('calls_worker: ', ran.stderr)


class ChangesTest(unittest.TestCase):
    """contrib/bench/changes: what is said of calls after a change."""

    def setUp(self):
        loader = importlib.machinery.SourceFileLoader('changes', os.path.join(BENCH, 'changes'))
        self.changes = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
        loader.exec_module(self.changes)

    def test_steady(self):
        self.assertEqual(self.changes.steady([9, 8, 1, 1, 1, 5]), 1)        # of the last half
        self.assertEqual(self.changes.steady([9, 1, 2]), 1.5)
        self.assertEqual(self.changes.steady([7]), 7)

    def test_until(self):
        until = self.changes.calls_until
        self.assertEqual(until([1, 1, 1], 1), 1)
        self.assertEqual(until([2, 1.5, 1.01, 1.0], 1.05), 3)
        self.assertEqual(until([2, 1, 2, 1, 1], 1.05), 4)       # once is not enough
        self.assertEqual(until([2, 2, 1], 1.05), 3)             # but for the last one
        self.assertIsNone(until([2, 2, 2], 1.05))

    def line(self, kind, comm, start, **more):
        return {'type': kind, 'setting': 'adaptive', 'job': 1, 'comm': comm, 'bytes': 4 << 20, 'start_s': start, **more}

    def test_rows(self):
        lines = [self.line('changed', 1, 0.0), self.line('changed', 2, 9.0)]
        lines += [self.line('call', comm, start, processes=n, seconds=s)
                  for comm, start, n, s in ((1, 1.0, 32, 2.0), (1, 3.0, 32, 1.0), (2, 10.0, 16, 1.5))]
        rows = self.changes.rows_of(lines + [self.line('changed', 3, 12.0)])        # (a communicator without calls)
        self.assertEqual([(r['comm'], r['processes'], r['changed_s'], r['starts'], r['seconds']) for r in rows],
                         [(1, 32, 0.0, [1.0, 3.0], [2.0, 1.0]), (2, 16, 9.0, [10.0], [1.5])])

    def test_members(self):
        lines = [self.line('changed', 1, 0.5)] + [self.line('call', 1, 1.0 + k, processes=32, seconds=s)
                                                  for k, s in enumerate((2.0, 1.2, 1.04, 1.0, 1.0, 1.0))]
        lines += [{**line, 'setting': self.changes.STATIC, 'seconds': 0.9} for line in lines if line['type'] == 'call']
        head, _, row = self.changes.members_text(lines)
        self.assertEqual(row.split()[-3:], ['90%', '3', '2.5'])     # of the static bandwidth; the third call, that long after the change

    def test_links(self):
        took = (1.0, 0.9, 0.9, 3.0, 2.0, 1.1, 1.1, 1.1)
        calls = [self.line('call', 1, sum(took[:k]), processes=32, seconds=s) for k, s in enumerate(took)]
        lines = [{**line, 'setting': 'slower, 4, changes'} for line in [*calls, self.line('link', 1, 3.5, site='b')]]
        lines += [{**line, 'setting': 'slower, 4, fresh', 'seconds': 1.0} for line in calls]
        *_, row = self.changes.links_text(lines)
        # Before, longest, then, fresh, their ratio; the third one since then is near enough: 4.3 s after, 2 s after the end of the call then.
        self.assertEqual(row.split()[3:], ['900.0', '3000', '1100', '1000', '1.10', '3', '4.3', '2.0'])


class StatisticsTest(unittest.TestCase):
    def test_median(self):
        self.assertEqual(statistics.median([3, 1, 2]), 2)
        self.assertEqual(statistics.median([4, 1, 2, 3]), 2.5)
        self.assertRaises(ValueError, statistics.median, [])

    def test_interval_ranks(self):
        # Textbook values of the order-statistics interval of the median.
        self.assertEqual(statistics.order_interval(5)[:2], (0, 4))
        self.assertAlmostEqual(statistics.order_interval(5)[2], 0.9375)
        self.assertEqual(statistics.order_interval(6)[:2], (0, 5))
        self.assertEqual(statistics.order_interval(9)[:2], (1, 7))
        self.assertEqual(statistics.order_interval(15)[:2], (3, 11))
        self.assertEqual(statistics.order_interval(1), (0, 0, 0.0))

    def test_interval_covers(self):
        seed = 20240607
        source = random.Random(seed)
        hits = trials = 0
        for _ in range(4000):
            s = statistics.summarize([source.expovariate(1) for _ in range(9)])
            hits += s.interval_low <= math.log(2) <= s.interval_high
            trials += 1
        self.assertAlmostEqual(hits / trials, statistics.order_interval(9)[2], delta=0.015,
                               msg=f'seed {seed}')


class WordsTest(unittest.TestCase):
    def test_sizes(self):
        self.assertEqual(sizes.sizes_parse('64K,1,1M'), [1, 65536, 1 << 20])
        self.assertEqual(sizes.sizes_parse('1..16M'), [1 << k for k in range(25)])
        self.assertEqual(sizes.sizes_parse('1K..64K:4'), [1024, 4096, 16384, 65536])
        for wrong in ('', 'K', '1X', '4..2', '0..4', '1..8:1'):
            self.assertRaises(ValueError, sizes.sizes_parse, wrong)
        for size in (1, 1000, 1024, 65536, 3 << 20, 1 << 30):
            self.assertEqual(sizes.size_parse(sizes.size_text(size)), size)

    def test_operations(self):
        """What completion and help name is what the worker can time."""
        with open(os.path.join(BENCH, 'wb_operation.cpp')) as f:
            table = re.search(r'static const std::vector<operation_kind> table = \{(.*?)\};', f.read(), re.S).group(1)
        self.assertEqual(sorted(re.findall(r'\{"(\w+)"', table)), sorted(('empty', *settings.OPERATIONS)))

    def test_settings(self):
        four = settings.setting_parse("four=--mca coll_wan_links 4")
        self.assertTrue(four.plugin)
        self.assertEqual(four.command, ('--mca', 'coll_wan_links', '4', '--mca', 'coll_wan_measure_share', '100'))
        self.assertEqual(settings.setting_parse('later=--mca coll_wan_measure_share 20').command.count('coll_wan_measure_share'), 1)
        self.assertFalse(settings.setting_parse('a:off=--mca x 1').plugin)
        self.assertIn('coll_wan_priority', settings.setting_parse('han').command)
        self.assertNotIn('coll_wan_priority', settings.setting_parse('wan').command)
        for wrong in ('nobody', '=x', 'a:on=x'):
            self.assertRaises(ValueError, settings.setting_parse, wrong)


class RecordsTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.path = os.path.join(self.dir, 'r.json')

    def tearDown(self):
        shutil.rmtree(self.dir)

    def test_resume(self):
        kept = records.Records(self.path)
        kept.append(point())
        kept.append(point(bytes=2048, lateness_us=1500.0))      # spoilt: to be done again
        with open(self.path, 'a', encoding='utf-8') as file:
            file.write('{"type": "point", "op": "bc')           # the machine went down here
        again = records.Records(self.path)
        self.assertTrue(again.done(records.point_key(point())))
        for left in (point(bytes=2048), point(job=2), point(args=['y']), point(root=1)):
            self.assertFalse(again.done(records.point_key(left)))
        again.append(point(job=2))
        self.assertTrue(records.Records(self.path).done(records.point_key(point(job=2))))

    def test_cells(self):
        found = records.cells([point(), point(job=2, median_us=14500.0),
                               point(job=3, median_us=90000.0, lateness_us=5000.0),
                               point(job=3, median_us=13500.0)])
        cell = found['net', 'block', 'bcast', 'warm', 0, 1024, 'ompi']
        self.assertEqual((cell.times.count, cell.times.median), (3, 13000.0))
        self.assertFalse(cell.late)
        self.assertTrue(records.cells([point(lateness_us=5000.0)]).popitem()[1].late)

    def test_late_rounds(self):
        spoilt = point(lateness_us=5000.0)
        self.assertTrue(records.is_late(spoilt))
        spoilt.update(emulator_late_us=0.0, spoilt=False)       # in rounds that were rejected
        self.assertFalse(records.is_late(spoilt))
        spoilt.update(emulator_late_us=1500.0, spoilt=True)
        self.assertTrue(records.is_late(spoilt))

    def test_digests(self):
        alike, differ = records.digests_compare(
            [point(), point(setting='wan'), point(bytes=8), point(bytes=8, setting='wan', digest='bb')])
        self.assertEqual((alike, len(differ)), (1, 1))
        self.assertIn('bcast 8 B', differ[0])

    def test_unserved(self):
        self.assertEqual(len(records.unserved([point(), point(setting='wan'),
                                               point(setting='wan', served=[8, 9]),
                                               point(setting='wan', served=[9, 9])], ['wan'])), 2)


class ReplaysTest(unittest.TestCase):
    @staticmethod
    def job(names, kinds, number=1, **changes):
        return {'type': 'replay', 'network': 'net', 'trace': 'a.trace', 'round': number, 'names': names, 'args': [], 'load': 1.0,
                'whole_ms': kinds and sum(ms for *_, ms in kinds), 'kinds': kinds, **changes}

    def lines(self):
        kinds = lambda a, b, c: [['bcast', 4, 9, a], ['bcast', 64, 2, b], ['scan', 4, 1, c]]
        return [self.job(['coll/wan'], kinds(10, 22, 8)), self.job(['with trials'], kinds(1, 1, 1)), self.job(['Open MPI'], kinds(30, 60, 12)),
                self.job(['bcast:chain', 'scan:row'], kinds(20, 20, 7)), self.job(['bcast:tree', 'scan:tuned/line'], kinds(9, 40, 30)),
                self.job(['bcast:slow', 'scan:row'], None), self.job([replays.TOGETHER], kinds(9, 21, 6), rules='bcast bytes 64-: chain\n'),
                self.job(['coll/wan'], kinds(12, 24, 8), 2), self.job(['coll/wan'], kinds(11, 23, 8), 3),
                self.job(['Open MPI'], kinds(1, 1, 1), network='other net'), self.job(['Open MPI'], kinds(1, 1, 1), trace='b.trace')]

    def test_best(self):
        one, = replays.replays_of(self.lines())        # of the other network and trace: not all ways
        # What trials took is no choice that could have been fixed; what an algorithm of Bcast took for Scans is not its.
        self.assertEqual([one.best([kind]) for kind in one.calls], [('bcast:tree', 9), ('bcast:chain', 20), ('scan:row', 7)])
        self.assertEqual(one.best([('bcast', 4), ('bcast', 64)]), ('coll/wan', 34))
        # Neither what was chosen nor what trials took is the fastest of fixed choices.
        self.assertEqual(one.fastest(), ((replays.TOGETHER,), 36))
        self.assertEqual(one.ratios('coll/wan'), (42 / 36, 40 / 36, 44 / 36))
        self.assertEqual(one.cut, ['bcast:slow, scan:row'])

    def test_near(self):
        one, = replays.replays_of(self.lines())
        always = {(name,) for name in (*replays.WAYS, replays.TOGETHER)}
        self.assertEqual(one.near(1.1), always)
        self.assertEqual(one.near(47 / 36), {*always, ('bcast:chain', 'scan:row')})

    def test_table(self):
        text = '\n'.join(replays.table_text(replays.replays_of(self.lines())[0]))
        self.assertRegex(text, r'bcast +64 +2 +23 +1 +60 +21 +20 +bcast:chain\n')
        self.assertIn('coll/wan 1.167 (1.111-1.222), with trials 0.083', text)
        self.assertIn('47 (47-47, 1 jobs): bcast:chain, scan:row', text)
        self.assertIn('or at all: bcast:slow, scan:row', text)

    def test_together(self):
        """The rules of the best of each, longest first, bytes as rules count them; coll/wan's own choice needs none."""
        loader = importlib.machinery.SourceFileLoader('replay', os.path.join(BENCH, 'replay'))
        replay = importlib.util.module_from_spec(importlib.util.spec_from_loader('replay', loader))
        loader.exec_module(replay)
        forced = settings.Setting('gather:tuned/linear', ('--mca', 'a', '1', '--mca', 'b', '2'))
        lines = [self.job(['coll/wan'], [['scan', 4, 1, 1], ['bcast', 4, 1, 9], ['bcast', 64, 1, 9], ['gather', 8, 1, 9]]),
                 self.job(['bcast:tree'], [['bcast', 4, 1, 3], ['bcast', 64, 1, 10]]), self.job(['bcast:adaptive'], [['bcast', 4, 1, 1]]),
                 self.job(['bcast:chain'], [['bcast', 4, 1, 5], ['bcast', 64, 1, 2]]),
                 self.job(['gather:tuned/linear'], [['gather', 8, 1, 1]])]
        was, replay.settings.forced = replay.settings.forced, lambda ops: [forced]
        try:
            found = replay.together(replays.Replay(lines, 'net', 'a.trace'), 32)
        finally:
            replay.settings.forced = was
        self.assertEqual(found, (('--mca', 'a', '1', '--mca', 'b', '2'), 'gather bytes 256-: open_mpi\nbcast bytes 64-: chain\nbcast bytes 4-: tree\n'))


class PlaceFake(jobs.Place):
    def command(self, placement, seconds):
        return []


class RunnerTest(unittest.TestCase):
    def sweep(self, lines=(), **changes):
        plan = runner.Plan(**{**dict(settings=[settings.PREDEFINED['ompi'], settings.PREDEFINED['wan']],
                                     ops=['bcast', 'barrier'], sizes=[1, 1024], roots=[0, 3],
                                     modes=['warm'], placements=['block'], jobs=3, reference='wan'),
                              **changes})
        kept = records.Records()
        for line in lines:
            kept.append(line)
        return runner.Sweep(plan, PlaceFake('net'), 'worker', None, kept, say=lambda text: None)

    def test_interleaved(self):
        order = [(job, setting.name) for job, _, setting in self.sweep().slots()]
        self.assertEqual(order, [(1, 'ompi'), (1, 'wan'), (2, 'ompi'), (2, 'wan'),
                                 (3, 'ompi'), (3, 'wan')])

    def test_points(self):
        found = list(self.sweep().plan.points(settings.PREDEFINED['ompi']))
        self.assertEqual(len(found), 5)     # 2 sizes x 2 roots, one barrier
        self.assertIn(('barrier', 0, 0, 'warm'), found)

    def test_done_is_left_out(self):
        ompi = settings.PREDEFINED['ompi']
        sweep = self.sweep([point(args=list(ompi.command))])
        self.assertNotIn(('bcast', 1024, 0, 'warm'), sweep.todo(ompi, 'block', 1))
        self.assertIn(('bcast', 1024, 0, 'warm'), sweep.todo(ompi, 'block', 2))
        self.assertGreater(sweep.remaining_seconds(), 0)

    def test_clear_case(self):
        ompi, wan = settings.PREDEFINED['ompi'], settings.PREDEFINED['wan']
        what = ('bcast', 1024, 0, 'warm')
        lines = [point(job=j, setting='wan', median_us=11000.0 + j) for j in (1, 2)]
        slow = [point(job=j, median_us=90000.0 + j) for j in (1, 2)]
        self.assertTrue(self.sweep(lines + slow).clear_case(ompi, 'block', what))
        self.assertFalse(self.sweep(lines + slow, full=True).clear_case(ompi, 'block', what))
        self.assertFalse(self.sweep(lines + slow).clear_case(wan, 'block', what))
        self.assertFalse(self.sweep(lines + slow[:1]).clear_case(ompi, 'block', what))
        wide = [point(job=1, median_us=60000.0), point(job=2, median_us=90000.0)]
        self.assertFalse(self.sweep(lines + wide).clear_case(ompi, 'block', what))


class TableTest(unittest.TestCase):
    def test_figures(self):
        text = table.tables_text([point(), point(setting='wan', median_us=11500.0, served=[9, 9])],
                                 ['ompi', 'wan'], 'wan')
        row = next(line for line in text.splitlines() if line.split()[:1] == ['1K'])
        self.assertEqual(row.split(), ['1K', '10.00', '12.00', '(12.00-12.00)', '1.20x',
                                       '11.00', '(11.00-11.00)', '1.10x', '1.09'])

    def test_marks(self):
        text = table.tables_text([point(wrong=1), point(setting='wan', served=[8, 9])],
                                 ['ompi', 'wan'], 'wan')
        self.assertIn('WRONG RESULTS', text)
        self.assertIn('did not serve', text)
        self.assertNotIn('emulator', text)

    def test_summary(self):
        points = [point(), point(setting='han', median_us=9500.0), point(setting='wan', median_us=5000.0),
                  point(op='barrier', bytes=0, median_us=20500.0, setting='tuned'),
                  point(op='barrier', bytes=0, median_us=10500.0, setting='wan'),
                  point(op='scan', bytes=4096, setting='wan'),                  # nothing to compare with
                  point(op='reduce', root=3), point(op='reduce', root=3, setting='wan')]
        lines = table.summary_text(points, 'wan').splitlines()
        rows = {line.split()[0]: line.split()[1:] for line in lines[4:-1]}
        self.assertEqual(lines[-1], 'At each point (a collective, a size), beside the fastest of all settings there (wan among them: 0% where it is the fastest), '
                                    'wan takes 0.0% longer on average of 2 points, and at 95% of them 0.0% at most')
        self.assertEqual(rows['bcast'], ['9.00', '/', '4.50', '0.45x', '(2.00)'])      # han, not ompi
        self.assertEqual(rows['barrier'], ['20.0', '/', '10.00', '1.00x', '(2.00)'])
        self.assertEqual(sorted(rows), ['barrier', 'bcast'])

    def test_excess(self):
        # 500 us of the time are the empty operation's: 25% over the fastest once in 20 points, 10% over it once.
        points = [point(setting=s, bytes=size, median_us=us) for size in range(1, 21) for s, us in (
            ('tuned', 8500.0 if size == 3 else 10500.0), ('wan', 11500.0 if size == 7 else 10500.0 if size == 3 else 4500.0))]
        self.assertIn('wan takes 1.8% longer on average of 20 points, and at 95% of them 10.0% at most', table.summary_text(points, 'wan'))

    def test_model(self):
        # 500 us of the time are the empty operation's.
        points = [point(setting='bcast:tree', median_us=10500.0, predicted_us=8000.0),
                  point(setting='bcast:tree', median_us=10500.0, predicted_us=8000.0, job=2),
                  point(setting='bcast:chain', median_us=20500.0, predicted_us=26000.0),
                  point(setting='bcast:farfirst', median_us=40500.0, predicted_us=40000.0),
                  point(setting='ompi', median_us=30500.0)]                    # predicts nothing
        lines = table.model_text(points).splitlines()
        row = next(line for line in lines if line.startswith('bcast'))
        self.assertEqual(row.split()[2:], ['1.00', 'tree', '10.00', '(-20%)', 'chain', '20.0', '(+30%)', 'farfirst', '40.0', '(+0%)'])
        self.assertIn('median error: bcast 20%; of all 3: 20%', lines)
        self.assertIn('rank correlation: median 1.00, at least 0.9 in 1 of 1', lines)
        self.assertEqual(lines[-1], 'of two that differ by more than a tenth the faster one is predicted: 3 of 3 (by collective and size, pairs in order less those '
                                    'that are not: median 1.00, at least 0.9 in 1 of 1); what is predicted to be the fastest takes 0.0% more than the fastest on average, 0% at most')
        self.assertEqual(table.model_text([point(setting='ompi')]), '\n')
        # The order of the first two is wrong, that of others too close to tell; the first pick is a quarter slower.
        points = [point(setting='bcast:tree', median_us=10500.0, predicted_us=9000.0), point(setting='bcast:chain', median_us=12500.0, predicted_us=5000.0),
                  point(setting='bcast:farfirst', median_us=12900.0, predicted_us=4900.0), point(op='reduce', setting='reduce:flat', predicted_us=1.0)]
        self.assertEqual(table.model_text(points).splitlines()[-1],
                         'of two that differ by more than a tenth the faster one is predicted: 0 of 2 (by collective and size, pairs in order less those '
                         'that are not: median -1.00, at least 0.9 in 0 of 1); what is predicted to be the fastest takes 12.0% more than the fastest on average, 24% at most')

    def test_measured_again(self):
        # What a second measurement does not repeat, no prediction can tell.
        def of(op, *rows):
            return [point(op=op, setting=f'{op}:{name}', median_us=us + 500.0, predicted_us=p) for name, us, p in rows]

        first = of('bcast', ('a', 10000.0, 1.0), ('b', 10100.0, 3.0), ('c', 20000.0, 2.0)) + of('scan', ('a', 1000.0, 1.0), ('b', 2000.0, 2.0), ('c', 2100.0, 3.0))
        second = of('bcast', ('a', 10050.0, 1.0), ('b', 10010.0, 1.0), ('c', 21000.0, 1.0)) + of('scan', ('a', 1100.0, 1.0), ('b', 1900.0, 1.0), ('c', 2200.0, 1.0), ('d', 1.0, 1.0))
        line = next(x for x in table.model_text(first, second).splitlines() if x.startswith('measured again'))
        self.assertEqual(line, 'measured again: the rank correlation of both measurements is at least 0.9 in 1 of 2 (median 0.75); that of predictions in 1 of these 1 '
                               'and in 0 of the other 1. Both put 5 of 6 pairs in one order: 4 are predicted; of the 4 that differ by more than a tenth in both: 3')
        self.assertIn('measured again: nothing of these', table.model_text(first, of('reduce', ('a', 1.0, 1.0))))
        self.assertNotIn('measured again', table.model_text(first))

    def test_equal_predictions(self):
        # Of two that are predicted alike none is, whichever comes first; and they are no pair in or out of order.
        first, second = point(setting='bcast:tree', median_us=10000.0, predicted_us=9000.0), point(setting='bcast:chain', median_us=20000.0, predicted_us=9000.0)
        third = point(setting='bcast:farfirst', median_us=40000.0, predicted_us=12000.0)
        for points in ([first, second, third], [second, first, third]):
            said = table.model_text(points).splitlines()[-1]
            self.assertIn('is predicted: 2 of 3 ', said)
            self.assertIn('median 1.00, at least 0.9 in 1 of 1', said)
        self.assertNotIn('of two that differ', table.model_text([first, second]))

    def test_rank_correlation(self):
        rank = statistics.rank_correlation
        self.assertAlmostEqual(rank([1, 2, 3, 4], [10, 20, 30, 99]), 1)
        self.assertAlmostEqual(rank([1, 2, 3, 4], [4, 3, 2, 1]), -1)
        self.assertAlmostEqual(rank([1, 2, 3, 4], [1, 3, 2, 4]), 0.8)
        self.assertAlmostEqual(rank([1, 2, 2, 3], [1, 2, 3, 4]), 0.9486833)     # ties share their rank
        self.assertIsNone(rank([1, 2], [1, 2]))
        self.assertIsNone(rank([1, 2, 3], [5, 5, 5]))

    def test_algorithms(self):
        said = "mca:coll:wan:param:coll_wan_{}_algorithm:enumerator:value:{}:{}"
        lines = [said.format('bcast', 0, 'automatic'), said.format('bcast', 1, 'tree'), said.format('bcast', 12, 'chain'),
                 said.format('reduce_scatter', 1, 'runs'), said.format('scan', 1, 'runs')]
        ompi_info = ('sh', '-c', 'printf "%s\n" "$0"', '\n'.join(lines))      # $0; what follows are its arguments
        chosen = settings.algorithms(['bcast', 'reduce_scatter'], ompi_info)
        self.assertEqual([s.name for s in chosen], ['bcast:tree', 'bcast:chain', 'reduce_scatter:runs'])
        self.assertEqual(chosen[1].command, ('--mca', 'coll_wan_bcast_algorithm', 'chain', '--mca', 'coll_wan_measure_share', '100'))
        self.assertEqual(chosen[1].ops, ('bcast',))
        with self.assertRaisesRegex(ValueError, 'no algorithms for these'):
            settings.algorithms(['alltoall'], ompi_info)

    def test_forced(self):
        said = "mca:coll:tuned:param:coll_tuned_{}_algorithm:enumerator:value:{}:{}"
        lines = [said.format('bcast', 0, 'ignore'), said.format('bcast', 6, 'binomial'), said.format('alltoall', 1, 'linear')]
        chosen, = settings.forced(['bcast', 'scan'], ('sh', '-c', 'printf "%s\n" "$0"', '\n'.join(lines)))
        self.assertEqual((chosen.name, chosen.ops, chosen.plugin), ('bcast:tuned/binomial', ('bcast',), False))
        self.assertEqual(chosen.command[3:7], ('--mca', 'coll_tuned_use_dynamic_rules', '1', '--mca'))
        self.assertEqual(chosen.command[7:9], ('coll_tuned_bcast_algorithm', 'binomial'))
        self.assertIn('-1', chosen.command)     # without coll/wan

    def test_summary_marks(self):
        text = table.summary_text([point(wrong=1), point(setting='wan')], 'wan')
        self.assertIn(' W', text)
        self.assertIn('W: WRONG RESULTS', text)
        self.assertNotIn('busy', text)

    def test_busy(self):
        half = [point(rejected=2, emulator_rejected=0), point(setting='wan', rejected=1, emulator_rejected=1)]      # of 7: fewer than a third
        shaky = [point(rejected=2), point(setting='wan', rejected=1, emulator_rejected=2)]
        late = [point(spoilt=True), point(setting='wan')]
        for text in (table.tables_text, table.summary_text):
            settings = 'wan' if text is table.summary_text else ['ompi', 'wan']
            self.assertNotIn('r:', text(half, settings))
            self.assertNotIn('busy', text(half, settings))
            self.assertRegex(text(shaky, settings), r' r\n')
            self.assertIn('r: more than a third of the rounds came late', text(shaky, settings))
            self.assertIn('The machine was busy: 1 of 2 figures are marked ! or r', text(shaky, settings))
            self.assertRegex(text(late, settings), r' !')
            self.assertIn('The machine was busy: 1 of 2', text(late, settings))


def worker():
    build = os.environ.get('WAN_BUILD')
    given = os.environ.get('WANBENCH_WORKER') or \
        (build and os.path.join(build, 'contrib', 'bench', 'wanbench_worker'))
    return given if given and os.access(given, os.X_OK) else None


@unittest.skipUnless(worker() and shutil.which('mpirun'), 'WAN_BUILD or WANBENCH_WORKER not set, or no mpirun')
class WorkerTest(unittest.TestCase):
    OPS = ['barrier', 'bcast', 'gather', 'gatherv', 'scatter', 'scatterv', 'allgather', 'allgatherv',
           'alltoall', 'alltoallv', 'alltoallw', 'reduce', 'allreduce', 'scan', 'exscan',
           'reduce_scatter', 'reduce_scatter_block', 'neighbor_alltoall']

    def job(self, *words, ranks=3, status=0, env=None):
        command = ['mpirun', '--oversubscribe', '--mca', 'mpi_yield_when_idle', '1', '-np', str(ranks)]
        if os.getuid() == 0:
            command.append('--allow-run-as-root')
        answer = subprocess.run(command + (env or []) + [worker(), *words], capture_output=True, text=True,
                                timeout=300, check=False)
        self.assertEqual(answer.returncode, status, answer.stderr)
        return [json.loads(line[len(jobs.MARK):]) for line in answer.stdout.splitlines()
                if line.startswith(jobs.MARK)]

    def test_every_operation(self):
        lines = self.job('--warm-gap', '5', '--lead', '50', '--flow-bytes', '100000', '--empty-rounds', '3',
                         *[f'{op}:{size}:1:warm:2' for op in self.OPS for size in (1, 24)])
        found = [line for line in lines if line['type'] == 'point' and line['op'] != 'empty']
        self.assertEqual(len(found), 2 * len(self.OPS))
        for line in found:
            self.assertEqual((line['wrong'], line['rounds']), (0, 2), line)
            self.assertGreater(line['median_us'], 0)

    def test_bounds(self):
        site = os.path.join(tempfile.mkdtemp(), 'site')
        with open(site, 'w', encoding='utf-8') as file:     # ranks 0, 1 here, rank 2 there
            file.write('#!/bin/sh\nexport WANBENCH_SITE=s$((OMPI_COMM_WORLD_RANK / 2))\nexec "$@"\n')
        os.chmod(site, 0o755)
        lines = self.job('--empty-rounds', '0', '--lead', '50', '--warm-gap', '5',
                         *[f'{op}:1048576:0:warm:1' for op in
                           ('barrier', 'bcast', 'allreduce', 'gather', 'alltoall')], env=[site])
        shutil.rmtree(os.path.dirname(site))
        self.assertEqual(lines[0]['site_ranks'], [2, 1])
        p, m = 3, 1048576
        for line in lines[1:]:
            latency, send = line['latency_us'], m / line['MBps']
            bound = {'barrier': latency, 'bcast': latency + send,
                     'allreduce': max(2 * (p - 1) / p * send, latency + send),
                     'gather': max(2 * send, latency + 1 * send),       # root 0: one rank elsewhere
                     'alltoall': max(2 * send, latency + 2 * send)}[line['op']]    # rank 2: two
            self.assertAlmostEqual(line['bound_us'], bound, delta=0.01 * bound + 0.02, msg=line['op'])

    def test_digest_tells_results(self):
        first, second = (self.job('--no-calibrate', '--empty-rounds', '0', '--lead', '50',
                                  'allreduce:800:0:warm:1', 'bcast:800:2:warm:1') for _ in range(2))
        self.assertEqual([line.get('digest') for line in first], [line.get('digest') for line in second])
        self.assertNotEqual(first[1]['digest'], first[2]['digest'])

    def test_points_refused(self):
        for text in ('bcast:1M', 'bcast:8:x', 'bcast:8:9', 'bcast:8:0:tepid', 'broadcast:8'):
            self.assertEqual(self.job('--no-calibrate', text, status=2), [])

    def test_mapped_clocks(self):
        lines = self.job('--clock', 'pingpong', '--lead', '50', 'barrier:0:0:warm:5')
        self.assertLess(lines[0]['clock_error_us'], 1000)
        self.assertEqual(lines[-1]['wrong'], 0)

    def late_job(self, answers):
        """The bcast point of a job whose emulator gives these answers in turn."""
        with tempfile.TemporaryDirectory() as state:
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(os.path.join(state, 'emu.sock'))
                server.listen(8)

                def serve():
                    for answer in itertools.cycle(answers):
                        try:
                            wire = server.accept()[0]
                        except OSError:
                            return
                        with wire:
                            asked = json.loads(wire.recv(4096))
                            wide = asked['op'] == 'late' and 0 < asked['to_us'] - asked['from_us'] < 1e6
                            wire.sendall((answer if wide else '{"ok":false}').encode())

                thread = threading.Thread(target=serve, daemon=True)
                thread.start()
                line = self.job('--no-calibrate', '--empty-rounds', '0', '--lead', '50', '--warm-gap', '5',
                                'bcast:8:0:warm:4', env=['-x', f'WAN_LAB_STATE={state}'])[-1]
                server.shutdown(socket.SHUT_RDWR)
                thread.join(10)
                return line

    def test_late_emulator(self):
        fine, late = '{"ok":true,"late_us":0}', '{"ok":true,"late_us":5000.5}'
        line = self.late_job([fine])
        self.assertEqual((line['rounds'], line['emulator_rejected'], line['spoilt']), (4, 0, False))
        line = self.late_job([fine, fine, late])            # enough others: repeated without it
        self.assertEqual((line['rounds'], line['spoilt'], line['emulator_late_us']), (4, False, 0))
        self.assertGreater(line['emulator_rejected'], 0)
        line = self.late_job([late])                        # nothing better: all of them, marked
        self.assertGreater(line['rounds'], 4)
        self.assertEqual((line['emulator_rejected'], line['spoilt'], line['emulator_late_us']), (0, True, 5000.5))
        for mute in ('', '{"ok":false,"error":"unknown op"}', '{"ok":true,"late_us":"no"}'):
            line = self.late_job([fine, mute])              # not known is not the same as fine
            self.assertNotIn('spoilt', line)
            self.assertNotIn('emulator_late_us', line)

    def test_late_rank(self):
        """A rank that comes late to a round, as it sleeps now and then: rejected, and made up for."""
        with tempfile.TemporaryDirectory() as scratch:
            sleepy = os.path.join(scratch, 'sleepy')
            with open(sleepy, 'w', encoding='utf-8') as file:
                file.write('#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = 1 ] || exec "$@"\n"$@" & pid=$!\n'
                           'while kill -STOP $pid && ! grep -q zombie /proc/$pid/status; do\n'
                           '    sleep 0.04; kill -CONT $pid; sleep 0.08\ndone\nwait $pid\n')
            os.chmod(sleepy, 0o755)
            line = self.job('--no-calibrate', '--empty-rounds', '0', '--lead', '50', '--warm-gap', '10',
                            '--point-seconds', '20', 'bcast:8:0:warm:60', env=[sleepy], ranks=2)[-1]
        self.assertGreater(line['rejected'], 0)
        self.assertGreater(line['rounds'] + line['rejected'], 60)
        self.assertEqual(line['wrong'], 0)

    def test_usage(self):
        for wrong in ('nothing:1', 'bcast:1:9', 'bcast:1:0:hot'):
            self.assertEqual(self.job(wrong, status=2), [])

    @contextlib.contextmanager
    def preloaded(self, text):
        """Words of mpirun by which ranks have the functions of a C text first."""
        compiler = shutil.which('mpicc')
        if not compiler:
            self.skipTest('no mpicc')
        with tempfile.TemporaryDirectory() as scratch:
            source, library = os.path.join(scratch, 'first.c'), os.path.join(scratch, 'first.so')
            with open(source, 'w', encoding='utf-8') as file:
                file.write(text)
            subprocess.run([compiler, '-shared', '-fPIC', '-o', library, source], check=True)
            yield ['-x', f'LD_PRELOAD={library}']

    def test_sees_wrong_results(self):
        with self.preloaded(LIAR) as env:
            lines = self.job('--no-calibrate', '--empty-rounds', '0', '--lead', '50',
                             'bcast:1000:0:warm:2', 'allreduce:1000:0:warm:2', 'gather:1000:0:warm:2',
                             status=3, env=env)
        self.assertEqual(len(lines), 4)
        for line in lines[1:]:
            self.assertGreater(line['wrong'], 0, line['op'])

    def test_slow_first_calls(self):
        """A job's first calls take long, as links are measured: its first point is as warm as others, with as many rounds."""
        with self.preloaded(SLOW) as env:
            line = self.job('--no-calibrate', '--empty-rounds', '0', '--lead', '50', '--warm-gap', '10', '--point-seconds', '1',
                            'bcast:8:0:warm:3', env=env)[-1]
        self.assertEqual((line['rounds'], line['only_first'], line['wrong']), (3, False, 0))
        self.assertLess(max([line['idle_us'], *line['times_us']]), 400e3)


# Drops the last byte of a Bcast on one rank, doubles a contribution to an
# Allreduce, swaps two blocks of a Gather.
LIAR = r"""
#include <mpi.h>
#include <string.h>
int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c)
{
    int r, rank; r = PMPI_Bcast(b, n, t, root, c); MPI_Comm_rank(c, &rank);
    if (rank == 1) ((char *) b)[n - 1] ^= 1;
    return r;
}
int MPI_Allreduce(const void *in, void *out, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
{
    int r = PMPI_Allreduce(in, out, n, t, op, c);
    if (t == MPI_DOUBLE && n > 0) ((double *) out)[n - 1] += ((const double *) in)[n - 1];
    return r;
}
int MPI_Gather(const void *in, int n, MPI_Datatype t, void *out, int m, MPI_Datatype u, int root, MPI_Comm c)
{
    int r, rank; char keep[4096]; r = PMPI_Gather(in, n, t, out, m, u, root, c); MPI_Comm_rank(c, &rank);
    if (rank == root) { memcpy(keep, out, n); memcpy(out, (char *) out + n, n); memcpy((char *) out + n, keep, n); }
    return r;
}
"""

# Two of the first three calls measure links.
SLOW = r"""
#include <mpi.h>
#include <unistd.h>
int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c)
{
    static int calls;
    if (++calls == 1 || calls == 3) usleep(800000);
    return PMPI_Bcast(b, n, t, root, c);
}
"""


if __name__ == '__main__':
    unittest.main()
