//! Destinations of XDD's output: results, comma-separated results, the combined line, errors, and the files of single queue threads.

use super::files::{Report, Thread};
use crate::exit::Failure;
use crate::output::print_message;
use iosonar_host::output::{Output, Reserved};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Write};

/// All destinations of output.
pub struct Sinks {
    pub(super) results: Output,
    pub(super) csv: Option<Output>,
    pub(super) combined: Option<Output>,
    pub(super) errors: Option<Output>,
    pub(super) reports: BTreeMap<Thread, Reserved>,
}

impl Sinks {
    /// Prints results as text. A closed pipe is no failure.
    pub fn result(&mut self, text: &str) -> io::Result<()> {
        quiet(self.results.write_all(text.as_bytes()))
    }

    /// Prints results as comma-separated values.
    pub fn csv(&mut self, text: &str) -> io::Result<()> {
        self.csv.as_mut().map_or(Ok(()), |csv| csv.write_all(text.as_bytes()))
    }

    /// Prints the combined line.
    pub fn combined(&mut self, line: &str) -> io::Result<()> {
        self.combined.as_mut().map_or(Ok(()), |file| file.write_all(line.as_bytes()))
    }

    /// Prints an error message, without a newline.
    pub fn error(&mut self, text: &str) -> io::Result<()> {
        match &mut self.errors {
            Some(file) => file.write_all(format!("xdd: {text}\n").as_bytes()),
            None => {
                print_message(format_args!("xdd: {text}"));
                Ok(())
            }
        }
    }

    /// Returns the destination of results for direct writes.
    pub fn results(&mut self) -> &mut dyn Write {
        &mut self.results
    }

    /// Writes a report of one queue thread, if it has a file; returns whether it has.
    pub fn report(
        &mut self,
        report: Report,
        target: u16,
        queue: u16,
        write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        let Some(reserved) = self.reports.remove(&(report, target, queue)) else { return Ok(false) };
        let mut file = reserved.open()?;
        write(&mut file)?;
        file.publish()?;
        Ok(true)
    }

    /// Flushes standard output and pipes.
    pub fn flush(&mut self) -> io::Result<()> {
        quiet(self.results.flush())?;
        self.csv.as_mut().map_or(Ok(()), |csv| csv.flush())
    }

    /// Publishes all files, which are complete, under their names. A failure does not prevent the others.
    pub fn publish(self) -> io::Result<()> {
        let results = quiet(self.results.publish().map(drop));
        let others = [self.csv, self.combined, self.errors].into_iter().flatten();
        others.map(|output| output.publish().map(drop)).fold(results, io::Result::and)
    }
}

fn quiet(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
