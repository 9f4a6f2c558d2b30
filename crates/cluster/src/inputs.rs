//! Files that a plan reads, for machines that do not have them.

use crate::protocol::InputFile;
use crate::sent_program::hash_of;
use iosonar_plan::Plan;
use iosonar_text::shown;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Input files of the targets on other machines, with their hashes.
#[derive(Debug, Default)]
pub(crate) struct InputFiles(BTreeMap<PathBuf, InputFile>);

impl InputFiles {
    /// Reads each of them once.
    ///
    /// # Errors
    /// A file cannot be read; the error names it.
    pub(crate) fn of(plan: &Plan) -> io::Result<InputFiles> {
        let is_elsewhere = |number: &u16| plan.targets[usize::from(*number)].executor.host().is_some();
        let elsewhere: Vec<u16> = plan.parts().into_iter().flatten().filter(is_elsewhere).collect();
        let read = |path: &Path| Ok((path.to_path_buf(), input_file(path)?));
        plan.input_files(&elsewhere).into_iter().map(read).collect::<io::Result<_>>().map(InputFiles)
    }

    /// Those of some targets.
    pub(crate) fn for_targets(&self, plan: &Plan, targets: &[u16]) -> Vec<InputFile> {
        plan.input_files(targets).into_iter().filter_map(|path| self.0.get(path).cloned()).collect()
    }
}

/// A file that is sent, with its hash.
///
/// # Errors
/// It cannot be read; the error names it.
pub(crate) fn input_file(path: &Path) -> io::Result<InputFile> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", shown(&path)));
    let (hash, bytes) = hash_of(path).map_err(named)?;
    Ok(InputFile { path: path.into(), hash, bytes })
}
