//! `iosonar filter`: a load made of a load.

use crate::args::FilterArgs;
use crate::exit::{Exit, Failure};
use crate::inputs;
use crate::new_load;
use crate::output::tell;
use anyhow::Context;
use iosonar_load::{Notice, filtered, requests};
use iosonar_plan::{Nanos, SECTOR};
use iosonar_trace::TimedRequest;
use iosonar_trace::blkreplay::{LOAD_HEADER, write_load, write_result};
use std::io::Write;

/// Writes the new load; says how many requests it has.
pub fn filter(args: &FilterArgs) -> Result<Exit, Failure> {
    let input = inputs::text(&args.load)?;
    let name = args.load.display();
    let tell_skipped = |notice| {
        if let Notice::Skipped(bad) = notice {
            tell(format_args!("iosonar: {bad}; left out"));
        }
    };
    let count = new_load::write(&args.out, |out| {
        writeln!(out, "{LOAD_HEADER}")?;
        let mut count = 0u64;
        for request in filtered(requests(input, args.skip_bad, tell_skipped), &args.steps) {
            write_line(out, &request.with_context(|| name.to_string()).map_err(Failure::refused)?)?;
            count += 1;
        }
        Ok(count)
    })?;
    if count > 0 {
        return Ok(Exit::Fine);
    }
    tell(format_args!("iosonar: no request of {name} is left behind '{}'", args.steps));
    Ok(Exit::Failed)
}

/// What is known of its times stays with a request.
pub(super) fn write_line(mut out: &mut dyn Write, r: &TimedRequest) -> std::io::Result<()> {
    if r.pushed || r.delay > Nanos(0) || r.latency > Nanos(0) {
        return write_result(&mut out, r);
    }
    write_load(&mut out, r.time, r.op, r.extent.offset / SECTOR, r.extent.length / SECTOR)
}
