//! The phases of a plan side by side: figures of their sum would mix what the plan keeps apart.

use super::figures;
use super::markup::{plain_table, suffix};
use super::run::ReportRun;
use crate::escape;
use crate::units::{self, Charset};
use iosonar_analyze::{PartStats, Rate, Summary};
use std::fmt::Write as _;

/// A figure of a part: its path, its value and its text; `None` if the part has none.
pub(super) type Figure = fn(&PartStats) -> Option<(&'static str, f64, String)>;

/// Names of the figures of a part.
pub(super) const FIGURES: [(&str, Figure); 7] = [
    ("done", |p| {
        rate(
            p,
            "delivered.requests_per_second",
            |r| r.requests_per_second,
            |n| format!("{} /s", units::request_rate(n)),
        )
    }),
    ("transferred", |p| rate(p, "delivered.bytes_per_second", |r| r.bytes_per_second, units::byte_rate)),
    ("latency p50", |p| time("latency.p50_ns", p.latency.map(|t| t.p50_ns))),
    ("latency p99", |p| time("latency.p99_ns", p.latency.and_then(|t| t.p99_ns))),
    ("latency max", |p| time("latency.max_ns", p.latency.map(|t| t.max_ns))),
    ("completed", |p| Some(("completed", p.completed as f64, units::grouped(p.completed)))),
    ("failed", |p| Some(("failed", p.failed as f64, units::grouped(p.failed)))),
];

fn rate(
    phase: &PartStats,
    path: &'static str,
    of: fn(&Rate) -> f64,
    words: fn(f64) -> String,
) -> Option<(&'static str, f64, String)> {
    phase.delivered.as_ref().map(of).map(|value| (path, value, words(value)))
}

fn time(path: &'static str, ns: Option<u64>) -> Option<(&'static str, f64, String)> {
    ns.map(|ns| (path, ns as f64, units::duration(ns, Charset::Unicode)))
}

/// Whether a run has several phases.
pub(super) fn has(summary: &Summary) -> bool {
    summary.parts.phases.len() > 1
}

/// Writes a column for each phase of a run with several.
pub(super) fn write(out: &mut String, name: &str, run: &ReportRun<'_>) {
    let Some(summary) = run.material.run.as_ref().map(|run| run.summary) else { return };
    if !has(summary) {
        return;
    }
    let phases = &summary.parts.phases;
    let cell = |(i, phase): (usize, &PartStats), of: Figure| match of(phase) {
        Some((path, value, text)) => figures::hook(name, &format!("parts.phases.{i}.{path}"), value, &text),
        None => "–".to_string(),
    };
    let row = |(head, of): (&str, Figure)| {
        let cells = phases.iter().enumerate().map(|phase| cell(phase, of));
        [head.to_string()].into_iter().chain(cells).collect::<Vec<_>>()
    };
    let rows: Vec<_> = FIGURES.into_iter().map(row).collect();
    let names: Vec<_> = phases.iter().map(|phase| escape(&phase.name)).collect();
    let head: Vec<&str> = [""].into_iter().chain(names.iter().map(String::as_str)).collect();
    _ = writeln!(out, "<section id=\"phases{}\" aria-label=\"{name}Phases\">", suffix(name));
    plain_table(out, &head, &rows);
    out.push_str("</section>\n");
}
