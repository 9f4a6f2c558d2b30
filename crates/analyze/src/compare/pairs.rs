//! The same requests in both runs, one by one: only replays execute the same requests twice.

use super::blocks::{BLOCKS, Blocks};
use super::estimate::{Estimate, Pair};
use super::histogram::LogHistogram;
use crate::{Against, Class, Correlation, Records, Reorder};
use iosonar_archive::{Fields, Marks, Record};
use iosonar_plan::{Extent, Op};
use std::cmp::Ordering;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// A ratio of 1 in the histogram of ratios, which holds whole numbers. It lies in the middle of a step, so that runs that
/// are exactly alike have a median of exactly 1.
const ONE: f64 = (1u64 << 32) as f64 * (1.0 + 1.0 / 512.0);
/// A request is better or worse if its latency differs by more than this factor.
pub(super) const ALIKE: f64 = 1.03;
/// Requests that go through a channel together, and pieces that may wait in it.
const PIECE: usize = 4096;
const WAITING: usize = 4;

/// The fields of a request that are needed to find its counterpart.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    /// Phase, pass, number and target: the order of matching.
    key: (u16, u32, u64, u16),
    op: Op,
    place: Extent,
    begin_ns: u64,
    latency_ns: Option<u64>,
}

impl Candidate {
    fn of(record: &Record, by_due: bool) -> Candidate {
        Candidate {
            key: (record.phase, record.pass, record.sequence, record.target),
            op: record.op,
            place: record.requested,
            begin_ns: if by_due { record.due.0 } else { record.submitted.map_or(0, |t| t.0) },
            latency_ns: record.latency().filter(|_| record.is_completed()).map(|t| t.0),
        }
    }
}

/// Results of matching requests in pairs.
#[derive(Debug, Clone)]
pub(super) struct Paired {
    /// Ratios of latencies B ÷ A, times [`ONE`], by the block in which A's request began.
    blocks: Vec<LogHistogram>,
    pub(super) ratios: LogHistogram,
    /// Latency in B over latency in A.
    pub(super) density: Correlation,
    /// Pairs of requests that did the same.
    pub(super) alike: u64,
    /// Pairs of requests that had the same number and did something else.
    pub(super) unlike: u64,
    /// Requests of both runs that were overtaken by too many others to be matched.
    pub(super) lost: u64,
}

impl Paired {
    fn new() -> Paired {
        Paired {
            blocks: Vec::new(),
            ratios: LogHistogram::default(),
            density: Correlation::new(Against::Duration),
            alike: 0,
            unlike: 0,
            lost: 0,
        }
    }

    fn add(&mut self, a: &Candidate, b: &Candidate, width_ns: u64) {
        if a.op != b.op || a.place != b.place {
            self.unlike += 1;
            return;
        }
        self.alike += 1;
        if !a.op.is_transfer() {
            return;
        }
        let (Some(before), Some(after)) = (a.latency_ns, b.latency_ns) else { return };
        let ratio = (after.max(1) as f64 / before.max(1) as f64 * ONE) as u64;
        let block = usize::try_from(a.begin_ns / width_ns).unwrap_or(usize::MAX).min(BLOCKS - 1);
        if self.blocks.len() <= block {
            self.blocks.resize_with(block + 1, LogHistogram::default);
        }
        self.blocks[block].add(ratio);
        self.ratios.add(ratio);
        let class = if a.op == Op::Read { Class::Read } else { Class::Write };
        self.density.add(class, before, after);
    }

    /// The median ratio, as a figure whose A is 1.
    pub(super) fn median(&self) -> Option<Pair> {
        let histograms = |block: usize| std::iter::once(&self.blocks[block]);
        let ratio = Estimate::quantile_of(self.blocks.len(), histograms, self.ratios.clone(), 0.5)?;
        Some(Pair::new(Estimate::exact(ONE), ratio, false))
    }

    /// How many ratios lie below this one.
    pub(super) fn below(&self, ratio: f64) -> f64 {
        self.ratios.below_value(ratio * ONE)
    }
}

/// Matches the requests of both runs, with the blocks of `a_blocks`; reads both runs at the same time.
pub(super) fn pair(
    a: &dyn Records,
    b: &dyn Records,
    a_blocks: &Blocks,
    by_due: (bool, bool),
) -> io::Result<Paired> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (to_a, from_a) = sync_channel(WAITING);
        let (to_b, from_b) = sync_channel(WAITING);
        let stop = &stop;
        let read_a = scope.spawn(move || send(a, by_due.0, stop, &to_a));
        let read_b = scope.spawn(move || send(b, by_due.1, stop, &to_b));
        let mut paired = join(Candidates::of(from_a), Candidates::of(from_b), a_blocks.width_ns());
        stop.store(true, Relaxed);
        for reader in [read_a, read_b] {
            paired.lost += reader.join().map_err(|_| io::Error::other("reading the records broke off"))??;
        }
        Ok(paired)
    })
}

/// Reads a run and sends its requests by ascending key until the receiver stops. Returns how many came too late.
fn send(
    records: &dyn Records,
    by_due: bool,
    stop: &AtomicBool,
    to: &SyncSender<Vec<Candidate>>,
) -> io::Result<u64> {
    let wanted = [Fields::ORIGIN, Fields::OP, Fields::OUTCOME, Fields::DUE, Fields::SUBMITTED]
        .into_iter()
        .chain([Fields::COMPLETED, Fields::REQUESTED, Fields::MARKS])
        .fold(Fields::SEQUENCE, Fields::and);
    let mut piece = Vec::with_capacity(PIECE);
    let mut out = |_, item: Candidate| {
        piece.push(item);
        if piece.len() == PIECE {
            // An error means that the receiver needs no more.
            let _ = to.send(std::mem::replace(&mut piece, Vec::with_capacity(PIECE)));
        }
    };
    let mut reorder = Reorder::new();
    for part in 0..records.parts() {
        if stop.load(Relaxed) {
            return Ok(0);
        }
        records.read_part(part, wanted, &mut |records| {
            for record in records.iter().filter(|r| !r.marks.has(Marks::RAMP)) {
                let item = Candidate::of(record, by_due);
                reorder.push(item.key, item, &mut out);
            }
        })?;
    }
    reorder.finish(&mut out);
    let _ = to.send(piece);
    Ok(reorder.late())
}

/// Requests as they come out of a channel.
struct Candidates {
    from: Receiver<Vec<Candidate>>,
    piece: std::vec::IntoIter<Candidate>,
}

impl Candidates {
    fn of(from: Receiver<Vec<Candidate>>) -> Candidates {
        Candidates { from, piece: Vec::new().into_iter() }
    }
}

impl Iterator for Candidates {
    type Item = Candidate;

    fn next(&mut self) -> Option<Candidate> {
        loop {
            if let Some(item) = self.piece.next() {
                return Some(item);
            }
            self.piece = self.from.recv().ok()?.into_iter();
        }
    }
}

/// Matches two ascending streams. Ends early if the runs clearly did different things.
fn join(mut a: Candidates, mut b: Candidates, width_ns: u64) -> Paired {
    const CLEARLY: u64 = 1000;
    let mut paired = Paired::new();
    let (mut left, mut right) = (a.next(), b.next());
    while let (Some(x), Some(y)) = (&left, &right) {
        match x.key.cmp(&y.key) {
            Ordering::Less => left = a.next(),
            Ordering::Greater => right = b.next(),
            Ordering::Equal => {
                paired.add(x, y, width_ns);
                (left, right) = (a.next(), b.next());
            }
        }
        if paired.unlike > CLEARLY && paired.unlike > paired.alike {
            break;
        }
    }
    paired
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;

    fn run(latency: impl Fn(u64) -> u64, n: u64) -> Vec<Record> {
        (0..n).map(|i| record(i, Op::Read, i * 1000, i * 1000, i * 1000 + latency(i))).collect()
    }

    // A slice is unsized, so it cannot be a `dyn Records`.
    #[allow(clippy::ptr_arg)]
    fn paired(a: &Vec<Record>, b: &Vec<Record>) -> Paired {
        pair(a, b, &Blocks::read(a, true).unwrap(), (true, true)).unwrap()
    }

    #[test]
    fn pairs_equal_requests_in_any_order() {
        // Latencies differ a hundredfold between requests, and by 5 % between runs.
        let a = run(|i| 10_000 + i % 100 * 10_000, 20_000);
        let mut b = run(|i| (10_000 + i % 100 * 10_000) / 100 * 105, 20_000);
        b.reverse();
        let paired = paired(&a, &b);
        assert_eq!((paired.alike, paired.unlike), (20_000, 0));
        let median = paired.median().unwrap();
        assert!((median.log_ratio().exp() - 1.05).abs() < 0.003, "{}", median.log_ratio().exp());
        assert_eq!(paired.below(ALIKE), 0.0);
        assert_eq!(paired.below(1.1), 20_000.0);
    }

    #[test]
    fn equal_runs_have_ratio_one() {
        let a = run(|i| 10_000 + i % 7 * 1_000, 5_000);
        assert!(paired(&a, &a).median().unwrap().log_ratio().abs() < 1e-9);
    }

    #[test]
    fn shorter_run_pairs_partially_and_other_load_not_at_all() {
        let (a, b) = (run(|_| 5_000, 10_000), run(|_| 5_000, 3_000));
        assert_eq!(paired(&a, &b).alike, 3_000);
        let mut other = b.clone();
        other.iter_mut().for_each(|r| r.requested.offset += 4096);
        let none = paired(&a, &other);
        assert!(none.alike == 0 && none.unlike > 1000);
        assert!(none.median().is_none());
        assert_eq!(paired(&a, &Vec::new()).alike, 0);
    }
}
