//! Binary dump of time stamps: a separate format, because XDD's contains pointers to its options and only local time.
//!
//! All numbers are little-endian. The file is a head, entries of equal size, and a checksum:
//!
//! | Part | What |
//! |---|---|
//! | head | `IOSXDDTS`, version u32, byte order mark u32 = 0x01020304, size of an entry u32, target u32, queue thread u32, block size u64, request size u64, nanoseconds since 1970 at time zero u64, difference to the time server in nanoseconds i64, number of entries u64, length of the schema u32, length of the id u32, schema, id (both UTF-8) |
//! | entry | as the schema says: pass u32 from 0, op u8 (1 read, 2 write), 3 bytes 0, number u64, byte offset u64, length u64, result i64, start u64, end u64 in nanoseconds from time zero |
//! | checksum | FNV-1a u64 of everything before it |

use crate::facts::{RunClock, StampEntry};
use iosonar_archive::{Outcome, Record};
use iosonar_plan::{Extent, Nanos, Op};
use std::io::{self, Write};

const MAGIC: &[u8; 8] = b"IOSXDDTS";
const VERSION: u32 = 1;
const ORDER_MARK: u32 = 0x0102_0304;
const ENTRY: usize = 56;
const SUM: usize = 8;
const SCHEMA: &str =
    "pass u32, op u8, zero u8*3, number u64, offset u64, length u64, result i64, start_ns u64, end_ns u64";

/// Whether bytes start with the magic.
pub fn is_dump(begin: &[u8]) -> bool {
    begin.starts_with(MAGIC)
}

/// Head of a dump.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DumpHead {
    /// Number of the target.
    pub target: u16,
    /// Number of the queue thread among those of the target.
    pub queue_thread: u16,
    /// Bytes of a block.
    pub block_size: u64,
    /// Bytes of a request, as requested.
    pub request_size: u64,
    /// Text that identifies the run.
    pub id: String,
    /// Clock for absolute times.
    pub clock: RunClock,
}

/// A complete dump.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dump {
    /// Head.
    pub head: DumpHead,
    /// Entries in file order.
    pub entries: Vec<StampEntry>,
}

impl Dump {
    /// Converts the entries to records of one target; due times are the submission times, as the dump has no others.
    pub fn records(&self) -> impl Iterator<Item = Record> + '_ {
        self.entries.iter().map(|entry| {
            let extent = Extent { offset: entry.offset, length: entry.length };
            Record {
                sequence: entry.number,
                worker: self.head.queue_thread,
                pass: entry.pass,
                op: entry.op,
                outcome: if entry.bytes() == entry.length { Outcome::Completed } else { Outcome::Failed },
                load_time: entry.start,
                due: entry.start,
                submitted: Some(entry.start),
                completed: Some(entry.end),
                requested: extent,
                executed: extent,
                result: entry.result,
                ..Record::default()
            }
        })
    }

    /// End of the highest request.
    pub fn end(&self) -> u64 {
        self.entries.iter().map(|entry| entry.offset.saturating_add(entry.length)).max().unwrap_or(0)
    }
}

/// Why bytes are not a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DumpError {
    /// Wrong magic.
    #[error("this is no dump of time stamps: it does not start with IOSXDDTS")]
    Foreign,
    /// Unknown version: written by a later program, or damaged.
    #[error("this dump has version {0}, this program knows version {VERSION}")]
    Version(u32),
    /// Truncated.
    #[error("the dump is cut off: it has {has} bytes and needs {needs}")]
    CutOff {
        /// Bytes present.
        has: u64,
        /// Minimum number of bytes needed; `u64::MAX` if the dump's own numbers are invalid.
        needs: u64,
    },
    /// Trailing garbage.
    #[error("{0} bytes follow the end of the dump")]
    TooLong(u64),
    /// Changed after writing.
    #[error("the dump is damaged: its checksum is wrong")]
    Checksum,
    /// The checksum is right, but a field is invalid.
    #[error("the dump is damaged: {0}")]
    Field(&'static str),
}

impl Dump {
    /// Encodes the dump; [`read_dump`] returns the same dump.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut sum = Fnv::default();
        let mut bytes = head_bytes(&self.head, self.entries.len() as u64);
        self.entries.iter().for_each(|entry| bytes.extend(entry_bytes(entry)));
        sum.add(&bytes);
        bytes.extend(sum.0.to_le_bytes());
        bytes
    }
}

/// Writer of a dump. `out` should be buffered.
#[derive(Debug)]
pub struct DumpWriter<W> {
    out: W,
    sum: Fnv,
    announced: u64,
    written: u64,
}

impl<W: Write> DumpWriter<W> {
    /// Writes the head of a dump of `entries` entries.
    pub fn new(out: W, head: &DumpHead, entries: u64) -> io::Result<DumpWriter<W>> {
        let mut writer = DumpWriter { out, sum: Fnv::default(), announced: entries, written: 0 };
        writer.put(&head_bytes(head, entries))?;
        Ok(writer)
    }

    /// Writes the next entry.
    pub fn add(&mut self, entry: &StampEntry) -> io::Result<()> {
        self.written += 1;
        self.put(&entry_bytes(entry))
    }

    /// Writes the checksum. Fails if the number of entries differs from the announced one.
    pub fn finish(mut self) -> io::Result<W> {
        if self.written != self.announced {
            let text = format!("{} stamps were announced, {} came", self.announced, self.written);
            return Err(io::Error::other(text));
        }
        self.out.write_all(&self.sum.0.to_le_bytes())?;
        Ok(self.out)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.add(bytes);
        self.out.write_all(bytes)
    }
}

fn head_bytes(head: &DumpHead, entries: u64) -> Vec<u8> {
    let id = shortened(&head.id);
    let mut bytes = MAGIC.to_vec();
    for word in [VERSION, ORDER_MARK, ENTRY as u32, u32::from(head.target), u32::from(head.queue_thread)] {
        bytes.extend(word.to_le_bytes());
    }
    for word in [head.block_size, head.request_size, head.clock.epoch_unix_ns] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(head.clock.delta_ns.to_le_bytes());
    bytes.extend(entries.to_le_bytes());
    bytes.extend((SCHEMA.len() as u32).to_le_bytes());
    bytes.extend((id.len() as u32).to_le_bytes());
    bytes.extend(SCHEMA.as_bytes());
    bytes.extend(id.as_bytes());
    bytes
}

/// Longest prefix of `id` whose length fits in its field.
fn shortened(id: &str) -> &str {
    let mut end = id.len().min(u32::MAX as usize);
    while !id.is_char_boundary(end) {
        end -= 1;
    }
    &id[..end]
}

fn entry_bytes(entry: &StampEntry) -> [u8; ENTRY] {
    let mut bytes = [0; ENTRY];
    bytes[..4].copy_from_slice(&entry.pass.to_le_bytes());
    bytes[4] = match entry.op {
        Op::Read => 1,
        _ => 2,
    };
    let words =
        [entry.number, entry.offset, entry.length, entry.result.cast_unsigned(), entry.start.0, entry.end.0];
    for (place, word) in bytes[8..].chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// Reads a dump. Memory use is bounded by the length of `bytes`.
pub fn read_dump(bytes: &[u8]) -> Result<Dump, DumpError> {
    let begin = bytes.get(..MAGIC.len()).unwrap_or(bytes);
    if begin.is_empty() || !MAGIC.starts_with(begin) {
        return Err(DumpError::Foreign);
    }
    let mut fields = Fields { bytes, at: MAGIC.len(), needs: bytes.len() as u64 };
    let version = fields.word()?;
    if version != VERSION {
        return Err(DumpError::Version(version));
    }
    let fixed = FixedHead::read(&mut fields)?;
    fixed.check_length(bytes.len())?;
    let (content, sum) = bytes.split_at(bytes.len().saturating_sub(SUM));
    let mut computed = Fnv::default();
    computed.add(content);
    if sum != computed.0.to_le_bytes() {
        return Err(DumpError::Checksum);
    }
    let head = fixed.head(&mut fields)?;
    let mut entries = Vec::with_capacity(fixed.entries as usize);
    for _ in 0..fixed.entries {
        entries.push(read_entry(&mut fields)?);
    }
    Ok(Dump { head, entries })
}

/// Fields of the head with a fixed offset.
struct FixedHead {
    order_mark: u32,
    entry_size: u32,
    target: u32,
    queue_thread: u32,
    block_size: u64,
    request_size: u64,
    clock: RunClock,
    entries: u64,
    schema: u32,
    id: u32,
}

impl FixedHead {
    /// Bytes of the head without schema and id.
    const BYTES: u64 = 8 + 5 * 4 + 5 * 8 + 2 * 4;

    fn read(fields: &mut Fields) -> Result<FixedHead, DumpError> {
        fields.needs = Self::BYTES;
        Ok(FixedHead {
            order_mark: fields.word()?,
            entry_size: fields.word()?,
            target: fields.word()?,
            queue_thread: fields.word()?,
            block_size: fields.long()?,
            request_size: fields.long()?,
            clock: RunClock { epoch_unix_ns: fields.long()?, delta_ns: fields.long()?.cast_signed() },
            entries: fields.long()?,
            schema: fields.word()?,
            id: fields.word()?,
        })
    }

    fn check_length(&self, has: usize) -> Result<(), DumpError> {
        let has = has as u64;
        let around = Self::BYTES + u64::from(self.schema) + u64::from(self.id) + SUM as u64;
        let needs = self.entries.checked_mul(ENTRY as u64).and_then(|n| n.checked_add(around));
        match needs {
            Some(needs) if has > needs => Err(DumpError::TooLong(has - needs)),
            Some(needs) if has == needs => Ok(()),
            _ => Err(DumpError::CutOff { has, needs: needs.unwrap_or(u64::MAX) }),
        }
    }

    fn head(&self, fields: &mut Fields) -> Result<DumpHead, DumpError> {
        if self.order_mark != ORDER_MARK || self.entry_size as usize != ENTRY {
            return Err(DumpError::Field("byte order or size of entries is not that of its version"));
        }
        let schema = fields.take(self.schema as usize)?;
        if schema != SCHEMA.as_bytes() {
            return Err(DumpError::Field("the schema is not that of its version"));
        }
        let id = std::str::from_utf8(fields.take(self.id as usize)?);
        let number =
            |n: u32| u16::try_from(n).map_err(|_| DumpError::Field("a target or queue thread is too high"));
        Ok(DumpHead {
            target: number(self.target)?,
            queue_thread: number(self.queue_thread)?,
            block_size: self.block_size,
            request_size: self.request_size,
            id: id.map_err(|_| DumpError::Field("the id is no UTF-8"))?.to_string(),
            clock: self.clock,
        })
    }
}

fn read_entry(fields: &mut Fields) -> Result<StampEntry, DumpError> {
    let pass = fields.word()?;
    let op = match fields.word()? {
        1 => Op::Read,
        2 => Op::Write,
        _ => return Err(DumpError::Field("an operation is neither read nor write")),
    };
    Ok(StampEntry {
        pass,
        op,
        number: fields.long()?,
        offset: fields.long()?,
        length: fields.long()?,
        result: fields.long()?.cast_signed(),
        start: Nanos(fields.long()?),
        end: Nanos(fields.long()?),
    })
}

/// Reads fields from the start.
struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Required length, for the error.
    needs: u64,
}

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], DumpError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest.get(..length).ok_or(DumpError::CutOff {
            has: self.bytes.len() as u64,
            needs: self.needs.max((self.at as u64).saturating_add(length as u64)),
        })?;
        self.at += length;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DumpError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn word(&mut self) -> Result<u32, DumpError> {
        self.array().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Result<u64, DumpError> {
        self.array().map(u64::from_le_bytes)
    }
}

/// FNV-1a: small, and detects every changed byte.
#[derive(Debug)]
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
