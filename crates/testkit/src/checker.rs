//! Proves from times and ranges alone whether requests overlapped in place and time, or were reversed.
//!
//! It is independent of schedulers: its input may come from our records or from the kernel's trace.

use iosonar_archive::Record;
use iosonar_plan::{Extent, Op, Strong};
use std::collections::BTreeMap;

/// An observed access to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Number in the order of the source.
    pub sequence: u64,
    /// Read or write.
    pub op: Op,
    /// Place.
    pub extent: Extent,
    /// Start on any clock, in nanoseconds.
    pub from: u64,
    /// End on the same clock.
    pub to: u64,
}

impl Access {
    /// The access of a record, if it was submitted.
    pub fn of(record: &Record) -> Option<Access> {
        let (from, to) = (record.submitted?.0, record.completed?.0);
        Some(Access { sequence: record.sequence, op: record.op, extent: record.executed, from, to })
    }
}

/// Result of the check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Pairs of conflicting accesses that were in flight concurrently.
    pub overlapping: Vec<(u64, u64)>,
    /// Pairs of conflicting accesses of which the later in the source started first.
    pub reversed: Vec<(u64, u64)>,
    /// Accesses that started before an earlier one of the source, with or without a conflict.
    pub out_of_order: u64,
}

impl Verdict {
    /// Whether there are no overlapping and no reversed conflicts.
    pub fn is_clean(&self) -> bool {
        self.overlapping.is_empty() && self.reversed.is_empty()
    }
}

/// Compares every access with those that share a 64 KiB zone with it: exact, and fast enough for a whole load.
pub fn check(accesses: &[Access], strong: Strong) -> Verdict {
    let mut sorted = accesses.to_vec();
    sorted.sort_by_key(|a| a.sequence);
    let mut zones: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let mut verdict = Verdict::default();
    let mut latest = 0;
    for (index, access) in sorted.iter().enumerate() {
        verdict.out_of_order += u64::from(access.from < latest);
        latest = latest.max(access.from);
        let mut earlier: Vec<usize> = Vec::new();
        for zone in access.extent.offset >> 16..=(access.extent.end() - 1) >> 16 {
            let members = zones.entry(zone).or_default();
            earlier.extend_from_slice(members);
            members.push(index);
        }
        earlier.sort_unstable();
        earlier.dedup();
        for before in earlier.into_iter().map(|i| sorted[i]) {
            if before.extent.overlaps(access.extent) && strong.conflict(before.op, access.op) {
                judge(&before, access, &mut verdict);
            }
        }
    }
    verdict
}

fn judge(before: &Access, after: &Access, verdict: &mut Verdict) {
    let pair = (before.sequence, after.sequence);
    if before.from < after.to && after.from < before.to {
        verdict.overlapping.push(pair);
    }
    if after.from < before.from {
        verdict.reversed.push(pair);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(sequence: u64, op: Op, sector: u64, from: u64, to: u64) -> Access {
        Access { sequence, op, extent: Extent::from_sectors(sector, 8).unwrap(), from, to }
    }

    #[test]
    fn sees_overlaps_reversals_and_order() {
        use Op::{Read, Write};
        let clean = [access(0, Write, 0, 0, 10), access(1, Write, 4, 10, 20), access(2, Read, 100, 5, 9)];
        let verdict = check(&clean, Strong::AnyWrite);
        assert!(verdict.is_clean());
        assert_eq!(verdict.out_of_order, 1);
        let overlapping = [access(0, Write, 0, 0, 10), access(1, Read, 4, 9, 20)];
        assert_eq!(check(&overlapping, Strong::AnyWrite).overlapping, [(0, 1)]);
        assert!(check(&overlapping, Strong::WriteWrite).is_clean());
        let reversed = [access(0, Write, 0, 30, 40), access(1, Write, 4, 9, 20)];
        assert_eq!(check(&reversed, Strong::WriteWrite).reversed, [(0, 1)]);
    }
}
