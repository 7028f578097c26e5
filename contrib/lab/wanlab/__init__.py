# SPDX-License-Identifier: BSD-3-Clause
"""The lab: read shape.py (what), network.py (how), job.py (mpirun) in this order."""


class LabError(Exception):
    """Something the user can act on; printed as `lab: ...` without a traceback."""
