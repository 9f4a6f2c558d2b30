//! Differences between the passes of a run.

use crate::findings::percent;
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

/// How a quantity went from pass to pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassTrend {
    /// Which.
    pub quantity: PassQuantity,
    /// Median over the passes: nanoseconds, or requests per second.
    pub median: f64,
    /// The true median lies above this with 95 %; absent where there are fewer than 6 passes.
    pub low_95: Option<f64>,
    /// And below this.
    pub high_95: Option<f64>,
    /// Mann-Kendall test: how likely a trend like this, up or down, is by chance.
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

/// Differences between the passes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassFindings {
    /// Passes with requests.
    pub passes: u32,
    /// One for each quantity; empty below 3 passes.
    pub trends: Vec<PassTrend>,
    /// Passes that differ from all others.
    pub outliers: Vec<PassOutlier>,
}

impl PassFindings {
    /// In one plain sentence.
    pub fn sentence(&self) -> String {
        match self.passes {
            0 | 1 => return "single pass, no interval".to_string(),
            2 => return "2 passes, too few for an interval".to_string(),
            _ => {}
        }
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
        let said: Vec<String> = drifts.chain(outliers).collect();
        let said =
            if said.is_empty() { "no drift and no outlier shown".to_string() } else { said.join("; ") };
        format!("{} passes: {said}", self.passes)
    }
}
