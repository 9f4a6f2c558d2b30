//! Files that a plan reads: recorded loads, seek lists and telemetry files.

use crate::{Order, Plan, Workload};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

impl Workload {
    fn input_file(&self) -> Option<&PathBuf> {
        match self {
            Workload::Trace(load) => Some(&load.file),
            Workload::Generated(generator) => match &generator.order {
                Order::List { file } | Order::Telemetry { file } => Some(file),
                _ => None,
            },
        }
    }

    fn input_file_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            Workload::Trace(load) => Some(&mut load.file),
            Workload::Generated(generator) => match &mut generator.order {
                Order::List { file } | Order::Telemetry { file } => Some(file),
                _ => None,
            },
        }
    }
}

impl Plan {
    /// The files that the jobs of some targets read, each once.
    pub fn input_files(&self, targets: &[u16]) -> BTreeSet<&Path> {
        let jobs = self.jobs().filter(|(_, job)| targets.contains(&job.target));
        jobs.filter_map(|(_, job)| job.workload.input_file().map(PathBuf::as_path)).collect()
    }

    /// The same plan with other names of these files.
    #[must_use]
    pub fn with_input_files(&self, renamed: impl Fn(&Path) -> Option<PathBuf>) -> Plan {
        let mut plan = self.clone();
        let jobs = plan.phases.iter_mut().flat_map(|phase| &mut phase.jobs);
        for file in jobs.filter_map(|job| job.workload.input_file_mut()) {
            if let Some(name) = renamed(file) {
                *file = name;
            }
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::tests::sample;
    use crate::*;
    use std::path::Path;

    #[test]
    fn lists_and_renames_input_files() {
        let mut plan = sample();
        let list = Generator::new(Order::List { file: "b.list".into() }, ByteSize(512));
        plan.phases[0].jobs[0].workload = Workload::Trace(TraceReplay::of("a.load.gz"));
        plan.phases[0].jobs[1].workload = Workload::Generated(list);
        let files = |plan: &Plan, targets: &[u16]| -> Vec<String> {
            plan.input_files(targets).into_iter().map(|file| file.display().to_string()).collect()
        };
        let targets: Vec<u16> = plan.phases[0].jobs.iter().map(|job| job.target).collect();
        assert_eq!(files(&plan, &targets), ["a.load.gz", "b.list"]);
        let renamed = plan.with_input_files(|file| (file == Path::new("b.list")).then(|| "/x".into()));
        assert_eq!(files(&renamed, &targets), ["/x", "a.load.gz"]);
        assert_eq!(files(&renamed, &targets[..1]), ["a.load.gz"]);
    }
}
