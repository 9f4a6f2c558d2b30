#!/usr/bin/env bash
# Builds the fuzz targets and runs each of them for a while under libFuzzer. That needs a nightly compiler; without one the driver of
# fuzz/src/main.rs runs them, without coverage feedback. cargo-fuzz is not needed.
#
#     lab/fuzz.sh                          every target, ten minutes each
#     lab/fuzz.sh SECONDS [TARGET...]      these targets, SECONDS each
#
# Environment:
#     LAB_FUZZ_DIR    where corpora, logs and findings are kept (default: target/fuzz)
#     LAB_FUZZ_JOBS   targets that run at the same time (default: 1)
#
# One line for each target says how many inputs it ran, how many features of the program they covered at the start and
# at the end, and what was found. Each finding is a file below LAB_FUZZ_DIR/findings; a target repeats it with
# `LAB_FUZZ_DIR/bin/TARGET FILE`. Exits with 1 if something was found, and with 2 if the command line is wrong.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export RUSTUP_AUTO_INSTALL=0
seconds=${1:-600}
if ! [[ $seconds =~ ^[1-9][0-9]*$ ]]; then
    echo "usage: lab/fuzz.sh [SECONDS [TARGET...]]" >&2
    exit 2
fi
shift $(($# > 0))
mapfile -t known < <(basename -s .rs fuzz/src/targets/*.rs)
for target; do
    if [[ " ${known[*]} " != *" $target "* ]]; then
        printf 'there is no fuzz target %s; the targets are: %s\n' "$target" "${known[*]}" >&2
        exit 2
    fi
done
(($#)) || set -- "${known[@]}"
if ! cargo +nightly --version > /dev/null 2>&1; then
    echo "no nightly compiler (rustup toolchain install nightly): without coverage"
    exec cargo run --quiet --locked --release -p iosonar-fuzz -- --seconds $((seconds * $#)) "$@"
fi

dir=${LAB_FUZZ_DIR:-$PWD/target/fuzz}
host=$(rustc -vV | sed -n 's/^host: //p')
mkdir -p "$dir"/{bin,corpus,entry,findings,log}
dir=$(cd "$dir" && pwd)

# The instrumentation that libFuzzer needs, as cargo-fuzz sets it. `--target` keeps it away from build scripts.
build() {
    local coverage='-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
        -Cllvm-args=-sanitizer-coverage-trace-compares'
    local target
    # A program for each target: code that it does not call is not in it, and costs nothing.
    for target; do
        printf 'libfuzzer_sys::fuzz_target!(|data: &[u8]| iosonar_fuzz::targets::%s::run(data));\n' "$target" \
            > "$dir/entry/$target.rs"
        RUSTFLAGS="$(xargs <<< "$coverage") --cfg fuzzing -Cdebug-assertions -Coverflow-checks -Ccodegen-units=1" \
            IOSONAR_FUZZ_ENTRY=$dir/entry/$target.rs \
            cargo +nightly build --quiet --release --manifest-path fuzz/libfuzzer/Cargo.toml --target "$host" \
            --target-dir "$dir/target"
        # A copy, so that a later build does not replace a running program.
        cp --remove-destination "$dir/target/$host/release/iosonar-libfuzzer" "$dir/bin/$target"
    done
}

# Features in the first or last status line of libFuzzer: `#123 INITED cov: 45 ft: 67 …`.
features() { # WHICH-END LOG
    { grep -oE "\bft: [0-9]+" "$2" || echo "ft: 0"; } | "$1" -n 1 | grep -oE "[0-9]+"
}

fuzz() { # TARGET
    local target=$1 log=$dir/log/$1 seeds=() dictionary=() found
    mkdir -p "$dir/corpus/$target" "$dir/findings/$target"
    [[ ! -d fuzz/seeds/$target ]] || seeds=("fuzz/seeds/$target")
    [[ ! -f fuzz/dictionaries/$target ]] || dictionary=("-dict=fuzz/dictionaries/$target")
    # A finding ends the program, and another one uses the remaining time.
    local end=$((SECONDS + seconds)) runs=0
    while ((SECONDS < end)); do
        nice -n 19 "$dir/bin/$target" -max_total_time=$((end - SECONDS)) -timeout=20 -rss_limit_mb=2048 \
            -print_final_stats=1 -artifact_prefix="$dir/findings/$target/" "${dictionary[@]}" \
            "$dir/corpus/$target" "${seeds[@]}" > "$log" 2>&1 || true
        runs=$((runs + $(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)))
        grep -qE '^SUMMARY|deadly signal' "$log" || break
    done
    found=$(find "$dir/findings/$target" -type f | wc -l)
    printf '%-18s %10d runs, features %5d → %5d, findings %d\n' \
        "$target" "$runs" "$(features head "$log")" "$(features tail "$log")" "$found"
    ((found == 0))
}

build "$@"
printf '%d targets, %d s each\n' $# "$seconds"
failed=0
running=0
for target; do
    if ((running == ${LAB_FUZZ_JOBS:-1})); then
        wait -n || failed=1
        running=$((running - 1))
    fi
    fuzz "$target" &
    running=$((running + 1))
done
while ((running)); do
    wait -n || failed=1
    running=$((running - 1))
done
exit "$failed"
