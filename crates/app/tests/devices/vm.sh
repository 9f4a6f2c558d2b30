# Runs in the machine of lab/vm.sh: one way of using a device after the other, and iosonar's answer.
# The answers are judged by vm.rs.

# The devices that a program made exist when it ends: there is no udev here.
mkdir -p /etc/lvm
cat >/etc/lvm/lvm.conf <<'CONF'
devices { obtain_device_list_from_udev = 0  use_devicesfile = 0  multipath_component_detection = 0  md_component_detection = 0 }
activation { udev_sync = 0  udev_rules = 0  monitoring = 0 }
backup { backup = 0  archive = 0 }
CONF
cd /tmp

case_number=0
first_bytes() { head -c 2097152 "$1" | md5sum; }

# Prints iosonar's answer on a target, whether it touched it, and how it ended.
ask() { # NAME TARGET [OPTION]...
    name=$1 target=$2
    shift 2
    case_number=$((case_number + 1))
    echo "== $name"
    before=$(first_bytes "$target")
    timeout 40 iosonar replay /load -t "$target" --start-grace 0 -o "out$case_number" "$@"
    status=$?
    [ "$before" = "$(first_bytes "$target")" ] && echo "-- untouched" || echo "-- touched"
    echo "-- status $status"
}

# A target in use is refused even with `--destroy`.
used() { ask "$1" "$2" --destroy; }

# Runs a command that should work, and reports it only if it fails.
must() { "$@" >/tmp/said 2>&1 || { echo "-- failed: $*"; cat /tmp/said; }; }

sectors() { cat "/sys/class/block/$1/size"; }

# Makes a device of device mapper with its node.
map() { # NAME TABLE
    must dmsetup create --noudevsync "$1" --table "$2"
    must dmsetup mknodes
}
linear() { map "$1" "0 $(($(sectors "$2") - 64)) linear /dev/$2 0"; }

# --- device mapper ---
linear plain vda
used "below a device of device mapper" /dev/vda
must dmsetup suspend --noudevsync plain
# Without comparing: nothing can be read from it.
echo "== a suspended device does not hold up the guard"
timeout 40 iosonar replay /load -t /dev/mapper/plain --start-grace 0 -o suspended
echo "-- status $?"
must dmsetup resume --noudevsync plain
map upper "0 4096 linear /dev/mapper/plain 0"
used "a device of device mapper below another" /dev/mapper/plain
used "two levels below" /dev/vda
must dmsetup remove --noudevsync upper
must dmsetup remove --noudevsync plain

must addpart /dev/vda 1 2048 40960
linear onpart vda1
used "a partition of it is below device mapper" /dev/vda
must dmsetup remove --noudevsync onpart
must delpart /dev/vda 1

size=$(sectors vda)
map paths "0 $size multipath 0 0 1 1 round-robin 0 1 1 /dev/vda 1000"
used "a path of a multipath device" /dev/vda
must dmsetup remove --noudevsync paths

# --- dm-crypt ---
echo secret >key
must cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 /dev/vda key
must cryptsetup open --key-file key /dev/vda opened
used "opened encryption (dm-crypt)" /dev/vda
must cryptsetup close opened

# --- LVM ---
must lvm pvcreate -q -ff -y /dev/vdb
must lvm vgcreate -q group /dev/vdb
must lvm lvcreate -q -y -Wn -Zn -L 12M -n home group
must lvm lvcreate -q -y -Wn -Zn -L 12M -n free group
must lvm vgmknodes
used "a physical volume of LVM" /dev/vdb
# No background initialisation: its writes would look like ours.
must mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/group-home
must mount -t ext4 /dev/mapper/group-home /mnt
must mount -o remount,ro /mnt
used "a mounted logical volume" /dev/mapper/group-home
used "below a mounted logical volume" /dev/vdb
ask "a free volume beside a mounted one needs the word" /dev/mapper/group-free
ask "a free volume beside a mounted one can be written" /dev/mapper/group-free --destroy
must umount /mnt

# --- MD, and LVM on it ---
must mdadm --create /dev/md0 --run --level=1 --raid-devices=2 --metadata=1.2 --assume-clean /dev/vdc /dev/vdd
used "a member of an MD array" /dev/vdc
must lvm pvcreate -q -ff -y /dev/md0
must lvm vgcreate -q upper /dev/md0
must lvm lvcreate -q -y -Wn -Zn -L 12M -n data upper
must lvm vgmknodes
used "an MD array below LVM" /dev/md0
used "a member of an MD array below LVM" /dev/vdd
must lvm vgchange -q -an upper
must mdadm --stop /dev/md0
ask "a member of a stopped array needs the word" /dev/vdc

# --- bcache, zram, the kernel's SCSI target ---
must make-bcache -B /dev/vde
echo /dev/vde >/sys/fs/bcache/register
must test -e /sys/block/bcache0
used "the backing device of bcache" /dev/vde
echo 1 >/sys/block/bcache0/bcache/stop
echo /dev/vda >/sys/block/zram0/backing_dev
used "where zram writes back to" /dev/vda
echo 1 >/sys/block/zram0/reset
must mount -t configfs configfs /sys/kernel/config
must mkdir -p /sys/kernel/config/target/core/iblock_0/exported
echo udev_path=/dev/vda >/sys/kernel/config/target/core/iblock_0/exported/control
echo 1 >/sys/kernel/config/target/core/iblock_0/exported/enable
used "exported by the kernel's SCSI target" /dev/vda
rmdir /sys/kernel/config/target/core/iblock_0/exported

# --- without libblkid ---
for library in $(find / -xdev -name 'libblkid.so*'); do mv "$library" "$library.away"; done
ask "without libblkid nobody can look" /dev/vda
