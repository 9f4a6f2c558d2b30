#!/usr/bin/env bash
# A simulated device that completes nothing for 200 ms in every 2 s. The result is in ./periodic-stall.
set -euo pipefail
iosonar run -t dev --engine sim --size 1GiB --direct 1 --randseed 7 --no-progress -o periodic-stall \
    --rw randread --bs 4k --depth 64 --rate-iops 2000 --rate-process poisson --runtime 11s \
    --sim-jitter 60us --sim-stall 200ms/2s
