#!/usr/bin/env bash
# Real: the program itself is stopped for 0.6 s. The result is in ./program-halted.
set -euo pipefail
head -c 64M /dev/urandom > program-halted.img
sync program-halted.img
iosonar run -t program-halted.img --direct 1 --randseed 7 --no-progress -o program-halted \
    --rw randread --bs 4k --depth 8 --rate-iops 1000 --rate-process poisson --runtime 4s --time-based &
until [[ -s program-halted/records.log ]]; do sleep 0.05; done
sleep 1.5
kill -STOP $!
sleep 0.6
kill -CONT $!
wait $!
rm program-halted.img
