#!/bin/sh
# Makes configure and the Makefile.in files from a fresh clone.
# SPDX-License-Identifier: BSD-3-Clause
set -e
cd "$(dirname "$0")"
for tool in autoreconf automake libtoolize; do
    command -v "$tool" >/dev/null 2>&1 || {
        echo "autogen.sh: $tool is missing: install autoconf, automake and libtool" >&2
        exit 1
    }
done
mkdir -p config/aux
exec autoreconf --install --force --warnings=all,no-obsolete
