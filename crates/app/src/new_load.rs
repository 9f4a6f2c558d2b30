//! Loads that commands make.

use crate::exit::Failure;
use crate::replace::{Replacement, is_special};
use anyhow::{Context, anyhow};
use flate2::{Compression, write::GzEncoder};
use std::io::{BufWriter, Write};
use std::path::Path;

/// Writes a load; what `write` says. Standard output where the path is `-`, gzip where it ends in `.gz`. A file that exists is
/// refused, and one that does not become whole is never there.
pub fn write<T>(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<T, Failure>) -> Result<T, Failure> {
    if path.as_os_str() == "-" {
        let mut out = BufWriter::new(std::io::stdout().lock());
        let told = write(&mut out)?;
        out.flush()?;
        return Ok(told);
    }
    let name = path.display();
    if path.exists() && !is_special(path) {
        let why = "it exists already, and nothing is ever overwritten: name another file";
        return Err(Failure::refused(anyhow!("cannot make {name}: {why}")));
    }
    let cannot = || format!("cannot write {name}");
    let mut file =
        Replacement::begin(path).with_context(|| format!("cannot make {name}")).map_err(Failure::refused)?;
    let told = if path.extension().is_some_and(|e| e == "gz") {
        let mut out = GzEncoder::new(&mut file, Compression::default());
        let told = write(&mut out)?;
        out.finish().with_context(cannot)?;
        told
    } else {
        write(&mut file)?
    };
    file.publish().with_context(cannot)?;
    Ok(told)
}
