//! Grids and series for the pictures.

use crate::axis::{OverTime, row_of};
use crate::correlation::Against;
use crate::fits::Fits;
use crate::health::WAITED;
use crate::resolution::Resolution;
use crate::{Class, ClassOccupancy, ClassSeries, Correlation, CountGrid, Ordered, TimeAxis, TurnSeries};
use iosonar_archive::{Fields, Outcome, Record};
use serde::{Deserialize, Serialize};

/// Maximum time columns of the latency picture, the one to zoom into.
const SONAR_COLUMNS: usize = 16_384;
/// Maximum time columns of all other pictures.
const SERIES_COLUMNS: usize = 4_096;
/// Maximum columns of response times over completion and number, which are looked at least: each grid costs the page about a
/// megabyte.
const RARE_COLUMNS: usize = 2_048;
/// Maximum time columns of any picture where memory is scarce (see [`spare_memory`](crate::spare_memory)), or a run has very many parts.
const COARSE_COLUMNS: usize = 1_024;
/// Maximum columns of response times in such a case.
const COARSE_RESPONSE_COLUMNS: usize = 256;
/// Maximum time columns of pictures about the replayer itself.
pub const HEALTH_COLUMNS: usize = 1_024;

/// Input of all pictures. Parts of a run merge in any order, except for the order-dependent [`Ordered`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagrams {
    /// Latency of completed requests over their submission, flushes among them, as in all pictures of latency and delay.
    pub latency: CountGrid,
    /// Latency over due time.
    pub latency_by_due: CountGrid,
    /// Latency over completion.
    pub latency_by_completion: CountGrid,
    /// Latency over the number of the record, in order of completion: its axis counts records instead of nanoseconds.
    pub latency_by_number: CountGrid,
    /// Response of completed requests.
    pub response: ResponseGrids,
    /// Delay of completed requests over their due time.
    pub delay: CountGrid,
    /// Delay over the number of the record.
    pub delay_by_number: CountGrid,
    /// Failed requests, in the same ways as the completed ones.
    pub failed: FailedGrids,
    /// Every request by its due time.
    pub demanded: ClassSeries,
    /// Completed requests by their completion.
    pub delivered: ClassSeries,
    /// Requests in flight, failed ones too.
    pub in_flight: ClassOccupancy,
    /// Requests that are due and not submitted yet.
    pub waiting: ClassOccupancy,
    /// Latency over the delay of the same request.
    pub latency_delay: Correlation,
    /// Issue delay over due time, of submitted requests that did not have to wait. Failed requests count, as in the
    /// summary's health.
    pub issue_error: CountGrid,
    /// Completion poll delay of submitted requests over due time; failed ones too.
    pub reap_lag: CountGrid,
    /// Latency over the number of requests of the same operation in flight just after the submission, including the request
    /// itself.
    #[serde(skip, default = "numbered")]
    pub latency_in_flight: Correlation,
    /// Delay over the number of requests of the same operation that wait just after the due time, including the request
    /// itself.
    #[serde(skip, default = "numbered")]
    pub delay_waiting: Correlation,
    /// Backward seeks in the order of completion: requests that lie before the previously completed one.
    #[serde(skip, default = "no_turns")]
    pub turns: TurnSeries,
    /// Throughput in windows that the user chose.
    windows: Option<Box<Windows>>,
    /// Last due time or completion, or the end of the recording.
    end_ns: u64,
    /// Number of records.
    records: u64,
    detail: Detail,
}

/// Response times, from due to completion. Without due times they are the latencies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseGrids {
    /// Over submission.
    pub by_start: CountGrid,
    /// Over due time.
    pub by_due: CountGrid,
    /// Over completion.
    pub by_completion: CountGrid,
    /// Over the number of the record.
    pub by_number: CountGrid,
}

impl ResponseGrids {
    fn new(end_ns: u64, resolution: Resolution) -> ResponseGrids {
        let columns = |fine| resolution.of(fine, COARSE_RESPONSE_COLUMNS);
        let grid = |end, fine| CountGrid::new(TimeAxis::new(end, columns(fine)));
        let wide = || grid(end_ns, SERIES_COLUMNS);
        let rare = |end| grid(end, RARE_COLUMNS);
        ResponseGrids { by_start: wide(), by_due: wide(), by_completion: rare(end_ns), by_number: rare(0) }
    }

    fn add(&mut self, number: u64, class: Class, due: u64, (submitted, completed): (u64, u64)) {
        let response = row_of(completed.saturating_sub(due));
        self.by_start.add_row(class, submitted, response);
        self.by_due.add_row(class, due, response);
        self.by_completion.add_row(class, completed, response);
        self.by_number.add_row(class, number, response);
    }

    fn over_time(&mut self) -> [&mut CountGrid; 3] {
        [&mut self.by_start, &mut self.by_due, &mut self.by_completion]
    }

    fn merge(&mut self, other: ResponseGrids) {
        self.by_start.merge(other.by_start);
        self.by_due.merge(other.by_due);
        self.by_completion.merge(other.by_completion);
        self.by_number.merge(other.by_number);
    }
}

/// Times of failed requests: submitted and returned, but not with all their bytes. They are in no other grid, as they are
/// no answer of the target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedGrids {
    /// Latency over submission.
    pub latency: CountGrid,
    /// Latency over due time.
    pub latency_by_due: CountGrid,
    /// Latency over the time of the failure.
    pub latency_by_completion: CountGrid,
    /// Latency over the number of the record.
    pub latency_by_number: CountGrid,
    /// Response.
    pub response: ResponseGrids,
    /// Delay over due time.
    pub delay: CountGrid,
    /// Delay over the number of the record.
    pub delay_by_number: CountGrid,
}

impl FailedGrids {
    fn new(end_ns: u64, resolution: Resolution) -> FailedGrids {
        let columns = series_columns(resolution);
        let grid = || CountGrid::new(TimeAxis::new(end_ns, columns));
        let by_number = || CountGrid::new(TimeAxis::new(0, columns));
        FailedGrids {
            latency: grid(),
            latency_by_due: grid(),
            latency_by_completion: grid(),
            latency_by_number: by_number(),
            response: ResponseGrids::new(end_ns, resolution),
            delay: grid(),
            delay_by_number: by_number(),
        }
    }

    fn add(&mut self, number: u64, class: Class, due: u64, (submitted, completed): (u64, u64)) {
        let latency = row_of(completed.saturating_sub(submitted));
        let delay = row_of(submitted.saturating_sub(due));
        self.latency.add_row(class, submitted, latency);
        self.latency_by_due.add_row(class, due, latency);
        self.latency_by_completion.add_row(class, completed, latency);
        self.latency_by_number.add_row(class, number, latency);
        self.response.add(number, class, due, (submitted, completed));
        self.delay.add_row(class, due, delay);
        self.delay_by_number.add_row(class, number, delay);
    }

    fn over_time(&mut self) -> [&mut CountGrid; 4] {
        [&mut self.latency, &mut self.latency_by_due, &mut self.latency_by_completion, &mut self.delay]
    }

    fn by_number(&mut self) -> [&mut CountGrid; 2] {
        [&mut self.latency_by_number, &mut self.delay_by_number]
    }
}

/// Counts that need the order of all requests are made after the parts were merged.
fn numbered() -> Correlation {
    Correlation::new(Against::Number)
}

fn no_turns() -> TurnSeries {
    TurnSeries::new(TimeAxis::new(0, series_columns(Resolution::here())))
}

/// Throughput in windows of a chosen width. The axes count windows instead of nanoseconds, so that any width is exact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Windows {
    width_ns: u64,
    demanded: ClassSeries,
    delivered: ClassSeries,
}

/// Demanded and delivered throughput, as pictures and their tables show it.
#[derive(Debug, Clone, Copy)]
pub struct Rates<'a> {
    /// Every request by its due time.
    pub demanded: &'a ClassSeries,
    /// Completed requests by their completion.
    pub delivered: &'a ClassSeries,
    /// Width of a column. With very many windows, neighbours are one column.
    pub width_ns: u64,
}

/// Maximum time columns of all pictures but the sonar.
pub(crate) fn series_columns(resolution: Resolution) -> usize {
    resolution.of(SERIES_COLUMNS, COARSE_COLUMNS)
}

/// Scope of the counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Detail {
    /// The input of findings: [`Diagrams::latency`], demanded and delivered.
    Sonar,
    /// The sonar: responses over due time, too.
    Response,
    /// The course of the run: requests in flight, too.
    Course,
    /// Everything.
    Full,
}

impl Detail {
    /// The fields of records that are needed.
    pub fn fields(self) -> Fields {
        match self {
            Detail::Full => Diagrams::FIELDS,
            Detail::Sonar | Detail::Response | Detail::Course => Fields::OP
                .and(Fields::OUTCOME)
                .and(Fields::DUE)
                .and(Fields::SUBMITTED)
                .and(Fields::COMPLETED)
                .and(Fields::REQUESTED)
                .and(Fields::RESULT)
                .and(Fields::MARKS),
        }
    }
}

impl Diagrams {
    /// The fields of records that pictures need.
    pub const FIELDS: Fields = Fields::ORIGIN
        .and(Fields::OP)
        .and(Fields::OUTCOME)
        .and(Fields::DUE)
        .and(Fields::SUBMITTED)
        .and(Fields::COMPLETED)
        .and(Fields::REAP_LAG)
        .and(Fields::REQUESTED)
        .and(Fields::RESULT)
        .and(Fields::MARKS);

    /// Empty diagrams for a run that lasts until about `end_ns`: longer runs are as good, but cost more.
    pub fn new(end_ns: u64, detail: Detail) -> Diagrams {
        Diagrams::with_columns(end_ns, detail, Resolution::here())
    }

    /// Like [`Diagrams::new`], with columns of a chosen width.
    pub(crate) fn with_columns(end_ns: u64, detail: Detail, resolution: Resolution) -> Diagrams {
        let columns = series_columns(resolution);
        let axis = TimeAxis::new(end_ns, columns);
        let health = TimeAxis::new(end_ns, HEALTH_COLUMNS);
        let numbers = TimeAxis::new(0, columns);
        let occupancy = || ClassOccupancy::new(end_ns, columns, resolution);
        Diagrams {
            latency: CountGrid::new(TimeAxis::new(end_ns, resolution.of(SONAR_COLUMNS, COARSE_COLUMNS))),
            latency_by_due: CountGrid::new(axis),
            latency_by_completion: CountGrid::new(axis),
            latency_by_number: CountGrid::new(numbers),
            response: ResponseGrids::new(end_ns, resolution),
            delay: CountGrid::new(axis),
            delay_by_number: CountGrid::new(numbers),
            failed: FailedGrids::new(end_ns, resolution),
            demanded: ClassSeries::new(axis),
            delivered: ClassSeries::new(axis),
            in_flight: occupancy(),
            waiting: occupancy(),
            latency_delay: Correlation::new(Against::Duration),
            issue_error: CountGrid::new(health),
            reap_lag: CountGrid::new(health),
            latency_in_flight: Correlation::new(Against::Number),
            delay_waiting: Correlation::new(Against::Number),
            turns: TurnSeries::new(axis),
            windows: None,
            end_ns: 0,
            records: 0,
            detail,
        }
    }

    /// Adds throughput in windows of this width, if given.
    pub fn with_throughput_windows(mut self, width_ns: Option<u64>) -> Diagrams {
        self.windows = width_ns.map(|width_ns| {
            let series = || ClassSeries::new(TimeAxis::new(0, series_columns(Resolution::here())));
            Box::new(Windows { width_ns: width_ns.max(1), demanded: series(), delivered: series() })
        });
        self
    }

    /// Throughput in the chosen windows, or else in columns that follow the run's length.
    pub fn rates(&self) -> Rates<'_> {
        match &self.windows {
            Some(windows) => Rates {
                demanded: &windows.demanded,
                delivered: &windows.delivered,
                width_ns: windows.width_ns.saturating_mul(windows.demanded.axis().width_ns()),
            },
            None => Rates {
                demanded: &self.demanded,
                delivered: &self.delivered,
                width_ns: self.demanded.axis().width_ns(),
            },
        }
    }

    /// Adds a record. `number`: count of the records before it in the archive.
    pub fn add(&mut self, number: u64, record: &Record) {
        self.records = self.records.max(number + 1);
        self.end_ns = self.end_ns.max(record.due.0).max(record.completed.map_or(0, |t| t.0));
        let Some(class) = Class::of(record) else { return };
        if class.is_transfer() {
            self.add_transfer(class, record);
        }
        let (Some(submitted), Some(completed)) = (record.submitted, record.completed) else { return };
        if record.is_completed() {
            self.add_completed(number, class, record, (submitted.0, completed.0));
        } else if record.outcome == Outcome::Failed {
            self.failed.add(number, class, record.due.0, (submitted.0, completed.0));
        }
    }

    /// Counts demand and requests in flight. Flushes have no bytes, and are no part of the depth.
    fn add_transfer(&mut self, class: Class, record: &Record) {
        self.demanded.add(class, record.due.0, record.requested.length);
        if let Some(windows) = &mut self.windows {
            windows.demanded.add(class, record.due.0 / windows.width_ns, record.requested.length);
        }
        let (Some(submitted), Some(completed)) = (record.submitted, record.completed) else { return };
        if self.detail >= Detail::Course {
            self.in_flight.add(class, submitted.0, completed.0);
        }
        if self.detail == Detail::Full {
            self.waiting.add(class, record.due.0, submitted.0);
            self.add_health(class, record, submitted.0);
        }
        if record.is_completed() {
            let bytes = u64::try_from(record.result).unwrap_or(0);
            self.delivered.add(class, completed.0, bytes);
            if let Some(windows) = &mut self.windows {
                windows.delivered.add(class, completed.0 / windows.width_ns, bytes);
            }
        }
    }

    /// Counts figures of the replayer itself: for every request that returned.
    fn add_health(&mut self, class: Class, record: &Record, submitted: u64) {
        let due = record.due.0;
        if record.marks.0 & WAITED == 0 {
            self.issue_error.add(class, due, submitted.saturating_sub(due));
        }
        self.reap_lag.add(class, due, record.reap_lag.0);
    }

    fn add_completed(&mut self, number: u64, class: Class, record: &Record, times: (u64, u64)) {
        let ((submitted, completed), due) = (times, record.due.0);
        let (latency_ns, delay_ns) = (completed.saturating_sub(submitted), submitted.saturating_sub(due));
        let (latency, delay) = (row_of(latency_ns), row_of(delay_ns));
        self.latency.add_row(class, submitted, latency);
        match self.detail {
            Detail::Sonar => return,
            Detail::Response | Detail::Course => {
                let response = row_of(completed.saturating_sub(due));
                return self.response.by_due.add_row(class, due, response);
            }
            Detail::Full => self.response.add(number, class, due, times),
        }
        self.latency_by_due.add_row(class, due, latency);
        self.latency_by_completion.add_row(class, completed, latency);
        self.latency_by_number.add_row(class, number, latency);
        self.delay.add_row(class, due, delay);
        self.delay_by_number.add_row(class, number, delay);
        if class.is_transfer() {
            self.latency_delay.add(class, delay_ns, latency_ns);
        }
    }

    /// Merges `other`. Neither may be finished.
    pub fn merge(&mut self, mut other: Diagrams) {
        let empty = || CountGrid::new(TimeAxis::new(0, 1));
        for (mine, theirs) in self.grids_mut().into_iter().zip(other.grids_mut()) {
            mine.merge(std::mem::replace(theirs, empty()));
        }
        let (mine, theirs) = (self.failed.over_time(), other.failed.over_time());
        mine.into_iter().zip(theirs).for_each(|(m, t)| m.merge(std::mem::replace(t, empty())));
        let (mine, theirs) = (self.failed.by_number(), other.failed.by_number());
        mine.into_iter().zip(theirs).for_each(|(m, t)| m.merge(std::mem::replace(t, empty())));
        self.demanded.merge(&other.demanded);
        self.delivered.merge(&other.delivered);
        if let (Some(mine), Some(theirs)) = (&mut self.windows, &other.windows) {
            mine.demanded.merge(&theirs.demanded);
            mine.delivered.merge(&theirs.delivered);
        }
        self.latency_delay.merge(&other.latency_delay);
        self.end_ns = self.end_ns.max(other.end_ns);
        self.records = self.records.max(other.records);
        self.in_flight.merge(other.in_flight);
        self.waiting.merge(other.waiting);
        self.response.merge(other.response);
        self.failed.response.merge(other.failed.response);
    }

    fn grids_mut(&mut self) -> [&mut CountGrid; 8] {
        [
            &mut self.latency,
            &mut self.latency_by_due,
            &mut self.latency_by_completion,
            &mut self.latency_by_number,
            &mut self.delay,
            &mut self.delay_by_number,
            &mut self.issue_error,
            &mut self.reap_lag,
        ]
    }

    fn grids(&self) -> [&CountGrid; 8] {
        [
            &self.latency,
            &self.latency_by_due,
            &self.latency_by_completion,
            &self.latency_by_number,
            &self.delay,
            &self.delay_by_number,
            &self.issue_error,
            &self.reap_lag,
        ]
    }

    /// Extends the time axis to `end_ns`.
    pub(crate) fn last_until(&mut self, end_ns: Option<u64>) {
        self.end_ns = self.end_ns.max(end_ns.unwrap_or(0));
    }

    /// Adds the order-dependent counts, and lets all axes end where the run ended. Returns the number of requests that came
    /// too late for their place in an order.
    pub fn finish(&mut self, mut ordered: Ordered) -> u64 {
        ordered.finish();
        let late = ordered.late();
        self.latency_in_flight = ordered.flights.counts;
        self.delay_waiting = ordered.backlog.counts;
        self.turns = ordered.turns.series;
        let (end, last) = (self.end_ns, self.records.saturating_sub(1));
        self.latency_by_number.reach(last);
        self.delay_by_number.reach(last);
        self.failed.by_number().into_iter().for_each(|grid| grid.reach(last));
        self.failed.over_time().into_iter().for_each(|grid| grid.reach(end));
        for response in [&mut self.response, &mut self.failed.response] {
            response.by_number.reach(last);
            response.over_time().into_iter().for_each(|grid| grid.reach(end));
        }
        let over_time = [
            &mut self.latency,
            &mut self.latency_by_due,
            &mut self.latency_by_completion,
            &mut self.delay,
            &mut self.issue_error,
            &mut self.reap_lag,
        ];
        over_time.into_iter().for_each(|grid| grid.reach(end));
        self.demanded.reach(end);
        self.delivered.reach(end);
        if let Some(windows) = &mut self.windows {
            windows.demanded.reach(end / windows.width_ns);
            windows.delivered.reach(end / windows.width_ns);
        }
        self.in_flight.finish(end);
        self.waiting.finish(end);
        self.turns.reach(end);
        late
    }

    /// Scope of the counting.
    pub(crate) fn detail(&self) -> Detail {
        self.detail
    }

    /// Last due time or completion, or the end of the recording.
    pub fn end_ns(&self) -> u64 {
        self.end_ns
    }
}

impl Fits for ResponseGrids {
    fn fits(&self, own: &Self) -> bool {
        self.by_start.fits(&own.by_start)
            && self.by_due.fits(&own.by_due)
            && self.by_completion.fits(&own.by_completion)
            && self.by_number.fits(&own.by_number)
    }
}

impl Fits for FailedGrids {
    fn fits(&self, own: &Self) -> bool {
        self.latency.fits(&own.latency)
            && self.latency_by_due.fits(&own.latency_by_due)
            && self.latency_by_completion.fits(&own.latency_by_completion)
            && self.latency_by_number.fits(&own.latency_by_number)
            && self.response.fits(&own.response)
            && self.delay.fits(&own.delay)
            && self.delay_by_number.fits(&own.delay_by_number)
    }
}

impl Fits for Diagrams {
    fn fits(&self, own: &Self) -> bool {
        self.detail == own.detail
            && self.windows.is_none() == own.windows.is_none()
            && self.grids().into_iter().zip(own.grids()).all(|(theirs, own)| theirs.fits(own))
            && self.response.fits(&own.response)
            && self.failed.fits(&own.failed)
            && self.demanded.fits(&own.demanded)
            && self.delivered.fits(&own.delivered)
            && self.in_flight.fits(&own.in_flight)
            && self.waiting.fits(&own.waiting)
            && self.latency_delay.fits(&own.latency_delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fixture, any_records};
    use crate::{Scope, Step};
    use proptest::prelude::*;

    #[test]
    fn grids_count_every_completed_request_once() {
        let f = Fixture::mixed();
        let s = f.summary();
        let d = Diagrams::compute(&f.records).unwrap();
        for grid in [&d.latency, &d.delay, &d.response.by_start, &d.response.by_due, &d.response.by_number] {
            assert_eq!(Class::ALL.map(|c| grid.total(c)).iter().sum::<u64>(), s.counts.all.completed);
            let pushed = grid.total(Class::ReadPushed) + grid.total(Class::WritePushed);
            assert_eq!(pushed, s.latency.read_pushed.unwrap().count + s.latency.write_pushed.unwrap().count);
        }
        let failed = [
            &d.failed.latency,
            &d.failed.delay_by_number,
            &d.failed.latency_by_completion,
            &d.failed.response.by_completion,
        ];
        for grid in failed {
            assert_eq!(Class::ALL.map(|c| grid.total(c)).iter().sum::<u64>(), s.counts.all.failed);
        }
        assert_eq!(d.demanded.scope(Scope::All).requests.iter().sum::<u64>(), s.counts.all.total);
        assert_eq!(d.delivered.scope(Scope::Read).requests.iter().sum::<u64>(), s.counts.read.completed);
        assert_eq!(
            d.delivered.scope(Scope::Write).bytes.iter().sum::<u64>(),
            s.counts.write.transferred_bytes
        );
    }

    #[test]
    fn an_empty_run_has_empty_pictures() {
        let f = Fixture::empty();
        let d = Diagrams::compute(&f.records).unwrap();
        assert_eq!(d.latency.axis().columns(), 1);
        assert_eq!(d.in_flight.scope(Scope::All).bands(100).len(), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4))]
        #[test]
        fn any_split_yields_the_same_pictures(records in any_records(), parts in 1usize..4) {
            let whole = Diagrams::compute(&records).unwrap();
            let mut merged = Diagrams::new(0, Detail::Full);
            for part in (0..parts).rev() {
                let mut some = Diagrams::new(0, Detail::Full);
                let numbered = (0..).zip(&records).skip(part).step_by(parts);
                numbered.for_each(|(number, record)| some.add(number, record));
                merged.merge(some);
            }
            let mut ordered = Ordered::new();
            records.iter().filter_map(Step::of).for_each(|step| ordered.add(&step));
            merged.finish(ordered);
            prop_assert!(merged == whole);
        }
    }
}
