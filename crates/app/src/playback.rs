//! An archive in slices of time, which feed the live view like a running run.

use iosonar_archive::{Outcome, Record};
use iosonar_engine::Histogram;
use iosonar_plan::Nanos;
use iosonar_view::live::{CLASSES, ClassTimes, Interval, LIVE_ROWS, LiveStalls, LiveState, Moment, live_row};
use std::collections::BTreeMap;

/// Maximum number of slices; beyond it, pairs are merged.
const MOST: usize = 4096;
/// Initial length of a slice.
const FIRST: u64 = 100_000_000;
const SECOND: u64 = 1_000_000_000;

/// Events of a slice.
#[derive(Debug, Clone)]
struct Slice {
    completed: u64,
    failed: u64,
    dropped: u64,
    bytes: u64,
    demanded: u64,
    submitted: u64,
    ended: u64,
    late: Nanos,
    longest: [Nanos; CLASSES],
    /// Response times: non-empty buckets.
    responses: [BTreeMap<u16, u64>; CLASSES],
    latencies: [[u64; LIVE_ROWS]; CLASSES],
}

impl Default for Slice {
    fn default() -> Slice {
        Slice {
            completed: 0,
            failed: 0,
            dropped: 0,
            bytes: 0,
            demanded: 0,
            submitted: 0,
            ended: 0,
            late: Nanos(0),
            longest: [Nanos(0); CLASSES],
            responses: Default::default(),
            latencies: [[0; LIVE_ROWS]; CLASSES],
        }
    }
}

impl Slice {
    fn absorb(&mut self, other: Slice) {
        self.completed += other.completed;
        self.failed += other.failed;
        self.dropped += other.dropped;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.demanded += other.demanded;
        self.submitted += other.submitted;
        self.ended += other.ended;
        self.late = self.late.max(other.late);
        for class in 0..CLASSES {
            self.longest[class] = self.longest[class].max(other.longest[class]);
            for (bucket, count) in &other.responses[class] {
                *self.responses[class].entry(*bucket).or_default() += count;
            }
            let rows = self.latencies[class].iter_mut().zip(other.latencies[class]);
            rows.for_each(|(sum, n)| *sum += n);
        }
    }
}

/// All slices of an archive.
#[derive(Debug)]
pub struct Slices {
    length_ns: u64,
    slices: Vec<Slice>,
    end: Nanos,
    /// Whether requests have due times.
    has_demand: bool,
}

impl Slices {
    pub fn new(has_demand: bool) -> Slices {
        Slices { length_ns: FIRST, slices: Vec::new(), end: Nanos(0), has_demand }
    }

    /// Length of a slice.
    pub fn length(&self) -> Nanos {
        Nanos(self.length_ns)
    }

    /// Time of the last event.
    pub fn end(&self) -> Nanos {
        self.end
    }

    fn at(&mut self, time: Nanos) -> &mut Slice {
        while time.0 / self.length_ns >= MOST as u64 {
            self.halve();
        }
        self.end = self.end.max(time);
        let index = (time.0 / self.length_ns) as usize;
        if self.slices.len() <= index {
            self.slices.resize_with(index + 1, Slice::default);
        }
        &mut self.slices[index]
    }

    fn halve(&mut self) {
        let mut halved: Vec<Slice> = Vec::with_capacity(self.slices.len().div_ceil(2));
        for (i, slice) in std::mem::take(&mut self.slices).into_iter().enumerate() {
            match halved.last_mut().filter(|_| i % 2 == 1) {
                Some(before) => before.absorb(slice),
                None => halved.push(slice),
            }
        }
        (self.slices, self.length_ns) = (halved, self.length_ns * 2);
    }

    pub fn add(&mut self, record: &Record) {
        if record.outcome == Outcome::Cancelled {
            return;
        }
        self.at(record.due).demanded += 1;
        if let (Some(submitted), Some(delay)) = (record.submitted, record.delay()) {
            let slice = self.at(submitted);
            slice.submitted += 1;
            slice.late = slice.late.max(delay);
        }
        let end = record.completed.unwrap_or(record.due);
        let slice = self.at(end);
        match record.outcome {
            Outcome::Completed => slice.completed += 1,
            Outcome::Failed => slice.failed += 1,
            Outcome::Dropped => slice.dropped += 1,
            Outcome::Cancelled => {}
        }
        slice.bytes = slice.bytes.saturating_add(record.result.max(0) as u64);
        slice.ended += u64::from(record.completed.is_some() && record.submitted.is_some());
        let class = if record.is_pushed() { CLASSES - 1 } else { record.op.direction().index() };
        if let (Some(response), Some(latency)) = (record.response(), record.latency()) {
            slice.longest[class] = slice.longest[class].max(response);
            *slice.responses[class].entry(Histogram::bucket(response)).or_default() += 1;
            slice.latencies[class][live_row(latency)] += 1;
        }
    }

    /// Number of slices that have ended by `time`; all of them at the end.
    pub fn until(&self, time: Nanos) -> usize {
        if time >= self.end { self.slices.len() } else { (time.0 / self.length_ns) as usize }
    }
}

/// Position in an archive that is being shown.
#[derive(Debug, Default)]
pub struct Player {
    shown: usize,
    submitted: u64,
    ended: u64,
    demanded: u64,
    completed: u64,
    failed: u64,
    dropped: u64,
    stalls: LiveStalls,
    /// Slices without a completion although requests were in flight.
    silent: u64,
}

impl Player {
    /// Feeds `state` with the slices up to `until`. `is_growing`: the number in flight is unknown.
    pub fn show(&mut self, slices: &Slices, until: usize, is_growing: bool, state: &mut LiveState) {
        if until < self.shown {
            *self = Player::default();
            state.rewind();
        }
        for index in self.shown..until {
            self.step(slices, index, state);
        }
        self.shown = until;
        state.set_moment(self.moment(slices, is_growing));
    }

    fn step(&mut self, slices: &Slices, index: usize, state: &mut LiveState) {
        let (slice, length) = (&slices.slices[index], slices.length_ns);
        let from = index as u64 * length;
        let to = (index as u64 + 1).saturating_mul(length).min(slices.end.0.max(from.saturating_add(1)));
        state.feed(&Interval {
            from: Nanos(from),
            to: Nanos(to),
            completed: slice.completed,
            demanded: slices.has_demand.then_some(slice.demanded),
            latencies: slice.latencies,
        });
        self.submitted += slice.submitted;
        self.ended += slice.ended;
        self.demanded += slice.demanded;
        self.completed += slice.completed;
        self.failed += slice.failed;
        self.dropped += slice.dropped;
        let is_silent = slice.ended == 0 && self.submitted > self.ended;
        self.silent = if is_silent { self.silent + 1 } else { 0 };
        let silence = self.silent.saturating_mul(length);
        if silence >= SECOND {
            // It has just become a stall, or still lasts.
            self.stalls.count += u64::from(silence - length < SECOND);
            let begin = (index as u64 + 1).saturating_sub(self.silent);
            self.stalls.last = Some((Nanos(begin.saturating_mul(length)), Nanos(silence)));
        }
    }

    /// Growth of the lateness since before slice `first`, in seconds per second.
    fn growth(&self, slices: &Slices, first: usize) -> Option<f64> {
        let late = |until: usize| slices.slices[..until].iter().rposition(|slice| slice.submitted > 0);
        let (then, now) = (late(first)?, late(self.shown)?);
        let passed = (now - then) as u64 * slices.length_ns;
        let difference = slices.slices[now].late.as_secs_f64() - slices.slices[then].late.as_secs_f64();
        (passed > 0).then(|| difference / (passed as f64 / 1e9))
    }

    fn moment(&self, slices: &Slices, is_growing: bool) -> Moment {
        let (length, all) = (slices.length_ns, slices.slices.len());
        let first = self.shown.saturating_sub(SECOND.div_ceil(length) as usize);
        let second = &slices.slices[first..self.shown];
        let end = (self.shown as u64).saturating_mul(length).min(slices.end.0);
        // Records from other programs may have a completion before the submission.
        let in_flight = self.submitted.saturating_sub(self.ended);
        let backlog = self.demanded.saturating_sub(self.completed + self.failed + self.dropped + in_flight);
        let class = |class: usize| {
            let mut times = Histogram::default();
            for (bucket, count) in second.iter().flat_map(|slice| &slice.responses[class]) {
                times.add(*bucket, *count);
            }
            let max = second.iter().map(|slice| slice.longest[class]).max().unwrap_or_default();
            let (p50, p99) = (times.percentile(50, max), times.percentile(99, max));
            ClassTimes { count: times.total(), p50, p99, max }
        };
        Moment {
            time: Nanos(end),
            done: (!is_growing && all > 0).then(|| self.shown as f64 / all as f64),
            in_flight: (!is_growing).then_some(in_flight),
            waiting: None,
            backlog: (!is_growing && slices.has_demand).then_some(backlog),
            late: second.iter().map(|slice| slice.late).max().unwrap_or_default(),
            growth: slices.has_demand.then(|| self.growth(slices, first)).flatten(),
            ends: None,
            failed: self.failed,
            dropped: self.dropped,
            stalls: self.stalls,
            second: Nanos(end.saturating_sub((first as u64).saturating_mul(length))),
            completed: second.iter().map(|slice| slice.completed).sum(),
            // Requests that are due and have not completed are not recorded yet.
            demanded: (!is_growing && slices.has_demand)
                .then(|| second.iter().map(|slice| slice.demanded).sum()),
            classes: std::array::from_fn(class),
            bytes: second.iter().fold(0, |sum, slice| sum.saturating_add(slice.bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::Op;
    use iosonar_text::units::Charset;
    use iosonar_view::live::{Ramp, Setting, draw};

    fn record(due_ms: u64, latency_ms: u64) -> Record {
        Record {
            op: Op::Write,
            due: Nanos(due_ms * 1_000_000),
            submitted: Some(Nanos(due_ms * 1_000_000)),
            completed: Some(Nanos((due_ms + latency_ms) * 1_000_000)),
            result: 4096,
            ..Record::default()
        }
    }

    #[test]
    fn replays_display_of_a_recorded_run() {
        let mut slices = Slices::new(true);
        (0..10_000).for_each(|ms| slices.add(&record(ms, if ms == 4000 { 5000 } else { 2 })));
        let setting = Setting { base: slices.length(), ..Setting::default() };
        let (mut player, mut state) = (Player::default(), LiveState::new(setting));
        let at = slices.until(Nanos(5 * SECOND));
        player.show(&slices, at, false, &mut state);
        let moment = *state.moment();
        assert_eq!((moment.time, moment.second, moment.late), (Nanos(5 * SECOND), Nanos(SECOND), Nanos(0)));
        // Two of the last milliseconds, and the slow one.
        assert_eq!(moment.in_flight, Some(3));
        assert_eq!(moment.classes.map(|c| c.count), [0, 999, 0]);
        assert_eq!(moment.classes[1].max, Nanos(2_000_000));
        player.show(&slices, slices.until(Nanos(u64::MAX)), false, &mut state);
        let moment = *state.moment();
        assert_eq!((moment.in_flight, moment.backlog, moment.done), (Some(0), Some(0), Some(1.0)));
        // Back again: the state is as before.
        player.show(&slices, at, false, &mut state);
        assert_eq!(state.moment().in_flight, Some(3));
    }

    #[test]
    fn lateness_that_grows_is_seen_in_a_recorded_run() {
        let mut slices = Slices::new(true);
        // A request each millisecond that takes two: one is in flight at a time.
        for i in 0..5000 {
            let start = Nanos(i * 2_000_000);
            let completed = Nanos(start.0 + 2_000_000);
            slices.add(&Record { submitted: Some(start), completed: Some(completed), ..record(i, 0) });
        }
        let mut state = LiveState::new(Setting { base: slices.length(), ..Setting::default() });
        let mut player = Player::default();
        player.show(&slices, slices.until(Nanos(4 * SECOND)), false, &mut state);
        let moment = *state.moment();
        assert!(moment.growth.is_some_and(|growth| (growth - 0.5).abs() < 0.01), "{:?}", moment.growth);
        assert_eq!((moment.completed, moment.demanded), (500, Some(1000)));
        let text = draw(&state, (80, 24), Ramp::Mono, Charset::Ascii).to_text();
        assert!(text.contains("and growing 0.5 s/s: 50 % of what is wanted"), "{text}");
        // All is due after 5 s: the run catches up.
        player.show(&slices, slices.until(Nanos(u64::MAX)), false, &mut state);
        let text = draw(&state, (80, 24), Ramp::Mono, Charset::Ascii).to_text();
        assert!(state.moment().growth.is_some() && !text.contains("% of what"), "{text}");
    }

    #[test]
    fn gap_is_shown_as_one_stall() {
        let mut slices = Slices::new(true);
        slices.add(&record(0, 3500));
        (4000..5000).for_each(|ms| slices.add(&record(ms, 1)));
        let mut state = LiveState::new(Setting::default());
        Player::default().show(&slices, slices.until(Nanos(u64::MAX)), false, &mut state);
        let stalls = state.moment().stalls;
        assert_eq!((stalls.count, stalls.last), (1, Some((Nanos(0), Nanos(3_500_000_000)))));
    }

    #[test]
    fn inconsistent_records_do_not_break_playback() {
        // Completed seconds before it was submitted.
        let early =
            Record { submitted: Some(Nanos(5 * SECOND)), completed: Some(Nanos(SECOND)), ..record(0, 0) };
        let mut slices = Slices::new(true);
        slices.add(&early);
        let mut state = LiveState::new(Setting { base: slices.length(), ..Setting::default() });
        let mut player = Player::default();
        player.show(&slices, slices.until(Nanos(3 * SECOND)), false, &mut state);
        assert_eq!((state.moment().in_flight, state.moment().backlog), (Some(0), Some(0)));
        player.show(&slices, slices.until(Nanos(u64::MAX)), false, &mut state);
        assert_eq!((state.moment().in_flight, state.moment().time), (Some(0), Nanos(5 * SECOND)));
        // At the maximum time, with more bytes than possible.
        for completed in [u64::MAX, u64::MAX, u64::MAX - 1] {
            let late = Record { completed: Some(Nanos(completed)), result: i64::MAX, ..record(0, 0) };
            slices.add(&late);
        }
        let mut state = LiveState::new(Setting { base: slices.length(), ..Setting::default() });
        state.show_whole();
        let mut player = Player::default();
        player.show(&slices, slices.until(Nanos(u64::MAX)), false, &mut state);
        let moment = *state.moment();
        assert_eq!((moment.time, moment.in_flight, moment.done), (Nanos(u64::MAX), Some(0), Some(1.0)));
        assert_eq!((moment.bytes, moment.stalls.count), (u64::MAX, 1));
        let text = draw(&state, (80, 24), Ramp::Mono, Charset::Ascii).to_text();
        assert!(text.contains("100%"), "{text}");
    }

    #[test]
    fn a_long_run_has_longer_slices() {
        let mut slices = Slices::new(true);
        (0..4000).for_each(|second| slices.add(&record(second * 1000, 1)));
        assert!(slices.slices.len() <= MOST && slices.length() > Nanos(FIRST));
        assert_eq!(slices.slices.iter().map(|s| s.completed).sum::<u64>(), 4000);
    }
}
