# Runs in the machine of lab/vm.sh, whose wall clock may be changed: it jumps an hour ahead and two back during a run.
# The results are judged by bad_luck.rs.
iosonar run -t /dev/vda --destroy --rw randwrite --bs 4k --iodepth 4 --rate-iops 200 --number-ios 800 --no-progress -o /ran &
run=$!
turns=0
until [ "$(stat -c %s /ran/records.log 2>/dev/null || echo 0)" -gt 16 ] || [ "$turns" = 200 ]; do
    sleep 0.1
    turns=$((turns + 1))
done
date -s "@$(($(date +%s) + 3600))"
sleep 1
date -s "@$(($(date +%s) - 7200))"
wait "$run"
echo "== status $?"
iosonar export /ran --to csv
echo "== end"
