//! The live view: a run in progress, in the cells of a terminal.
//!
//! A [`LiveState`] is fed with the facts of one interval after the other and keeps a bounded history of them; [`draw`]
//! makes a [`Frame`] of it, which converts to text, or to escape sequences for the changes since the previous frame.
//! Neither knows a clock, a terminal or an engine.

mod alarm;
mod cells;
mod history;
mod hosts;
mod layout;
mod panel;
mod picture;
mod ramp;
mod sonar;
mod throughput;

pub use alarm::Alarm;
pub use cells::{Cell, Frame, Ink};
pub use history::{CLASSES, Interval, LIVE_ROWS, live_row};
pub use hosts::{HostDone, HostRates, HostRow, HostsMoment, draw_hosts};
pub use layout::{LEAST, draw};
pub use ramp::Ramp;

use crate::units::Charset;
use history::History;
use iosonar_plan::Nanos;

/// Facts known before the start.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Setting {
    /// Source and target, as one line.
    pub title: String,
    /// Expected duration.
    pub span: Option<Nanos>,
    /// Maximum requests in flight.
    pub depth: Option<u64>,
    /// Delay above which a limit fails.
    pub late_limit: Option<Nanos>,
    /// Cautions to read before believing the figures.
    pub cautions: Vec<String>,
    /// Minimum time that a column of the history holds.
    pub base: Nanos,
    /// Keys and their actions, for the footer: the important ones first.
    pub keys: Vec<(&'static str, &'static str)>,
}

/// Response times of a class within the last second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClassTimes {
    /// Number of requests that ended.
    pub count: u64,
    /// Median.
    pub p50: Nanos,
    /// 99th percentile.
    pub p99: Nanos,
    /// The slowest.
    pub max: Nanos,
}

/// Times in which nothing completed although something was in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LiveStalls {
    /// Number of stalls.
    pub count: u64,
    /// Start of the last one, and its duration so far.
    pub last: Option<(Nanos, Nanos)>,
}

/// State at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Moment {
    /// Time on the run's own clock.
    pub time: Nanos,
    /// Part that is done, 0 to 1, if known.
    pub done: Option<f64>,
    /// Requests in flight; `None` if unknown.
    pub in_flight: Option<u64>,
    /// Requests that wait for a conflict; `None` if unknown.
    pub waiting: Option<u64>,
    /// Requests that are due and not yet issued.
    pub backlog: Option<u64>,
    /// Issue delay of the latest request.
    pub late: Nanos,
    /// Seconds by which `late` grew per second of the run; `None` if unknown, or without target times.
    pub growth: Option<f64>,
    /// Estimated end of a run that outlasts its target times.
    pub ends: Option<Nanos>,
    /// Requests that failed since the start.
    pub failed: u64,
    /// Requests that were dropped since the start.
    pub dropped: u64,
    /// Stalls since the start.
    pub stalls: LiveStalls,
    /// Time covered by the fields below: about a second.
    pub second: Nanos,
    /// Requests that completed in that time.
    pub completed: u64,
    /// Requests that became due in that time; `None` if unknown, or without target times.
    pub demanded: Option<u64>,
    /// Reads, writes and pushed-back requests.
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

/// Time range of the pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Window {
    /// Columns of the history in one of the picture; an index of [`STEPS`].
    Rolling(usize),
    /// The whole time.
    Whole,
}

/// Columns of the history in one of the picture.
const STEPS: [usize; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/// Columns of a picture on a usual terminal.
const PICTURE: usize = 64;

/// State of the view.
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
    /// A state before the first interval.
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

    /// Adds an interval.
    pub fn feed(&mut self, interval: &Interval) {
        self.history.add(interval);
    }

    /// Sets the current moment.
    pub fn set_moment(&mut self, moment: Moment) {
        self.moment = moment;
    }

    /// The current moment.
    pub fn moment(&self) -> &Moment {
        &self.moment
    }

    /// Sets the minimum time that a column of the history holds, from the next rewind on.
    pub fn set_base(&mut self, base: Nanos) {
        self.setting.base = base;
    }

    /// Clears the data, but not the view settings.
    pub fn rewind(&mut self) {
        self.history = History::new(self.setting.base);
        self.moment = Moment::default();
    }

    /// Sets the expected duration.
    pub fn set_span(&mut self, span: Nanos) {
        self.setting.span = Some(span);
    }

    /// Shows the whole time instead of the last columns.
    pub fn show_whole(&mut self) {
        self.window = Window::Whole;
    }

    /// Shows more time.
    pub fn widen(&mut self) {
        self.window = match self.window {
            Window::Rolling(step) if step + 1 < STEPS.len() => Window::Rolling(step + 1),
            _ => Window::Whole,
        };
    }

    /// Shows less time.
    pub fn narrow(&mut self) {
        self.window = match self.window {
            Window::Whole => Window::Rolling(self.widest_step()),
            Window::Rolling(step) => Window::Rolling(step.saturating_sub(1)),
        };
    }

    /// Index of the widest step that shows a part of a run of known length; the last one if the length is unknown.
    fn widest_step(&self) -> usize {
        let Some(span) = self.setting.span else { return STEPS.len() - 1 };
        let columns = self.history.columns_in(span);
        STEPS.iter().rposition(|step| step * PICTURE < columns).unwrap_or(0)
    }

    /// Shows one kind of request; again: all of them.
    pub fn toggle(&mut self, filter: Filter) {
        self.filter = if self.filter == filter { Filter::All } else { filter };
    }

    /// Toggles between a logarithmic and a linear scale of the throughput.
    pub fn toggle_log(&mut self) {
        self.logarithmic = !self.logarithmic;
    }

    /// Shows lines over the pictures until the next call.
    pub fn toggle_help(&mut self, lines: Vec<String>) {
        self.help = if self.help.is_some() { None } else { Some(lines) };
    }

    /// Shows a sentence in place of the keys, or the keys again.
    pub fn set_note(&mut self, note: Option<String>) {
        self.note = note;
    }

    /// The sentence in place of the keys.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The alarm, while it is true.
    fn alarm(&self) -> Option<Alarm> {
        Alarm::of(&self.moment, self.setting.depth, self.setting.late_limit)
    }

    /// Estimated end of a run that is late.
    fn late_end(&self) -> Option<Nanos> {
        self.moment.ends.filter(|_| self.alarm().is_some())
    }

    /// Columns of the history in each of `width` columns of a picture.
    fn per_column(&self, width: usize) -> usize {
        match self.window {
            Window::Rolling(step) => STEPS[step],
            Window::Whole => {
                let span = self.setting.span.max(self.late_end());
                let expected = span.map_or(0, |span| self.history.columns_in(span));
                expected.max(self.history.len()).div_ceil(width.max(1)).max(1)
            }
        }
    }
}

/// Makes an external text safe for a line of a terminal: nothing in it moves the cursor, and each character takes one cell.
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
