//! File systems that are unmounted and mounted again between phases.

use super::prepared::Prepared;
use crate::error::PrepareError;
use crate::files::TargetFile;
use iosonar_host::Root;
use iosonar_host::remount::Remount;
use iosonar_plan::{Plan, Target};
use iosonar_text::shown;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Refuses impossible remounts before anything is touched.
pub(super) fn check_remounts(plan: &Plan, root: &Root) -> Result<(), PrepareError> {
    let directories: BTreeSet<&Path> =
        plan.phases.iter().filter_map(|phase| phase.remount.as_deref()).collect();
    directories.into_iter().try_for_each(|directory| {
        let remount = Remount::of(directory, root)?;
        let lies_there = |target: &Target| remount.holds(&target.path, root);
        match plan.targets.iter().any(lies_there) {
            true => Ok(()),
            false => Err(PrepareError::NothingToRemount(shown(directory).to_string())),
        }
    })
}

impl Prepared {
    /// Unmounts the file system on a directory and mounts it again. No loop runs, so only the targets have files open there.
    pub(crate) fn remount(&self, directory: &Path) -> Result<(), PrepareError> {
        let root = Root::default();
        let remount = Remount::of(directory, &root)?;
        let files = self.targets.iter().filter_map(|target| target.file());
        let there: Vec<&Arc<TargetFile>> =
            files.filter(|file| file.is_file() && remount.holds(file.name(), &root)).collect();
        let opened = |file: &TargetFile, error| PrepareError::Open { path: file.path(), error };
        there.iter().try_for_each(|file| file.let_go().map_err(|error| opened(file, error)))?;
        let done = remount.execute(&root);
        // Files of a mounted file system are opened again, so that the run can end in order.
        let back: Result<Vec<()>, PrepareError> =
            there.iter().map(|file| file.take_back().map_err(|error| opened(file, error))).collect();
        done.map_err(PrepareError::Remount).and(back.map(|_| ()))
    }
}
