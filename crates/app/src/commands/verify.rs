//! `iosonar verify`: later verification of a run's writes from its result.

use super::on_hosts::refuse_unused;
use super::verify_on_hosts::{hosts, verify_on_hosts};
use crate::args::post_verify::{PostVerifyArgs, PostVerifyMode};
use crate::exit::{Exit, Failure};
use crate::progress_line::ProgressLine;
use crate::session::command_line;
use crate::signals::{Listener, Phase};
use crate::verb_questions::VerbAnswer;
use anyhow::anyhow;
use iosonar_engine::Control;
use iosonar_runner::{Error, Notice, Session};
use iosonar_studies::verify::{self, Answer, CrashOptions, Question};
use std::path::PathBuf;
use std::sync::Arc;

/// Verifies the writes of a run.
pub fn verify(args: &PostVerifyArgs) -> Result<Exit, Failure> {
    let question = Question {
        result: args.result.clone(),
        moved: args.target.iter().map(|word| moved(word)).collect::<Result<_, _>>()?,
        only: None,
        sample: args.sample,
        memory: args.verify_memory,
        crash: crash(args)?,
    };
    if let Some(hosts) = hosts(args, &question.moved)? {
        return verify_on_hosts(args, &question, hosts);
    }
    refuse_unused(&args.reach)?;
    let control = Arc::new(Control::default());
    let listener = Listener::start(control.clone())?;
    listener.set_phase(Phase::Running);
    let line = Arc::new(ProgressLine::new(!args.no_progress));
    let session = Session { control: control.clone(), command: command_line(), ..Session::new(line.clone()) };
    let answer = verify_answer(&session, &question, args.strict);
    line.clear();
    answer?.print(args.json)
}

/// Verifies the targets of a run that are on this machine.
pub fn verify_answer(session: &Session, question: &Question, strict: bool) -> Result<VerbAnswer, Error> {
    let answer = verify::run(session, question)?;
    if answer.verified.is_empty() {
        session.observer.notice(&Notice::Remark(
            "NOTHING was verified: the run has written nothing of which the content is known, or none of it was read",
        ));
    }
    let exit = match session.control.signal() {
        Some(signal) => Exit::Signal(signal.0),
        None => exit(strict, &answer),
    };
    let text = iosonar_plaintext::verified(&answer.verified).trim_start_matches('\n').to_string();
    Ok(VerbAnswer { text, json: answer.to_json(), exit })
}

/// `OLD=NEW` as typed.
fn moved(word: &str) -> Result<(PathBuf, PathBuf), Failure> {
    let pair = word.split_once('=').filter(|(old, new)| !old.is_empty() && !new.is_empty());
    let (old, new) = pair.ok_or_else(|| {
        Failure::refused(anyhow!(
            "--target {word}: write OLD=NEW, the run's target and where its data is now"
        ))
    })?;
    Ok((old.into(), new.into()))
}

/// Options for verification after a crash; in the other mode they are refused.
fn crash(args: &PostVerifyArgs) -> Result<Option<CrashOptions>, Failure> {
    let PostVerifyArgs { mode, journal, claim, atomic, .. } = args;
    if *mode == PostVerifyMode::AfterCrash {
        let has_no_journal = journal.as_deref().is_some_and(|path| path.as_os_str() == "none");
        let journal = journal.clone().filter(|_| !has_no_journal);
        let is_write_through = claim.is_some();
        return Ok(Some(CrashOptions { journal, has_no_journal, is_write_through, atomic: *atomic }));
    }
    let typed =
        [("--journal", journal.is_some()), ("--claim", claim.is_some()), ("--atomic", atomic.is_some())];
    match typed.iter().find(|(_, is_typed)| *is_typed) {
        Some((option, _)) => Err(Failure::refused(anyhow!(
            "{option} is for what a crash has left: add --mode after-crash, or remove it"
        ))),
        None => Ok(None),
    }
}

fn exit(strict: bool, answer: &Answer) -> Exit {
    match answer.verified.total() {
        0 if answer.verified.is_empty() || strict && !answer.is_whole() => Exit::Cautioned,
        0 => Exit::Fine,
        _ => Exit::Miscompared,
    }
}
