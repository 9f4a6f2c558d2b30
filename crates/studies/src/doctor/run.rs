//! Looks at the target without a run.

use super::answer::Answer;
use super::layers::layers;
use super::place::ExaminedPlace;
use super::question::Question;
use iosonar_analyze::{Detection, Level};
use iosonar_evidence::TargetFacts;
use iosonar_host::Root;
use iosonar_host::guard::{self, Intent, Permit, Refusal};
use iosonar_judge::OthersUse;
use iosonar_plan::{
    Access, ByteSize, Claim, Engine, Generator, Job, Order, Pace, Phase, Plan, Target, Workload,
};
use iosonar_runner::preflight::predicted;
use iosonar_runner::{Error, Ready, Session, foreign_io, probe};
use iosonar_text::shown;
use std::path::Path;
use std::time::Duration;

/// Examines a target.
///
/// # Errors
/// It cannot be reached, or no file can be created in a directory.
pub fn run(session: &Session, question: &Question) -> Result<Answer, Error> {
    let place = ExaminedPlace::of(&question.target)?;
    let ready = prepare(session, place.path())?;
    let mut environment = ready.environment(&Root::default());
    // Holes are looked up once. Then the sample file is no longer needed.
    ready.prepared().info("", "");
    place.remove_sample();
    let time = Duration::from_nanos(question.quiet.0);
    let others = if time.is_zero() { Vec::new() } else { foreign_io::watch(&environment.targets, time) };
    // After watching the use by others: its reads would be counted as theirs.
    if place.is_file() {
        probe::probe(ready.prepared(), &mut environment, &|| session.control.signal().is_some());
    }
    if let Some(signal) = session.control.signal() {
        return Err(Error::stopped(signal));
    }
    let Some(facts) = environment.targets.first() else {
        return Err(Error::refused_because(format_args!(
            "{}: nothing is known of it",
            shown(&question.target)
        )));
    };
    let of = |claim| predicted(ready.prepared(), &environment, claim);
    let verdict = |claim: Claim| {
        // A claim on memory involves no device.
        let others = if claim == Claim::Cache { &[] } else { others.as_slice() };
        (claim.to_string(), verdict(&of(claim), others))
    };
    Ok(Answer {
        target: question.target.clone(),
        claim: question.claim,
        what: place.what(facts),
        layers: layers(facts, place.is_file()),
        facts: facts.clone(),
        writing: place.is_file().then(|| writing(facts)),
        watched: question.quiet,
        probe: environment.reread.first().map(|one| one.seen.clone()),
        found: of(question.claim),
        verdicts: [Claim::Device, Claim::Filesystem, Claim::Cache].map(verdict).to_vec(),
        others,
    })
}

/// Prepares reads of the whole target, without a run: with direct I/O if possible, otherwise through the page cache.
fn prepare(session: &Session, path: &Path) -> Result<Ready, Error> {
    let plan = |buffered| {
        let generator = Generator { pace: Pace::Closed, ..Generator::new(Order::Sequential, ByteSize(4096)) };
        let job = Job::new(0, 1, Workload::Generated(generator));
        let access = Access { buffered, ..Access::default() };
        let plan = Plan::new(1, vec![Target::new(path)], vec![Phase::of(vec![job])]);
        Plan { engine: Engine::Sync, access, ..plan }
    };
    let ready = |buffered| session.prepare(plan(buffered));
    ready(false).or_else(|_| ready(true)).map_err(Error::refused)
}

/// Predicts the verdict on a claim, as far as known now.
fn verdict(found: &[Detection], others: &[OthersUse]) -> String {
    let names = |is_meant: &dyn Fn(&Detection) -> bool| {
        let ids: Vec<&str> = found.iter().filter(|one| is_meant(one)).map(|one| one.id.name()).collect();
        ids.join(", ")
    };
    let proofs = names(&|one| one.is_proof);
    let mut told = names(&|one| one.level >= Level::Caution);
    if others.iter().any(OthersUse::disturbs) {
        told += if told.is_empty() { "others use its devices" } else { ", others use its devices" };
    }
    match (proofs.is_empty(), told.is_empty()) {
        (false, _) => format!("FAKE: {proofs}"),
        (true, false) => format!("read with care: {told}"),
        (true, true) => "nothing speaks against it before a run".into(),
    }
}

/// Whether a run may write to the target.
fn writing(facts: &TargetFacts) -> String {
    match guard::check(facts, Intent::Write, false, &Root::default()) {
        Ok(Permit::Write(permit)) => format!("allowed: {}", permit.statement()),
        Ok(Permit::ReadOnly) => "not allowed".into(),
        Err(Refusal::NeedsDestroy { contents, .. }) => format!("only with --destroy: on it is {contents}"),
        Err(refusal) => format!("refused: {refusal}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::Nanos;
    use iosonar_runner::Silent;
    use std::sync::Arc;

    fn examine(target: &Path) -> Result<Answer, Error> {
        let question = Question { target: target.into(), claim: Claim::Filesystem, quiet: Nanos(0) };
        run(&Session::new(Arc::new(Silent)), &question)
    }

    #[test]
    fn examines_files_and_directories_and_leaves_nothing_in_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("image");
        std::fs::write(&file, [1; 1 << 16]).unwrap();
        let answer = examine(&file).unwrap();
        assert_eq!((answer.what.as_str(), answer.facts.size), ("a file of 64.0 KiB", 1 << 16));
        assert!(answer.writing.as_ref().is_some_and(|text| text.starts_with("allowed")), "{answer:?}");
        let claims: Vec<&str> = answer.verdicts.iter().map(|(claim, _)| claim.as_str()).collect();
        assert_eq!(claims, ["device", "filesystem", "cache"]);
        assert_eq!(answer.to_json()["claim"], "filesystem");
        std::fs::remove_file(&file).unwrap();
        let answer = examine(folder.path()).unwrap();
        assert_eq!((answer.what.as_str(), &answer.writing, &answer.probe), ("a directory", &None, &None));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn refuses_what_does_not_exist() {
        let error = examine(Path::new("/nowhere/at/all")).unwrap_err();
        assert_eq!(error.kind(), iosonar_runner::ErrorKind::Refused, "{error}");
    }
}
