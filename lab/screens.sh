#!/usr/bin/env bash
# Makes the first screens of 17 kinds of results, for a reader who does not know the tool: what happened, and why? Needs root and fio.
#
#   lab/screens.sh DIRECTORY [IOSONAR]     a text for each kind: DIRECTORY/01-bursts.txt …; about a minute
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$(realpath -m "${1:?usage: lab/screens.sh DIRECTORY [IOSONAR]}")
iosonar=$(realpath "${2:-$here/target/debug/iosonar}")
[[ $(id -u) == 0 ]] || { echo "lab/screens.sh needs root: it makes loop devices" >&2; exit 2; }
mkdir "$out"
cd "$out"
# shellcheck source=lab/loopdev.sh
source "$here/lab/loopdev.sh"
export IOSONAR_LEDGER=off
SIM=(--engine sim --size 1GiB --no-progress -t dev)

# A command whose exit code says something about the result alone.
quietly() { "$@" > last.out 2>&1 || echo "   $* ended with code $?: $(tail -n 1 last.out)"; }
iosonar() { "$iosonar" "$@"; }
show() { # NAME RESULT
    iosonar show "$2" > "$1.txt"
    echo "   $1: $(head -n 1 "$1.txt")"
}
kept() { # NAME COMMAND...
    "${@:2}" > "$1.txt" 2> last.err || echo "   $1 ended with code $?: $(tail -n 1 last.err)"
    echo "   $1: $(head -n 1 "$1.txt")"
}

lab_loop DEVICE 1024
lab_loop SECOND 1024
lab_loop LARGE 3072

python3 - "$here/lab" <<'EOF'
import pathlib, sys
sys.path.insert(0, sys.argv[1])
from planted import bursts
pathlib.Path("bursts.load").write_text(bursts(12, 2000, 50000, 1000, False))
EOF
quietly iosonar replay bursts.load -t "$DEVICE" --destroy --depth 1 --no-progress -o bursts
show 01-bursts bursts

quietly iosonar replay "$here/examples/loads/database.load.gz" -t "$LARGE" --destroy --start 12 --duration 8 --no-progress -o database
show 02-database database

quietly iosonar run -t "$DEVICE" --rw randread --bs 4k --depth 1 --rate-iops 60000 --runtime 4s --no-progress -o overload
show 03-overload overload

quietly iosonar run "${SIM[@]}" --rw randread --bs 4k --depth 4 --rate-iops 5000 --rate-process poisson --sim-stall 700ms/6s \
    --runtime 20s -o stall
show 04-stall stall

quietly iosonar run -t "$DEVICE" --rw randread --bs 4k --depth 4 --rate-iops 2000 --runtime 7s --no-progress -o halted &
sleep 3
run=$(pgrep -n -f -- "-o halted")
kill -STOP "$run"
sleep 1
kill -CONT "$run"
wait
show 05-halted halted

quietly iosonar run "${SIM[@]}" --rw randread --bs 4k --depth 4 --number-ios 4000 --sim-errors 400 -o failing
show 06-failing failing

quietly iosonar run "${SIM[@]}" --rw randrw --bs 16k --number-ios 5000 --verify read,final --inject lost:every=200 -o verify
show 07-verify verify

quietly iosonar run -t "$DEVICE" --rw randread --bs 4k --number-ios 50 --no-progress -o tiny
show 08-tiny tiny

quietly iosonar run -t "$DEVICE" --rw randread --bs 4k --depth 4 --rate-iops 2000 --runtime 5s --no-progress -o quiet
fio --name=neighbour --filename="${DEVICE}" --readonly --rw=randread --bs=64k --iodepth=16 --ioengine=libaio --direct=1 --runtime=4 \
    --time_based --output=fio.out &
quietly iosonar run -t "$DEVICE" --rw randread --bs 4k --depth 4 --rate-iops 2000 --runtime 5s --no-progress -o busy
wait
kept 09-compare iosonar compare quiet busy

kept 10-knee iosonar knee -t "$DEVICE" --to 200000 --no-progress

fio --name=load --filename="$DEVICE" --allow_file_create=0 --rw=randrw --bs=8k --ioengine=libaio --iodepth=4 --direct=1 --rate_iops=400 \
    --runtime=4 --time_based --output=fio.out &
sleep 0.5
quietly iosonar record "$DEVICE" --out recorded --duration 3s
wait
show 11-recording recorded

kept 12-load iosonar analyze "$here/examples/loads/database.load.gz"

quietly iosonar matrix matrix.tmp --sizes 64k..1m --records 4k..64k --tests write,read --out matrix
kept 13-matrix iosonar show matrix

lab_loop DISK 512
lab_mount MOUNTED "$DISK" ext4
kept 14-layout iosonar layout run "$MOUNTED" --size 32m --methods direct+4k+turns=2,buffered+1m --no-progress

truncate -s 64M holes.img
quietly iosonar run -t holes.img --rw randread --bs 4k --depth 8 --number-ios 100000 --no-progress -o fake
show 15-fake fake

head -c 64M /dev/urandom > cached.img
cat > targets.toml <<EOF
version = 2
run_id = 1
seed = 1
depth = 4
EOF
for target in "$DEVICE" "$SECOND" "$out/cached.img"; do
    cat >> targets.toml <<EOF
[[target]]
path = "$target"
workload = { kind = "generated", order = "random", block_size = "4KiB", read_percent = 100, stop = { requests = 20000 } }
EOF
done
sed -i 's/^path = ".*cached.img"$/&\noptions = { access = { buffered = true } }/' targets.toml
quietly iosonar run targets.toml --no-progress -o targets
show 16-targets targets

cat > phases.toml <<EOF
version = 2
run_id = 1
seed = 1
[[target]]
path = "$DEVICE"
EOF
phase() { # NAME ORDER KIB READ_PERCENT REQUESTS
    cat >> phases.toml <<EOF
[[phase]]
name = "$1"
[[phase.job]]
target = 0
depth = 4
[phase.job.workload]
kind = "generated"
order = "$2"
block_size = "$3KiB"
read_percent = $4
stop = { requests = $5 }
EOF
}
phase fill sequential 1024 0 500
phase "random read" random 4 100 20000
phase mixed random 4 70 20000
phase scan sequential 1024 100 500
quietly iosonar run phases.toml --destroy --no-progress -o phases
show 17-phases phases
rm -f last.out last.err fio.out holes.img cached.img
