//! Settings as a plan.

use crate::settings::Settings;
use iosonar_plan::{
    Access, Engine, Fill, IssuePolicy, Job, Nanos, Overlap, Phase, Plan, RunId, SimModel, Target,
    TraceReplay, Verification, Window, Workload,
};

impl Settings {
    /// The plan that does what the command line asks for. `run_id` lies below 2^63.
    pub fn plan(&self, run_id: RunId) -> Plan {
        let source = TraceReplay {
            window: self.window(),
            speed: self.speedup,
            backward: self.backward,
            skip_bad: self.skip_bad,
            // As blkreplay, whose reader skips the lines of what its form does not know.
            flush: IssuePolicy::Drop,
            discard: IssuePolicy::Drop,
            ..TraceReplay::of("-")
        };
        let job = Job::new(0, self.depth(), Workload::Trace(source));
        Plan {
            start_grace: self.start_grace,
            destroy: self.destroy,
            // blkreplay starts, and its output says what the figures are worth.
            anyway: true,
            engine: self.engine(),
            access: Access { buffered: self.buffered, sync: self.sync.into() },
            fill: Fill { random_percent: self.fill_random },
            verify: Verification { modes: self.verify, ..Verification::default() },
            overlap: Overlap { policy: self.overlap, strong: self.strong, ..Overlap::default() },
            ..Plan::new(run_id, vec![Target::new(&self.device)], vec![Phase::of(vec![job])])
        }
    }

    /// The window of the load's own time. A duration goes before an end, whichever was typed last.
    pub(crate) fn window(&self) -> Window {
        let by_duration = self.duration.map(|duration| self.start.saturating_add(duration));
        Window { start: self.start, end: by_duration.or(self.end) }
    }

    /// The most requests in flight. Nothing is queued ahead here, so that a bottleneck below the number of threads is
    /// the lower one of two limits.
    pub(crate) fn depth(&self) -> u32 {
        self.bottleneck.map_or(self.threads, |most| most.min(self.threads))
    }

    fn engine(&self) -> Engine {
        match self.simulate_io {
            Some(service) => Engine::Sim(SimModel { service, ..SimModel::default() }),
            None if self.dry_run => Engine::Null,
            None => Engine::default(),
        }
    }
}

/// The longest time that an option takes, 73 years: the sum of two fits into a plan.
pub(crate) const MAX_TIME: Nanos = Nanos(1 << 61);
