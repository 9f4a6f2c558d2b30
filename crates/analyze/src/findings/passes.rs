//! Differences between the passes of a run.

use crate::findings::percent;
use crate::findings::statistics::{mann_kendall_p, median, theil_sen};
use crate::{PartStats, Summary};
use serde::{Deserialize, Serialize};

/// A figure of each pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassQuantity {
    /// Median latency.
    LatencyP50,
    /// 99th percentile of the latency.
    LatencyP99,
    /// Completed requests per second.
    Requests,
}

impl PassQuantity {
    /// The words in tables and sentences.
    pub fn name(self) -> &'static str {
        match self {
            PassQuantity::LatencyP50 => "median latency",
            PassQuantity::LatencyP99 => "p99 latency",
            PassQuantity::Requests => "requests/s",
        }
    }
}

/// Trend of a quantity from pass to pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassTrend {
    /// The quantity.
    pub quantity: PassQuantity,
    /// Median over the passes: nanoseconds, or requests per second.
    pub median: f64,
    /// Lower end of the 95 % interval of the true median; absent with fewer than 6 passes.
    pub low_95: Option<f64>,
    /// Upper end of that interval.
    pub high_95: Option<f64>,
    /// Mann-Kendall test: probability of a trend like this, up or down, by chance.
    pub p_value: f64,
    /// Whether that is a drift.
    pub is_drift: bool,
    /// Change from the first to the last pass by the median slope (Theil-Sen), divided by the median.
    pub change: f64,
}

/// A pass that differs from all others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassOutlier {
    /// Its number, from 0.
    pub pass: u32,
    /// In which quantity.
    pub quantity: PassQuantity,
    /// Its value.
    pub value: f64,
    /// Distance from the median in robust standard deviations.
    pub z: f64,
}

/// A level that changes from one pass to the next and stays changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassLevel {
    /// The first pass of the new level, from 0.
    pub pass: u32,
    /// In which quantity.
    pub quantity: PassQuantity,
    /// Median of the passes before: nanoseconds, or requests per second.
    pub before: f64,
    /// Median of this pass and those after it.
    pub after: f64,
}

/// Differences between the passes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassFindings {
    /// Passes with requests.
    pub passes: u32,
    /// One for each quantity; empty below 3 passes.
    pub trends: Vec<PassTrend>,
    /// Passes that differ from all others.
    pub outliers: Vec<PassOutlier>,
    /// Levels that change at the start of a pass.
    pub levels: Vec<PassLevel>,
}

impl PassFindings {
    /// The differences in one plain sentence.
    pub fn sentence(&self) -> String {
        match self.passes {
            0 | 1 => return "one pass only: no interval between passes".to_string(),
            2 => return "2 passes, too few for an interval".to_string(),
            _ => {}
        }
        let levels = self.levels.iter().map(|l| {
            let change = l.after / l.before - 1.0;
            let sign = if change < 0.0 { "-" } else { "+" };
            let size = percent(change.abs());
            format!("the level of {} changes by {sign}{size} with pass {}", l.quantity.name(), l.pass + 1)
        });
        let drifts = self.trends.iter().filter(|t| t.is_drift).map(|t| {
            let sign = if t.change < 0.0 { "-" } else { "+" };
            format!(
                "{} drifts by {sign}{} from the first to the last",
                t.quantity.name(),
                percent(t.change.abs())
            )
        });
        let outliers = self
            .outliers
            .iter()
            .map(|o| format!("pass {} stands out by its {}", o.pass + 1, o.quantity.name()));
        let said: Vec<String> = levels.chain(drifts).chain(outliers).collect();
        let said = if said.is_empty() {
            "no drift, no outlier and no change of level shown".to_string()
        } else {
            said.join("; ")
        };
        format!("{} passes: {said}", self.passes)
    }
}

/// Fewest passes for a trend.
const FEWEST_FOR_TREND: usize = 3;
/// A trend with a lower probability is a drift ...
const P_VALUE: f64 = 0.01;
/// ... if it changes the quantity by at least this part.
const LEAST_CHANGE: f64 = 0.02;
/// Fewest passes among which one can stand out.
const FEWEST_FOR_OUTLIER: usize = 5;
/// One that stands out differs from the median by at least this part.
const LEAST_DEVIATION: f64 = 0.1;
/// Two levels of passes differ by at least this factor ...
const LEVELS_DIFFER: f64 = 1.15;
/// ... and their gap is this many times as wide as the spread of the passes of either.
const LEVELS_APART: f64 = 3.0;

/// Compares the passes; `None` for a run without completed requests.
pub(super) fn passes(summary: &Summary) -> Option<PassFindings> {
    // Passes of different phases do different things.
    if summary.counts.all.completed == 0 || !summary.parts.phases.is_empty() {
        return None;
    }
    // The list is empty with only one pass. Passes beyond those with separate figures are not compared.
    let parts: Vec<&PartStats> =
        summary.parts.passes.iter().filter(|p| p.completed > 0 && p.number.is_some()).collect();
    let passes = parts.len().max(1) as u32;
    let mut findings = PassFindings { passes, trends: Vec::new(), outliers: Vec::new(), levels: Vec::new() };
    if parts.len() < FEWEST_FOR_TREND {
        return Some(findings);
    }
    for quantity in [PassQuantity::LatencyP50, PassQuantity::LatencyP99, PassQuantity::Requests] {
        let Some(values) = parts.iter().map(|part| value(part, quantity)).collect::<Option<Vec<f64>>>()
        else {
            continue;
        };
        findings.trends.push(trend(quantity, &values));
        let mut outliers = outliers(&values);
        // A single outlier at an end is reported as an outlier.
        let is_level = |at: &usize| outliers.is_empty() || (*at > 1 && *at + 1 < values.len());
        if let Some(at) = level(&values).filter(is_level) {
            outliers.clear();
            findings.levels.push(PassLevel {
                pass: parts[at].number.unwrap_or_default(),
                quantity,
                before: median(&values[..at]),
                after: median(&values[at..]),
            });
        }
        let outliers = outliers.into_iter().map(|(index, z)| PassOutlier {
            pass: parts[index].number.unwrap_or_default(),
            quantity,
            value: values[index],
            z,
        });
        findings.outliers.extend(outliers);
    }
    Some(findings)
}

fn value(part: &PartStats, quantity: PassQuantity) -> Option<f64> {
    match quantity {
        PassQuantity::LatencyP50 => part.latency.map(|l| l.p50_ns as f64),
        PassQuantity::LatencyP99 => part.latency?.p99_ns.map(|ns| ns as f64),
        PassQuantity::Requests => part.delivered.map(|d| d.requests_per_second),
    }
}

fn trend(quantity: PassQuantity, values: &[f64]) -> PassTrend {
    let middle = median(values);
    let change = if middle > 0.0 { theil_sen(values) * (values.len() - 1) as f64 / middle } else { 0.0 };
    let p_value = mann_kendall_p(values);
    let interval = interval(values);
    PassTrend {
        quantity,
        median: middle,
        low_95: interval.map(|i| i.0),
        high_95: interval.map(|i| i.1),
        p_value,
        is_drift: p_value < P_VALUE && change.abs() >= LEAST_CHANGE,
        change,
    }
}

/// Interval of the median by order statistics: of n values, the k-th from below and from above enclose it unless fewer than
/// k lie on one side, a probability given by the binomial distribution.
fn interval(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len();
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (mut probability, mut below, mut rank) = (0.5f64.powi(n.min(1_000) as i32), 0.0, 0);
    while below + probability <= 0.025 && rank < n / 2 {
        below += probability;
        probability *= (n - rank) as f64 / (rank + 1) as f64;
        rank += 1;
    }
    (rank > 0 && n <= 1_000).then(|| (sorted[rank - 1], sorted[n - rank]))
}

/// The first pass of a new level: all passes before it lie on one side of all the others, well apart.
fn level(values: &[f64]) -> Option<usize> {
    let least = |part: &[f64]| part.iter().copied().fold(f64::MAX, f64::min);
    let most = |part: &[f64]| part.iter().copied().fold(f64::MIN, f64::max);
    let gap = |at: usize| {
        let (before, after) = values.split_at(at);
        (least(after) - most(before)).max(least(before) - most(after))
    };
    let is_change = |at: &usize| {
        let (before, after) = values.split_at(*at);
        let spread = (most(before) - least(before)).max(most(after) - least(after));
        let (a, b) = (median(before), median(after));
        a.min(b) > 0.0 && a.max(b) >= LEVELS_DIFFER * a.min(b) && gap(*at) > LEVELS_APART * spread
    };
    (1..values.len()).filter(is_change).max_by(|a, b| gap(*a).total_cmp(&gap(*b)))
}

/// Passes far from the median in units of the median deviation. With few passes that deviation is inaccurate, so the bound
/// is wider.
fn outliers(values: &[f64]) -> Vec<(usize, f64)> {
    let n = values.len();
    let middle = median(values);
    let sigma = 1.4826 * median(&values.iter().map(|v| (v - middle).abs()).collect::<Vec<_>>());
    let bound = 5.0 + 300.0 / (n * n) as f64;
    if n < FEWEST_FOR_OUTLIER || middle <= 0.0 {
        return Vec::new();
    }
    let z = |value: f64| if value == middle { 0.0 } else { ((value - middle) / sigma).clamp(-1e6, 1e6) };
    let stands_out =
        |(_, v): &(usize, &f64)| z(**v).abs() > bound && (*v - middle).abs() >= LEAST_DEVIATION * middle;
    values.iter().enumerate().filter(stands_out).map(|(i, v)| (i, z(*v))).collect()
}
