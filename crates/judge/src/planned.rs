//! Facts about a run before its first request.

use iosonar_analyze::Summary;
use iosonar_archive::{RunInfo, TargetInfo};
use iosonar_evidence::{Environment, Fact, RereadTimes, TargetFacts};
use iosonar_plan::{Order, Plan, Workload};

/// A run before its first request.
#[derive(Debug, Clone)]
pub struct PlannedRun<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The machine.
    pub before: &'a Environment,
    /// The targets.
    pub targets: Vec<PlannedTarget<'a>>,
}

/// A target and its planned use.
#[derive(Debug, Clone, Copy)]
pub struct PlannedTarget<'a> {
    /// Facts about it.
    pub info: &'a TargetInfo,
    /// Whether it is read.
    pub is_read: bool,
    /// Whether it is written, so that missing data may exist later.
    pub is_written: bool,
}

impl PlannedTarget<'_> {
    /// Bytes of the range that was searched for holes.
    pub(crate) fn reach(&self) -> u64 {
        match (self.info.hole_range_bytes, self.info.max_requested_end) {
            (0, 0) => self.info.size,
            (0, end) => end.min(self.info.size),
            (range, _) => range,
        }
    }
}

impl<'a> PlannedRun<'a> {
    /// What a run was before its first request, with the operations that it has done on its targets since.
    pub(crate) fn of(
        plan: &'a Plan,
        run: &'a RunInfo,
        summary: &Summary,
        before: &'a Environment,
    ) -> PlannedRun<'a> {
        let planned = |(number, info): (usize, &'a TargetInfo)| {
            let counts = summary.targets.get(number).map(|target| target.counts);
            let is_read = counts.is_some_and(|counts| counts.read.total + counts.read.ramp > 0);
            let is_written = counts.is_some_and(|counts| counts.write.total + counts.write.ramp > 0);
            PlannedTarget { info, is_read, is_written }
        };
        PlannedRun { plan, before, targets: run.targets.iter().enumerate().map(planned).collect() }
    }
}

impl PlannedRun<'_> {
    /// Whether some target is written.
    pub(crate) fn has_writes(&self) -> bool {
        self.targets.iter().any(|target| target.is_written)
    }

    /// Result of the re-read probe of a target; `None` without a probe.
    pub(crate) fn reread_of(&self, target: &PlannedTarget<'_>) -> Option<&Fact<RereadTimes>> {
        let is_meant = |path: &std::path::Path| path.display().to_string() == target.info.path;
        self.before.reread.iter().find(|one| is_meant(&one.target)).map(|one| &one.seen)
    }

    /// Facts about a target before the run.
    pub(crate) fn facts(&self, target: &PlannedTarget<'_>) -> Option<&TargetFacts> {
        self.before.targets.iter().find(|facts| facts.path.display().to_string() == target.info.path)
    }

    /// Whether requests are issued in the order of their addresses, or always to the same one.
    pub(crate) fn is_sequential(&self) -> bool {
        self.plan.jobs().all(|(_, job)| match &job.workload {
            Workload::Generated(generator) => {
                matches!(generator.order, Order::Sequential | Order::Interleaved { every: 1 } | Order::Fixed)
            }
            Workload::Trace(_) => false,
        })
    }

    /// Whether no job goes through the page cache.
    pub(crate) fn is_direct(&self) -> bool {
        self.plan.jobs().all(|(_, job)| !self.plan.is_buffered(job))
    }
}
