//! Requests one by one, packed into blocks. The form is described in `docs/page.md`.

use super::numbers::{self, Checked};
use iosonar_analyze::Class;
use iosonar_archive::{Outcome, Record};
use std::collections::VecDeque;
use std::io;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::LazyLock;
use std::thread::{JoinHandle, available_parallelism, spawn};

/// Maximum requests of a block.
pub const BLOCK_POINTS: usize = 1 << BLOCK_BITS;
const BLOCK_BITS: u32 = 16;
/// Ratio of the durations of consecutive codes.
const STEP: f64 = 1.002;
/// Bits of the class column.
const FAILED: u8 = 1 << 2;
const EXCEPTIONAL: u8 = 1 << 3;
const FLUSH: u8 = 1 << 4;

/// Facts stored about each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Facts {
    /// Everything.
    #[default]
    All,
    /// Facts for the sonar: lengths, places and workers are not read, which are about a third of the bytes.
    Picture,
}

/// A request before its block is packed.
#[derive(Debug, Clone, Copy)]
struct Point {
    submitted_us: u64,
    latency: u16,
    delay: u16,
    class: u8,
    length: u64,
    offset: u64,
    sequence: u64,
    target: u16,
    worker: u16,
    pass: u32,
}

impl Point {
    fn of(record: &Record, exceptional: bool) -> Option<Point> {
        let (submitted, latency) = (record.submitted?, record.latency()?);
        let failed = if record.outcome == Outcome::Failed { FAILED } else { 0 };
        let special = if exceptional { EXCEPTIONAL } else { 0 };
        Some(Point {
            submitted_us: submitted.0 / 1000,
            latency: code(latency.0),
            delay: code(submitted.0.saturating_sub(record.due.0)),
            class: code_of(Class::of(record)?) | failed | special,
            length: record.executed.length,
            offset: record.executed.offset,
            sequence: record.sequence,
            target: record.target,
            worker: record.worker,
            pass: record.pass,
        })
    }
}

/// A class in the class column: two bits for those that transfer data.
fn code_of(class: Class) -> u8 {
    if class == Class::Flush { FLUSH } else { class.index() as u8 }
}

/// A duration on a logarithmic scale: 0 for 0, then ± 0.1 %.
fn code(ns: u64) -> u16 {
    if ns == 0 {
        return 0;
    }
    let Codes { begins, first_of_key } = &*CODES;
    let mut code = first_of_key[Codes::key(ns)];
    while begins.get(usize::from(code) + 1).is_some_and(|begin| ns >= *begin) {
        code += 1;
    }
    code
}

/// The codes in tables: logarithms would take a third of the time in which requests are chosen.
static CODES: LazyLock<Codes> = LazyLock::new(Codes::new);

struct Codes {
    /// Least duration of each code: the longest one of 64 bits has the code 22 204.
    begins: Vec<u64>,
    /// By [`Codes::key`], the code of the least duration with this key.
    first_of_key: Vec<u16>,
}

impl Codes {
    /// Bits of the fraction in a key: steps of 0.1 %.
    const KEY_BITS: u32 = 10;
    /// Bits of a floating-point number after those.
    const BELOW_KEY: u32 = f64::MANTISSA_DIGITS - 1 - Codes::KEY_BITS;
    /// First bits of the number 1.
    const ONE: u64 = 1f64.to_bits() >> Codes::BELOW_KEY;

    fn new() -> Codes {
        let powers = (0..).map(|power| STEP.powi(power).ceil()).take_while(|ns| *ns < u64::MAX as f64);
        let begins: Vec<u64> = std::iter::once(0).chain(powers.map(|ns| ns as u64)).collect();
        let keys = 0..=u64::from(u64::BITS) << Codes::KEY_BITS;
        let least = |key: u64| f64::from_bits((key + Codes::ONE) << Codes::BELOW_KEY) as u64;
        let code = |least: u64| begins.partition_point(|begin| *begin <= least) - 1;
        Codes { first_of_key: keys.map(|key| code(least(key)) as u16).collect(), begins }
    }

    /// Exponent and first bits of the fraction of a duration above 0.
    fn key(ns: u64) -> usize {
        (((ns as f64).to_bits() >> Codes::BELOW_KEY) - Codes::ONE) as usize
    }
}

/// A packed block: a raw deflate stream and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointBlock {
    /// Number of requests.
    pub count: usize,
    /// First and last submission, whole microseconds.
    pub from_us: u64,
    /// See `from_us`.
    pub to_us: u64,
    /// Bytes per unit of places and lengths.
    pub unit: u64,
    /// CRC-32 of the bytes after inflating.
    pub crc32: u32,
    /// The stream.
    pub deflated: Vec<u8>,
}

/// Most threads that pack: a block that waits for one takes 3 MB.
const MOST_PACKING: usize = 8;

/// Collects requests, and passes on each full block, in order. Other threads pack the blocks.
pub struct PointWriter<F> {
    facts: Facts,
    points: Vec<Point>,
    /// Blocks that are being packed, each by a thread.
    packing: VecDeque<JoinHandle<PointBlock>>,
    most_packing: usize,
    done: F,
    /// Number of requests added.
    pub count: u64,
}

impl<F: FnMut(PointBlock) -> io::Result<()>> PointWriter<F> {
    /// `done` receives each block.
    pub fn new(facts: Facts, done: F) -> PointWriter<F> {
        let most_packing = available_parallelism().map_or(1, NonZero::get).min(MOST_PACKING);
        PointWriter { facts, points: Vec::new(), packing: VecDeque::new(), most_packing, done, count: 0 }
    }

    /// Adds a request, if it was submitted and returned.
    pub fn add(&mut self, record: &Record, exceptional: bool) -> io::Result<()> {
        let Some(point) = Point::of(record, exceptional) else { return Ok(()) };
        self.count += 1;
        self.points.push(match self.facts {
            Facts::All => point,
            Facts::Picture => Point { length: 0, offset: 0, worker: 0, ..point },
        });
        if self.points.len() < BLOCK_POINTS { Ok(()) } else { self.flush() }
    }

    /// Passes on the last blocks.
    pub fn finish(mut self) -> io::Result<u64> {
        self.flush()?;
        self.pass_on(0)?;
        Ok(self.count)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.points.is_empty() {
            return Ok(());
        }
        self.pass_on(self.most_packing - 1)?;
        let points = std::mem::take(&mut self.points);
        self.packing.push_back(spawn(move || pack(points)));
        Ok(())
    }

    /// Passes on the oldest blocks until at most this number is being packed.
    fn pass_on(&mut self, most: usize) -> io::Result<()> {
        while self.packing.len() > most
            && let Some(oldest) = self.packing.pop_front()
        {
            (self.done)(oldest.join().unwrap_or_else(|panic| resume_unwind(panic)))?;
        }
        Ok(())
    }
}

fn pack(mut points: Vec<Point>) -> PointBlock {
    in_order(&mut points);
    let (from_us, to_us) = (points[0].submitted_us, points[points.len() - 1].submitted_us);
    let all = points.iter().fold(0, |all, p| all | p.offset | p.length);
    let unit = 1u64 << all.trailing_zeros().min(20);
    let mut bytes = Vec::with_capacity(points.len() * 16);
    let mut before = from_us;
    for p in &points {
        numbers::varint(&mut bytes, p.submitted_us - before);
        before = p.submitted_us;
    }
    for of in [|p: &Point| p.latency, |p: &Point| p.delay] {
        bytes.extend(points.iter().map(|p| of(p) as u8));
        bytes.extend(points.iter().map(|p| (of(p) >> 8) as u8));
    }
    bytes.extend(points.iter().map(|p| p.class));
    points.iter().for_each(|p| numbers::varint(&mut bytes, p.length / unit));
    differences(&mut bytes, points.iter().map(|p| p.offset / unit));
    differences(&mut bytes, points.iter().map(|p| p.sequence));
    points.iter().for_each(|p| numbers::varint(&mut bytes, p.target.into()));
    points.iter().for_each(|p| numbers::varint(&mut bytes, p.worker.into()));
    points.iter().for_each(|p| numbers::varint(&mut bytes, p.pass.into()));
    let Checked { deflated, crc32 } = numbers::deflate(&bytes);
    PointBlock { count: points.len(), from_us, to_us, unit, crc32, deflated }
}

/// Orders requests by submission; those of one microsecond by number.
fn in_order(points: &mut Vec<Point>) {
    let first = points.iter().map(|p| p.submitted_us).min().unwrap_or(0);
    let span = points.iter().map(|p| p.submitted_us - first).max().unwrap_or(0);
    if span >= 1 << (u64::BITS - BLOCK_BITS) {
        return points.sort_by_key(|p| (p.submitted_us, p.sequence));
    }
    // Numbers are sorted in a third of the time of requests, of which few share a microsecond.
    let key = |(place, p): (usize, &Point)| (p.submitted_us - first) << BLOCK_BITS | place as u64;
    let mut keys: Vec<u64> = points.iter().enumerate().map(key).collect();
    keys.sort_unstable();
    let place = |key: &u64| (key & ((1 << BLOCK_BITS) - 1)) as usize;
    *points = keys.iter().map(|key| points[place(key)]).collect();
    points
        .chunk_by_mut(|a, b| a.submitted_us == b.submitted_us)
        .for_each(|same| same.sort_by_key(|p| p.sequence));
}

/// Differences to the one before, in zigzag form: small ones stay small whatever their sign.
fn differences(bytes: &mut Vec<u8>, values: impl Iterator<Item = u64>) {
    let mut before = 0u64;
    for value in values {
        let difference = value.wrapping_sub(before) as i64;
        numbers::varint(bytes, ((difference << 1) ^ (difference >> 63)) as u64);
        before = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::DeflateDecoder;
    use iosonar_archive::Marks;
    use iosonar_plan::{Extent, Nanos, Op};
    use proptest::prelude::*;
    use std::io::Read;

    struct Reader<'a>(&'a [u8]);

    impl Reader<'_> {
        fn varint(&mut self) -> u64 {
            numbers::read_varint(&mut self.0).unwrap()
        }

        fn zigzag(&mut self, before: &mut u64) -> u64 {
            let n = self.varint();
            let difference = (n >> 1) as i64 ^ -((n & 1) as i64);
            *before = before.wrapping_add(difference as u64);
            *before
        }

        fn bytes(&mut self, count: usize) -> &[u8] {
            let (bytes, rest) = self.0.split_at(count);
            self.0 = rest;
            bytes
        }
    }

    fn record(sequence: u64, submitted: u64, latency: u64, offset: u64) -> Record {
        Record {
            sequence,
            op: if sequence.is_multiple_of(3) { Op::Write } else { Op::Read },
            marks: Marks::default().with(Marks::PUSHED, sequence.is_multiple_of(5)),
            due: Nanos(submitted / 2),
            submitted: Some(Nanos(submitted)),
            completed: Some(Nanos(submitted + latency)),
            executed: Extent { offset, length: 4096 },
            ..Record::default()
        }
    }

    /// Submissions, latency codes, classes, places and numbers.
    fn unpack(block: &PointBlock) -> Vec<(u64, u16, u8, u64, u64)> {
        let mut bytes = Vec::new();
        DeflateDecoder::new(block.deflated.as_slice()).read_to_end(&mut bytes).unwrap();
        assert_eq!(crc32fast::hash(&bytes), block.crc32);
        let (n, mut r) = (block.count, Reader(&bytes));
        let mut at = block.from_us;
        let submitted: Vec<u64> = (0..n)
            .map(|_| {
                at += r.varint();
                at
            })
            .collect();
        let low = r.bytes(n).to_vec();
        let high = r.bytes(n).to_vec();
        let latency: Vec<u16> = low.iter().zip(&high).map(|(l, h)| u16::from_le_bytes([*l, *h])).collect();
        r.bytes(2 * n);
        let class = r.bytes(n).to_vec();
        (0..n).for_each(|_| assert_eq!(r.varint() * block.unit, 4096));
        let (mut offset, mut sequence) = (0, 0);
        let offsets: Vec<u64> = (0..n).map(|_| r.zigzag(&mut offset) * block.unit).collect();
        let sequences: Vec<u64> = (0..n).map(|_| r.zigzag(&mut sequence)).collect();
        (0..3 * n).for_each(|_| assert_eq!(r.varint(), 0));
        assert!(r.0.is_empty());
        (0..n).map(|i| (submitted[i], latency[i], class[i], offsets[i], sequences[i])).collect()
    }

    #[test]
    fn codes_have_the_promised_precision() {
        for ns in [1, 2, 3, 999, 1_000, 90_123, 5_000_000, 300_000_000_000, u64::MAX] {
            let by_logarithm = 1 + ((ns as f64).ln() / STEP.ln()).floor() as u16;
            assert!(code(ns).abs_diff(by_logarithm) <= 1, "{ns}: {} {by_logarithm}", code(ns));
            let middle = STEP.powf(f64::from(code(ns)) - 0.5);
            assert!((middle / ns as f64 - 1.0).abs() < 0.001_1, "{ns}: {middle}");
        }
        assert_eq!((code(0), code(1)), (0, 1));
    }

    #[test]
    fn block_size_is_limited() {
        let mut sizes = Vec::new();
        let mut writer = PointWriter::new(Facts::All, |block: PointBlock| {
            sizes.push(block.count);
            Ok(())
        });
        for i in 0..BLOCK_POINTS as u64 + 5 {
            writer.add(&record(i, i * 1000, 1, 0), false).unwrap();
        }
        writer.add(&Record::default(), true).unwrap();
        assert_eq!(writer.finish().unwrap(), BLOCK_POINTS as u64 + 5);
        assert_eq!(sizes, [BLOCK_POINTS, 5]);
    }

    proptest! {
        #[test]
        fn packed_points_round_trip(
            requests in prop::collection::vec((0u64..1 << 50, 0u64..1 << 45, 0u64..1 << 40), 1..200)
        ) {
            let records: Vec<Record> =
                requests.iter().enumerate().map(|(i, (at, latency, page))| record(i as u64, *at, *latency, page * 512)).collect();
            let mut blocks = Vec::new();
            let mut writer = PointWriter::new(Facts::All, |block| {
                blocks.push(block);
                Ok(())
            });
            records.iter().try_for_each(|r| writer.add(r, r.sequence == 0)).unwrap();
            writer.finish().unwrap();
            let mut expected: Vec<_> = records.iter().map(|r| {
                let exceptional = if r.sequence == 0 { EXCEPTIONAL } else { 0 };
                let class = code_of(Class::of(r).unwrap()) | exceptional;
                (r.submitted.unwrap().0 / 1000, code(r.latency().unwrap().0), class, r.executed.offset, r.sequence)
            }).collect();
            expected.sort_by_key(|p| (p.0, p.4));
            prop_assert_eq!(unpack(&blocks[0]), expected);
        }
    }
}
