"""How the Python tests that run jobs start and end: `-v` shows what jobs say; the last line counts.

SPDX-License-Identifier: BSD-3-Clause
"""
import sys
import unittest


def main(job):
    """Runs the tests of __main__; `job`: the class whose `verbose` tells its jobs to say more.  Does not return."""
    job.verbose = '-v' in sys.argv
    ran = unittest.main(argv=sys.argv[:1] + [a for a in sys.argv[1:] if a != '-v'], exit=False).result
    bad = len(ran.failures) + len(ran.errors)
    print(f'{ran.testsRun - bad - len(ran.skipped)} passed, {bad} failed')
    sys.exit(bad > 0)
