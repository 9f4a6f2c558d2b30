//! `iosonar note`: notes on parts of a result's time.

use crate::args::note::NoteArgs;
use crate::exit::{Exit, Failure};
use crate::output::{print, print_message};
use iosonar_studies::note::{self, Change, Question};

/// Adds or removes a note, or lists them; prints the notes as they are then.
pub fn note(args: NoteArgs) -> Result<Exit, Failure> {
    let added =
        args.at.zip(args.text).map(|((from, to), text)| Change::Add { from_ns: from.0, to_ns: to.0, text });
    let change = added.or(args.remove.map(Change::Remove));
    let answer = note::run(&Question { result: args.dir, change })?;
    print(&answer.to_string())?;
    answer.remark().iter().for_each(|remark| print_message(format_args!("iosonar: {remark}")));
    Ok(Exit::Fine)
}
