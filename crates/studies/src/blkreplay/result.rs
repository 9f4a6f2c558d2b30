//! The result of a run in blkreplay's form.

use iosonar_analyze::Passing;
use iosonar_archive::{Archive, Record};
use iosonar_dialect_blkreplay::{ExportError, Exported, export_observed};
use iosonar_plan::Nanos;
use std::io::{BufWriter, Write};

/// Bytes of the result that are written at once.
const TOGETHER: usize = 1 << 16;

/// Writes the result of a run, with due times increased by `later`. `seen` observes each record.
///
/// # Errors
/// The archive cannot be read, or the result cannot be written; then `out` may have a part of it.
pub fn write_result(
    stored: &Archive,
    later: Nanos,
    mut seen: Option<&mut Passing>,
    out: impl Write,
) -> Result<Exported, ExportError> {
    let mut observer = |record: &Record| {
        if let Some(seen) = &mut seen {
            seen.add(std::slice::from_ref(record));
        }
    };
    let mut out = BufWriter::with_capacity(TOGETHER, out);
    export_observed(stored, 0, later, &mut observer, &mut out)
}
