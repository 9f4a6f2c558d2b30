//! Requests and bytes by time column.

use crate::axis::{OverTime, fold_pairs};
use crate::fits::Fits;
use crate::{Class, Scope, TimeAxis};
use serde::{Deserialize, Serialize};

/// Exact sums for each column of a time axis, which widens as later times are added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountSeries {
    axis: TimeAxis,
    /// Requests in each column.
    #[serde(with = "crate::sparse")]
    pub requests: Vec<u64>,
    /// Their bytes.
    #[serde(with = "crate::sparse")]
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
        if self.axis.column(at_ns) >= self.requests.len() {
            self.reach(at_ns);
        }
        let column = self.axis.column(at_ns);
        self.requests[column] += 1;
        self.bytes[column] = self.bytes[column].saturating_add(bytes);
    }

    /// Merges `other`, whose columns may be wider or narrower.
    pub fn merge(&mut self, other: &CountSeries) {
        let mut other = other.clone();
        self.match_axis(other.axis);
        other.match_axis(self.axis);
        self.requests.iter_mut().zip(&other.requests).for_each(|(m, t)| *m += t);
        self.bytes.iter_mut().zip(&other.bytes).for_each(|(m, t)| *m = m.saturating_add(*t));
    }
}

impl Fits for CountSeries {
    fn fits(&self, own: &Self) -> bool {
        let columns = self.axis.columns();
        self.axis.fits(&own.axis) && self.requests.len() == columns && self.bytes.len() == columns
    }
}

impl OverTime for CountSeries {
    fn time_axis(&mut self) -> &mut TimeAxis {
        &mut self.axis
    }

    fn fold(&mut self) {
        fold_pairs(&mut self.requests, |a, b| a + b);
        fold_pairs(&mut self.bytes, u64::saturating_add);
    }

    fn resize(&mut self) {
        self.requests.resize(self.axis.columns(), 0);
        self.bytes.resize(self.axis.columns(), 0);
    }
}

/// A series for each class that transfers data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassSeries([CountSeries; 4]);

impl Fits for ClassSeries {
    fn fits(&self, own: &Self) -> bool {
        self.0.iter().zip(&own.0).all(|(theirs, own)| theirs.fits(own))
    }
}

impl ClassSeries {
    /// All zero.
    pub fn new(axis: TimeAxis) -> ClassSeries {
        ClassSeries(std::array::from_fn(|_| CountSeries::new(axis)))
    }

    /// The time axis of all of them, once they have equal lengths.
    pub fn axis(&self) -> TimeAxis {
        self.0[0].axis
    }

    /// The series of a class.
    pub fn of(&self, class: Class) -> &CountSeries {
        &self.0[class.index()]
    }

    /// The sum of the classes of a scope.
    pub fn scope(&self, scope: Scope) -> CountSeries {
        let mut sum = CountSeries::new(self.axis());
        Class::TRANSFERS
            .into_iter()
            .filter(|class| scope.contains(*class))
            .for_each(|c| sum.merge(self.of(c)));
        sum
    }

    pub(crate) fn add(&mut self, class: Class, at_ns: u64, bytes: u64) {
        self.0[class.index()].add(at_ns, bytes);
    }

    pub(crate) fn merge(&mut self, other: &ClassSeries) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| mine.merge(theirs));
    }

    pub(crate) fn reach(&mut self, end_ns: u64) {
        self.0.iter_mut().for_each(|series| series.reach(end_ns));
    }
}
