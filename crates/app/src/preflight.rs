//! What is said before the first request: what would spoil the result, and whether a run is worth its time.

use crate::exit::Failure;
use crate::progress::clock;
use crate::{probe, quiet};
use anyhow::anyhow;
use iosonar_analyze::Detection;
use iosonar_engine::{Prepared, TargetReady};
use iosonar_host::environment::Environment;
use iosonar_judge::{Outset, PlannedTarget, foresee};
use iosonar_plan::{Claim, Nanos};
use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

/// A run of at least this time is refused if its figures will be fake, and is worth a look at what others do.
const LONG: Nanos = Nanos::from_secs(60);
/// How long that look takes.
const QUIET: Duration = Duration::from_secs(1);

/// What is known of a prepared run with a claim. Nothing is read or written.
pub fn foreseen(prepared: &Prepared, environment: &Environment, claim: Claim) -> Vec<Detection> {
    let info = prepared.info("", "");
    let all = prepared.targets();
    // Several targets may be one file.
    let file = |target: &TargetReady<'_>| target.path().canonicalize().unwrap_or(target.path().clone());
    let written: HashSet<PathBuf> = all.iter().filter(|target| target.is_written()).map(file).collect();
    let planned = |target: &TargetReady<'_>| {
        let number = target.number();
        let info = info.targets.get(number)?;
        let is_written = written.contains(&file(target));
        Some(PlannedTarget { number, info, is_read: target.is_read(), is_written })
    };
    let targets = all.iter().filter_map(planned).collect();
    foresee(&Outset { plan: prepared.plan(), before: environment, targets }, claim)
}

/// What somebody should know before a run: a line each. A long run whose figures will not be what they claim is refused. What is read of the
/// targets to find that out is kept in the environment; `is_stopped` ends that early.
pub fn check(
    prepared: &Prepared,
    environment: &mut Environment,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Vec<String>, Failure> {
    let plan = prepared.plan();
    let found = foreseen(prepared, environment, plan.claim());
    let span = prepared.expected_span().filter(|span| *span >= LONG);
    let proof = found.iter().find(|one| one.is_told() && one.definitional);
    if let Some((span, proof)) = span.zip(proof).filter(|_| !plan.anyway) {
        return Err(Failure::refused(anyhow!(
            "this run would take {}, and its figures would be FAKE as a {} result: {}; to start it all the same, use --anyway",
            clock(span),
            plan.claim(),
            proof.line().trim_end_matches('.')
        )));
    }
    // Before the probe, whose reads would be those of somebody.
    let is_watched = span.is_some() && plan.engine.is_real();
    let others = if is_watched { quiet::watch(&environment.targets, QUIET) } else { Vec::new() };
    if plan.is_probed(span.is_some()) {
        probe::probe(prepared, environment, is_stopped);
    }
    let found = foreseen(prepared, environment, plan.claim());
    let told = found.iter().filter(|one| one.is_told());
    let disturbing = others.iter().filter(|other| other.disturbs());
    let cautions = told.map(|one| one.line().trim_end_matches('.').to_string());
    let cautions = cautions.chain(disturbing.map(quiet::sentence)).map(|text| format!("  caution: {text}"));
    Ok(probe::lines(environment).chain(cautions).collect())
}
