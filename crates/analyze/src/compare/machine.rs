//! Activity of the machine during both runs, in the times in which they differ.

use super::{Comparison, Outcome};
use crate::story::StoryEvent;
use crate::time_range::TimeRange;
use serde::Serialize;

/// Most times that are examined, the longest ones.
const WINDOWS: usize = 4;
/// From this share of the common time on, the runs differ all the time.
const ALL_THE_TIME: f64 = 0.7;

/// A time on the clocks of both runs, and the activity of the machine in each of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MachineWindow {
    /// The time.
    #[serde(flatten)]
    pub range: TimeRange,
    /// Whether the runs differ in this time alone.
    pub is_part: bool,
    /// During A; absent if it is not known.
    pub a: Option<MachineUse>,
    /// During B.
    pub b: Option<MachineUse>,
}

/// Activity of a machine during a part of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MachineUse {
    /// Bytes that others moved on the devices of the targets and below them.
    pub others: Vec<ForeignBytes>,
    /// Time in which the whole program was stopped, in nanoseconds; absent without samples.
    pub halted_ns: Option<u64>,
    /// Time in which the program had no CPU, halts included.
    pub without_cpu_ns: Option<u64>,
    /// Events of the run's story, those with most lost time.
    pub events: Vec<StoryEvent>,
}

/// Bytes on a device, or on several together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ForeignBytes {
    /// The name of the device.
    pub device: String,
    /// Bytes that were not of the run.
    pub bytes: u64,
    /// Their share of all bytes on it; 0 to 1.
    pub share: f64,
    /// Length of the samples that the time touches, in seconds.
    pub seconds: f64,
}

impl Comparison {
    /// The times in which the runs differ, by their begin, and whether these are a part of the run: the ranges with a shown change, or the
    /// whole run. Empty if no difference is shown.
    pub fn windows(&self) -> (Vec<TimeRange>, bool) {
        if matches!(self.answer.outcome, Outcome::Nothing | Outcome::NotShown) {
            return (Vec::new(), false);
        }
        let begins = self.over_time.stretches.iter().map(|stretch| stretch.begin_ns).min();
        let ends = self.over_time.stretches.iter().map(|stretch| stretch.end_ns).max();
        let whole = TimeRange { from_ns: 0, to_ns: self.a.duration_ns.max(self.b.duration_ns) };
        let mut joined = self.joined_ranges();
        let covered: u64 = joined.iter().map(|range| range.length_ns()).sum();
        let common = ends.unwrap_or(whole.to_ns).saturating_sub(begins.unwrap_or(0));
        if joined.is_empty() || covered as f64 >= ALL_THE_TIME * common as f64 {
            return (vec![whole], false);
        }
        joined.sort_by_key(|range| std::cmp::Reverse(range.length_ns()));
        joined.truncate(WINDOWS);
        joined.sort_by_key(|range| range.from_ns);
        (joined, true)
    }

    /// The ranges of all figures; those that overlap or touch are one.
    fn joined_ranges(&self) -> Vec<TimeRange> {
        let range = |stretch: &super::Stretch| TimeRange { from_ns: stretch.begin_ns, to_ns: stretch.end_ns };
        let mut ranges: Vec<TimeRange> = self.over_time.ranges.iter().map(range).collect();
        ranges.sort_by_key(|range| range.from_ns);
        let mut joined: Vec<TimeRange> = Vec::new();
        for range in ranges {
            match joined.last_mut().filter(|last| range.from_ns <= last.to_ns) {
                Some(last) => last.to_ns = last.to_ns.max(range.to_ns),
                None => joined.push(range),
            }
        }
        joined
    }
}
