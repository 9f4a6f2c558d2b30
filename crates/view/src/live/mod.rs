//! The live view: a run as it goes on, in the cells of a terminal.
//!
//! A [`LiveState`] is fed with the facts of one interval after the other and keeps a bounded history of them;
//! [`draw`] makes a [`Frame`] of it, which knows how to become a text, or the changes against the frame before as what a
//! terminal understands. Neither knows a clock, a terminal or an engine.

mod cells;
mod history;
mod layout;
mod panel;
mod picture;
mod ramp;
mod sonar;
mod throughput;

pub use cells::{Cell, Frame, Ink};
pub use history::{CLASSES, Interval, LIVE_ROWS, live_row};
pub use layout::{LEAST, draw};
pub use ramp::Ramp;

use crate::units::Charset;
use history::History;
use iosonar_plan::Nanos;

/// What is known before the start.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Setting {
    /// Source and target, as one line.
    pub title: String,
    /// How long it is expected to take.
    pub span: Option<Nanos>,
    /// The most requests in flight.
    pub depth: Option<u64>,
    /// Delay above which a limit fails.
    pub late_limit: Option<Nanos>,
    /// What to know before believing the figures.
    pub cautions: Vec<String>,
    /// Time that a column of the history holds at least.
    pub base: Nanos,
    /// Keys that do something, as the footer shows them: the important ones first.
    pub keys: Vec<(&'static str, &'static str)>,
}

/// Response times of a class within the last second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClassTimes {
    /// How many requests ended.
    pub count: u64,
    /// Half of them were not slower.
    pub p50: Nanos,
    /// All but one in a hundred were not slower.
    pub p99: Nanos,
    /// The slowest.
    pub max: Nanos,
}

/// Times in which nothing completed although something was in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LiveStalls {
    /// How many there were.
    pub count: u64,
    /// Begin of the last one, and how long it took so far.
    pub last: Option<(Nanos, Nanos)>,
}

/// How it stands now.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Moment {
    /// On the run's own clock.
    pub time: Nanos,
    /// How much of it is done, 0 to 1, where that is known.
    pub done: Option<f64>,
    /// Requests in flight; none where nobody can know.
    pub in_flight: Option<u64>,
    /// Requests that wait for a conflict; none where nobody can know.
    pub waiting: Option<u64>,
    /// Requests that are due and have not been handed over.
    pub backlog: Option<u64>,
    /// How late the latest request was handed over.
    pub late: Nanos,
    /// Requests that failed, from the start on.
    pub failed: u64,
    /// Requests that were dropped, from the start on.
    pub dropped: u64,
    /// Stalls from the start on.
    pub stalls: LiveStalls,
    /// What `classes` and `bytes` are about: about a second.
    pub second: Nanos,
    /// Reads, writes and those that were pushed back.
    pub classes: [ClassTimes; CLASSES],
    /// Bytes in that time.
    pub bytes: u64,
}

/// Which requests the sonar shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Filter {
    /// All of them.
    #[default]
    All,
    /// Reads alone.
    Reads,
    /// Writes alone.
    Writes,
}

/// How much time the pictures show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Window {
    /// So many columns of the history in one of the picture; an index of [`STEPS`].
    Rolling(usize),
    /// All of it.
    Whole,
}

/// Columns of the history in one of the picture.
const STEPS: [usize; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/// All that the view shows.
#[derive(Debug, Clone)]
pub struct LiveState {
    setting: Setting,
    history: History,
    moment: Moment,
    window: Window,
    filter: Filter,
    logarithmic: bool,
    help: Option<Vec<String>>,
    note: Option<String>,
}

impl LiveState {
    /// Before the first interval.
    pub fn new(setting: Setting) -> LiveState {
        LiveState {
            history: History::new(setting.base),
            setting,
            moment: Moment::default(),
            window: Window::Rolling(0),
            filter: Filter::All,
            logarithmic: false,
            help: None,
            note: None,
        }
    }

    /// One more interval.
    pub fn feed(&mut self, interval: &Interval) {
        self.history.add(interval);
    }

    /// How it stands now.
    pub fn set_moment(&mut self, moment: Moment) {
        self.moment = moment;
    }

    /// How it stands.
    pub fn moment(&self) -> &Moment {
        &self.moment
    }

    /// Sets the time that a column of the history holds at least, from the next rewind on.
    pub fn set_base(&mut self, base: Nanos) {
        self.setting.base = base;
    }

    /// Forgets what it was fed with, not how it is shown.
    pub fn rewind(&mut self) {
        self.history = History::new(self.setting.base);
        self.moment = Moment::default();
    }

    /// Sets how long it is expected to take.
    pub fn set_span(&mut self, span: Nanos) {
        self.setting.span = Some(span);
    }

    /// Shows the whole time instead of the last columns.
    pub fn show_whole(&mut self) {
        self.window = Window::Whole;
    }

    /// More time in the pictures.
    pub fn widen(&mut self) {
        self.window = match self.window {
            Window::Rolling(step) if step + 1 < STEPS.len() => Window::Rolling(step + 1),
            _ => Window::Whole,
        };
    }

    /// Less time in the pictures.
    pub fn narrow(&mut self) {
        self.window = match self.window {
            Window::Whole => Window::Rolling(STEPS.len() - 1),
            Window::Rolling(step) => Window::Rolling(step.saturating_sub(1)),
        };
    }

    /// Shows one kind of request; again: all again.
    pub fn toggle(&mut self, filter: Filter) {
        self.filter = if self.filter == filter { Filter::All } else { filter };
    }

    /// A logarithmic scale of the throughput, or a linear one.
    pub fn toggle_log(&mut self) {
        self.logarithmic = !self.logarithmic;
    }

    /// Lines that lie over the pictures until the next call.
    pub fn toggle_help(&mut self, lines: Vec<String>) {
        self.help = if self.help.is_some() { None } else { Some(lines) };
    }

    /// A sentence in place of the keys, or the keys again.
    pub fn set_note(&mut self, note: Option<String>) {
        self.note = note;
    }

    /// The sentence in place of the keys.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Columns of the history in each of `width` columns of a picture.
    fn per_column(&self, width: usize) -> usize {
        match self.window {
            Window::Rolling(step) => STEPS[step],
            Window::Whole => {
                let expected = self.setting.span.map_or(0, |span| self.history.columns_in(span));
                expected.max(self.history.len()).div_ceil(width.max(1)).max(1)
            }
        }
    }
}

/// A text from outside as a line of a terminal: nothing in it moves the cursor, and each character takes one cell.
pub fn tame(text: &str, charset: Charset) -> String {
    let is_one_cell = |c: char| match c {
        ' '..='~' => true,
        '\u{a1}'..='\u{2ff}' | '\u{370}'..='\u{52f}' => charset == Charset::Unicode && c != '\u{ad}',
        '\u{2010}'..='\u{2027}' | '┄' | '█' => charset == Charset::Unicode,
        _ => false,
    };
    text.chars().map(|c| if is_one_cell(c) { c } else { '?' }).collect()
}

#[cfg(test)]
mod tests;
