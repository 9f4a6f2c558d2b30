//! Faults found by verification: one line each in `faults.jsonl`, and their counts in `run.json`.

use crate::Stalls;
use iosonar_plan::{Nanos, SECTOR};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Maximum number of faults listed. Counts are complete.
pub const MOST_FAULTS: usize = 100_000;

/// Maximum number of faults whose bytes are kept, if the plan requests that.
pub const MOST_DUMPS: usize = 100;

/// Number of times a bad place is read again.
pub const READS_AGAIN: usize = 3;

/// Kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultClass {
    /// All sectors hold the content from before an acknowledged write.
    Lost,
    /// A read returned an older version; a later read of the same place returned the right one.
    Stale,
    /// A version that a read had seen superseded is back.
    Reverted,
    /// Some sectors hold the write, the others the previous content; the borders are multiples of 4096 bytes.
    TornPage,
    /// The same with other borders.
    TornSector,
    /// One sector holds the first bytes of one version and the rest of another.
    TornInside,
    /// A write of another place is here, and missing there.
    Misdirected,
    /// A write of another place is here, and also there.
    Duplicated,
    /// Two places hold each other's content.
    Swapped,
    /// A write of another target of this run.
    OtherTarget,
    /// A write of another run.
    OtherRun,
    /// At most 64 bits differ from the written data.
    Flipped,
    /// More bits differ.
    Corrupted,
    /// Only the header of the sector differs, in at most 64 bytes.
    HeaderDamaged,
    /// All bytes are zero.
    Zeroed,
    /// All bytes are 0xFF.
    Ones,
    /// Anything else.
    Foreign,
    /// The read reported success but transferred nothing into memory.
    Untransferred,
    /// A sector outside all requests of the run changed.
    Phantom,
    /// Fewer bytes than requested, with success.
    Short,
    /// After a crash: a write that was durable is missing.
    FlushViolated,
    /// After a crash: a write that was never submitted is there.
    UnwrittenAppeared,
    /// Reading the place failed.
    Unreadable,
}

impl FaultClass {
    /// Every class, in the order of tables.
    pub const ALL: [FaultClass; 23] = [
        FaultClass::Lost,
        FaultClass::Stale,
        FaultClass::Reverted,
        FaultClass::TornPage,
        FaultClass::TornSector,
        FaultClass::TornInside,
        FaultClass::Misdirected,
        FaultClass::Duplicated,
        FaultClass::Swapped,
        FaultClass::OtherTarget,
        FaultClass::OtherRun,
        FaultClass::Flipped,
        FaultClass::Corrupted,
        FaultClass::HeaderDamaged,
        FaultClass::Zeroed,
        FaultClass::Ones,
        FaultClass::Foreign,
        FaultClass::Untransferred,
        FaultClass::Phantom,
        FaultClass::Short,
        FaultClass::FlushViolated,
        FaultClass::UnwrittenAppeared,
        FaultClass::Unreadable,
    ];

    /// Returns the word in JSON and tables.
    pub fn name(self) -> &'static str {
        match self {
            FaultClass::Lost => "lost",
            FaultClass::Stale => "stale",
            FaultClass::Reverted => "reverted",
            FaultClass::TornPage => "torn-page",
            FaultClass::TornSector => "torn-sector",
            FaultClass::TornInside => "torn-inside",
            FaultClass::Misdirected => "misdirected",
            FaultClass::Duplicated => "duplicated",
            FaultClass::Swapped => "swapped",
            FaultClass::OtherTarget => "other-target",
            FaultClass::OtherRun => "other-run",
            FaultClass::Flipped => "flipped",
            FaultClass::Corrupted => "corrupted",
            FaultClass::HeaderDamaged => "header-damaged",
            FaultClass::Zeroed => "zeroed",
            FaultClass::Ones => "ones",
            FaultClass::Foreign => "foreign",
            FaultClass::Untransferred => "untransferred",
            FaultClass::Phantom => "phantom",
            FaultClass::Short => "short",
            FaultClass::FlushViolated => "flush-violated",
            FaultClass::UnwrittenAppeared => "unwritten-appeared",
            FaultClass::Unreadable => "unreadable",
        }
    }
}

impl fmt::Display for FaultClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Identifies a write of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WriteId {
    /// Number of its target in the plan.
    pub target: u16,
    /// Phase, from 0.
    pub phase: u16,
    /// Pass of the phase, from 0.
    pub pass: u32,
    /// Number of the request in its pass, from 0.
    pub sequence: u64,
}

/// Kind of read that found a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FoundBy {
    /// A read of the workload.
    Read,
    /// The check before a write.
    BeforeWrite,
    /// Reading back after a write.
    AfterWrite,
    /// The scan at the end.
    Final,
}

/// Result of a later read of the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadAgain {
    /// The same data.
    Same,
    /// The expected data.
    Right,
    /// Other wrong data.
    Different,
    /// The place was written meanwhile.
    Superseded,
    /// The read failed.
    Failed,
    /// The place was not read again.
    NotRead,
}

impl ReadAgain {
    /// Whether reading the place once more is pointless.
    pub fn is_settled(self) -> bool {
        matches!(self, ReadAgain::Right | ReadAgain::Superseded)
    }
}

/// A write related to a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultWrite {
    /// Identity of the write.
    #[serde(flatten)]
    pub id: WriteId,
    /// First byte on the target; absent if its record was not found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Length in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// Submission time, on the run's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitted: Option<Nanos>,
    /// Time of acknowledgement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<Nanos>,
}

/// How the bytes of a sector differ from the written ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damaged {
    /// Number of differing bits.
    pub bits: u32,
    /// Number of differing bytes.
    pub bytes: u16,
    /// Offset of the first differing byte in the sector.
    pub first: u16,
    /// Offset of the last differing byte.
    pub last: u16,
}

/// A fault: the longest run of sectors, found by one read, with the same kind of fault and the same origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Kind.
    pub class: FaultClass,
    /// Number of the target.
    pub target: u16,
    /// First byte on the target.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
    /// Kind of read that found it.
    pub found_by: FoundBy,
    /// Request that read it; absent for the final scan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<WriteId>,
    /// Submission time of the read.
    pub submitted: Nanos,
    /// Completion time of the read.
    pub completed: Nanos,
    /// The write expected here; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<FaultWrite>,
    /// The write whose data is there instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<FaultWrite>,
    /// Number of writes of the place after the found one, up to and including the expected one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions_older: Option<u64>,
    /// Byte address in the header found, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub belongs_at: Option<u64>,
    /// Run id in the header found, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<u64>,
    /// How the first bad sector differs from the written data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damaged: Option<Damaged>,
    /// For `torn-inside`: end of the first version in the sector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torn_at: Option<u16>,
    /// For torn writes: the part present: `prefix`, `suffix`, `hole` or `other`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torn: Option<TornPattern>,
    /// First bytes of the first bad sector, in hexadecimal, if they are unknown data.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub first_bytes: String,
    /// Entropy of the first bad sector, in hundredths of a bit per byte, if its content is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entropy: Option<u16>,
    /// Content found instead of the only write of the place: `zeros`, `foreign`, or `earlier-run` with its `run_id`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Results of reading the place again: at once, 100 ms and 1 s later.
    pub again: [ReadAgain; READS_AGAIN],
    /// Only the first read was wrong, and not with an older version: the transfer failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub transient: bool,
    /// Other possible classes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_possible: Vec<FaultClass>,
}

/// Part of a torn write that is present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TornPattern {
    /// Start.
    Prefix,
    /// End.
    Suffix,
    /// Start and end.
    Hole,
    /// Anything else.
    Other,
}

/// Bytes of a fault.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FaultBytes {
    /// Line number in the list of faults, from 1.
    pub number: usize,
    /// Expected content of its sectors; empty if unknown.
    pub expected: Vec<u8>,
    /// Content found; empty if nothing was read.
    pub found: Vec<u8>,
}

/// Verification results.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Verified {
    /// Modes, in the plan's words.
    pub modes: String,
    /// Sectors compared with their permitted content, each counted once.
    pub checked: u64,
    /// Comparisons of sectors already compared before.
    pub checked_again: u64,
    /// Memory was insufficient to track all checked sectors: `checked` is a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checked_at_least: bool,
    /// Sectors that held parts of several concurrent writes, as the access method allows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub mixed: u64,
    /// Sectors read but not written by the run, so that their expected content is unknown.
    pub unwritten: u64,
    /// Sectors read after their state had been given up.
    pub unknown: u64,
    /// Sectors whose state had been given up by the end, to limit memory.
    pub given_up: u64,
    /// Memory for the state of sectors, in bytes, at the end.
    pub memory: u64,
    /// Faults by class.
    pub faults: BTreeMap<FaultClass, FaultCount>,
    /// The first fault of each class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<Fault>,
    /// Faults beyond those listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_listed: u64,
    /// Reads added by verification during the workload.
    pub added_reads: u64,
    /// Bytes of the added reads.
    pub added_bytes: u64,
    /// Waits of due requests for memory, because reads had still to be checked: number and total time.
    #[serde(default, skip_serializing_if = "no_stalls")]
    pub stalls: Stalls,
    /// Results of the final scan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scan: Option<ScanFacts>,
    /// Survival of writes, if a crash was examined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash: Option<CrashFacts>,
    /// Comparison of sectors that the run has not written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<OutsideFacts>,
    /// Devices that lost all writes since some moment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingWrites>,
}

/// Writes that survived a crash, by the guarantee they had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CrashFacts {
    /// Durable writes, acknowledged and either flushed or with FUA: they, or later writes over them, must be there.
    pub durable: u64,
    /// Durable writes that are missing.
    pub missing: u64,
    /// Durable writes of which nothing was read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub durable_not_read: u64,
    /// Acknowledged writes without a flush: each may be there or not.
    pub not_durable: Survival,
    /// Writes that were in flight.
    pub in_flight: Survival,
    /// Writes that had failed.
    pub failed: Survival,
    /// Acknowledged, unflushed writes that are present although one acknowledged before them is lost. A flush would
    /// have kept the order.
    pub reordered: u64,
    /// Unit of atomicity in bytes.
    pub unit: u64,
    /// Sectors with a write of the run that has no record: it was submitted after the last one.
    pub unrecorded: u64,
    /// Source of the acknowledgements.
    pub known_by: KnownBy,
}

/// How acknowledgements before a crash are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KnownBy {
    /// The run ended normally: its records are complete.
    #[default]
    Records,
    /// The run was killed; its journal supplements its records.
    Journal,
    /// The run was killed and had no journal: requests submitted shortly before its last record, and those without a
    /// record, count as in flight.
    LastRecord,
}

/// Fate of writes that may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Survival {
    /// Completely present, except where overwritten.
    pub there: u64,
    /// The previous content is present.
    pub lost: u64,
    /// Partly present.
    pub torn: u64,
    /// Completely overwritten.
    pub overwritten: u64,
    /// Not read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_read: u64,
}

impl CrashFacts {
    /// Sum with those of another device.
    #[must_use]
    pub fn with(self, other: CrashFacts) -> CrashFacts {
        CrashFacts {
            durable: self.durable + other.durable,
            missing: self.missing + other.missing,
            durable_not_read: self.durable_not_read + other.durable_not_read,
            not_durable: self.not_durable.with(other.not_durable),
            in_flight: self.in_flight.with(other.in_flight),
            failed: self.failed.with(other.failed),
            reordered: self.reordered + other.reordered,
            unit: self.unit.max(other.unit),
            unrecorded: self.unrecorded + other.unrecorded,
            known_by: self.known_by,
        }
    }
}

impl Survival {
    /// Sum of both.
    #[must_use]
    fn with(self, other: Survival) -> Survival {
        Survival {
            there: self.there + other.there,
            lost: self.lost + other.lost,
            torn: self.torn + other.torn,
            overwritten: self.overwritten + other.overwritten,
            not_read: self.not_read + other.not_read,
        }
    }

    /// Total.
    pub fn total(&self) -> u64 {
        self.there + self.lost + self.torn + self.overwritten + self.not_read
    }
}

/// A device that lost all writes since some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingWrites {
    /// Number of the first target on the device.
    pub target: u16,
    /// Acknowledgement time of the last write present, on the run's clock; absent if no write is present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Nanos>,
    /// Number of writes acknowledged later.
    pub writes: u64,
}

/// Sectors expected to be the same before the run and at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OutsideFacts {
    /// Sectors read before the run: neighbours of the written range, and samples.
    pub remembered: u64,
    /// Those that the run has not written and that could be read again.
    pub compared: u64,
}

/// Number of faults of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FaultCount {
    /// Faults.
    pub faults: u64,
    /// Sectors of the faults.
    pub sectors: u64,
}

/// Results of the final scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ScanFacts {
    /// Start time, on the run's clock.
    pub start: Nanos,
    /// End time.
    pub end: Nanos,
    /// Bytes read.
    pub bytes: u64,
    /// Chunks of 64 KiB written by the run.
    pub chunks: u64,
    /// Chunks read.
    pub read_chunks: u64,
    /// Chunks with a fault.
    pub bad_chunks: u64,
    /// Bad sectors, including those that a read had found before, but not those that the run has not written.
    pub bad_sectors: u64,
    /// The scan was stopped early.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// Sectors in unreadable areas.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreadable: u64,
    /// Unreadable sectors that were not tried one by one: they lie between others, or too many reads had failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub untried: u64,
}

impl ScanFacts {
    /// Sum with the scan of another device.
    #[must_use]
    pub fn with(self, other: ScanFacts) -> ScanFacts {
        ScanFacts {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
            bytes: self.bytes + other.bytes,
            chunks: self.chunks + other.chunks,
            read_chunks: self.read_chunks + other.read_chunks,
            bad_chunks: self.bad_chunks + other.bad_chunks,
            bad_sectors: self.bad_sectors + other.bad_sectors,
            stopped: self.stopped || other.stopped,
            unreadable: self.unreadable + other.unreadable,
            untried: self.untried + other.untried,
        }
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

fn no_stalls(stalls: &Stalls) -> bool {
    stalls.count == 0
}

impl Verified {
    /// Number of faults of all classes, including unlisted ones.
    pub fn total(&self) -> u64 {
        self.faults.values().map(|count| count.faults).sum::<u64>() + self.not_listed
    }

    /// Whether nothing was compared.
    pub fn is_empty(&self) -> bool {
        self.checked + self.checked_again + self.total() == 0
            && self.outside.is_none_or(|outside| outside.compared == 0)
    }

    /// Counts a fault.
    pub fn count(&mut self, fault: &Fault) {
        let count = self.faults.entry(fault.class).or_default();
        if count.faults == 0 {
            self.first.push(fault.clone());
        }
        count.faults += 1;
        count.sectors += fault.length / SECTOR;
    }
}

/// Formats the lines of `faults.jsonl`.
pub fn to_lines(faults: &[Fault]) -> String {
    // Plain data always serialises.
    let line = |fault: &Fault| serde_json::to_string(fault).unwrap_or_default() + "\n";
    faults.iter().take(MOST_FAULTS).map(line).collect()
}

/// Parses such lines; invalid lines are skipped and counted.
pub fn of_lines(text: &str) -> (Vec<Fault>, u64) {
    let mut bad = 0;
    let mut read = |line: &str| serde_json::from_str::<Fault>(line).inspect_err(|_| bad += 1).ok();
    let faults = text.lines().filter(|line| !line.is_empty()).filter_map(&mut read).collect();
    (faults, bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_names_in_json_match_tables() {
        for class in FaultClass::ALL {
            assert_eq!(serde_json::to_string(&class).unwrap(), format!("\"{class}\""));
        }
    }
}
