//! Counts of the records of a part, on the clock of the run, for a result without these records.

use crate::clock::ClockMap;
use crate::merge::{PartClock, PartResult, for_each_moved};
use crate::protocol::RunClock;
use iosonar_analyze::{Counted, Detail, Limits, Partial};
use iosonar_archive::{Archive, ArchiveWriter, COUNTS};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Longest file of counts: those of a part have some MiB.
const LONGEST: u64 = 32 << 20;

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
    let Counting { clock, limits, parts } = counting;
    let failed = |error: &dyn std::fmt::Display| format!("the records cannot be counted: {error}");
    let archive = Archive::open(dir).map_err(|error| failed(&error))?;
    let plan = archive.plan().clone();
    let writer = ArchiveWriter::resume(&archive);
    let part = PartResult {
        name: String::new(),
        host: None,
        targets: targets.to_vec(),
        info: archive.run().clone(),
        archive: Some(archive),
        clock: PartClock {
            map: clock
                .readings
                .as_ref()
                .map(|clock_of| ClockMap::of_facts(clock_of, clock.origin))
                .unwrap_or_default(),
            here: clock.here,
            there: clock.there,
        },
        is_numbered: false,
        failed: None,
        unread: None,
    };
    let mut counts = Partial::new(counted(plan.targets.len(), limits));
    let mut number = 0;
    for_each_moved(&plan, &part, &mut |record| {
        counts.add(number, &record);
        number += 1;
    })
    .map_err(|error| failed(&error))?;
    let mut json = Vec::new();
    counts.as_one_of(*parts).write_json(&mut json).map_err(|error| failed(&error))?;
    writer.write_counts(&json).map_err(|error| failed(&error))
}

/// Merges the counts of all parts, in their order. A part whose counts cannot be read does not affect the others: its `unread` is set.
///
/// # Errors
/// Writing failed.
pub(crate) fn merge_counts(targets: usize, limits: &Limits, parts: &mut [PartResult]) -> io::Result<Vec<u8>> {
    let mut counts = Partial::new(counted(targets, limits));
    for part in parts.iter_mut() {
        let Some(archive) = &part.archive else { continue };
        let own = |json: Vec<u8>| {
            let own = Partial::of_json(counted(targets, limits), &json)?;
            match own.is_about(&part.targets) {
                true => Ok(own),
                false => Err(io::Error::other("they are about targets of other hosts")),
            }
        };
        let merged = read(&archive.dir().join(COUNTS)).and_then(own).and_then(|own| counts.merge_like(own));
        if let Err(error) = merged {
            part.unread = Some(format!("its records cannot be counted ({error})"));
        }
    }
    let mut json = Vec::new();
    counts.write_json(&mut json)?;
    Ok(json)
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    let mut json = Vec::new();
    let read = File::open(file)?.take(LONGEST + 1).read_to_end(&mut json)?;
    match read as u64 > LONGEST {
        true => Err(io::Error::new(io::ErrorKind::InvalidData, "they are too long")),
        false => Ok(json),
    }
}
