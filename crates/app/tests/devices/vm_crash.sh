# Runs in the machine of lab/vm.sh: a device with a cache loses its power under runs, and device mapper logs what reaches another
# one. The results are judged by vm_crash.rs.
moments=$1
mkdir -p /out/runs
cd /out/runs

# What should work, and is only told of where it does not.
must() { "$@" >/tmp/said 2>&1 || { echo "-- failed: $*"; cat /tmp/said; }; }

# What is needed of a result.
keep() { # NAME
    rm -f "$1/summary.json" "$1/histograms.hlog" "$1/series.parquet"
}

# --- the power of a device with a cache that loses what was not flushed ---
mount -t configfs configfs /sys/kernel/config
device=/sys/kernel/config/nullb/cut
must mkdir $device
for word in size=8 memory_backed=1 cache_size=8 blocksize=512 power=1; do echo "${word#*=}" >"$device/${word%=*}"; done
number=0
while [ "$number" -lt "$moments" ]; do
    name=cut-$number
    # With a flush after each 100 writes, or with force unit access for one of ten.
    if [ $((number % 2)) = 0 ]; then
        set -- run --rw randwrite --bs 4k --size 512k --norandommap --fdatasync 100 --time-based --runtime 20s --iodepth 8
    else
        set -- replay /fua.load --depth 8
    fi
    timeout 60 iosonar "$@" -t /dev/cut --destroy --max-errors 1 --no-progress -o $name >$name.told 2>&1 &
    # The cut comes after 1 to some hundred more writes.
    read -r reads merged sectors ms before rest </sys/block/cut/stat
    writes=$before turns=0
    until [ "$writes" -gt $((before + number * 37 % 600)) ] || [ "$turns" = 20000 ]; do
        read -r reads merged sectors ms writes rest </sys/block/cut/stat
        turns=$((turns + 1))
        usleep 1000
    done
    echo 0 >$device/power
    wait $!
    echo "== $name $?"
    echo 1 >$device/power
    dd if=/dev/cut of=$name/disk bs=512k count=1 status=none
    keep $name
    number=$((number + 1))
done

# --- what reaches a device, in its order ---
must dmsetup create --noudevsync logged --table "0 $(cat /sys/class/block/vda/size) log-writes /dev/vda /dev/vdb"
must dmsetup mknodes
timeout 60 iosonar replay /log.load -t /dev/mapper/logged --destroy --depth 8 --fill-random 0 --no-progress -o logged >logged.told 2>&1
echo "== logged $?"
must dmsetup remove --noudevsync logged
dd if=/dev/vdb of=logged/log bs=1M count=16 status=none
keep logged
