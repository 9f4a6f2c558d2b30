//! Requests that transfer no data: flushes, and operations of later versions. They have no bytes and no place, so they are
//! separate from the figures of reads and writes.

use crate::fits::Fits;
use crate::{Counts, Distribution, TimeStats};
use iosonar_archive::Record;
use iosonar_plan::Op;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Figures of one operation that transfers no data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OtherOp {
    /// The operation.
    pub op: Op,
    /// Number of requests, and how they ended.
    pub counts: Counts,
    /// completed − submitted, of completed ones; absent without any.
    pub latency: Option<TimeStats>,
    /// submitted − due.
    pub delay: Option<TimeStats>,
    /// completed − due.
    pub response: Option<TimeStats>,
}

/// Counters of one operation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct OtherTally {
    #[serde(with = "crate::named")]
    counts: Counts,
    latency: Distribution,
    delay: Distribution,
    response: Distribution,
}

/// Counts and times by operation. There are few operations, so this is bounded.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct OtherOps(BTreeMap<Op, OtherTally>);

impl Fits for OtherOps {
    fn fits(&self, _: &Self) -> bool {
        let own = Distribution::default();
        let times = self.0.values().flat_map(|tally| [&tally.latency, &tally.delay, &tally.response]);
        times.into_iter().all(|times| times.fits(&own))
    }
}

impl OtherOps {
    /// Counts a record of such an operation.
    #[cold]
    pub(crate) fn add(&mut self, record: &Record) {
        let tally = self.0.entry(record.op).or_default();
        tally.counts.add(record);
        let times = (record.latency(), record.delay(), record.response());
        if let ((Some(latency), Some(delay), Some(response)), true) = (times, record.is_completed()) {
            tally.latency.add(latency.0);
            tally.delay.add(delay.0);
            tally.response.add(response.0);
        }
    }

    pub(crate) fn merge(&mut self, other: &OtherOps) {
        for (op, theirs) in &other.0 {
            let mine = self.0.entry(*op).or_default();
            mine.counts.merge(&theirs.counts);
            mine.latency.merge(&theirs.latency);
            mine.delay.merge(&theirs.delay);
            mine.response.merge(&theirs.response);
        }
    }

    /// Figures of each operation.
    pub(crate) fn list(&self) -> Vec<OtherOp> {
        let one = |(op, tally): (&Op, &OtherTally)| OtherOp {
            op: *op,
            counts: tally.counts,
            latency: tally.latency.stats(),
            delay: tally.delay.stats(),
            response: tally.response.stats(),
        };
        self.0.iter().map(one).collect()
    }
}
