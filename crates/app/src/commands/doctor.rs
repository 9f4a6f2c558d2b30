//! `iosonar doctor`: facts about a target before anything is measured on it.

use super::explain::about;
use crate::args::doctor::DoctorArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::session;
use iosonar_studies::doctor::{self, Answer, Question};
use iosonar_text::shown;
use iosonar_view::{Examination, show_examination};

/// Examines a target.
pub fn doctor(args: &DoctorArgs) -> Result<Exit, Failure> {
    let question = Question { target: args.target.clone(), claim: args.claim, quiet: args.quiet };
    let answer = doctor::run(&session::printing(), &question)?;
    print(&if args.json { format!("{:#}\n", answer.to_json()) } else { text(&answer) })?;
    Ok(match answer.is_fake() {
        true => Exit::Fake,
        false if args.strict && answer.needs_care() => Exit::Cautioned,
        false => Exit::Fine,
    })
}

fn text(answer: &Answer) -> String {
    let examination = Examination {
        target: &format!("{}: {}", shown(&answer.target), answer.what),
        layers: &answer.layers,
        facts: &answer.remarks(),
        found: &answer.found,
        verdicts: &answer.verdicts,
    };
    show_examination(&examination, &about)
}
