#!/usr/bin/env bash
# Runs every command, front end and option that writes, removes, mounts, attaches or resumes beside files, links, directories, mounts and
# loop devices of others: to its end, refused, and killed. Nothing of others may change.
# Needs root. Usage: lab/foreign.sh BINARY
set -uo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BINARY=$(realpath "$1")
source "$HERE/loopdev.sh"
WORK=$(mktemp -d "${TMPDIR:-/tmp}/lab-foreign.XXXXXX")
FAILED=0
PASSED=0

lab_loop THEIRS 4
lab_loop BELOW 16
# Read-only: a file system that is written changes its image by itself.
lab_mount MOUNTED "$BELOW" ext4 -o ro
lab_loop OWN_DEVICE 16
lab_mount OWN_MOUNT "$OWN_DEVICE" ext4
sweep() { # What killed commands of this laboratory have left: mounts and loop devices below its directory.
    local point device
    while read -r point; do umount "$point"; done < <(awk -v at="$WORK/" 'index($5, at) == 1 {print $5}' /proc/self/mountinfo | tac)
    while read -r device; do losetup -d "$device"; done < <(losetup -n -O NAME,BACK-FILE | awk -v at="$WORK/" 'index($2, at) == 1 {print $1}')
}
trap 'cd /; sweep; rm -rf --one-file-system -- "$WORK"; lab_undo' EXIT

export IOSONAR_LEDGER="$WORK/ledger.jsonl" IOSONAR_WRITE_BACK=off TMPDIR="$WORK/tmp"
mkdir "$TMPDIR" "$WORK/here"
cd "$WORK/here" || exit 1
ln -s "$BINARY" "$WORK/xdd"
ln -s "$BINARY" "$WORK/blkreplay"
iosonar() { "$BINARY" "$@" < /dev/null; }

# Files of others: their names resemble those of the program, in both directories in which it creates files.
THEIR_NAMES=(.iosonar-scratch-notes .iosonar-scratch-1-0 .iosonar-age-7 .iosonar-age-1-0 .iosonar-doctor-1 .iosonar-doctor-1-0
    .iosonar-convert-1-0 .iosonar-derive-99999999-0 .iosonar-iozone-1-0 .iosonar-xdd-1-0 .iosonar-fill-1-0
    .iosonar-calibrate-1-0 .iosonar-blkreplay-1-0 .tmpAbCdEf out.partial .out.partial)
theirs_in() { # DIRECTORY
    local name
    for name in "${THEIR_NAMES[@]}"; do
        mkdir -m 700 "$1/$name"
        printf 'thesis\n' > "$1/$name/image"
        printf 'iosonar\n7:3 1 1\n' > "$1/$name/lock"
    done
    printf 'thesis\n' > "$1/precious"
    : > "$1/empty"
    printf 'thesis\n' > "$1/.iosonar-1-0.partial"
    ln "$1/precious" "$1/second-name"
    ln -s precious "$1/link"
    ln -s nowhere "$1/dangling"
    truncate -s 64K "$1/t.00000001" "$1/t.00000002"
    printf '{"n":%d}\n' {1..1500} > "$1/data.jsonl"
}
theirs_in "$TMPDIR"
theirs_in .
for number in 1 2; do printf '%s' "$number" > "own.0000000$number"; done
# An image of theirs that is attached, in a directory that resembles one of a scratch file system.
truncate -s 1M .iosonar-scratch-1-0/attached
ATTACHED=$(losetup -f --show .iosonar-scratch-1-0/attached)
mkdir .iosonar-scratch-1-0/point
mount -t tmpfs theirs .iosonar-scratch-1-0/point
printf 'thesis\n' > .iosonar-scratch-1-0/point/file

listing() { # Everything of theirs, by content and inode. Only what it is made of is looked at: `own` is this laboratory's.
    find "$WORK/here" "$TMPDIR" -path "$WORK/here/own" -prune -o -path "$TMPDIR/.iosonar-*-[0-9][0-9]*-0" -prune -o \
        ! -path "$WORK/here" ! -path "$TMPDIR" -printf '%i %y %m %n %s %p %l\n' | sort -k6
    find "$WORK/here" -path "$WORK/here/own" -prune -o -type f -print0 | sort -z | xargs -0 sha256sum
    find "$MOUNTED" -ls
    sha256sum "$THEIRS" "$BELOW"
    losetup -n -O NAME,BACK-FILE,BACK-INO "$THEIRS" "$BELOW" "$ATTACHED" 2>&1
    awk -v a="$MOUNTED" -v b="$WORK/here/.iosonar-scratch-1-0/point" '$5 == a || $5 == b' /proc/self/mountinfo
}

# same NAME: checks that nothing has changed, and prints the differences.
BEFORE=$(listing)
same() {
    local after
    after=$(listing)
    if [[ $BEFORE == "$after" ]]; then
        PASSED=$((PASSED + 1))
        return
    fi
    FAILED=$((FAILED + 1))
    printf 'CHANGED  %s\n%s\n' "$*" "$(diff <(printf '%s\n' "$BEFORE") <(printf '%s\n' "$after") | head -20)"
    BEFORE=$after
}

own() { rm -rf --one-file-system own && mkdir own; }

# ends CODE COMMAND...: it ends with one of these codes (0|4), and nothing of others changes.
ends() {
    local codes=$1 code
    shift
    "$@" < "${INPUT:-/dev/null}" > "$WORK/out.txt" 2> "$WORK/err.txt"
    code=$?
    if [[ ! $code =~ ^($codes)$ ]]; then
        FAILED=$((FAILED + 1))
        printf 'CODE %s  %s\n%s\n' "$code" "$*" "$(tail -3 "$WORK/err.txt")"
    fi
    ((!LOOK)) || same "$@"
}
# Whether everything is checked after each command.
LOOK=1

# killed COMMAND...: killed at some moment, then the same to its end.
MOMENTS=(0.05 0.1 0.2 0.4 0.8)
KILLS=0
killed() {
    local process
    # A function would be killed, and the command would continue.
    [[ $1 != iosonar ]] || set -- "$BINARY" "${@:2}"
    own
    "$@" < "${INPUT:-/dev/null}" > /dev/null 2>&1 &
    process=$!
    sleep "${MOMENTS[KILLS++ % ${#MOMENTS[@]}]}"
    kill -9 "$process" 2> /dev/null
    wait "$process" 2> /dev/null
    same killed "$@"
    # Hidden files stay, for the next start to remove them.
    rm -rf --one-file-system own/[a-z]*
    ends "${CODES:-0|4}" "$@"
    if compgen -G 'own/.iosonar-*' > /dev/null; then
        FAILED=$((FAILED + 1))
        printf 'LEFT  %s: %s\n' "$*" "$(ls -d own/.iosonar-*)"
    fi
}

# --- made once, outside of `own`, and theirs from now on: loads, results, lists.
{
    iosonar load generate bursts "$WORK/input.load" --rate 50 --duration 2s --size 1MiB
    head -c 1M /dev/urandom > "$WORK/target"
    iosonar run -t "$WORK/target" --rw randrw --bs 4k --number-ios 50 --no-progress --verify final -o "$WORK/run"
    iosonar convert "$WORK/run" --to replay -o "$WORK/result.replay"
    iosonar matrix "$WORK/m.f" --sizes 64k --records 64k --tests write --repeat 1 --no-progress -o "$WORK/m1"
    iosonar matrix "$WORK/m.f" --sizes 64k --records 64k --tests write --repeat 1 --no-progress -o "$WORK/m2"
    printf '0 4096\n4096 4096\n' > "$WORK/telemetry"
    printf -- '-reqsize 8 -numreqs 4\n' > "$WORK/setup"
    printf '0 0 8 w 0 0\n1 8 8 w 0 0\n' > "$WORK/list.seek"
} > "$WORK/made" 2>&1 || { cat "$WORK/made"; exit 1; }
LOAD=$WORK/input.load
RUN=$WORK/run

# --- loads and results
own
ends 0 iosonar load generate bursts own/new.load --rate 50 --duration 1s --size 1MiB
ends 0 iosonar load filter scale:2 "$LOAD" -o own/filtered.load
ends 0 iosonar load derive adjacent "$LOAD" -o own/adjacent.load
ends 0 iosonar load derive ramp "$LOAD" -o own/ramp.load
killed iosonar load derive overload "$LOAD" --keep-rest -o own/split
for form in load fio seek-list; do ends 0 iosonar convert --to $form "$LOAD" "own/c.$form"; done
for form in archive parquet; do killed iosonar convert --to $form "$LOAD" "own/$form"; done
for form in csv json replay; do ends 0 iosonar convert "$RUN" --to $form -o "own/e.$form"; done
killed iosonar convert "$WORK/result.replay" -o own/imported
ends 0 iosonar plot "$RUN" --png --only sonar --data -o own/pictures
ends 0 iosonar plot "$RUN" --png --only sonar --data --force -o own/pictures
killed iosonar report "$RUN" --side-car -o own/page.html
ends 0 iosonar report "$RUN" --force --side-car -o own/page.html
ends 0 iosonar compare "$WORK/m1" "$WORK/m2" --html own/change.html
ends '0|4' iosonar judge "$RUN"
ends '0|1' iosonar live "$RUN" --once
ends '0|3' iosonar verify "$RUN"
LOOK=0
for out in precious link dangling second-name "$THEIRS" "$MOUNTED"; do
    ends 2 iosonar load generate bursts "$out" --size 1MiB
    ends 2 iosonar load filter scale:2 "$LOAD" -o "$out"
    ends 2 iosonar load derive adjacent "$LOAD" -o "$out"
    ends 2 iosonar convert --to archive "$LOAD" "$out"
    ends 2 iosonar convert --to parquet "$LOAD" "$out"
    ends 2 iosonar convert "$RUN" --to csv -o "$out"
    ends 2 iosonar report "$RUN" -o "$out"
    ends 2 iosonar compare "$WORK/m1" "$WORK/m2" --html "$out"
    ends 2 iosonar iozone -s 64k -i 0 -f own/t --json "$out"
    ends 2 iosonar iozone -s 64k -i 0 -f own/t --csv "$out"
    ends 2 iosonar iozone -s 64k -i 0 -f own/t -b "$out"
    ends 2 iosonar iozone -s 64k -i 0 -f "$out"
    ends 2 iosonar matrix "$out" --sizes 64k --records 64k --tests write --no-progress -o own/m
    ends 2 iosonar matrix own/t --sizes 64k --records 64k --tests write --no-progress -o "$out"
    same "outputs that are $out"
done
ends 2 iosonar load derive overload "$LOAD" --keep-rest -o precious
ends 2 iosonar convert "$WORK/result.replay" -o out.partial
ends 2 iosonar report "$RUN" --places "$WORK/telemetry" -o "$WORK/telemetry" --force
for device in "$THEIRS" "$BELOW"; do
    ends 2 iosonar run -t "$device" --rw write --bs 4k --number-ios 4 --no-progress -o own/r
    ends 2 iosonar fill "$device" --no-progress
    ends 2 iosonar replay "$LOAD" -t "$device" --no-progress -o own/r
    ends 2 "$WORK/xdd" -op write -targets 1 "$device" -numreqs 4
    same "targets that are $device"
done
LOOK=1
ends 2 iosonar layout run "$MOUNTED" --size 1m --no-progress -o own/l
ends 2 iosonar run -t "$BELOW" --rw write --bs 4k --number-ios 4 --no-progress --destroy -o own/r

# --- runs
killed iosonar run -t "$WORK/target" --rw randwrite --bs 4k --number-ios 100 --no-progress -o own/r
killed iosonar run -t "$WORK/target" --rw randwrite --bs 4k --number-ios 100 --verify final,read --no-progress -o own/r
killed iosonar fill own/t --size 4M --no-progress
killed iosonar replay "$LOAD" -t "$WORK/target" --buffered --no-progress -o own/r
killed iosonar knee -t "$WORK/target" --reads 100 --bs 4k --from 10 --to 100 --duration 1s --buffered --no-progress -o own/k
INPUT=$LOAD killed "$WORK/blkreplay" --no-o-direct --out=own/b "$WORK/target"
INPUT=$LOAD ends '0|4' "$WORK/blkreplay" --no-o-direct "$WORK/target"
killed iosonar calibrate --rounds 1 --duration 10ms --dir own
ends '0|1|3|4' iosonar doctor . --quiet 0s

# --- matrices and IOzone
MATRIX=("$BINARY" matrix own/t --sizes 64k..256k --records 64k --tests write,read --no-progress)
killed "${MATRIX[@]}" --repeat 20 -o own/m
ends '0|4' iosonar matrix --resume own/m --no-progress
own
"${MATRIX[@]}" --repeat 500 --destroy -o own/m > /dev/null 2>&1 &
until [[ -s own/m/part-1/records.log ]]; do sleep 0.02; done
kill -9 $!
wait $! 2> /dev/null
rm -f own/t
printf 'thesis\n' > own/t
ends 2 iosonar matrix --resume own/m --no-progress
[[ $(cat own/t) == thesis ]] || { FAILED=$((FAILED + 1)); echo 'CHANGED  own/t by matrix --resume'; }
killed iosonar iozone -s 256k -r 64k -i 0 -i 1 -f own/t --json own/j --csv own/c -b own/w.xlsx
killed iosonar iozone -s 256k -r 64k -i 0 -i 1 -w -f own/t -b own/w.xls
killed iosonar iozone -X "$WORK/telemetry" -Y "$WORK/telemetry" -f own/t --json own/j
killed iosonar iozone -t 2 -s 256k -r 64k -i 0 -i 1 -F own/a own/b
# Not killed: between the two calls it would stay unmounted.
ends '0|4' iosonar iozone -s 256k -r 64k -i 0 -i 1 -U "$OWN_MOUNT" -f "$OWN_MOUNT/t"

# --- XDD
XDD=("$WORK/xdd" -op write -targets 1 own/t -reqsize 8 -numreqs 40)
killed "${XDD[@]}" -output own/o -csvout own/c -errout own/e -combined own/k -ts summary -ts output own/s -ts dump own/d -seek save own/v
killed "${XDD[@]}" -passes 2 -createnewfiles
killed "${XDD[@]}" -passes 2 -recreatefiles
killed "${XDD[@]}" -deletefile
ends 0 "${XDD[@]}" -setup "$WORK/setup" -out own/r

# --- layouts and recordings
killed iosonar layout run own --size 1m --rounds 2 --methods buffered+64k --no-progress -o own/l
killed iosonar layout run own --size 1m --rounds 2 --methods buffered+64k --age holes=4,hole=64k,spacing=64k --no-progress -o own/l
killed iosonar layout run own --size 1m --rounds 2 --methods buffered+64k --scratch 32m --fs ext4 --no-progress -o own/l
ends 0 iosonar layout map "$WORK/target" --picture own/map.png
ends 2 iosonar layout map "$WORK/target" --picture link --force
own
ends '0|1|2' iosonar record "$OWN_DEVICE" --duration 0.2s --no-progress -o own/rec
"$BINARY" record "$OWN_DEVICE" --no-progress -o own/cut > /dev/null 2>&1 &
sleep 0.5
kill -9 $!
wait $! 2> /dev/null
ends '0|1|2' iosonar record --cleanup own/cut
ends 2 iosonar record --cleanup out.partial
ends 2 iosonar show out.partial

# --- the ledger
for file in data.jsonl precious link; do
    IOSONAR_LEDGER=$file ends '0|4' iosonar run -t "$WORK/target" --rw write --bs 4k --number-ios 4 --no-progress -o "own/of-$file"
done

umount .iosonar-scratch-1-0/point
losetup -d "$ATTACHED"
printf '%d times nothing of others changed, %d failures\n' "$PASSED" "$FAILED"
((FAILED == 0 && PASSED > 0))
