# shellcheck shell=bash
# A private instance of tracefs, so that other users of tracing are not disturbed. Source this file, as root, in bash, and have a function
# or program named `die` that takes a message:
#
#   source lab/instance.sh
#   trap instance_undo EXIT
#   instance_claim                     # $INSTANCE is the directory
#
# Several may run at the same time.

TRACEFS=/sys/kernel/tracing
INSTANCE_MOUNT=iosonar-lab
INSTANCE=
INSTANCE_LOCK=

# One of several that run at the same time mounts tracefs, and the last one unmounts it: INSTANCE_LOCK keeps them apart
# meanwhile, and the mount's name says that it is theirs.
instance_lock() { exec {INSTANCE_LOCK}<"$(dirname "$TRACEFS")" && flock "$INSTANCE_LOCK"; }

instance_unlock() {
    [[ -n $INSTANCE_LOCK ]] && exec {INSTANCE_LOCK}<&-
    INSTANCE_LOCK=
}

# Removes only what this script created, the last first. Another user's instance keeps the mount.
instance_undo() {
    # A signal may have come while it was locked.
    instance_unlock
    instance_lock
    if [[ -n $INSTANCE && -d $INSTANCE ]]; then
        echo 0 >"$INSTANCE/tracing_on"
        echo 0 >"$INSTANCE/events/enable"
        # The reader may hold it for a moment, and then the mount.
        instance_eventually rmdir "$INSTANCE" || echo "$INSTANCE could not be removed" >&2
    fi
    if grep -q "^$INSTANCE_MOUNT $TRACEFS " /proc/self/mounts && [[ -z $(ls -A "$TRACEFS/instances") ]]; then
        instance_eventually umount "$TRACEFS" || echo "$TRACEFS could not be unmounted" >&2
    fi
    instance_unlock
}

instance_eventually() { # COMMAND...
    for _ in {1..50}; do
        # In a trap a bare return would give the status from before it.
        "$@" 2>/dev/null && return 0
        sleep 0.1
    done
    return 1
}

# The device's number as tracepoints have it: 12 bits and 20 bits.
instance_device() { # KERNEL NAME
    local major minor
    IFS=: read -r major minor <"/sys/class/block/$1/dev" || return
    echo $((major << 20 | minor))
}

# Makes the instance, and mounts tracefs for it if need be.
instance_claim() {
    instance_lock
    if [[ ! -d $TRACEFS/instances ]] && ! mount -t tracefs "$INSTANCE_MOUNT" "$TRACEFS"; then
        die "tracefs can't be mounted on $TRACEFS; this needs root and a kernel with CONFIG_TRACING"
    fi
    INSTANCE=$TRACEFS/instances/iosonar-lab-$$
    mkdir "$INSTANCE" || die "$INSTANCE can't be made; the kernel lacks memory, or this is not root"
    instance_unlock
}
