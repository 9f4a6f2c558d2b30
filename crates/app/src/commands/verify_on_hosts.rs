//! `iosonar verify` on the hosts that have the targets.

use super::host_questions::{TargetsOfHost, hosts_of_result, typed_hosts};
use crate::args::common::ProgressArgs;
use crate::args::post_verify::{PostVerifyArgs, PostVerifyMode};
use crate::exit::{Exit, Failure};
use crate::verb_questions::{VerbQuestion, ask_and_print};
use anyhow::anyhow;
use iosonar_cluster::{Question as HostQuestion, Questions};
use iosonar_studies::verify::{self, Question};
use iosonar_text::shown;
use std::path::{Path, PathBuf};

/// The machines that verify: the typed ones, or else those of the result, unless the user names what is here.
pub fn hosts(
    args: &PostVerifyArgs,
    moved: &[(PathBuf, PathBuf)],
) -> Result<Option<Vec<TargetsOfHost>>, Failure> {
    let archive = super::open(&args.result)?;
    let typed = typed_hosts(&args.reach, archive.plan())?;
    let is_here = args.mode == PostVerifyMode::AfterCrash || !moved.is_empty();
    let elsewhere = archive.plan().targets.iter().filter(|target| target.executor.host().is_some());
    let mut unnamed = elsewhere.filter(|target| !moved.iter().any(|(old, _)| *old == target.path));
    if let (None, true, Some(target)) = (&typed, is_here, unnamed.next()) {
        let path = shown(&target.path);
        return Err(Failure::refused(anyhow!(
            "{path} is a target of a host: name its copy here with --target {path}=FILE, or let the hosts verify theirs, without --target"
        )));
    }
    match typed {
        Some(_) if args.mode == PostVerifyMode::AfterCrash => Err(Failure::refused(anyhow!(
            "--mode after-crash reads targets of this machine: remove --on, and name files here with --target OLD=NEW"
        ))),
        None if !is_here => hosts_of_result(&args.result, archive.plan()),
        typed => Ok(typed),
    }
}

/// Lets each machine verify the targets that it has.
pub fn verify_on_hosts(
    args: &PostVerifyArgs,
    question: &Question,
    hosts: Vec<TargetsOfHost>,
) -> Result<Exit, Failure> {
    let each = hosts.into_iter().map(|host| question_of(args, question, host));
    let questions = Questions {
        each: each.collect::<Result<_, _>>()?,
        files: verify::files(&args.result)?,
        change_targets: false,
        show_progress: !args.no_progress,
    };
    ask_and_print(&args.reach, &ProgressArgs::none(), args.json, &questions)
}

/// The question for a machine. Paths of a host are those that it has there, whatever is on this machine.
fn question_of(
    args: &PostVerifyArgs,
    question: &Question,
    TargetsOfHost { host, targets, paths }: TargetsOfHost,
) -> Result<HostQuestion, Failure> {
    let names = paths.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>().join(", ");
    let here = paths.iter().filter(|_| host.is_some()).map(|path| (path.clone(), path.clone()));
    let question = Question {
        result: std::path::absolute(&args.result)?,
        moved: here.chain(question.moved.clone()).collect(),
        only: Some(targets),
        ..question.clone()
    };
    let (question, needs_files) = (VerbQuestion::Verify { question, strict: args.strict }, host.is_some());
    Ok(HostQuestion { needs_files, ..question.on(host, Path::new(&names)) })
}
