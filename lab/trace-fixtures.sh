#!/usr/bin/env bash
# Makes the fixtures of crates/trace: small traces by the real tools, with counts from the tools themselves.
#
#   lab/trace-fixtures.sh [PART]...    blktrace, tracefs, perf, fio; all of them if none is named
#
# Needs root (loop devices, tracefs), Debian's blktrace, fio, linux-perf, e2fsprogs, fdisk, sg3-utils, and for blktrace the
# virtual machine of lab/vm.sh. Times and counts differ each time: commit counts.json with the traces.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
OUT=${LAB_FIXTURES:-$HERE/../crates/trace/tests/fixtures}

[[ $EUID == 0 ]] || { echo "lab/trace-fixtures.sh needs root: it makes loop devices and traces them" >&2; exit 2; }
(($#)) || set -- blktrace tracefs perf fio
mkdir -p "$OUT"
OUT=$(cd "$OUT" && pwd)
for part; do
    [[ -x $HERE/fixtures/$part.sh ]] || { echo "there is no part $part; give blktrace, tracefs, perf or fio" >&2; exit 2; }
    printf '== %s\n' "$part"
    "$HERE/fixtures/$part.sh" "$OUT/$part"
done
python3 "$HERE/fixtures/counts.py" "$OUT" "$HERE/fixtures/notes.md"
du -sh "$OUT"
