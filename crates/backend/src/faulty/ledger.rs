//! The injected faults: the truth that a verification is compared with.

use iosonar_plan::{Extent, InjectionKind, Nanos, Op, SECTOR};
use serde::{Serialize, Serializer};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most entries that are kept.
const MOST: usize = 1_000_000;

/// Bytes of a sector that an entry keeps: as many as a header has.
pub(super) const HEADER: usize = 64;

/// All injections of a run, in a list shared by clones.
#[derive(Debug, Clone, Default)]
pub struct Ledger(Arc<Mutex<List>>);

#[derive(Debug, Default)]
struct List {
    entries: Vec<Entry>,
    /// Entries that did not fit.
    dropped: u64,
}

/// Number of an entry; `None` if it did not fit.
pub(super) type EntryNumber = Option<u32>;

/// One injected fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Kind of the fault.
    pub kind: InjectionKind,
    /// Index of the target in the plan.
    pub target: u16,
    /// The operation that was hit.
    pub op: Op,
    /// Its number among all reads, writes, discards and write zeroes of the target, from 0; of crashes and ignored flushes among the
    /// operations that the kind suits. Several issuing loops count together.
    pub number: u64,
    /// Its first sector.
    pub sector: u64,
    /// Its number of sectors.
    pub sectors: u64,
    /// When the fault was made, on the clock of the backend.
    #[serde(rename = "time_ns", serialize_with = "number")]
    pub time: Nanos,
    /// When the operation completed.
    #[serde(rename = "completed_ns", serialize_with = "number_or_none")]
    pub completed: Option<Nanos>,
    /// Whether it was made: the operation that carries it succeeded, and the content differs from the right one.
    pub applied: bool,
    /// Another operation makes the content of the place uncertain: one that was in flight at the same time, or that failed.
    pub unclear: bool,
    /// The sectors of the operation that have, or returned, wrong content. `None` for duplicated and phantom writes: those of the
    /// operation are right.
    pub place: Option<Hit>,
    /// The sectors elsewhere with wrong content: of misdirected, duplicated, swapped and phantom writes.
    pub destination: Option<Hit>,
    /// First byte that may differ and the first after the last one, from the start of the place; `None` means all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<(u64, u64)>,
    /// Bits that differ, from the start of the place; bit 0 is the lowest of the first byte. Only of flipped bits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bits: Vec<u64>,
    /// Start of the first sector of the place, or else of the destination, as it should be.
    pub due: Header,
    /// The same in its present state, or as it was returned.
    pub held: Header,
    /// Survival, at a crash, of the writes that were only in the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub survived: Option<Survived>,
    /// Writes that an ignored flush would have brought to stable storage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unflushed: Option<Unflushed>,
}

/// Fate of writes at a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Survived {
    /// Acknowledged writes that were in the volatile cache.
    pub cached: u64,
    /// Writes in flight.
    pub in_flight: u64,
    /// Number of both that the device holds wholly.
    pub whole: u64,
    /// Number of writes that survived in part.
    pub in_part: u64,
    /// Number of lost writes.
    pub lost: u64,
}

/// Writes in a volatile cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Unflushed {
    /// Number of writes.
    pub writes: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A run of sectors, and its later state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// First sector.
    pub sector: u64,
    /// Number of sectors.
    pub sectors: u64,
    /// When the first read completed that started after the fault was made, and returned some of it.
    #[serde(rename = "read_at_ns", serialize_with = "number_or_none")]
    pub read_at: Option<Nanos>,
    /// When the last of these sectors was overwritten, discarded or zeroed.
    #[serde(rename = "superseded_at_ns", serialize_with = "number_or_none")]
    pub superseded_at: Option<Nanos>,
}

fn number<S: Serializer>(time: &Nanos, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(time.0)
}

fn number_or_none<S: Serializer>(time: &Option<Nanos>, to: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.0).serialize(to)
}

/// The first bytes of a sector; 128 hexadecimal digits in JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Header(pub [u8; HEADER]);

impl Header {
    pub(super) fn of(sector: &[u8]) -> Header {
        let mut bytes = [0; HEADER];
        let length = sector.len().min(HEADER);
        bytes[..length].copy_from_slice(&sector[..length]);
        Header(bytes)
    }
}

impl std::fmt::Display for Header {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for Header {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for Header {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl Entry {
    /// An entry whose outcome is unknown yet.
    pub(super) fn new(
        kind: InjectionKind,
        target: u16,
        number: u64,
        op: Op,
        extent: Extent,
        time: Nanos,
    ) -> Entry {
        Entry {
            kind,
            target,
            op,
            number,
            sector: extent.offset / SECTOR,
            sectors: extent.length / SECTOR,
            time,
            completed: None,
            applied: false,
            unclear: false,
            place: None,
            destination: None,
            bytes: None,
            bits: Vec::new(),
            due: Header::of(&[]),
            held: Header::of(&[]),
            survived: None,
            unflushed: None,
        }
    }
}

impl Hit {
    pub(super) fn of(extent: Extent) -> Hit {
        let (sector, sectors) = (extent.offset / SECTOR, extent.length / SECTOR);
        Hit { sector, sectors, read_at: None, superseded_at: None }
    }

    /// Whether it has one of these sectors.
    pub fn has(&self, sectors: std::ops::Range<u64>) -> bool {
        self.sector < sectors.end && sectors.start < self.sector + self.sectors
    }
}

impl Entry {
    /// Whether a read can still find it: it was made, and some of it is still there.
    pub fn is_visible(&self) -> bool {
        let hits = self.place.iter().chain(&self.destination);
        self.applied && hits.into_iter().any(|hit| hit.superseded_at.is_none())
    }
}

impl Ledger {
    /// A ledger without entries.
    pub fn new() -> Ledger {
        Ledger::default()
    }

    fn list(&self) -> MutexGuard<'_, List> {
        // An entry is whole or is not there.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All entries so far, in the order in which they were made.
    pub fn entries(&self) -> Vec<Entry> {
        self.list().entries.clone()
    }

    /// Injections that did not fit into the list.
    pub fn dropped(&self) -> u64 {
        self.list().dropped
    }

    /// Writes each entry as one line of JSON.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write_lines(&self, out: &mut impl Write) -> io::Result<()> {
        for entry in &self.list().entries {
            serde_json::to_writer(&mut *out, entry)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    pub(super) fn add(&self, entry: Entry) -> EntryNumber {
        let mut list = self.list();
        if list.entries.len() >= MOST {
            list.dropped += 1;
            return None;
        }
        list.entries.push(entry);
        Some(list.entries.len() as u32 - 1)
    }

    pub(super) fn change(&self, number: EntryNumber, change: impl FnOnce(&mut Entry)) {
        let Some(number) = number else { return };
        if let Some(entry) = self.list().entries.get_mut(number as usize) {
            change(entry);
        }
    }
}
