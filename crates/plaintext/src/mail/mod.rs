//! The form for a mailing list: at most 72 columns of ASCII, below 6 kB, with a picture made of characters.

mod chart;
mod load;
mod sonar;

use crate::lines::{Lines, ascii};
use crate::stamps;
use crate::summary::limit_words;
pub use chart::shade;
use iosonar_analyze::{
    ByScope, Caution, CountGrid, Rate, Scope, Severity, Summary, Throughput, TimeStats, Verdicts,
};
use iosonar_text::units::{self, Charset};
pub use load::LoadText;

/// Width of the text.
const COLUMNS: usize = 72;
/// A longer mail no longer fits one screen or two.
const MOST_BYTES: usize = 6_000;
/// Room for the line about skipped parts.
const SPARE_BYTES: usize = 80;

/// Latency of a run or of a recording.
#[derive(Debug, Clone)]
pub struct LatencyText<'a> {
    /// By submission.
    pub grid: &'a CountGrid,
    /// Name and figures of each time, latency first.
    pub times: Vec<(&'static str, &'a ByScope<Option<TimeStats>>)>,
    /// Demanded and delivered.
    pub throughput: Option<&'a Throughput>,
    /// Whether latency and delay stayed below their limits.
    pub limits: &'a Verdicts,
}

/// Content of the text. Absent parts are skipped.
#[derive(Debug, Clone, Default)]
pub struct Mail<'a> {
    /// The run or load; each entry is wrapped.
    pub head: Vec<String>,
    /// Why the figures are no storage result, and that data was wrong.
    pub stamps: Vec<String>,
    /// Latency of the target.
    pub latency: Option<LatencyText<'a>>,
    /// The load; shown without latencies.
    pub load: Option<LoadText>,
    /// The findings, as sentences.
    pub findings: &'a [String],
    /// Cautions to read before believing the figures, most severe first.
    pub cautions: &'a [Caution],
}

impl<'a> Mail<'a> {
    /// The text of a run. `latency` is the run's grid by submission.
    pub fn of_run(summary: &'a Summary, latency: &'a CountGrid, findings: &'a [String]) -> Mail<'a> {
        let mut times = vec![("latency", &summary.latency)];
        if summary.run.has_timetable && summary.knows_delay() {
            times.extend([("delay", &summary.delay), ("response", &summary.response)]);
        }
        let latency = LatencyText {
            grid: latency,
            times,
            throughput: Some(&summary.throughput),
            limits: &summary.limits,
        };
        Mail {
            head: run_head(summary),
            stamps: stamps::of(summary),
            latency: Some(latency),
            load: None,
            findings,
            cautions: &summary.cautions,
        }
    }
}

/// Options of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MailOptions {
    /// `Unicode` draws the pictures with half blocks; all words stay ASCII.
    pub pictures: Charset,
}

impl Default for MailOptions {
    fn default() -> Self {
        MailOptions { pictures: Charset::Ascii }
    }
}

/// The text, with a line end after each line.
pub fn mail(report: &Mail<'_>, options: MailOptions) -> String {
    let mut out = Lines::new(COLUMNS);
    header(&mut out, report);
    if let Some(latency) = &report.latency {
        limits(&mut out, latency.limits);
        numbers(&mut out, latency);
        sonar::draw(&mut out, latency.grid, &latency.limits.latency, options.pictures);
    } else if let Some(load) = &report.load {
        load::draw(&mut out, load, options.pictures);
    }
    let findings = report.findings.iter().map(|f| (" - ", f.as_str()));
    list(&mut out, "Findings", findings);
    let cautions = report.cautions.iter().map(|c| (mark(c.severity), c.text.as_str()));
    list(&mut out, "Cautions", cautions);
    out.finish()
}

/// The head of a run's text.
fn run_head(s: &Summary) -> Vec<String> {
    let run = &s.run;
    let access = if run.buffered { "page cache" } else { "direct I/O" };
    let (total, over) = (units::grouped(s.counts.all.total), s.span.duration_ns());
    let target = |t: &iosonar_analyze::TargetSummary| {
        let factor = t.wraparound_factor.map_or("-".to_string(), units::number);
        format!(
            "{} > {}, {}, wraparound factor {factor}",
            clipped(&t.source),
            clipped(&t.path),
            units::bytes(t.size_bytes)
        )
    };
    let mut head = vec![format!("{}, run {}", run.tool, run.run_id)];
    head.extend(s.targets.iter().take(2).map(target));
    if s.targets.len() > 2 {
        head.push(format!("and {}", units::more_targets(s.targets.len() - 2)));
    }
    head.push(if run.is_recording() {
        "a recording".to_string()
    } else {
        let (engine, depth) = crate::summary::engine_and_depth(run);
        format!("engine {engine}, {access}, depth {depth}")
    });
    head.push(format!("{total} requests in {}", over.map_or("no time".to_string(), time)));
    head.extend(s.judgement.iter().map(|judgement| format!("verdict: {}", judgement.sentence)));
    head
}

/// Shortens an external name, so that it takes only its share of the text.
fn clipped(name: &str) -> String {
    crate::lines::shorten(&name.chars().map(ascii).collect::<String>(), 60)
}

fn time(ns: u64) -> String {
    units::duration(ns, Charset::Ascii)
}

fn header(out: &mut Lines, report: &Mail<'_>) {
    for (i, line) in report.head.iter().enumerate() {
        out.paragraph(if i == 0 { "" } else { "  " }, line);
    }
    for stamp in &report.stamps {
        out.line(&format!("  *** {stamp} ***"));
    }
}

fn limits(out: &mut Lines, limits: &Verdicts) {
    out.heading(&format!("Limits  latency {}", limit_words(&limits.latency)));
    out.line(&format!("        delay   {}", limit_words(&limits.delay)));
}

fn numbers(out: &mut Lines, latency: &LatencyText<'_>) {
    let heads = ["mean", "p50", "p99", "p99.9", "max"].map(|h| format!("{h:>9}")).concat();
    out.heading(&format!("{:14}{:>13}{heads}", "Times", "requests"));
    for (name, stats) in &latency.times {
        for scope in Scope::BY_OP {
            let Some(t) = stats.get(scope) else { continue };
            let optional = |t: Option<u64>| t.map_or("-".to_string(), time);
            let cells =
                [time(t.mean_ns), time(t.p50_ns), optional(t.p99_ns), optional(t.p99_9_ns), time(t.max_ns)];
            let label = if scope == Scope::All { *name } else { "" };
            let cells = cells.map(|c| format!("{c:>9}")).concat();
            out.line(&format!("{label:9}{:5}{:>13}{cells}", scope.name(), units::grouped(t.count)));
        }
    }
    let Some(throughput) = latency.throughput else { return };
    for (name, rate) in [("wanted", throughput.demanded), ("done", throughput.delivered)] {
        if let Some(rate) = rate {
            out.line(&format!("{name:14}{}", rate_words(&rate)));
        }
    }
}

fn rate_words(rate: &Rate) -> String {
    format!(
        "{:>13} requests/s {:>12} over {}",
        units::request_rate(rate.requests_per_second),
        units::byte_rate(rate.bytes_per_second),
        time(rate.duration_ns)
    )
}

fn mark(severity: Severity) -> &'static str {
    match severity {
        Severity::Severe => "!! ",
        Severity::Warning => " ! ",
        Severity::Note => " - ",
    }
}

/// Sentences under a heading, as many as fit, and the number of others.
fn list<'a>(out: &mut Lines, name: &str, entries: impl Iterator<Item = (&'static str, &'a str)>) {
    let entries: Vec<_> = entries.collect();
    if entries.is_empty() {
        return;
    }
    out.heading(name);
    for (i, (mark, text)) in entries.iter().enumerate() {
        let mut part = Lines::new(COLUMNS);
        part.paragraph(mark, text);
        let part = part.finish();
        if out.len() + part.len() + SPARE_BYTES > MOST_BYTES {
            out.line(&format!("   and {} more", entries.len() - i));
            return;
        }
        out.drawn(&part);
    }
}
