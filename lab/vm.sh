#!/usr/bin/env bash
# Runs a script in a small virtual machine with a stock Debian kernel, for what the kernel of this machine lacks or what
# should not be tried on it: device mapper, MD, SCSI, NVMe, a device that hangs. Needs no root and no KVM.
#
#   lab/vm.sh [OPTION]... SCRIPT [ARGUMENT]...
#     -p PROGRAM       puts a program with its shared libraries into /bin; may be repeated, as all of these
#     -f FILE[:PATH]   puts a file where it is here, or at PATH
#     -m MODULE        loads a kernel module, with those that it needs, before the script starts; parameters may
#                      follow in the same word: -m 'scsi_debug dev_size_mb=64'
#     -d MEBIBYTES     adds an empty virtio disk: /dev/vda, /dev/vdb, …
#     -r MEBIBYTES     memory, 512 if nothing is said
#     -c PROCESSORS    virtual processors, 1 if nothing is said
#     -o DIRECTORY     puts into it what the script left in /out, 64 MiB at most
#     -t SECONDS       ends the machine after this time, 120 if nothing is said
#     -a WORD          a further argument for QEMU
#   lab/vm.sh --missing [PROGRAM]...   says what this machine lacks for it, and ends with 1 if it lacks something
#   lab/vm.sh --fetch                  unpacks Debian's kernel package into target/lab-vm, without installing it
#
# The script runs as root in the initramfs, with the /bin/sh of this machine; programs that were not put there are those of busybox. Their
# output is printed to standard output when the machine has ended, and the status is that of the script: 124 if the time ran out, 125 if the
# machine failed earlier (the end of its console goes to standard error).
#
# The kernel is the newest in $LAB_VM_KERNEL, else in target/lab-vm, else in /, each with boot/ and lib/modules/.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
FETCHED=$HERE/target/lab-vm
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
STATUS_MARK=lab-vm-status:
QEMU=

die() {
    printf 'vm: %s\n' "$*" >&2
    exit 125
}

undo() {
    [[ -z $QEMU ]] || kill "$QEMU" 2>/dev/null || true
    [[ -z ${DIR:-} ]] || rm -rf -- "$DIR"
}

# Sets ROOT and VERSION to the kernel in use.
find_kernel() {
    for ROOT in ${LAB_VM_KERNEL:+"$LAB_VM_KERNEL"} "$FETCHED" /; do
        ROOT=${ROOT%/}
        VERSION=$(for image in "$ROOT"/boot/vmlinuz-*; do
            if [[ -r $image && -e $ROOT/lib/modules/${image##*/vmlinuz-}/modules.dep ]]; then
                echo "${image##*/vmlinuz-}"
            fi
        done | sort -V | tail -n 1)
        [[ -z $VERSION ]] || return 0
    done
    return 1
}

missing() { # [PROGRAM]...
    local word lacking=()
    for word in qemu-system-x86_64 busybox cpio modprobe xz "$@"; do
        command -v "$word" >/dev/null || lacking+=("$word")
    done
    # Programs of this machine run there.
    [[ $(uname -m) == x86_64 ]] || lacking+=("a processor of its kind (x86-64)")
    find_kernel || lacking+=("a kernel (lab/vm.sh --fetch)")
    ((${#lacking[@]})) || return 0
    (IFS=,; echo "the virtual machine lacks ${lacking[*]}" | sed 's/,/, /g')
    return 1
}

# The package with the kernel itself, on which the unversioned package depends.
kernel_package() {
    local name
    for name in linux-image-6.12-amd64 linux-image-amd64; do
        apt-cache depends "$name" 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | grep . && return
    done
}

fetch() {
    local package
    ! find_kernel || return 0
    package=$(kernel_package) || die "apt knows no linux-image-amd64; put a kernel with its modules into \$LAB_VM_KERNEL"
    DIR=$(mktemp -d)
    chmod 755 "$DIR"
    (cd "$DIR" && apt-get -o APT::Sandbox::User=root download -qq "$package" >/dev/null) || die "$package can't be downloaded"
    dpkg-deb -x "$DIR"/*.deb "$DIR/root"
    depmod -b "$DIR/root" "$(ls "$DIR/root/lib/modules")"
    mkdir -p "$FETCHED"
    cp -a "$DIR/root/boot" "$DIR/root/lib" "$FETCHED"
}

# Copies a file to the same place in the initramfs, or to another, and the libraries that it needs.
put() { # FILE [PATH]
    local to=$TREE${2:-$1} library
    mkdir -p "${to%/*}"
    # Debugging information would have to be unpacked in the machine's memory.
    strip -g -o "$to" "$1" 2>/dev/null || cp -L -- "$1" "$to"
    chmod u+rw "$to"
    while read -r library; do
        [[ -e $TREE$library ]] || put "$library"
    done < <(ldd "$1" 2>/dev/null | grep -o '/[^ ]*')
}

put_program() { # NAME OR PATH
    local path
    path=$(command -v -- "$1") || die "$1 is not installed"
    put "$path" "/bin/${path##*/}"
}

# Unpacks a module and its dependencies, and notes them in their order.
put_module() { # 'NAME [PARAMETER=VALUE]...'
    local word path options name dependencies words
    read -ra words <<<"$1"
    dependencies=$(modprobe -d "${ROOT:-/}" -S "$VERSION" --show-depends "${words[@]}") || die "kernel $VERSION has no module $1"
    while read -r word path options; do
        [[ $word == insmod ]] || continue
        name=${path##*/}
        name=${name%.[xz]*}
        [[ ! -e $TREE/modules/$name ]] || continue
        case $path in
        *.xz) xz -dc -- "$path" ;;
        *.zst) zstd -dcq -- "$path" ;;
        *) cat -- "$path" ;;
        esac >"$TREE/modules/$name"
        echo "/modules/$name $options" >>"$TREE/modules/list"
    done <<<"$dependencies"
}

# The first program of the machine. Its own output goes to the console; the script's to a second serial line.
put_init() {
    cat >"$TREE/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin 2>/dev/null
export PATH=/bin HOME=/
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
ln -s /proc/self/fd /dev/fd
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mkdir -p /run/lock /run/lvm /out
while read -r module; do insmod $module; done </modules/list
stty -F /dev/ttyS1 raw
eval "/bin/sh /script $(cat /arguments)" </dev/null >/dev/ttyS1 2>&1
status=$?
for disk in /sys/block/vd*; do
    [ "$(cat $disk/serial)" != lab-out ] || tar -cf /dev/${disk##*/} -C /out .
done
echo "lab-vm-status:$status" >/dev/ttyS1
sync
poweroff -f
INIT
    chmod 755 "$TREE/init"
}

[[ ${1:-} != --missing ]] || { missing "${@:2}"; exit; }
trap undo EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
[[ ${1:-} != --fetch ]] || { fetch; exit; }

PROGRAMS=() FILES=() MODULES=() DISKS=() EXTRA=() MEMORY=512 CPUS=1 OUT='' SECONDS_LEFT=120
while getopts p:f:m:d:r:c:o:t:a: option; do
    case $option in
    p) PROGRAMS+=("$OPTARG") ;;
    f) FILES+=("$OPTARG") ;;
    m) MODULES+=("$OPTARG") ;;
    d) DISKS+=("$OPTARG") ;;
    r) MEMORY=$OPTARG ;;
    c) CPUS=$OPTARG ;;
    o) OUT=$OPTARG ;;
    t) SECONDS_LEFT=$OPTARG ;;
    a) EXTRA+=("$OPTARG") ;;
    *) exit 125 ;;
    esac
done
shift $((OPTIND - 1))
(($#)) || die "usage: $0 [OPTION]... SCRIPT [ARGUMENT]..."
LACKING=$(missing) || die "$LACKING"
find_kernel

DIR=$(mktemp -d "${LAB_DIR:-${TMPDIR:-/tmp}}/iosonar-vm.XXXXXX")
TREE=$DIR/tree
mkdir -p "$TREE"/{bin,proc,sys,dev,tmp,run,etc,modules,mnt}
: >"$TREE/modules/list"
put "$(command -v busybox)" /bin/busybox
# Not busybox's own shell: that would prefer its own programs to those that were put there.
put "$(command -v sh)" /bin/sh
for program in ${PROGRAMS[@]+"${PROGRAMS[@]}"}; do put_program "$program"; done
for file in ${FILES[@]+"${FILES[@]}"}; do
    [[ -e ${file%%:*} ]] || die "${file%%:*} does not exist"
    put "$(realpath -s -- "${file%%:*}")" "$([[ $file != *:* ]] || echo "${file#*:}")"
done
[[ -z $OUT ]] || mkdir -p -- "$OUT" || die "$OUT can't be made"
[[ -z $OUT && ${#DISKS[@]} == 0 ]] || MODULES=(virtio_blk "${MODULES[@]}")
for module in ${MODULES[@]+"${MODULES[@]}"}; do put_module "$module"; done
cp -- "$1" "$TREE/script" || die "$1 can't be read"
shift
printf '%q ' "$@" >"$TREE/arguments"
put_init
(cd "$TREE" && find . | cpio -o -H newc -R 0:0 --quiet) >"$DIR/initrd"

DRIVES=()
for index in ${DISKS[@]+"${!DISKS[@]}"}; do
    truncate -s "${DISKS[index]}M" "$DIR/disk$index"
    # A separate -device: the machine places disks of if=virtio after all others.
    DRIVES+=(-drive "file=$DIR/disk$index,format=raw,if=none,id=disk$index,cache=unsafe,discard=unmap" -device "virtio-blk-pci,drive=disk$index")
done
if [[ -n $OUT ]]; then
    truncate -s 64M "$DIR/out"
    DRIVES+=(-drive "file=$DIR/out,format=raw,if=none,id=out,cache=unsafe" -device virtio-blk-pci,drive=out,serial=lab-out)
fi
: >"$DIR/output"
# One thread for all processors: with a thread for each the kernel that changes its own code trips over its breakpoints.
qemu-system-x86_64 -accel tcg,thread=single -cpu max -m "$MEMORY" -smp "$CPUS" -nodefaults -display none -no-reboot \
    -kernel "$ROOT/boot/vmlinuz-$VERSION" -initrd "$DIR/initrd" \
    -append "console=ttyS0 loglevel=4 panic=-1 mitigations=off audit=0" \
    -serial "file:$DIR/console" -serial "file:$DIR/output" \
    ${DRIVES[@]+"${DRIVES[@]}"} ${EXTRA[@]+"${EXTRA[@]}"} </dev/null >&2 &
QEMU=$!

TIMED_OUT=
until=$((SECONDS + SECONDS_LEFT))
while kill -0 "$QEMU" 2>/dev/null; do
    if ((SECONDS >= until)); then
        TIMED_OUT=yes
        kill -KILL "$QEMU"
        break
    fi
    sleep 0.1
done
wait "$QEMU" 2>/dev/null || true
QEMU=

grep -av "^$STATUS_MARK" "$DIR/output" || true
STATUS=$(sed -n "s/^$STATUS_MARK//p" "$DIR/output" | tail -n 1)
[[ -z $STATUS || -z $OUT ]] || tar -xf "$DIR/out" -C "$OUT" --no-same-owner
[[ -z $STATUS ]] || exit "$STATUS"
tail -n 30 "$DIR/console" >&2 || true
if [[ -n $TIMED_OUT ]]; then
    printf 'vm: the script did not end within %s s\n' "$SECONDS_LEFT" >&2
    exit 124
fi
die "the machine ended before the script did"
