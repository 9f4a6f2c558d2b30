#!/usr/bin/env bash
# Makes the pictures of README and docs: replays on a loop device (fast, overloaded by a ramp, throttled by the kernel),
# a simulated stall, the static pictures of a load, two runs side by side, the shapes of docs/shapes.md, the planted results. Then compares
# every figure of the pictures, texts and pages with `show --json`. Needs root.
#
#   lab/gallery.sh [DIRECTORY]     results and all pictures go there (default: target/gallery);
#                                  those that the pages show are copied into docs/images
#   lab/gallery.sh --keep-docs …   leaves docs/images as it is
#   lab/gallery.sh --no-check …    compares no figures
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
keep_docs=
check=1
while [[ ${1:-} == --* ]]; do
    case $1 in
    --keep-docs) keep_docs=1 ;;
    --no-check) check= ;;
    *) echo "unknown option '$1'; known: --keep-docs, --no-check" >&2; exit 2 ;;
    esac
    shift
done
out=$(realpath -m "${1:-$here/target/gallery}")
iosonar=${IOSONAR:-$here/target/release/iosonar}
[[ $(id -u) == 0 ]] || { echo "lab/gallery.sh needs root: it makes loop devices" >&2; exit 2; }
[[ -x $iosonar ]] || (cd "$here" && cargo build --release --locked --quiet -p iosonar-cli)
# Only what an earlier gallery made is replaced.
if [[ -e $out && ! -e $out/.iosonar-gallery ]]; then
    echo "$out exists and was not made by lab/gallery.sh: name another directory" >&2
    exit 2
fi
rm -rf "$out"
mkdir -p "$out"
touch "$out/.iosonar-gallery"
# shellcheck source=lab/loopdev.sh
source "$here/lab/loopdev.sh"

# Pictures contain the command: names in it are short, and independent of this machine.
cd "$out"
PATH=$(dirname "$(realpath "$iosonar")"):$PATH

say() { printf '== %s\n' "$*"; }

# A request rate that grows by RATE each second: t(k+1) = t(k) + 1 / (RATE * t(k)), from half a second on.
ramp() { # RATE SECONDS MEBIBYTES
    awk -v rate="$1" -v seconds="$2" -v pages="$(($3 * 256))" 'BEGIN {
        srand(1)
        print "start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0"
        for (t = 0.5; t < seconds; t += 1 / (rate * t))
            printf "%.9f ; %d ; 8 ; %s ; 0.0 ; 0.0\n", t, int(rand() * pages) * 8, rand() < 0.7 ? "R" : "W"
    }'
}

replay() { # NAME LOAD OPTION...
    local name=$1 load=$2
    shift 2
    iosonar replay "$load" "$@" --no-progress --out "$name" > "$name.txt" || echo "   ended with code $?"
    iosonar plot "$name" --png > /dev/null
    iosonar analyze "$name" > "$name.analysis.txt"
}

# The kernel limits reads and writes per second (block I/O controller, version 1).
throttled() { # DEVICE IOPS COMMAND...
    local group=/sys/fs/cgroup/blkio/iosonar-gallery.$$ number
    number=$(<"/sys/block/${1##*/}/dev")
    mkdir "$group"
    LAB_GROUP=$group
    echo "$number $2" > "$group/blkio.throttle.read_iops_device"
    echo "$number $2" > "$group/blkio.throttle.write_iops_device"
    (
        echo "$BASHPID" > "$group/cgroup.procs"
        "${@:3}"
    )
    rmdir "$group"
    LAB_GROUP=
}
LAB_GROUP=
trap '[[ -z $LAB_GROUP ]] || rmdir "$LAB_GROUP" 2> /dev/null || true; lab_undo' EXIT

recorded=database.load.gz
cp "$here/examples/loads/$recorded" .
lab_loop DEVICE 1024

say "fast: a small server"
iosonar load generate mixed mixed.load.gz --duration 30s --rate 400 --reads 70 --size 1GiB --seed 2
replay fast mixed.load.gz --target "$DEVICE" --destroy

say "overloaded by a ramp, one request in flight"
ramp 1500 20 1024 > ramp.load
replay ramp ramp.load --target "$DEVICE" --destroy --depth 1

if [[ -d /sys/fs/cgroup/blkio ]]; then
    say "throttled to 200 reads and 200 writes a second by the kernel"
    throttled "$DEVICE" 200 replay throttled mixed.load.gz --target "$DEVICE" --destroy
fi

say "a simulated device that stands still for 700 ms every 10 s"
replay stall mixed.load.gz --target sim --engine sim --size 1GiB --sim-service 90us --sim-jitter 60us --sim-stall 700ms/10s

say "recorded: half a minute of a database, and what all of it demands"
# As large as the device on which it was recorded, so that nothing wraps.
lab_loop LARGE 3072
replay recorded "$recorded" --target "$LARGE" --destroy --start 12 --duration 30
iosonar plot "$recorded" --png --out load > /dev/null
iosonar analyze "$recorded" > load.analysis.txt

say "two devices under the same load"
iosonar plot --compare fast stall --png --out compare > /dev/null

say "shapes, each with one planted cause"
mkdir shapes
for script in "$here"/examples/shapes/*.sh; do
    shape=$(basename "$script" .sh)
    (cd shapes && bash "$script" > "$shape.txt" && iosonar plot "$shape" --only response --png > /dev/null) ||
        echo "   $shape was not made"
done

say "planted results, each with its story and its sonar"
mkdir planted
python3 "$here/lab/planted.py" "$here/examples/planted/planted.toml" planted "$iosonar"

# One source for every number: pictures and text are compared with `show --json`, pages, too, where there is a browser.
compare_figures() {
    say "every figure of pictures, text and pages against show --json"
    (cd "$here" && IOSONAR_GALLERY=$out cargo test --quiet --locked -p iosonar-cli --test cli -- \
        --include-ignored figures_of_the_gallery)
    if command -v npm > /dev/null && command -v chromium > /dev/null; then
        mkdir pages
        for run in fast ramp throttled stall recorded; do
            [[ -e $run/run.json ]] || continue
            iosonar report "$run" -o "pages/$run.html" > /dev/null
            iosonar show "$run" --json > "pages/$run.summary.json"
        done
        (cd "$here/web" && npm ci --silent && IOSONAR_GALLERY_PAGES=$out/pages npx vitest run --config e2e/vitest.config.ts \
            e2e/real.test.ts)
    else
        echo "SKIPPED: figures of pages, because there is no Node.js with npm, or no Chromium"
    fi
}
[[ -z $check ]] || compare_figures

[[ -z $keep_docs ]] || exit 0
images=$here/docs/images
mkdir -p "$images"
copy() { # FROM TO
    [[ ! -e $out/$1 ]] || cp "$out/$1" "$images/$2"
}
copy recorded/plots/g01.latency.realtime.png sonar.png
copy stall/plots/g01.latency.realtime.png stall.png
copy ramp/plots/g04.delay.setpoint.png collapse.png
copy load/g30.ws_log.png working-set.png
copy load/g45.miss_ratio.png miss-ratio.png
copy stall/plots/g20.response.percentiles.png percentiles.png
for script in "$here"/examples/shapes/*.sh; do
    shape=$(basename "$script" .sh)
    copy "shapes/$shape/plots/g00.response.png" "shape-$shape.png"
done
say "pictures of the pages: $images; all others: $out"
