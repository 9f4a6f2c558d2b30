# Runs in the machine of lab/vm.sh: the path of the requests of a run on a logical volume, beside a trace of the same events as text. The
# answers are judged by vm_path.rs.
cd /tmp
must() { "$@" >said 2>&1 || { echo "-- failed: $*"; cat said; }; }

mkdir -p /etc/lvm
cat >/etc/lvm/lvm.conf <<'CONF'
devices { obtain_device_list_from_udev = 0  use_devicesfile = 0  multipath_component_detection = 0  md_component_detection = 0 }
activation { udev_sync = 0  udev_rules = 0  monitoring = 0 }
backup { backup = 0  archive = 0 }
CONF
must lvm pvcreate -q -ff -y /dev/vda
must lvm vgcreate -q group /dev/vda
must lvm lvcreate -q -y -Wn -Zn -L 40M -n data group
must lvm vgmknodes
volume=/dev/mapper/group-data
must dd if=/dev/urandom of=$volume bs=1M count=40 conv=fsync

[ -e /sys/kernel/tracing/trace ] || must mount -t tracefs nodev /sys/kernel/tracing
trace=/sys/kernel/tracing/instances/text
must mkdir $trace
echo mono >$trace/trace_clock
echo 16384 >$trace/buffer_size_kb
number=$(cat /sys/class/block/dm-0/dev)
device=$((${number%:*} << 20 | ${number#*:}))
for event in block_bio_queue block_bio_complete; do
    echo "dev == $device" >$trace/events/block/$event/filter
    echo 1 >$trace/events/block/$event/enable
done

must iosonar run --no-progress --start-delay 0 -t $volume --rw randread --bs 4k --number-ios 10000 --depth 8 --trace-path -o out
echo 0 >$trace/tracing_on
cat $trace/trace >text
echo "== traced"
# Pairs the queueing and the completion of the same sectors, the oldest first, and prints their number and the median of the times between.
awk -v device="${number%:*},${number#*:}" '
    { for (i = 1; i <= NF && $i !~ /^block_bio_/; i++); }
    $(i + 1) != device { next }
    { time = substr($(i - 1), 1, length($(i - 1)) - 1); key = $(i + 3) "+" $(i + 5) }
    $i == "block_bio_queue:" { queued[key, ++last[key]] = time }
    $i == "block_bio_complete:" && last[key] > first[key] { printf "%d\n", (time - queued[key, ++first[key]]) * 1e6 + 0.5 }
' text | sort -n >times
echo "$(wc -l <times) $(sed -n "$(($(wc -l <times) / 2))p" times)"
echo "== path"
iosonar show out --json
