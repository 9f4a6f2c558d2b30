//! `iosonar doctor`: facts about a target before anything is measured on it.

use crate::args::doctor::DoctorArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::session;
use iosonar_studies::doctor::{self, Question};

/// Examines a target.
pub fn doctor(args: &DoctorArgs) -> Result<Exit, Failure> {
    let question = Question { target: args.target.clone(), claim: args.claim, quiet: args.quiet };
    let answer = doctor::run(&session::printing(), &question)?;
    print(&if args.json { format!("{:#}\n", answer.to_json()) } else { answer.to_string() })?;
    Ok(match answer.is_fake() {
        true => Exit::Fake,
        false if args.strict && answer.needs_care() => Exit::Cautioned,
        false => Exit::Fine,
    })
}
