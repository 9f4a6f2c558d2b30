#!/usr/bin/env bash
# Runs failed tests on real targets a second time, one after the other: other work of the machine may have failed them.
#
#   lab/retry.sh LOG [FEATURES…]    LOG is the output of 'cargo test --workspace FEATURES… --no-fail-fast'
#
# Ends with 0 if at most three tests failed, all of them in the test programs cli and devices, and all pass now. They are
# reported as UNSTABLE and appended to LOG. Unit tests have no second try: other work does not change their answers.
set -euo pipefail
log=${1:?usage: lab/retry.sh LOG [FEATURES…]}
features=("${@:2}")
most=3

no() {
    echo "no second try: $*" >&2
    exit 1
}

mapfile -t names < <(sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' "$log" | sort -u)
failures=$(awk '/^test result:/ { for (i = 2; i <= NF; i++) if ($i ~ /^failed/) n += $(i - 1) } END { print n + 0 }' "$log")
# Cargo's list of test programs that failed is the last part of its output.
programs=$(sed -n 's/^ *`-p iosonar-[a-z-]* \(--.*\)`$/\1/p' "$log" | sort -u)
((${#names[@]} > 0 && failures == ${#names[@]})) || no "$failures tests failed, and ${#names[@]} have a line of their own"
((failures <= most)) || no "more than $most tests failed"
[[ -n $programs ]] || no "cargo names no test program that failed"
! grep -Evq '^--test (cli|devices)$' <<< "$programs" || no "a test program other than cli and devices failed"

# The features of the whole workspace, so that nothing is built again.
# shellcheck disable=SC2086
cargo test --workspace --locked "${features[@]}" --no-fail-fast $programs -- --exact "${names[@]}" --show-output --test-threads 1 \
    < /dev/null 2>&1 | tee "$log.retry"
for name in "${names[@]}"; do
    grep -Fxq "test $name ... ok" "$log.retry" || no "$name did not run"
    echo "UNSTABLE: $name failed first, and passed after the other tests" | tee -a "$log"
done
