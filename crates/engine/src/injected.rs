//! Faults that the plan injects: a wrapper around each backend, and the ledger of the injected faults.

use crate::paths::one_for_each_path;
use crate::prepare::FittedJob;
use iosonar_archive::ArchiveWriter;
use iosonar_backend::{Backend, Faulty, FaultyDevice, FaultyTarget, Injector, OtherRun};
use iosonar_content::{SectorHeader, fill};
use iosonar_plan::{Access, AtEnd, Extent, Fill, Job, Phase, Plan};

/// The injections of a run.
pub(crate) struct Injected {
    injector: Injector,
    /// The targets with faults, by number.
    targets: Vec<FaultyTarget>,
}

impl Injected {
    /// `None` where the plan injects nothing. `jobs` are those of each target.
    pub(crate) fn new(plan: &Plan, jobs: &[Vec<(&Phase, &FittedJob)>]) -> Option<Injected> {
        if plan.inject.is_empty() {
            return None;
        }
        let other_run = other_run(plan.run_id, plan.fill);
        let injector = Injector::with_other_run(&plan.inject, plan.seed, Some(other_run));
        let devices = one_for_each_path(plan, |number| {
            let jobs: Vec<_> = jobs[number].iter().map(|(_, job)| *job).collect();
            let block = jobs.iter().map(|job| job.placement.block()).max().unwrap_or_default();
            FaultyDevice::with_blocks(outside(&jobs), block)
        });
        let targets = devices.iter().enumerate();
        let targets = targets.map(|(number, device)| injector.target(number as u16, device)).collect();
        Some(Injected { injector, targets })
    }

    /// Wraps a backend with the faults of its target.
    pub(crate) fn wrap(&self, target: u16, inner: Box<dyn Backend>) -> Box<dyn Backend> {
        Box::new(self.faulty(target, inner))
    }

    /// Wraps a backend of a job with the faults of its target.
    pub(crate) fn wrap_job(&self, job: &Job, access: Access, inner: Box<dyn Backend>) -> Box<dyn Backend> {
        let is_synchronous = job.access(access).sync.is_set();
        Box::new(self.faulty(job.target, inner).synchronous(is_synchronous))
    }

    fn faulty(&self, target: u16, inner: Box<dyn Backend>) -> Faulty {
        Faulty::new(inner, self.targets[usize::from(target)].clone())
    }

    /// Injects no more faults. Unreadable sectors and a crashed device stay as they are.
    pub(crate) fn disarm(&self) {
        self.targets.iter().for_each(|target| target.arm(false));
    }

    /// Keeps the ledger of injected faults; returns the reason for a failure.
    pub(crate) fn keep_ledger(&self, archive: &ArchiveWriter) -> Option<String> {
        let kept = archive.write_injected(|to| self.injector.ledger().write_lines(to));
        kept.err().map(|error| format!("the ledger of injected faults was not kept: {error}"))
    }
}

/// A backend with the faults of its target, where the plan injects any.
pub(crate) fn with_faults(
    target: u16,
    backend: Box<dyn Backend>,
    injected: Option<&Injected>,
) -> Box<dyn Backend> {
    match injected {
        Some(injected) => injected.wrap(target, backend),
        None => backend,
    }
}

/// Sectors as another run would have written them.
fn other_run(run_id: u64, filled: Fill) -> OtherRun {
    Box::new(move |sectors: &mut [u8], sector: u64| {
        let length = u16::try_from(sectors.len() / 512).unwrap_or(u16::MAX);
        let header = SectorHeader {
            run_id: !run_id >> 1,
            target: 0,
            phase: 0,
            pass: 0,
            sector,
            sequence: sector,
            due_ns: 0,
            index: 0,
            length,
        };
        fill(sectors, header, filled);
    })
}

/// The end of a target that no request covers; empty where unknown.
fn outside(jobs: &[&FittedJob]) -> Extent {
    let end = |job: &&FittedJob| {
        let generator = job.job.workload.generator()?;
        let region = generator.region?.of(job.size);
        (generator.at_end == AtEnd::Wrap).then(|| generator.offset.0 + region)
    };
    let ends: Option<Vec<u64>> = jobs.iter().map(end).collect();
    let size = jobs.iter().map(|job| job.placement.size()).min().unwrap_or(0);
    let start = ends.and_then(|ends| ends.into_iter().max()).unwrap_or(size).min(size);
    Extent { offset: start, length: size - start }
}
