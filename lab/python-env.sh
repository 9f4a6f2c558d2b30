#!/usr/bin/env bash
# Makes a virtual environment with the readers that records.parquet and workbooks are tested with, and prints its interpreter's path.
# Does nothing but that if it is there already.
#
#   export IOSONAR_PYTHON=$(lab/python-env.sh)
#
# The environment is target/venv, or the directory named by the first argument. Ends with 1, and says why on standard
# error, if it cannot be made: without Python's venv, or without a package index.
set -euo pipefail

PACKAGES=(pandas pyarrow polars duckdb openpyxl)
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
VENV=${1:-$HERE/../target/venv}

say() { printf 'python-env: %s\n' "$*" >&2; }

# Finding the packages takes milliseconds; importing them takes seconds.
complete() {
    "$VENV/bin/python" -c 'import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))' \
        "${PACKAGES[@]}" 2>/dev/null
}

if ! complete; then
    say "making $VENV with ${PACKAGES[*]}"
    mkdir -p "$(dirname "$VENV")"
    python3 -m venv "$VENV" >&2 || { say "python3 -m venv failed (Debian: python3-venv)"; exit 1; }
    "$VENV/bin/pip" install --quiet --disable-pip-version-check "${PACKAGES[@]}" >&2 || { say "pip failed"; exit 1; }
    complete || { say "the packages are installed and yet not found"; exit 1; }
fi
realpath -s "$VENV/bin/python"
