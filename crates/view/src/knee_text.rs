//! The rate that a target sustains, as text.

use crate::units::{Charset, duration, grouped, request_rate};
use iosonar_analyze::knee::{KneeVerdict, RampRow, RampedOverload};
use iosonar_text::shown;
use std::fmt::Write;
use std::path::Path;

/// A ramp that answers, and the words about it.
#[derive(Debug)]
pub struct KneeText<'a> {
    /// The target.
    pub target: &'a Path,
    /// Source of its requests.
    pub source: &'a str,
    /// The most requests in flight.
    pub depth: u32,
    /// The verdict.
    pub verdict: &'a KneeVerdict,
    /// The verdict in words.
    pub sentences: &'a [String],
    /// Whether the load ended before the ramp.
    pub load_was_over: bool,
    /// Marks that every view of the result shows.
    pub stamps: &'a [String],
    /// The figures of blkreplay's own measure.
    pub overload: RampedOverload,
    /// Demanded and delivered requests in a few intervals.
    pub steps: &'a [RampRow],
}

/// Shows the verdict with its evidence.
pub fn show_knee(knee: &KneeText<'_>) -> String {
    let mut text = format!("knee of {}: {}, depth {}\n", shown(&knee.target), knee.source, knee.depth);
    for sentence in knee.sentences {
        let _ = writeln!(text, "  {sentence}");
    }
    if knee.load_was_over {
        let _ = writeln!(
            text,
            "  the load was over before the ramp: repeat it ('iosonar load filter repeat:10'), and a higher rate is possible"
        );
    }
    for stamp in knee.stamps {
        let _ = writeln!(text, "  {stamp}");
    }
    let o = &knee.overload;
    let seconds = |ns: u64| ns as f64 / 1e9;
    let iops = o.iops().map_or("none: no request was more than a second late".to_string(), |iops| {
        format!("OPS={} FROM={:.3} TO={:.3} IOPS={iops:.1}", o.ops, seconds(o.from_ns), seconds(o.to_ns))
    });
    let _ = writeln!(text, "  determine-ramped-overload-iops: {iops}");
    text + &table(knee)
}

/// Target rate, achieved rate and times in some intervals of the ramp.
fn table(knee: &KneeText<'_>) -> String {
    let mut text = format!(
        "\n  {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}\n",
        "demanded/s", "delivered/s", "behind", "delay p50", "delay p99", "response p50"
    );
    let sustained = match knee.verdict {
        KneeVerdict::Found(knee) => Some(knee.sustained_per_second),
        _ => None,
    };
    let (mut behind, mut is_marked) = (0.0f64, false);
    for row in knee.steps {
        behind = (behind + row.demanded - (row.delivered + row.failed) as f64).max(0.0);
        let is_knee = !is_marked && sustained.is_some_and(|rate| row.demand_per_second() >= rate);
        is_marked |= is_knee;
        text += &line(row, behind, if is_knee { "  < the knee" } else { "" });
    }
    text
}

fn line(row: &RampRow, behind: f64, mark: &str) -> String {
    let time = |ns: Option<u64>| ns.map_or("-".to_string(), |ns| duration(ns, Charset::Ascii));
    format!(
        "  {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}{mark}\n",
        request_rate(row.demand_per_second()),
        request_rate(row.delivered_per_second()),
        grouped(behind as u64),
        time(row.delay.map(|d| d.p50_ns)),
        time(row.delay.map(|d| d.p99_ns)),
        time(row.response.map(|r| r.p50_ns)),
    )
}
