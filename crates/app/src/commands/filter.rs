//! `iosonar filter`: a load made of a load.

use crate::args::FilterArgs;
use crate::exit::{Exit, Failure};
use crate::inputs;
use crate::new_load;
use crate::output::tell;
use anyhow::Context;
use iosonar_load::{FilterError, LoadError, Requests, filtered};
use iosonar_plan::{Nanos, SECTOR};
use iosonar_trace::TimedRequest;
use iosonar_trace::blkreplay::{LOAD_HEADER, Line, Reader, write_load, write_result};
use std::io::{BufRead, Write};

/// Writes the new load; says how many requests it has.
pub fn filter(args: &FilterArgs) -> Result<Exit, Failure> {
    let input = inputs::text(&args.load)?;
    let name = args.load.display();
    let count = new_load::write(&args.out, |out| {
        writeln!(out, "{LOAD_HEADER}")?;
        let mut count = 0u64;
        for request in filtered(requests(input, args.skip_bad), &args.steps) {
            write_line(out, &request.with_context(|| name.to_string()).map_err(Failure::refused)?)?;
            count += 1;
        }
        Ok(count)
    })?;
    if args.out.as_os_str() != "-" {
        tell(format_args!("{}: {count} requests", args.out.display()));
    }
    if count > 0 {
        return Ok(Exit::Fine);
    }
    tell(format_args!("iosonar: no request of {name} is left behind '{}'", args.steps));
    Ok(Exit::Failed)
}

/// The requests of a load, in the order of its lines.
fn requests<'a>(input: impl BufRead + 'a, skip_bad: bool) -> Requests<'a> {
    let mut reader = Reader::new(input);
    let next = move || {
        loop {
            match reader.next_line() {
                Ok(None) => return None,
                Ok(Some(Line::Request(request))) => return Some(Ok(request)),
                Ok(Some(Line::Text)) => {}
                Ok(Some(Line::Bad(bad))) if skip_bad => tell(format_args!("iosonar: {bad}; left out")),
                Ok(Some(Line::Bad(bad))) => return Some(Err(FilterError::Load(LoadError::Bad(bad)))),
                Err(error) => return Some(Err(FilterError::Load(error.into()))),
            }
        }
    };
    Box::new(std::iter::from_fn(next))
}

/// What is known of its times stays with a request.
fn write_line(mut out: &mut dyn Write, r: &TimedRequest) -> std::io::Result<()> {
    if r.pushed || r.delay > Nanos(0) || r.latency > Nanos(0) {
        return write_result(&mut out, r);
    }
    write_load(&mut out, r.time, r.op, r.extent.offset / SECTOR, r.extent.length / SECTOR)
}
