#!/usr/bin/env bash
# Real: random reads through an empty page cache, which fills, with a pause of 100 us after each. The result is in ./warm-up.
set -euo pipefail
head -c 64M /dev/urandom > warm-up.img
iosonar cache evict warm-up.img > warm-up.evicted
# The verdict calls reads of the page cache fake: exit code 4.
iosonar run -t warm-up.img --buffered --engine sync --randseed 7 --no-progress -o warm-up \
    --rw randread --bs 4k --norandommap --thinktime 100us --number-ios 25000 --sample-every 50ms || [[ $? == 4 ]]
rm warm-up.img warm-up.evicted
