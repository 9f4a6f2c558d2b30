//! The process that executes the jobs of a target.

use crate::strict::is_default;
use serde::{Deserialize, Serialize};

/// The process or threads that execute the jobs of a target.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Executor {
    /// Threads of one process, which executes all targets with this value.
    #[default]
    Thread,
    /// A separate process on this machine.
    Process,
    /// A process on another machine, started through the system's remote shell. Targets with equal hosts share one.
    Host(Host),
    /// The process with this number in a run of `iosonar-mpi`.
    Rank(u16),
}

/// Location of a process on another machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Host argument of the remote shell: `name`, or `user@name`.
    pub name: String,
    /// Its working directory, where the target's path starts. Empty: that in which the remote shell starts.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dir: String,
    /// The program `iosonar` on that machine. Empty: this program is sent there.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub program: String,
    /// Whether `sudo -n` starts the program.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sudo: bool,
    /// Number of the process on that machine: targets with another number have another process.
    #[serde(default, skip_serializing_if = "is_default")]
    pub process: u16,
}

impl Host {
    /// A host to which this program is sent.
    pub fn new(name: impl Into<String>) -> Host {
        Host { name: name.into(), ..Host::default() }
    }

    /// Whether paths of both are paths in one directory of one machine, as far as the names show.
    pub(crate) fn is_same_place(&self, other: &Host) -> bool {
        self.name == other.name && self.dir == other.dir
    }
}

impl Executor {
    /// The host, if it is one.
    pub fn host(&self) -> Option<&Host> {
        match self {
            Executor::Host(host) => Some(host),
            Executor::Thread | Executor::Process | Executor::Rank(_) => None,
        }
    }

    /// The name of a host or a rank in results; `None` for a process that this one starts on its machine.
    pub fn place(&self) -> Option<String> {
        match self {
            Executor::Host(host) => Some(host.name.clone()),
            Executor::Rank(number) => Some(format!("rank{number}")),
            Executor::Thread | Executor::Process => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::sample;
    use crate::*;

    fn plan() -> Plan {
        let mut plan = sample();
        plan.engine = Engine::Threads;
        plan.targets[1].executor = Executor::Process;
        plan
    }

    #[test]
    fn executors_round_trip() {
        let mut plan = plan();
        let host = Host { dir: "/mnt".into(), program: "iosonar".into(), ..Host::new("root@b") };
        plan.targets[0].executor = Executor::Host(host);
        plan.hosts = HostRules {
            lost: LostHost::Continue,
            max_clock_error: Some(Nanos(1_000_000)),
            clock: HostClocks::System,
            ..HostRules::default()
        };
        plan.validate().unwrap();
        let text = plan.to_toml();
        assert!(text.contains("executor = \"process\"") && text.contains("root@b"), "{text}");
        assert!(text.contains("lost = \"continue\"") && !text.contains("sudo"), "{text}");
        assert_eq!(Plan::from_toml(&text).unwrap(), plan, "{text}");
        let alone = sample().to_toml();
        assert!(!alone.contains("executor") && !alone.contains("[hosts]"), "{alone}");
    }

    #[test]
    fn plan_part_keeps_target_numbers() {
        let plan = plan();
        assert_eq!(plan.parts(), [[0], [1]]);
        assert!(plan.has_processes() && !sample().has_processes());
        assert_eq!(sample().parts(), [[0, 1]]);
        let part = plan.part(&[1]);
        assert_eq!((part.targets.len(), part.phases.len(), part.phases[0].jobs.len()), (2, 1, 1));
        assert_eq!(part.phases[0].jobs[0], plan.phases[0].jobs[1]);
    }

    #[test]
    fn targets_of_equal_hosts_share_a_process() {
        let host = |name: &str, process| Executor::Host(Host { process, ..Host::new(name) });
        let mut plan = plan();
        plan.targets = ["a", "b", "c", "d", "e", "f"].map(Target::new).into();
        let executors =
            [host("x", 0), Executor::Process, host("y", 0), host("x", 0), Executor::Thread, host("x", 1)];
        plan.targets.iter_mut().zip(executors).for_each(|(target, executor)| target.executor = executor);
        assert_eq!(plan.parts(), [vec![4], vec![0, 3], vec![1], vec![2], vec![5]]);
    }

    #[test]
    fn records_stay_on_hosts_if_every_target_has_one() {
        let mut plan = plan();
        plan.targets[0].executor = Executor::Host(Host::new("b"));
        plan.hosts.collect = Collect::Summary;
        let why = plan.validate().unwrap_err().to_string();
        assert!(why.contains("hosts.collect: records of targets on this machine"), "{why}");
        plan.targets[1].executor = Executor::Host(Host::new("c"));
        plan.validate().unwrap();
        assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan);
    }

    #[test]
    fn ranks_execute_all_of_a_plan_and_may_share_a_file() {
        let mut plan = plan();
        plan.targets = ["a", "a"].map(Target::new).into();
        plan.targets[0].executor = Executor::Rank(0);
        let why = plan.validate().unwrap_err().to_string();
        assert!(why.contains("executor: some targets have a rank, and some have none"), "{why}");
        plan.targets[1].executor = Executor::Rank(1);
        plan.hosts.collect = Collect::Summary;
        plan.validate().unwrap();
        assert!(plan.has_hosts() && plan.has_ranks() && plan.to_toml().contains("rank = 1"));
        assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan);
    }

    #[test]
    fn rules_of_hosts_need_hosts() {
        let mut plan = plan();
        plan.hosts.lost = LostHost::Continue;
        assert!(plan.validate().unwrap_err().to_string().starts_with("hosts: no target has a host"));
    }

    #[test]
    fn rejects_options_unsupported_across_processes() {
        type Spoil = fn(&mut Plan);
        let cases: [(&str, Spoil); 9] = [
            ("executor", |p| p.engine = Engine::Sim(SimModel::default())),
            ("passes", |p| p.phases[0].passes = 2),
            ("meet_every", |p| p.phases[0].coordination.meet_every = Some(3)),
            ("in_turn", |p| {
                let phase = &mut p.phases[0];
                phase.coordination.in_turn = true;
                for job in &mut phase.jobs {
                    job.depth = 1;
                    match &mut job.workload {
                        Workload::Trace(trace) => trace.pace = LoadPace::Asap,
                        Workload::Generated(generator) => generator.pace = Pace::Closed,
                    }
                }
            }),
            ("runtime", |p| p.phases[0].coordination.runtime = Some(Nanos::SECOND)),
            ("before", |p| p.phases[0].jobs[0].options.before = vec![FileStep::Open]),
            ("share a file", |p| {
                p.targets[0] = p.targets[1].clone();
            }),
            ("standard input", |p| {
                p.phases[0].jobs[0].workload = Workload::Trace(TraceReplay::of("-"));
            }),
            ("host.name", |p| {
                p.targets[0].executor = Executor::Host(Host::new("-oProxy"));
            }),
        ];
        for (word, spoil) in cases {
            let mut plan = plan();
            spoil(&mut plan);
            let error = plan.validate().expect_err(word).to_string();
            assert!(error.contains(word), "{word}: {error}");
        }
    }
}
