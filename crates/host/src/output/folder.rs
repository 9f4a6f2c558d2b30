//! Directories that several outputs go into.

use super::{Existing, Gate, Output, OutputError, OutputName};
use iosonar_os::create::new_dirs;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A directory of outputs, created if it was not there. Unless it is kept, everything that was created goes with this.
#[derive(Debug)]
pub struct OutputFolder<'a> {
    gate: &'a Gate<'a>,
    name: OutputName,
    existing: Existing,
    /// Directories that were created, outermost first.
    made: Vec<PathBuf>,
    /// Files that were created.
    created: Mutex<Vec<PathBuf>>,
}

impl<'a> OutputFolder<'a> {
    /// Takes a directory, or creates it.
    ///
    /// # Errors
    /// It cannot be created, or is something else.
    pub fn open(
        gate: &'a Gate<'a>,
        name: OutputName,
        existing: Existing,
    ) -> Result<OutputFolder<'a>, OutputError> {
        if !name.path.is_dir() && name.path.exists() {
            return Err(OutputError::NoDirectory { name });
        }
        let made = new_dirs(&name.path).map_err(|error| OutputError::of_io(&name, error))?;
        Ok(OutputFolder { gate, name, existing, made, created: Mutex::default() })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.name.path
    }

    /// Refuses a file's name as [`Gate::check`] does.
    ///
    /// # Errors
    /// The file exists, or cannot be created.
    pub fn check(&self, file: &str) -> Result<(), OutputError> {
        self.gate.check(&self.name_of(file), self.existing)
    }

    /// Creates a file with what `fill` writes; its path.
    ///
    /// # Errors
    /// The file exists or cannot be created, or `fill` fails.
    pub fn write(
        &self,
        file: &str,
        fill: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<PathBuf, OutputError> {
        let name = self.name_of(file);
        let is_new = name.path.symlink_metadata().is_err();
        let mut output: Output = self.gate.create(&name, self.existing)?;
        let written = fill(&mut output).and_then(|()| output.publish());
        written.map_err(|error| OutputError::of_io(&name, error))?;
        if is_new {
            self.created.lock().unwrap_or_else(PoisonError::into_inner).push(name.path.clone());
        }
        Ok(name.path)
    }

    /// Lets everything stay.
    pub fn keep(mut self) {
        self.made.clear();
        self.created.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn name_of(&self, file: &str) -> OutputName {
        OutputName { option: self.name.option.clone(), path: self.name.path.join(file) }
    }
}

impl Drop for OutputFolder<'_> {
    fn drop(&mut self) {
        // The error that ends the command matters more than what cannot be removed.
        let created = self.created.get_mut().unwrap_or_else(PoisonError::into_inner);
        created.iter().for_each(|file| drop(fs::remove_file(file)));
        self.made.iter().rev().for_each(|dir| drop(fs::remove_dir(dir)));
    }
}
