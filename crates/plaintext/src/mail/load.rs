//! A load in characters: its figures, and its demand over time.

use super::chart::{self, LABELS, WIDTH};
use crate::lines::Lines;
use iosonar_analyze::demand::{DemandAnalysis, DemandCounts, PAGE_BYTES, SECTOR_BYTES};
use iosonar_text::units::{self, Charset};

/// Rows of the picture.
const HEIGHT: usize = 10;

/// A load without latencies.
#[derive(Debug, Clone, Default)]
pub struct LoadText {
    /// Its static figures: name, and figure with unit.
    pub figures: Vec<(String, String)>,
    /// Requests in equal windows from time zero on.
    pub requests: Vec<u64>,
    /// Width of such a window.
    pub window_ns: u64,
}

impl LoadText {
    /// The figures of a static analysis that fit a mail.
    pub fn of(demand: &DemandAnalysis) -> LoadText {
        let windows = &demand.series.per_second;
        LoadText {
            figures: figures(demand),
            requests: windows.reads.iter().zip(&windows.writes).map(|(r, w)| r + w).collect(),
            window_ns: windows.width_ns,
        }
    }
}

fn figures(demand: &DemandAnalysis) -> Vec<(String, String)> {
    let facts = &demand.facts;
    let (all, grouped) = (&facts.counts.all, units::grouped);
    if all.requests == 0 {
        return vec![("requests".into(), "none".into())];
    }
    let op = |c: &DemandCounts| {
        format!(
            "{} ({}), {}",
            grouped(c.requests),
            units::share(c.requests, all.requests),
            units::bytes(c.bytes)
        )
    };
    let mut lines = vec![
        ("requests", format!("{}, {}", grouped(all.requests), units::bytes(all.bytes))),
        ("reads", op(&facts.counts.read)),
        ("writes", op(&facts.counts.write)),
    ];
    if let Some(span) = facts.span {
        let (from, to) = (super::time(span.first_ns), super::time(span.last_ns));
        lines.push(("time", format!("from {from} to {to}")));
    }
    let (rate, window) = (&facts.throughput.iops.all, super::time(facts.throughput.window_ns));
    let (mean, max) = (units::request_rate(rate.mean), units::request_rate(rate.max));
    lines.push(("rate", format!("mean {mean} requests/s, at most {max} in {window}")));
    if let Some(s) = facts.sizes.all {
        let bytes = |sectors: f64| units::bytes((sectors * SECTOR_BYTES as f64).round() as u64);
        let (min, mean, max) =
            (bytes(s.min_sectors as f64), bytes(s.mean_sectors), bytes(s.max_sectors as f64));
        lines.push(("length", format!("{min} to {max}, mean {mean}, {} different", grouped(s.distinct))));
    }
    if let Some(at) = facts.positions {
        let sectors = |n: u64| units::bytes(n.saturating_mul(SECTOR_BYTES));
        let (low, high) = (sectors(at.lowest_sector), sectors(at.highest_end_sector));
        lines.push(("place", format!("from {low} to {high}")));
    }
    for w in &facts.working_sets {
        let size = |pages: u64| units::bytes(pages.saturating_mul(PAGE_BYTES));
        let most = size(w.sliding.pages.max);
        lines.push(match w.window_s {
            Some(s) => ("working set", format!("at most {most} in {s} s")),
            None => ("working set", format!("{most} in all")),
        });
    }
    lines.push(("turns", format!("{} %", units::number(facts.turns.total.all.percent))));
    if let Some(knee) = facts.miss_ratio.knee.all {
        let (size, miss) = (units::bytes(knee.cache_bytes), units::number(knee.miss * 100.0));
        lines.push(("LRU cache", format!("knee at {size}, {miss} % missed")));
    }
    let sampling = &facts.sampling;
    if !sampling.exact {
        let error = units::number(sampling.relative_error.pages * 100.0);
        lines.push(("sampled", format!("1:{} of the pages, +- {error} %", sampling.one_of)));
    }
    lines.into_iter().map(|(name, figure)| (name.to_string(), figure)).collect()
}

pub(super) fn draw(out: &mut Lines, load: &LoadText, pictures: Charset) {
    if !load.figures.is_empty() {
        out.heading("Load");
    }
    for (name, figure) in &load.figures {
        out.paragraph(&format!("  {:14}", crate::lines::shorten(name, 13)), figure);
    }
    let end_ns = load.window_ns.saturating_mul(load.requests.len() as u64);
    let rates = rates(&load.requests, load.window_ns);
    let most = rates.iter().copied().fold(0.0, f64::max);
    if most == 0.0 {
        out.heading("No picture: the load has no requests.");
        return;
    }
    out.heading("Wanted requests per second over time");
    for row in (0..HEIGHT).rev() {
        let level = |half: usize| (2 * row + half) as f64 / (2 * HEIGHT) as f64 * most;
        let cells: String = rates
            .iter()
            .map(|rate| match pictures {
                Charset::Ascii => bar(*rate, level(0), level(1)),
                Charset::Unicode => chart::half_blocks(*rate > level(1), *rate > level(0)),
            })
            .collect();
        let label = match row {
            r if r == HEIGHT - 1 => top(most),
            _ => String::new(),
        };
        chart::row(out, &label, &cells, "|");
    }
    chart::time_axis(out, end_ns);
    let cell = super::time(end_ns / WIDTH as u64);
    out.line(&format!("{:LABELS$} one character is {cell}; . is less than half a row", ""));
}

/// A cell of a bar: full, or less than half.
fn bar(value: f64, bottom: f64, middle: f64) -> char {
    match value {
        v if v > middle => '#',
        v if v > bottom => '.',
        _ => ' ',
    }
}

/// The greatest rate in little room.
fn top(rate: f64) -> String {
    match rate {
        r if r >= 1e9 => format!("{} G ", units::number(r / 1e9)),
        r if r >= 1e7 => format!("{} M ", units::number(r / 1e6)),
        r if r >= 1e5 => format!("{} k ", units::number(r / 1e3)),
        r => units::request_rate(r) + " ",
    }
}

/// Requests per second in each cell: the mean of its columns, or the column that it lies in.
fn rates(columns: &[u64], width_ns: u64) -> Vec<f64> {
    let count = columns.len();
    if count == 0 {
        return vec![0.0; WIDTH];
    }
    let rate = |cell: usize| {
        let begin = cell * count / WIDTH;
        let part = &columns[begin..((cell + 1) * count / WIDTH).clamp(begin + 1, count)];
        part.iter().sum::<u64>() as f64 / (part.len() as f64 * width_ns as f64 / 1e9)
    };
    (0..WIDTH).map(rate).collect()
}
