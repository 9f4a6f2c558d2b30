#!/usr/bin/env bash
# Real: half of a file is in the page cache, the other half is on the disk; a pause of 200 us after each read. The result is in ./two-levels.
set -euo pipefail
head -c 256M /dev/urandom > two-levels.img
iosonar cache evict two-levels.img > two-levels.evicted
head -c 128M two-levels.img > /dev/null
# The verdict calls reads of the page cache fake: exit code 4.
iosonar run -t two-levels.img --buffered --engine sync --randseed 7 --no-progress -o two-levels \
    --rw randread --bs 4k --thinktime 200us --number-ios 12000 || [[ $? == 4 ]]
rm two-levels.img two-levels.evicted
