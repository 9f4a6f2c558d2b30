#!/usr/bin/env bash
# Real: reads of three sizes. The result is in ./size-steps.
set -euo pipefail
head -c 256M /dev/urandom > size-steps.img
sync size-steps.img
iosonar run -t size-steps.img --direct 1 --randseed 7 --no-progress -o size-steps \
    --rw randread --bssplit 4k/60:256k/30:1m/10 --depth 1 --number-ios 6000
rm size-steps.img
