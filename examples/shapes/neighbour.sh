#!/usr/bin/env bash
# Real: four other programs write to the disk of the target for a while. The result is in ./neighbour.
set -euo pipefail
head -c 64M /dev/urandom > neighbour.img
sync neighbour.img
iosonar run -t neighbour.img --direct 1 --randseed 7 --no-progress -o neighbour --sample-every 50ms \
    --rw randread --bs 4k --depth 8 --rate-iops 1000 --rate-process poisson --runtime 6s --time-based &
until [[ -s neighbour/records.log ]]; do sleep 0.05; done
sleep 2
for other in 1 2 3 4; do
    timeout 1.5 dd if=/dev/zero of=neighbour.other$other bs=1M count=4096 oflag=direct status=none &
done
wait
rm neighbour.img neighbour.other?
