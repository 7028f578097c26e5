"""Median and interval over fresh jobs: one figure per job, jobs are independent.

Rounds of one job share its connections and placement, so they say little about
the next job; hence the unit is the job's median.

SPDX-License-Identifier: BSD-3-Clause
"""

import dataclasses
import math
import statistics


def median(values):
    ordered = sorted(values)
    n = len(ordered)
    if not n:
        raise ValueError('median of nothing')
    return ordered[n // 2] if n % 2 else (ordered[n // 2 - 1] + ordered[n // 2]) / 2


@dataclasses.dataclass(frozen=True)
class Summary:
    count: int
    median: float
    low: float          # smallest and largest job
    high: float
    interval_low: float     # distribution-free interval of the median
    interval_high: float
    coverage: float         # of that interval: 0.9375 with 5 jobs, 0.95 or more from 6

    @property
    def spread(self):
        """(max - min) / median."""
        return (self.high - self.low) / self.median if self.median > 0 else 0.0


def percentile(values, percent):
    """The smallest value that at least `percent` of a hundred do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def rank_correlation(a, b):
    """Spearman's, equal values share their rank; None where all of a or of b are equal, or fewer than three."""
    if len(a) < 3 or len(set(a)) == 1 or len(set(b)) == 1:
        return None
    return statistics.correlation(*([sum((y < x) + (y <= x) for y in v) for x in v] for v in (a, b)))


def order_interval(n, wanted=0.95):
    """Ranks (0-based) of the tightest symmetric order-statistics interval of the
    median that covers `wanted`, and its coverage; the whole range if none does."""
    best = (0, n - 1, 1 - 2 * 0.5 ** n if n > 1 else 0.0)
    for k in range(1, n // 2):
        tail = sum(math.comb(n, i) for i in range(k + 1)) / 2 ** n
        if 1 - 2 * tail < wanted:
            break
        best = (k, n - 1 - k, 1 - 2 * tail)
    return best


def summarize(values):
    ordered = sorted(values)
    low, high, coverage = order_interval(len(ordered))
    return Summary(len(ordered), median(ordered), ordered[0], ordered[-1],
                   ordered[low], ordered[high], coverage)
