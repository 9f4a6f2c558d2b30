//! Whether targets are probed for caches before a run.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// When random blocks that a run reads are read twice before it, to find caches below Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Probe {
    /// Before long runs with direct I/O that claim a device or a replay.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

impl Probe {
    const ALL: [Probe; 3] = [Probe::Auto, Probe::On, Probe::Off];

    /// The word in plans and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Probe::Auto => "auto",
            Probe::On => "on",
            Probe::Off => "off",
        }
    }
}

/// A word that names no probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownProbe(String);

impl fmt::Display for UnknownProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: it is auto, on or off", self.0)
    }
}

impl std::error::Error for UnknownProbe {}

impl FromStr for Probe {
    type Err = UnknownProbe;

    fn from_str(word: &str) -> Result<Probe, UnknownProbe> {
        Probe::ALL.into_iter().find(|probe| probe.name() == word).ok_or_else(|| UnknownProbe(word.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::sample;
    use crate::validate_verification::{validate_probe, validate_trace_path, validate_watch_order};
    use crate::{Access, Claim, Engine, Executor, Plan};

    fn probing(probe: Probe) -> Plan {
        Plan { probe, engine: Engine::Sync, claim: Some(Claim::Device), ..sample() }
    }

    #[test]
    fn probes_long_direct_device_runs_or_on_request() {
        assert!(probing(Probe::Auto).is_probed(true) && !probing(Probe::Auto).is_probed(false));
        assert!(probing(Probe::On).is_probed(false) && !probing(Probe::Off).is_probed(true));
        let cached = Plan { claim: Some(Claim::Cache), ..probing(Probe::Auto) };
        let buffered =
            Plan { access: Access { buffered: true, ..Access::default() }, ..probing(Probe::Auto) };
        let simulated = Plan { engine: Engine::Null, ..probing(Probe::Auto) };
        assert!([cached, buffered, simulated].iter().all(|plan| !plan.is_probed(true)));
    }

    #[test]
    fn rejects_impossible_probes() {
        assert_eq!(validate_probe(&probing(Probe::On)), Ok(()));
        let simulated = Plan { engine: Engine::Null, ..probing(Probe::On) };
        let text = validate_probe(&simulated).unwrap_err().to_string();
        assert!(text.contains("probe = \"on\"") && text.contains("nothing to read"), "{text}");
        let mut apart = probing(Probe::On);
        apart.targets[0].executor = Executor::Process;
        assert!(validate_probe(&apart).is_err() && !apart.is_probed(true));
        apart.probe = Probe::Auto;
        assert!(validate_probe(&apart).is_ok() && !apart.is_probed(true));
    }

    #[test]
    fn rejects_watch_order_without_real_single_process() {
        let mut plan = Plan { watch_order: true, ..probing(Probe::Off) };
        assert_eq!(validate_watch_order(&plan), Ok(()));
        plan.targets[0].executor = Executor::Process;
        assert!(validate_watch_order(&plan).unwrap_err().to_string().contains("several processes"));
        let simulated = Plan { watch_order: true, ..sample() };
        assert!(validate_watch_order(&simulated).unwrap_err().to_string().contains("watch_order"));
    }

    #[test]
    fn rejects_path_of_requests_that_no_kernel_event_shows() {
        let refused = |change: fn(&mut Plan)| {
            let mut plan = Plan { trace_path: crate::TracePath::ALL, ..probing(Probe::Off) };
            assert_eq!(validate_trace_path(&plan), Ok(()));
            change(&mut plan);
            validate_trace_path(&plan).unwrap_err().to_string()
        };
        assert!(refused(|plan| plan.targets[0].executor = Executor::Process).contains("several processes"));
        assert!(refused(|plan| plan.access.buffered = true).contains("page cache"));
        assert!(refused(|plan| plan.watch_order = true).contains("watch_order"));
        assert!(refused(|plan| plan.engine = sample().engine).contains("without I/O"));
    }

    #[test]
    fn names_match_plan_values() {
        for probe in Probe::ALL {
            assert_eq!(probe.name().parse(), Ok(probe));
            assert_eq!(toml::Value::try_from(probe).unwrap().as_str(), Some(probe.name()));
        }
        assert_eq!("yes".parse::<Probe>().unwrap_err().to_string(), "`yes`: it is auto, on or off");
    }
}
