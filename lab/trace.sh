#!/usr/bin/env bash
# Records the block layer's events of one device, as text.
#
#   lab/trace.sh DEVICE OUTPUT COMMAND [ARGUMENT]...     while the command runs
#   lab/trace.sh DEVICE OUTPUT                           until SIGINT or SIGTERM
#
# Needs root. Uses a private tracefs instance, so other users of tracing are not disturbed; everything is undone at the end. Times are those
# of CLOCK_MONOTONIC, in seconds. OUTPUT ends with one line for each CPU with the numbers of events read and lost.
#
# LAB_TRACE_KIB is the size of the buffer for each CPU (16384 KiB unless set).
#
# Ends with the status of the command; with 4 if that is 0 and events were lost; with 2 if nothing could be recorded.
set -uo pipefail
# shellcheck source=lab/instance.sh
source "$(dirname "${BASH_SOURCE[0]}")/instance.sh"

EVENTS=(block_bio_queue block_split block_bio_backmerge block_bio_frontmerge block_rq_insert block_rq_merge
    block_rq_issue block_rq_requeue block_rq_complete)
END_MARK='iosonar lab: end of the trace'
READER=

say() { printf 'trace: %s\n' "$*" >&2; }

die() {
    say "$*"
    exit 2
}

undo() {
    [[ -n $READER ]] && kill "$READER" 2>/dev/null
    instance_undo
}

# Enables the events. PRESENT are those that this kernel has.
arm() { # DEVICE NUMBER
    local event directory
    echo 0 >"$INSTANCE/tracing_on"
    echo mono >"$INSTANCE/trace_clock" || die "this kernel has no trace clock named mono"
    echo "${LAB_TRACE_KIB:-16384}" >"$INSTANCE/buffer_size_kb" || die "a buffer of ${LAB_TRACE_KIB:-16384} KiB for each CPU can't be had; set LAB_TRACE_KIB lower"
    PRESENT=()
    for event in "${EVENTS[@]}"; do
        directory=$INSTANCE/events/block/$event
        [[ -d $directory ]] || continue
        echo "dev == $1" >"$directory/filter" && echo 1 >"$directory/enable" && PRESENT+=("$event")
    done
    ((${#PRESENT[@]})) || die "this kernel has no block tracepoints (CONFIG_BLK_DEV_IO_TRACE or CONFIG_EVENT_TRACING)"
}

# Starts to read. The pipe never ends by itself, so a mark shows the filter its end.
start() { # OUTPUT
    local pipe
    exec 3>"$1" || die "$1 can't be written"
    echo "# iosonar trace: device $NAME $(<"/sys/class/block/$NAME/dev"), clock mono, events ${PRESENT[*]}" >&3
    # Ctrl-C ends the recording, but not before the rest has been read.
    exec {pipe}< <(trap '' INT && exec cat "$INSTANCE/trace_pipe")
    READER=$!
    (trap '' INT && LC_ALL=C exec sed "/$END_MARK/Q") <&"$pipe" >&3 &
    FILTER=$!
    exec {pipe}<&-
    echo 1 >"$INSTANCE/tracing_on"
}

# Disables the events and waits until everything recorded has been read. The mark is the youngest entry of all CPUs' buffers, and the pipe
# returns entries ordered by time.
stop() {
    echo 0 >"$INSTANCE/events/enable"
    echo "$END_MARK" >"$INSTANCE/trace_marker"
    wait "$FILTER"
    echo 0 >"$INSTANCE/tracing_on"
    kill "$READER" 2>/dev/null
    READER=
}

# One line for each CPU that recorded or lost something.
report() {
    local cpu lost total=0 line
    for cpu in "$INSTANCE"/per_cpu/cpu*; do
        line=$(awk -F': ' '
            $1 == "overrun" || $1 == "commit overrun" || $1 == "dropped events" { lost += $2 }
            $1 == "overrun" || $1 == "commit overrun" || $1 == "dropped events" || $1 == "read events" {
                gsub(" ", "_", $1); text = text " " $1 "=" $2
            }
            END { print lost + 0, text }' "$cpu/stats")
        lost=${line%% *}
        total=$((total + lost))
        echo "# ${cpu##*/}:${line#* }" >&3
        say "${cpu##*/}:${line#* }"
    done
    LOST=$total
}

(($# >= 2)) || die "usage: $0 DEVICE OUTPUT [COMMAND [ARGUMENT]...]"
DEVICE=$(readlink -f -- "$1")
OUTPUT=$2
shift 2
NAME=${DEVICE#/dev/}
NAME=${NAME//\//!}
[[ -e /sys/class/block/$NAME/dev ]] || die "$DEVICE is no block device; give one, as lsblk -p lists them"
[[ -e /sys/class/block/$NAME/partition ]] && die "$DEVICE is a partition, whose requests carry the number of the disk; give the disk"
[[ $EUID == 0 ]] || die "tracing needs root"

trap undo EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
instance_claim
arm "$(instance_device "$NAME")"
start "$OUTPUT"
STATUS=0
if (($#)); then
    "$@"
    STATUS=$?
else
    trap 'ENDED=yes' INT TERM
    ENDED=
    say "recording $DEVICE to $OUTPUT; end it with Ctrl-C"
    while [[ -z $ENDED ]]; do
        # Short, since a signal that arrives just before the wait does not end it.
        sleep 2 &
        wait $! || kill $! 2>/dev/null
    done
fi
stop
report
if ((LOST > 0)); then
    say "$LOST events were lost; set LAB_TRACE_KIB higher"
    ((STATUS == 0)) && STATUS=4
fi
exit "$STATUS"
