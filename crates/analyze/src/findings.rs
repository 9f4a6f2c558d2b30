//! Properties of a run that no single number shows: values with their evidence and time range.
//!
//! Each finding has a separate file: its data, its sentence, and its detection. Thresholds are constants there;
//! `docs/findings.md` lists how often they detect planted properties, and how often they raise false alarms.

mod bands;
mod bins;
mod collapse;
mod failures;
mod passes;
mod period;
#[cfg(test)]
mod planted;
mod stalls;
pub(crate) mod statistics;
mod steady;

pub use crate::time_range::TimeRange;
pub use bands::LatencyBand;
pub use collapse::{Overload, OverloadKind, overloads_of};
pub use failures::Failures;
pub use passes::{PassFindings, PassLevel, PassOutlier, PassQuantity, PassTrend};
pub use period::{Period, PeriodCause, PeriodQuantity};
pub use stalls::{CompletionFacts, CompletionStall, Completions, StallKind};
pub use steady::{
    SNIA_WINDOW, SniaSteady, SniaWindow, SplitResult, SplitTest, Steady, SteadyQuantity, snia_window,
    split_levels,
};

use crate::course::Course;
use crate::{Diagrams, Summary, WithoutCpu};
use iosonar_plan::Op;
use iosonar_text::units::grouped;
use serde::{Deserialize, Serialize};

/// Results of all detectors. An empty list or `None` means not found, or too few data.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Findings {
    /// Modes of the latency, reads first, from fast to slow.
    pub bands: Vec<LatencyBand>,
    /// Times at which nothing, or nothing of one operation, completed although it was in flight; by onset.
    pub stalls: Vec<CompletionStall>,
    /// Further stalls, shorter than those in the list, that are only counted.
    pub stalls_left_out: u64,
    /// Requests that failed.
    pub failures: Option<Failures>,
    /// The overload with the longest backlog.
    pub collapse: Option<Overload>,
    /// All overloads in order of time, including that one.
    pub overloads: Vec<Overload>,
    /// A recurring event.
    pub period: Option<Period>,
    /// Whether the level was constant.
    pub steady: Option<Steady>,
    /// Differences between passes.
    pub passes: Option<PassFindings>,
}

impl Findings {
    /// Runs all detectors. Effects of a lack of CPU are not attributed to the target. Where the summary has a story, its causes outside of
    /// the target are named.
    pub fn of(
        diagrams: &Diagrams,
        completions: &CompletionFacts,
        summary: &Summary,
        without_cpu: &WithoutCpu,
    ) -> Findings {
        let requests = Course::of(diagrams);
        let told = |stall: &CompletionStall| CompletionStall {
            is_of_generator: without_cpu.accounts_for(stall.range),
            outside: summary.story.as_ref().and_then(|story| story.outside_cause(stall.range)),
            ..stall.clone()
        };
        let stalls = &completions.stalls.iter().map(told).collect::<Vec<_>>();
        let overloads = collapse::overloads(&requests, stalls, summary, without_cpu);
        Findings {
            bands: bands::bands(&diagrams.latency, &diagrams.delay, stalls),
            failures: failures::failures(&diagrams.failed.latency, summary),
            stalls: stalls.clone(),
            stalls_left_out: completions.left_out,
            collapse: Overload::worst(&overloads).cloned(),
            overloads,
            period: period::period(&requests, &diagrams.latency, summary),
            steady: steady::steady(&requests, &diagrams.latency, summary),
            passes: passes::passes(summary),
        }
    }

    /// Each finding as one plain sentence, in the order of the fields.
    pub fn sentences(&self) -> Vec<String> {
        self.list().into_iter().map(|finding| finding.text).collect()
    }

    /// Each finding with its kind, in the same order.
    pub fn list(&self) -> Vec<Finding> {
        let whole = |kind, text| Finding { kind, text, range: None, number: None, op: None };
        let band =
            |band: &LatencyBand| Finding { op: Some(band.op), ..whole(FindingKind::Band, band.sentence()) };
        let stall = |(i, stall): (usize, &CompletionStall)| Finding {
            range: Some(stall.range),
            number: Some(i as u32 + 1),
            op: stall.op,
            ..whole(FindingKind::Stall, format!("stall {}: {}", i + 1, stall.sentence()))
        };
        let mut all: Vec<Finding> = self.bands.iter().map(band).collect();
        all.extend(self.stalls.iter().enumerate().map(stall));
        if self.stalls_left_out > 0 {
            let count = grouped(self.stalls_left_out);
            all.push(whole(FindingKind::Note, format!("{count} shorter stalls are not listed")));
        }
        all.extend(self.failures.as_ref().map(|found| Finding {
            range: Some(found.range),
            ..whole(FindingKind::Failures, found.sentence())
        }));
        all.extend(self.overloads.iter().map(|found| Finding {
            range: Some(found.range),
            ..whole(FindingKind::Collapse, found.sentence())
        }));
        all.extend(self.period.as_ref().map(|found| whole(FindingKind::Period, found.sentence())));
        // If the target does not keep up, the level means nothing.
        let steady = self.steady.as_ref().filter(|_| self.collapse.is_none());
        all.extend(steady.map(|found| whole(FindingKind::Steady, found.sentence())));
        all.extend(self.passes.as_ref().map(|found| whole(FindingKind::Passes, found.sentence())));
        all
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its kind.
    pub kind: FindingKind,
    /// One plain sentence.
    pub text: String,
    /// The time range; absent if it is the whole run.
    pub range: Option<TimeRange>,
    /// Number of a stall, from 1.
    pub number: Option<u32>,
    /// The operation, if only one is concerned.
    pub op: Option<Op>,
}

/// Kind of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingKind {
    /// A mode of the latency.
    Band,
    /// A time without completions.
    Stall,
    /// The start of an overload.
    Collapse,
    /// A recurring event.
    Period,
    /// Whether the level was constant.
    Steady,
    /// Requests that failed.
    Failures,
    /// Differences between passes.
    Passes,
    /// A finding without a separate kind.
    Note,
}

/// The operations that findings distinguish.
pub const OPS: [Op; 3] = [Op::Read, Op::Write, Op::Flush];

/// The plural of an operation of [`OPS`].
fn several(op: Op) -> &'static str {
    match op {
        Op::Read => "reads",
        Op::Write => "writes",
        _ => "flushes",
    }
}

/// A fraction in percent, with three digits where it is small.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 10.0 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

/// A time on the run's clock, to a hundredth of a second.
fn moment(ns: u64) -> String {
    format!("{:.2} s", ns as f64 / 1e9)
}
