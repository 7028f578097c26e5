# Placeholder: nothing here is built yet.
# SPDX-License-Identifier: BSD-3-Clause
