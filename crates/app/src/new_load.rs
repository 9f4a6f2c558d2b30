//! Loads that commands make.

use crate::exit::Failure;
use crate::output::tell;
use crate::replace::{Replacement, is_special};
use anyhow::{Context, anyhow};
use flate2::{Compression, write::GzEncoder};
use std::io::{BufWriter, Write};
use std::path::Path;

/// Writes a load; the number of its requests, which `write` says and which is told of a file. Standard output where the path is `-`, gzip where it ends in `.gz`. A file that exists is
/// refused, and one that does not become whole is never there.
pub fn write(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<u64, Failure>,
) -> Result<u64, Failure> {
    if path.as_os_str() == "-" {
        let mut out = BufWriter::new(std::io::stdout().lock());
        let count = write(&mut out)?;
        out.flush()?;
        return Ok(count);
    }
    let count = write_quietly(path, write)?;
    tell(format_args!("{}: {count} requests", path.display()));
    Ok(count)
}

/// The same of a file, and nothing is told.
pub fn write_quietly(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<u64, Failure>,
) -> Result<u64, Failure> {
    let name = path.display();
    refuse_existing(path)?;
    let cannot = || format!("cannot write {name}");
    let mut file =
        Replacement::begin(path).with_context(|| format!("cannot make {name}")).map_err(Failure::refused)?;
    let count = if path.extension().is_some_and(|e| e == "gz") {
        let mut out = GzEncoder::new(&mut file, Compression::default());
        let count = write(&mut out)?;
        out.finish().with_context(cannot)?;
        count
    } else {
        write(&mut file)?
    };
    file.publish().with_context(cannot)?;
    Ok(count)
}

/// Refuses what exists, but for pipes and devices, which cannot be overwritten.
pub fn refuse_existing(path: &Path) -> Result<(), Failure> {
    if path.exists() && !is_special(path) {
        let why = "it exists already, and nothing is ever overwritten: name another file";
        return Err(Failure::refused(anyhow!("cannot make {}: {why}", path.display())));
    }
    Ok(())
}
