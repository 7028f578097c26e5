"""What coll/wan's performance variables say, beside what the job did, which can be counted
without them.  Run by test/mpi/counters, which sets the environment.

SPDX-License-Identifier: BSD-3-Clause
"""

import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import job_tests

SRC, BUILD = os.environ['WAN_SRC'], os.environ['WAN_BUILD']
RANKS = 4       # 0 and 2 in one site, 1 and 3 in the other
M = 1 << 20
COLLECTIVES = ['bcast', 'allreduce', 'reduce', 'barrier', 'scan', 'exscan', 'allgather', 'gather', 'scatter',
               'reduce_scatter', 'alltoall']


class Job(unittest.TestCase):
    verbose = False

    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)

    def job(self, calls, *words, environment=None):
        """What each rank saw."""
        command = [os.environ['MPIRUN'], '-np', str(RANKS), *words, os.path.join(SRC, 'test/mpi/sites_by_rank'),
                   os.path.join(BUILD, 'test/mpi/counters_worker'), calls]
        for old in glob.glob(os.path.join(self.dir, 'counters.*.json')):
            os.unlink(old)
        done = subprocess.run(['timeout', '-k', '5', '60', *command], cwd=self.dir, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env={**os.environ, **(environment or {})})
        if self.verbose:
            print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout)
        seen = []
        for rank in range(RANKS):
            with open(os.path.join(self.dir, f'counters.{rank}.json')) as f:
                seen.append(json.load(f))
        return seen

    @staticmethod
    def gone(rank, before, after):
        """What has been counted between two moments, without zeros, names without coll_wan_."""
        return {k[9:]: v - rank[before][k] for k, v in rank[after].items() if v != rank[before][k]}

    def across(self, ranks, before, after):
        return sum(self.gone(r, before, after).get('wan_bytes', 0) for r in ranks)


class Variables(Job):
    def test_all_of_them(self):
        """Each is there, is a counter, and the reference has its sentence."""
        told = self.job('calls')[0]['told']
        with open(os.path.join(SRC, 'ompi/mca/coll/wan/REFERENCE.md')) as f:
            listed = dict(re.findall(r'^`(coll_wan_\w+)`: (.*)\.$', f.read(), re.M))
        self.assertEqual(told, listed)
        for kind in ('served_{}', 'declined_{}', 'left_{}', 'blocking_{}_ns'):
            for c in COLLECTIVES:
                self.assertIn(c, told['coll_wan_' + kind.format(c)])
        self.assertGreater(len(told), 4 * len(COLLECTIVES) + 20)

    def test_calls(self):
        """Calls, bytes and handles, algorithm by algorithm as their schedules are known."""
        ranks = self.job('calls', '--mca', 'coll_wan_bcast_algorithm', 'tree', '--mca', 'coll_wan_allreduce_algorithm',
                         'rabenseifner', '--mca', 'coll_wan_alltoall_algorithm', 'direct')
        for r in ranks:
            self.assertEqual(set(r['begin'].values()), {0})
            g = self.gone(r, 'begin', 'bcast')
            self.assertEqual((g['served_bcast'], g['communicators'], g['links_measured']), (3, 1, 1))
            self.assertEqual([k for k in g if re.match('served|declined|left|passed|refused|blocking', k)],
                             ['blocking_bcast_ns', 'served_bcast'])
            self.assertLess(g['blocking_bcast_ns'], r['bcast_ns'])
            self.assertEqual(g['blocking_bcast_ns'], g['elapsed_ns'])
            g = self.gone(r, 'bcast', 'allreduce')
            self.assertEqual((g['served_allreduce'], g['blocking_allreduce_ns']), (5, g['elapsed_ns']))
            self.assertGreater(g['predicted_ns'], 0)
            # Non-blocking calls take time, but the program does not wait in them.
            g = self.gone(r, 'allreduce', 'iallreduce')
            self.assertEqual(g['served_allreduce'], 2)
            self.assertGreater(g['elapsed_ns'], 0)
            self.assertEqual([k for k in g if k.startswith('blocking')], [])
            # A handle counts from when it was made; a tool resets its own, and those of no other.
            self.assertEqual(set(r['late_begin'].values()), {0})
            self.assertEqual({k[9:]: v for k, v in r['late'].items() if v}, g)
            self.assertEqual(r['allowed'], 0)
            self.assertEqual(self.gone(r, 'iallreduce', 'still'), {})
            self.assertEqual(r['reset'], len([k for k in r['told'] if not k.startswith('coll_wan_comm_')]))
            self.assertEqual(self.gone(r, 'still', 'not_reset'), {})
            g = self.gone(r, 'not_reset', 'alltoall')
            self.assertEqual(g['served_alltoall'], 1)
            self.assertEqual({k[9:]: v for k, v in r['beside'].items() if v}, g)
            # Communicators: one of both sites, over which nothing is measured again; one in a site, whose calls are not ours.
            self.assertEqual(self.gone(r, 'alltoall', 'split')['refused_one_site'], 1)
            g = self.gone(r, 'split', 'second')
            self.assertEqual((g['served_barrier'], g['communicators'], g.get('served_allreduce'), g.get('links_measured')),
                             (2, 1, None, None))
            self.assertEqual(self.gone(r, 'second', 'freed'), {})       # kept
        # Each byte once: to the other site, both ways, each pair's.
        self.assertEqual(self.across(ranks, 'begin', 'bcast'), 3 * M)
        self.assertEqual(self.gone(ranks[0], 'begin', 'bcast')['wan_bytes'], 3 * M)     # the root sends
        self.assertEqual(self.across(ranks, 'bcast', 'allreduce'), 5 * 2 * 4 * 4096)
        self.assertEqual(self.across(ranks, 'allreduce', 'iallreduce'), 2 * 2 * 4 * 4096)
        self.assertEqual([self.gone(r, 'not_reset', 'alltoall')['wan_bytes'] for r in ranks], [2000] * RANKS)
        barrier = [self.gone(r, 'split', 'second') for r in ranks]
        self.assertEqual(sum(g.get('wan_bytes', 0) for g in barrier), 0)
        self.assertGreaterEqual(sum(g.get('wan_messages', 0) for g in barrier), 2 * 2)

    def test_other_algorithms_send_otherwise(self):
        """Of farfirst, all hosts of a site send their part; of one link one does."""
        ranks = self.job('calls', '--mca', 'coll_wan_bcast_algorithm', 'farfirst')
        self.assertEqual(self.across(ranks, 'begin', 'bcast'), 3 * M)
        of_two = self.job('calls', '--mca', 'coll_wan_allreduce_algorithm', 'rabenseifner', '--mca', 'coll_wan_links', '2')
        of_one = self.job('calls', '--mca', 'coll_wan_allreduce_algorithm', 'rabenseifner', '--mca', 'coll_wan_links', '1')
        for ranks in (of_one, of_two):
            self.assertEqual(self.across(ranks, 'bcast', 'allreduce'), 5 * 2 * 4 * 4096)

    def test_waiting(self):
        """A rank that comes 400 ms late costs the others that time, and itself nothing like it."""
        ranks = self.job('wait')
        waited = [self.gone(r, 'before', 'after')['blocking_allreduce_ns'] for r in ranks]
        for r, w in zip(ranks, waited):
            self.assertLessEqual(w, r['took_ns'])
        for w in waited[:3]:
            self.assertGreater(w, 100_000_000)
        self.assertLess(waited[3], max(waited[:3]))

    def test_communicators(self):
        """A handle that is bound to a communicator counts its calls, and no other's."""
        ranks = self.job('comms', '--mca', 'coll_wan_bcast_algorithm', 'tree', '--mca', 'coll_wan_allreduce_algorithm', 'rabenseifner')
        names = {'coll_wan_comm_' + n for n in ('calls', 'declined', 'passed', 'blocking_ns', 'elapsed_ns', 'predicted_ns', 'wan_messages',
                                                'wan_bytes', 'links_changed', 'tree_changes')}
        sent = []
        for r in ranks:
            world, second, half = ({k[14:]: v for k, v in r[of].items()} for of in ('world', 'second', 'half'))
            self.assertEqual({'coll_wan_comm_' + k for k in world}, names)
            self.assertEqual(r['world'], r['world_between'])
            self.assertEqual((world['calls'], second['calls'], world['declined'] + world['passed'] + second['declined'] + second['passed']),
                             (3, 5, 0))
            self.assertEqual(set(half.values()), {0})
            # What the process has counted meanwhile is the sum.
            for own, process in (('wan_bytes',) * 2, ('wan_messages',) * 2, ('elapsed_ns',) * 2, ('predicted_ns',) * 2):
                self.assertEqual(world[own] + second[own], r['whole']['coll_wan_' + process], own)
            self.assertEqual(world['blocking_ns'], r['whole']['coll_wan_blocking_bcast_ns'])
            self.assertEqual(second['blocking_ns'], r['whole']['coll_wan_blocking_allreduce_ns'])
            self.assertTrue(0 < second['blocking_ns'] < second['elapsed_ns'])       # two of five do not block
            sent.append((world['wan_bytes'], second['wan_bytes']))
        self.assertEqual(sum(w for w, _ in sent), 3 * 65536)
        self.assertEqual(sum(s for _, s in sent), 5 * 2 * 4096 * 4)
        # One that is not served: what passed.
        for r in self.job('comms', environment={'WAN_ODD_RANKS': 'OMPI_MCA_coll_wan_segment=4096'}):
            self.assertEqual({k[14:]: v for k, v in r['second'].items() if v}, {'passed': 5})

    def test_fallbacks(self):
        """Calls that others serve are counted as that, and as nothing else."""
        ranks = self.job('served', environment={'WAN_ODD_RANKS': 'OMPI_MCA_coll_wan_segment=4096'})
        for r in ranks:
            v = {k[9:]: n for k, n in r['after'].items() if n}
            self.assertEqual(r['right'], 11)
            self.assertEqual(v['refused_other_parameters'], 1)
            self.assertGreaterEqual(v['passed'], 10)
            self.assertEqual([k for k in v if re.match('served|wan_|elapsed|blocking|links', k)], [])
        with open(os.path.join(self.dir, 'rules'), 'w') as f:
            f.write('allreduce bytes 4000-4000: open_mpi\n')
        for r in self.job('served', '--mca', 'coll_wan_rules', os.path.join(self.dir, 'rules')):
            v = {k[9:]: n for k, n in r['after'].items() if n}
            self.assertEqual((r['right'], v['left_allreduce'], v.get('blocking_allreduce_ns'), v.get('trials')), (11, 10, None, None))

    def test_trials(self):
        """All ranks try the same calls."""
        ranks = self.job('served', '--mca', 'coll_wan_tune_trials', '3', '--mca', 'coll_wan_tune_excess', '1000', '--mca', 'coll_wan_tune_share', '100')
        tried = {r['after']['coll_wan_trials'] for r in ranks}
        self.assertEqual(len(tried), 1)
        for r in ranks:
            # The first two of ten calls are as predicted.
            self.assertTrue(2 <= r['after']['coll_wan_trials'] <= 8, r['after'])
            self.assertEqual(r['right'], 11)
            v = r['after']
            self.assertGreaterEqual(v['coll_wan_served_allreduce'] + v['coll_wan_left_allreduce'], 10)

    def test_trees(self):
        """Every rank but the root takes a parent; what trees carry is timed, and predicted by nobody."""
        ranks = self.job('trees', '--mca', 'coll_wan_bcast_algorithm', 'adaptive')
        for rank, r in enumerate(ranks):
            v = r['trees']
            self.assertEqual(v['coll_wan_served_bcast'], r['calls'])
            self.assertEqual(v['coll_wan_tree_calls'], r['calls'])      # and not Allreduce's
            self.assertEqual(v['coll_wan_tree_changes'] > 0, rank > 0)
            self.assertGreater(v['coll_wan_blocking_bcast_ns'], 0)
            self.assertEqual(v['coll_wan_elapsed_ns'], v['coll_wan_blocking_allreduce_ns'])
        # Each broadcast crosses at least once.
        self.assertGreaterEqual(sum(r['trees']['coll_wan_wan_messages'] for r in ranks), ranks[0]['calls'])


class Neighbours(Job):
    """Open MPI's monitoring, and who is placed where, beside us and without us."""

    def test_monitoring(self):
        prof = os.path.join(self.dir, 'prof')
        words = ['--mca', 'pml_monitoring_enable', '2', '--mca', 'pml_monitoring_enable_output', '3', '--mca',
                 'pml_monitoring_filename', prof]
        if subprocess.run([os.environ.get('OMPI_INFO') or 'ompi_info', '--param', 'pml', 'monitoring', '--level', '9'],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.find('pml_monitoring_enable') < 0:
            self.skipTest('this Open MPI has no monitoring')
        ranks = self.job('served', *words)
        for rank, r in enumerate(ranks):
            self.assertEqual(r['right'], 11)
            v = r['after']
            self.assertEqual((v['coll_wan_served_allreduce'] >= 10, v['coll_wan_refused_one_site']), (True, 1))
            # Both count: it the program's calls, we what we served of them.
            self.assertGreater(r['coll_messages'], 0)
            # What we say to have sent to another site has gone through the PML to its ranks, as it saw it.
            with open(f'{prof}.{rank}.prof') as f:
                sent = {int(to): int(n) for to, n in re.findall(rf'^I\t{rank}\t(\d+)\t(\d+) bytes', f.read(), re.M)}
            far = sum(n for to, n in sent.items() if to % 2 != rank % 2)
            self.assertGreaterEqual(far, v['coll_wan_wan_bytes'])
        self.assertGreater(sum(r['after']['coll_wan_wan_bytes'] for r in ranks), 10 * 2 * 4000 - 1)
        alone = self.job('served', *words, '--mca', 'coll', '^wan')
        self.assertEqual([r['coll_messages'] for r in ranks], [r['coll_messages'] for r in alone])
        self.assertEqual([r['after'] for r in alone], [{}] * RANKS)

    def test_places(self):
        words = ['--bind-to', 'core:overload-allowed', '--map-by', 'core:oversubscribe']
        ours = self.job('served', *words)
        theirs = self.job('served', *words, '--mca', 'coll', '^wan')
        for a, b in zip(ours, theirs):
            self.assertGreater(a['after']['coll_wan_served_allreduce'], 0)
            self.assertEqual((a['cpus'], a['on_host'], a['right']), (b['cpus'], RANKS, 11))
            self.assertEqual(b['on_host'], RANKS)


if __name__ == '__main__':
    job_tests.main(Job)
