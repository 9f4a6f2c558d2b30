#!/usr/bin/env bash
# Batches of eight reads at once, served one after the other by a simulated device with one channel. The result is in ./comb-of-batches.
set -euo pipefail
awk 'BEGIN {
    print "start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0"
    for (batch = 0; batch < 800; batch++)
        for (place = 0; place < 8; place++)
            printf "%.9f ; %d ; 8 ; R ; 0.0 ; 0.0\n", batch * 0.004, request++ * 7919 % 200000 * 8
}' > comb-of-batches.load
iosonar replay comb-of-batches.load -t dev --engine sim --size 1GiB --no-progress -o comb-of-batches \
    --depth 16 --sim-channels 1 --sim-jitter 3us
