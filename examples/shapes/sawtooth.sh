#!/usr/bin/env bash
# Twice a second a load wants 15 000 requests/s for 200 ms, then 2 000/s; one in flight allows 10 000/s. The result is in ./sawtooth.
set -euo pipefail
awk 'BEGIN {
    print "start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0"
    for (time = 0; time < 4; time += in_burst ? 1 / 15000 : 1 / 2000) {
        in_burst = time - int(time * 2) / 2 < 0.2
        printf "%.9f ; %d ; 8 ; R ; 0.0 ; 0.0\n", time, request++ * 7919 % 200000 * 8
    }
}' > sawtooth.load
iosonar replay sawtooth.load -t dev --engine sim --size 1GiB --no-progress -o sawtooth --depth 1 --sim-service 90us --sim-jitter 10us
