//! The journal of a run: which requests were submitted, and which of them were acknowledged, up to the moment at which
//! the process is killed. The records lag by some tenths of a second.
//!
//! It is a file of 64-bit words, little-endian: a head, then slots of 64 bytes. A slot has one request. It is reused
//! only when the record of that request is in the log, so slots and log together have all requests that changed
//! something, and all flushes. `docs/archive.md` has the layout.

use crate::{Marks, Outcome, Record};
use iosonar_plan::{Durability, Extent, Nanos, Op, RunId};
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;

/// Words of the head, which has a separate page.
pub const JOURNAL_HEAD: usize = 512;
/// Slots of a journal, 16 MiB: requests whose records are not in the log yet.
pub const JOURNAL_SLOTS: usize = 1 << 18;
/// Words of a slot.
pub const SLOT_WORDS: usize = 8;

const MAGIC: u64 = u64::from_le_bytes(*b"iosonarj");
const VERSION: u64 = 1;

/// State of a slot, in the lowest byte of its first word.
const IN_FLIGHT: u64 = 1;
const ENDED: u64 = 2;

/// Why a journal cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// I/O error.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// Wrong magic or version.
    #[error("it is no journal of a run: name the file that the run had as --journal")]
    NoJournal,
    /// Journal of another run.
    #[error("it is the journal of run {found:x}, and the result is of run {wanted:x}")]
    OtherRun {
        /// Id of the run that wrote it.
        found: RunId,
        /// Id of the run of the result.
        wanted: RunId,
    },
}

/// First words of a journal.
pub fn journal_head(run_id: RunId) -> [u64; 3] {
    [MAGIC, VERSION, run_id]
}

/// Words of a request about to be submitted at `now`. The first one is stored last: it makes the others valid.
#[inline]
pub fn slot_of(record: &Record, now: Nanos) -> [u64; SLOT_WORDS] {
    let durability = record.marks.durability();
    let flags =
        u64::from(durability.has(Durability::FUA)) | u64::from(durability.has(Durability::PREFLUSH)) << 1;
    let Record { target, phase, pass, sequence, op, executed, due, .. } = *record;
    [
        IN_FLIGHT
            | u64::from(op.code()) << 16
            | flags << 24
            | u64::from(target) << 32
            | u64::from(phase) << 48,
        u64::from(pass),
        sequence,
        executed.offset,
        executed.length,
        now.0,
        0,
        due.0,
    ]
}

/// First word of a slot and the time in its seventh, once its request has ended. The time is stored first.
#[inline]
pub fn slot_ended(first: u64, outcome: Outcome, completed: Nanos) -> (u64, u64) {
    ((first & !0xffff) | ENDED | (outcome as u64) << 8, completed.0)
}

fn record_of(words: &[u64; SLOT_WORDS]) -> Option<Record> {
    let [first, pass, sequence, offset, length, submitted, completed, due] = *words;
    let byte = |at: u32| (first >> (8 * at)) as u8;
    let op = Op::of_code(byte(2))?;
    let (outcome, completed) = match first & 0xff {
        // In flight: no completion.
        IN_FLIGHT => (Outcome::Cancelled, None),
        ENDED => (*Outcome::ALL.get(usize::from(byte(1)))?, Some(Nanos(completed))),
        _ => return None,
    };
    let marks = Marks::default().with(Marks::FUA, byte(3) & 1 != 0).with(Marks::PREFLUSH, byte(3) & 2 != 0);
    let executed = Extent::new(offset, length)?;
    Some(Record {
        sequence,
        target: (first >> 32) as u16,
        phase: (first >> 48) as u16,
        pass: u32::try_from(pass).ok()?,
        op,
        outcome,
        marks,
        due: Nanos(due),
        submitted: Some(Nanos(submitted)),
        completed,
        requested: executed,
        executed,
        ..Record::default()
    })
}

/// Returns the requests of a journal, in no order. Requests in flight have no `completed`. Slots that no process can
/// have left in that state are skipped.
///
/// # Errors
/// See [`JournalError`].
pub fn read_journal(path: &Path, run_id: RunId) -> Result<Vec<Record>, JournalError> {
    let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
    let mut head = [0; JOURNAL_HEAD * 8];
    match file.read_exact(&mut head) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(JournalError::NoJournal),
        other => other?,
    }
    let word = |at: usize| u64::from_le_bytes(head[8 * at..8 * at + 8].try_into().unwrap_or_default());
    match [word(0), word(1), word(2)] {
        head if head == journal_head(run_id) => {}
        [MAGIC, VERSION, found] => return Err(JournalError::OtherRun { found, wanted: run_id }),
        _ => return Err(JournalError::NoJournal),
    }
    let (mut records, mut slot) = (Vec::new(), [0; 8 * SLOT_WORDS]);
    loop {
        match file.read_exact(&mut slot) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(records),
            other => other?,
        }
        // No run has more slots.
        if records.len() == JOURNAL_SLOTS {
            return Ok(records);
        }
        let mut words = [0; SLOT_WORDS];
        for (word, bytes) in words.iter_mut().zip(slot.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        records.extend(record_of(&words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn journal(slots: &[[u64; SLOT_WORDS]]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut words = vec![0; JOURNAL_HEAD];
        words[..3].copy_from_slice(&journal_head(7));
        words.extend(slots.iter().flatten());
        let bytes: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
        file.write_all(&bytes).unwrap();
        file
    }

    proptest! {
        #[test]
        fn journal_requests_round_trip(
            sequence: u64, target: u16, phase: u16, pass: u32, offset in 0..1u64 << 62, length in 0..1u64 << 40,
            times: [u32; 3], is_over: bool, marks in 0..4u16, op in 0..3usize, outcome in 0..2usize,
        ) {
            let marks = Marks::default()
                .with(Marks::FUA, marks & 1 != 0)
                .with(Marks::PREFLUSH, marks & 2 != 0);
            let extent = Extent::new(offset, length).unwrap();
            let outcome = if is_over { Outcome::ALL[outcome] } else { Outcome::Cancelled };
            let record = Record {
                sequence, target, phase, pass, op: [Op::Write, Op::Flush, Op::Discard][op], outcome, marks,
                requested: extent, executed: extent,
                due: Nanos(times[0].into()), submitted: Some(Nanos(times[1].into())),
                completed: is_over.then_some(Nanos(times[2].into())),
                ..Record::default()
            };
            let mut slot = slot_of(&record, record.submitted.unwrap());
            if is_over {
                (slot[0], slot[6]) = slot_ended(slot[0], outcome, Nanos(times[2].into()));
            }
            let file = journal(&[[0; SLOT_WORDS], slot]);
            prop_assert_eq!(read_journal(file.path(), 7).unwrap(), vec![record]);
        }

        #[test]
        fn arbitrary_bytes_are_read_or_rejected(bytes: Vec<u8>) {
            let mut file = journal(&[]);
            file.write_all(&bytes).unwrap();
            read_journal(file.path(), 7).unwrap();
            let mut other = tempfile::NamedTempFile::new().unwrap();
            other.write_all(&bytes).unwrap();
            prop_assert!(read_journal(other.path(), 7).is_err());
        }
    }

    #[test]
    fn rejects_journal_of_another_run() {
        let error = read_journal(journal(&[]).path(), 8).unwrap_err().to_string();
        assert!(error.contains("journal of run 7"), "{error}");
    }
}
