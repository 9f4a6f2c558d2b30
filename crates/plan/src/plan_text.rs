//! A plan as TOML writes it. With one phase, each target carries its workload, and no phase has to be named; with several,
//! each phase lists its jobs.

use crate::strict::is_default;
use crate::{
    Access, ByteSize, Cell, Claim, Coordination, Engine, Executor, Faults, FileLifecycle, Fill, HostRules,
    Injection, InvalidPlan, Job, JobOptions, Memory, Nanos, Overlap, Pacing, Phase, Plan, Probe, RunId,
    Target, TracePath, Verification, Workload,
};
use iosonar_text::shown;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The text's fields, in the order in which they are written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanText {
    version: u32,
    run_id: RunId,
    seed: u64,
    #[serde(default)]
    start_grace: Nanos,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<Claim>,
    #[serde(default, skip_serializing_if = "is_default")]
    anyway: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    watch_order: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    trace_path: TracePath,
    #[serde(default, skip_serializing_if = "is_default")]
    probe: Probe,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    passes: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    depth: Option<u32>,
    #[serde(default)]
    destroy: bool,
    #[serde(default)]
    engine: Engine,
    #[serde(default)]
    access: Access,
    #[serde(default)]
    fill: Fill,
    #[serde(default)]
    overlap: Overlap,
    #[serde(default)]
    pacing: Pacing,
    #[serde(default)]
    memory: Memory,
    #[serde(default)]
    faults: Faults,
    #[serde(default, skip_serializing_if = "is_default")]
    verify: Verification,
    #[serde(default = "one_second", skip_serializing_if = "is_one_second")]
    sample_every: Nanos,
    #[serde(default, skip_serializing_if = "is_default")]
    hosts: HostRules,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    coordination: Option<Coordination>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    inject: Vec<Injection>,
    #[serde(rename = "target", default)]
    targets: Vec<TargetText>,
    #[serde(rename = "phase", default, skip_serializing_if = "Vec::is_empty")]
    phases: Vec<PhaseText>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TargetText {
    path: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<ByteSize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    depth: Option<u32>,
    #[serde(default, skip_serializing_if = "is_default")]
    executor: Executor,
    #[serde(default, skip_serializing_if = "is_default")]
    file: FileLifecycle,
    #[serde(default, skip_serializing_if = "is_default")]
    options: JobOptions,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workload: Option<Workload>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PhaseText {
    name: String,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    passes: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cell: Option<Cell>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remount: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "is_default")]
    coordination: Coordination,
    #[serde(rename = "job", default)]
    jobs: Vec<JobText>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobText {
    target: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    depth: Option<u32>,
    #[serde(default, skip_serializing_if = "is_default")]
    options: JobOptions,
    workload: Workload,
}

fn one() -> u32 {
    1
}

fn one_second() -> Nanos {
    Nanos::SECOND
}

fn is_one_second(time: &Nanos) -> bool {
    *time == Nanos::SECOND
}

fn is_one(n: &u32) -> bool {
    *n == 1
}

impl TryFrom<PlanText> for Plan {
    type Error = InvalidPlan;

    fn try_from(text: PlanText) -> Result<Plan, InvalidPlan> {
        let PlanText {
            version, run_id, seed, start_grace, passes, depth, destroy, engine, access, fill, ..
        } = text;
        let PlanText { overlap, pacing, memory, faults, inject, verify, sample_every, hosts, .. } = text;
        let PlanText { coordination, targets, phases, claim, anyway, watch_order, trace_path, probe, .. } =
            text;
        let depth = depth.unwrap_or(1);
        let (targets, workloads): (Vec<Target>, Vec<_>) = targets.into_iter().map(TargetText::split).unzip();
        let phases = match phases.is_empty() {
            true => {
                let jobs = targets.iter().zip(workloads).enumerate();
                let jobs = jobs.map(|(number, (target, own))| own.job(number, target, depth));
                let jobs = jobs.collect::<Result<_, _>>()?;
                let (passes, coordination) = (passes.unwrap_or(1), coordination.unwrap_or_default());
                vec![Phase { passes, coordination, ..Phase::of(jobs) }]
            }
            false => {
                has_none("passes", passes)?;
                has_none("coordination", coordination)?;
                targets.iter().zip(workloads).try_for_each(|(target, own)| own.must_be_bare(target))?;
                phases.into_iter().map(|phase| phase.read(depth)).collect()
            }
        };
        Ok(Plan {
            version,
            run_id,
            seed,
            start_grace,
            destroy,
            engine,
            access,
            fill,
            overlap,
            pacing,
            memory,
            faults,
            verify,
            inject,
            sample_every,
            hosts,
            targets,
            phases,
            claim,
            anyway,
            watch_order,
            trace_path,
            probe,
        })
    }
}

/// Fields beside a target that holds its workload.
struct Own {
    depth: Option<u32>,
    options: JobOptions,
    workload: Option<Workload>,
}

impl TargetText {
    fn split(self) -> (Target, Own) {
        let TargetText { path, size, depth, executor, file, options, workload } = self;
        (Target { path, size, file, executor }, Own { depth, options, workload })
    }
}

impl Own {
    fn job(self, number: usize, target: &Target, depth: u32) -> Result<Job, InvalidPlan> {
        let Own { depth: own, options, workload } = self;
        let workload = workload.ok_or_else(|| {
            InvalidPlan::of("workload", "it is missing")
                .remedy("give one, or list jobs in [[phase]]")
                .within(&format!("target {}", shown(&target.path)))
        })?;
        // More targets than a record can number are refused with their count.
        let target = u16::try_from(number).unwrap_or(u16::MAX);
        Ok(Job { target, depth: own.unwrap_or(depth), options, workload })
    }

    /// Refuses workload, depth and options: in a plan that names its phases, they belong to a job.
    fn must_be_bare(self, target: &Target) -> Result<(), InvalidPlan> {
        let options = Some(self.options).filter(|options| !is_default(options));
        let bare = has_none("workload", self.workload).and_then(|()| has_none("depth", self.depth));
        let bare = bare.and_then(|()| has_none("options", options));
        bare.map_err(|why| why.within(&format!("target {}", shown(&target.path))))
    }
}

fn has_none<T>(field: &str, value: Option<T>) -> Result<(), InvalidPlan> {
    match value {
        None => Ok(()),
        Some(_) => {
            let rule = "in a plan with [[phase]] this belongs to a phase or to its jobs";
            Err(InvalidPlan::of(field, rule).remedy("move it there"))
        }
    }
}

impl PhaseText {
    fn read(self, depth: u32) -> Phase {
        let PhaseText { name, passes, cell, remount, coordination, jobs } = self;
        let job = |JobText { target, depth: own, options, workload }| {
            let depth = own.unwrap_or(depth);
            Job { target, depth, options, workload }
        };
        Phase { name, passes, cell, remount, coordination, jobs: jobs.into_iter().map(job).collect() }
    }

    fn of(phase: Phase) -> PhaseText {
        let Phase { name, passes, cell, remount, coordination, jobs } = phase;
        let job = |Job { target, depth, options, workload }| {
            let depth = Some(depth);
            JobText { target, depth, options, workload }
        };
        PhaseText { name, passes, cell, remount, coordination, jobs: jobs.into_iter().map(job).collect() }
    }
}

impl From<Plan> for PlanText {
    fn from(plan: Plan) -> PlanText {
        let is_short = plan.is_short();
        let Plan { version, run_id, seed, start_grace, destroy, engine, access, fill, overlap, .. } = plan;
        let Plan { pacing, memory, faults, verify, inject, sample_every, hosts, targets, .. } = plan;
        let Plan { mut phases, claim, anyway, watch_order, trace_path, probe, .. } = plan;
        let short = if is_short { phases.pop() } else { None };
        let depth = short.as_ref().and_then(|phase| phase.jobs.first()).map(|job| job.depth);
        let passes = short.as_ref().map(|phase| phase.passes);
        let coordination = short
            .as_ref()
            .map(|phase| phase.coordination.clone())
            .filter(|coordination| !is_default(coordination));
        let mut jobs = short.map(|phase| phase.jobs).unwrap_or_default().into_iter();
        let target = |Target { path, size, file, executor }| {
            let job = jobs.next();
            let own = job.as_ref().map(|job| job.depth).filter(|own| Some(*own) != depth);
            let (options, workload) = job.map(|job| (job.options, job.workload)).unzip();
            let options = options.unwrap_or_default();
            TargetText { path, size, depth: own, executor, file, options, workload }
        };
        PlanText {
            version,
            run_id,
            seed,
            start_grace,
            claim,
            anyway,
            watch_order,
            trace_path,
            probe,
            passes,
            depth,
            destroy,
            engine,
            access,
            fill,
            overlap,
            pacing,
            memory,
            faults,
            verify,
            sample_every,
            hosts,
            coordination,
            inject,
            targets: targets.into_iter().map(target).collect(),
            phases: phases.into_iter().map(PhaseText::of).collect(),
        }
    }
}
