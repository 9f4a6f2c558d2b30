#!/usr/bin/env bash
# Runs failed tests on real targets a second time, alone: the machine's other work may have failed them.
#
#   lab/retry.sh LOG    LOG is the output of 'cargo test --workspace'
#
# Ends with 0 if at most three tests failed, each of them starts the command (cli, devices), and all pass alone. They are
# reported as UNSTABLE and appended to LOG. Unit tests have no second try: no other work changes their answers.
set -euo pipefail
log=${1:?usage: lab/retry.sh LOG}
most=3

failed=$(awk '/^ +Running (unittests|tests)/ { program = $2 } /^test .* \.\.\. FAILED$/ { print program, $2 }' "$log" | sort -u)
if [[ -z $failed ]] || grep -q "^error: could not compile\|(signal: " "$log"; then
    echo "no second try: a build or a test program failed as a whole" >&2
    exit 1
fi
if (($(wc -l <<< "$failed") > most)) || grep -Evq '^tests/(cli|devices)/main\.rs ' <<< "$failed"; then
    echo "no second try: more than $most tests failed, or a unit test" >&2
    exit 1
fi
while read -r program; do
    mapfile -t names < <(awk -v program="$program" '$1 == program { print $2 }' <<< "$failed")
    # The features of the whole workspace, so that nothing is built again.
    cargo test --workspace --locked --test "$(basename "$(dirname "$program")")" -- \
        --exact "${names[@]}" --show-output --test-threads 1 | tee "$log.retry"
    # A name that no test has would pass.
    grep -q "^test result: ok. ${#names[@]} passed" "$log.retry"
    for name in "${names[@]}"; do
        echo "UNSTABLE: $name failed beside the other tests, and passed alone" | tee -a "$log"
    done
done < <(cut -d ' ' -f 1 <<< "$failed" | sort -u)
