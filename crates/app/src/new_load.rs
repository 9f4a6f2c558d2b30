//! Loads that commands make.

use crate::exit::Failure;
use crate::output::tell;
use crate::replace::{Replacement, is_special};
use anyhow::{Context, anyhow};
use flate2::{Compression, write::GzEncoder};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

/// Writes a load; the number of its requests, which `write` says and which is told of a file. Standard output where the path is `-`, gzip where it ends in `.gz`. A file that exists is
/// refused, and one that does not become whole is never there.
pub fn write(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<u64, Failure>,
) -> Result<u64, Failure> {
    if path.as_os_str() == "-" {
        let mut out = BufWriter::new(Named { out: std::io::stdout().lock(), name: "standard output".into() });
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
    let mut named = Named { out: &mut file, name: name.to_string() };
    let count = if path.extension().is_some_and(|e| e == "gz") {
        let mut out = GzEncoder::new(&mut named, Compression::default());
        let count = write(&mut out)?;
        out.finish().with_context(cannot)?;
        count
    } else {
        write(&mut named)?
    };
    file.publish().with_context(cannot)?;
    Ok(count)
}

/// Says in its errors what could not be written: the callers' closures have errors of many kinds.
struct Named<W> {
    out: W,
    name: String,
}

impl<W> Named<W> {
    fn named(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("cannot write {}: {error}", self.name))
    }
}

impl<W: Write> Write for Named<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).map_err(|error| match error.kind() {
            ErrorKind::Interrupted => error,
            _ => self.named(error),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush().map_err(|error| self.named(error))
    }
}

/// Refuses what exists, but for pipes and devices, which cannot be overwritten.
pub fn refuse_existing(path: &Path) -> Result<(), Failure> {
    if path.exists() && !is_special(path) {
        let why = "it exists already, and nothing is ever overwritten: name another file";
        return Err(Failure::refused(anyhow!("cannot make {}: {why}", path.display())));
    }
    Ok(())
}
