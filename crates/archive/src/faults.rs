//! Faults that verification found: one line each in `faults.jsonl`, and their counts in `run.json`.

use crate::Stalls;
use iosonar_plan::{Nanos, SECTOR};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Most faults that are kept one by one. Counts are complete.
pub const MOST_FAULTS: usize = 100_000;

/// Faults whose bytes are kept, the first ones, where the plan wants that.
pub const MOST_DUMPS: usize = 100;

/// How often a bad place is read again.
pub const READS_AGAIN: usize = 3;

/// What kind of fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultClass {
    /// All sectors hold what was there before an acknowledged write.
    Lost,
    /// A read gave an older version; a later read of the same place gave the right one.
    Stale,
    /// A version that a read had seen superseded is back.
    Reverted,
    /// Some sectors of one write hold it, the others what was there before; the borders are multiples of 4096 bytes.
    TornPage,
    /// The same with other borders.
    TornSector,
    /// One sector holds the first bytes of one version and the rest of another.
    TornInside,
    /// A write of another place is here, and is not where it belongs.
    Misdirected,
    /// A write of another place is here, and there, too.
    Duplicated,
    /// Two places hold each other's content.
    Swapped,
    /// A write of another target of this run.
    OtherTarget,
    /// A write of another run.
    OtherRun,
    /// At most 64 bits differ from what was written.
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
    /// The read reported success and transferred nothing into the memory.
    Untransferred,
    /// A sector changed that no request of the run covers.
    Phantom,
    /// Fewer bytes than requested, with success.
    Short,
    /// After a crash: a write that was durable is missing.
    FlushViolated,
    /// After a crash: a write that was never submitted is there.
    UnwrittenAppeared,
    /// The place cannot be read.
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

    /// Its word in JSON and tables.
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

/// Names a write of a run.
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

/// Which read found a fault.
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

/// What a later read of the place gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadAgain {
    /// The same.
    Same,
    /// What it should hold.
    Right,
    /// Something else that is wrong, too.
    Different,
    /// The place was written meanwhile.
    Superseded,
    /// An error.
    Failed,
    /// There was none.
    NotRead,
}

impl ReadAgain {
    /// Whether nothing is learned by reading the place once more.
    pub fn is_settled(self) -> bool {
        matches!(self, ReadAgain::Right | ReadAgain::Superseded)
    }
}

/// A write that concerns a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultWrite {
    /// Which one.
    #[serde(flatten)]
    pub id: WriteId,
    /// Its first byte on the target; absent where its record was not found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Its bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// When it was submitted, on the run's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitted: Option<Nanos>,
    /// When it was acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<Nanos>,
}

/// How the bytes of a sector differ from those that were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damaged {
    /// Bits that differ.
    pub bits: u32,
    /// Bytes that differ.
    pub bytes: u16,
    /// The first of them, from the start of the sector.
    pub first: u16,
    /// The last.
    pub last: u16,
}

/// A fault: the longest run of sectors that one read found with one kind of fault of one origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Its kind.
    pub class: FaultClass,
    /// Number of the target.
    pub target: u16,
    /// First byte on the target.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// Which kind of read found it.
    pub found_by: FoundBy,
    /// The request that read it; absent for the scan at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<WriteId>,
    /// When the read was submitted.
    pub submitted: Nanos,
    /// When it completed.
    pub completed: Nanos,
    /// The write that the place should hold; absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<FaultWrite>,
    /// The write whose data is there instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<FaultWrite>,
    /// Writes of the place that lie between the found and the expected one, and the expected one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions_older: Option<u64>,
    /// Address in the header of what was found, in bytes, where it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub belongs_at: Option<u64>,
    /// Run id in the header of what was found, where it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<u64>,
    /// How the first bad sector differs from what was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damaged: Option<Damaged>,
    /// Of `torn-inside`: where the first version ends, from the start of the sector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torn_at: Option<u16>,
    /// Of torn writes: which part is there: `prefix`, `suffix`, `hole` or `other`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torn: Option<TornPattern>,
    /// The first bytes of the first bad sector, as hexadecimal digits, where they are not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub first_bytes: String,
    /// Entropy of the first bad sector, in hundredths of a bit for each byte, where its content is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entropy: Option<u16>,
    /// What is there instead of the only write of the place: `zeros`, `foreign`, or `earlier-run` with its `run_id`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// What reading the place again gave: at once, 100 ms and 1 s later.
    pub again: [ReadAgain; READS_AGAIN],
    /// Only the first read was wrong, and not by an older version: the transfer failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub transient: bool,
    /// What else it could be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_possible: Vec<FaultClass>,
}

/// Which part of a torn write is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TornPattern {
    /// Its beginning.
    Prefix,
    /// Its end.
    Suffix,
    /// Its beginning and its end.
    Hole,
    /// Anything else.
    Other,
}

/// The bytes of a fault.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FaultBytes {
    /// Number of its line in the list of faults, from 1.
    pub number: usize,
    /// What its sectors should hold; empty where that is not known.
    pub expected: Vec<u8>,
    /// What they hold; empty where nothing was read.
    pub found: Vec<u8>,
}

/// What verification did and found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Verified {
    /// What was checked, and when: the plan's words.
    pub modes: String,
    /// Sectors that were compared with what they may hold, each counted once.
    pub checked: u64,
    /// Comparisons of sectors that had been compared before.
    #[serde(default)]
    pub checked_again: u64,
    /// Memory did not suffice to tell all checked sectors apart: `checked` is a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checked_at_least: bool,
    /// Sectors that held parts of several writes that were in flight together, as the access method allows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub mixed: u64,
    /// Sectors that were read and that the run had not written: nobody knows what they should hold.
    pub unwritten: u64,
    /// Sectors that were read and whose state had been given up.
    pub unknown: u64,
    /// Sectors whose state had been given up at the end, because memory was limited.
    pub given_up: u64,
    /// Memory for what sectors may hold, in bytes, at the end.
    pub memory: u64,
    /// Faults of each class.
    pub faults: BTreeMap<FaultClass, FaultCount>,
    /// The first fault of each class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<Fault>,
    /// Faults beyond those that are kept one by one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_listed: u64,
    /// Reads that the verification added while requests went on.
    #[serde(default)]
    pub added_reads: u64,
    /// Their bytes.
    #[serde(default)]
    pub added_bytes: u64,
    /// How often and how long requests that were due waited until memory was free, because reads had still to be checked.
    #[serde(default, skip_serializing_if = "no_stalls")]
    pub stalls: Stalls,
    /// Of the scan at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scan: Option<ScanFacts>,
    /// What survived, where a crash was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash: Option<CrashFacts>,
    /// Of sectors that the run has not written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<OutsideFacts>,
    /// Of each device that lost all writes since some moment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingWrites>,
}

/// What survived a crash: writes, by what had to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CrashFacts {
    /// Writes that had to be there, or what was written over them since: acknowledged, and flushed or with force unit access.
    pub durable: u64,
    /// Those of them that are not.
    pub missing: u64,
    /// Those of them of which nothing was read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub durable_not_read: u64,
    /// Acknowledged writes that were not flushed: each may be there or not.
    pub not_durable: Survival,
    /// Writes that were in flight.
    pub in_flight: Survival,
    /// Writes that had failed.
    pub failed: Survival,
    /// Of acknowledged writes that were not flushed: those that are there though one that was acknowledged before them is lost. A
    /// flush would have kept the order.
    pub reordered: u64,
    /// Bytes that are written wholly or not at all.
    pub unit: u64,
    /// Sectors that hold a write of the run of which there is no record: it was submitted after the last one.
    pub unrecorded: u64,
    /// How it is known which writes were acknowledged.
    pub known_by: KnownBy,
}

/// How it is known which writes were acknowledged before a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KnownBy {
    /// The run came to an end: its records are complete.
    #[default]
    Records,
    /// The run was killed, and its journal has what its records lack.
    Journal,
    /// The run was killed and had no journal: what was submitted shortly before its last record, and what has no record, counts as
    /// in flight.
    LastRecord,
}

/// What became of writes that need not be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Survival {
    /// Wholly there, as far as nothing was written over them.
    pub there: u64,
    /// The place holds what was there before.
    pub lost: u64,
    /// There in part.
    pub torn: u64,
    /// Written over, everywhere.
    pub overwritten: u64,
    /// Not read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_read: u64,
}

impl CrashFacts {
    /// The same together with those of another device.
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
    /// The same together with others.
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

    /// All of them.
    pub fn total(&self) -> u64 {
        self.there + self.lost + self.torn + self.overwritten + self.not_read
    }
}

/// All writes of a device since some moment are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingWrites {
    /// Number of the first target on that device.
    pub target: u16,
    /// When the last write that is there was acknowledged, on the run's clock; absent where none is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Nanos>,
    /// Writes that were acknowledged later.
    pub writes: u64,
}

/// Sectors that were to be the same before the run and at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OutsideFacts {
    /// Sectors that were read before the run: those next to what it was to write, and samples.
    pub remembered: u64,
    /// Those of them that the run has not written and that could be read again.
    pub compared: u64,
}

/// How many faults of a class there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FaultCount {
    /// Faults.
    pub faults: u64,
    /// Their sectors.
    pub sectors: u64,
}

/// What the scan at the end read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ScanFacts {
    /// When it started, on the run's clock.
    pub start: Nanos,
    /// When it ended.
    pub end: Nanos,
    /// Bytes that were read.
    pub bytes: u64,
    /// Chunks of 64 KiB that the run had written.
    pub chunks: u64,
    /// Those that were read.
    pub read_chunks: u64,
    /// Those with a fault.
    pub bad_chunks: u64,
    /// Sectors that were bad, also those that a read had found bad before; not those that the run has not written.
    #[serde(default)]
    pub bad_sectors: u64,
    /// It did not come to its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// Sectors in areas that could not be read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreadable: u64,
    /// Those of them that were not tried one by one: they lie between others, or too many reads had failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub untried: u64,
}

impl ScanFacts {
    /// The same together with the scan of another device.
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
    /// Faults of all classes, and those that are not listed.
    pub fn total(&self) -> u64 {
        self.faults.values().map(|count| count.faults).sum::<u64>() + self.not_listed
    }

    /// Whether nothing at all was compared.
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

/// The lines of `faults.jsonl`.
pub fn to_lines(faults: &[Fault]) -> String {
    // Plain data becomes JSON.
    let line = |fault: &Fault| serde_json::to_string(fault).unwrap_or_default() + "\n";
    faults.iter().take(MOST_FAULTS).map(line).collect()
}

/// The faults of such lines; what is no line of this version is skipped and counted.
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
    fn words_in_json_are_those_in_tables() {
        for class in FaultClass::ALL {
            assert_eq!(serde_json::to_string(&class).unwrap(), format!("\"{class}\""));
        }
    }
}
