//! Layout for each size of a terminal.

use super::cells::{Frame, Ink};
use super::ramp::Ramp;
use super::{Filter, LiveState, panel, sonar, tame, throughput};
use crate::units::{self, Charset};

/// The smallest terminal with a picture: columns and rows.
pub const LEAST: (usize, usize) = (60, 16);
/// From this width on, figures are beside the pictures.
const BESIDE: usize = 76;
/// Columns before a picture: a label and the axis.
const GUTTER: usize = 8;

/// Colours and characters of the output.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub ramp: Ramp,
    pub charset: Charset,
}

/// Area of a picture.
#[derive(Debug, Clone, Copy)]
pub(super) struct Area {
    pub left: usize,
    pub top: usize,
    pub width: usize,
    pub height: usize,
}

impl Look {
    pub fn faint(self) -> Ink {
        self.ramp.ink(Ramp::palette().faint_text)
    }

    pub fn caution(self) -> Ink {
        self.ramp.ink(Ramp::palette().caution)
    }

    pub fn bad(self) -> Ink {
        self.ramp.ink(Ramp::palette().write)
    }

    /// Two or three digits and a unit: 4.9k.
    pub fn number(self, value: f64) -> String {
        let (value, unit) = match value {
            v if v >= 999.5e6 => (v / 1e9, "G"),
            v if v >= 999.5e3 => (v / 1e6, "M"),
            v if v >= 999.5 => (v / 1e3, "k"),
            v => (v, ""),
        };
        let is_whole = (value - value.round()).abs() < 0.05;
        if value < 10.0 && !is_whole { format!("{value:.1}{unit}") } else { format!("{value:.0}{unit}") }
    }

    /// Draws the label of a line of a picture, and its axis.
    pub fn label(self, frame: &mut Frame, area: Area, line: usize, text: &str, ink: Ink) {
        let axis = match (self.charset, text.is_empty()) {
            (Charset::Ascii, true) => '|',
            (Charset::Ascii, false) => '+',
            (Charset::Unicode, true) => '│',
            (Charset::Unicode, false) => '┤',
        };
        let text = format!("{text:>width$}{axis}", width = GUTTER - 1);
        frame.put(area.left - GUTTER, area.top + line, &text, ink);
    }
}

/// Draws everything into `size` (columns, rows), which is at least [`LEAST`].
pub fn draw(state: &LiveState, size: (usize, usize), ramp: Ramp, charset: Charset) -> Frame {
    let look = Look { ramp, charset };
    let (columns, rows) = (size.0.max(LEAST.0), size.1.max(LEAST.1));
    let mut frame = Frame::new(columns, rows);
    title(&mut frame, state, look);
    let top = 1 + alarm(&mut frame, state, look);
    if columns >= BESIDE {
        let left = columns - panel::WIDTH - 1;
        let height = rows - 4 - top;
        let sonar = height_of_sonar(height);
        pictures(&mut frame, state, (left, top), (height - sonar, sonar), look);
        panel::beside(&mut frame, state, (left + 1, top), rows - 2, look);
    } else {
        let height = rows - 8 - top;
        let sonar = height_of_sonar(height);
        pictures(&mut frame, state, (columns - 1, top), (height - sonar, sonar), look);
        panel::below(&mut frame, state, rows - 5, look);
    }
    footer(&mut frame, state, rows - 1, look);
    help(&mut frame, state, look);
    frame
}

/// Share of the sonar in the lines for pictures: more than two lines for each row of three decades show no more detail.
fn height_of_sonar(height: usize) -> usize {
    (height * 11 / 20 + 1).min(24)
}

/// Draws the alarm below the title, if there is one; returns its number of rows.
fn alarm(frame: &mut Frame, state: &LiveState, look: Look) -> usize {
    let Some(alarm) = state.alarm() else { return 0 };
    let room = frame.columns() - 2;
    frame.put(1, 1, &shortened(&alarm.text(look.charset, room), room), look.bad());
    1
}

/// Both pictures, up to column `right`; their first heading is in row `top`.
fn pictures(
    frame: &mut Frame,
    state: &LiveState,
    (right, top): (usize, usize),
    (of_rates, of_latencies): (usize, usize),
    look: Look,
) {
    let width = right - 1 - GUTTER;
    let step = state.per_column(width);
    let (first, columns) = state.history.view(width, step);
    let left = GUTTER + 1;
    let area = Area { left, top: top + 1, width, height: of_rates };
    heading_of_rates(frame, top, &columns, look);
    throughput::draw(frame, area, &columns, state.logarithmic, look);
    heading_of_latencies(frame, state, top + 1 + of_rates, look);
    let area = Area { left, top: top + 2 + of_rates, width, height: of_latencies };
    sonar::draw(frame, area, &columns, state.history.lit(), state.filter, look);
    let column_ns = state.history.base_ns().saturating_mul(step as u64);
    time_axis(frame, Area { top: area.top + of_latencies, ..area }, first, column_ns, look);
}

fn title(frame: &mut Frame, state: &LiveState, look: Look) {
    let moment = &state.moment;
    let time = match state.setting.span.filter(|s| s.0 > 0) {
        Some(span) => format!("{}/{}", clock(moment.time.0), clock(span.0)),
        None => clock(moment.time.0),
    };
    let end = state.late_end().map_or(String::new(), |end| format!("  end ~{}", clock(end.0)));
    let done = moment.done.map_or(String::new(), |d| format!("  {:3.0}%", (100.0 * d).floor().min(100.0)));
    let right = format!("{time}{end}{done} ");
    let room = frame.columns().saturating_sub(right.chars().count() + 3);
    frame.put(1, 0, &shortened(&tame(&state.setting.title, look.charset), room), Ink::Plain);
    frame.put(frame.columns() - right.chars().count(), 0, &right, Ink::Plain);
}

/// Shortens a text to `room` columns in the middle, where a path is least informative.
pub(super) fn shortened(text: &str, room: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= room {
        return text.to_string();
    }
    let keep = room.saturating_sub(2);
    let (head, tail) = (keep.div_ceil(2), keep / 2);
    chars[..head].iter().chain(&['.', '.']).chain(&chars[chars.len() - tail..]).take(room).collect()
}

fn heading_of_rates(frame: &mut Frame, row: usize, columns: &[super::history::Column], look: Look) {
    let palette = Ramp::palette();
    let (line, bar) = if look.charset == Charset::Ascii { ("-", "#") } else { ("⠤⠤", "█") };
    let mut at = 1;
    if columns.iter().any(|c| c.has_demand) {
        frame.put(at, row, "target   ", Ink::Plain);
        frame.put(at + 9, row, line, look.ramp.ink(palette.demanded));
        at += 12;
    }
    frame.put(at, row, "actual ", Ink::Plain);
    frame.put(at + 7, row, bar, look.ramp.ink(palette.actual));
    frame.put(at + 10, row, "IO/s", Ink::Plain);
}

fn heading_of_latencies(frame: &mut Frame, state: &LiveState, row: usize, look: Look) {
    frame.put(1, row, "latency", Ink::Plain);
    let shown = match state.filter {
        Filter::All => "",
        Filter::Reads => "reads alone",
        Filter::Writes => "writes alone",
    };
    if look.ramp == Ramp::Mono || !shown.is_empty() {
        frame.put(10, row, shown, look.caution());
        return;
    }
    if look.charset == Charset::Ascii {
        return;
    }
    let mut at = 10;
    for (class, name) in ["read", "write", "pushed"].iter().enumerate() {
        frame.put(at, row, "█", look.ramp.class(class));
        frame.put(at + 1, row, name, Ink::Plain);
        at += name.len() + 3;
    }
}

/// Draws times below the pictures: at the start and the end, and the duration of a column.
fn time_axis(frame: &mut Frame, area: Area, first: usize, column_ns: u64, look: Look) {
    let (corner, dash) = if look.charset == Charset::Ascii { ('+', '-') } else { ('└', '─') };
    let line: String = [corner].into_iter().chain(std::iter::repeat_n(dash, area.width)).collect();
    frame.put(area.left - 1, area.top, &line, look.faint());
    let end_ns = ((first + area.width) as u64).saturating_mul(column_ns);
    let time = |columns: usize| clock_or_tenths((columns as u64).saturating_mul(column_ns), end_ns);
    let column = format!("1 column = {}", units::limit(column_ns));
    let (begin, end) = (time(first), time(first + area.width));
    frame.put(area.left, area.top, &begin, look.faint());
    frame.put(area.left + area.width - end.len(), area.top, &end, look.faint());
    if area.width > begin.len() + end.len() + column.len() + 4 {
        frame.put(area.left + (area.width - column.len()) / 2, area.top, &column, look.faint());
    }
}

fn clock_or_tenths(ns: u64, end_ns: u64) -> String {
    if end_ns < 20_000_000_000 { format!("{:.1}s", ns as f64 / 1e9) } else { clock(ns) }
}

/// `11:40`, `2:00:05`.
pub(super) fn clock(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes:02}:{seconds:02}")
    }
}

fn footer(frame: &mut Frame, state: &LiveState, row: usize, look: Look) {
    if let Some(note) = &state.note {
        frame.put(1, row, &shortened(&tame(note, look.charset), frame.columns() - 2), look.caution());
        return;
    }
    let mut at = 1;
    for (key, word) in &state.setting.keys {
        let length = key.len() + word.len() + 3;
        if at + length > frame.columns() {
            break;
        }
        frame.put(at, row, &format!("[{key}]"), look.ramp.ink(Ramp::palette().read));
        frame.put(at + key.len() + 2, row, word, Ink::Plain);
        at += length;
    }
}

fn help(frame: &mut Frame, state: &LiveState, look: Look) {
    let Some(lines) = &state.help else { return };
    let width = lines.iter().map(|l| l.chars().count()).max().unwrap_or(0).min(frame.columns() - 6);
    let rows = frame.rows().len();
    for row in 0..(lines.len() + 2).min(rows - 3) {
        let text = row.checked_sub(1).and_then(|i| lines.get(i)).map_or("", String::as_str);
        let text = shortened(&tame(text, look.charset), width);
        frame.put(2, 1 + row, &format!("  {text:width$}  "), Ink::Plain);
    }
}
