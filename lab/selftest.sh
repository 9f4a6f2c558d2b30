#!/usr/bin/env bash
# Tests the scripts of this directory on real devices, as root: they create the promised devices, and everything is undone however the shell
# ends. Prints one line for each check; ends with 1 if one failed.
set -uo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LAB_DIR
LAB_DIR=$(mktemp -d "${TMPDIR:-/tmp}/lab-selftest.XXXXXX")
FAILED=0

check() { # DESCRIPTION COMMAND...
    local description=$1
    shift
    if "$@"; then
        printf 'ok      %s\n' "$description"
    else
        printf 'FAILED  %s\n' "$description"
        FAILED=1
    fi
}

# Checks that nothing of ours remains: no file, no attached device, no mount.
clean() {
    [[ -z $(ls -A "$LAB_DIR") ]] && ! losetup -n -O BACK-FILE -l | grep -qF "$LAB_DIR" && ! grep -qF "$LAB_DIR" /proc/self/mountinfo
}

no_instances() { [[ -z $(ls -d /sys/kernel/tracing/instances/iosonar-lab-* 2>/dev/null) ]]; }

equal() { [[ $1 == "$2" ]] || { printf '        %s is not %s\n' "$1" "$2"; return 1; }; }

# Runs a script in a new shell.
lab() { bash -c "source '$HERE/loopdev.sh'; $1"; }

lines() { grep -c -- "$1" "$2"; }

if [[ $EUID != 0 ]]; then
    echo "SKIPPED: loop devices and tracing need root"
    rmdir "$LAB_DIR"
    exit 0
fi

# --- loopdev.sh -------------------------------------------------------------------------------------------------
check 'size, block size and direct I/O of a plain device' equal \
    "$(lab 'lab_loop D 8; blockdev --getsize64 --getss $D; cat /sys/block/${D##*/}/loop/dio' | xargs)" '8388608 512 1'
check 'logical blocks of 4096 bytes' equal "$(lab 'lab_loop D 8 -b 4096; blockdev --getss $D')" 4096
check 'a read-only device' equal "$(lab 'lab_loop D 1 -r; blockdev --getro $D')" 1
check 'no block is a hole, and none is compressible' test "$(lab 'lab_loop D 8; gzip -1 <$D | wc -c')" -gt 8388608
check 'two devices are two' equal "$(lab 'lab_loop A 1; lab_loop B 1; [[ $A != $B ]] && echo two')" two
check 'names of variables do not collide' test -n "$(lab 'lab_loop device 1; echo $device')"
for kind in ext4 xfs; do
    check "$kind is mounted, and its device keeps its data" test "$(
        lab "lab_loop D 320; lab_mount M \$D $kind || exit; mountpoint -q \$M && sync && gzip -1 <\$D | wc -c"
    )" -gt $((250 << 20))
done
check 'an unknown file system is refused' equal "$(lab 'lab_mount M /dev/null zfs 2>/dev/null; echo $?')" 2
check 'a failing script leaves nothing' equal "$(lab 'set -e; lab_loop D 1; false; echo on')" ''
check 'nothing is left after all that' clean

# Signals: the shell waits in a builtin, so its trap comes at once.
endless='lab_loop D 1; lab_loop E 16; lab_mount M $E ext4; echo ready; while :; do read -rt 1 <> <(:); done'
for signal in TERM HUP KILL; do
    exec {pipe}< <(exec bash -c "source '$HERE/loopdev.sh'; $endless")
    process=$!
    read -r _ <&"$pipe"
    check "something is there before SIG$signal" eval '! clean'
    kill -s "$signal" "$process"
    while [[ -e /proc/$process ]]; do sleep 0.05; done
    exec {pipe}<&-
    if [[ $signal == KILL ]]; then
        check 'SIGKILL leaves it there' eval '! clean'
        check 'lab_sweep undoes it' lab lab_sweep
    fi
    check "nothing is left after SIG$signal" clean
done

# --- trace.sh ---------------------------------------------------------------------------------------------------
source "$HERE/loopdev.sh"
trap 'lab_undo; rmdir "$LAB_DIR"' EXIT
lab_directory OUT
lab_loop DEVICE 32

trace() { "$HERE/trace.sh" "$DEVICE" "$@"; }

trace "$OUT/reads" dd if="$DEVICE" of=/dev/null bs=4k count=100 iflag=direct status=none 2>"$OUT/reads.log"
check 'tracing ends well' equal $? 0
for event in block_bio_queue block_rq_issue block_rq_complete; do
    check "100 reads give 100 times $event" equal "$(lines "$event: .* R" "$OUT/reads")" 100
done
check 'one line for each CPU, nothing lost' equal \
    "$(grep -c '^# cpu.*: overrun=0 commit_overrun=0 dropped_events=0' "$OUT/reads")" "$(nproc --all)"

trace "$OUT/writes" dd if=/dev/urandom of="$DEVICE" bs=4k count=100 iflag=fullblock oflag=direct conv=notrunc status=none 2>/dev/null
check '100 writes give 100 completions' equal "$(lines 'block_rq_complete: .* W' "$OUT/writes")" 100

trace "$OUT/split" dd if="$DEVICE" of=/dev/null bs=4M count=1 iflag=direct status=none 2>/dev/null
check 'a large read is split' test "$(lines block_split: "$OUT/split")" -gt 0
check 'every sector of it is completed once' equal \
    "$(awk '/block_rq_complete:/ { for (i = 1; i < NF; i++) if ($i == "+") n += $(i + 1) } END { print n }' "$OUT/split")" 8192

before=$(awk '{ print int($1) }' /proc/uptime)
trace "$OUT/other" dd if="$OUT/reads" of=/dev/null status=none 2>/dev/null
check 'other devices are not recorded' equal "$(lines '^[^#]' "$OUT/other")" 0
check 'times are those of the monotonic clock' awk -v before="$before" \
    '/block_bio_queue:/ { sub(":", "", $4); if ($4 + 0 < before - 60 || $4 + 0 > before + 60) exit 1 }' "$OUT/reads"

# The reader is stopped meanwhile, so that a small buffer has to overflow.
stopped='reader=$(pgrep -P $PPID -x cat); kill -STOP $reader; "$@"; kill -CONT $reader'
LAB_TRACE_KIB=4 trace "$OUT/lost" bash -c "$stopped" bash \
    dd if="$DEVICE" of=/dev/null bs=512 count=20000 iflag=direct status=none 2>/dev/null
status=$?
lost=$(awk -F'[= ]' '/^# cpu/ { n += $4 + $6 + $8 } END { print n }' "$OUT/lost")
check "what is read and what is lost ($lost) make 60000 events" equal "$(($(lines ': block_' "$OUT/lost") + lost))" 60000
check 'events were lost' test "$lost" -gt 50000
check 'lost events change the exit status' equal "$status" 4

trace "$OUT/failed" false 2>/dev/null
check 'the status of the command is kept' equal $? 1
"$HERE/trace.sh" "$DEVICE" "$OUT/open" 2>"$OUT/open.log" &
process=$!
until grep -q recording "$OUT/open.log"; do sleep 0.05; done
dd if="$DEVICE" of=/dev/null bs=4k count=10 iflag=direct status=none
kill -s TERM "$process"
wait "$process"
check 'recording until a signal ends well' equal $? 0
check 'and has everything' equal "$(lines 'block_rq_complete: .* R' "$OUT/open")" 10
"$HERE/trace.sh" /dev/null "$OUT/null" true 2>/dev/null
check 'what is no block device is refused' equal $? 2
check 'no tracing instance is left' no_instances

# --- vm.sh ------------------------------------------------------------------------------------------------------
if lacking=$("$HERE/vm.sh" --missing); then
    cat >"$OUT/script" <<'SCRIPT'
echo "$# words: $1, $2"
cat /proc/sys/kernel/osrelease /file
cat /sys/block/vda/size /sys/block/vdb/size
stat --version | head -n 1
grep -c ^dm_crypt /proc/modules
echo error >&2
exit 7
SCRIPT
    printf 'content\n' >"$OUT/file"
    "$HERE/vm.sh" -p stat -f "$OUT/file:/file" -m dm-crypt -d 8 -d 16 "$OUT/script" one 'two  words' >"$OUT/vm"
    check 'the status of a script in the virtual machine is kept' equal $? 7
    check 'its words, files, disks, programs, modules and errors arrive' equal "$(sed 2d "$OUT/vm" | paste -sd '|')" \
        "2 words: one, two  words|content|16384|32768|$(stat --version | head -n 1)|1|error"
    "$HERE/vm.sh" -t 1 "$OUT/script" >"$OUT/vm" 2>&1
    check 'a machine that takes too long is ended' equal $? 124
    echo 'nproc; cat /sys/block/sda/size; echo left >/out/file' >"$OUT/script"
    "$HERE/vm.sh" -c 2 -o "$OUT/left" -m 'scsi_debug dev_size_mb=16' -m sd_mod "$OUT/script" >"$OUT/vm"
    check 'two processors, parameters of a module, and files come out' equal "$(cat "$OUT/vm" "$OUT/left/file" | xargs)" '2 32768 left'
    "$HERE/vm.sh" -m no-such-module "$OUT/script" >"$OUT/vm" 2>&1
    check 'a module that does not exist is told' equal "$?$(grep -c 'no module no-such-module' "$OUT/vm")" 1251
else
    echo "SKIPPED: lab/vm.sh: $lacking"
fi

# --- natural.sh -------------------------------------------------------------------------------------------------
lab_undo
check 'a natural workload makes requests' test "$("$HERE/natural.sh" --look logs 4 2>/dev/null | sed -n 's/.*: \([0-9]*\) requests.*/\1/p')" -gt 20
check 'nothing is left at the end' clean
exit "$FAILED"
