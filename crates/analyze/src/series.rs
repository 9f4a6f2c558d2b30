//! Requests and bytes by time column.

use crate::TimeAxis;

/// Exact sums for each column of a time axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountSeries {
    axis: TimeAxis,
    /// Requests in each column.
    pub requests: Vec<u64>,
    /// Their bytes.
    pub bytes: Vec<u64>,
}

impl CountSeries {
    /// All zero.
    pub fn new(axis: TimeAxis) -> CountSeries {
        CountSeries { axis, requests: vec![0; axis.columns()], bytes: vec![0; axis.columns()] }
    }

    /// Its time axis.
    pub fn axis(&self) -> TimeAxis {
        self.axis
    }

    /// Counts a request of `bytes` at `at_ns`.
    pub fn add(&mut self, at_ns: u64, bytes: u64) {
        let column = self.axis.column(at_ns);
        self.requests[column] += 1;
        self.bytes[column] += bytes;
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &CountSeries) {
        assert_eq!(self.axis, other.axis, "series of one run have one axis");
        self.requests.iter_mut().zip(&other.requests).for_each(|(m, t)| *m += t);
        self.bytes.iter_mut().zip(&other.bytes).for_each(|(m, t)| *m += t);
    }
}
