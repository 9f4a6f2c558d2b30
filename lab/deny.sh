#!/usr/bin/env bash
# Checks licences, duplicates and sources of all dependencies by cargo-deny, which it builds if it is not installed.
#
#   lab/deny.sh            only if something has changed since the last check that passed
#   lab/deny.sh --again    in any case
#
# The answer depends on Cargo.lock, the manifests and deny.toml alone. lab/deny.checked has the hash of those that passed: building the
# tool takes five minutes of a processor, and no dependency changes in most commits.
set -euo pipefail
cd "$(dirname "$0")/.."
kept=lab/deny.checked
inputs() {
    find . -name Cargo.toml -not -path './target/*' -not -path '*/node_modules/*' -print0 | LC_ALL=C sort -z
    printf '%s\0' ./Cargo.lock ./deny.toml
}
hash=$(inputs | xargs -0 sha256sum | sha256sum | cut -d ' ' -f 1)
if [[ ${1:-} != --again && -e $kept && $(< "$kept") == "$hash" ]]; then
    echo "unchanged since the check that passed ($kept)"
    exit
fi
export PATH=$PWD/target/tools/bin:$PATH
# Without optimisation it is there in half the time.
command -v cargo-deny > /dev/null || cargo install cargo-deny --locked --quiet --debug --root target/tools || true
if ! command -v cargo-deny > /dev/null; then
    echo "SKIPPED: cargo-deny could not be installed, so licences were checked by the tidy test alone"
    exit
fi
cargo deny --log-level error check licenses bans sources
echo "$hash" > "$kept"
