//! The issuing loops of a phase, as its jobs ask for them.

use iosonar_plan::{Job, Phase};

/// One issuing loop of a job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobLoop {
    /// Number of its job in the phase, and of the target in the plan.
    pub(crate) job: usize,
    pub(crate) target: u16,
    /// Number of the loop among those `of` the job.
    pub(crate) number: u32,
    pub(crate) of: u32,
}

/// Every issuing loop of a phase, those of a job together.
pub(crate) fn parts(phase: &Phase) -> Vec<JobLoop> {
    let loops = |(number_of_job, job): (usize, &Job)| {
        let (target, of) = (job.target, job.workload.jobs());
        (0..of).map(move |number| JobLoop { job: number_of_job, target, number, of })
    };
    phase.jobs.iter().enumerate().flat_map(loops).collect()
}
