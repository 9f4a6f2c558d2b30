//! `iosonar doctor`: facts about a target before anything is measured on it.

use super::host_questions::questions;
use crate::args::common::ProgressArgs;
use crate::args::doctor::DoctorArgs;
use crate::exit::{Exit, Failure};
use crate::session;
use crate::verb_questions::{VerbAnswer, VerbQuestion, ask_and_print};
use iosonar_cluster::Questions;
use iosonar_runner::{Error, Session};
use iosonar_studies::doctor::{self, Question};
use std::path::Path;

/// Examines a target, here or on other machines.
pub fn doctor(args: &DoctorArgs) -> Result<Exit, Failure> {
    let strict = args.strict;
    let of_verb = |target: &Path| VerbQuestion::Doctor { question: question(args, target), strict };
    if let Some(each) = questions(&args.reach, args.target.as_slice(), of_verb)? {
        let questions = Questions { each, ..Questions::default() };
        return ask_and_print(&args.reach, &ProgressArgs::none(), args.json, &questions);
    }
    let target = args.target.clone().unwrap_or_default();
    doctor_answer(&session::printing(), &question(args, &target), strict)?.print(args.json)
}

fn question(args: &DoctorArgs, target: &Path) -> Question {
    Question { target: target.into(), claim: args.claim, quiet: args.quiet }
}

/// Examines a target of this machine.
pub fn doctor_answer(session: &Session, question: &Question, strict: bool) -> Result<VerbAnswer, Error> {
    let answer = doctor::run(session, question)?;
    let exit = match answer.is_fake() {
        true => Exit::Fake,
        false if strict && answer.needs_care() => Exit::Cautioned,
        false => Exit::Fine,
    };
    Ok(VerbAnswer { text: answer.to_string(), json: answer.to_json(), exit })
}
