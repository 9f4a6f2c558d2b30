//! Directories for several outputs.

use super::{Existing, Gate, Output, OutputError, OutputName};
use iosonar_os::create::new_dirs;
use iosonar_os::made::Undo;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A directory of outputs, created if missing. On drop, everything created is removed unless it is kept.
#[derive(Debug)]
pub struct OutputFolder<'a> {
    gate: &'a Gate<'a>,
    name: OutputName,
    existing: Existing,
    /// Created directories and files, removed unless kept.
    made: Mutex<Undo>,
}

impl<'a> OutputFolder<'a> {
    /// Opens a directory, or creates it.
    ///
    /// # Errors
    /// Creation failed, or the path is something else.
    pub fn open(
        gate: &'a Gate<'a>,
        name: OutputName,
        existing: Existing,
    ) -> Result<OutputFolder<'a>, OutputError> {
        if !name.path.is_dir() && name.path.exists() {
            return Err(OutputError::NoDirectory { name });
        }
        let made = new_dirs(&name.path).map_err(|error| OutputError::of_io(&name, error))?;
        Ok(OutputFolder { gate, name, existing, made: Mutex::new(Undo::from(made)) })
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.name.path
    }

    /// Checks a file's name like [`Gate::check`].
    ///
    /// # Errors
    /// The file exists, or cannot be created.
    pub fn check(&self, file: &str) -> Result<(), OutputError> {
        self.gate.check(&self.name_of(file), self.existing)
    }

    /// Creates a file with the output of `fill`; returns its path.
    ///
    /// # Errors
    /// The file exists or cannot be created, or `fill` fails.
    pub fn write(
        &self,
        file: &str,
        fill: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<PathBuf, OutputError> {
        let name = self.name_of(file);
        let mut output: Output = self.gate.create(&name, self.existing)?;
        let written = fill(&mut output).and_then(|()| output.publish());
        if let Some(made) = written.map_err(|error| OutputError::of_io(&name, error))? {
            self.made.lock().unwrap_or_else(PoisonError::into_inner).push(made);
        }
        Ok(name.path)
    }

    /// Keeps everything.
    pub fn keep(self) {
        self.made.into_inner().unwrap_or_else(PoisonError::into_inner).keep();
    }

    fn name_of(&self, file: &str) -> OutputName {
        OutputName { option: self.name.option.clone(), path: self.name.path.join(file) }
    }
}
