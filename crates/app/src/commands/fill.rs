//! `iosonar fill`: makes sure that a target holds data, so that later measurements are of data that is stored.

use super::host_questions::questions;
use crate::args::fill::{FillArgs, FillEngineArg};
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::session;
use crate::timings::Timings;
use crate::verb_questions::{VerbAnswer, VerbQuestion, ask_and_print};
use anyhow::anyhow;
use iosonar_archive::{Interruption, RunState};
use iosonar_cluster::Questions;
use iosonar_plan::Engine;
use iosonar_runner::{Error, Session};
use iosonar_studies::fill::{self, Answer, Length, Question};
use std::path::Path;

/// Fills targets here or on other machines, and prints what is stored on them then.
pub fn fill(args: &FillArgs) -> Result<Exit, Failure> {
    let of_verb = |target: &Path| VerbQuestion::Fill(question(args, target));
    if let Some(each) = questions(&args.reach, args.target.as_slice(), of_verb)? {
        refuse_without_effect_on_hosts(args)?;
        let questions = Questions { each, change_targets: true, ..Questions::default() };
        return ask_and_print(&args.reach, &args.result.progress, args.result.json, &questions);
    }
    let question = question(args, args.target.as_deref().unwrap_or(Path::new("")));
    if args.result.show_plan {
        print(&fill::plan(&session::printing(), &question)?.to_toml())?;
        return Ok(Exit::Fine);
    }
    let (session, listener) = session::begin_session(&Timings::new(), Some(&args.result.progress))?;
    if question.out.is_none() {
        listener.set_kept("no result is kept");
    }
    fill_answer(&session, &question)?.print(args.result.json)
}

/// Fills a target of this machine.
pub fn fill_answer(session: &Session, question: &Question) -> Result<VerbAnswer, Error> {
    let answer = fill::run(session, question)?;
    let json = serde_json::to_value(&answer).map_err(Error::broke)?;
    Ok(VerbAnswer { text: answer.to_string(), json, exit: exit(&answer) })
}

fn refuse_without_effect_on_hosts(args: &FillArgs) -> Result<(), Failure> {
    let typed = [("--out", args.result.out.is_some()), ("--show-plan", args.result.show_plan)];
    match typed.iter().find(|(_, is_typed)| *is_typed) {
        Some((option, _)) => Err(Failure::refused(anyhow!(
            "{option} has no effect with --on: each host makes its plan and keeps no records; remove {option}, or write with \
             'iosonar run --on … --rw write --end-fsync'"
        ))),
        None => Ok(()),
    }
}

fn question(args: &FillArgs, target: &Path) -> Question {
    let FillArgs { range, writing, result, .. } = args;
    Question {
        target: target.into(),
        offset: range.offset,
        length: match (range.percent, range.size) {
            (Some(percent), _) => Length::Percent(percent),
            (None, Some(size)) => Length::Size(size),
            (None, None) => Length::ToEnd,
        },
        times: range.times,
        block: writing.bs,
        depth: writing.iodepth,
        engine: match writing.engine {
            FillEngineArg::Uring => Engine::default(),
            FillEngineArg::Aio => Engine::Aio,
            FillEngineArg::Threads => Engine::Threads,
        },
        buffered: writing.buffered,
        destroy: writing.destroy,
        out: result.out.clone(),
    }
}

fn exit(answer: &Answer) -> Exit {
    match &answer.state {
        RunState::Interrupted(Interruption::Signal(signal)) => Exit::Signal(signal.0),
        RunState::Finished if answer.is_filled() => Exit::Fine,
        _ => Exit::Failed,
    }
}
