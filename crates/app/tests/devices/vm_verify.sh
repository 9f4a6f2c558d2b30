# Runs in the machine of lab/vm.sh, whose kernel has device mapper: runs with --verify on devices that lose, change and refuse what
# they are given, and on devices that do not. The results are judged by vm_verify.rs.
mkdir -p /out/runs
cd /out/runs

# Runs a command that should work, and reports it only if it fails.
must() { "$@" >/tmp/said 2>&1 || { echo "-- failed: $*"; cat /tmp/said; }; }

sectors() { cat "/sys/class/block/$1/size"; }

# Makes a device of device mapper with its node, or gives it another table.
map() { # NAME TABLE
    must dmsetup create --noudevsync "$1" --table "$2"
    must dmsetup mknodes
}
remap() { # NAME TABLE
    must dmsetup suspend --noudevsync "$1"
    must dmsetup load "$1" --table "$2"
    must dmsetup resume --noudevsync "$1"
}
unmap() { must dmsetup remove --noudevsync "$1"; }
linear() { echo "0 $(sectors vda) linear /dev/vda 0"; }
# Always as the words say: up for no second of each.
flaky() { # FEATURE...
    echo "0 $(sectors vda) flakey /dev/vda 0 0 1 $# $*"
}

# A run that ends with this name and its status; its times are not measured.
run() { # NAME TARGET [OPTION]...
    name=$1 target=$2
    shift 2
    timeout 60 iosonar run -t "$target" --destroy --no-progress -o "$name" "$@" >"$name.told" 2>&1
    echo "== $name $?"
}

# Moments of the clock that has not stopped since the start, in hundredths of a second.
moment() { read -r up idle </proc/uptime; echo "-- $1 $up"; }

# Writes all places once, and later some of them again: none holds what was there before the run.
plan() { # NUMBER
    cat <<PLAN
version = 2
run_id = $1
seed = $1
depth = 4
destroy = true
fill = { random_percent = 0 }
verify = { modes = "read,final" }
[[target]]
path = "/dev/mapper/switched"
[[phase]]
name = "all"
[[phase.job]]
target = 0
depth = 4
workload = { kind = "generated", order = "sequential", block_size = "4KiB", read_percent = 0, region = "1MiB", pace = { kind = "closed" }, stop = { requests = 256 } }
[[phase]]
name = "some"
[[phase.job]]
target = 0
depth = 4
workload = { kind = "generated", order = "random", block_size = "4KiB", read_percent = 50, region = "1MiB", pace = { kind = "closed" }, thinktime = { time = "10ms", blocks = 4 }, stop = { requests = 1600 } }
PLAN
}

# Waits until the switched device has had this many writes.
until_writes() { # COUNT
    turns=0
    while read -r reads merged sectors ms writes rest </sys/block/dm-0/stat && [ "$writes" -lt "$1" ] && [ "$turns" -lt 300 ]; do
        sleep 0.1
        turns=$((turns + 1))
    done
}

# In the middle of a run the device gets another table, and later the first one again.
window() { # NAME NUMBER TABLE
    map switched "$(linear)"
    plan "$2" >/tmp/plan
    timeout 60 iosonar run /tmp/plan --no-progress -o "$1" >"$1.told" 2>&1 &
    # During the second phase.
    until_writes 300
    moment "$1-before"
    remap switched "$3"
    moment "$1-begins"
    until_writes $((writes + 150))
    moment "$1-ends"
    remap switched "$(linear)"
    moment "$1-after"
    wait $!
    echo "== $1 $?"
    dd if=/dev/vda of="$1/disk" bs=1M count=1 status=none
    unmap switched
}

# --- a device that loses, and one that refuses, for a while ---
window lost-for-a-while 11 "$(flaky drop_writes)"
window refused-for-a-while 12 "$(flaky error_writes)"

# --- one of two devices loses all ---
map plain "0 8192 linear /dev/vda 0"
map losing "0 8192 flakey /dev/vda 8192 0 1 1 drop_writes"
run one-loses /dev/mapper/losing -t /dev/mapper/plain --rw randrw --bs 8k --size 1M --norandommap --number-ios 300 --iodepth 4 \
    --verify before-write,after-write,final
unmap losing
unmap plain

# --- bytes of writes change on the way ---
# Byte 300 of a request lies after the header of its first sector, byte 2000 after that of its fourth; 10 is in the magic of the header, 40
# in the number of the request.
changed() { # NAME BYTE [OPTION]...
    map changing "$(flaky corrupt_bio_byte "$2" w 90 0)"
    name=$1
    shift 2
    run "$name" /dev/mapper/changing --rw write --bs 4k --size 256k --verify final "$@"
    unmap changing
}
for byte in 300 2000 10 40; do changed byte-$byte $byte --fill-random 0; done
changed byte-of-random 300

# --- bytes of reads change on the way, in one request of five ---
map changing "$(flaky random_read_corrupt 200000000)"
run bad-reads /dev/mapper/changing --rw randrw --bs 4k --size 1M --norandommap --number-ios 600 --verify read
unmap changing

# --- what was written can't be read later ---
map later "$(linear)"
run readable /dev/mapper/later --rw write --bs 4k --size 256k --verify final
remap later "0 128 linear /dev/vda 0
128 128 error
256 $(($(sectors vda) - 256)) linear /dev/vda 256"
timeout 60 iosonar verify readable --no-progress --json >/out/runs/unreadable.json 2>&1
echo "== unreadable $?"
unmap later

# --- devices without faults ---
honest() { # NAME DEVICE [OPTION]...
    name=$1 device=$2
    shift 2
    run "honest-$name" "$device" --rw randrw --bs 8k --size 2M --norandommap --number-ios 300 --iodepth 8 --fsync 20 \
        --verify read,before-write,after-write,final "$@"
}
map plain "$(linear)"
honest linear /dev/mapper/plain --rwmixtrim 10 --rwmixzeroes 10
unmap plain
honest virtio /dev/vda --rwmixtrim 10
honest nvme /dev/nvme0n1 --rwmixtrim 10
honest nvme-4096 /dev/nvme1n1 --rwmixtrim 10
mount -t configfs configfs /sys/kernel/config
null=/sys/kernel/config/nullb/nullb0
must mkdir $null
for word in size=16 memory_backed=1 cache_size=16 blocksize=4096 discard=1 power=1; do echo "${word#*=}" >"$null/${word%=*}"; done
honest null /dev/nullb0 --claim cache --rwmixtrim 10
honest scsi-512 /dev/sda --rwmixtrim 10
must rmmod scsi_debug
must insmod /modules/scsi_debug.ko dev_size_mb=16 sector_size=4096 lbpu=1 lbpws=1 delay=0
until [ -b /dev/sda ]; do sleep 0.1; done
honest scsi-4096 /dev/sda --rwmixtrim 10
