//! Memory of the machine that a run may take.

use iosonar_host::Root;
use iosonar_load::Room;

/// Memory that filters may take for requests they hold.
pub fn filter_room(root: &Root) -> Room {
    available_memory(root).map_or(Room::default(), |bytes| Room::of_bytes(usable(bytes)))
}

/// `MemAvailable` of `/proc/meminfo`, in bytes; `None` where it cannot be read.
pub(super) fn available_memory(root: &Root) -> Option<u64> {
    let text = root.read("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// Share of available memory that a run may take.
pub(super) fn usable(available: u64) -> u64 {
    available / 10 * 6
}
