//! Where XDD's output goes: results, comma-separated results, the combined line, errors.

use crate::exit::Failure;
use crate::output::tell;
use anyhow::anyhow;
use iosonar_dialect_xdd::GlobalSettings;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};

/// Every place that output goes to, open.
pub struct Sinks {
    results: Box<dyn Write>,
    csv: Option<BufWriter<File>>,
    combined: Option<File>,
    errors: Option<File>,
}

impl Sinks {
    /// Opens all that the command line names. Files of an earlier run are written anew; the combined line is added.
    pub fn open(global: &GlobalSettings) -> Result<Sinks, Failure> {
        let create = |option: &str, name: &Option<String>| -> Result<Option<File>, Failure> {
            let open = |name: &String| File::create(name).map_err(|error| refuse(option, name, &error));
            name.as_ref().map(open).transpose()
        };
        let append = |name: &String| {
            let file = File::options().append(true).create(true).open(name);
            file.map_err(|error| refuse("-combined", name, &error))
        };
        Ok(Sinks {
            results: match create("-output", &global.output)? {
                Some(file) => Box::new(BufWriter::new(file)),
                None => Box::new(BufWriter::new(io::stdout())),
            },
            csv: create("-csvout", &global.csvout)?.map(BufWriter::new),
            combined: global.combined.as_ref().map(append).transpose()?,
            errors: create("-errout", &global.errout)?,
        })
    }

    /// Results as text. A reader that has seen enough is no failure.
    pub fn result(&mut self, text: &str) -> io::Result<()> {
        quiet(self.results.write_all(text.as_bytes()))
    }

    /// Results as comma-separated values.
    pub fn csv(&mut self, text: &str) -> io::Result<()> {
        self.csv.as_mut().map_or(Ok(()), |csv| csv.write_all(text.as_bytes()))
    }

    /// The combined line.
    pub fn combined(&mut self, line: &str) -> io::Result<()> {
        self.combined.as_mut().map_or(Ok(()), |file| file.write_all(line.as_bytes()))
    }

    /// An error message, without a newline.
    pub fn error(&mut self, text: &str) -> io::Result<()> {
        match &mut self.errors {
            Some(file) => writeln!(file, "xdd: {text}"),
            None => {
                tell(format_args!("xdd: {text}"));
                Ok(())
            }
        }
    }

    /// Results to write to directly.
    pub fn results(&mut self) -> &mut dyn Write {
        &mut self.results
    }

    /// Writes out what is held back.
    pub fn flush(&mut self) -> io::Result<()> {
        quiet(self.results.flush())?;
        self.csv.as_mut().map_or(Ok(()), |csv| csv.flush())
    }
}

fn refuse(option: &str, name: &str, error: &io::Error) -> Failure {
    Failure::refused(anyhow!("{option} {name}: it cannot be written: {error}"))
}

fn quiet(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
