//! Captions with a figure of the summary, of the demand or of the findings, with its path and its exact value.

use super::axes;
use crate::scene::Caption;
use crate::units;
use iosonar_analyze::demand::{PAGE_BYTES, SECTOR_BYTES};
use iosonar_analyze::findings::{LatencyBand, Overload};
use iosonar_analyze::{Scope, TimeStats};

/// A duration.
pub(super) fn time(path: impl Into<String>, ns: u64) -> Caption {
    Caption::figure(axes::time(ns), path, ns)
}

/// A duration that may be unknown.
pub(super) fn time_or_dash(path: impl Into<String>, ns: Option<u64>) -> Caption {
    ns.map_or("–".into(), |ns| time(path, ns))
}

/// A count.
pub(super) fn count(path: impl Into<String>, n: u64) -> Caption {
    Caption::figure(units::grouped(n), path, n)
}

/// A number of bytes.
pub(super) fn bytes(path: impl Into<String>, n: u64) -> Caption {
    Caption::figure(units::bytes(n), path, n)
}

/// A part of a whole, in percent: both are figures.
pub(super) fn share(part: (String, u64), whole: (String, u64)) -> Caption {
    Caption::figure(units::share(part.1, whole.1), part.0, part.1).of(whole.0, whole.1)
}

/// Key of a scope in the summary.
pub(super) fn key(scope: Scope) -> &'static str {
    match scope {
        Scope::All => "all",
        Scope::Read => "read",
        Scope::Write => "write",
        Scope::ReadPushed => "read_pushed",
        Scope::WritePushed => "write_pushed",
        Scope::Flush => "flush",
    }
}

/// The figures of a distribution, in this order: number, mean, and the percentiles and the greatest named by `wanted`.
pub(super) fn of_times(path: &str, s: &TimeStats, wanted: &[&str]) -> Vec<Caption> {
    let of = |name: &&str| {
        let path = format!("{path}.{name}");
        match *name {
            "count" => count(path, s.count),
            "mean_ns" => time(path, s.mean_ns),
            "p50_ns" => time(path, s.p50_ns),
            "p99_ns" => time_or_dash(path, s.p99_ns),
            "p99_9_ns" => time_or_dash(path, s.p99_9_ns),
            "p99_99_ns" => time_or_dash(path, s.p99_99_ns),
            _ => time(path, s.max_ns),
        }
    };
    wanted.iter().map(of).collect()
}

/// Joins several parts, with the figures of all of them.
pub(super) fn joined<C: Into<Caption>>(parts: impl IntoIterator<Item = C>) -> Caption {
    let mut all = Caption::default();
    for part in parts {
        let part: Caption = part.into();
        all.text += &part.text;
        all.figures.extend(part.figures);
    }
    all
}

/// A number of sectors, shown as bytes.
pub(super) fn sectors(path: impl Into<String>, sectors: f64) -> Caption {
    Caption::figure(units::bytes((sectors * SECTOR_BYTES as f64).round() as u64), path, number(sectors))
}

/// A number of pages, shown as bytes.
pub(super) fn pages(path: impl Into<String>, pages: f64) -> Caption {
    Caption::figure(units::bytes((pages * PAGE_BYTES as f64).round() as u64), path, number(pages))
}

/// Keeps whole numbers as integers.
fn number(value: f64) -> serde_json::Value {
    let whole = value as u64;
    if whole as f64 == value { whole.into() } else { value.into() }
}

/// Name, peak and share of a band of the findings.
pub(super) fn band(index: usize, band: &LatencyBand) -> Caption {
    Caption::figure(
        format!("{} {}", band.op.name(), band.label()),
        format!("findings.bands.{index}.peak_ns"),
        band.peak_ns,
    )
    .of(format!("findings.bands.{index}.share"), band.share)
}

/// The sentence on the start of an overload.
pub(super) fn collapse(found: &Overload) -> Caption {
    let path = |field: &str| format!("findings.collapse.{field}");
    Caption::from(found.sentence())
        .of(path("range.from_ns"), found.range.from_ns)
        .of(path("demanded_per_second"), found.demanded_per_second)
        .of(path("delivered_low_per_second"), found.delivered_low_per_second)
        .of(path("delivered_high_per_second"), found.delivered_high_per_second)
        .of(path("backlog_requests"), found.backlog_requests)
        .of(path("lost_seconds_per_second"), found.lost_seconds_per_second)
}

/// The figures of one of two runs: prefix `a.` for those of the baseline, `b.` for those of the other.
pub(super) fn of_one(letter: &str, mut told: Caption) -> Caption {
    for figure in &mut told.figures {
        figure.path = format!("{}.{}", letter.to_lowercase(), figure.path);
    }
    told
}
