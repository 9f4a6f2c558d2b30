#!/usr/bin/env bash
# Passes a block device, a mounted image, an input and a target to the output option of every command. Nothing may change, the command must
# end with 2 and name the option. Needs root. Usage: lab/outputs.sh BINARY
set -uo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BINARY=$(realpath "$1")
source "$HERE/loopdev.sh"
WORK=$(mktemp -d "${TMPDIR:-/tmp}/lab-outputs.XXXXXX")
FAILED=0
PASSED=0

lab_loop FREE 4
lab_loop BELOW 16
# Read-only: a file system that is written changes its image by itself.
lab_mount MOUNTED "$BELOW" ext4 -o ro
trap 'cd /; rm -rf "$WORK"; lab_undo' EXIT
IMAGE=$(losetup -n -O BACK-FILE "$BELOW")

cd "$WORK" || exit 1
ln -s "$BINARY" xdd
ln -s "$BINARY" blkreplay
head -c 1M /dev/urandom > target.img
iosonar() { "$BINARY" "$@" < /dev/null; }
{
    iosonar load generate bursts input.load --rate 50 --duration 2s --size 1MiB
    iosonar replay input.load -t target.img --buffered --no-progress -o run
    iosonar convert run --to replay -o result.replay
    printf '0 0 8 w 0 0\n1 8 8 w 0 0\n' > list.seek
    printf -- '-reqsize 8 -numreqs 4\n' > setup
} > /dev/null 2> made || { cat made; exit 1; }
rm -f made

content() { sync; { find . -type f -print0 | sort -z | xargs -0 sha256sum; find . | sort; sha256sum "$FREE" "$IMAGE"; } | sha256sum; }

# refuses OPTION COMMAND...
refuses() {
    local option=$1 before after code
    shift
    before=$(content)
    "$@" < input.load > out.txt 2> err.txt
    code=$?
    local told
    told=$(cat err.txt)
    rm -f out.txt err.txt
    after=$(content)
    if [[ $code == 2 && $told == *"$option"* && $before == "$after" ]]; then
        PASSED=$((PASSED + 1))
        return
    fi
    FAILED=$((FAILED + 1))
    printf 'FAILED  %s: exit %s, %s\n        %s\n' "$*" "$code" \
        "$([[ $before == "$after" ]] && echo 'nothing changed' || echo 'SOMETHING CHANGED')" "$told"
}

SIM=(--engine sim --size 1GiB --no-progress)
for victim in "$FREE" "$IMAGE" input.load target.img result.replay run/records.parquet; do
    refuses FILE "$BINARY" generate bursts "$victim"
    refuses --out "$BINARY" filter scale:2 input.load -o "$victim"
    refuses --out "$BINARY" derive adjacent input.load -o "$victim"
    refuses --out "$BINARY" derive ramp input.load -o "$victim"
    refuses --out "$BINARY" derive overload input.load --keep-rest -o "$victim"
    for form in load fio fio2 seek-list archive parquet; do
        refuses OUT "$BINARY" convert --to $form input.load "$victim"
    done
    for form in csv json replay; do refuses --out "$BINARY" convert run --to $form -o "$victim"; done
    refuses --out "$BINARY" convert result.replay -o "$victim"
    refuses --out "$BINARY" plot run -o "$victim"
    refuses --out "$BINARY" report run -o "$victim"
    refuses --out "$BINARY" report result.replay -o "$victim"
    refuses --out "$BINARY" replay input.load -t target.img --buffered --no-progress -o "$victim"
    refuses --out "$BINARY" run -t sim --rw randread "${SIM[@]}" --runtime 1s -o "$victim"
    refuses --out "$BINARY" knee -t sim "${SIM[@]}" --from 1 --to 100 --duration 1s -o "$victim"
    refuses --out "$BINARY" record "$FREE" --duration 1s -o "$victim"
    refuses --out ./blkreplay --out="$victim" target.img
    refuses -out ./xdd -op read -targets 1 target.img -reqsize 8 -numreqs 4 -out "$victim"
done

# XDD's outputs must not be these; ordinary files are replaced. The setup file and the seek list are inputs.
read -ra XDD <<< './xdd -op write -targets 1 target.img -setup setup -seek load list.seek'
for victim in "$FREE" "$IMAGE" target.img setup list.seek; do
    for option in -output -csvout -errout -combined; do
        refuses "$option" "${XDD[@]}" "$option" "$victim"
    done
    for words in '-ts output|.target.0000.qthread.0000.csv' '-ts dump|.target.0000.qthread.0000.bin' '-seek save|.T0Q0.txt'; do
        option=${words%|*}
        ln -s "$(realpath "$victim")" "prefix${words#*|}"
        read -ra typed <<< "$option"
        refuses "$option" "${XDD[@]}" -ts summary "${typed[@]}" prefix
        rm "prefix${words#*|}"
    done
done
# IOzone's outputs and those of matrices replace nothing.
printf '0 4096\n4096 4096\n' > telemetry
for victim in "$FREE" "$IMAGE" target.img telemetry input.load; do
    for option in --json --csv -b; do
        refuses "$option" "$BINARY" iozone -X telemetry -Y telemetry -f new "$option" "$victim"
    done
    refuses --out "$BINARY" matrix new --sizes 64k --records 64k --tests write -o "$victim"
    refuses --out "$BINARY" layout run . --size 1m -o "$victim"
    refuses --out "$BINARY" fill target.img -o "$victim"
done
refuses --out "$BINARY" report run --places telemetry --force -o telemetry
rm telemetry
# --force replaces pages and pictures, and nothing else.
for victim in "$FREE" "$IMAGE" result.replay; do
    refuses --out "$BINARY" report result.replay --force -o "$victim"
    mkdir pictures
    ln -s "$(realpath "$victim")" pictures/g01.latency.realtime.png
    refuses --out "$BINARY" plot result.replay --force --only sonar -o pictures
    rm -r pictures
    ln -s "$(realpath "$victim")" page.trace
    refuses --out "$BINARY" report result.replay --force --side-car -o page.html
    rm page.trace
done

printf '%d refusals as they should be, %d not\n' "$PASSED" "$FAILED"
((FAILED == 0 && PASSED > 0))
