"""What wanbench and figure4 are made of; see ../README.md for the method.

SPDX-License-Identifier: BSD-3-Clause
"""
