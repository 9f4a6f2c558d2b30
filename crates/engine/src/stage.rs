//! A phase that is executed, and the requests of its issuing loops.

use crate::job_loop::JobLoop;
use crate::prepare::{FittedJob, JobReady, Prepared, open_requests};
use iosonar_load::{Flushed, Generated, Jittered, Known, LoadError, Setting, Source};
use iosonar_plan::Phase;

/// The requests of a pass.
pub(crate) enum Requests {
    /// Generated.
    Generated(Box<dyn Source>),
    /// Read from a load that this opens.
    Load(Box<dyn FnOnce() -> Result<Box<dyn Source>, LoadError> + Send>),
}

/// A phase of a plan that is executed.
#[derive(Clone, Copy)]
pub(crate) struct Stage<'a> {
    pub(crate) prepared: &'a Prepared,
    /// Its jobs, fitted to the files as they are when it starts.
    pub(crate) jobs: &'a [JobReady],
    /// Number of the phase in the plan.
    pub(crate) number: u16,
}

impl<'a> Stage<'a> {
    pub(crate) fn phase(self) -> &'a Phase {
        &self.prepared.plan.phases[usize::from(self.number)]
    }

    pub(crate) fn job(self, part: JobLoop) -> &'a FittedJob {
        &self.jobs[part.job].fitted
    }

    /// Whether no phase follows.
    pub(crate) fn is_last(self) -> bool {
        usize::from(self.number) + 1 == self.prepared.plan.phases.len()
    }

    /// The requests of one issuing loop in one pass: generated ones are ready at once, a load has yet to be opened.
    pub(crate) fn requests(self, part: JobLoop, pass: u32) -> Requests {
        let ready = &self.jobs[part.job];
        match &ready.fitted.workload {
            Known::Trace(load, _) => {
                let (load, notices, told) = (load.clone(), self.prepared.notices.clone(), ready.told.clone());
                Requests::Load(Box::new(move || open_requests(&load, notices, told)))
            }
            Known::Generated { generator, list } => {
                let setting = Setting {
                    size: ready.fitted.size,
                    grows: ready.fitted.grows,
                    seed: self.prepared.plan.seed,
                    target: ready.fitted.job.target.into(),
                    targets: self.prepared.targets.len() as u64,
                    phase: self.number,
                    pass,
                };
                let generated = Generated::new(generator, &setting, list.clone());
                let generated = generated.expect("what does not fit was refused");
                let share = generated.part(part.number, part.of);
                Requests::Generated(match (generator.flush, generator.extra_reads) {
                    (Some(rule), _) => Box::new(Flushed::new(share, rule, part.number, part.of)),
                    (None, Some(extra)) => Box::new(Jittered::new(share, extra)),
                    (None, None) => Box::new(share),
                })
            }
        }
    }
}
