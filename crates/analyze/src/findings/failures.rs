//! Failed requests: number, reasons, and times.

use crate::findings::{moment, percent};
use crate::time_range::TimeRange;
use crate::{Class, CountGrid, ErrorCount, Summary};
use iosonar_text::units::grouped;
use serde::{Deserialize, Serialize};

/// Requests that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failures {
    /// Number of failed requests.
    pub requests: u64,
    /// Number of completed and failed requests.
    pub of: u64,
    /// Kinds of errors, the most frequent first.
    pub errors: Vec<ErrorCount>,
    /// From the first to the last submission of a failed request, to a time column.
    pub range: TimeRange,
}

impl Failures {
    /// Share of the completed and failed requests that failed; 0 to 1.
    pub fn share(&self) -> f64 {
        self.requests as f64 / self.of.max(1) as f64
    }

    /// The failures in one plain sentence.
    pub fn sentence(&self) -> String {
        let kind = |error: &ErrorCount| format!("{} {}", grouped(error.count), error.name);
        let kinds: Vec<String> = self.errors.iter().map(kind).collect();
        format!(
            "{} of {} requests failed ({}): {}; first at {}, last at {}",
            grouped(self.requests),
            grouped(self.of),
            percent(self.share()),
            kinds.join(", "),
            moment(self.range.from_ns),
            moment(self.range.to_ns)
        )
    }
}

/// Counts failed requests; `failed` has them by submission. `None` if none failed.
pub(super) fn failures(failed: &CountGrid, summary: &Summary) -> Option<Failures> {
    let all = &summary.counts.all;
    let mut errors = summary.errors.clone();
    let first_due = errors.iter().map(|error| error.first_due_ns).min()?;
    errors.sort_by_key(|error| std::cmp::Reverse(error.count));
    let width = failed.axis().width_ns();
    let used: Vec<usize> = (0..failed.axis().columns()).filter(|column| is_used(failed, *column)).collect();
    let begin = |column: &usize| (*column as u64).saturating_mul(width);
    // Nothing is submitted before it is due, which is known exactly.
    let from_ns = used.first().map_or(first_due, begin).max(first_due);
    let to_ns = used.last().map_or(from_ns, begin).max(from_ns);
    Some(Failures {
        requests: all.failed,
        of: all.completed + all.failed,
        errors,
        range: TimeRange { from_ns, to_ns },
    })
}

fn is_used(grid: &CountGrid, column: usize) -> bool {
    Class::TRANSFERS.into_iter().any(|class| grid.column(class, column).next().is_some())
}
