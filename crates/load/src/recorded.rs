//! A recorded load as a source: its filters, its window, its clock, and its treatment of times that run backward.

use crate::filter::{FilterError, Filtered, Room};
use crate::sort::Sorter;
use crate::text::{Lines, Tell, Text};
use crate::{Source, SourceRequest};
use iosonar_plan::{Backward, Durability, Filter, IssuePolicy, LoadPace, LoadPart, Nanos, TraceReplay};
use iosonar_text::{one_line, shown};
use iosonar_trace::TimedRequest;
use iosonar_trace::blkreplay::{BadLine, ReadError};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Why a load cannot be read on.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It cannot be opened. Holds the error, its place, and the remedy.
    #[error("{0}")]
    Open(String),
    /// The input itself.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A malformed request line, where such lines are not skipped.
    #[error("{0}; fix the line, or use --skip-bad to skip such lines")]
    Bad(BadLine),
    /// Time runs backward where that is not allowed.
    #[error(
        "{at}: time runs backward, from {before} to {time}; use --backward sort to sort the load, or --backward shift to shift what follows"
    )]
    Backward {
        /// Place of the earlier time.
        at: String,
        /// Its time.
        time: Nanos,
        /// The time before it.
        before: Nanos,
    },
    /// Sorting needs a temporary file, and that failed.
    #[error("cannot sort the load: {0}")]
    Sort(#[source] std::io::Error),
    /// A step that changes the load.
    // In a box, because every request that is read passes as a result of this size.
    #[error(transparent)]
    Filter(Box<FilterError>),
    /// Another input that a step reads beside the load.
    #[error("{of}: {error}")]
    Beside {
        /// The input.
        of: Arc<str>,
        /// The error there.
        error: Box<LoadError>,
    },
}

pub(crate) fn unsorted(error: std::io::Error) -> LoadError {
    LoadError::Sort(iosonar_os::temporary::explained(error))
}

impl From<FilterError> for LoadError {
    fn from(error: FilterError) -> LoadError {
        LoadError::Filter(Box::new(error))
    }
}

/// A notice that does not end the reading.
#[derive(Debug)]
pub enum Notice {
    /// A line was skipped.
    Skipped {
        /// The bad line and the reason.
        bad: BadLine,
        /// Its text, if not the load itself.
        of: Option<Arc<str>>,
    },
    /// Time ran backward and the following requests were shifted.
    Shifted(BackShift),
    /// A line that a command of the filters wrote to its standard error.
    Said {
        /// The step.
        filter: Filter,
        /// The line; it may hold anything.
        line: String,
    },
}

impl Notice {
    /// The notice as a sentence about a load with this name.
    pub fn text(&self, load: &Path) -> String {
        let load = shown(&load);
        match self {
            Notice::Skipped { bad, of: Some(of) } => format!("{of}: {bad}: skipped"),
            Notice::Said { filter, line } => format!("{filter}: {}", one_line(line)),
            Notice::Skipped { bad, of: None } => format!("{load}: {bad}: skipped"),
            Notice::Shifted(BackShift { at, time, delta, total }) => {
                format!("{load}: {at}: time runs backward to {time}: shifted by {delta}, in all by {total}")
            }
        }
    }
}

/// Number of notices of each kind.
#[derive(Debug, Default)]
pub struct ParseCounters {
    /// Lines that were skipped.
    pub bad_lines: AtomicU64,
    /// Shifts.
    pub back_shifts: AtomicU64,
}

impl ParseCounters {
    /// Counts a notice.
    pub fn count(&self, notice: &Notice) {
        let counter = match notice {
            Notice::Skipped { .. } => &self.bad_lines,
            Notice::Shifted(_) => &self.back_shifts,
            Notice::Said { .. } => return,
        };
        counter.fetch_add(1, Relaxed);
    }
}

/// A backward step that was turned into a shift.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackShift {
    /// Place of the request.
    pub at: String,
    /// The time that the request would have had.
    pub time: Nanos,
    /// Amount of the shift.
    pub delta: Nanos,
    /// Total shift from here on.
    pub total: Nanos,
}

/// Requests of a load, in the order of its lines.
enum Input {
    /// The load itself. Not after a `dyn`: most loads have no filter, and pay for none.
    Plain(Lines),
    /// A load after steps.
    Filtered(Filtered),
}

/// Reads requests in the order in which they are replayed, with the times that count.
pub(crate) struct Ordered {
    input: Input,
    backward: Backward,
    tell: Tell,
    last: Nanos,
    shift: Nanos,
}

impl Ordered {
    /// `backward` is sort only for a reader whose order does not matter.
    pub(crate) fn new(text: Text, load: &TraceReplay, room: &Room, tell: Tell) -> Result<Ordered, LoadError> {
        let input = if load.filter.is_empty() {
            Input::Plain(Lines::new(text.opened, load.skip_bad, tell.clone()))
        } else {
            Input::Filtered(Filtered::new(text, &load.filter, load.skip_bad, room, tell.clone())?)
        };
        Ok(Ordered { input, backward: load.backward, tell, last: Nanos(0), shift: Nanos(0) })
    }

    pub(crate) fn lines(&self) -> u64 {
        match &self.input {
            Input::Plain(lines) => lines.lines(),
            Input::Filtered(filtered) => filtered.lines(),
        }
    }

    /// The next request, its time shifted if need be.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<TimedRequest>, LoadError> {
        let next = match &mut self.input {
            Input::Plain(lines) => lines.next()?,
            Input::Filtered(filtered) => filtered.next_of_replay()?,
        };
        let Some(mut request) = next else { return Ok(None) };
        self.put_in_time(&mut request)?;
        Ok(Some(request))
    }

    /// Place of a request.
    fn place(&self, r: &TimedRequest) -> String {
        match &self.input {
            Input::Plain(_) => format!("line {}", r.line),
            Input::Filtered(filtered) => filtered.place(r),
        }
    }

    #[inline]
    fn put_in_time(&mut self, r: &mut TimedRequest) -> Result<(), LoadError> {
        r.time = Nanos(r.time.0.saturating_add(self.shift.0));
        match self.backward {
            Backward::Sort => {}
            Backward::Refuse if r.time < self.last => {
                return Err(LoadError::Backward { at: self.place(r), time: r.time, before: self.last });
            }
            // As blkreplay: only whole seconds count, smaller steps back stay as they are.
            Backward::Shift if r.time.0 / Nanos::SECOND.0 < self.last.0 / Nanos::SECOND.0 => {
                let delta = self.last.saturating_sub(r.time);
                self.shift = Nanos(self.shift.0.saturating_add(delta.0));
                let (at, total) = (self.place(r), self.shift);
                (self.tell)(Notice::Shifted(BackShift { at, time: r.time, delta, total }));
                r.time = self.last;
            }
            Backward::Refuse | Backward::Shift => {}
        }
        self.last = r.time;
        Ok(())
    }
}

/// A request as it is replayed; `None` if it is skipped.
pub(crate) fn kept(load: &TraceReplay, request: TimedRequest) -> Option<TimedRequest> {
    let policy = if request.op.is_dataless_change() { load.discard } else { load.flush };
    match policy {
        IssuePolicy::Issue => Some(request),
        IssuePolicy::Drop if !request.op.is_transfer() => None,
        IssuePolicy::Drop => Some(TimedRequest { durability: Durability::NONE, ..request }),
    }
}

/// Counts the requests of a load, of which others replay some.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartCount {
    part: Option<LoadPart>,
    seen: u64,
}

impl PartCount {
    pub(crate) fn of(load: &TraceReplay) -> PartCount {
        PartCount { part: load.part, seen: 0 }
    }

    /// Whether the next request is replayed here.
    pub(crate) fn is_own(&mut self) -> bool {
        let number = self.seen;
        self.seen += 1;
        self.part.is_none_or(|part| part.has(number))
    }
}

/// A recorded load, replayed: filters, window, time from the first request on, speed or as soon as possible.
pub struct Recorded {
    input: Ordered,
    sorter: Option<Sorter>,
    load: TraceReplay,
    /// Time of the first request inside the window.
    first: Option<Nanos>,
    part: PartCount,
    sequence: u64,
    ended: bool,
}

impl Recorded {
    /// Reads a text through the load's filters. `notice` gets skipped lines and shifts.
    pub fn new(
        text: Text,
        load: &TraceReplay,
        notice: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Result<Recorded, LoadError> {
        Ok(Recorded {
            input: Ordered::new(text, load, &Room::default(), Arc::new(notice))?,
            sorter: None,
            load: load.clone(),
            first: None,
            part: PartCount::of(load),
            sequence: 0,
            ended: false,
        })
    }

    /// The next request at its own time, also outside of the window.
    pub(crate) fn next_timed(&mut self) -> Result<Option<TimedRequest>, LoadError> {
        if self.load.backward != Backward::Sort {
            return self.input.next();
        }
        let sorter = match &mut self.sorter {
            Some(sorter) => sorter,
            empty => {
                let mut sorter = Sorter::new();
                while let Some(request) = self.input.next()? {
                    if self.load.window.contains(request.time) {
                        sorter.push(request).map_err(unsorted)?;
                    }
                }
                empty.insert(sorter.finish().map_err(unsorted)?)
            }
        };
        sorter.next().map_err(unsorted)
    }

    fn item(&mut self, request: TimedRequest) -> SourceRequest {
        let first = *self.first.get_or_insert(request.time);
        let since_first = request.time.saturating_sub(first);
        let due = match self.load.pace {
            LoadPace::Original => self.load.speed.scale(since_first),
            LoadPace::Asap => Nanos(0),
            LoadPace::Rising(rising) => rising.due(self.sequence),
        };
        let sequence = self.sequence;
        self.sequence += 1;
        SourceRequest {
            sequence,
            load_time: request.time,
            due: Some(due),
            op: request.op,
            durability: request.durability,
            extent: request.extent,
            ramp: false,
        }
    }
}

impl Source for Recorded {
    fn next(&mut self, _now: Nanos) -> Result<Option<SourceRequest>, LoadError> {
        if let LoadPace::Rising(rising) = self.load.pace {
            self.ended |= self.sequence >= rising.requests();
        }
        while !self.ended {
            match self.next_timed()? {
                Some(r) if self.load.window.contains(r.time) => {
                    // Times are those since the first of the load, whether that is skipped or not.
                    self.first.get_or_insert(r.time);
                    if let Some(r) = kept(&self.load, r).filter(|_| self.part.is_own()) {
                        return Ok(Some(self.item(r)));
                    }
                }
                Some(r) if self.load.window.is_behind(r.time) => self.ended = true,
                Some(_) => {}
                None => self.ended = true,
            }
        }
        Ok(None)
    }

    fn lines(&self) -> u64 {
        self.input.lines()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::{Rising, RisingShape, Window};
    use std::sync::{Arc, Mutex};

    fn load(backward: Backward) -> TraceReplay {
        TraceReplay { backward, ..TraceReplay::of("-") }
    }

    fn lines(rows: &[(&str, u64)]) -> String {
        rows.iter().map(|(time, sector)| format!("{time} ; {sector} ; 8 ; W ; 0.0 ; 0.0\n")).collect()
    }

    fn run(text: &str, load: &TraceReplay) -> Result<Vec<(u64, u64)>, LoadError> {
        let mut source = Recorded::new(Text::of(text), load, |_| {})?;
        let mut items = Vec::new();
        while let Some(item) = source.next(Nanos(0))? {
            assert_eq!(item.sequence, items.len() as u64);
            items.push((item.due.unwrap().0, item.extent.offset / 512));
        }
        Ok(items)
    }

    #[test]
    fn hosts_replay_a_load_by_turns_at_its_times() {
        let text = lines(&[("3", 0), ("4", 8), ("5", 16), ("6", 24), ("7", 32)]);
        let part = |number| TraceReplay { part: Some(LoadPart { number, of: 2 }), ..load(Backward::Refuse) };
        let second = |n: u64| n * 1_000_000_000;
        assert_eq!(run(&text, &part(0)).unwrap(), [(0, 0), (second(2), 16), (second(4), 32)]);
        assert_eq!(run(&text, &part(1)).unwrap(), [(second(1), 8), (second(3), 24)]);
    }

    fn backshift() -> String {
        let rows = [("10", 8), ("11.5", 16), ("2.25", 24), ("3", 32), ("1", 40), ("1.9", 48), ("1.1", 56)];
        lines(&rows)
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn backward_shift_matches_blkreplay() {
        let want = [(0, 8), (1500, 16), (1500, 24), (2250, 32), (2250, 40), (3150, 48), (3150, 56)];
        let shifts = Arc::new(Mutex::new(Vec::new()));
        let told = shifts.clone();
        let text = backshift();
        let mut source = Recorded::new(Text::of(&text), &load(Backward::Shift), move |n| match n {
            Notice::Shifted(s) => told.lock().unwrap().push(s.delta.0 / MS),
            notice => panic!("{notice:?}"),
        })
        .unwrap();
        for (due, sector) in want {
            let item = source.next(Nanos(0)).unwrap().unwrap();
            assert_eq!((item.due.unwrap().0, item.extent.offset / 512), (due * MS, sector));
        }
        assert!(source.next(Nanos(0)).unwrap().is_none());
        assert_eq!(*shifts.lock().unwrap(), [9250, 2000, 800]);
    }

    #[test]
    fn window_and_speed_after_a_shift() {
        let mut l = load(Backward::Shift);
        l.window.start = Nanos::from_secs(11);
        l.speed = "2".parse().unwrap();
        let times: Vec<u64> = run(&backshift(), &l).unwrap().iter().map(|i| i.0 / 1000).collect();
        assert_eq!(times, [0, 0, 375_000, 375_000, 825_000, 825_000]);
    }

    #[test]
    fn window_is_half_open_and_accepts_fractions() {
        let text = lines(&[("0.5", 1), ("1.999999999", 2), ("2", 3), ("3.5", 4), ("4", 5)]);
        let dues = |start: &str, end: Option<&str>| {
            let mut l = load(Backward::Refuse);
            l.window = Window { start: start.parse().unwrap(), end: end.map(|e| e.parse().unwrap()) };
            run(&text, &l).unwrap().iter().map(|i| i.0).collect::<Vec<_>>()
        };
        assert_eq!(dues("1", Some("4")), [0, 1, 1_500_000_001]);
        assert_eq!(dues("1", Some("3")), [0, 1]);
        assert_eq!(dues("0", Some("2")).len(), 2);
        assert_eq!(dues("3.5", None), [0, 500_000_000]);
    }

    #[test]
    fn backward_times_are_rejected_with_line_or_sorted() {
        let text = lines(&[("2", 1), ("1", 2), ("2", 3), ("0.5", 4)]);
        let error = run(&text, &load(Backward::Refuse)).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("--backward sort"), "{error}");
        let sorted = run(&text, &load(Backward::Sort)).unwrap();
        assert_eq!(sorted.iter().map(|i| i.1).collect::<Vec<_>>(), [4, 2, 1, 3]);
    }

    #[test]
    fn bad_line_ends_reading_unless_skipped() {
        let text = format!("{}1 ; 2 ; 3\n{}", lines(&[("0", 1)]), lines(&[("1", 2)]));
        assert!(run(&text, &load(Backward::Refuse)).unwrap_err().to_string().contains("line 2"));
        let skipping = TraceReplay { skip_bad: true, ..load(Backward::Refuse) };
        assert_eq!(run(&text, &skipping).unwrap().len(), 2);
    }

    #[test]
    fn replay_ends_with_its_rising_rate() {
        let rising = Rising { from: 1, to: 3, over: Nanos::from_secs(2), shape: RisingShape::Linear };
        let load = TraceReplay { pace: LoadPace::Rising(rising), ..load(Backward::Refuse) };
        let text = lines(&[("5", 1), ("6", 2), ("6", 3), ("9", 4), ("10", 5)]);
        // The integral of 1 + t is t + t²/2.
        let dues: Vec<u64> = run(&text, &load).unwrap().iter().map(|i| i.0 / MS).collect();
        assert_eq!(dues, [0, 732, 1236, 1645]);
    }

    #[test]
    fn flushes_are_issued_in_place_or_dropped() {
        let text =
            "0 ; 8 ; 8 ; W ; 0 ; 0\n# flush ; 1\n# not a request\n1 ; 16 ; 8 ; WPF ; 0 ; 0\n# flush ; 2.5\n";
        let of = |flush| {
            let load = TraceReplay { flush, ..load(Backward::Refuse) };
            let mut source = Recorded::new(Text::of(text), &load, |_| {}).unwrap();
            let mut items = Vec::new();
            while let Some(i) = source.next(Nanos(0)).unwrap() {
                assert_eq!(i.sequence, items.len() as u64);
                items.push((i.op.letter(), i.due.unwrap().0 / MS, i.extent.length, i.durability.bits()));
            }
            let facts = crate::scan(Text::of(text), &load, &Room::default(), |_| {}).unwrap();
            assert_eq!((facts.requests, facts.flushes, facts.durable_writes), (items.len() as u64, 2, 1));
            items
        };
        let both = Durability::FUA.with(Durability::PREFLUSH, true).bits();
        let want = [('W', 0, 4096, 0), ('F', 1000, 0, 0), ('W', 1000, 4096, both), ('F', 2500, 0, 0)];
        assert_eq!(of(IssuePolicy::Issue), want);
        assert_eq!(of(IssuePolicy::Drop), [('W', 0, 4096, 0), ('W', 1000, 4096, 0)]);
    }

    #[test]
    fn asap_keeps_the_trace_time() {
        let asap = TraceReplay { pace: LoadPace::Asap, ..load(Backward::Refuse) };
        let text = lines(&[("5", 1), ("6", 2)]);
        let mut source = Recorded::new(Text::of(&text), &asap, |_| {}).unwrap();
        source.next(Nanos(0)).unwrap();
        let item = source.next(Nanos(0)).unwrap().unwrap();
        assert_eq!((item.due, item.load_time), (Some(Nanos(0)), Nanos::from_secs(6)));
    }

    /// The filter's part of the order of things.
    fn behind(filter: &str, load: TraceReplay) -> TraceReplay {
        TraceReplay { filter: filter.parse().unwrap(), ..load }
    }

    #[test]
    fn applies_filters_then_window_then_backward_policy() {
        let text = lines(&[("1", 8), ("2", 16), ("3", 24), ("4", 32)]);
        let mut l = behind("shift:10 | reverse", load(Backward::Refuse));
        l.window = Window { start: Nanos::from_secs(12), end: Some(Nanos::from_secs(14)) };
        l.speed = "2".parse().unwrap();
        assert_eq!(run(&text, &l).unwrap(), [(0, 24), (500 * MS, 16)]);
        // A load that runs backward may be one that does not, after filters, and the other way round.
        let back = lines(&[("2", 8), ("1", 16), ("3", 24)]);
        assert_eq!(run(&back, &behind("select:2..", load(Backward::Refuse))).unwrap().len(), 2);
        let error =
            run(&back, &behind("shift:1 | subst:R,W", load(Backward::Refuse))).unwrap_err().to_string();
        assert!(
            error.starts_with("line 2: time runs backward, from 3s to 2s; use --backward sort"),
            "{error}"
        );
        let sorted = run(&back, &behind("shift:1 | slip:1,8", load(Backward::Sort))).unwrap();
        assert_eq!(sorted, [(0, 32), (1000 * MS, 16), (2000 * MS, 48)]);
    }

    #[test]
    fn scan_reflects_filtered_requests() {
        let text = lines(&[("1", 8), ("2", 16), ("3", 24), ("4", 32)]);
        let mut l = behind("sample:2 | resize:4 | spread:100,align=1 | reverse", load(Backward::Refuse));
        l.window.start = Nanos::from_secs(2);
        let facts = crate::scan(Text::of(&text), &l, &Room::default(), |_| {}).unwrap();
        assert_eq!((facts.requests, facts.all_requests, facts.load_end), (1, 2, Nanos::from_secs(3)));
        assert_eq!((facts.max_end, facts.max_length, facts.held_bytes), ((800 + 32) * 512, 32 * 512, 2 * 56));
    }

    #[test]
    fn rejects_requests_resized_to_zero() {
        let error = run(&lines(&[("1", 8)]), &behind("resize:0.1", load(Backward::Refuse))).unwrap_err();
        assert!(error.to_string().starts_with("line 1: after the filters its length is 0"), "{error}");
    }
}
