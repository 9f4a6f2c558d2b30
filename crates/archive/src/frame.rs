//! Records packed into a frame of the log: bounded, self-contained, some 20 bytes each.
//!
//! A record is encoded relative to the previous one in its frame, because most fields repeat or change little. The
//! short form is a control word and then ten numbers, each in as many bytes as it needs: no branch depends on the
//! values, so encoding costs some nanoseconds. Unusual records (failed, dropped, pushed back, moved) have the long form
//! of fixed width. `docs/archive.md` describes both.

use crate::record::BEYOND;
use crate::record::RECORD_BYTES;
use crate::{Outcome, Record};
use iosonar_plan::{Extent, Nanos, Op};

/// Maximum size of a frame, including its header, i.e. of one write to the log.
pub const FRAME_BYTES: usize = 64 << 10;
/// Header: number of records, bytes of payload, checksum of the payload.
pub(crate) const FRAME_HEADER: usize = 12;

/// Bytes of the control word: two bits for form and operation, six unused, four for the length of each number.
const CONTROL: usize = 6;
const NUMBERS: usize = 10;
/// Room for the longest record, and for a store of a whole word after the last number.
const SLACK: usize = 1 + RECORD_BYTES + 8;

const LONG: u64 = 1;
const WRITE: u64 = 2;

/// Maps small differences of either sign to small numbers.
fn zigzag(step: u64) -> u64 {
    (step << 1) ^ ((step as i64 >> 63) as u64)
}

fn unzigzag(n: u64) -> u64 {
    (n >> 1) ^ (n & 1).wrapping_neg()
}

/// State of the previous record of a frame, against which the next one is encoded.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    sequence: u64,
    due: u64,
    /// Load time − due time: constant in a replay at its original speed.
    skew: u64,
    target: u16,
    phase: u16,
    worker: u16,
    pass: u32,
}

impl Before {
    fn of(r: &Record) -> Before {
        Before {
            sequence: r.sequence,
            due: r.due.0,
            skew: r.load_time.0.wrapping_sub(r.due.0),
            target: r.target,
            phase: r.phase,
            worker: r.worker,
            pass: r.pass,
        }
    }

    /// Returns submission and completion, if the record can have the short form.
    fn usual(&self, r: &Record) -> Option<(u64, u64)> {
        let (submitted, completed) = (r.submitted?, r.completed?);
        let usual = r.outcome == Outcome::Completed
            && r.op.is_transfer()
            && r.released.is_none()
            && r.blocked_by.is_none()
            && r.requested == r.executed
            && r.result as u64 == r.executed.length
            && (r.target, r.phase, r.pass) == (self.target, self.phase, self.pass);
        usual.then_some((submitted.0, completed.0))
    }

    fn numbers(&self, r: &Record, submitted: u64, completed: u64) -> [u64; NUMBERS] {
        [
            zigzag(r.sequence.wrapping_sub(self.sequence).wrapping_sub(1)),
            zigzag(r.load_time.0.wrapping_sub(r.due.0).wrapping_sub(self.skew)),
            zigzag(r.due.0.wrapping_sub(self.due)),
            submitted.wrapping_sub(r.due.0),
            completed.wrapping_sub(submitted),
            r.reap_lag.0,
            // Multiples of a sector become small numbers; others are preserved, too.
            r.executed.offset.rotate_right(9),
            r.executed.length.rotate_right(9),
            u64::from(r.worker.wrapping_sub(self.worker)),
            u64::from(r.marks.0),
        ]
    }

    fn record(&self, op: Op, n: &[u64; NUMBERS]) -> Record {
        let due = self.due.wrapping_add(unzigzag(n[2]));
        let submitted = due.wrapping_add(n[3]);
        let executed = Extent { offset: n[6].rotate_left(9), length: n[7].rotate_left(9) };
        Record {
            sequence: self.sequence.wrapping_add(1).wrapping_add(unzigzag(n[0])),
            target: self.target,
            worker: self.worker.wrapping_add(n[8] as u16),
            pass: self.pass,
            phase: self.phase,
            op,
            marks: crate::Marks(n[9] as u16),
            load_time: Nanos(due.wrapping_add(self.skew).wrapping_add(unzigzag(n[1]))),
            due: Nanos(due),
            submitted: Some(Nanos(submitted)),
            completed: Some(Nanos(submitted.wrapping_add(n[4]))),
            reap_lag: Nanos(n[5]),
            requested: executed,
            executed,
            result: executed.length as i64,
            ..Record::default()
        }
    }
}

/// A frame being filled. Its memory never grows.
#[derive(Debug)]
pub struct Frame {
    bytes: Box<[u8]>,
    len: usize,
    count: u32,
    before: Before,
}

impl Default for Frame {
    fn default() -> Frame {
        Frame { bytes: vec![0; FRAME_BYTES].into(), len: FRAME_HEADER, count: 0, before: Before::default() }
    }
}

impl Frame {
    /// An empty frame without memory, which accepts no record: a placeholder.
    pub fn none() -> Frame {
        Frame { bytes: Box::default(), len: FRAME_HEADER, count: 0, before: Before::default() }
    }

    /// Whether it is the placeholder without memory.
    pub fn is_none(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Encodes a record; returns whether there is room for another.
    #[inline]
    pub fn push(&mut self, record: &Record) -> bool {
        match self.before.usual(record) {
            Some((submitted, completed)) => {
                self.push_short(record.op, &self.before.numbers(record, submitted, completed));
            }
            None => self.push_long(record),
        }
        self.before = Before::of(record);
        self.count += 1;
        self.len + SLACK <= FRAME_BYTES
    }

    #[inline]
    fn push_short(&mut self, op: Op, numbers: &[u64; NUMBERS]) {
        let mut control = if op == Op::Write { WRITE } else { 0 };
        let mut at = self.len + CONTROL;
        for (index, number) in numbers.iter().enumerate() {
            let length = (71 - number.leading_zeros()) as usize / 8;
            control |= (length as u64) << (8 + 4 * index);
            // A whole word is stored; the next one overwrites the unneeded bytes.
            self.bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
            at += length;
        }
        self.bytes[self.len..self.len + CONTROL].copy_from_slice(&control.to_le_bytes()[..CONTROL]);
        self.len = at;
    }

    fn push_long(&mut self, record: &Record) {
        self.bytes[self.len] = LONG as u8;
        let (place, _) = self.bytes[self.len + 1..].split_first_chunk_mut().expect("room for the longest");
        record.encode(place);
        self.len += 1 + RECORD_BYTES;
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Number of records.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Removes all records.
    pub fn clear(&mut self) {
        (self.len, self.count, self.before) = (FRAME_HEADER, 0, Before::default());
    }

    /// Returns the whole frame, with its header.
    pub fn seal(&mut self) -> &[u8] {
        let (header, payload) = self.bytes[..self.len].split_at_mut(FRAME_HEADER);
        header[..4].copy_from_slice(&self.count.to_le_bytes());
        header[4..8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        header[8..].copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
        &self.bytes[..self.len]
    }
}

/// Header of a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameHead {
    /// Records.
    pub count: u32,
    /// Bytes of the payload.
    pub length: usize,
    checksum: u32,
}

impl FrameHead {
    /// Decodes a header; `None` if invalid.
    pub(crate) fn of(head: &[u8; FRAME_HEADER]) -> Option<FrameHead> {
        let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
        let (count, length, checksum) = (word(0), word(4) as usize, word(8));
        // The shortest record has a control word, so zeros are invalid, too.
        let has_room =
            count > 0 && length <= FRAME_BYTES && (count as usize).saturating_mul(CONTROL) <= length;
        has_room.then_some(FrameHead { count, length, checksum })
    }

    /// Whether the payload matches the checksum.
    pub(crate) fn is_of(&self, payload: &[u8]) -> bool {
        crc32fast::hash(payload) == self.checksum
    }
}

/// Records of a frame's payload.
#[derive(Debug)]
pub(crate) struct Records<'a> {
    payload: &'a [u8],
    before: Before,
}

impl<'a> Records<'a> {
    pub(crate) fn new(payload: &'a [u8]) -> Records<'a> {
        Records { payload, before: Before::default() }
    }

    /// Decodes the next record; `None` at the end.
    ///
    /// # Errors
    /// An invalid record: a frame with a valid checksum written by another program.
    pub(crate) fn next(&mut self) -> Result<Option<Record>, &'static str> {
        let Some(form) = self.payload.first() else { return Ok(None) };
        let record = if u64::from(*form) & LONG != 0 { self.long()? } else { self.short()? };
        if !record.is_possible() {
            return Err(BEYOND);
        }
        self.before = Before::of(&record);
        Ok(Some(record))
    }

    fn long(&mut self) -> Result<Record, &'static str> {
        let (bytes, rest) = self.payload[1..].split_first_chunk().ok_or("a record is cut off")?;
        self.payload = rest;
        Record::decode(bytes).ok_or("an unknown operation or outcome")
    }

    fn short(&mut self) -> Result<Record, &'static str> {
        let (control, mut rest) = self.payload.split_first_chunk::<CONTROL>().ok_or("a record is cut off")?;
        let control = control.iter().rev().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
        let mut numbers = [0; NUMBERS];
        for (index, number) in numbers.iter_mut().enumerate() {
            let length = (control >> (8 + 4 * index) & 15) as usize;
            *number = match rest.first_chunk::<8>() {
                Some(word) if length < 8 => u64::from_le_bytes(*word) & ((1 << (8 * length)) - 1),
                _ => number_at_end(rest, length)?,
            };
            rest = &rest[length..];
        }
        self.payload = rest;
        let op = if control & WRITE != 0 { Op::Write } else { Op::Read };
        Ok(self.before.record(op, &numbers))
    }
}

/// Reads a number of up to eight bytes near the end, where no whole word can be loaded.
fn number_at_end(rest: &[u8], length: usize) -> Result<u64, &'static str> {
    if length > 8 {
        return Err("a number of more than eight bytes");
    }
    let bytes = rest.get(..length).ok_or("a record is cut off")?;
    Ok(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Marks;
    use proptest::prelude::*;

    fn unpack(frame: &mut Frame) -> Vec<Record> {
        let bytes = frame.seal();
        let mut records = Records::new(&bytes[FRAME_HEADER..]);
        std::iter::from_fn(|| records.next().unwrap()).collect()
    }

    fn closed_loop(n: u64) -> Record {
        let executed = Extent { offset: n * 7_919 % 4_096 * 4_096, length: 4_096 };
        let due = Nanos(n * 700);
        Record {
            sequence: n,
            load_time: due,
            due,
            submitted: Some(Nanos(due.0 + 150)),
            completed: Some(Nanos(due.0 + 90_150)),
            requested: executed,
            executed,
            result: 4_096,
            ..Record::default()
        }
    }

    #[test]
    fn common_records_take_few_bytes() {
        let mut frame = Frame::default();
        (0..1_000).for_each(|n| assert!(frame.push(&closed_loop(n))));
        assert!(frame.len < 1_000 * 18, "{}", frame.len);
        assert_eq!(unpack(&mut frame), (0..1_000).map(closed_loop).collect::<Vec<_>>());
    }

    #[test]
    fn full_frame_rejects_records_until_cleared() {
        let mut frame = Frame::default();
        let failed = Record { outcome: Outcome::Failed, ..closed_loop(1) };
        let mut count = 1;
        while frame.push(&failed) {
            count += 1;
        }
        assert_eq!(unpack(&mut frame).len(), count);
        frame.clear();
        assert!(frame.is_empty() && unpack(&mut frame).is_empty());
        frame.push(&closed_loop(5));
        assert_eq!(unpack(&mut frame), [closed_loop(5)]);
    }

    // Readers add offsets and lengths without checks.
    #[test]
    fn offsets_beyond_the_maximum_are_damage() {
        for executed in [Extent { offset: u64::MAX, length: 1 }, Extent { offset: 1 << 63, length: 512 }] {
            for requested in [executed, Extent::default()] {
                let mut frame = Frame::default();
                frame.push(&Record { requested, executed, ..closed_loop(1) });
                let payload = frame.seal()[FRAME_HEADER..].to_vec();
                assert_eq!(Records::new(&payload).next(), Err(BEYOND));
            }
        }
    }

    fn any_record() -> impl Strategy<Value = Record> {
        let word = || prop_oneof![any::<u64>(), 0u64..5, (0u64..1 << 40).prop_map(|n| n << 9)];
        let end = 1 << 63;
        let extent = move || {
            (word(), word()).prop_map(move |(offset, length)| {
                let offset = offset % end;
                Extent { offset, length: length.min(end - offset) }
            })
        };
        let time = move || proptest::option::of((0..u64::MAX).prop_map(Nanos));
        let small = (any::<u16>(), 0u16..3, 0u32..3, any::<u16>(), 0u8..5, 0usize..4);
        (small, [word(), word(), word(), word()], time(), time(), (extent(), extent()), any::<bool>())
            .prop_map(
                |((worker, target, pass, marks, op, outcome), words, submitted, completed, (a, b), usual)| {
                    let whole = Record { result: b.length as i64, requested: b, ..Record::default() };
                    let odd = Record {
                        result: words[3] as i64,
                        requested: a,
                        outcome: Outcome::ALL[outcome],
                        released: submitted,
                        ..Record::default()
                    };
                    Record {
                        sequence: words[0],
                        worker,
                        target,
                        pass,
                        op: Op::of_code(op).unwrap(),
                        marks: Marks(marks),
                        load_time: Nanos(words[1]),
                        due: Nanos(words[2]),
                        reap_lag: Nanos(words[3]),
                        submitted: if usual { submitted.or(Some(Nanos(1))) } else { submitted },
                        completed: if usual { completed.or(Some(Nanos(2))) } else { completed },
                        executed: b,
                        ..if usual { whole } else { odd }
                    }
                },
            )
    }

    proptest! {
        #[test]
        fn records_round_trip(records in proptest::collection::vec(any_record(), 0..100)) {
            let mut frame = Frame::default();
            for record in &records {
                prop_assert!(frame.push(record));
            }
            prop_assert_eq!(unpack(&mut frame), records);
        }

        #[test]
        fn any_bytes_are_read_without_panic(payload in proptest::collection::vec(any::<u8>(), 0..600)) {
            let mut records = Records::new(&payload);
            while let Ok(Some(_)) = records.next() {}
        }
    }
}
