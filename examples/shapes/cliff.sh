#!/usr/bin/env bash
# A simulated device that takes five times as long from 4 s on. The result is in ./cliff.
set -euo pipefail
iosonar run -t dev --engine sim --size 1GiB --direct 1 --randseed 7 --no-progress -o cliff \
    --rw randwrite --bs 4k --depth 32 --rate-iops 3000 --rate-process poisson --runtime 6s \
    --sim-jitter 40us --sim-change 500@4s
