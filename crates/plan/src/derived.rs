//! Facts that follow from a plan: its claim, the parts of its processes, what it changes and which commands it runs, whether it is probed.

use crate::{Claim, Collect, Executor, HostRules, Job, Plan, Probe, Target, Workload};
use std::collections::BTreeSet;
use std::path::Path;

impl Plan {
    /// The claim of the run: as the plan sets it, otherwise derived from its jobs. Recorded loads claim a replay; requests through
    /// the page cache claim the file system with it; anything else claims the device.
    pub fn claim(&self) -> Claim {
        let is_recorded = |job: &Job| matches!(job.workload, Workload::Trace(_));
        self.claim.unwrap_or_else(|| {
            if self.jobs().any(|(_, job)| self.is_buffered(job)) {
                Claim::Filesystem
            } else if self.jobs().any(|(_, job)| is_recorded(job)) {
                Claim::Replay
            } else {
                Claim::Device
            }
        })
    }

    /// Whether more than one process executes it.
    pub fn has_processes(&self) -> bool {
        self.targets.iter().any(|target| target.executor != Executor::Thread)
    }

    /// Paths of the targets on this machine.
    pub fn local_paths(&self) -> impl Iterator<Item = &Path> {
        let is_local = |target: &&Target| !matches!(target.executor, Executor::Host(_));
        self.targets.iter().filter(is_local).map(|target| target.path.as_path())
    }

    /// Whether hosts or ranks execute a part of it, perhaps on other machines.
    pub fn has_hosts(&self) -> bool {
        self.targets.iter().any(|target| target.executor.place().is_some())
    }

    /// Whether the processes of an MPI run execute it.
    pub fn has_ranks(&self) -> bool {
        self.targets.iter().any(|target| matches!(target.executor, Executor::Rank(_)))
    }

    /// The targets of each process that executes a part of the plan: first those of threads, if there are any.
    pub fn parts(&self) -> Vec<Vec<u16>> {
        let mut parts: Vec<(&Executor, Vec<u16>)> = Vec::new();
        for (number, target) in self.targets.iter().enumerate() {
            let executor = &target.executor;
            let is_own =
                |part: &&mut (&Executor, Vec<u16>)| part.0 == executor && *executor != Executor::Process;
            match parts.iter_mut().find(is_own) {
                Some((_, targets)) => targets.push(number as u16),
                None => parts.push((executor, vec![number as u16])),
            }
        }
        parts.sort_by_key(|(executor, _)| **executor != Executor::Thread);
        parts.into_iter().map(|(_, targets)| targets).collect()
    }

    /// Whether records stay on other machines, and the result has their counts.
    pub fn keeps_records_on_hosts(&self) -> bool {
        self.hosts.collect == Collect::Summary
    }

    /// The part of the plan on these targets. Targets and phases keep their numbers, so requests and data are those of the
    /// whole plan; a target without a job, and a phase without one, are executed elsewhere.
    #[must_use]
    pub fn part(&self, targets: &[u16]) -> Plan {
        let mut part = self.clone();
        part.phases.iter_mut().for_each(|phase| phase.jobs.retain(|job| targets.contains(&job.target)));
        part
    }

    /// The same part as a plan of one process, without the others.
    #[must_use]
    pub fn part_alone(&self, targets: &[u16]) -> Plan {
        let mut part = self.part(targets);
        part.targets.iter_mut().for_each(|target| target.executor = Executor::Thread);
        Plan { hosts: HostRules::default(), ..part }
    }

    /// The first target that is changed, as far as the plan shows: requests of recorded loads are not in the plan.
    pub fn changed_target(&self) -> Option<&Target> {
        let changes = |job: &Job| match &job.workload {
            Workload::Generated(generator) => generator.writes() || job.options.changes_file(),
            Workload::Trace(_) => job.options.changes_file(),
        };
        let changed = self.jobs().find(|(_, job)| changes(job)).map(|(_, job)| usize::from(job.target));
        let removed = self.targets.iter().position(|target| target.file.delete);
        self.targets.get(changed.or(removed)?)
    }

    /// Shell commands that filter its loads, each once.
    pub fn commands(&self) -> BTreeSet<&str> {
        let filters = self.jobs().filter_map(|(_, job)| match &job.workload {
            Workload::Trace(load) => Some(&load.filter),
            Workload::Generated(_) => None,
        });
        filters.flat_map(|filter| filter.commands()).collect()
    }

    /// Whether its reads are probed before the run; `is_long`: the run is worth some seconds more.
    pub fn is_probed(&self, is_long: bool) -> bool {
        let is_direct = || self.jobs().all(|(_, job)| !self.is_buffered(job));
        let is_of_device = || matches!(self.claim(), Claim::Device | Claim::Replay);
        let is_wanted = match self.probe {
            Probe::On => true,
            Probe::Off => false,
            Probe::Auto => is_long && is_of_device() && is_direct(),
        };
        is_wanted && self.engine.is_real() && !self.has_processes()
    }
}
