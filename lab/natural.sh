#!/usr/bin/env bash
# Records a natural workload: a program of everyday use on a new file system on a loop device. Needs root.
#
#   lab/natural.sh NAME OUT [SECONDS]      records it with iosonar into the directory OUT
#   lab/natural.sh --look NAME [SECONDS]   records nothing, and says how many requests came each second
#
# NAME is one of
#   database   PostgreSQL with pgbench at changing rates, on XFS
#   compiler   a tree of C that is compiled again and again, on ext4
#   packages   archives that are unpacked and synced, on btrfs
#   logs       writers of log lines that wait for fsync, with rotation, on ext4
#   backup     tar with xz reads a tree during small changes, on XFS
#
# It runs for SECONDS (180) after it has been prepared and the file system has been remounted, so that the page cache holds nothing of it.
# Everything is undone at the end, by Ctrl-C, too.
#
# Images are made in $LAB_DIR, else $TMPDIR, else /tmp; IOSONAR is the program (target/release/iosonar).
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
IOSONAR=${IOSONAR:-$HERE/../target/release/iosonar}
# Keep these runs out of the user's ledger.
export IOSONAR_LEDGER=off
PATH=$PATH:/usr/sbin:/sbin
# shellcheck source=lab/loopdev.sh
source "$HERE/loopdev.sh"
WORK=
BESIDE=

die() {
    echo "natural: $*" >&2
    exit 2
}

# On SIGTERM the workload stops its own servers.
finish() {
    if [[ -n $WORK ]]; then
        kill -TERM -- "-$WORK" 2>/dev/null || true
        wait "$WORK" 2>/dev/null || true
    fi
    if [[ -n $BESIDE ]]; then
        kill -INT "$BESIDE" 2>/dev/null || true
        wait "$BESIDE" 2>/dev/null || true
    fi
    cd /
    lab_undo
}
trap finish EXIT

# In a new process group, so that all of it can be ended.
workload() { # prepare|run ARGUMENT...
    setsid "$PROGRAM" "$@" </dev/null >"$LOG" 2>&1 &
    WORK=$!
    local status=0
    wait "$WORK" || status=$?
    # Remaining processes would keep the file system busy.
    kill -TERM -- "-$WORK" 2>/dev/null || true
    WORK=
    ((status == 0)) || { tail -n 20 "$LOG" >&2; die "$NAME ended with status $status"; }
}

# Completed reads, writes, discards and flushes.
counters() { awk '{ print $1, $5, $12, $16 }' "/sys/block/${DEVICE##*/}/stat"; }

# One line each second.
look() { while sleep 1; do counters; done; }

# Summarises the lines of look.
summary() {
    awk '
        NR > 1 {
            reads += $1 - r; writes += $2 - w; discards += $3 - d; flushes += $4 - f
            rate[++seconds] = $1 - r + $2 - w + $3 - d
        }
        { r = $1; w = $2; d = $3; f = $4 }
        END {
            for (i = 2; i <= seconds; i++)
                for (j = i; j > 1 && rate[j - 1] > rate[j]; j--) { t = rate[j]; rate[j] = rate[j - 1]; rate[j - 1] = t }
            printf "%d requests in %d s: %d reads, %d writes, %d discards; and %d flushes\n",
                reads + writes + discards, seconds, reads, writes, discards, flushes
            printf "in one second: mean %.0f, least %d, median %d, 90 %% of seconds up to %d, most %d\n",
                (reads + writes + discards) / seconds, rate[1], rate[int((seconds + 1) / 2)], rate[int(0.9 * seconds + 0.5)], rate[seconds]
        }'
}

LOOK=
[[ ${1:-} != --look ]] || { LOOK=yes; shift; }
NAME=${1:-}
case $NAME in
database | backup) KIND=xfs ;;
compiler | logs) KIND=ext4 ;;
packages) KIND=btrfs ;;
*) die "give one of database, compiler, packages, logs, backup" ;;
esac
shift
if [[ -z $LOOK ]]; then
    OUT=${1:-}
    [[ -n $OUT ]] || die "give a directory for the recording behind $NAME"
    [[ ! -e $OUT ]] || die "$OUT exists; name another"
    [[ -x $IOSONAR ]] || die "$IOSONAR is not built; run cargo build --release, or set IOSONAR"
    shift
fi
SECONDS_OF_RUN=${1:-180}
[[ $SECONDS_OF_RUN =~ ^[1-9][0-9]*$ ]] || die "$SECONDS_OF_RUN is no number of seconds"
[[ $EUID == 0 ]] || die "this needs root: it makes a loop device"
PROGRAM=$(echo "$HERE/natural/$NAME".*)

lab_directory PLACE
LOG=$PLACE/log
lab_loop DEVICE 3072
lab_mount MOUNT "$DEVICE" "$KIND"
# Servers that do not run as root need access.
chmod 711 "${MOUNT%/*}"
echo "natural: preparing $NAME on $KIND on $DEVICE" >&2
workload prepare "$MOUNT"
# A new mount starts with an empty page cache, without evicting that of others.
umount "$MOUNT"
mount "$DEVICE" "$MOUNT"

echo "natural: running $NAME for $SECONDS_OF_RUN s" >&2
if [[ -n $LOOK ]]; then
    look >"$PLACE/looked" &
else
    "$IOSONAR" record "$DEVICE" --out "$OUT" --duration "${SECONDS_OF_RUN}s" &
fi
BESIDE=$!
workload run "$MOUNT" "$SECONDS_OF_RUN"
[[ -z $LOOK ]] || kill "$BESIDE"
STATUS=0
wait "$BESIDE" || STATUS=$?
BESIDE=
if [[ -n $LOOK ]]; then
    echo "$NAME, $KIND: $(summary <"$PLACE/looked")"
else
    exit "$STATUS"
fi
