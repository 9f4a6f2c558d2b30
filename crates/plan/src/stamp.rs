//! Why figures are no storage result: derived from the plan alone.

use crate::{Engine, Job, Plan};
use serde::{Deserialize, Serialize};

/// Why figures are no storage result. Every form of a result carries it; pictures inside their pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stamp {
    /// Faults were injected on purpose.
    #[serde(rename = "FAULTS INJECTED -- NOT A STORAGE RESULT")]
    FaultsInjected,
    /// The null engine: no I/O at all.
    #[serde(rename = "DRY RUN -- NOT A STORAGE RESULT")]
    DryRun,
    /// The simulated device.
    #[serde(rename = "SIMULATED -- NOT A STORAGE RESULT")]
    Simulated,
    /// Requests went through the page cache, without `O_DIRECT`.
    #[serde(rename = "PAGE CACHE -- NOT A STORAGE RESULT")]
    PageCache,
}

impl Stamp {
    /// The words.
    pub fn text(self) -> &'static str {
        match self {
            Stamp::FaultsInjected => "FAULTS INJECTED -- NOT A STORAGE RESULT",
            Stamp::DryRun => "DRY RUN -- NOT A STORAGE RESULT",
            Stamp::Simulated => "SIMULATED -- NOT A STORAGE RESULT",
            Stamp::PageCache => "PAGE CACHE -- NOT A STORAGE RESULT",
        }
    }
}

impl Plan {
    /// Whether requests of a job go through the page cache: its files are opened so, or its engine always does.
    pub fn is_buffered(&self, job: &Job) -> bool {
        job.access(self.access).buffered || job.engine(self.engine).is_buffered()
    }

    /// The strongest reason why this plan's figures are no storage result; `None` if they are one.
    pub fn stamp(&self) -> Option<Stamp> {
        self.stamps().next()
    }

    /// All stamps, strongest first; injected faults do not hide the one of the engine.
    pub fn stamps(&self) -> impl Iterator<Item = Stamp> {
        let faults = (!self.inject.is_empty()).then_some(Stamp::FaultsInjected);
        faults.into_iter().chain(self.stamp_of_engine())
    }

    fn stamp_of_engine(&self) -> Option<Stamp> {
        match self.engine {
            Engine::Null => Some(Stamp::DryRun),
            Engine::Sim(_) => Some(Stamp::Simulated),
            _ => self.jobs().any(|(_, job)| self.is_buffered(job)).then_some(Stamp::PageCache),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strongest_reason_wins() {
        let text = "version = 2\nrun_id = 1\nseed = 1\ndepth = 1\n[[target]]\npath = 'x'\n\
                    workload = { kind = 'trace', file = 'l' }";
        let mut plan = Plan::from_toml(text).unwrap();
        assert_eq!(plan.stamp(), None);
        plan.access.buffered = true;
        assert_eq!(plan.stamp(), Some(Stamp::PageCache));
        plan.engine = Engine::Sim(Default::default());
        assert_eq!(plan.stamp(), Some(Stamp::Simulated));
        plan.engine = Engine::Null;
        assert_eq!(plan.stamp(), Some(Stamp::DryRun));
        (plan.engine, plan.inject) = (Engine::Sim(Default::default()), vec!["lost:every=9".parse().unwrap()]);
        assert_eq!(plan.stamps().collect::<Vec<_>>(), [Stamp::FaultsInjected, Stamp::Simulated]);
        assert_eq!(plan.stamp(), Some(Stamp::FaultsInjected));
    }

    #[test]
    fn stored_words_match_the_text() {
        for stamp in [Stamp::FaultsInjected, Stamp::DryRun, Stamp::Simulated, Stamp::PageCache] {
            assert_eq!(toml::Value::try_from(stamp).unwrap().as_str(), Some(stamp.text()));
        }
    }
}
