//! `iosonar layout free`: the free space of a file system.

use crate::args::layout::FreeArgs;
use crate::exit::{Exit, Failure};
use iosonar_plaintext::free_space;
use iosonar_studies::layout::free::{self, Question};
use std::io::{BufWriter, Write};

/// Prints the free ranges of a file system, counted.
pub fn free(args: &FreeArgs) -> Result<Exit, Failure> {
    let answer = free::run(&Question { path: args.path.clone(), flushes: !args.no_sync })?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.json {
        serde_json::to_writer_pretty(&mut out, &answer.json()).map_err(anyhow::Error::from)?;
        writeln!(out)?;
    } else {
        free_space(&answer.report, &mut out)?;
    }
    out.flush()?;
    Ok(Exit::Fine)
}
