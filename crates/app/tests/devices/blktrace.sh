# Runs in the machine of lab/vm.sh, whose kernel has blktrace's interface: recordings through it, beside others.
# The results are judged by record.rs.
mount -t tracefs tracefs /sys/kernel/tracing

record() { # NAME INTERFACE OPTION...
    name=$1 interface=$2
    shift 2
    iosonar record /dev/sda --interface "$interface" --no-progress -o "/out/$name" "$@" > "/out/$name.told" 2>&1 &
}
until_recording() { # NAME
    turns=0
    until [ -e "/out/$1/recording.json" ] || [ "$turns" = 300 ]; do
        sleep 0.1
        turns=$((turns + 1))
    done
}
read_direct() { # COUNT
    dd if=/dev/sda of=/dev/null bs=4k count="$1" iflag=direct status=none
}
traced() { # whether the device is
    [ -e /sys/kernel/debug/block/sda/dropped ]
}
mounted() { # whether debugfs is
    grep -q ' /sys/kernel/debug ' /proc/mounts
}

echo "== the same twice"
record blktrace blktrace
one=$!
record tracepoints tracepoints
other=$!
until_recording blktrace
until_recording tracepoints
iosonar record /dev/sda --interface blktrace --no-progress -o /refused 2>&1
echo "-- status $?"
mkfs.ext4 -q -E nodiscard /dev/sda
mount -t ext4 /dev/sda /mnt
for file in 1 2 3 4 5 6; do
    taskset -c $((file % 2)) dd if=/dev/urandom of=/mnt/$file bs=12k count=$((file * 5)) status=none
    sync
    rm -f /mnt/$((file - 2))
done
fstrim /mnt
umount /mnt
sleep 0.5
kill -TERM "$one" "$other"
wait "$one"
echo "-- status $?"
wait "$other"
echo "-- status $?"
traced || echo "-- traced no more"
mounted || echo "-- unmounted"

echo "== full buffers"
record full blktrace --buffer 64KiB
one=$!
until_recording full
kill -STOP "$one"
read_direct 4000
kill -CONT "$one"
sleep 0.5
kill -TERM "$one"
wait "$one"
echo "-- status $?"

echo "== killed"
record killed blktrace
one=$!
until_recording killed
read_direct 500
sleep 2.5
kill -KILL "$one"
wait "$one"
mounted && traced && echo "-- still traced"
iosonar record /dev/sda --interface blktrace --no-progress -o /refused 2>&1
echo "-- status $?"
iosonar record --cleanup /out/killed 2>&1
echo "-- status $?"
traced || echo "-- traced no more"
mounted || echo "-- unmounted"

echo "== another's"
mounted || mount -t debugfs debugfs /sys/kernel/debug
record gone blktrace
one=$!
until_recording gone
kill -KILL "$one"
wait "$one"
blktrace -d /dev/sda -k > /dev/null 2>&1
blktrace -d /dev/sda -o /theirs > /dev/null 2>&1 &
theirs=$!
until traced; do sleep 0.1; done
iosonar record --cleanup 2>&1
echo "-- status $?"
traced && mounted && echo "-- still traced"
blktrace -d /dev/sda -k > /dev/null 2>&1
# On a signal at its start, blktrace waits for itself.
kill -KILL "$theirs"
wait "$theirs"

echo "== vanished"
record vanished blktrace
one=$!
until_recording vanished
read_direct 100
sleep 1.5
echo 1 > /sys/block/sda/device/delete
sleep 2.5
kill -TERM "$one"
wait "$one"
echo "-- status $?"
