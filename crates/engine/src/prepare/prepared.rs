//! A plan that can be executed: its targets are claimed, and its jobs fitted to them.

use super::claim::Claim;
use super::fit::{FittedJob, fit_phase};
use super::inputs::NoticeSink;
use super::look::Inspected;
use crate::error::PrepareError;
use crate::files::{MadeFiles, TargetFile};
use iosonar_backend::StoreRoom;
use iosonar_evidence::ExtentRuns;
use iosonar_host::guard::Permit;
use iosonar_host::{Root, TargetFacts, identify_growing};
use iosonar_load::{Facts, ParseCounters};
use iosonar_plan::{Engine, Nanos, Overlap, OverlapPolicy, Phase, PhaseEnd, Plan, SECTOR};
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A plan that can be executed, with its targets claimed.
pub struct Prepared {
    pub(crate) plan: Plan,
    /// The plan that this is a part of; `None` if all of it is executed here.
    pub(super) whole: Option<Plan>,
    /// Most requests on the push-back list of an issuing loop, where memory allows fewer than the plan.
    pub(crate) max_waiting: u32,
    /// Memory for the content of simulated targets.
    pub(crate) content: StoreRoom,
    pub(crate) targets: Vec<Claimed>,
    /// The jobs of each phase, in the plan's order.
    pub(crate) phases: Vec<Vec<JobReady>>,
    pub(crate) notices: NoticeSink,
}

/// A target claimed by this run.
pub(crate) struct Claimed {
    pub(crate) looked: Inspected,
    /// `None` where no target is opened.
    pub(super) claim: Option<Claim>,
    /// Bytes without data in the range of its requests. Finding them takes time on a file of many extents, and they are reported
    /// before the run, in its facts and in its progress.
    pub(crate) hole_bytes: OnceLock<u64>,
    /// Bytes of that range in the page cache, before anything is read.
    pub(crate) cached_bytes: OnceLock<Option<u64>>,
    /// Layout of that range on the device; found once, too.
    pub(crate) extents: OnceLock<Option<ExtentRuns>>,
}

/// A job whose target is claimed.
pub(crate) struct JobReady {
    pub(crate) fitted: FittedJob,
    /// Counters of parsing its load during the run.
    pub(crate) told: Arc<ParseCounters>,
}

/// A target that is ready, with its jobs.
pub struct TargetReady<'a> {
    claimed: &'a Claimed,
    jobs: Vec<&'a FittedJob>,
    range: Range<u64>,
}

/// Bytes of a target among which the requests of its jobs lie, as far as that is known before the start.
pub(crate) fn range_of(jobs: &[(&Phase, &FittedJob)]) -> Range<u64> {
    let ranges = jobs.iter().map(|(phase, job)| job.range(phase.passes));
    let hull = |a: Range<u64>, b: Range<u64>| a.start.min(b.start)..a.end.max(b.end);
    let range = ranges.reduce(hull).unwrap_or(0..0);
    range.start..range.end.max(range.start)
}

impl Claimed {
    /// The open target; `None` where no target is opened.
    pub(crate) fn file(&self) -> Option<&Arc<TargetFile>> {
        self.claim.as_ref().map(|claim| &claim.file)
    }

    /// Unit of alignment of direct reads, for any requests of the run.
    pub(crate) fn direct_block(&self) -> u64 {
        let of_file = self.file().and_then(|file| file.direct_block()).unwrap_or(0);
        self.looked.direct_block().max(of_file) / SECTOR
    }
}

impl TargetReady<'_> {
    /// Path as typed.
    pub fn path(&self) -> &PathBuf {
        &self.claimed.looked.target.path
    }

    /// Name of the file of its first pass; of other targets the path.
    pub fn first_name(&self) -> PathBuf {
        self.claimed.looked.first_name()
    }

    /// Its size in bytes; 0 for a file that is made by the run.
    pub fn size(&self) -> u64 {
        self.jobs.first().map_or(self.claimed.looked.size, |job| job.size)
    }

    /// Whether the run removes it at its end, if it is a file.
    pub fn is_removed(&self) -> bool {
        self.claimed.looked.target.file.delete && self.claimed.looked.is_file()
    }

    /// Its number in the plan.
    pub fn number(&self) -> usize {
        self.jobs.first().map_or(0, |job| job.job.target.into())
    }

    /// Bytes among which its requests lie, as far as that is known before the start.
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// Whether jobs read it; false where unknown.
    pub fn is_read(&self) -> bool {
        self.jobs.iter().any(|job| job.workload.reads())
    }

    /// Whether jobs, or the layout of a file before them, may change it.
    pub fn is_written(&self) -> bool {
        self.claimed.looked.facts.is_none() || self.jobs.iter().any(|job| job.workload.writes())
    }

    /// Whether jobs discard or zero ranges; false where unknown.
    pub fn has_discards_or_zeroes(&self) -> bool {
        self.jobs.iter().any(|job| job.workload.has_discards_or_zeroes())
    }

    /// Facts from the scan of its first recorded load; `None` of standard input and of generated workloads.
    pub fn load(&self) -> Option<&Facts> {
        self.jobs.iter().find_map(|job| job.workload.facts())
    }

    /// Statement of the data that will be overwritten, if any.
    pub fn statement(&self) -> Option<&str> {
        match self.claimed.claim.as_ref()?.permit.as_ref()? {
            Permit::Write(permit) => Some(permit.statement()),
            _ => None,
        }
    }

    /// Highest requested end of its loads ÷ size (blkreplay manual 3.1.4), where it is known before the start.
    pub fn wraparound_factor(&self) -> Option<f64> {
        let factor =
            |job: &&FittedJob| Some(job.workload.facts()?.max_end as f64 / job.placement.size() as f64);
        self.jobs.iter().filter_map(factor).reduce(f64::max)
    }

    /// Mismatches that do not prevent the run, a sentence each.
    pub fn notices(&self) -> impl Iterator<Item = String> {
        self.jobs.iter().filter_map(|job| job.notice())
    }
}

impl Prepared {
    /// The most issuing loops that a phase has.
    pub fn workers(&self) -> usize {
        self.plan.phases.iter().map(Phase::loops).max().unwrap_or(0)
    }

    /// Whether the engine's clock is the real one.
    pub(crate) fn is_timed(&self) -> bool {
        !matches!(self.plan.engine, Engine::Sim(_))
    }

    /// The part of the plan that is executed here.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The targets of the part that is executed here; `None` for a whole plan.
    pub(crate) fn part(&self) -> Option<Vec<u16>> {
        self.whole.as_ref()?;
        let mut targets: Vec<u16> = self.plan.jobs().map(|(_, job)| job.target).collect();
        targets.sort_unstable();
        targets.dedup();
        Some(targets)
    }

    /// The plan that results carry.
    pub fn whole_plan(&self) -> &Plan {
        self.whole.as_ref().unwrap_or(&self.plan)
    }

    /// The targets with a job here, in the plan's order.
    pub fn targets(&self) -> Vec<TargetReady<'_>> {
        let mut targets: Vec<TargetReady<'_>> = Vec::with_capacity(self.targets.len());
        for (claimed, jobs) in self.targets.iter().zip(self.jobs_by_target()) {
            let range = range_of(&jobs);
            targets.push(TargetReady {
                claimed,
                jobs: jobs.into_iter().map(|(_, job)| job).collect(),
                range,
            });
        }
        // Others are executed elsewhere.
        targets.retain(|target| !target.jobs.is_empty());
        targets
    }

    /// The jobs of all phases, one list for each target.
    pub(crate) fn jobs_by_target(&self) -> Vec<Vec<(&Phase, &FittedJob)>> {
        let mut all = vec![Vec::new(); self.targets.len()];
        for (phase, job) in self.jobs() {
            all[usize::from(job.fitted.job.target)].push((phase, &job.fitted));
        }
        all
    }

    /// The jobs of all phases, each with its phase.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = (&Phase, &JobReady)> {
        let phases = self.plan.phases.iter().zip(&self.phases);
        phases.flat_map(|(phase, jobs)| jobs.iter().map(move |job| (phase, job)))
    }

    /// Path and facts of each target.
    pub(crate) fn identities(&self) -> impl Iterator<Item = (&Path, Option<&TargetFacts>)> {
        let looked = self.targets.iter().map(|claimed| &claimed.looked);
        looked.map(|looked| (looked.target.path.as_path(), looked.facts.as_ref()))
    }

    /// Facts about the targets that exist, for the environment. Files made by the preparation exist by now.
    pub fn facts(&self) -> Vec<TargetFacts> {
        let root = Root::default().remembering();
        let made = |t: &Claimed| {
            let path = t.looked.first_name();
            identify_growing(&path, &root).ok().filter(|_| self.plan.engine.is_real())
        };
        self.targets.iter().filter_map(|t| t.looked.facts.clone().or_else(|| made(t))).collect()
    }

    /// The same facts as of now.
    pub fn facts_now(&self) -> Vec<TargetFacts> {
        let (known, root) = (self.facts(), Root::default().remembering());
        known.into_iter().map(|facts| identify_growing(&facts.path, &root).unwrap_or(facts)).collect()
    }

    /// The jobs of a phase that follows another one, fitted to the files as they are now: written data may differ from planned
    /// data. Passes are counted from 0 again.
    pub(crate) fn begin_phase(&self, number: u16) -> Result<Vec<JobReady>, PrepareError> {
        let (phase, jobs) = (&self.plan.phases[usize::from(number)], &self.phases[usize::from(number)]);
        self.targets.iter().filter_map(Claimed::file).try_for_each(|file| {
            file.begin_phase().map_err(|error| PrepareError::Open { path: file.path(), error })
        })?;
        let known = jobs.iter().map(|job| job.fitted.workload.clone()).collect();
        let foreseen: HashMap<usize, u64> =
            jobs.iter().map(|job| (usize::from(job.fitted.job.target), job.fitted.size)).collect();
        let target_of = |target: usize| {
            let foreseen = foreseen.get(&target).copied().unwrap_or(0);
            let claimed = &self.targets[target];
            (&claimed.looked, claimed.file().and_then(|file| file.size_of_file()).unwrap_or(foreseen))
        };
        let fitted = fit_phase(&self.plan, phase, known, &target_of)?.into_iter().zip(jobs);
        Ok(fitted.map(|(fitted, job)| JobReady { fitted, told: job.told.clone() }).collect())
    }

    /// Files that are made for the run, of each target.
    pub fn made(&self) -> Vec<MadeFiles> {
        self.targets.iter().filter_map(|target| Some(target.file()?.made())).collect()
    }

    /// Removes the empty files made for a run that is then refused. A run that has started keeps them.
    pub fn withdraw(&self) {
        self.targets.iter().filter_map(|t| t.claim.as_ref()).for_each(Claim::withdraw);
    }

    /// Requests of the whole plan, where that is known before the start.
    pub fn expected_requests(&self) -> Option<u64> {
        self.jobs().map(|(phase, job)| job.fitted.expected_requests(phase.passes)).sum()
    }

    /// Requests of the first pass that are due by `now`; `None` where requests have no due times, and where a second phase follows
    /// at an unknown time.
    pub fn demanded_until(&self, now: Nanos) -> Option<u64> {
        let [jobs] = &self.phases[..] else { return None };
        jobs.iter().map(|job| job.fitted.workload.due_until(now)).sum()
    }

    /// Expected duration of all passes of all phases, where the plan determines it: by the last due times, or by time limits.
    pub fn expected_span(&self) -> Option<Nanos> {
        let phases = self.plan.phases.iter().zip(&self.phases);
        phases
            .map(|(phase, jobs)| span_of(phase, jobs))
            .try_fold(Nanos(0), |all, span| Some(all.saturating_add(span?)))
    }

    /// Treatment of a job's overlaps, with no more effort than it needs.
    pub(crate) fn overlap(&self, job: &FittedJob) -> Overlap {
        let mut overlap = self.plan.overlap;
        // A request alone in flight meets no other, and some workloads have no conflicting requests.
        if job.job.depth == 1 || !job.can_conflict(overlap.strong) {
            overlap.policy = OverlapPolicy::Allow;
        }
        // No more requests can wait than there are.
        let all = job.expected_requests(1).and_then(|all| u32::try_from(all).ok());
        overlap.max_waiting = self.max_waiting.min(all.unwrap_or(u32::MAX).max(1));
        overlap
    }
}

/// Expected duration of a phase, where known.
fn span_of(phase: &Phase, jobs: &[JobReady]) -> Option<Nanos> {
    let coordination = &phase.coordination;
    if coordination.runtime.is_some() {
        return coordination.runtime;
    }
    // The progress of other jobs by then is unknown.
    if !coordination.stop.is_empty() {
        return None;
    }
    let span = |job: &JobReady| {
        let passes = job.fitted.span()?.0.saturating_mul(phase.passes.into());
        let pauses = coordination.pass_delay.0.saturating_mul(phase.passes.saturating_sub(1).into());
        let delay = job.fitted.job.options.start_delay;
        Some(Nanos(passes).saturating_add(Nanos(pauses)).saturating_add(delay))
    };
    let spans: Vec<Nanos> = jobs.iter().map(span).collect::<Option<_>>()?;
    match coordination.ends {
        PhaseEnd::All => spans.into_iter().max(),
        PhaseEnd::First => spans.into_iter().min(),
    }
}
