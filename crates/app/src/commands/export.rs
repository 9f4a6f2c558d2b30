//! `iosonar export`: the records in another form.

use super::open;
use crate::args::ExportArgs;
use crate::exit::{Exit, Failure};
use anyhow::anyhow;

/// Writes records to a file or to standard output.
pub fn export(args: ExportArgs) -> Result<Exit, Failure> {
    let _ = open(&args.dir)?;
    Err(Failure::refused(anyhow!("not yet")))
}
