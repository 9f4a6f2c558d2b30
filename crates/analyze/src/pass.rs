//! One pass over all records, on several threads.
//!
//! Readers take parts as they come and keep separate partials, which merge at the end. Each order-dependent consumer has a
//! thread, which receives the parts in order.

use crate::backlog::{Backlog, MostAtOnce, Wait};
use crate::demand::{Demand, DemandAnalysis, DemandOptions, DemandTally};
use crate::findings::{CompletionFacts, Completions};
use crate::memory;
use crate::order::displacement;
use crate::ordered::Ending;
use crate::partial::{Counted, Partial};
use crate::{Detail, Diagrams, Limits, Ordered, Records, Reorder, Step, Tally};
use iosonar_archive::{Fields, Record};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

/// Steps that are sent at once.
const TOGETHER: usize = 1 << 13;
/// Requests whose pages are looked up at the same time.
const EXPECTED: usize = 16;
/// More readers than this would only wait for the threads that take everything in order, and each needs memory.
const MOST_READERS: usize = 8;
/// Pieces that may wait for a thread which takes them in order.
const AHEAD: usize = 6;

/// Results requested from a pass.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Figures of what happened.
    pub tally: bool,
    /// Maximum in flight among these figures: for a run the engine counts it, for a recording only this pass does.
    pub most_in_flight: bool,
    /// Counts for pictures of what happened.
    pub diagrams: Option<Detail>,
    /// Times without completions.
    pub stalls: bool,
    /// Demand of the load.
    pub demand: Option<DemandOptions>,
    /// All targets are the same device: equal positions are the same place.
    pub one_device: bool,
    /// Width of the windows in which throughput is counted for pictures; without it, columns follow the run's length.
    pub throughput_window_ns: Option<u64>,
    /// Threads that read, at least one.
    pub readers: usize,
}

impl Wanted {
    /// No results, with as many readers as there are processors.
    pub fn nothing() -> Wanted {
        let readers = thread::available_parallelism().map_or(1, |n| n.get().min(memory::of(MOST_READERS, 1)));
        Wanted {
            tally: false,
            most_in_flight: false,
            diagrams: None,
            stalls: false,
            demand: None,
            one_device: false,
            throughput_window_ns: None,
            readers,
        }
    }

    fn fields(&self) -> Fields {
        let demanded =
            Fields::SEQUENCE.and(Fields::ORIGIN).and(Fields::OP).and(Fields::DUE).and(Fields::REQUESTED);
        let seen = Fields::OP.and(Fields::SUBMITTED).and(Fields::COMPLETED);
        let parts = [
            self.tally.then_some(Tally::FIELDS),
            self.diagrams.map(Detail::fields),
            self.stalls.then_some(seen),
            self.demand.as_ref().map(|_| demanded),
        ];
        parts.into_iter().flatten().fold(Fields::NONE, Fields::and)
    }
}

/// Results of a pass; those that were not requested are absent.
#[derive(Debug)]
pub struct PassResults {
    /// Number of records.
    pub records: u64,
    /// Figures of what happened.
    pub tally: Option<Tally>,
    /// Counts for pictures of what happened.
    pub diagrams: Option<Diagrams>,
    /// Times without completions.
    pub stalls: Option<CompletionFacts>,
    /// Demand of the load.
    pub demand: Option<DemandAnalysis>,
    /// Requests that came too late for their place in an order, of the order with the most of them: counts in that order
    /// may be slightly wrong.
    pub late: u64,
}

/// Reads all records once.
///
/// # Errors
/// The first error of reading.
pub fn pass(
    records: &dyn Records,
    targets: usize,
    limits: &Limits,
    wanted: &Wanted,
) -> io::Result<PassResults> {
    let elsewhere = records.counts_elsewhere(targets)?;
    let elsewhere = elsewhere.map(|counts| kept(counts, limits, wanted)).transpose()?;
    thread::scope(|scope| {
        let mut consumers = Consumers::default();
        let pictures = (wanted.diagrams == Some(Detail::Full))
            .then(|| add(&mut consumers.steps, |steps| scope.spawn(|| in_order(steps))));
        let stalls =
            wanted.stalls.then(|| add(&mut consumers.endings, |endings| scope.spawn(|| stalls(endings))));
        let waits =
            wanted.tally.then(|| add(&mut consumers.waits, |waits| scope.spawn(|| most_at_once(waits))));
        let flights = (wanted.tally && wanted.most_in_flight)
            .then(|| add(&mut consumers.flights, |flights| scope.spawn(|| most_at_once(flights))));
        let demand = wanted.demand.as_ref().map(|options| {
            let order = Reorder::keeping(records.displacement().min(displacement()));
            add(&mut consumers.steps, |steps| scope.spawn(move || demand(steps, order, options)))
        });
        let shared =
            Shared { counts: elsewhere.is_none(), ..Shared::new(records, targets, wanted, consumers) };
        // The last reader closes the channels, so the consumers end.
        let counted = Counted { targets, limits: wanted.tally.then_some(limits), diagrams: wanted.diagrams };
        let end_ns = records.end_hint_ns().unwrap_or(0);
        let merged = read_all(shared, || Partial::lasting(counted, end_ns, wanted.throughput_window_ns));
        let mut found =
            PassResults { records: 0, tally: None, diagrams: None, stalls: None, demand: None, late: 0 };
        let ordered = pictures.map(|thread| thread.join().expect("counting does not panic"));
        if let Some((facts, late)) = stalls.map(|thread| thread.join().expect("counting does not panic")) {
            (found.stalls, found.late) = (Some(facts), found.late.max(late));
        }
        if let Some((facts, late)) = demand.map(|thread| thread.join().expect("counting does not panic")) {
            (found.demand, found.late) = (Some(facts), found.late.max(late));
        }
        let most_waiting = waits.map(|thread| thread.join().expect("counting does not panic").requests);
        let most_in_flight = flights.map(|thread| thread.join().expect("counting does not panic"));
        let mut merged = merged?;
        let seen = merged.records;
        merged = elsewhere.unwrap_or(merged);
        // Maxima need the order of all requests.
        if let Some(tally) = merged.tally.as_mut().filter(|_| seen == merged.records) {
            (tally.most_waiting, tally.most_in_flight) = (most_waiting, most_in_flight);
        }
        (found.records, found.tally, found.diagrams) = (merged.records, merged.tally, merged.diagrams);
        if let Some(diagrams) = &mut found.diagrams {
            diagrams.last_until(records.recorded_until_ns());
            found.late = found.late.max(diagrams.finish(ordered.unwrap_or_default()));
        }
        Ok(found)
    })
}

/// Counts that were made elsewhere, as far as they are wanted. Their limits are those of the run.
fn kept(mut kept: Partial, limits: &Limits, wanted: &Wanted) -> io::Result<Partial> {
    if wanted.throughput_window_ns.is_some() {
        let why = "its records are elsewhere, and have not been counted in windows of this width: leave --throughput-window out";
        return Err(io::Error::other(why));
    }
    let counted_with = kept.limits().unwrap_or_default();
    if ![counted_with, Limits::default()].contains(limits) {
        let why = format!(
            "its records were counted elsewhere, with a limit of {} for latencies and of {} for delays: name these limits, or none",
            counted_with.bad_latency, counted_with.bad_delay
        );
        return Err(io::Error::other(why));
    }
    kept.tally = kept.tally.filter(|_| wanted.tally);
    kept.diagrams = kept.diagrams.filter(|_| wanted.diagrams.is_some());
    Ok(kept)
}

/// Counts the records of some parts, in this thread: those of other parts are counted elsewhere.
///
/// # Errors
/// The first error of reading.
pub fn count(records: &dyn Records, counted: Counted<'_>, parts: Range<usize>) -> io::Result<Partial> {
    let mut counts = Partial::lasting(counted, records.end_hint_ns().unwrap_or(0), None);
    for part in parts {
        let mut number = records.records_before(part).unwrap_or(counts.records);
        records.read_part(part, Fields::ALL, &mut |piece| {
            (number..).zip(piece).for_each(|(number, record)| counts.add(number, record));
            number += piece.len() as u64;
        })?;
    }
    Ok(counts)
}

impl Diagrams {
    /// Reads all records once, in one thread.
    pub fn compute(records: &dyn Records) -> io::Result<Diagrams> {
        let mut diagrams = Diagrams::new(records.end_hint_ns().unwrap_or(0), Detail::Full);
        let mut ordered = Ordered::new();
        for part in 0..records.parts() {
            let mut number = records.records_before(part).unwrap_or(0);
            records.read_part(part, Diagrams::FIELDS, &mut |piece| {
                for record in piece {
                    diagrams.add(number, record);
                    Step::of(record).iter().for_each(|step| ordered.add(step));
                    number += 1;
                }
            })?;
        }
        diagrams.finish(ordered);
        Ok(diagrams)
    }
}

/// Runs the wanted number of readers, and merges their partials.
fn read_all(shared: Shared<'_>, begin: impl Fn() -> Partial + Sync) -> io::Result<Partial> {
    let readers = shared.wanted.readers.clamp(1, shared.parts.max(1));
    thread::scope(|scope| {
        let read = || shared.read_parts(begin());
        let others: Vec<_> = (1..readers).map(|_| scope.spawn(read)).collect();
        let mut merged = read();
        for other in others {
            let other = other.join().expect("a reader does not panic");
            merged = merged.and_then(|mut mine| {
                mine.merge(other?);
                Ok(mine)
            });
        }
        merged
    })
}

/// State shared by the readers.
struct Shared<'a> {
    records: &'a dyn Records,
    /// Number of parts at the start: a load that is read for the first time has more of them afterwards.
    parts: usize,
    /// Maximum device number of steps.
    last_device: u16,
    wanted: &'a Wanted,
    /// Whether records are counted here; their order is needed in any case.
    counts: bool,
    consumers: Consumers,
    /// The part that the next free reader takes.
    next: AtomicUsize,
    turn: Turn,
}

impl<'a> Shared<'a> {
    fn new(records: &'a dyn Records, targets: usize, wanted: &'a Wanted, consumers: Consumers) -> Shared<'a> {
        // A damaged archive may name more targets than its plan has.
        let last_target = u16::try_from(targets.max(1) - 1).unwrap_or(u16::MAX);
        Shared {
            records,
            parts: records.parts(),
            last_device: if wanted.one_device { 0 } else { last_target },
            wanted,
            counts: true,
            consumers,
            next: AtomicUsize::new(0),
            turn: Turn::default(),
        }
    }

    /// The step of a record, on the device of its target.
    fn step(&self, record: &Record) -> Option<Step> {
        let step = Step::of(record)?;
        Some(Step { target: step.target.min(self.last_device), ..step })
    }

    fn read_parts(&self, mut partial: Partial) -> io::Result<Partial> {
        loop {
            let part = self.next.fetch_add(1, Ordering::Relaxed);
            if part >= self.parts {
                return Ok(partial);
            }
            let mut held = Held { shared: self, part, failed: true };
            self.read_part(part, &mut partial)?;
            held.failed = false;
        }
    }

    fn read_part(&self, part: usize, partial: &mut Partial) -> io::Result<()> {
        let mut number = self.records.records_before(part).unwrap_or(partial.records);
        let mut next = InOrder::default();
        self.records.read_part(part, self.wanted.fields(), &mut |piece| {
            match self.counts {
                true => (number..).zip(piece).for_each(|(number, record)| partial.add(number, record)),
                false => partial.records += piece.len() as u64,
            }
            number += piece.len() as u64;
            if !self.consumers.steps.is_empty() {
                next.steps.extend(piece.iter().filter_map(|record| self.step(record)));
            }
            if !self.consumers.endings.is_empty() {
                next.endings.extend(piece.iter().filter_map(Ending::of));
            }
            if !self.consumers.waits.is_empty() {
                next.waits.extend(piece.iter().filter_map(Wait::of));
            }
            if !self.consumers.flights.is_empty() {
                next.flights.extend(piece.iter().filter_map(Wait::in_flight));
            }
            // A reader that is not in turn continues reading: parts are small if there are several.
            if next.longest() >= TOGETHER && self.turn.is_of(part) {
                self.deliver(part, &mut next);
            }
        })?;
        self.deliver(part, &mut next);
        Ok(())
    }

    fn deliver(&self, part: usize, next: &mut InOrder) {
        if self.consumers.are_some() && self.turn.comes(part) {
            self.consumers.send(std::mem::take(next));
        }
    }
}

/// A reader's claim on a part. When it is dropped, the turn moves to the next part; after an error, or even a panic, no
/// reader waits for this one.
struct Held<'a, 'b> {
    shared: &'a Shared<'b>,
    part: usize,
    failed: bool,
}

impl Drop for Held<'_, '_> {
    fn drop(&mut self) {
        if self.failed {
            self.shared.next.store(usize::MAX / 2, Ordering::Relaxed);
        }
        self.shared.turn.passes(self.part, self.failed);
    }
}

/// The part whose reader may send next: parts go in order.
#[derive(Default)]
struct Turn {
    /// Number of the part, and whether a reader has failed.
    state: Mutex<(usize, bool)>,
    moved: Condvar,
}

impl Turn {
    /// Whether it is the turn of `part`.
    fn is_of(&self, part: usize) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0 == part
    }

    /// Waits for the turn of `part`; returns `false` if it never comes.
    fn comes(&self, part: usize) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_waiting = |state: &mut (usize, bool)| state.0 < part && !state.1;
        let state = self.moved.wait_while(state, is_waiting).unwrap_or_else(PoisonError::into_inner);
        !state.1
    }

    /// Waits for the turn of `part` and ends it; a `failed` reader does not wait.
    fn passes(&self, part: usize, failed: bool) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_waiting = |state: &mut (usize, bool)| state.0 < part && !state.1 && !failed;
        let mut state = self.moved.wait_while(state, is_waiting).unwrap_or_else(PoisonError::into_inner);
        *state = (part + 1, state.1 || failed);
        self.moved.notify_all();
    }
}

/// Items to send next.
#[derive(Default)]
struct InOrder {
    steps: Vec<Step>,
    endings: Vec<Ending>,
    waits: Vec<Wait>,
    flights: Vec<Wait>,
}

impl InOrder {
    fn longest(&self) -> usize {
        let lengths = [self.steps.len(), self.endings.len(), self.waits.len(), self.flights.len()];
        lengths.into_iter().max().unwrap_or(0)
    }
}

/// Threads that take everything in order.
#[derive(Default)]
struct Consumers {
    steps: Vec<SyncSender<Arc<Vec<Step>>>>,
    endings: Vec<SyncSender<Arc<Vec<Ending>>>>,
    waits: Vec<SyncSender<Arc<Vec<Wait>>>>,
    flights: Vec<SyncSender<Arc<Vec<Wait>>>>,
}

impl Consumers {
    fn are_some(&self) -> bool {
        let others = [&self.waits, &self.flights];
        !self.steps.is_empty()
            || !self.endings.is_empty()
            || others.into_iter().any(|waits| !waits.is_empty())
    }

    fn send(&self, next: InOrder) {
        send(&self.steps, next.steps);
        send(&self.endings, next.endings);
        send(&self.waits, next.waits);
        send(&self.flights, next.flights);
    }
}

fn add<P, T>(consumers: &mut Vec<SyncSender<P>>, spawn: impl FnOnce(Receiver<P>) -> T) -> T {
    let (sender, receiver) = sync_channel(memory::of(AHEAD, 1));
    consumers.push(sender);
    spawn(receiver)
}

fn send<T>(consumers: &[SyncSender<Arc<Vec<T>>>], piece: Vec<T>) {
    let piece = Arc::new(piece);
    for consumer in consumers {
        consumer.send(piece.clone()).expect("consumers wait for the last piece");
    }
}

fn in_order(steps: Receiver<Arc<Vec<Step>>>) -> Ordered {
    let mut ordered = Ordered::new();
    for piece in steps {
        piece.iter().for_each(|step| ordered.add(step));
    }
    ordered
}

fn stalls(endings: Receiver<Arc<Vec<Ending>>>) -> (CompletionFacts, u64) {
    let mut completions = Completions::new();
    let mut order = Reorder::new();
    let mut next = |completed, (submitted, op)| completions.add(submitted, completed, op);
    for piece in endings {
        for ending in piece.iter() {
            order.push(ending.completed_ns, (ending.submitted_ns, ending.op), &mut next);
        }
    }
    order.finish(&mut next);
    (completions.facts(), order.late())
}

fn most_at_once(waits: Receiver<Arc<Vec<Wait>>>) -> MostAtOnce {
    let mut backlog = Backlog::default();
    for piece in waits {
        piece.iter().for_each(|wait| backlog.add(*wait));
    }
    backlog.peak()
}

fn demand(
    steps: Receiver<Arc<Vec<Step>>>,
    mut order: Reorder<(u64, u64), Demand>,
    options: &DemandOptions,
) -> (DemandAnalysis, u64) {
    thread::scope(|scope| {
        let (to_pages, pieces) = sync_channel(memory::of(AHEAD, 1));
        let pages = scope.spawn(|| pages(pieces, options));
        let mut outline = DemandTally::new(options);
        let mut piece = Vec::with_capacity(TOGETHER);
        let deliver = |piece| to_pages.send(piece).expect("the pages wait for the last piece");
        let mut next = |_, demand: Demand| {
            outline.add_outline(&demand);
            piece.push(demand);
            if piece.len() == TOGETHER {
                deliver(std::mem::replace(&mut piece, Vec::with_capacity(TOGETHER)));
            }
        };
        for steps in steps {
            for step in steps.iter() {
                order.push((step.due_ns, step.sequence), step.demand(), &mut next);
            }
        }
        order.finish(&mut next);
        deliver(piece);
        drop(to_pages);
        let pages = pages.join().expect("counting does not panic");
        (outline.with_pages(pages).finish(), order.late())
    })
}

fn pages(pieces: Receiver<Vec<Demand>>, options: &DemandOptions) -> DemandTally {
    let mut pages = DemandTally::new(options);
    for piece in pieces {
        for demands in piece.chunks(EXPECTED) {
            pages.expect_pages(demands);
            demands.iter().for_each(|demand| pages.add_pages(demand));
        }
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;

    /// A list read in small parts, the third of which cannot be read.
    struct Broken(Vec<Record>);

    impl Records for Broken {
        fn parts(&self) -> usize {
            9
        }

        fn read_part(&self, part: usize, _: Fields, f: &mut dyn FnMut(&[Record])) -> io::Result<()> {
            f(&self.0[part * 100..(part + 1) * 100]);
            if part == 2 { Err(io::Error::other("part 2 is damaged")) } else { Ok(()) }
        }
    }

    /// The same list, whole.
    struct Parts(Vec<Record>);

    impl Records for Parts {
        fn parts(&self) -> usize {
            self.0.len().div_ceil(100)
        }

        fn read_part(&self, part: usize, _: Fields, f: &mut dyn FnMut(&[Record])) -> io::Result<()> {
            self.0.chunks(100).nth(part).into_iter().for_each(f);
            Ok(())
        }

        fn records_before(&self, part: usize) -> Option<u64> {
            Some(part as u64 * 100)
        }
    }

    fn everything(readers: usize) -> Wanted {
        let demand = Some(DemandOptions::default());
        Wanted {
            readers,
            tally: true,
            diagrams: Some(Detail::Full),
            stalls: true,
            demand,
            ..Wanted::nothing()
        }
    }

    #[test]
    fn any_number_of_readers_yields_the_same_result() {
        let f = Fixture::mixed();
        let whole = Diagrams::compute(&f.records).unwrap();
        let one = pass(&f.records, 2, &Limits::default(), &everything(1)).unwrap();
        for readers in [1, 2, 5] {
            let found = pass(&Parts(f.records.clone()), 2, &Limits::default(), &everything(readers)).unwrap();
            assert_eq!(found.records, f.records.len() as u64);
            assert!(found.diagrams.as_ref() == Some(&whole), "{readers}");
            assert!(found.tally == one.tally && found.demand == one.demand && found.stalls == one.stalls);
            assert_eq!(found.late, 0);
        }
    }

    #[test]
    fn an_error_ends_every_reader() {
        let f = Fixture::mixed();
        for readers in [1, 2, 5] {
            let error = pass(&Broken(f.records.clone()), 2, &Limits::default(), &everything(readers));
            assert_eq!(error.unwrap_err().to_string(), "part 2 is damaged");
        }
    }

    #[test]
    fn skips_unrequested_analyses() {
        let found = pass(&Fixture::mixed().records, 2, &Limits::default(), &Wanted::nothing()).unwrap();
        assert!(found.tally.is_none() && found.diagrams.is_none() && found.demand.is_none());
        assert_eq!(found.records, 1000);
    }
}
