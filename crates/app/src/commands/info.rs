//! `iosonar info`: the format and the contents of a trace.

use crate::args::convert::InfoArgs;
use crate::exit::{Exit, Failure};
use crate::output::{print, print_message};
use crate::reading::reading;
use crate::session;
use iosonar_studies::info::{self, Question};
use iosonar_trace::kernel::Timing;

/// Prints all facts.
pub fn info(args: &InfoArgs) -> Result<Exit, Failure> {
    let question = Question { inputs: args.files.clone(), reading: reading(&args.reading, Timing::Exact)? };
    let answer = info::run(&session::printing(), &question)?;
    if args.json {
        print(&format!("{:#}\n", answer.to_json()))?;
    } else {
        if answer.damaged > 0 {
            print_message(format_args!("iosonar: {}: {} entries are damaged", answer.name, answer.damaged));
        }
        print(&answer.text())?;
    }
    Ok(if args.reading.strict && answer.damaged > 0 { Exit::Cautioned } else { Exit::Fine })
}
