//! `iosonar load filter`: a load made of a load.

use crate::args::load::FilterArgs;
use crate::exit::{Exit, Failure};
use crate::output::print_message;
use crate::session;
use iosonar_studies::loads::{self, Filter};
use iosonar_text::shown;
use std::io::stdout;

/// Writes the new load; reports its number of requests.
pub fn filter(args: &FilterArgs) -> Result<Exit, Failure> {
    let question = Filter {
        load: args.load.clone(),
        steps: args.steps.clone(),
        out: args.out.clone(),
        skip_bad: args.skip_bad,
    };
    if loads::filter(&session::printing(), &question, &mut stdout().lock())? > 0 {
        return Ok(Exit::Fine);
    }
    print_message(format_args!(
        "iosonar: filter '{}' removes every request of {}",
        args.steps,
        shown(&args.load)
    ));
    Ok(Exit::Failed)
}
