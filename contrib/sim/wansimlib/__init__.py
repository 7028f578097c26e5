"""Parts of contrib/sim/wansim.

SPDX-License-Identifier: BSD-3-Clause
"""
