//! `iosonar calibrate`: measures the program's own cost on this machine.

use crate::args::calibrate::CalibrateArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::session;
use iosonar_studies::calibrate::{self, Question};

/// Measures, and prints the figures.
pub fn calibrate(args: &CalibrateArgs) -> Result<Exit, Failure> {
    let question = Question { rounds: args.rounds, length: args.duration, dir: args.dir.clone() };
    let answer = calibrate::run(&session::ending_on_signal()?, &question)?;
    print(&if args.json { format!("{:#}\n", answer.to_json()) } else { answer.to_string() })?;
    Ok(if answer.is_whole() { Exit::Fine } else { Exit::Failed })
}
