#!/usr/bin/env bash
# Random reads, and three times 300 writes of one place: a write waits for those before it, reads pass. The result is in ./long-tail-group.
set -euo pipefail
awk 'function line(time, sector, op) { printf "%.9f ; %d ; 8 ; %s ; 0.0 ; 0.0\n", time, sector, op }
BEGIN {
    print "start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0"
    for (tick = 0; tick < 60000; tick++) {
        time = tick / 10000
        if (tick % 5 == 0) line(time, 8 + request++ * 7919 % 200000 * 8, "R")
        if (time - int(time / 2) * 2 >= 1 && time - int(time / 2) * 2 < 1.03) line(time, 0, "W")
    }
}' > long-tail-group.load
iosonar replay long-tail-group.load -t dev --engine sim --size 1GiB --no-progress -o long-tail-group \
    --depth 64 --overlap push-back --sim-service 200us --sim-jitter 50us
