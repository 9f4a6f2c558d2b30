# Runs in the machine of lab/vm.sh: runs with hardware, file systems and limits that the kernel of the tests' machine lacks, each with the
# output of `judge`. The answers are judged by vm_judged.rs.
cd /tmp

# Runs a command, and prints its name and the judgement.
judged() { # NAME COMMAND...
    echo "== $1"
    shift
    timeout 60 "$@" >said 2>&1
    iosonar judge r --json
    # Why there is no result.
    [ -d r ] || cat said
    rm -rf r
}
run() { # NAME [OPTION]...
    name=$1
    shift
    judged "$name" iosonar run --no-progress --start-delay 0 -o r "$@"
}
must() { "$@" >said 2>&1 || { echo "-- failed: $*"; cat said; }; }

# --- clocks: the one that the kernel has chosen is a counter of the CPU ---
clock=/sys/devices/system/clocksource/clocksource0/current_clocksource
chosen=$(cat $clock)
quick="-t /dev/ram0 --rw randread --bs 512 --engine psync --number-ios 3000"
run "a clock of the CPU" $quick
echo hpet >$clock
run "a clock of the board" $quick
echo "$chosen" >$clock

# --- a disk of SCSI that addresses 512 bytes and stores 4096 ---
must addpart /dev/sda 1 63 8192
must addpart /dev/sda 2 32768 8192
for part in 1 2; do
    run "partition $part" -t /dev/sda$part --destroy --rw randwrite --bs 4k --number-ios 200
done

# --- control groups of version 2 ---
mkdir /group
must mount -t cgroup2 cgroup2 /group
echo "+cpu +io" >/group/cgroup.subtree_control
mkdir /group/limited
number=$(cat /sys/block/vdb/dev)
# Long enough that a moment in which this machine stands still does not count.
limited() { # NAME FILE TEXT
    echo "$3" >"/group/limited/$2"
    # The shell goes into the group, and the run is its child.
    judged "$1" sh -c 'echo $$ >/group/limited/cgroup.procs
        iosonar run -t /dev/vdb --rw randread --bs 64k --runtime 6 --time-based --no-progress --start-delay 0 -o r'
}
limited "no limit" io.max "$number rbps=max"
limited "a limit of the device" io.max "$number rbps=2097152"
echo "$number rbps=max" >/group/limited/io.max
limited "a limit of the CPU" cpu.max "20000 100000"

# --- NFS, from this machine to itself; the answers of rpc.mountd are written to the kernel before it asks ---
must ifconfig lo 127.0.0.1 up
mkdir -p /srv /var/lib/nfs/v4recovery
must mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 /dev/vda
must mount -t ext4 /dev/vda /srv
must mount -t nfsd nfsd /proc/fs/nfsd
end_of_time=2147483647
# Exported with its number as its identity, to ports above 1023, with the rights of root.
flags=$((0x2000 | 0x0002 | 0x0400))
echo "nfsd 127.0.0.1 $end_of_time local" >/proc/net/rpc/auth.unix.ip/channel
echo "local /srv $end_of_time $flags -2 -2 0" >/proc/net/rpc/nfsd.export/channel
echo "local 1 \\x00000000 $end_of_time /srv" >/proc/net/rpc/nfsd.fh/channel
# Version 3 needs rpcbind.
echo -3 >/proc/fs/nfsd/versions
echo "tcp 2049" >/proc/fs/nfsd/portlist
echo 4 >/proc/fs/nfsd/threads
echo Y >/proc/fs/nfsd/v4_end_grace
must busybox mount -t nfs4 -o vers=4.2,addr=127.0.0.1,clientaddr=127.0.0.1 127.0.0.1:/ /mnt
dd if=/dev/urandom of=/srv/f bs=1M count=16 2>/dev/null
sync
echo 3 >/proc/sys/vm/drop_caches
buffered="-t /mnt/f --bs 64k --buffered --claim device"
run "NFS, direct reads" -t /mnt/f --rw read --bs 64k
run "NFS, cold reads" $buffered --rw read
run "NFS, warm reads" $buffered --rw read
run "NFS, writes" $buffered --rw write
run "NFS, flushed writes" $buffered --rw write --fsync 256

# --- NVMe, whose driver is of another kind ---
run "NVMe" -t /dev/nvme0n1 --rw randread --bs 4k --number-ios 3000
buffered="-t /dev/nvme0n1 --destroy --rw write --bs 64k --buffered --claim device"
run "NVMe, writes" $buffered
run "NVMe, flushed writes" $buffered --fsync 512

# --- persistent memory, whose driver has the same number as that of NVMe ---
run "persistent memory" -t /dev/pmem0 --rw randread --bs 4k --number-ios 300
