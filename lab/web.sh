#!/usr/bin/env bash
# Tests the viewer of the report page: its types, its parts, that the committed bundle equals a build of the source, and pages of real runs
# in a real browser. Tests that cannot run here are skipped with one sentence.
#
#   lab/web.sh PROGRAM          all tests; PROGRAM is the iosonar that writes the pages
#   lab/web.sh --pages PROGRAM DIR   only writes the pages into DIR
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
skip() { printf 'SKIPPED: %s\n' "$*"; }

# Pages of runs with typical contents: bands and stalls, a ramp into overload, two devices, a load, hostile names, samples of the machine's
# counters.
pages() {
    local program=$1 to=$2
    rm -rf "$to" && mkdir -p "$to"
    (
        cd "$to"
        # Runs a command that ends with CODE. Other work of the machine may fail it once, which is reported.
        ends_with() {
            local expected=$1 code=0
            shift
            for _ in 1 2; do
                code=0
                "$program" "$@" > page.log 2>&1 || code=$?
                ((code != expected)) || return 0
                echo "tried again: 'iosonar $*' ended with $code instead of $expected: $(< page.log)" >&2
            done
            return 1
        }
        quiet() { ends_with 0 "$@"; }
        truncate -s 8G device.img
        hostile=$'<script>window.hacked=1<&"\u202e\n.load.gz'
        quiet generate mixed load.gz --rate 2000 --duration 40s --size 8GiB --seed 3
        cp load.gz "$hostile"
        quiet generate bursts ramp.gz --rate 400 --duration 30s --size 8GiB --seed 4
        quiet replay load.gz -t device.img --engine sim --sim-service 80us --sim-jitter 60us --sim-channels 16 --out a
        quiet replay load.gz -t device.img --engine sim --sim-service 100us --sim-jitter 120us --sim-channels 4 --out b
        quiet replay ramp.gz -t device.img --engine sim --sim-service 2ms --sim-jitter 1ms --sim-channels 4 --out over
        # Some of its requests fail.
        ends_with 1 replay "$hostile" -t device.img --engine sim --sim-service 80us --sim-errors 50 --out hostile
        quiet report a --side-car -o run.html
        quiet report a --points 2000 --side-car -o part.html
        quiet report a b --compare -o compare.html
        quiet report over -o overload.html
        quiet report load.gz -o load.html
        quiet report hostile -o hostile.html
        # Simulated runs have no samples of the machine. These two write to a file; one of them transfers less.
        head -c 64M /dev/urandom > file.dat
        for run in sampled:64k sampled-b:4k; do
            quiet run -t file.dat --rw randwrite --bs "${run#*:}" --direct=0 --fsync 16 --rate-iops 500 --runtime 3s --time-based \
                --sample-every 50ms -o "${run%:*}"
        done
        quiet report sampled -o sampled.html
        quiet report sampled sampled-b --compare -o sampled-compare.html
        quiet plot sampled --only machine --data --png --out .
        # Expected contents of the pages, from the product's own conversion: one line for each request.
        "$program" convert a --to csv -o requests.csv > /dev/null
        local run
        for run in a b over hostile; do "$program" show "$run" --json > "$run.summary.json"; done
        rm -f device.img file.dat page.log
    )
}

if [[ ${1-} == --pages ]]; then
    pages "$(realpath "$2")" "$3"
    exit
fi
program=$(realpath "$1")

if ! command -v npm > /dev/null || (($(node --version | sed 's/^v\([0-9]*\).*/\1/') < 20)); then
    skip "the viewer's tests, because there is no Node.js 20 with npm"
    exit
fi
cd "$here/web"
npm ci --silent
npm run --silent typecheck

# The committed bundle must equal a new build, byte for byte.
rm -rf "$here/target/viewer.committed"
cp -r dist "$here/target/viewer.committed"
npm run --silent build
if ! diff -rq dist "$here/target/viewer.committed"; then
    echo "web/dist is not what its source gives: commit what 'npm run build' wrote" >&2
    exit 1
fi

# Numbers in the form that ./test adds up.
results() {
    node -e '
        const r = JSON.parse(require("node:fs").readFileSync(process.argv[1], "utf8"));
        console.log(`test result: ${r.success ? "ok" : "FAILED"}. ${r.numPassedTests} passed; ${r.numFailedTests} failed; 0 ignored`);
    ' "$1"
}
json=$here/target/web-unit.json
npm run --silent test -- --reporter=dot --reporter=json --outputFile.json="$json"
results "$json"

if ! command -v chromium > /dev/null; then
    skip "the report page in a browser, because there is no Chromium"
    exit
fi
pages "$program" "$here/target/report-pages"
json=$here/target/web-browser.json
IOSONAR_PAGES=$here/target/report-pages npm run --silent e2e -- --reporter=dot --reporter=json --outputFile.json="$json"
results "$json"
