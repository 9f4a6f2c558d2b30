//! The offsets of requests, as issued (`--trace-offsets`).

use iosonar_inputs::Input;
use iosonar_plan::Cell;
use iosonar_studies::cells::for_each_transfer;
use std::io::{self, BufWriter, Write};

/// Prints a line for each request of a test, in the order of completion.
pub fn print_offsets(input: &Input, out: impl Write) -> anyhow::Result<()> {
    let mut out = BufWriter::new(out);
    let mut written = writeln!(out, "test  file kB  record kB  stream  operation  offset");
    for_each_transfer(input, |cell: &Cell, record| {
        if written.is_ok() {
            let (file, kb) = (cell.file.0 >> 10, cell.record.0 >> 10);
            let (stream, op, at) = (record.target, record.op, record.executed.offset);
            written = writeln!(out, "{}  {file}  {kb}  {stream}  {op}  {at}", cell.test);
        }
    })?;
    match written.and_then(|()| out.flush()) {
        // A reader that closes the pipe is no failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}
