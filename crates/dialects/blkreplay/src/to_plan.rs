//! Converts settings to a plan.

use crate::settings::Settings;
use iosonar_plan::{
    Access, Engine, Fill, IssuePolicy, Job, Nanos, Overlap, Phase, Plan, RunId, SimModel, Target,
    TraceReplay, Verification, Window, Workload,
};

impl Settings {
    /// The plan of the command line. `run_id` is below 2^63.
    pub fn plan(&self, run_id: RunId) -> Plan {
        let source = TraceReplay {
            window: self.window(),
            speed: self.speedup,
            backward: self.backward,
            skip_bad: self.skip_bad,
            // As in blkreplay, whose reader skips unknown lines.
            flush: IssuePolicy::Drop,
            discard: IssuePolicy::Drop,
            ..TraceReplay::of("-")
        };
        let job = Job::new(0, self.depth(), Workload::Trace(source));
        Plan {
            start_grace: self.start_grace,
            destroy: self.destroy,
            // blkreplay starts in any case; its output states what the figures are worth.
            anyway: true,
            engine: self.engine(),
            access: Access { buffered: self.buffered, sync: self.sync.into() },
            fill: Fill { random_percent: self.fill_random },
            verify: Verification { modes: self.verify, ..Verification::default() },
            overlap: Overlap { policy: self.overlap, strong: self.strong, ..Overlap::default() },
            ..Plan::new(run_id, vec![Target::new(&self.device)], vec![Phase::of(vec![job])])
        }
    }

    /// The window in the load's time. A duration overrides an end, in any order.
    pub(crate) fn window(&self) -> Window {
        let by_duration = self.duration.map(|duration| self.start.saturating_add(duration));
        Window { start: self.start, end: by_duration.or(self.end) }
    }

    /// Maximum number of requests in flight. Nothing is queued ahead here, so a bottleneck below the number of threads
    /// is simply the lower of two limits.
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

/// Maximum time of an option, 73 years: the sum of two fits into a plan.
pub(crate) const MAX_TIME: Nanos = Nanos(1 << 61);
