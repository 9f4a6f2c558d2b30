//! A run before its first request: machines and targets as found by its processes.

use iosonar_archive::{RunInfo, TOOL};
use iosonar_evidence::{Environment, WrittenBack};
use iosonar_host::{Root, environment};
use iosonar_runner::{Intent, MachineBefore, TargetUse, share_writes};

/// Facts found by a process before it starts.
pub(crate) struct ProcessFacts<'a> {
    pub(crate) host: Option<&'a str>,
    pub(crate) info: &'a RunInfo,
    pub(crate) environment: &'a serde_json::Value,
    pub(crate) intent: &'a Intent,
}

/// Groups them by machine.
pub(crate) fn machines<'a>(found: impl Iterator<Item = ProcessFacts<'a>>) -> Vec<MachineBefore> {
    let mut machines: Vec<MachineBefore> = Vec::new();
    for ProcessFacts { host, info, environment, intent } in found {
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
        share_writes(machine.targets.iter_mut().map(|(_, own)| own));
    }
    machines
}

/// Environment of this machine, with the facts that each process found about its targets; other machines, by their names, are under `hosts`.
pub(crate) fn environment_of_all<'a>(
    found: impl Iterator<Item = (Option<&'a str>, &'a serde_json::Value)>,
    written_back: Option<WrittenBack>,
) -> serde_json::Value {
    let facts = environment::capture(&[], &Root::default()).by(TOOL);
    let mut all = serde_json::to_value(Environment { written_back, ..facts }).expect("facts are JSON");
    let (mut targets, mut hosts) = (Vec::new(), serde_json::Map::new());
    for (host, own) in found {
        targets.extend(own["targets"].as_array().cloned().unwrap_or_default());
        if let Some(host) = host {
            add_host(&mut hosts, format!("host {host}"), own);
        }
    }
    all["targets"] = targets.into();
    if !hosts.is_empty() {
        all["hosts"] = hosts.into();
    }
    all
}

/// Adds the facts that a process found about its machine and its targets; several processes of one machine have one entry.
pub(crate) fn add_host(
    hosts: &mut serde_json::Map<String, serde_json::Value>,
    name: String,
    found: &serde_json::Value,
) {
    match hosts.get_mut(&name).and_then(|known| known["targets"].as_array_mut()) {
        Some(targets) => targets.extend(found["targets"].as_array().cloned().unwrap_or_default()),
        None => drop(hosts.insert(name, found.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_archive::TargetInfo;
    use iosonar_plan::Nanos;

    fn info() -> RunInfo {
        let target = |path: &str| TargetInfo { path: path.into(), ..TargetInfo::default() };
        RunInfo::new("tool", "", vec![target("a"), target("b"), target("c")])
    }

    fn intent(number: u16, file: &str, is_written: bool, seconds: Option<u64>) -> Intent {
        let own = TargetUse { number, file: file.into(), is_read: !is_written, is_written };
        Intent { targets: vec![own], span: seconds.map(Nanos::from_secs) }
    }

    #[test]
    fn groups_targets_by_machine_and_merges_write_intents() {
        let (info, nothing) = (info(), serde_json::json!({ "targets": [], "memory": { "dirty": 7 } }));
        let intents = [
            (None, intent(0, "/x", true, None)),
            (Some("beta"), intent(1, "/x", false, Some(90))),
            (None, intent(2, "/x", false, Some(30))),
        ];
        let found = intents.iter().map(|(host, intent)| ProcessFacts {
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
