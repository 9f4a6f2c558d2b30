//! Where XDD's output goes: results, comma-separated results, the combined line, errors.

use crate::exit::Failure;
use crate::output::tell;
use anyhow::anyhow;
use iosonar_dialect_xdd::GlobalSettings;
use iosonar_engine::TargetReady;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Every place that output goes to, open.
pub struct Sinks {
    results: Box<dyn Write>,
    csv: Option<BufWriter<File>>,
    combined: Option<File>,
    errors: Option<File>,
    /// What an earlier run left in these is lost when there is something new.
    rewritten: Vec<File>,
}

impl Sinks {
    /// Opens all that the command line names, and changes nothing yet. None of it may be a target, or any
    /// block device.
    pub fn open(global: &GlobalSettings, targets: &[TargetReady]) -> Result<Sinks, Failure> {
        check_apart(global, targets)?;
        let create = |option: &str, name: &Option<String>| -> Result<Option<File>, Failure> {
            let open = |name: &String| {
                let file = File::options().write(true).create(true).truncate(false).open(name);
                file.map_err(|error| refuse(option, name, &error))
            };
            name.as_ref().map(open).transpose()
        };
        let append = |name: &String| {
            let file = File::options().append(true).create(true).open(name);
            file.map_err(|error| refuse("-combined", name, &error))
        };
        let output = create("-output", &global.output)?;
        let csv = create("-csvout", &global.csvout)?;
        let errors = create("-errout", &global.errout)?;
        let combined = global.combined.as_ref().map(append).transpose()?;
        let files = [&output, &csv, &errors].into_iter().flatten();
        let rewritten: io::Result<Vec<File>> = files.map(File::try_clone).collect();
        Ok(Sinks {
            results: match output {
                Some(file) => Box::new(BufWriter::new(file)),
                None => Box::new(BufWriter::new(io::stdout())),
            },
            csv: csv.map(BufWriter::new),
            combined,
            errors,
            rewritten: rewritten?,
        })
    }

    /// Empties the files of an earlier run; the combined line is added to what is there.
    pub fn begin(&mut self) -> io::Result<()> {
        for file in self.rewritten.drain(..) {
            // What is no file has nothing to lose.
            if file.metadata()?.is_file() {
                file.set_len(0)?;
            }
        }
        Ok(())
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

/// Refuses output that would go onto a target, or onto any block device.
fn check_apart(global: &GlobalSettings, targets: &[TargetReady]) -> Result<(), Failure> {
    let options = [
        ("-output", &global.output),
        ("-csvout", &global.csvout),
        ("-errout", &global.errout),
        ("-combined", &global.combined),
    ];
    for (option, name) in options.into_iter().filter_map(|(option, name)| Some((option, name.as_ref()?))) {
        let why = if std::fs::metadata(name).is_ok_and(|m| m.file_type().is_block_device()) {
            "it is a block device: name a file".to_string()
        } else if let Some(number) = targets.iter().position(|t| is_same(Path::new(name), t.path())) {
            format!("it is target {number}, whose data would be lost: name another file")
        } else {
            continue;
        };
        return Err(Failure::refused(anyhow!("{option} {name}: {why}")));
    }
    Ok(())
}

/// Whether two names are those of one file.
fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| path.metadata().ok().map(|m| (m.dev(), m.ino()));
    identity(one).is_some_and(|one| identity(other) == Some(one))
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
