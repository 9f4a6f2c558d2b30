//! Grids and series behind the pictures.

use crate::{Class, CountGrid, CountSeries, Occupancy, Records, Span, TimeAxis};
use iosonar_archive::Record;
use iosonar_plan::Op;
use std::io;

/// Most time columns of the latency picture, which is the one to zoom into.
pub const SONAR_COLUMNS: usize = 16_384;
/// Most time columns of all other pictures.
pub const SERIES_COLUMNS: usize = 4_096;

/// Everything that pictures are drawn from. Parts of a run merge in any order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagrams {
    /// Latency of completed requests over their submission.
    pub latency: CountGrid,
    /// Delay of completed requests over their due time.
    pub delay: CountGrid,
    /// Every request by its due time.
    pub demanded: CountSeries,
    /// Completed reads by their completion.
    pub delivered_reads: CountSeries,
    /// Completed writes by their completion.
    pub delivered_writes: CountSeries,
    /// Reads in flight, failed ones too.
    pub reads_in_flight: Occupancy,
    /// Writes in flight, failed ones too.
    pub writes_in_flight: Occupancy,
    /// Reads and writes in flight together: its extremes are not the sum of theirs.
    pub in_flight: Occupancy,
    /// Requests whose due time has come and that are not submitted yet.
    pub waiting: Occupancy,
}

impl Diagrams {
    /// Nothing yet, for a run of this span.
    pub fn new(span: &Span) -> Diagrams {
        let end = span.end_ns();
        let series = TimeAxis::new(end, SERIES_COLUMNS);
        let occupancy = || Occupancy::new(end, SERIES_COLUMNS);
        Diagrams {
            latency: CountGrid::new(TimeAxis::new(end, SONAR_COLUMNS)),
            delay: CountGrid::new(series),
            demanded: CountSeries::new(series),
            delivered_reads: CountSeries::new(series),
            delivered_writes: CountSeries::new(series),
            reads_in_flight: occupancy(),
            writes_in_flight: occupancy(),
            in_flight: occupancy(),
            waiting: occupancy(),
        }
    }

    /// Reads all records once. `span` is the summary's: the axes must be known before the first record.
    pub fn compute(records: &dyn Records, span: &Span) -> io::Result<Diagrams> {
        let mut diagrams = Diagrams::new(span);
        records.for_each(&mut |r| diagrams.add(r))?;
        Ok(diagrams)
    }

    /// Takes one more record into account.
    pub fn add(&mut self, record: &Record) {
        self.demanded.add(record.due.0, record.requested.length);
        let (Some(submitted), Some(completed)) = (record.submitted, record.completed) else { return };
        let of_op = match record.op {
            Op::Read => &mut self.reads_in_flight,
            Op::Write => &mut self.writes_in_flight,
        };
        of_op.add(submitted.0, completed.0);
        self.in_flight.add(submitted.0, completed.0);
        self.waiting.add(record.due.0, submitted.0);
        if record.is_completed() {
            self.add_completed(record, submitted.0, completed.0);
        }
    }

    fn add_completed(&mut self, record: &Record, submitted: u64, completed: u64) {
        let class = Class::of(record);
        self.latency.add(class, submitted, completed.saturating_sub(submitted));
        self.delay.add(class, record.due.0, submitted.saturating_sub(record.due.0));
        let delivered = match record.op {
            Op::Read => &mut self.delivered_reads,
            Op::Write => &mut self.delivered_writes,
        };
        delivered.add(completed, u64::try_from(record.result).unwrap_or(0));
    }

    /// Takes all of `other` into account too.
    ///
    /// # Panics
    /// If the two were made for different spans.
    pub fn merge(&mut self, other: &Diagrams) {
        self.latency.merge(&other.latency);
        self.delay.merge(&other.delay);
        self.demanded.merge(&other.demanded);
        self.delivered_reads.merge(&other.delivered_reads);
        self.delivered_writes.merge(&other.delivered_writes);
        self.reads_in_flight.merge(&other.reads_in_flight);
        self.writes_in_flight.merge(&other.writes_in_flight);
        self.in_flight.merge(&other.in_flight);
        self.waiting.merge(&other.waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fixture, any_records};
    use proptest::prelude::*;

    #[test]
    fn grids_hold_every_completed_request_once() {
        let f = Fixture::mixed();
        let s = f.summary();
        let d = Diagrams::compute(&f.records, &s.span).unwrap();
        for grid in [&d.latency, &d.delay] {
            assert_eq!(Class::ALL.map(|c| grid.total(c)).iter().sum::<u64>(), s.counts.all.completed);
            let pushed = grid.total(Class::ReadPushed) + grid.total(Class::WritePushed);
            assert_eq!(pushed, s.latency.read_pushed.unwrap().count + s.latency.write_pushed.unwrap().count);
        }
        assert_eq!(d.demanded.requests.iter().sum::<u64>(), s.counts.all.total);
        assert_eq!(d.delivered_reads.requests.iter().sum::<u64>(), s.counts.read.completed);
        assert_eq!(d.delivered_writes.bytes.iter().sum::<u64>(), s.counts.write.transferred_bytes);
    }

    #[test]
    fn an_empty_run_has_empty_pictures() {
        let f = Fixture::empty();
        let d = Diagrams::compute(&f.records, &f.summary().span).unwrap();
        assert_eq!(d.latency.axis().columns(), 1);
        assert_eq!(d.in_flight.bands(100).len(), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn any_split_gives_the_same_pictures(records in any_records(), parts in 1usize..4) {
            let mut span = Span::default();
            records.iter().for_each(|r| span.add(r));
            let whole = Diagrams::compute(&records, &span).unwrap();
            let mut merged = Diagrams::new(&span);
            for part in (0..parts).rev() {
                let some: Vec<_> = records.iter().copied().skip(part).step_by(parts).collect();
                merged.merge(&Diagrams::compute(&some, &span).unwrap());
            }
            prop_assert!(merged == whole);
        }
    }
}
