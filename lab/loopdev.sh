# shellcheck shell=bash
# Loop devices and file systems for tests and demonstrations. Source this file, as root, in bash:
#
#   source lab/loopdev.sh
#   lab_loop DEVICE 64                 # 64 MiB of random data; the device's path goes to $DEVICE
#   lab_loop BIG_BLOCKS 64 -b 4096     # further words are options of losetup
#   lab_mount MOUNT_POINT "$DEVICE" xfs
#
# Everything is undone, the last first, when the shell ends: by exit, by `set -e`, by SIGINT, SIGTERM or SIGHUP. The remains of a killed
# shell are removed by `lab_sweep`. Sourcing sets traps for these signals and for EXIT; a script with an EXIT trap calls `lab_undo` in it.
#
# Images are made in $LAB_DIR, else $TMPDIR, else /tmp.

# The process id in the names distinguishes directories of this shell from those of its predecessors.
LAB_PREFIX=iosonar-lab
LAB_UNDO=()

lab_say() { printf 'lab: %s\n' "$*" >&2; }

# Makes a directory for a new image or mount point, which lab_undo removes. The directory is noted before it is filled, so that no signal
# can come in between.
lab_directory() { # VARIABLE
    local _lab_made
    _lab_made=$(mktemp -d "${LAB_DIR:-${TMPDIR:-/tmp}}/$LAB_PREFIX.$$.XXXXXX") || return
    LAB_UNDO+=("$_lab_made")
    printf -v "$1" %s "$_lab_made"
}

# Makes a loop device with direct I/O on an image full of random data, so that no block of it is a hole.
lab_loop() { # VARIABLE MEBIBYTES [OPTION OF LOSETUP]...
    local _lab_variable=$1 _lab_mebibytes=$2 _lab_directory _lab_device
    shift 2
    lab_directory _lab_directory || return
    dd if=/dev/urandom of="$_lab_directory/image" bs=1M count="$_lab_mebibytes" iflag=fullblock conv=fsync status=none || return
    # Pages of the image in the page cache would be written past the device.
    dd of="$_lab_directory/image" oflag=nocache conv=notrunc,fdatasync count=0 status=none || return
    _lab_device=$(losetup -f --show --direct-io=on "$@" "$_lab_directory/image") || return
    if [[ $(<"/sys/block/${_lab_device##*/}/loop/dio") != 1 ]]; then
        lab_say "$_lab_device does not do direct I/O on ${_lab_directory%/*}; set LAB_DIR to a directory of a disk's file system"
        return 1
    fi
    printf -v "$_lab_variable" %s "$_lab_device"
}

# Makes a file system without discarding what is on the device, and mounts it.
lab_mount() { # VARIABLE DEVICE ext4|xfs|btrfs [OPTION OF MOUNT]...
    local _lab_variable=$1 _lab_device=$2 _lab_kind=$3 _lab_directory
    shift 3
    case $_lab_kind in
    ext4) mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$_lab_device" || return ;;
    xfs) mkfs.xfs -q -f -K "$_lab_device" || return ;;
    btrfs) mkfs.btrfs -q -f -K "$_lab_device" || return ;;
    *)
        lab_say "file system $_lab_kind is not known; give ext4, xfs or btrfs"
        return 2
        ;;
    esac
    lab_directory _lab_directory || return
    mkdir "$_lab_directory/mount" || return
    mount "$@" "$_lab_device" "$_lab_directory/mount" || return
    printf -v "$_lab_variable" %s "$_lab_directory/mount"
}

# Undoes one directory with everything created in it. Reports failures.
lab_undo_directory() { # DIRECTORY
    local directory=$1 device tries
    if mountpoint -q "$directory/mount"; then
        # A process that has just ended may hold it for a moment longer.
        for ((tries = 0; tries < 20; tries++)); do
            umount "$directory/mount" 2>/dev/null && break
            sleep 0.1
        done
        ! mountpoint -q "$directory/mount" || umount "$directory/mount" || return
    fi
    if [[ -e $directory/image ]]; then
        for device in $(losetup -n -O NAME -j "$directory/image"); do
            losetup -d "$device" || return
        done
        # A device that is open somewhere is detached only when it is closed.
        for ((tries = 0; tries < 50; tries++)); do
            [[ -z $(losetup -n -O NAME -j "$directory/image") ]] && break
            sleep 0.1
        done
        device=$(losetup -n -O NAME -j "$directory/image")
        if [[ -n $device ]]; then
            lab_say "$device is still open somewhere, so $directory stays"
            return 1
        fi
    fi
    rm -rf --one-file-system -- "$directory"
}

# Undoes everything that this shell made. Can be called more than once.
lab_undo() {
    local status=0 last
    while ((${#LAB_UNDO[@]})); do
        last=${LAB_UNDO[-1]}
        unset 'LAB_UNDO[-1]'
        [[ -e $last ]] || continue
        lab_undo_directory "$last" || status=1
    done
    return "$status"
}

# Removes the remains of killed shells: directories whose process is gone, the newest first.
lab_sweep() {
    local directory process status=0
    while read -r directory; do
        process=${directory##*/"$LAB_PREFIX".}
        process=${process%%.*}
        [[ -e /proc/$process ]] || lab_undo_directory "$directory" || status=1
    done < <(ls -1dt -- "${LAB_DIR:-${TMPDIR:-/tmp}}/$LAB_PREFIX".*.* 2>/dev/null)
    return "$status"
}

# A signal ends the shell with its usual status, and that calls the trap for EXIT.
trap lab_undo EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
