#!/usr/bin/env bash
# Runs tests under the sanitizers: address (memory used too early, too late, or by two) and thread (data races). They
# need a nightly compiler; without one it says so in one sentence and ends well.
#
#     lab/sanitize.sh                      the default selection: os and backend under address, backend and sched under
#                                          thread; about two and a half minutes cold on two cores, ten seconds warm
#     lab/sanitize.sh all                  os, backend, record, sched and engine under both: eight minutes cold, three
#                                          warm
#     lab/sanitize.sh address|thread [PACKAGE...]
#
# The sanitizers do not see the kernel. io_uring's writes into buffers and rings have no thread and no lock for the thread sanitizer, which
# would report false races or miss real ones: under it only tests run in which our own threads interact (blocking calls, channels, simulated
# engines); the ring is left to the address sanitizer and the simulated kernel. The thread sanitizer needs the standard library built with
# it (component rust-src): with the prebuilt one it does not see the order that locks impose, and reports false races. Nothing is
# suppressed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Do not install a missing toolchain implicitly.
export RUSTUP_AUTO_INSTALL=0
HOST=$(rustc -vV | sed -n 's/^host: //p')
if ! cargo +nightly --version > /dev/null 2>&1; then
    echo "SKIPPED: sanitizers, because there is no nightly compiler (rustup toolchain install nightly)"
    exit 0
fi
case $HOST in
    x86_64-unknown-linux-gnu | aarch64-unknown-linux-gnu) ;;
    *) echo "SKIPPED: sanitizers, because they do not know the machine $HOST" && exit 0 ;;
esac

# Whether the standard library's source is there, for the thread sanitizer.
has_source() {
    rustup component add rust-src --toolchain nightly > /dev/null 2>&1 || true
    [[ -d $(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library ]]
}

# One directory for each sanitizer: their objects never mix. Dependencies are built quickly rather than well.
run() { # SANITIZER PACKAGE [CARGO-ARGUMENT...]
    local sanitizer=$1 package=$2
    shift 2
    printf '== %s sanitizer: %s\n' "$sanitizer" "$package"
    RUSTFLAGS="-Zsanitizer=$sanitizer" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/sanitize-$sanitizer" \
        PROPTEST_CASES=${PROPTEST_CASES:-32} \
        cargo +nightly test --quiet --locked --target "$HOST" --lib --tests --package "iosonar-$package" \
        --config 'profile.dev.package."*".opt-level=1' "$@"
}

with_address() { run address "$1"; }

with_thread() {
    if has_source; then
        IOSONAR_WITHOUT_RINGS=1 run thread "$1" -Zbuild-std
    else
        echo "SKIPPED: the thread sanitizer, because the standard library's source is missing (rustup component add rust-src --toolchain nightly)"
    fi
}

case ${1:-default} in
    default)
        for package in os backend; do with_address $package; done
        for package in backend sched; do with_thread $package; done
        ;;
    all)
        for package in os backend record sched engine; do with_address $package && with_thread $package; done
        ;;
    address | thread)
        sanitizer=$1
        shift
        (($#)) || set -- os backend
        for package; do "with_$sanitizer" "$package"; done
        ;;
    *)
        echo "usage: lab/sanitize.sh [all | address PACKAGE... | thread PACKAGE...]" >&2
        exit 2
        ;;
esac
