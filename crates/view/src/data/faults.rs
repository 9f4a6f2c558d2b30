//! Faults one by one, and their counts over places and time.

use super::csv::{Csv, Out, row};
use iosonar_archive::{Fault, FaultClass, FoundBy};
use std::collections::BTreeMap;
use std::io;

/// A row for each fault, in the order of the list.
pub(super) fn list(faults: &[Fault], out: &mut Out<'_>) -> io::Result<()> {
    let columns = [
        "target",
        "offset_bytes",
        "length_bytes",
        "class",
        "found_by",
        "found_ns",
        "expected_phase",
        "expected_pass",
        "expected_request",
        "acknowledged_ns",
        "found_request",
        "versions_older",
        "belongs_at_bytes",
        "transient",
    ];
    let mut csv = Csv::new(out, &columns)?;
    for fault in faults {
        let expected = fault.expected.map(|write| write.id);
        row!(
            csv,
            u64::from(fault.target),
            fault.offset,
            fault.length,
            fault.class.name(),
            found_by(fault.found_by),
            fault.completed.0,
            expected.map(|id| u64::from(id.phase)),
            expected.map(|id| u64::from(id.pass)),
            expected.map(|id| id.sequence),
            fault.expected.and_then(|write| write.acknowledged).map(|time| time.0),
            fault.found.map(|write| write.id.sequence),
            fault.versions_older,
            fault.belongs_at,
            u64::from(fault.transient),
        )?;
    }
    Ok(())
}

fn found_by(read: FoundBy) -> &'static str {
    match read {
        FoundBy::Read => "read",
        FoundBy::BeforeWrite => "before-write",
        FoundBy::AfterWrite => "after-write",
        FoundBy::Final => "final",
    }
}

/// Maximum number of parts of either axis.
const PARTS: u64 = 1000;

/// Counts of each class: over the places of each target (`over` is `place`, in bytes), and over the time (`time`, in
/// nanoseconds, without target). Parts without faults have no row.
pub(super) fn counts(faults: &[Fault], out: &mut Out<'_>) -> io::Result<()> {
    let mut csv = Csv::new(out, &["over", "target", "from", "to", "class", "faults", "bytes"])?;
    let mut places = BTreeMap::new();
    for target in faults.iter().map(|fault| fault.target).collect::<std::collections::BTreeSet<_>>() {
        let of_target = || faults.iter().filter(|fault| fault.target == target);
        add(&mut places, Some(u64::from(target)), of_target, |fault| fault.offset);
    }
    let mut times = BTreeMap::new();
    add(&mut times, None, || faults.iter(), |fault| fault.completed.0);
    for (over, parts) in [("place", places), ("time", times)] {
        for ((target, from, to, class), (count, bytes)) in parts {
            row!(csv, over, target, from, to, class.name(), count, bytes)?;
        }
    }
    Ok(())
}

/// Target, begin, end and class of a part, with its faults and their bytes.
type Parts = BTreeMap<(Option<u64>, u64, u64, FaultClass), (u64, u64)>;

fn add<'a, I: Iterator<Item = &'a Fault>>(
    parts: &mut Parts,
    target: Option<u64>,
    faults: impl Fn() -> I,
    at: impl Fn(&Fault) -> u64,
) {
    // A power of two, so that parts begin at round numbers.
    let width = (faults().map(&at).max().unwrap_or(0) / PARTS + 1).next_power_of_two();
    for fault in faults() {
        let from = at(fault) / width * width;
        let (count, bytes) =
            parts.entry((target, from, from.saturating_add(width), fault.class)).or_default();
        *count += 1;
        *bytes += fault.length;
    }
}
