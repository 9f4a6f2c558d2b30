//! `iosonar import`: an archive from a result in blkreplay's form.

use crate::args::ImportArgs;
use crate::exit::{Exit, Failure};
use anyhow::anyhow;

/// Makes the archive; says where it is.
pub fn import(_args: ImportArgs) -> Result<Exit, Failure> {
    Err(Failure::refused(anyhow!("not yet")))
}
