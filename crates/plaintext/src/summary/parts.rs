//! Tables of each phase, of each target and of each job, as text for a terminal.

use crate::lines::{Lines, ascii, shorten};
use iosonar_analyze::{PartStats, Summary, TargetSummary};
use iosonar_text::units::{self, Charset};

/// Maximum rows of one table; JSON has them all.
const SHOWN: usize = 32;

/// Whether there are several targets, so that figures of all of them do not describe any one.
pub(crate) fn has_several_targets(s: &Summary) -> bool {
    s.targets.len() > 1
}

/// A table of the phases if there are several, one of the targets, and one of the jobs if a target has several.
pub(crate) fn tables(out: &mut Lines, s: &Summary) {
    if !s.parts.phases.is_empty() {
        table(out, "Each phase", s.parts.phases.iter(), |part| part.name.clone(), None);
    }
    // A single target of each machine would repeat that machine's row.
    if !s.parts.targets.is_empty() && s.hosts.len() < s.targets.len() {
        let most = |part: &PartStats| {
            let target = part.number.and_then(|n| s.targets.get(n as usize));
            target.and_then(|t: &TargetSummary| t.max_in_flight)
        };
        let name = |part: &PartStats| part.number.map_or(part.name.clone(), |n| format!("target {n}"));
        table(out, "Each target", s.parts.targets.iter(), name, Some(&most));
    }
    // A single job per target would repeat that target's row.
    if s.parts.workers.len() > s.targets.len() {
        let name = |part: &PartStats| part.number.map_or(part.name.clone(), |n| format!("job {n}"));
        table(out, "Each job", s.parts.workers.iter(), name, None);
    }
}

/// Last column of the table: the maximum in flight of a part, if counted.
type Most<'a> = &'a dyn Fn(&PartStats) -> Option<u64>;

pub(super) fn table<'a>(
    out: &mut Lines,
    title: &str,
    parts: impl ExactSizeIterator<Item = &'a PartStats>,
    name: impl Fn(&PartStats) -> String,
    most: Option<Most<'_>>,
) {
    let last = if most.is_some() { "depth" } else { "" };
    let heads = ["completed", "failed", "req/s", "p50", "p99", "max", "mean", last];
    out.heading(&row(title, &heads.map(String::from)));
    let more = parts.len().saturating_sub(SHOWN);
    for part in parts.take(SHOWN) {
        let cells = cells(part, most.map(|most| most(part).map_or("unknown".to_string(), units::grouped)));
        let name: String = name(part).chars().map(ascii).collect();
        out.line(&row(&format!("  {}", shorten(&name, 11)), &cells));
    }
    if more > 0 {
        out.line(&format!("  ... and {more} more; --json has them all"));
    }
    let depth = if most.is_some() { " depth: max queue depth." } else { "" };
    out.paragraph("  ", &format!("p50, p99, max: latency. mean: requests in flight, over time.{depth}"));
}

fn cells(part: &PartStats, most: Option<String>) -> [String; 8] {
    let time = |ns: Option<u64>| ns.map_or("-".to_string(), |ns| units::duration(ns, Charset::Ascii));
    let rate = |rate: Option<f64>| rate.map_or("-".to_string(), units::request_rate);
    [
        units::grouped(part.completed),
        units::grouped(part.failed),
        rate(part.delivered.map(|rate| rate.requests_per_second)),
        time(part.latency.map(|l| l.p50_ns)),
        time(part.latency.and_then(|l| l.p99_ns)),
        time(part.latency.map(|l| l.max_ns)),
        part.in_flight_mean.map_or("-".to_string(), in_flight),
        most.unwrap_or_default(),
    ]
}

/// A mean number in flight; values below 0.01 are negligible.
fn in_flight(mean: f64) -> String {
    if mean < 100.0 { format!("{mean:.2}") } else { units::request_rate(mean) }
}

fn row(name: &str, cells: &[String; 8]) -> String {
    const WIDTHS: [usize; 8] = [10, 7, 9, 9, 9, 9, 7, 7];
    let cell = |(cell, width): (&String, usize)| {
        // A value that would touch its neighbour loses the gaps between its digits.
        let cell = if cell.len() < width { cell.clone() } else { cell.replacen(' ', "", 1) };
        format!("{cell:>width$}")
    };
    format!("{name:12}{}", cells.iter().zip(WIDTHS).map(cell).collect::<String>())
}
