//! Everything that can be found out before the first I/O, in stages: workloads are read ([`inputs`]), targets looked at
//! ([`examine`]), memory compared ([`memory`]), and only then targets claimed ([`claim`]).

mod claim;
mod examine;
mod inputs;
mod memory;

pub use memory::filter_room;

pub(crate) use examine::Examined;

use crate::error::PrepareError;
use crate::files::TargetFile;
use crate::means::Part;
use claim::{Claim, claim_all};
use examine::{check_apart, examine};
use inputs::{open_requests, read_all};
use iosonar_host::guard::Permit;
use iosonar_host::{Root, TargetFacts, TargetKind};
use iosonar_load::{Facts, Generated, Known, LoadError, Notice, Setting, Source, Told};
use iosonar_os::raise_file_limit;
use iosonar_plan::{Nanos, Overlap, OverlapPolicy, Plan, Target};
use memory::fit_memory;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Told of lines that are left out and of shifted times, with the path of the load.
pub type NoticeSink = Arc<dyn Fn(&Path, &Notice) + Send + Sync>;

/// A plan that can be carried out, with its targets claimed.
pub struct Prepared {
    pub(crate) plan: Plan,
    /// Most requests on the push-back list of an issuing loop, where memory allows fewer than the plan.
    pub(crate) max_waiting: u32,
    pub(crate) targets: Vec<TargetReady>,
    pub(crate) notices: NoticeSink,
}

/// A target that is ready.
pub struct TargetReady {
    pub(crate) examined: Examined,
    /// None where nothing is opened.
    claim: Option<Claim>,
    /// What reading its load tells during the run.
    pub(crate) told: Arc<Told>,
}

/// Checks everything and claims the targets. `notices` hears of bad lines and shifts in loads.
pub fn prepare(plan: Plan, root: &Root, notices: NoticeSink) -> Result<Prepared, PrepareError> {
    let known = read_all(&plan, &notices, root)?;
    let look = |(target, known): (&Target, Known)| examine(&plan, target, known, root);
    let mut examined: Vec<Examined> = plan.targets.iter().zip(known).map(look).collect::<Result<_, _>>()?;
    if plan.engine.is_real() {
        check_apart(&plan, &examined)?;
    }
    let max_waiting = fit_memory(&plan, &examined, root)?;
    raise_file_limit();
    let claims = claim_all(&plan, &mut examined, root)?;
    let ready = |(examined, claim)| TargetReady { examined, claim, told: Arc::default() };
    let targets = examined.into_iter().zip(claims).map(ready).collect();
    Ok(Prepared { plan, max_waiting, targets, notices })
}

/// The requests of a pass.
pub(crate) enum Requests {
    /// Generated.
    Generated(Box<dyn Source>),
    /// Read from a load that this opens.
    Load(Box<dyn FnOnce() -> Result<Box<dyn Source>, LoadError> + Send>),
}

impl TargetReady {
    /// Path as typed.
    pub fn path(&self) -> &PathBuf {
        &self.examined.target.path
    }

    /// Its size in bytes; 0 for a file that is made by the run.
    pub fn size(&self) -> u64 {
        self.examined.size()
    }

    /// Whether the run removes it at its end, if it is a file.
    pub fn is_removed(&self) -> bool {
        let facts = &self.examined.facts;
        self.examined.target.handling.file.delete
            && facts.as_ref().is_none_or(|f| matches!(f.kind, TargetKind::RegularFile(_)))
    }

    /// What the scan of its load has counted; none of standard input and of generated workloads.
    pub fn load(&self) -> Option<&Facts> {
        self.examined.workload.facts()
    }

    /// What will be overwritten, in words, if anything will.
    pub fn statement(&self) -> Option<&str> {
        match self.claim.as_ref()?.permit.as_ref()? {
            Permit::Write(permit) => Some(permit.statement()),
            _ => None,
        }
    }

    /// Highest requested end ÷ size (blkreplay manual 3.1.4), where it is known before the start.
    pub fn wraparound_factor(&self) -> Option<f64> {
        let facts = self.examined.workload.facts()?;
        Some(facts.max_end as f64 / self.examined.placement.size() as f64)
    }

    /// What does not fit, in a sentence, though the run goes on.
    pub fn notice(&self) -> Option<String> {
        self.examined.notice()
    }

    /// The open target; none where nothing is opened.
    pub(crate) fn file(&self) -> Option<&Arc<TargetFile>> {
        self.claim.as_ref().map(|claim| &claim.file)
    }
}

impl Prepared {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The targets, in the plan's order.
    pub fn targets(&self) -> &[TargetReady] {
        &self.targets
    }

    /// What is known about the targets that exist, for the environment.
    pub fn facts(&self) -> Vec<TargetFacts> {
        self.targets.iter().filter_map(|t| t.examined.facts.clone()).collect()
    }

    /// Takes back what was made for a run that is refused after all: empty files. A run that has begun keeps them.
    pub fn withdraw(&self) {
        self.targets.iter().filter_map(|t| t.claim.as_ref()).for_each(Claim::withdraw);
    }

    /// Requests of the whole plan, where that is known before the start.
    pub fn expected_requests(&self) -> Option<u64> {
        self.targets.iter().map(|t| t.examined.expected_requests(self.plan.passes)).sum()
    }

    /// Requests of the first pass that are due by `now`; none where requests have no times of their own.
    pub fn demanded_until(&self, now: Nanos) -> Option<u64> {
        self.targets.iter().map(|t| t.examined.workload.due_until(now)).sum()
    }

    /// How long all passes take at least, where the plan says so: by the last due times.
    pub fn expected_span(&self) -> Option<Nanos> {
        let spans: Option<Vec<Nanos>> = self.targets.iter().map(|t| t.examined.workload.span()).collect();
        spans?.into_iter().max().map(|span| Nanos(span.0.saturating_mul(self.plan.passes.into())))
    }

    /// How a target's overlaps are treated, with no more effort than it needs.
    pub(crate) fn overlap(&self, target: usize) -> Overlap {
        let (mut overlap, target) = (self.plan.overlap, &self.targets[target].examined);
        // A request alone in flight meets no other, and some workloads never ask for what conflicts.
        if self.plan.depth == 1 || !target.can_conflict(overlap.strong) {
            overlap.policy = OverlapPolicy::Allow;
        }
        // No more can wait than there are.
        let all = target.expected_requests(1).and_then(|all| u32::try_from(all).ok());
        overlap.max_waiting = self.max_waiting.min(all.unwrap_or(u32::MAX).max(1));
        overlap
    }

    /// The requests of one issuing loop in one pass: generated ones are there at once, a load has yet to be opened.
    pub(crate) fn requests(&self, part: Part, pass: u32) -> Requests {
        let ready = &self.targets[part.target];
        match &ready.examined.workload {
            Known::Trace(load, _) => {
                let (load, notices, told) = (load.clone(), self.notices.clone(), ready.told.clone());
                Requests::Load(Box::new(move || open_requests(&load, notices, told)))
            }
            Known::Generated { generator, list } => {
                let setting = Setting {
                    size: ready.size(),
                    grows: ready.examined.grows,
                    seed: self.plan.seed,
                    target: part.target as u64,
                    targets: self.targets.len() as u64,
                    pass,
                };
                let generated = Generated::new(generator, &setting, list.clone());
                let generated = generated.expect("what does not fit was refused");
                Requests::Generated(Box::new(generated.part(part.job, part.jobs)))
            }
        }
    }
}
