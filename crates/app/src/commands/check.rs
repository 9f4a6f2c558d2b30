//! `iosonar check`: compares a replay with the kernel's recording of it (blkreplay manual, C.1).

use crate::args::check::CheckArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::reading::reading;
use crate::session;
use iosonar_studies::check::{self, Question};
use iosonar_trace::kernel::Timing;

/// Compares both; exits with 5 if they differ.
pub fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let question = Question {
        replay: args.replay.clone(),
        recording: args.recording.clone(),
        reading: reading(&args.reading, Timing::None)?,
    };
    let answer = check::run(&session::printing(), &question)?;
    print(&if args.json { format!("{:#}\n", answer.to_json()) } else { answer.text(args.list) })?;
    Ok(match answer.are_same() {
        true if args.reading.strict && answer.damaged > 0 => Exit::Cautioned,
        true => Exit::Fine,
        false => Exit::Miscompared,
    })
}
