//! Checks latency and delay against their limits.

use iosonar_plan::Nanos;
use serde::{Deserialize, Serialize};

/// Times that no request may exceed. The defaults are those of blkreplay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// For the latency.
    pub bad_latency: Nanos,
    /// For the delay.
    pub bad_delay: Nanos,
    /// Number of requests above a limit that make it fail, at least 1.
    pub bad_ignore: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { bad_latency: Nanos::from_secs(5), bad_delay: Nanos::from_secs(10), bad_ignore: 1 }
    }
}

/// The words of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitResult {
    /// No request was above the limit, or fewer than `bad_ignore`.
    Passed,
    /// At least `bad_ignore` requests, usually one, were above it.
    Failed,
    /// Nothing to judge: no request completed, or requests had no timetable to be late against.
    NotApplicable,
}

/// Verdict on one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitVerdict {
    /// The limit.
    pub limit_ns: u64,
    /// Whether it held.
    pub result: LimitResult,
    /// Requests above it.
    pub above: u64,
    /// Number of them that make it fail.
    pub bad_ignore: u64,
    /// Least due time of a request above it.
    pub first_due_ns: Option<u64>,
    /// Greatest value; absent if nothing completed.
    pub max_ns: Option<u64>,
}

/// Both verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdicts {
    /// Verdict on `bad_latency`.
    pub latency: LimitVerdict,
    /// Verdict on `bad_delay`.
    pub delay: LimitVerdict,
}

impl Verdicts {
    /// Whether these are the verdicts on `limits`.
    pub fn are_of(&self, limits: &Limits) -> bool {
        self.latency.limit_ns == limits.bad_latency.0
            && self.delay.limit_ns == limits.bad_delay.0
            && [self.latency, self.delay].iter().all(|verdict| verdict.bad_ignore == limits.bad_ignore.max(1))
    }
}

/// Counts values above a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LimitCount {
    limit: Nanos,
    bad_ignore: u64,
    above: u64,
    first_due: Option<u64>,
}

impl LimitCount {
    pub(crate) fn new(limit: Nanos, bad_ignore: u64) -> LimitCount {
        LimitCount { limit, bad_ignore: bad_ignore.max(1), above: 0, first_due: None }
    }

    /// The limit, and the number of values above it from which on it fails.
    pub(crate) fn limit(&self) -> (Nanos, u64) {
        (self.limit, self.bad_ignore)
    }

    pub(crate) fn add(&mut self, value: Nanos, due: Nanos) {
        if value > self.limit {
            self.above += 1;
            self.first_due = Some(self.first_due.map_or(due.0, |first| first.min(due.0)));
        }
    }

    pub(crate) fn merge(&mut self, other: &LimitCount) {
        self.above += other.above;
        self.first_due = [self.first_due, other.first_due].into_iter().flatten().min();
    }

    /// `max_ns`: greatest value met; `applies`: whether the limit means anything for this run.
    pub(crate) fn verdict(&self, max_ns: Option<u64>, applies: bool) -> LimitVerdict {
        let result = match (applies && max_ns.is_some(), self.above < self.bad_ignore) {
            (false, _) => LimitResult::NotApplicable,
            (true, true) => LimitResult::Passed,
            (true, false) => LimitResult::Failed,
        };
        LimitVerdict {
            limit_ns: self.limit.0,
            result,
            above: self.above,
            bad_ignore: self.bad_ignore,
            first_due_ns: self.first_due,
            max_ns,
        }
    }
}
