//! `iosonar layout free`: the free space of a file system.

use super::TOOL;
use crate::args::layout::FreeArgs;
use crate::exit::{Exit, Failure};
use anyhow::anyhow;
use iosonar_host::free_space::read_free_space;
use iosonar_layout::FreeJson;
use iosonar_plaintext::free_space;
use iosonar_text::shown;
use std::io::{BufWriter, Write};

/// Prints the free ranges of a file system, counted.
pub fn free(args: &FreeArgs) -> Result<Exit, Failure> {
    let (report, _) = read_free_space(&args.path, !args.no_sync, 0)
        .map_err(|error| Failure::refused(anyhow!("{}: {error}", shown(&args.path))))?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.json {
        let document = FreeJson { tool: TOOL, report: &report };
        serde_json::to_writer_pretty(&mut out, &document).map_err(anyhow::Error::from)?;
        writeln!(out)?;
    } else {
        free_space(&report, &mut out)?;
    }
    out.flush()?;
    Ok(Exit::Fine)
}
