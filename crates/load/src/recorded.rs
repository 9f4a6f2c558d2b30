//! A recorded load as a source: its window, its clock, and what to do where time runs backward.

use crate::sort::Sorter;
use crate::{Item, Source};
use iosonar_plan::{Backward, LoadPace, LoadSource, Nanos};
use iosonar_trace::TimedRequest;
use iosonar_trace::blkreplay::{BadLine, Line, ReadError, Reader};
use std::io::BufRead;

/// Why a load cannot be read on.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It cannot be opened. Holds what, where, and the remedy.
    #[error("{0}")]
    Open(String),
    /// The input itself.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A line that looks like a request and is none, where such lines are not skipped.
    #[error("{0}; mend the line, or use --skip-bad to leave such lines out")]
    Bad(BadLine),
    /// Time runs backward where that is not allowed.
    #[error(
        "line {line}: time runs backward, from {before} to {time}; use --backward sort to sort the load, or --backward shift to shift what follows"
    )]
    Backward {
        /// The line with the earlier time.
        line: u64,
        /// Its time.
        time: Nanos,
        /// The time before it.
        before: Nanos,
    },
    /// Sorting needs a temporary file, and that failed.
    #[error("cannot sort the load in the directory for temporary files: {0}; set TMPDIR to one with room")]
    Sort(std::io::Error),
}

/// Something worth telling that does not end the reading.
#[derive(Debug)]
pub enum Notice {
    /// A line was left out.
    Skipped(BadLine),
    /// Time ran backward and what follows was shifted.
    Shifted(BackShift),
}

/// A backward step that was turned into a shift.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackShift {
    /// Line of the request.
    pub line: u64,
    /// The time that the request would have had.
    pub time: Nanos,
    /// How far it was shifted.
    pub delta: Nanos,
    /// How far everything is shifted from here on.
    pub total: Nanos,
}

/// Reads requests in the order in which they are replayed, with the times that count.
pub(crate) struct Ordered<R> {
    reader: Reader<R>,
    backward: Backward,
    skip_bad: bool,
    last: Nanos,
    shift: Nanos,
}

impl<R: BufRead> Ordered<R> {
    /// `backward` is sort only for a reader whose order does not matter.
    pub(crate) fn new(input: R, load: &LoadSource) -> Ordered<R> {
        Ordered {
            reader: Reader::new(input),
            backward: load.backward,
            skip_bad: load.skip_bad,
            last: Nanos(0),
            shift: Nanos(0),
        }
    }

    /// Requests as they stand in the load: order and times are left alone.
    pub(crate) fn as_written(input: R, skip_bad: bool) -> Ordered<R> {
        let (last, shift) = (Nanos(0), Nanos(0));
        Ordered { reader: Reader::new(input), backward: Backward::Sort, skip_bad, last, shift }
    }

    pub(crate) fn lines(&self) -> u64 {
        self.reader.lines()
    }

    /// The next request, its time shifted if need be; bad lines are told, and end the reading unless skipped.
    pub(crate) fn next(&mut self, notice: &mut dyn FnMut(Notice)) -> Result<Option<TimedRequest>, LoadError> {
        while let Some(line) = self.reader.next_line()? {
            match line {
                Line::Request(request) => return self.in_time(request, notice).map(Some),
                Line::Bad(bad) if self.skip_bad => notice(Notice::Skipped(bad)),
                Line::Bad(bad) => return Err(LoadError::Bad(bad)),
                Line::Text => {}
            }
        }
        Ok(None)
    }

    fn in_time(
        &mut self,
        mut r: TimedRequest,
        notice: &mut dyn FnMut(Notice),
    ) -> Result<TimedRequest, LoadError> {
        r.time = Nanos(r.time.0.saturating_add(self.shift.0));
        match self.backward {
            Backward::Sort => {}
            Backward::Refuse if r.time < self.last => {
                return Err(LoadError::Backward { line: r.line, time: r.time, before: self.last });
            }
            // As blkreplay: only whole seconds count, smaller steps back stay as they are.
            Backward::Shift if r.time.0 / Nanos::SECOND.0 < self.last.0 / Nanos::SECOND.0 => {
                let delta = self.last.saturating_sub(r.time);
                self.shift = Nanos(self.shift.0.saturating_add(delta.0));
                notice(Notice::Shifted(BackShift { line: r.line, time: r.time, delta, total: self.shift }));
                r.time = self.last;
            }
            Backward::Refuse | Backward::Shift => {}
        }
        self.last = r.time;
        Ok(r)
    }
}

/// A recorded load, replayed: window, time from the first request on, speed or as soon as possible.
pub struct Recorded<R> {
    input: Ordered<R>,
    sorter: Option<Sorter>,
    load: LoadSource,
    notice: Box<dyn FnMut(Notice) + Send>,
    /// Time of the first request inside the window.
    first: Option<Nanos>,
    sequence: u64,
    ended: bool,
}

impl<R: BufRead> Recorded<R> {
    /// Reads decompressed text. `notice` is told of skipped lines and shifts.
    pub fn new(input: R, load: &LoadSource, notice: impl FnMut(Notice) + Send + 'static) -> Recorded<R> {
        Recorded {
            input: Ordered::new(input, load),
            sorter: None,
            load: load.clone(),
            notice: Box::new(notice),
            first: None,
            sequence: 0,
            ended: false,
        }
    }

    /// The next request at its own time, also outside of the window.
    pub(crate) fn next_timed(&mut self) -> Result<Option<TimedRequest>, LoadError> {
        if self.load.backward != Backward::Sort {
            return self.input.next(&mut self.notice);
        }
        let sorter = match &mut self.sorter {
            Some(sorter) => sorter,
            empty => {
                let mut sorter = Sorter::new();
                while let Some(request) = self.input.next(&mut self.notice)? {
                    if self.load.window.contains(request.time) {
                        sorter.push(request).map_err(LoadError::Sort)?;
                    }
                }
                empty.insert(sorter.finish().map_err(LoadError::Sort)?)
            }
        };
        sorter.next().map_err(LoadError::Sort)
    }

    fn item(&mut self, request: TimedRequest) -> Item {
        let first = *self.first.get_or_insert(request.time);
        let since_first = request.time.saturating_sub(first);
        let due = match self.load.pace {
            LoadPace::Original => self.load.speed.scale(since_first),
            LoadPace::Asap => Nanos(0),
            LoadPace::Rising(rising) => rising.due(self.sequence),
        };
        let sequence = self.sequence;
        self.sequence += 1;
        Item {
            sequence,
            load_time: request.time,
            due: Some(due),
            op: request.op,
            extent: request.extent,
            ramp: false,
        }
    }
}

impl<R: BufRead + Send> Source for Recorded<R> {
    fn next(&mut self, _now: Nanos) -> Result<Option<Item>, LoadError> {
        if let LoadPace::Rising(rising) = self.load.pace {
            self.ended |= self.sequence >= rising.requests();
        }
        while !self.ended {
            match self.next_timed()? {
                Some(r) if self.load.window.contains(r.time) => return Ok(Some(self.item(r))),
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

    fn load(backward: Backward) -> LoadSource {
        LoadSource {
            file: "-".into(),
            window: Window::default(),
            speed: Default::default(),
            pace: LoadPace::Original,
            backward,
            skip_bad: false,
        }
    }

    fn lines(rows: &[(&str, u64)]) -> String {
        rows.iter().map(|(time, sector)| format!("{time} ; {sector} ; 8 ; W ; 0.0 ; 0.0\n")).collect()
    }

    fn run(text: &str, load: &LoadSource) -> Result<Vec<(u64, u64)>, LoadError> {
        let mut source = Recorded::new(text.as_bytes(), load, |_| {});
        let mut items = Vec::new();
        while let Some(item) = source.next(Nanos(0))? {
            assert_eq!(item.sequence, items.len() as u64);
            items.push((item.due.unwrap().0, item.extent.offset / 512));
        }
        Ok(items)
    }

    fn backshift() -> String {
        let rows = [("10", 8), ("11.5", 16), ("2.25", 24), ("3", 32), ("1", 40), ("1.9", 48), ("1.1", 56)];
        lines(&rows)
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn a_shift_is_what_blkreplay_does() {
        let want = [(0, 8), (1500, 16), (1500, 24), (2250, 32), (2250, 40), (3150, 48), (3150, 56)];
        let shifts = Arc::new(Mutex::new(Vec::new()));
        let told = shifts.clone();
        let text = backshift();
        let mut source = Recorded::new(text.as_bytes(), &load(Backward::Shift), move |n| match n {
            Notice::Shifted(s) => told.lock().unwrap().push(s.delta.0 / MS),
            Notice::Skipped(bad) => panic!("{bad}"),
        });
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
    fn the_window_is_half_open_and_takes_fractions() {
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
    fn backward_is_refused_with_its_line_or_sorted() {
        let text = lines(&[("2", 1), ("1", 2), ("2", 3), ("0.5", 4)]);
        let error = run(&text, &load(Backward::Refuse)).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("--backward sort"), "{error}");
        let sorted = run(&text, &load(Backward::Sort)).unwrap();
        assert_eq!(sorted.iter().map(|i| i.1).collect::<Vec<_>>(), [4, 2, 1, 3]);
    }

    #[test]
    fn a_bad_line_ends_the_reading_unless_skipped() {
        let text = format!("{}1 ; 2 ; 3\n{}", lines(&[("0", 1)]), lines(&[("1", 2)]));
        assert!(run(&text, &load(Backward::Refuse)).unwrap_err().to_string().contains("line 2"));
        let skipping = LoadSource { skip_bad: true, ..load(Backward::Refuse) };
        assert_eq!(run(&text, &skipping).unwrap().len(), 2);
    }

    #[test]
    fn a_rising_rate_ends_where_it_has_risen() {
        let rising = Rising { from: 1, to: 3, over: Nanos::from_secs(2), shape: RisingShape::Linear };
        let load = LoadSource { pace: LoadPace::Rising(rising), ..load(Backward::Refuse) };
        let text = lines(&[("5", 1), ("6", 2), ("6", 3), ("9", 4), ("10", 5)]);
        // The integral of 1 + t is t + t²/2.
        let dues: Vec<u64> = run(&text, &load).unwrap().iter().map(|i| i.0 / MS).collect();
        assert_eq!(dues, [0, 732, 1236, 1645]);
    }

    #[test]
    fn as_soon_as_possible_keeps_the_loads_time_beside() {
        let asap = LoadSource { pace: LoadPace::Asap, ..load(Backward::Refuse) };
        let text = lines(&[("5", 1), ("6", 2)]);
        let mut source = Recorded::new(text.as_bytes(), &asap, |_| {});
        source.next(Nanos(0)).unwrap();
        let item = source.next(Nanos(0)).unwrap().unwrap();
        assert_eq!((item.due, item.load_time), (Some(Nanos(0)), Nanos::from_secs(6)));
    }
}
