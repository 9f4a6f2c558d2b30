//! Counts in other orders than that of the records: along submissions, due times, completions.

use crate::correlation::Against;
use crate::demand::Demand;
use crate::diagrams::series_columns;
use crate::resolution::Resolution;
use crate::sweep::Sweep;
use crate::{Class, Correlation, Reorder, TimeAxis, TurnSeries};
use iosonar_archive::Record;
use iosonar_plan::{Extent, Op};

/// The fields of a record that order-dependent counts need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Its number within its target and pass.
    pub sequence: u64,
    /// Its due time.
    pub due_ns: u64,
    /// Submission and completion; `None` if it lacks either.
    pub done: Option<(u64, u64)>,
    /// First byte that was requested.
    pub offset: u64,
    /// Bytes that were requested.
    pub length: u64,
    /// Its target.
    pub target: u16,
    /// Its class.
    pub class: Class,
    /// Whether all its bytes were transferred.
    pub is_completed: bool,
}

impl Step {
    /// The step of a record; `None` if it transfers no data.
    pub fn of(record: &Record) -> Option<Step> {
        let class = Class::of(record).filter(|class| class.is_transfer())?;
        Some(Step {
            sequence: record.sequence,
            due_ns: record.due.0,
            done: record.submitted.zip(record.completed).map(|(s, c)| (s.0, c.0.max(s.0))),
            offset: record.requested.offset,
            length: record.requested.length,
            target: record.target,
            class,
            is_completed: record.is_completed(),
        })
    }

    /// The request as its source requested it.
    pub fn demand(&self) -> Demand {
        Demand::at(self.due_ns, self.target, self.op(), Extent { offset: self.offset, length: self.length })
    }

    /// Read or write.
    pub fn op(&self) -> Op {
        self.class.op()
    }
}

/// The end of a submitted request, even if it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// Completion.
    pub completed_ns: u64,
    /// Submission, not after it.
    pub submitted_ns: u64,
    /// Read, write or flush.
    pub op: Op,
}

impl Ending {
    /// The end of a record's request, if it was submitted and has a class.
    pub fn of(record: &Record) -> Option<Ending> {
        let op = Class::of(record)?.op();
        let (submitted_ns, completed) = (record.submitted?.0, record.completed?.0);
        Some(Ending { completed_ns: completed.max(submitted_ns), submitted_ns, op })
    }
}

/// A time of requests, over the number of requests in a state at their entry.
#[derive(Debug, Clone)]
pub struct TimeByCount {
    order: Reorder<u64, Entry>,
    /// One for each operation.
    inside: [Sweep; 2],
    pub(crate) counts: Correlation,
}

/// A request that is in a state for some time.
#[derive(Debug, Clone, Copy)]
struct Entry {
    end_ns: u64,
    class: Class,
    op: Op,
    /// Whether it is counted, or only part of the crowd of others.
    counts: bool,
}

impl TimeByCount {
    fn new() -> TimeByCount {
        TimeByCount {
            order: Reorder::new(),
            inside: Default::default(),
            counts: Correlation::new(Against::Number),
        }
    }

    fn add(&mut self, begin_ns: u64, end_ns: u64, step: &Step) {
        let (class, op, counts) = (step.class, step.op(), step.is_completed);
        let TimeByCount { order, inside, counts: counted } = self;
        let entry = Entry { end_ns, class, op, counts };
        order.push(begin_ns, entry, &mut |begin_ns, entry| enter(inside, counted, begin_ns, &entry));
    }

    fn finish(&mut self) {
        let TimeByCount { order, inside, counts } = self;
        order.finish(&mut |begin_ns, entry| enter(inside, counts, begin_ns, &entry));
    }
}

fn enter(inside: &mut [Sweep; 2], counted: &mut Correlation, begin_ns: u64, entry: &Entry) {
    let number = inside[usize::from(entry.op.is_write())].enter(begin_ns, entry.end_ns);
    if entry.counts {
        counted.add(entry.class, number, entry.end_ns - begin_ns);
    }
}

/// Backward seeks of completed requests in order of completion.
#[derive(Debug, Clone)]
pub struct CompletedTurns {
    order: Reorder<u64, (u64, u16)>,
    pub(crate) series: TurnSeries,
}

impl CompletedTurns {
    fn add(&mut self, completed_ns: u64, step: &Step) {
        let CompletedTurns { order, series } = self;
        let mut next = |at, (offset, target)| series.add(target, at, offset);
        order.push(completed_ns, (step.offset, step.target), &mut next);
    }

    fn finish(&mut self) {
        let CompletedTurns { order, series } = self;
        order.finish(&mut |at, (offset, target)| series.add(target, at, offset));
    }
}

/// The order-dependent part of the pictures, made from all records, one after the other.
#[derive(Debug, Clone)]
pub struct Ordered {
    pub(crate) flights: TimeByCount,
    pub(crate) backlog: TimeByCount,
    pub(crate) turns: CompletedTurns,
}

impl Ordered {
    /// Empty counts.
    pub fn new() -> Ordered {
        let series = TurnSeries::new(TimeAxis::new(0, series_columns(Resolution::here())));
        let turns = CompletedTurns { order: Reorder::new(), series };
        Ordered { flights: TimeByCount::new(), backlog: TimeByCount::new(), turns }
    }

    /// Adds the next record of the archive.
    pub fn add(&mut self, step: &Step) {
        let Some((submitted, completed)) = step.done else { return };
        self.flights.add(submitted, completed, step);
        self.backlog.add(step.due_ns, submitted.max(step.due_ns), step);
        if step.is_completed {
            self.turns.add(completed, step);
        }
    }

    /// Processes the items still held back.
    pub(crate) fn finish(&mut self) {
        self.flights.finish();
        self.backlog.finish();
        self.turns.finish();
    }

    /// Requests that came too late for their place in one of the orders.
    pub(crate) fn late(&self) -> u64 {
        self.flights.order.late().max(self.backlog.order.late()).max(self.turns.order.late())
    }
}

impl Default for Ordered {
    fn default() -> Self {
        Ordered::new()
    }
}
