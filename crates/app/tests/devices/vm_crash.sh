# Runs in the machine of lab/vm.sh: a device with a cache loses its power under runs, and device mapper logs what reaches another
# one. The results are judged by vm_crash.rs.
rounds=$1 devices=$2
mkdir -p /out/runs
cd /out/runs

# Runs a command that should work, and reports it only if it fails.
must() { "$@" >/tmp/said 2>&1 || { echo "-- failed: $*"; cat /tmp/said; }; }

# Removes the files of a result that are not needed.
keep() { # NAME
    rm -f "$1/summary.json" "$1/histograms.hlog" "$1/series.parquet"
}

# --- the power of devices with a cache that loses what was not flushed: one run writes to all of them ---
mount -t configfs configfs /sys/kernel/config
nullb=/sys/kernel/config/nullb
# New ones for each run: where something is stored already, null_blk keeps writes without a flush, too.
make_devices() {
    targets= left=
    device=0
    while [ "$device" -lt "$devices" ]; do
        must mkdir "$nullb/cut$device"
        for word in size=8 memory_backed=1 cache_size=8 blocksize=512 power=1; do
            echo "${word#*=}" >"$nullb/cut$device/${word%=*}"
        done
        targets="$targets -t /dev/cut$device"
        left="$left $device"
        device=$((device + 1))
    done
}

# Saves their contents after the loss of power.
keep_devices() { # DIRECTORY
    device=0
    while [ "$device" -lt "$devices" ]; do
        echo 1 >"$nullb/cut$device/power"
        dd if=/dev/cut$device of="$1/disk$device" bs=1M count=1 status=none
        must rmdir "$nullb/cut$device"
        device=$((device + 1))
    done
}

# Cuts the power of a device after 1 to 300 writes to it, and fails if it has had fewer.
cut() { # ROUND DEVICE
    read -r reads merged sectors ms writes rest <"/sys/block/cut$2/stat"
    [ "$writes" -gt $((($1 * 37 + $2 * 211) % 300)) ] || return 1
    echo 0 >"$nullb/cut$2/power"
}

round=0
while [ "$round" -lt "$rounds" ]; do
    name=cuts-$round
    make_devices
    # With a flush after each 100 writes, or with force unit access for one of ten. At depth 1 no write is
    # in flight beside a flush.
    if [ $((round % 2)) = 0 ]; then
        set -- run --rw randwrite --bs 4k --size 1M --norandommap --fdatasync 100 --time-based --runtime 40s \
            --iodepth $((round % 4 == 0 ? 1 : 8))
    else
        set -- replay /fua.load --depth 8
    fi
    # shellcheck disable=SC2086
    timeout 60 iosonar "$@" $targets --destroy --max-errors 1 --no-progress -o $name >$name.told 2>&1 &
    turns=0
    while [ -n "$left" ] && [ "$turns" -lt 10000 ]; do
        still=
        for device in $left; do cut "$round" "$device" || still="$still $device"; done
        left=$still
        turns=$((turns + 1))
        usleep 1000
    done
    # The run has seen that each device failed, and ends by itself.
    wait $!
    echo "== $name $?$left"
    keep_devices $name
    keep $name
    round=$((round + 1))
done

# --- what reaches a device, in its order ---
must dmsetup create --noudevsync logged --table "0 $(cat /sys/class/block/vda/size) log-writes /dev/vda /dev/vdb"
must dmsetup mknodes
timeout 60 iosonar replay /log.load -t /dev/mapper/logged --destroy --depth 8 --fill-random 0 --no-progress -o logged >logged.told 2>&1
echo "== logged $?"
must dmsetup remove --noudevsync logged
dd if=/dev/vdb of=logged/log bs=1M count=8 status=none
keep logged
