//! Figures beside or below the pictures: the last second by class, and the current state.

use super::cells::{Frame, Ink};
use super::layout::{Look, clock, shortened};
use super::{CLASSES, LiveState, Moment, tame};
use crate::units;
use iosonar_plan::Nanos;

/// Columns of the figures beside the pictures.
pub(super) const WIDTH: usize = 38;
/// Columns of a class in the table.
const CELL: usize = 9;

fn time(time: Nanos, count: u64, look: Look) -> String {
    if count == 0 { "-".into() } else { units::duration(time.0, look.charset) }
}

/// Amount per second.
fn rate(count: u64, second: Nanos) -> f64 {
    if second.0 == 0 { 0.0 } else { count as f64 * 1e9 / second.0 as f64 }
}

/// IO/s, p50, p99, max of each class.
fn figures(moment: &Moment, look: Look) -> [[String; CLASSES]; 4] {
    let of = |f: &dyn Fn(&super::ClassTimes) -> String| moment.classes.each_ref().map(f);
    [
        of(&|c| if c.count == 0 { "-".into() } else { look.number(rate(c.count, moment.second)) }),
        of(&|c| time(c.p50, c.count, look)),
        of(&|c| time(c.p99, c.count, look)),
        of(&|c| time(c.max, c.count, look)),
    ]
}

/// Name and value of a fact about the current state, and whether it is a bad sign.
type Fact = (String, String, bool);

fn facts(state: &LiveState, look: Look) -> Vec<Fact> {
    let m = &state.moment;
    let depth = state.setting.depth.map_or(String::new(), |d| format!("/{d}"));
    let in_flight = m.in_flight.map_or("-".into(), |n| n.to_string()) + &depth;
    let is_late = state.setting.late_limit.is_some_and(|limit| m.late > limit);
    let mut late = if m.late.0 == 0 { "-".into() } else { units::duration(m.late.0, look.charset) };
    if let Some(limit) = state.setting.late_limit {
        late += &format!(" (limit {})", units::limit(limit.0));
    }
    let stalls = match m.stalls.last {
        Some((at, length)) => {
            format!("{}, last {}, {}", m.stalls.count, clock(at.0), units::duration(length.0, look.charset))
        }
        None => "0".into(),
    };
    let fact = |name: &str, value: String, bad: bool| (name.to_string(), value, bad);
    let mut facts = vec![
        fact("in flight", in_flight, false),
        fact("backlog", m.backlog.map_or("-".into(), units::grouped), false),
        fact("late", late, is_late),
        fact("stalls", stalls, m.stalls.count > 0),
    ];
    if m.failed > 0 {
        facts.push(fact("failed", units::grouped(m.failed), true));
    }
    if m.dropped > 0 {
        facts.push(fact("dropped", units::grouped(m.dropped), true));
    }
    // In a low terminal there is no room for the last ones.
    facts.push(fact("bytes", units::byte_rate(rate(m.bytes, m.second)), false));
    facts.extend(m.waiting.map(|n| fact("waiting", units::grouped(n), false)));
    facts
}

/// Draws the figures beside the pictures: from `(column, row)` down to before row `end`.
pub(super) fn beside(
    frame: &mut Frame,
    state: &LiveState,
    (left, top): (usize, usize),
    end: usize,
    look: Look,
) {
    let mut row = top;
    let mut line = |frame: &mut Frame, text: &str, ink: Ink| {
        if row <= end {
            frame.put(left, row, &text.chars().take(WIDTH).collect::<String>(), ink);
        }
        row += 1;
    };
    let heads = ["read", "write", "pushed"].map(|c| format!("{c:>CELL$}")).concat();
    line(frame, &format!("{:10}{heads}", "last 1 s"), look.faint());
    for (name, cells) in ["IO/s", "p50", "p99", "max"].iter().zip(figures(&state.moment, look)) {
        if *name == "p50" {
            line(frame, "response, due to completed", look.faint());
        }
        let cells = cells.map(|c| format!("{c:>CELL$}")).concat();
        line(frame, &format!("{name:10}{cells}"), Ink::Plain);
    }
    line(frame, "", Ink::Plain);
    for (name, value, is_bad) in facts(state, look) {
        let ink = if is_bad { look.bad() } else { Ink::Plain };
        line(frame, &format!("{name:11}{value}"), ink);
    }
    if !state.setting.cautions.is_empty() {
        line(frame, "", Ink::Plain);
    }
    for caution in &state.setting.cautions {
        for part in wrapped(&tame(caution, look.charset), WIDTH - 2) {
            line(frame, &part, look.caution());
        }
    }
}

/// Wraps `! ` and a sentence into lines of `width` columns.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec!["!".to_string()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is one");
        if last.chars().count() + 1 + word.chars().count() > width && last.len() > 1 {
            lines.push(format!("  {}", shortened(word, width - 2)));
        } else {
            *last += &format!(" {}", shortened(word, width - 2));
        }
    }
    lines
}

/// Draws the figures below the pictures, in four rows from `top` on.
pub(super) fn below(frame: &mut Frame, state: &LiveState, top: usize, look: Look) {
    let figures = figures(&state.moment, look);
    let heads = ["IO/s", "p50", "p99", "max"].map(|c| format!("{c:>8}")).concat();
    frame.put(1, top, &format!("{:6}{heads}", "1 s"), look.faint());
    for (class, name) in ["read", "write", "pushed"].iter().enumerate() {
        let cells: String = figures.iter().map(|row| format!("{:>8}", row[class])).collect();
        frame.put(1, top + 1 + class, &format!("{name:6}{cells}"), Ink::Plain);
    }
    let (left, room) = (42, frame.columns() - 42);
    // Only one fact fits after the first three: the worst.
    let mut facts = facts(state, look);
    facts[3..].sort_by_key(|(name, _, is_bad)| (!is_bad, name == "stalls" && *is_bad));
    for (row, (name, value, is_bad)) in facts.into_iter().take(4).enumerate() {
        let value = value
            .split(" (")
            .next()
            .unwrap_or_default()
            .split(", last")
            .next()
            .unwrap_or_default()
            .to_string();
        let name = if name == "in flight" { "flight" } else { name.as_str() };
        let ink = if is_bad { look.bad() } else { Ink::Plain };
        frame.put(left, top + row, &shortened(&format!("{name:8}{value}"), room), ink);
    }
}
