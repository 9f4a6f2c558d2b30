//! The parts of an analysis.

use crate::Detail;

/// The parts of an analysis that its views need; the others are not computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Detail of the counts.
    pub detail: Detail,
    /// Whether the distributions are needed, and not only the summary.
    pub tally: bool,
    /// Whether the demand has to be analysed.
    pub demand: bool,
    /// Whether the samples of the machine are needed.
    pub machine: bool,
    /// Whether latencies by extent are needed.
    pub extents: bool,
    /// Whether single faults are needed.
    pub faults: bool,
}

impl Needs {
    /// Needs of the words around every picture, and of the findings in it.
    pub const LEAST: Needs = Needs {
        detail: Detail::Sonar,
        tally: false,
        demand: false,
        machine: false,
        extents: false,
        faults: false,
    };
    /// Every analysis.
    pub const EVERYTHING: Needs =
        Needs { detail: Detail::Full, tally: true, demand: true, machine: true, extents: true, faults: true };

    /// The needs of both.
    #[must_use]
    pub fn and(self, other: Needs) -> Needs {
        Needs {
            detail: self.detail.max(other.detail),
            tally: self.tally || other.tally,
            demand: self.demand || other.demand,
            machine: self.machine || other.machine,
            extents: self.extents || other.extents,
            faults: self.faults || other.faults,
        }
    }
}
