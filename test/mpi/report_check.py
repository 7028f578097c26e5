"""Reports of jobs against what the jobs did, and the page that wan-info makes of one.
Run by test/mpi/report, which sets the environment.

SPDX-License-Identifier: BSD-3-Clause
"""

import html.parser
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as xml

import job_tests

SRC, BUILD = os.environ['WAN_SRC'], os.environ['WAN_BUILD']
TOOL = os.path.join(BUILD, 'wan-info')
RANKS = 4
M = 1 << 20

# By collective, form and blocks, and the power of two below the bytes: calls, their bytes, and the
# least that must cross between two sites of two ranks (None: blocks differ, nobody knows).
# A gatherv is filed under the block of the rank that tells.
WORLD = {
    ('bcast', 'blocking', 'none', M): (3, 3 * M, 3 * M),
    ('bcast', 'blocking', 'none', 65536): (2, 200000, 200000 * 1),
    ('allreduce', 'blocking', 'none', 65536): (5, 5 * 65536, 5 * 2 * 65536),
    ('allreduce', 'blocking', 'none', 64): (7, 700, 7 * 2 * 100),
    ('allreduce', 'non-blocking', 'none', 262144): (4, 4 * 262144, 4 * 2 * 262144),
    ('reduce', 'blocking', 'none', 16384): (1, 16384, 16384),
    ('barrier', 'blocking', 'none', 0): (3, 0, 0),
    ('alltoall', 'blocking', 'equal', 2048): (2, 8000, 2 * 2 * 4 * 1000),
    ('gather', 'blocking', 'equal', 1024): (1, 1200, 600),
    ('allgather', 'blocking', 'different', 512): (2, 2000, None),
}
SECOND = '<b>second</b> & "last"'


class Job(unittest.TestCase):
    verbose = False

    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)

    def job(self, *words, wrapper=True, environment=None, code=0, program=('report_worker',), ranks=RANKS):
        sites = [os.path.join(SRC, 'test/mpi/sites_by_rank')] if wrapper else []
        command = [os.environ['MPIRUN'], '-np', str(ranks), *words, *sites, os.path.join(BUILD, 'test/mpi', program[0]), *program[1:]]
        done = subprocess.run(['timeout', '-k', '5', '60', *command], cwd=self.dir, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env={**os.environ, **(environment or {})})
        if self.verbose:
            print(done.stdout)
        self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout

    def read(self, name):
        with open(os.path.join(self.dir, name)) as f:
            return json.load(f)

    def kinds(self, communicator):
        found = {}
        for k in communicator['calls']:
            key = (k['collective'], k['form'], k['blocks'], k['bytes_from'])
            self.assertNotIn(key, found)
            found[key] = k
        return found

    def communicator(self, report, name):
        all_ = [c for c in report['communicators'] if c['name'] == name]
        self.assertEqual(len(all_), 1, [c['name'] for c in report['communicators']])
        return all_[0]


class Numbers(Job):
    def test_calls_and_bytes(self):
        """Each rank's own report: together they know what crossed, which each says of all."""
        for attempt in range(5):    # on a busy machine the time for counting what crossed can be over before: reports say so
            out = self.job('--mca', 'coll_wan_report', 'r.%r.json', '-x', 'SLURM_JOB_ID=4711')
            reports = [self.read(f'r.{r}.json') for r in range(RANKS)]
            counted = not any(r['left_out']['afterthoughts'] for r in reports)
            if counted:
                break
        self.assertTrue(counted)
        self.assertEqual(len(os.listdir(self.dir)), RANKS)
        # All of one job, which is not the next one.
        job, = {json.dumps(r['job']) for r in reports}
        job = json.loads(job)
        self.assertRegex(job['name'], r'^\[\d+,1\]$|^prterun-.*@1$')
        self.assertEqual((job['command'], job['batch']), (os.path.join(BUILD, 'test/mpi/report_worker'), 'Slurm 4711'))
        self.job('--mca', 'coll_wan_report', 'next.json')
        next_job = self.read('next.json')['job']
        self.assertNotEqual(next_job['name'], job['name'])
        self.assertEqual(next_job['batch'], '')
        worlds = [self.kinds(self.communicator(r, 'MPI_COMM_WORLD')) for r in reports]
        for rank, (report, world) in enumerate(zip(reports, worlds)):
            self.assertEqual((report['process']['rank'], report['process']['ranks']), (rank, RANKS))
            for key, (calls, size, least) in WORLD.items():
                self.assertIn(key, world)
                k = world[key]
                self.assertEqual((k['calls'], k['bytes']), (calls, size), key)
                self.assertEqual(sum(p['calls'] for p in k['plans']) + k['other_calls'], calls, key)
                sent = sum(w[key]['wan']['this_process_bytes'] for w in worlds)
                if least is None:
                    self.assertEqual((k['wan']['calls'], k['bound_ns']), (0, None), key)
                    self.assertEqual(sent, 2 * 1000, key)       # each rank's block crosses once
                else:
                    self.assertEqual((k['wan']['calls'], k['wan']['least_bytes']), (calls, least), key)
                    self.assertEqual(k['wan']['bytes'], sent, key)
                    self.assertGreaterEqual(sent, least, key)
                    # Host by host it is the same; ranks 0 and 2 are in one site, 1 and 3 in the other.
                    hosts = self.communicator(report, 'MPI_COMM_WORLD')['hosts']
                    self.assertEqual([(h[0], h[1], h[2]) for h in hosts], [(0, 0, 2), (1, 1, 2)])
                    self.assertEqual(sum(p['calls'] * f[2] for p in k['plans'] for f in p['flows'] if hosts[f[0]][0] != hosts[f[1]][0]),
                                     sent, key)
                    self.assertTrue(all(f[0] != f[1] and f[3] > 0 for p in k['plans'] for f in p['flows']), k)
            # The gatherv, under this rank's own block.
            own = 1 << (100 * (rank + 1)).bit_length() - 1
            self.assertEqual(world['gather', 'blocking', 'different', own]['calls'], 1)
            told = re.search(rf'^rank {rank}: wan_bytes (\d+) wan_messages (\d+)', out, re.M)
            kinds = [k for c in report['communicators'] for k in c['calls']]
            for i, name in enumerate(('wan_bytes', 'wan_messages')):
                self.assertEqual(sum(c[name] for c in report['communicators']), int(told.group(i + 1)), name)
                self.assertEqual(sum(k['wan']['this_process_' + name[4:]] for k in kinds), int(told.group(i + 1)), name)
            self.assertEqual(report['totals']['calls'], sum(k['calls'] for k in kinds))
            self.assertEqual(report['totals']['elapsed_ns'], sum(k['time_ns']['sum'] for k in kinds))
            self.assertFalse(any(report['left_out'].values()), report['left_out'])
            links = self.communicator(report, 'MPI_COMM_WORLD')['links']
            self.assertEqual([report['links'][n]['how'] for n in links], ['measured'])
        # Nothing crosses in vain: a barrier's messages are empty.
        self.assertGreater(sum(w['barrier', 'blocking', 'none', 0]['wan']['this_process_messages'] for w in worlds), 3)

    def test_times_and_choices(self):
        out = self.job('--mca', 'coll_wan_report', 'run.json')
        report = self.read('run.json')
        self.assertEqual(os.listdir(self.dir), ['run.json'])        # rank 0 alone, and nothing half done beside it
        world = self.communicator(report, 'MPI_COMM_WORLD')
        self.assertLessEqual(0, world['from_ns'])
        self.assertLess(world['from_ns'], world['to_ns'])
        self.assertLessEqual(world['to_ns'], report['elapsed_ns'])
        for c in report['communicators']:
            links = [report['links'][n] for n in c['links']]
            self.assertEqual([[s['site'] for s in l['sites']] for l in links], [['site0', 'site1']] * len(links))
            self.assertGreater(links[0]['between'][0]['latency_ns'], 0)
            for k in c['calls']:
                t = k['time_ns']
                self.assertTrue(0 < t['least'] <= t['median'] <= t['p95'] <= t['most'] <= t['sum'], k)
                self.assertLessEqual(t['sum'], c['to_ns'] - c['from_ns'], k)
                if k['times_bound'] is not None:
                    self.assertAlmostEqual(k['times_bound'], t['median'] / k['bound_ns'], delta=0.002)
                waits = k['collective'] not in ('bcast', 'reduce', 'gather', 'scan')
                self.assertEqual(k['times_bound'] is not None, waits and k['form'] == 'blocking' and k['blocks'] != 'different', k)
                candidates = k['choice']['candidates']
                predicted = [p['predicted_ns'] for p in candidates]
                self.assertEqual(predicted, sorted(predicted))
                taken = max(k['plans'], key=lambda p: p['calls'])
                self.assertEqual((candidates[0]['algorithm'], candidates[0]['predicted_ns'], candidates[0]['n']),
                                 (taken['algorithm'], taken['predicted_ns'], taken['n']), k)
                self.assertRegex(k['choice']['why'], 'fastest predicted of|the only algorithm that serves it')
                self.assertTrue(taken['plan'].startswith(f'{k["collective"]} {taken["algorithm"]} '), taken)
        second = self.communicator(report, SECOND)
        self.assertEqual(self.kinds(second)['allreduce', 'blocking', 'none', 4]['calls'], 40)
        self.assertEqual([s['ranks'] for s in second['sites']], [2, 2])
        self.assertEqual(report['links'][second['links'][0]]['how'], 'measured on another communicator')
        self.assertEqual([e['what'] for e in report['events']].count('served'), len(report['communicators']))
        # What was not ours.
        refused = {n['reason']: n for n in report['not_served']}
        self.assertGreaterEqual(refused['one_site']['communicators'], 1)
        self.assertEqual((refused['one_site']['ranks'], refused['one_site']['why']), (2, 'all ranks are in one site, site0'))
        self.assertIn('intercommunicator', refused)
        # On the terminal: some lines, of rank 0.
        lines = re.findall(r'coll/wan: (.*)', out)
        self.assertTrue(3 <= len(lines) <= 5, out)
        self.assertIn(f'report of rank 0, job {report["job"]["name"]}: {len(report["communicators"])} communicators served', lines[0])
        self.assertIn(os.path.realpath(self.dir) + '/run.json', lines[-1])

    def test_named_algorithms(self):
        self.job('--mca', 'coll_wan_report', 'run.json', '--mca', 'coll_wan_bcast_algorithm', 'chain',
                 '--mca', 'coll_wan_segment', '4096')
        report = self.read('run.json')
        k = self.kinds(self.communicator(report, 'MPI_COMM_WORLD'))['bcast', 'blocking', 'none', M]
        self.assertEqual([(p['algorithm'], p['segment_bytes'], p['calls']) for p in k['plans']], [('chain', 4096, 3)])
        self.assertIn('coll_wan_bcast_algorithm names it', k['choice']['why'])
        self.assertEqual({n: report['parameters'][n] for n in ('coll_wan_bcast_algorithm', 'coll_wan_segment')},
                         {'coll_wan_bcast_algorithm': 'chain', 'coll_wan_segment': 4096})
        self.job('--mca', 'coll_wan_report', 'run.json', '--mca', 'coll_wan_bcast_algorithm', 'adaptive')
        k = self.kinds(self.communicator(self.read('run.json'), 'MPI_COMM_WORLD'))['bcast', 'blocking', 'none', M]
        self.assertEqual([(p['algorithm'], p['plan'], p['calls']) for p in k['plans']], [('adaptive', None, 3)])
        self.assertEqual((k['calls'], k['predicted_ns'], k['wan']['calls'], k['wan']['this_process_bytes']), (3, None, 0, None))
        self.assertEqual(k['choice']['why'], 'coll_wan_bcast_algorithm names it')

    def test_adaptive_trees(self):
        """Each rank tells its own edges; together they are a tree, which the page of all reports draws."""
        for attempt in range(3):        # where a parent changes in the last moment the two ends differ
            self.job('--mca', 'coll_wan_report', 'r.%r.json', '--mca', 'coll_wan_allreduce_algorithm', 'adaptive', program=('long_run', '2'))
            files = [f'r.{r}.json' for r in range(RANKS)]
            worlds = [self.communicator(self.read(f), 'MPI_COMM_WORLD') for f in files]
            parent, edges, told = {}, set(), []
            for rank, world in enumerate(worlds):
                tree, = [t for t in world['trees'] if (t['root'], t['kind']) == (0, 'latency')]
                told.append(tree['edges'])
                of_host = {0: 0, 2: 0, 1: 1, 3: 1}      # ranks in the two pretended sites, a host each
                for a, b, of_a, of_b, below in tree['edges']:
                    self.assertIn(rank, (a, b))
                    self.assertEqual((of_a, of_b), (of_host[a], of_host[b]))
                    edges.add((a, b))
                    if b == rank:
                        self.assertNotIn(rank, parent)
                        parent[rank] = a
                        self.assertEqual(below, 1 + sum(e[4] for e in tree['edges'] if e[0] == rank), tree)
                    self.assertTrue(1 <= below < RANKS)
                self.assertEqual(tree['changes'] > 0, rank != 0, tree)
            if set(parent) == {1, 2, 3} and edges == {(a, b) for b, a in parent.items()}:
                break
        self.assertEqual((set(parent), edges), ({1, 2, 3}, {(a, b) for b, a in parent.items()}))
        if os.path.exists(TOOL):        # each tells what it sent itself
            for f, world in zip(files, worlds):
                said = subprocess.run([TOOL, 'report', f], cwd=self.dir, stdout=subprocess.PIPE, text=True).stdout
                sent = sum(c['wan_bytes'] for c in self.read(f)['communicators'])
                self.assertTrue(sent >= world['wan_bytes'] and re.search(r' on this rank, which sent \S+ \w+ to other sites', said), said)
                self.assertEqual('which sent 0 B to' in said, sent == 0, said)
        for rank in parent:
            above = [rank]
            while above[-1] in parent:
                above.append(parent[above[-1]])
                self.assertLess(len(above), RANKS + 1, parent)
            self.assertEqual(above[-1], 0)
        if not os.path.exists(TOOL):
            return
        show = lambda *f: subprocess.run([TOOL, 'report', *f, '--html', '-'], cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        whole, alone = show(*files), show(files[0])
        self.assertIn('latency tree of root 0: all 3 edges', whole.stdout)
        xml.fromstring(whole.stdout.split('\n', 1)[1])
        for a, b in edges:
            if of_host[a] != of_host[b]:
                self.assertIn(f'rank {a} to rank {b}, for ', whole.stdout)
        first = told[0]     # a child may know of an edge before its parent does
        self.assertIn(f'latency tree of root 0: {len(first)} of its 3 edges' if len(first) < 3 else 'all 3 edges', alone.stdout)
        wrong = show(files[0], files[1], files[1].replace('1', '0'))
        self.assertEqual((wrong.returncode, wrong.stdout.count('is not of another rank')), (2, 1), wrong.stdout)

    def test_fallbacks(self):
        """Parameters that differ: what passes by is counted."""
        self.job('--mca', 'coll_wan_report', 'run.json', environment={'WAN_ODD_RANKS': 'OMPI_MCA_coll_wan_segment=4096'})
        report = self.read('run.json')
        self.assertEqual((report['communicators'], report['links'], report['totals']['calls']), ([], [], 0))
        refused = {n['reason']: n['why'] for n in report['not_served']}
        self.assertEqual(refused['other_parameters'],
                         'the ranks have different parameters: coll_wan_segment is 0 on rank 0, 4096 on rank 1')
        self.assertGreaterEqual(report['totals']['passed'], sum(c for c, _, _ in WORLD.values()) + 40)
        self.job('--mca', 'coll_wan_report', 'run.json', environment={'WAN_ODD_RANKS': 'OMPI_MCA_coll=^wan'})
        refused = {n['reason']: n for n in self.read('run.json')['not_served']}
        self.assertIn('no_plugin', refused)
        # Lists of Open MPI's with an end.
        self.job('--mca', 'coll_wan_report', 'run.json', '--mca', 'pml', 'ob1', '--mca', 'pml_ob1_free_list_max', '64')
        report = self.read('run.json')
        self.assertEqual((report['process']['ranks'], [(e['what'], e['text']) for e in report['events']]),
                         (0, [('stays_out', 'this process stays out: pml_ob1_free_list_max is 64, and coll/wan needs lists without an end; leave that parameter out, or set it to -1')]))
        # Nobody has a name, one host: not ours, and nothing to tell but that.
        self.job('--mca', 'coll_wan_report', 'run.json', wrapper=False)
        self.assertEqual({n['reason'] for n in self.read('run.json')['not_served']}, {'one_site', 'intercommunicator'})

    def test_trials_and_rules(self):
        """Calls are ours, or left to Open MPI's own by choice, and none is lost."""
        expected = sum(c for c, _, _ in WORLD.values()) + 1      # and the gatherv
        # Without looks at the links, after which all begins again: there is one where the machine is busy.
        self.job('--mca', 'coll_wan_report', 'run.json', '--mca', 'coll_wan_tune_trials', '7', '--mca', 'coll_wan_tune_excess', '1000', '--mca', 'coll_wan_tune_share', '100',
                 '--mca', 'coll_wan_check_interval', '0')
        world = self.communicator(self.read('run.json'), 'MPI_COMM_WORLD')
        ours = {k['collective']: 0 for k in world['calls']}
        for key, k in self.kinds(world).items():
            if key in WORLD or k['blocks'] == 'different':
                ours[k['collective']] += k['calls']
        left = sum(d['calls'] for d in world['declined'])
        self.assertEqual(sum(ours.values()) + left, expected, world['declined'])
        for d in world['declined']:
            self.assertIn('by a rule or a trial', d['why'])
        tried = {(t['collective'], t['bytes_from'], t['bytes_to']): t for t in world['trials']}
        t = tried['allreduce', 64, 127]
        self.assertEqual(t['calls'], 7)
        self.assertGreaterEqual(len(t['ways']), 2)
        self.assertEqual([w['serves'] for w in t['ways']].count(True), 1)
        self.assertGreater(sum(w['trials'] for w in t['ways']), 1)
        k = self.kinds(world).get(('allreduce', 'blocking', 'none', 64))
        if k:
            self.assertRegex(k['choice']['why'], 'tried')
        # Forty calls are enough for one kind. (What serves is judged by test/mpi/tuning: what looked quickest once may have been slower when tried again.)
        second = self.communicator(self.read('run.json'), SECOND)
        t, = second['trials']
        self.assertEqual((t['collective'], t['bytes_from'], t['bytes_to'], t['calls'], t['settled']), ('allreduce', 4, 7, 40, True))
        serving, = [w for w in t['ways'] if w['serves']]
        self.assertGreater(serving['measured_ns'], 0)
        # (What took more than twice as long when it opened connections is not called again.)
        self.assertTrue(all(w['trials'] == 1 for w in t['ways'] if w['measured_ns'] is None), t)
        calls = sum(k['calls'] for k in second['calls'] if k['form'] == 'blocking')
        self.assertEqual(calls + sum(d['calls'] for d in second['declined']), 40)

        with open(os.path.join(self.dir, 'rules'), 'w') as f:
            f.write('bcast bytes 1M-: adaptive\n')
        self.job('--mca', 'coll_wan_report', 'run.json', '--mca', 'coll_wan_rules', os.path.join(self.dir, 'rules'))
        k = self.kinds(self.communicator(self.read('run.json'), 'MPI_COMM_WORLD'))['bcast', 'blocking', 'none', M]
        self.assertEqual(([p['algorithm'] for p in k['plans']], k['choice']['why']), (['adaptive'], 'coll_wan_rules says so'))
        with open(os.path.join(self.dir, 'rules'), 'w') as f:
            f.write('bcast bytes 1M-: chain\nallreduce bytes 64K-128K: open_mpi\n')
        # What an earlier job learned holds when links have been measured after a while, too.
        with open(os.path.join(self.dir, 'learned'), 'w') as f:
            f.write('allreduce bytes 64-127: flat\n')
        self.job('--mca', 'coll_wan_report', 'run.json', '--mca', 'coll_wan_rules', os.path.join(self.dir, 'rules'),
                 '--mca', 'coll_wan_tune_file', os.path.join(self.dir, 'learned'), '--mca', 'coll_wan_measure_share', '99',
                 '--mca', 'coll_wan_tune_excess', '1000',       # whatever is predicted for it
                 environment={'WAN_TEST_LATE': '1'})
        world = self.communicator(self.read('run.json'), 'MPI_COMM_WORLD')
        kinds = self.kinds(world)
        small = kinds['allreduce', 'blocking', 'none', 64]
        self.assertEqual([p['algorithm'] for p in small['plans']], ['flat'])
        self.assertEqual(small['choice']['why'], 'coll_wan_tune_file says so')
        self.assertIn('"how": "measured"', json.dumps(self.read('run.json')))
        self.assertEqual({p['algorithm'] for p in kinds['bcast', 'blocking', 'none', M]['plans']}, {'chain'})
        self.assertEqual(kinds['bcast', 'blocking', 'none', M]['choice']['why'], 'coll_wan_rules says so')
        self.assertNotIn(('allreduce', 'blocking', 'none', 65536), kinds)
        self.assertEqual([(d['collective'], d['calls']) for d in world['declined']], [('allreduce', 5)])
        self.assertEqual(world['trials'], [])

    def test_names_of_files(self):
        self.job()
        self.assertEqual(os.listdir(self.dir), [])
        for name, said in (('run.html', r'wan-info report run.json\s+--html run.html'), ('run', 'does not end in .json'),
                           (os.path.join(self.dir, 'none', 'run.json'), 'No such file or directory')):
            # At level 1 coll/wan says it itself, too: ORTE of 4.1.4 loses messages.
            out = self.job('--mca', 'coll_wan_report', name, '--mca', 'coll_wan_verbose', '1')
            self.assertIn('coll_wan_report', out)
            self.assertRegex(out, said)
            self.assertIn('rank 3: wan_bytes', out)     # the job runs
            self.assertEqual(os.listdir(self.dir), [])

    def test_file_of_others(self):
        """What is no report stays; a report is replaced."""
        mine = os.path.join(self.dir, 'mine.json')
        with open(mine, 'w', encoding='utf-8') as f:
            f.write('{"my": "data"}\n')
        out = self.job('--mca', 'coll_wan_report', 'mine.json', '--mca', 'coll_wan_verbose', '1')
        self.assertRegex(out, r'is there,\s+and\s+is\s+no\s+report\s+of\s+coll/wan')
        self.assertIn('rank 3: wan_bytes', out)
        with open(mine, encoding='utf-8') as f:
            self.assertEqual(f.read(), '{"my": "data"}\n')
        for _ in range(2):
            self.job('--mca', 'coll_wan_report', 'run.json')
            self.assertEqual(self.read('run.json')['what'], 'report of coll/wan')

    def test_profiler(self):
        """MPI_T is open in MPI_Finalize, as a profiler leaves it: Open MPI does not close the component then."""
        out = self.job('--mca', 'coll_wan_report', 'run.json', program=('report_worker', 'open'))
        self.assertIn('the report is ', out)
        report = self.read('run.json')
        world = self.kinds(self.communicator(report, 'MPI_COMM_WORLD'))
        for key, (calls, size, least) in WORLD.items():
            self.assertEqual((world[key]['calls'], world[key]['bytes'], world[key]['wan']['least_bytes']),
                             (calls, size, least or 0), key)
        kept, = self.communicator(report, 'kept')['calls']
        self.assertEqual((kept['collective'], kept['calls']), ('barrier', 1))
        self.communicator(report, SECOND)
        self.assertFalse(any(report['left_out'].values()), report['left_out'])


class Spawned(Job):
    """A job that spawns others: each writes its own."""

    def test_names(self):
        out = self.job('--mca', 'coll_wan_report', 'run.json', wrapper=False, program=('spawn_worker', '5', '2'), ranks=2)
        names = ['run.json'] + [f'run-spawned{n}.json' for n in (1, 2, 3)]
        self.assertEqual(sorted(os.listdir(self.dir)), sorted(names), out)
        calls = {}
        for name in names:
            report = self.read(name)
            n = report['process']['spawned']
            self.assertEqual(name, f'run-spawned{n}.json' if n else 'run.json')
            self.assertEqual((report['process']['rank'], report['process']['ranks']), (0, 2))
            world = [c for c in report['communicators'] if c['name'] == 'MPI_COMM_WORLD']
            calls[n], = [k['calls'] for k in world[0]['calls'] if (k['collective'], k['form']) == ('bcast', 'blocking')
                         and k['bytes_from'] == 2048]
        # None is written over: 5 calls of the first one, 6 of the one that it spawned first, whose own made 7; and 15.
        self.assertEqual((calls[0], calls[1], {calls[2], calls[3]}), (5, 6, {7, 15}))
        self.assertIn('report of rank 0 of spawned job 1, job ', out)
        self.assertEqual(len({self.read(name)['job']['name'] for name in names}), len(names))
        self.assertIn(os.path.realpath(self.dir) + '/run-spawned1.json', out)
        if os.access(TOOL, os.X_OK):
            shown = subprocess.run([TOOL, 'report', 'run-spawned1.json'], cwd=self.dir, capture_output=True, text=True).stdout
            self.assertIn('report of rank 0 of 2, spawned job 1 on ', shown)

    def test_each_rank(self):
        self.job('--mca', 'coll_wan_report', 'run.%r.json', wrapper=False, program=('spawn_worker', '1', '1'), ranks=2)
        self.assertEqual(sorted(os.listdir(self.dir)), ['run.0-spawned1.json', 'run.0.json', 'run.1-spawned1.json', 'run.1.json'])


class Balanced(html.parser.HTMLParser):
    """Tags of a page as a browser sees them."""
    VOID = {'meta', 'br', 'line', 'circle', 'rect'}

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.wrong, self.text, self.tags, self.attributes = [], [], '', [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in ('meta', 'br'):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in self.VOID:
            self.wrong.append(f'<{tag}/>')

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f'</{tag}>')

    def handle_data(self, data):
        self.text += data


@unittest.skipUnless(os.access(TOOL, os.X_OK), 'wan-info was not built')
class Shown(Job):
    def info(self, *words):
        done = subprocess.run([TOOL, 'report', *words], cwd=self.dir, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return done.stdout

    def setUp(self):
        super().setUp()
        self.job('--mca', 'coll_wan_report', 'run.json')
        self.report = self.read('run.json')

    def check_page(self, text):
        page = Balanced(text)
        self.assertEqual((page.wrong, page.open), ([], []))
        xml.fromstring(text.split('\n', 1)[1])
        # Needs nothing from elsewhere, and fits a phone.
        self.assertIsNone(re.search(r'https?://|src=|href=|url\((?!#)|@import|<script', text))
        self.assertIn(('name', 'viewport'), page.attributes)
        self.assertIn(('content', 'width=device-width, initial-scale=1'), page.attributes)
        return page

    def test_page(self):
        self.assertEqual(self.info('run.json', '--html', 'run.html'), '')
        with open(os.path.join(self.dir, 'run.html')) as f:
            text = f.read()
        self.assertEqual(text, self.info('run.json', '--html', '-'))
        page = self.check_page(text)
        rows = sum(len(c['calls']) for c in self.report['communicators'])
        self.assertEqual(page.attributes.count(('class', 'communicator')), len(self.report['communicators']))
        drawn = [max(ways, key=lambda p: p['calls'])['flows'] for c in self.report['communicators']
                 for k in sorted(c['calls'], key=lambda k: -k['time_ns']['sum'])
                 if (ways := [p for p in k['plans'] if p['flows']])]
        of_each = [sum(any(p['flows'] for p in k['plans']) for k in c['calls']) for c in self.report['communicators']]
        ways = sum(min(4, n) for n in of_each)
        self.assertGreater(ways, 4)
        self.assertEqual(page.attributes.count(('class', 'way')), ways)
        # Each arrow of the pictures is a flow of the report.
        arrows = sum(page.attributes.count(('class', kind)) for kind in ('far', 'near'))
        at, wanted = 0, 0
        for n in of_each:
            wanted += sum(len(flows) for flows in drawn[at:at + min(4, n)])
            at += n
        self.assertEqual(arrows, wanted)
        # Between the right hosts, in the right direction: ranks 0 and 2 are on one, 1 and 3 on the other.
        host = ['the host of rank 0 (2 ranks)', 'the host of rank 1 (2 ranks)']
        both = {(f[0], f[1]) for flows in drawn for f in flows}
        self.assertEqual(both, {(0, 1), (1, 0)})
        for a, b in both:
            wanted = sum(sum((f[0], f[1]) == (a, b) for f in flows) for i, n in enumerate(of_each)
                         for flows in drawn[sum(of_each[:i]):sum(of_each[:i]) + min(4, n)])
            self.assertEqual(page.text.count(f'{host[a]} to {host[b]}: '), wanted, (a, b))
        ids = [value for name, value in page.attributes if name == 'id']
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual(page.tags.count('details'), rows + 1 + ways)        # and what the columns say
        for kind, n in (('site', 2), ('link', 1), ('life', len(self.report['communicators'])),
                        ('event', len(self.report['events']) + len(self.report['not_served']))):
            self.assertEqual(page.attributes.count(('class', kind)), n, kind)
        self.assertIn(SECOND, page.text)
        self.assertIn('rabenseifner', page.text)
        self.assertIn('all ranks are in one site', page.text)

    def test_in_short(self):
        """What stands first is what the numbers say."""
        changed = json.loads(json.dumps(self.report))
        kinds = [k for c in changed['communicators'] for k in c['calls']]
        for k in kinds:
            k['times_bound'] = None if k['times_bound'] is None else 1.1
        world = self.communicator(changed, 'MPI_COMM_WORLD')
        long = self.kinds(world)['bcast', 'blocking', 'none', M]
        long.update(calls=77)
        long['time_ns']['sum'] = 9_000_000_000
        changed['totals'].update(elapsed_ns=10_000_000_000, declined=0, passed=0, wan={'calls': 9, 'bytes': 1000, 'least_bytes': 1000})
        def said():
            with open(os.path.join(self.dir, 'changed.json'), 'w') as f:
                json.dump(changed, f)
            text = self.info('changed.json')
            lines = re.findall(r'^- (.*)$', text, re.M)
            page = self.check_page(self.info('changed.json', '--html', '-'))
            for line in lines:
                self.assertIn(line, page.text)
            return lines
        first = said()
        self.assertEqual(len(first), 3)
        self.assertRegex(first[0], r'^Most time went into bcast of 1 MB to 2 MB on MPI_COMM_WORLD \(0\): 9\.00 s in 77 calls, of 10\.0 s in all\.$')
        self.assertEqual(first[1:], ['Calls in which all ranks wait for each other took the least possible time, or up to 10% more.',
                                     'Across sites went 1000 B, no more than has to.'])
        # Links that nobody measured say nothing of how near a call came.
        for l in changed['links']:
            l['how'] = 'assumed'
        changed['totals']['calls'] = sum(k['calls'] for k in kinds)
        assumed = said()
        self.assertRegex(assumed[1], r'^All calls came before links were measured: .*--mca coll_wan_measure_share 100 ')
        self.assertEqual(assumed[2:], first[2:])
        ratios = re.findall(r'^  \w.* (\S+) +(?:\S+ [KMG]?B|-) +(?:\S+ [KMG]?B|-)  \w', self.info('changed.json'), re.M)
        self.assertEqual((set(ratios), len(ratios)), ({'-'}, len(kinds)))
        changed['totals']['calls'] += 1
        self.assertRegex(said()[1], rf'^{changed["totals"]["calls"] - 1} of {changed["totals"]["calls"]} calls came before')
        for p in (p for k in kinds for p in k['plans']):      # reports of before do not say by which
            p.pop('links')
        self.assertEqual(said(), first)
        for l in changed['links']:
            l['how'] = 'measured'
        self.assertEqual(said(), first)
        slow = next(k for k in world['calls'] if k['collective'] == 'allreduce' and k['times_bound'] is not None)
        slow.update(times_bound=4.0, bound_ns=1_000_000, predicted_ns=1_500_000)
        slow['time_ns'].update(median=4_000_000, sum=8_000_000_000)
        changed['totals'].update(passed=3, wan={'calls': 9, 'bytes': 1500, 'least_bytes': 1000})
        changed['events'].append({'at_ns': 5, 'what': 'links_changed', 'text': 'links'})
        second = said()
        self.assertRegex(second[1], r'^Most time above the least possible: allreduce of .*, median 4\.00 ms, 4 times 1\.00 ms; predicted were '
                                    r'1\.50 ms: ranks that come late')
        self.assertEqual(second[2:], ['Across sites went 1.46 KB, 1.50 times what has to.',
                                      '3 calls went to another component; why stands with the communicators.',
                                      'Links were found to have changed once: see what happened when.'])
        slow.update(predicted_ns=3_900_000)
        self.assertRegex(said()[1], r'predicted were 3\.90 ms\.$')
        changed.update(communicators=[])
        changed['totals'].update(passed=0, wan={'calls': 0, 'bytes': 0, 'least_bytes': 0})
        self.assertEqual(said()[0], 'coll/wan served no call; why stands at the end, under "not served".')
        # Of trees nobody knows what all ranks sent: no 0 B stands for that.
        self.assertRegex(self.info('changed.json'), r' on this rank, which sent 0 B to other sites\n')
        changed['process']['ranks'] = 0
        self.assertRegex(said()[0], 'in no communicator: there was one process, or it stayed out from the start')
        changed['events'].append({'at_ns': 0, 'what': 'stays_out', 'text': 'this process stays out: for no reason'})
        self.assertEqual(said()[0], 'coll/wan was in no communicator, as this process stays out: for no reason.')

    def test_page_escapes(self):
        """Whatever texts there are, in all places."""
        evil = '<script>alert("&amp;\'\x01é")'
        with open(os.path.join(self.dir, 'run.json')) as f:
            text = f.read()
        quoted = json.dumps(evil)[1:-1]
        for name in ('site0', 'all ranks are in one site', 'MPI_COMM_WORLD', 'is served'):
            self.assertIn(name, text)
            text = text.replace(name, quoted)
        changed = json.loads(text)
        changed['process']['host'] = changed['version'] = changed['began'] = changed['parameters'][evil] = evil
        changed['left_out'].update(calls=5, afterthoughts=True)
        for c in changed['communicators']:
            c['declined'] = [{'collective': evil, 'calls': 2, 'why': evil}]
            for k in c['calls']:
                k['choice']['why'] = evil
                for p in k['plans'] + k['choice']['candidates']:
                    p['algorithm'] = evil
        with open(os.path.join(self.dir, 'evil.json'), 'w') as f:
            json.dump(changed, f)
        page = self.check_page(self.info('evil.json', '--html', '-'))
        self.assertGreater(page.text.count(evil.replace('\x01', '?')), 20)
        self.assertNotIn('script', page.tags)
        self.info('evil.json')

    def test_many_sites(self):
        """More than can be drawn, and more than labels have room for."""
        for sites in (3, 12, 60):
            changed = json.loads(json.dumps(self.report))
            names = [f's{i}' for i in range(sites)]
            for c in changed['communicators']:
                c['sites'] = [{'site': s, 'hosts': 2, 'ranks': 4} for s in names]
            for l in changed['links']:
                l['sites'] = [{'site': s, 'uplink_bytes_per_s': 1000000} for s in names]
                l['between'] = [{'a': a, 'b': b, 'latency_ns': 5000000, 'each_measured': True, 'bytes_per_s': 125000000}
                                for i, a in enumerate(names) for b in names[i + 1:]]
            with open(os.path.join(self.dir, 'many.json'), 'w') as f:
                json.dump(changed, f)
            page = self.check_page(self.info('many.json', '--html', '-'))
            maps = {3: 1, 12: 2, 60: 0}[sites]      # a large one another time, for a phone
            self.assertEqual(page.attributes.count(('class', 'site')), sites * maps)
            self.assertEqual(page.attributes.count(('class', 'link')), sites * (sites - 1) // 2 * maps)

    def test_trials(self):
        self.job('--mca', 'coll_wan_report', 'run.json', '--mca', 'coll_wan_tune_trials', '3', '--mca', 'coll_wan_tune_excess', '1000', '--mca', 'coll_wan_tune_share', '100')
        world = self.communicator(self.read('run.json'), 'MPI_COMM_WORLD')
        ways = [w['way'] for t in world['trials'] for w in t['ways']]
        self.assertGreater(len(ways), 1)
        page = self.check_page(self.info('run.json', '--html', '-'))
        said = self.info('run.json')
        for way in ways:
            self.assertIn(way, page.text)
            self.assertIn(f' {way} ', said)
        # Six short calls may be enough for all trials, or not: each kind is told as it is, with what serves marked.
        short = [t for t in world['trials'] if t['collective'] == 'allreduce' and t['bytes_from'] == 64]
        self.assertEqual(len(short), 1)
        self.assertRegex(said, r'\n  allreduce, 64 B to 128 B%s +\*? ' % ('' if short[0]['settled'] else ', not settled'))
        self.assertEqual(len(re.findall(r', not settled +\* ', said)), sum(not t['settled'] for c in self.read('run.json')['communicators'] for t in c.get('trials', [])))

    def test_summary(self):
        said = self.info('run.json')
        for words in (r'communicator MPI_COMM_WORLD \(0\), 4 ranks: site0 \(1 host, 2 ranks\), site1 \(1 host, 2 ranks\)',
                      r'\n  bcast +1 MB to 2 MB +3 .* 3 MB +3 MB +', r'\n  allreduce, non-blocking +256 KB to 512 KB +4 ',
                      r'\n  allgather, blocks differ +512 B to 1 KB +2 ', r'communicators? of 2 ranks: all ranks are in one site',
                      r'links measured at '):
            self.assertRegex(said, words)

    def test_comparison(self):
        changed = json.loads(json.dumps(self.report))
        world = self.communicator(changed, 'MPI_COMM_WORLD')
        kinds = self.kinds(world)
        k = kinds['bcast', 'blocking', 'none', M]
        k['calls'] = 8
        k['time_ns']['median'] *= 3
        k['plans'][0].update(algorithm='farfirst', n=None, segment_bytes=None)
        k['plans'] = k['plans'][:1]
        world['calls'].remove(kinds['barrier', 'blocking', 'none', 0])
        changed['parameters']['coll_wan_links'] = 7
        with open(os.path.join(self.dir, 'other.json'), 'w') as f:
            json.dump(changed, f)
        said = self.info('run.json', 'other.json')
        self.assertRegex(said, r'MPI_COMM_WORLD of 4 ranks +bcast, blocking, 1 MB to 2 MB +3 +8 .* 3\.00 .* / farfirst\n')
        self.assertRegex(said, r'MPI_COMM_WORLD of 4 ranks +barrier, blocking, no bytes +3 +- ')
        self.assertRegex(said, r'MPI_COMM_WORLD of 4 ranks +allreduce, blocking, 64 B to 128 B +7 +7 .* 1\.00 ')
        self.assertIn('coll_wan_links: default / 7', said)
        self.assertRegex(self.info('other.json', 'run.json'), r'barrier, blocking, no bytes +- +3 ')


if __name__ == '__main__':
    job_tests.main(Job)
