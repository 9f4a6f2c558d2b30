#!/usr/bin/env bash
# Damages a run on purpose, in 25 ways, and shows which caution appears. Each way makes a loop device, a file system or a
# zram device of its own, runs for at most 10 s, and undoes everything, also after Ctrl-C. Needs root.
#
#   lab/fakes.sh [OPTION]... [SCRATCH]   SCRATCH is a directory on a disk; default: $TMPDIR, else /var/tmp
#
#   --list           print the names of the ways, which are those of the cautions, and stop
#   --only NAME      only this way; more than once for several
#   --keep DIR       keep the results in this new directory, DIR/NAME, for 'iosonar explain', 'plot' and 'report'
#   --program FILE   this iosonar; default: the one in PATH, else target/release or target/debug of the repository
#
# The exit code is 1 if a caution did not appear. A way for which this machine lacks something is skipped, with the reason.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# --- the ways -----------------------------------------------------------------------------------------------------
# A way sets up what is wrong and calls 'bad_run' once. Where the machine lacks something it returns by 'lacks REASON'.

WAYS=(
    'memory-target:a file in tmpfs is read'
    'unmapped-target:a file that is one hole is read'
    'page-cache-in-path:a loop device without direct I/O is read'
    'reads-not-from-device:a file is read that is in the page cache'
    'writes-not-on-device:a file is written and not flushed'
    'faster-than-any-device:blocks of 4 KiB come from the page cache'
    'requests-not-done:half of the requests lie behind the end of a file'
    'cannot-keep-up:200 000 reads per second, with one in flight'
    'stalls-hidden:a closed loop while the file system is frozen for 1 s'
    'queue-depth-not-reached:depth 32 on a device with a queue of 4'
    'foreign-io:dd reads the same device'
    'own-limit:a control group limits the device to 4 MiB/s'
    'cpu-disturbed:4 programs compute on the CPU of the run'
    'settings-changed:nomerges of the device is set during the run'
    'noisy:the run is paused now and then'
    'not-steady:after 40 % of the time the run has its CPU half of the time'
    'trivial-data:zeros are written to zram'
    'wrong-size-device:a load of 256 MiB on a device of 32 MiB'
    'requests-reshaped:neighbours of 4 KiB are submitted together'
    'read-amplification:random pages are read through mmap'
    'cache-below:a loop device with the page cache below is read again'
    'zeroes-short-cut:every other MiB of a loop device is discarded'
    'fresh-or-warm-mapping:a file that is one hole is written'
    'fragmented:a file that lies in gaps of 64 KiB is read'
    'copied-up:a file of the lower layer of an overlay is written'
)

fake_memory_target() {
    local mount
    mounted_tmpfs mount || return
    dd if=/dev/urandom of="$mount/f" bs=1M count=32 status=none || return
    bad_run -t "$mount/f" --rw read --bs 128k --iodepth 4
}

fake_unmapped_target() {
    local mount
    file_system mount 64 || return
    truncate -s 64M "$mount/f" || return
    bad_run -t "$mount/f" --rw read --bs 128k --iodepth 4
}

fake_page_cache_in_path() {
    local device
    lab_loop device 32 || return
    losetup --direct-io=off "$device" || return
    bad_run -t "$device" --rw read --bs 128k --iodepth 4
}

fake_reads_not_from_device() {
    local file
    full_file file || return
    cat "$file" > /dev/null || return
    bad_run -t "$file" --rw read --bs 128k --buffered --claim device
}

fake_writes_not_on_device() {
    local file
    full_file file || return
    bad_run -t "$file" --rw write --bs 64k --buffered --claim device
}

fake_faster_than_any_device() {
    local file
    full_file file || return
    cat "$file" > /dev/null || return
    bad_run -t "$file" --rw randread --bs 4k --buffered --claim device
}

fake_requests_not_done() {
    local file
    full_file file || return
    bad_run -t "$file" --steps random --rw read --bs 64k --size 64m --number-ios 1000
}

fake_cannot_keep_up() {
    local device
    lab_loop device 32 || return
    bad_run -t "$device" --rw randread --bs 4k --rate-iops 200000 --runtime 2 --time-based
}

fake_stalls_hidden() {
    local file
    full_file file || return
    start_run -t "$file" --rw randwrite --bs 4k --runtime 4 --time-based || return
    sleep 2
    # A process that waits for a frozen file system cannot be killed: thaw it even if this shell ends meanwhile.
    setsid bash -c 'fsfreeze -f "$1" && sleep 1; fsfreeze -u "$1"' _ "${file%/*}" &
    wait $!
    end_run
}

fake_queue_depth_not_reached() {
    local device
    lab_loop device 32 || return
    set_queue "$device" nr_requests 4 || return
    bad_run -t "$device" --rw randread --bs 16k --iodepth 32 --runtime 3 --time-based
}

fake_foreign_io() {
    local device
    lab_loop device 64 || return
    in_background bash -c 'while dd if="$1" of=/dev/null bs=1M iflag=direct status=none; do :; done' _ "$device"
    bad_run -t "$device" --rw randread --bs 16k --size 16m --runtime 2 --time-based
}

fake_own_limit() {
    local device group
    control_group group || return
    lab_loop device 64 || return
    limit_reads "$group" "$device" $((4 << 20)) || return
    UNDER=(bash -c 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"' _ "$group")
    bad_run -t "$device" --rw read --bs 64k --size 12m
}

fake_cpu_disturbed() {
    local file _
    full_file file || return
    cat "$file" > /dev/null || return
    for _ in 1 2 3 4; do
        in_background taskset -c 0 bash -c 'while :; do :; done'
    done
    UNDER=(taskset -c 0)
    # A run that never waits for a device needs its CPU all the time.
    bad_run -t "$file" --rw randread --bs 4k --buffered --claim cache --runtime 3 --time-based
}

fake_settings_changed() {
    local device
    lab_loop device 32 || return
    start_run -t "$device" --rw randread --bs 16k --runtime 3 --time-based || return
    sleep 1.5
    set_queue "$device" nomerges 2 || return
    end_run
}

fake_noisy() {
    local device pause
    lab_loop device 32 || return
    start_run -t "$device" --rw randread --bs 16k --runtime 5 --time-based || return
    sleep 1
    for pause in .30 .10 .20 .05 .40 .15; do
        pause_run "$pause"
        sleep .3
    done
    end_run
}

fake_not_steady() {
    local device end
    lab_loop device 32 || return
    start_run -t "$device" --rw randread --bs 16k --runtime 6 --time-based || return
    sleep 2.5
    end=$((SECONDS + 10))
    while is_running && ((SECONDS < end)); do
        pause_run .015
        sleep .005
    done
    end_run
}

fake_trivial_data() {
    local device
    zram_device device 64 || return
    bad_run -t "$device" --destroy --rw write --bs 64k --size 32m --fill-random 0
}

fake_wrong_size_device() {
    local device
    lab_loop device 32 || return
    awk 'BEGIN {
        print "start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0"
        srand(1)
        for (i = 0; i < 1000; i++)
            printf "%.6f ; %d ; 8 ; R ; 0.0 ; 0.0\n", i / 500, int(rand() * 65536) * 8
    }' > "$RESULT.load" || return
    VERB=(replay "$RESULT.load")
    bad_run -t "$device"
}

fake_requests_reshaped() {
    local device
    lab_loop device 64 || return
    bad_run -t "$device" --rw read --bs 4k --iodepth 32
}

fake_read_amplification() {
    local file
    full_file file || return
    bad_run -t "$file" --engine mmap --buffered --rw randread --bs 4k --number-ios 500 --claim device
}

fake_cache_below() {
    local device
    lab_loop device 64 || return
    losetup --direct-io=off "$device" || return
    "$IOSONAR" cache evict "$(losetup -n -O BACK-FILE "$device")" > /dev/null || return
    # Repeated places are read from the cache.
    bad_run -t "$device" --rw randread --bs 4k --size 32m --norandommap --number-ios 30000 --probe on
}

fake_zeroes_short_cut() {
    local device mebibyte
    lab_loop device 64 || return
    for ((mebibyte = 0; mebibyte < 64; mebibyte += 2)); do
        blkdiscard -o "$((mebibyte << 20))" -l 1048576 "$device" || return
    done
    bad_run -t "$device" --rw randread --bs 4k --number-ios 2000 --probe on
}

fake_fresh_or_warm_mapping() {
    local mount
    file_system mount 96 || return
    truncate -s 32M "$mount/f" || return
    bad_run -t "$mount/f" --rw write --bs 64k
}

fake_fragmented() {
    local mount number
    file_system mount 64 || return
    # Files of 64 KiB fill it, and every other one is removed.
    for ((number = 0; number < 4096; number++)); do
        head -c 65536 /dev/urandom > "$mount/$number" 2> /dev/null || break
    done
    sync -f "$mount" && rm -f "$mount"/*[02468] && sync -f "$mount" || return
    dd if=/dev/urandom of="$mount/f" bs=1M count=16 conv=fsync status=none || return
    "$IOSONAR" cache evict "$mount/f" > /dev/null || return
    bad_run -t "$mount/f" --rw read --bs 1m
}

fake_copied_up() {
    local lower upper made
    file_system lower 64 || return
    file_system upper 64 || return
    dd if=/dev/urandom of="$lower/f" bs=1M count=16 conv=fsync status=none || return
    lab_directory made || return
    mkdir "$upper/data" "$upper/work" "$made/mount" || return
    mount -t overlay -o "lowerdir=$lower,upperdir=$upper/data,workdir=$upper/work" none "$made/mount" ||
        lacks 'overlay cannot be mounted' || return
    bad_run -t "$made/mount/f" --rw randwrite --bs 64k --number-ios 200
}

# --- setting up, undoing ------------------------------------------------------------------------------------------

# loopdev.sh undoes its devices and mounts; this undoes the rest.
BACKGROUND=()
MADE=()
CHANGED=()
WAS_WITHOUT_IO=
RUN=
REASON=
SAID=
VERDICT=

lacks() { # REASON
    REASON=$1
    return 3
}

in_background() { # COMMAND...
    # A separate session, so that its children end with it.
    setsid "$@" 2> /dev/null &
    BACKGROUND+=($!)
}

undo() {
    local process path setting tries
    if [[ -n $RUN ]]; then
        kill -CONT "$RUN" 2> /dev/null
        kill -TERM "$RUN" 2> /dev/null
        wait "$RUN" 2> /dev/null
        RUN=
    fi
    for process in "${BACKGROUND[@]}"; do
        kill -KILL -- "-$process" 2> /dev/null
        wait "$process" 2> /dev/null
    done
    BACKGROUND=()
    for setting in "${CHANGED[@]}"; do
        echo "${setting#*=}" > "${setting%%=*}"
    done
    CHANGED=()
    for path in "${MADE[@]}"; do
        for ((tries = 0; tries < 50; tries++)); do
            undo_made "$path" 2> /dev/null && break
            sleep 0.1
        done
        ((tries < 50)) || lab_say "$path could not be removed"
    done
    MADE=()
    if [[ -n $WAS_WITHOUT_IO ]]; then
        echo -io > "$WAS_WITHOUT_IO/cgroup.subtree_control"
        WAS_WITHOUT_IO=
    fi
    lab_undo
}

# A zram device is removed by its number, a control group by rmdir.
undo_made() { # PATH
    case $1 in
    /dev/zram*) echo "${1#/dev/zram}" > /sys/class/zram-control/hot_remove ;;
    *) rmdir "$1" ;;
    esac
}

# Settings of a loop device outlive the file that it is attached to, so they are set back.
set_queue() { # DEVICE NAME VALUE
    local _file=/sys/block/${1##*/}/queue/$2
    CHANGED+=("$_file=$(< "$_file")")
    echo "$3" > "$_file"
}

mounted_tmpfs() { # VARIABLE
    local _made
    lab_directory _made || return
    mkdir "$_made/mount" && mount -t tmpfs -o size=64m none "$_made/mount" || return
    printf -v "$1" %s "$_made/mount"
}

# A new ext4, which has no files of others.
file_system() { # VARIABLE MEBIBYTES
    local _device
    lab_loop _device "$2" || return
    lab_mount "$1" "$_device" ext4
}

# 32 MiB of random data that are on the disk and not in the page cache.
full_file() { # VARIABLE
    local _mount
    file_system _mount 96 || return
    dd if=/dev/urandom of="$_mount/f" bs=1M count=32 conv=fsync status=none || return
    "$IOSONAR" cache evict "$_mount/f" > /dev/null || return
    printf -v "$1" %s "$_mount/f"
}

zram_device() { # VARIABLE MEBIBYTES
    local _number
    [[ -e /sys/class/zram-control ]] || modprobe zram num_devices=0 2> /dev/null
    [[ -e /sys/class/zram-control ]] || { lacks 'the kernel has no zram'; return; }
    # Signals wait until the device is known.
    trap '' INT TERM HUP
    _number=$(< /sys/class/zram-control/hot_add) && MADE+=("/dev/zram$_number")
    catch_signals
    [[ -n $_number ]] || { lacks 'no zram device could be added'; return; }
    echo "${2}M" > "/sys/block/zram$_number/disksize" || return
    printf -v "$1" %s "/dev/zram$_number"
}

# Of version 1 of the interface where it has the controller, else of version 2.
control_group() { # VARIABLE
    local _parent=/sys/fs/cgroup/blkio
    if [[ ! -d $_parent ]]; then
        _parent=/sys/fs/cgroup
        grep -qsw io "$_parent/cgroup.controllers" || { lacks 'there is no blkio or io controller of control groups'; return; }
        grep -qw io "$_parent/cgroup.subtree_control" || WAS_WITHOUT_IO=$_parent
        echo +io > "$_parent/cgroup.subtree_control" || { lacks 'the io controller cannot be used'; return; }
    fi
    local _group=$_parent/iosonar-fakes.$$
    mkdir "$_group" || { lacks "$_parent takes no control group"; return; }
    MADE+=("$_group")
    printf -v "$1" %s "$_group"
}

limit_reads() { # GROUP DEVICE BYTES_PER_SECOND
    local number
    number=$(< "/sys/block/${2##*/}/dev")
    if [[ -e $1/io.max ]]; then
        echo "$number rbps=$3" > "$1/io.max"
    else
        echo "$number $3" > "$1/blkio.throttle.read_bps_device"
    fi
}

# --- running, judging ---------------------------------------------------------------------------------------------

# The verb and its first words, and what the program is started under.
VERB=(run)
UNDER=()

start_run() { # OPTION...
    "${UNDER[@]}" "$IOSONAR" "${VERB[@]}" "$@" --no-progress -o "$RESULT" > "$RESULT.txt" 2>&1 &
    RUN=$!
}

end_run() {
    wait "$RUN"
    RUN=
    # The code may also be that of a verdict, or of requests that failed.
    [[ -e $RESULT/summary.json ]] && return
    sed 's/^/    /' "$RESULT.txt" >&2
    return 1
}

bad_run() { # OPTION...
    start_run "$@" && end_run
}

is_running() { kill -0 "$RUN" 2> /dev/null; }

pause_run() { # SECONDS
    kill -STOP "$RUN" 2> /dev/null
    sleep "$1"
    kill -CONT "$RUN" 2> /dev/null
}

# Level of a caution in the judgement, "fail" or "caution", and by which it is explained; empty if it did not appear.
said_of() { # NAME < JUDGEMENT
    awk -v name="$1:" '
        /^[^ ]/ || /^$/ { is_it = ($1 == "fail" || $1 == "caution") && $2 == name; if (is_it) level = $1 }
        is_it { text = text " " $0 }
        END {
            if (match(text, /\(explained +by +[a-z-]+\)/)) {
                text = substr(text, RSTART + 1, RLENGTH - 2)
                gsub(/ +/, " ", text)
                level = level ", " text
            }
            print level
        }'
}

# The verdict, which is wrapped, as one line.
verdict_of() { # < JUDGEMENT
    awk '/^verdict: / { is_it = 1; sub(/^verdict: /, "") } is_it { sub(/^ +/, ""); printf "%s%s", gap, $0; gap = " " }'
}

row() { # CAUTION WAY SHOWN VERDICT
    printf '%-24s %-61s %-8s %s\n' "$@"
}

# Runs a way once, and sets SAID and VERDICT from its judgement.
try_once() { # NAME
    local status=0 judgement
    VERB=(run) UNDER=() REASON=
    RESULT=$RESULTS/$1
    rm -rf --one-file-system "$RESULT" "$RESULT".*
    "fake_${1//-/_}" || status=$?
    judgement=$("$IOSONAR" judge "$RESULT" 2>&1)
    undo
    SAID=$(said_of "$1" <<< "$judgement")
    VERDICT=$(verdict_of <<< "$judgement")
    ((status == 0)) && return
    SAID=
    return "$status"
}

# The counters of a disk include other programs. Their concurrent writes can hide missing ones of this run, so a caution that does not
# appear gets two more tries; the table says so.
try() { # NAME WAY
    local number shown=yes
    for number in 1 2 3; do
        try_once "$1"
        if (($? == 3)); then
            row "$1" "$2" skipped "$REASON"
            SKIPPED=$((SKIPPED + 1))
            return
        fi
        [[ -z $SAID ]] || break
    done
    if [[ -z $SAID ]]; then
        row "$1" "$2" no "$VERDICT"
        return
    fi
    SHOWN=$((SHOWN + 1))
    ((number == 1)) || shown="yes ($number)"
    [[ $SAID != *explained* ]] || VERDICT+=" ($SAID)"
    row "$1" "$2" "$shown" "$VERDICT"
}

# --- the command line ---------------------------------------------------------------------------------------------

refuse() {
    echo "lab/fakes.sh: $*" >&2
    exit 2
}

find_program() {
    local program
    for program in "$(command -v iosonar)" "$here/target/release/iosonar" "$here/target/debug/iosonar"; do
        if [[ -x $program ]]; then
            realpath "$program"
            return
        fi
    done
    return 1
}

ONLY=()
IOSONAR=
KEEP=
SCRATCH=
while (($#)); do
    case $1 in
    --list)
        printf '%s\n' "${WAYS[@]%%:*}"
        exit
        ;;
    --only | --keep | --program)
        (($# > 1)) || refuse "$1 needs a value"
        case $1 in
        --only) ONLY+=("$2") ;;
        --keep) KEEP=$2 ;;
        --program) IOSONAR=$2 ;;
        esac
        shift
        ;;
    -h | --help)
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
        exit
        ;;
    -*) refuse "there is no option $1: see --help" ;;
    *)
        [[ -z $SCRATCH ]] || refuse "one scratch directory, and not $SCRATCH and $1"
        SCRATCH=$1
        ;;
    esac
    shift
done
for name in "${ONLY[@]}"; do
    [[ " ${WAYS[*]%%:*} " == *" $name "* ]] || refuse "--only $name: there is no such way; see --list"
done
[[ $EUID == 0 ]] || refuse 'loop devices and control groups need root'
[[ -n $IOSONAR ]] || IOSONAR=$(find_program) || refuse 'no iosonar in PATH, target/release or target/debug: name one with --program'
[[ -x $IOSONAR ]] || refuse "--program $IOSONAR is not a program"
IOSONAR=$(realpath "$IOSONAR")
SCRATCH=${SCRATCH:-${TMPDIR:-/var/tmp}}
[[ -d $SCRATCH ]] || refuse "$SCRATCH is not a directory"
[[ $(stat -f -c %T "$SCRATCH") != @(tmpfs|ramfs) ]] || refuse "$SCRATCH is in memory: name a directory on a disk"
[[ -z $KEEP || ! -e $KEEP ]] || refuse "--keep $KEEP exists: name a new directory"

export LAB_DIR
LAB_DIR=$(mktemp -d "$(realpath "$SCRATCH")/iosonar-fakes.XXXXXX") || exit
# Keep these runs out of the user's ledger.
export IOSONAR_LEDGER=$LAB_DIR/targets.jsonl
# shellcheck source=lab/loopdev.sh
source "$here/lab/loopdev.sh"
catch_signals() {
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}
catch_signals
trap 'undo; rm -rf --one-file-system "$LAB_DIR"' EXIT
RESULTS=$LAB_DIR
if [[ -n $KEEP ]]; then
    mkdir -p "$KEEP" || exit
    RESULTS=$(realpath "$KEEP")
fi

SHOWN=0
SKIPPED=0
TRIED=0
row caution 'the run' shown verdict
for way in "${WAYS[@]}"; do
    name=${way%%:*}
    if ((${#ONLY[@]} == 0)) || [[ " ${ONLY[*]} " == *" $name "* ]]; then
        TRIED=$((TRIED + 1))
        try "$name" "${way#*:}"
    fi
done
left=
((SKIPPED == 0)) || left=", $SKIPPED skipped"
echo
echo "$SHOWN of $TRIED shown$left"
((SHOWN + SKIPPED == TRIED))
