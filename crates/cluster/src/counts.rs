//! Counts of the records of a part, on the clock of the run, for a result without these records.

use crate::clock::ClockMap;
use crate::merge::{PartClock, PartResult, for_each_moved};
use crate::protocol::RunClock;
use iosonar_analyze::{Counted, Detail, Limits, Partial, merge_parts};
use iosonar_archive::{Archive, ArchiveWriter};
use std::fmt::Display;
use std::io;
use std::path::Path;

/// Scope of the counting for a run with this number of targets.
pub(crate) fn counted(targets: usize, limits: &Limits) -> Counted<'_> {
    Counted { targets, limits: Some(limits), diagrams: Some(Detail::Full) }
}

/// How the records of a part are counted.
#[derive(Debug)]
pub(crate) struct Counting {
    /// The clock of the run.
    pub(crate) clock: RunClock,
    /// Limits of times that are counted.
    pub(crate) limits: Limits,
    /// Number of processes whose counts are merged.
    pub(crate) parts: usize,
}

/// Counts the records of the part in the directory `dir`, and keeps the counts beside them.
///
/// # Errors
/// Reading or writing failed.
pub(crate) fn count_part(dir: &Path, targets: &[u16], counting: &Counting) -> Result<(), String> {
    let archive = Archive::open(dir).map_err(not_counted)?;
    let writer = ArchiveWriter::resume(&archive);
    let counts = counts_of_part(archive, targets, counting)?;
    writer.write_counts(&counts.to_bytes()).map_err(not_counted)
}

fn not_counted(error: impl Display) -> String {
    format!("the records cannot be counted: {error}")
}

/// The counts of the records of a part.
///
/// # Errors
/// Reading failed.
pub(crate) fn counts_of_part(
    archive: Archive,
    targets: &[u16],
    counting: &Counting,
) -> Result<Partial, String> {
    let Counting { clock, limits, parts } = counting;
    let plan = archive.plan().clone();
    let part = PartResult {
        name: String::new(),
        host: None,
        targets: targets.to_vec(),
        info: archive.run().clone(),
        archive: Some(archive),
        clock: PartClock {
            map: ClockMap::of_known(clock.readings.as_ref(), clock.origin),
            here: clock.here,
            there: clock.there,
        },
        is_numbered: false,
        failed: None,
        unread: None,
    };
    let mut counts = Partial::one_of(*parts, counted(plan.targets.len(), limits));
    let mut number = 0;
    let end = for_each_moved(&plan, &part, &mut |record| {
        counts.add(number, &record);
        number += 1;
    })
    .map_err(not_counted)?;
    if end.damage.places > 0 {
        return Err(not_counted(end.damage));
    }
    Ok(counts.as_one_of(*parts))
}

/// Merges the counts of all parts. A part whose counts cannot be read does not affect the others: its `unread` is set.
pub(crate) fn merge_counts(targets: usize, limits: &Limits, parts: &mut [PartResult]) -> Vec<u8> {
    let counted = counted(targets, limits);
    let (merged, failed) = {
        let parts = &*parts;
        merge_parts(parts.len(), |number| {
            let part = &parts[number];
            part.archive.as_ref().map(|archive| counts_of(archive, &part.targets, counted)).transpose()
        })
    };
    for (number, error) in failed {
        parts[number].unread = Some(format!("its records cannot be counted ({error})"));
    }
    merged.unwrap_or_else(|| Partial::new(counted)).to_bytes()
}

/// The counts beside the records of a part, which are about its own targets only.
fn counts_of(archive: &Archive, targets: &[u16], counted: Counted<'_>) -> io::Result<Partial> {
    let own = Partial::stored(counted, &archive.counts().map_err(io::Error::other)?)?;
    match own.is_about(targets) {
        true => Ok(own),
        false => Err(io::Error::other("they are about targets of other hosts")),
    }
}
