//! Requests of a target, and when each is due.

use crate::strict::is_default;
use crate::{Generator, Pace, Pipeline, Rising, Speed, Window};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The requests of a target.
#[expect(clippy::large_enum_variant, reason = "of many workloads nearly all are generated")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Workload {
    /// A recorded load.
    Trace(TraceReplay),
    /// A generated workload.
    Generated(Generator),
}

impl Workload {
    /// The generator, if it is one.
    pub fn generator(&self) -> Option<&Generator> {
        if let Workload::Generated(generator) = self { Some(generator) } else { None }
    }

    /// Whether its requests have due times.
    pub fn has_timetable(&self) -> bool {
        match self {
            Workload::Trace(load) => load.pace.has_timetable(),
            Workload::Generated(generator) => generator.pace != Pace::Closed,
        }
    }

    /// Number of issuing loops that share its requests.
    pub fn jobs(&self) -> u32 {
        self.generator().map_or(1, |generator| generator.jobs)
    }
}

/// A recorded load and the part of it that is replayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceReplay {
    /// File in blkreplay's format, plain or gzip; `-` is standard input.
    pub file: PathBuf,
    /// Steps that change the load before anything else is done with it: `window`, `backward` and `speed` see their output.
    #[serde(default, skip_serializing_if = "Pipeline::is_empty")]
    pub filter: Pipeline,
    /// The replayed part of the load's own time.
    #[serde(default)]
    pub window: Window,
    /// Speed of the load's time.
    #[serde(default)]
    pub speed: Speed,
    /// Whether the load's times count.
    #[serde(default)]
    pub pace: LoadPace,
    /// Treatment of times that run backward.
    #[serde(default)]
    pub backward: Backward,
    /// Skip lines that are no requests but look like one, instead of refusing the load.
    #[serde(default)]
    pub skip_bad: bool,
    /// Whether its flushes, and FUA and preflush of its writes, are issued as recorded.
    #[serde(default, skip_serializing_if = "is_default")]
    pub flush: IssuePolicy,
    /// Whether its discards and write zeroes are issued as recorded.
    #[serde(default, skip_serializing_if = "is_default")]
    pub discard: IssuePolicy,
    /// The part of its requests that is replayed, where several hosts share it; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<LoadPart>,
}

/// A part of the requests of a load: each `of`-th, from the one with this number on. Its times are those of the whole load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadPart {
    /// Number of the first request, from 0; less than `of`.
    pub number: u64,
    /// Number of parts, at least 1.
    pub of: u64,
}

impl LoadPart {
    /// Whether a request of the load is one of them, by its number.
    pub fn has(self, number: u64) -> bool {
        number % self.of.max(1) == self.number
    }
}

impl TraceReplay {
    /// All of a load, as recorded.
    pub fn of(file: impl Into<PathBuf>) -> TraceReplay {
        TraceReplay {
            file: file.into(),
            filter: Pipeline::default(),
            window: Window::default(),
            speed: Speed::default(),
            pace: LoadPace::default(),
            backward: Backward::default(),
            skip_bad: false,
            flush: IssuePolicy::default(),
            discard: IssuePolicy::default(),
            part: None,
        }
    }
}

/// Treatment of operations of a load beyond plain reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IssuePolicy {
    /// Issue them as recorded.
    #[default]
    Issue,
    /// Skip them; make writes with FUA or a preflush plain.
    Drop,
}

/// Whether a load's times count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadPace {
    /// Each request is due at its recorded time.
    #[default]
    Original,
    /// Each request is due at once, in order.
    Asap,
    /// The load's times do not count: requests come at a rising rate, in the order of the load, until the rate has risen to its end
    /// or the load is over.
    Rising(Rising),
}

impl LoadPace {
    /// Whether requests have due times.
    pub fn has_timetable(self) -> bool {
        self != LoadPace::Asap
    }
}

/// Treatment of a load's times that run backward (spec decision 10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backward {
    /// Refuse the load and name the line.
    #[default]
    Refuse,
    /// Sort by time; requests of equal time keep their order.
    Sort,
    /// Shift all that follows by the step, as blkreplay does.
    Shift,
}
