//! A run before its first request, as its processes found their machines and targets.

use iosonar_archive::{RunInfo, TargetInfo};
use iosonar_engine::{Prepared, TargetReady};
use iosonar_evidence::Environment;
use iosonar_plan::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::PathBuf;

/// What a process is going to do.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Intent {
    /// What it does to each of its targets.
    pub targets: Vec<TargetUse>,
    /// How long that takes, where it is known.
    pub span: Option<Nanos>,
}

/// What a process is going to do to a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetUse {
    /// Its number in the plan.
    pub number: u16,
    /// The file that it is, by its one name without links.
    pub file: PathBuf,
    /// Whether it is read.
    pub is_read: bool,
    /// Whether it is written.
    pub is_written: bool,
}

impl Intent {
    /// What is known of a prepared run, or of a part of one.
    pub fn of(prepared: &Prepared) -> Intent {
        let one = |target: TargetReady<'_>| {
            let file = target.path().canonicalize().unwrap_or(target.path().clone());
            let number = u16::try_from(target.number()).ok()?;
            Some(TargetUse { number, file, is_read: target.is_read(), is_written: target.is_written() })
        };
        let mut targets: Vec<TargetUse> = prepared.targets().into_iter().filter_map(one).collect();
        share_writes(targets.iter_mut().collect());
        Intent { targets, span: prepared.expected_span() }
    }
}

/// A machine with the targets that are executed there.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineBefore {
    /// Its name; none: this machine.
    pub host: Option<String>,
    /// What its first process found, with the targets of all of them.
    pub environment: Environment,
    /// What is known of each target, and what is going to be done to it.
    pub targets: Vec<(TargetInfo, TargetUse)>,
    /// The longest time that a process there is going to take, where one knows that.
    pub span: Option<Nanos>,
}

/// What a process has found, before it starts.
pub(crate) struct Found<'a> {
    pub(crate) host: Option<&'a str>,
    pub(crate) info: &'a RunInfo,
    pub(crate) environment: &'a serde_json::Value,
    pub(crate) intent: &'a Intent,
}

/// One for each machine.
pub(crate) fn machines<'a>(found: impl Iterator<Item = Found<'a>>) -> Vec<MachineBefore> {
    let mut machines: Vec<MachineBefore> = Vec::new();
    for Found { host, info, environment, intent } in found {
        let environment: Environment = serde_json::from_value(environment.clone()).unwrap_or_default();
        let at = machines.iter().position(|machine| machine.host.as_deref() == host).unwrap_or_else(|| {
            let environment = Environment { targets: Vec::new(), ..environment.clone() };
            let host = host.map(String::from);
            machines.push(MachineBefore { host, environment, targets: Vec::new(), span: None });
            machines.len() - 1
        });
        let machine = &mut machines[at];
        machine.environment.targets.extend(environment.targets);
        let known = |own: &TargetUse| Some((info.targets.get(usize::from(own.number))?.clone(), own.clone()));
        machine.targets.extend(intent.targets.iter().filter_map(known));
        machine.span = machine.span.max(intent.span);
    }
    for machine in &mut machines {
        share_writes(machine.targets.iter_mut().map(|(_, own)| own).collect());
    }
    machines
}

/// Several targets may be one file: what one of them writes, the others find written.
fn share_writes(targets: Vec<&mut TargetUse>) {
    let written: HashSet<PathBuf> =
        targets.iter().filter(|own| own.is_written).map(|own| own.file.clone()).collect();
    targets.into_iter().for_each(|own| own.is_written = written.contains(&own.file));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info() -> RunInfo {
        let target = |path: &str| TargetInfo { path: path.into(), ..TargetInfo::default() };
        RunInfo::new("tool", "", vec![target("a"), target("b"), target("c")])
    }

    fn intent(number: u16, file: &str, is_written: bool, seconds: Option<u64>) -> Intent {
        let own = TargetUse { number, file: file.into(), is_read: !is_written, is_written };
        Intent { targets: vec![own], span: seconds.map(Nanos::from_secs) }
    }

    #[test]
    fn targets_are_told_by_machine_and_a_file_that_one_process_writes_is_written_for_all() {
        let (info, nothing) = (info(), serde_json::json!({ "targets": [], "memory": { "dirty": 7 } }));
        let intents = [
            (None, intent(0, "/x", true, None)),
            (Some("beta"), intent(1, "/x", false, Some(90))),
            (None, intent(2, "/x", false, Some(30))),
        ];
        let found = intents.iter().map(|(host, intent)| Found {
            host: *host,
            info: &info,
            environment: &nothing,
            intent,
        });
        let machines = machines(found);
        assert_eq!(machines.len(), 2);
        let told = |machine: &MachineBefore| -> Vec<(String, bool)> {
            machine.targets.iter().map(|(info, own)| (info.path.clone(), own.is_written)).collect()
        };
        assert_eq!(told(&machines[0]), [("a".to_string(), true), ("c".to_string(), true)]);
        assert_eq!(told(&machines[1]), [("b".to_string(), false)]);
        assert_eq!(
            (machines[0].span, machines[1].span),
            (Some(Nanos::from_secs(30)), Some(Nanos::from_secs(90)))
        );
        assert_eq!(machines[1].host.as_deref(), Some("beta"));
    }
}
