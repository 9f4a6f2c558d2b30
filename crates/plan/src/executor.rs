//! The process that executes the jobs of a target.

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
    /// A separate process on another machine, started through the system's remote shell.
    Host(Host),
}

/// Location of a process on another machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Host argument of the remote shell: `name`, or `user@name`.
    pub name: String,
    /// Its working directory: the target's path starts there.
    pub dir: String,
    /// The program `iosonar` on that machine.
    pub program: String,
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
        let host = Host { name: "root@b".into(), dir: "/mnt".into(), program: "iosonar".into() };
        plan.targets[0].executor = Executor::Host(host);
        plan.validate().unwrap();
        let text = plan.to_toml();
        assert!(text.contains("executor = \"process\"") && text.contains("root@b"), "{text}");
        assert_eq!(Plan::from_toml(&text).unwrap(), plan, "{text}");
        assert!(!sample().to_toml().contains("executor"));
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
    fn rejects_options_unsupported_across_processes() {
        type Spoil = fn(&mut Plan);
        let cases: [(&str, Spoil); 9] = [
            ("executor", |p| p.engine = Engine::Null),
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
                let host = Host { name: "-oProxy".into(), dir: "/".into(), program: "iosonar".into() };
                p.targets[0].executor = Executor::Host(host);
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
