//! `iosonar load derive`: loads made of whole loads.

use crate::args::common::LoadArgs;
use crate::args::derive::{Derive, DeriveArgs};
use crate::exit::{Exit, Failure};
use crate::output::{print, print_message};
use crate::session;
use iosonar_studies::loads::{Adjacent, Overload, Ramp, Reading, adjacent, overload, ramp};
use iosonar_text::shown;
use std::io::stdout;

/// Makes loads from loads.
pub fn derive(args: &DeriveArgs) -> Result<Exit, Failure> {
    let session = session::printing();
    match &args.what {
        Derive::Overload(args) => {
            let question = Overload {
                loads: args.loads.clone(),
                window: args.window,
                split: args.split.clone(),
                out: args.out.clone(),
                keep_rest: args.keep_rest,
                reading: reading(&args.load),
            };
            print(&overload(&session, &question)?)?;
        }
        Derive::Adjacent(args) => {
            let question = Adjacent {
                loads: args.loads.clone(),
                out: args.out.clone(),
                spool_limit: args.spool.spool_limit,
                reading: reading(&args.load),
            };
            adjacent(&session, &question, &mut stdout().lock())?.iter().for_each(print_message);
        }
        Derive::Ramp(args) => {
            let question = Ramp {
                load: args.load.clone(),
                growth: args.growth,
                out: args.out.clone(),
                skip_bad: args.skip_bad,
            };
            if ramp(&session, &question, &mut stdout().lock())? == 0 {
                print_message(format_args!("iosonar: {} contains no request", shown(&args.load)));
                return Ok(Exit::Failed);
            }
        }
    }
    Ok(Exit::Fine)
}

fn reading(args: &LoadArgs) -> Reading {
    Reading { backward: args.backward, skip_bad: args.skip_bad }
}
