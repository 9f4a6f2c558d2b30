//! The free space of a file system as text: classes of sizes like those of `e2freefrag` and of `freesp` in xfs_db, and
//! allocation groups.

use crate::maps::{counted, file_system, spread_of};
use iosonar_layout::{FreeReport, FreeSpace, GroupFree, SizeClass};
use iosonar_text::shown;
use iosonar_text::units::{bytes, grouped};
use std::io::{self, Write};

/// Maximum groups with a line each.
const MOST_GROUPS: usize = 20;
/// Columns of a bar for the whole free space.
const BAR: f64 = 20.0;

/// Writes the figures, a line for each class of sizes, and a line for each allocation group.
///
/// # Errors
/// Errors of `out`.
pub fn free_space(report: &FreeReport, out: &mut dyn Write) -> io::Result<()> {
    let FreeReport { path, volume, free, .. } = report;
    writeln!(out, "{}: {}", shown(path), file_system(volume))?;
    let ranges = counted(free.ranges(), "range");
    writeln!(out, "  free         {} ({} bytes) in {ranges}", bytes(free.bytes()), free.bytes())?;
    writeln!(out, "  statfs       {}", statfs(report))?;
    if let Some(spread) = spread_of(free.sizes()) {
        writeln!(out, "  range sizes  {spread}")?;
    }
    classes(free, out)?;
    free.groups().map_or(Ok(()), |groups| table_of_groups(&groups, out))
}

/// The free space as counted by the file system.
fn statfs(report: &FreeReport) -> String {
    let FreeReport { statfs_free, statfs_available, .. } = *report;
    let text = format!("{} free, {} available to users", bytes(statfs_free), bytes(statfs_available));
    let ranges = report.free.bytes();
    if statfs_free > ranges {
        return format!("{text}; {} are free and in no range", bytes(statfs_free - ranges));
    }
    let for_data = if report.is_synced { "" } else { " and for data that has no place yet" };
    match ranges - statfs_free {
        0 => text,
        held => format!("{text}; {} in free ranges are reserved for the file system{for_data}", bytes(held)),
    }
}

fn classes(free: &FreeSpace, out: &mut dyn Write) -> io::Result<()> {
    let classes = free.sizes().classes();
    if classes.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n        FROM        BELOW    RANGES        BYTES  % OF FREE")?;
    classes.iter().try_for_each(|class| writeln!(out, "{}", row(class, free.bytes())))
}

fn row(class: &SizeClass, all: u64) -> String {
    let SizeClass { from_bytes, extents, bytes: sum } = *class;
    let below = from_bytes.checked_mul(2).map_or("-".into(), bytes);
    let share = sum as f64 / all.max(1) as f64;
    let percent = match share * 100.0 {
        percent if percent < 0.005 => "<0.01".to_string(),
        percent => format!("{percent:.2}"),
    };
    let bar = "#".repeat((share * BAR).round() as usize);
    let line = format!(
        "{:>12} {below:>12} {:>9} {:>12} {percent:>10}  {bar}",
        bytes(from_bytes),
        grouped(extents),
        bytes(sum)
    );
    line.trim_end().to_string()
}

fn table_of_groups(groups: &[(u64, GroupFree)], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n          AG    RANGES         FREE      LARGEST")?;
    let mut line = |name: &str, group: &GroupFree| {
        let (ranges, free, largest) = (grouped(group.ranges), bytes(group.bytes), bytes(group.largest));
        writeln!(out, "{name:>12} {ranges:>9} {free:>12} {largest:>12}")
    };
    let (shown, others) = groups.split_at(groups.len().min(MOST_GROUPS));
    shown.iter().try_for_each(|(number, group)| line(&number.to_string(), group))?;
    let add = |sum: GroupFree, (_, group): &(u64, GroupFree)| GroupFree {
        ranges: sum.ranges + group.ranges,
        bytes: sum.bytes.saturating_add(group.bytes),
        largest: sum.largest.max(group.largest),
    };
    match others.len() {
        0 => Ok(()),
        n => line(&format!("{n} others"), &others.iter().fold(GroupFree::default(), add)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_layout::{Addresses, Groups, Volume};

    fn text(groups: u64, ranges: &[(u64, u64)], statfs_free: u64) -> String {
        let groups = (groups > 0).then_some(Groups { count: groups, bytes: 1 << 20 });
        let mut free = FreeSpace::new(groups);
        ranges.iter().for_each(|(start, length)| free.add(*start, *length));
        let volume = Volume {
            kind: "xfs".into(),
            mount_point: Some("/mnt".into()),
            source: Some("/dev/sdx".into()),
            block_bytes: 4096,
            groups,
            bytes: None,
            addresses: Addresses::Device,
        };
        let (path, is_synced, statfs_available) = ("/mnt/a\x1b".into(), true, statfs_free / 2);
        let report = FreeReport { path, volume, is_synced, statfs_free, statfs_available, free };
        let mut out = Vec::new();
        super::free_space(&report, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn classes_have_a_share_and_groups_their_largest_range() {
        let text = text(3, &[(4096, 4096), (65_536, 4096), (2 << 20, 1 << 19)], 1 << 19);
        assert_eq!(
            text,
            "/mnt/a\\u{1b}: xfs on /dev/sdx, mounted at /mnt, 3 allocation groups of 1.00 MiB\n  \
             free         520 KiB (532480 bytes) in 3 ranges\n  \
             statfs       512 KiB free, 256 KiB available to users; 8.00 KiB in free ranges are reserved for the file system\n  \
             range sizes  smallest 4.00 KiB, median 4.00 KiB, mean 173 KiB, largest 512 KiB\n\n        \
             FROM        BELOW    RANGES        BYTES  % OF FREE\n    \
             4.00 KiB     8.00 KiB         2     8.00 KiB       1.54\n     \
             512 KiB     1.00 MiB         1      512 KiB      98.46  ####################\n\n          \
             AG    RANGES         FREE      LARGEST\n           \
             0         2     8.00 KiB     4.00 KiB\n           \
             1         0          0 B          0 B\n           \
             2         1      512 KiB      512 KiB\n"
        );
    }

    #[test]
    fn shows_first_groups_and_sums_the_others() {
        let ranges: Vec<(u64, u64)> = (0..25).map(|n| (n << 20, 4096 << (n % 5))).collect();
        let text = text(25, &ranges, 0);
        let last = text.lines().last().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(last, "5 others 5 124 KiB 64.0 KiB", "{text}");
        assert!(text.contains("\n          19 ") && !text.contains("\n          20 "), "{text}");
    }

    #[test]
    fn reports_free_bytes_outside_ranges() {
        let text = text(0, &[(4096, 4096)], 12_288);
        assert!(
            text.contains("12.0 KiB free, 6.00 KiB available to users; 8.00 KiB are free and in no range"),
            "{text}"
        );
    }

    #[test]
    fn full_file_system_prints_no_table() {
        let text = text(0, &[], 0);
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.contains("in 0 ranges"), "{text}");
    }
}
