//! Creates loads.

use crate::exit::Failure;
use crate::output::print_message;
use anyhow::Context;
use flate2::{Compression, write::GzEncoder};
use iosonar_host::output::{self, Output};
use iosonar_text::shown;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

/// Writes a load and reports the number of its requests, which `write` returns. The load goes to standard output if the path is `-`, and is
/// compressed with gzip if the path ends in `.gz`. An existing file is refused, and an incomplete load leaves no file. `option` names the
/// path in errors.
pub fn write(
    option: &str,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<u64, Failure>,
) -> Result<u64, Failure> {
    if path.as_os_str() == "-" {
        let mut out = BufWriter::new(Named { out: std::io::stdout().lock(), name: "standard output".into() });
        let count = write(&mut out)?;
        out.flush()?;
        return Ok(count);
    }
    let count = write_quietly(option, path, write)?;
    print_message(format_args!("{}: {count} requests", shown(&path)));
    Ok(count)
}

/// Writes a load to a file, without a report.
pub fn write_quietly(
    option: &str,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<u64, Failure>,
) -> Result<u64, Failure> {
    let cannot = || format!("cannot write {}", shown(&path));
    let mut file = create(option, path)?;
    let mut named = Named { out: &mut file, name: shown(path).to_string() };
    let count = if path.extension().is_some_and(|e| e == "gz") {
        let mut out = GzEncoder::new(&mut named, Compression::default());
        let count = write(&mut out)?;
        out.finish().with_context(cannot)?;
        count
    } else {
        write(&mut named)?
    };
    // Without requests the command fails, and leaves no file.
    if count > 0 {
        file.publish().with_context(cannot)?;
    }
    Ok(count)
}

/// Opens an output that must not exist.
pub fn create(option: &str, path: &Path) -> Result<Output, Failure> {
    output::create_new(option, path).map_err(Failure::refused)
}

/// Refuses an existing path: for outputs that are put in place by renaming.
pub fn check_absent(option: &str, path: &Path) -> Result<(), Failure> {
    output::check_absent(option, path).map_err(Failure::refused)
}

/// Names the output in its errors: the callers' closures have errors of many kinds.
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
