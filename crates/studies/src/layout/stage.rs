//! The places of `layout run`'s files: a directory, or one scratch file system for each method. Everything is removed at the end, also
//! where a signal ends the program.

use super::question::Question;
use anyhow::{Context, anyhow};
use iosonar_cells::creation::{Experiment, Files, Method};
use iosonar_engine::MadeFiles;
use iosonar_os::create::new_dirs;
use iosonar_os::made::Made;
use iosonar_os::{free_space, open_to_inspect};
use iosonar_plan::ByteSize;
use iosonar_runner::{Error, Notice, Observer, Session, Stage as RunStage, abort};
use iosonar_scratch::{Aged, Leftovers, Scratch, ScratchError, Spec, remove_aged_leftovers};
use iosonar_text::shown;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The places of files.
pub struct Stage {
    /// Files of each method, in the order of methods.
    pub files: Vec<Vec<PathBuf>>,
    scratch: Option<Scratch>,
    aged: Option<Aged>,
    /// Created directories, unless a scratch file system holds them.
    made: Vec<Made>,
    /// Files created by the run.
    made_files: RefCell<Vec<MadeFiles>>,
    keep: bool,
    session: Session,
}

impl Stage {
    /// Creates file systems and free space as requested, and the directories of methods that have several. A stop of the session ends it.
    pub fn build(session: &Session, question: &Question, experiment: &Experiment) -> Result<Stage, Error> {
        let dir = question.dir.canonicalize().with_context(|| shown(&question.dir).to_string());
        let dir = dir.map_err(Error::refused)?;
        if !dir.is_dir() {
            return Err(Error::refused(anyhow!("{}: it is no directory", shown(&question.dir))));
        }
        let files: Vec<_> = experiment.methods.iter().map(|method| names(method, &dir)).collect();
        let spec = question.scratch.as_ref();
        if spec.is_none() {
            files.iter().flatten().try_for_each(|file| check_unused(file))?;
        }
        let leftovers = Leftovers::find(&dir).map_err(Error::refused)?;
        has_room(&dir, leftovers.bytes(), question, experiment)?;
        spec.map_or(Ok(()), Spec::check).map_err(Error::refused)?;
        // After all checks: a refused command changes nothing.
        session.observer.stage(RunStage::LookingAhead);
        remove(&session.observer, leftovers, &dir);
        let mut stage = Stage {
            files: Vec::new(),
            scratch: None,
            aged: None,
            made: Vec::new(),
            made_files: RefCell::default(),
            keep: question.keep,
            session: session.clone(),
        };
        match spec {
            Some(spec) => stage.add_file_systems(&dir, spec, question, experiment)?,
            None => {
                stage.aged = aged(question, &dir)?;
                stage.files = files;
                stage.make_dirs()?;
            }
        }
        stage.undo_on_abort();
        Ok(stage)
    }

    /// Returns an error if the session was stopped.
    pub fn check(&self) -> Result<(), Error> {
        self.session.observer.stage(RunStage::LookingAhead);
        self.session.control.signal().map_or(Ok(()), |signal| Err(Error::stopped(signal)))
    }

    /// Notes files created by the run: they are removed at the end.
    pub fn note_made(&self, made: Vec<MadeFiles>) {
        self.made_files.borrow_mut().extend(made);
        self.undo_on_abort();
    }

    fn add_file_systems(
        &mut self,
        dir: &Path,
        spec: &Spec,
        question: &Question,
        experiment: &Experiment,
    ) -> Result<(), Error> {
        let count = experiment.methods.len();
        let making = format!(
            "making {count} file systems of {} ({}) in {}",
            ByteSize(spec.size),
            spec.kind,
            shown(dir)
        );
        self.session.observer.notice(&Notice::Remark(&making));
        let mut scratch = Scratch::create(dir).map_err(Error::refused)?;
        let (remover, observer) = (scratch.remover(), self.session.observer.clone());
        abort::undo_on_abort(move || report_failed(&observer, remover.at_once()));
        for (number, method) in experiment.methods.iter().enumerate() {
            self.check()?;
            let name = format!("fs-{}", number + 1);
            let point = scratch.add(&name, spec).map_err(Error::refused)?;
            aged(question, &point)?;
            // Without this, an allocator may skip recently freed blocks.
            scratch.remount(&name).map_err(Error::refused)?;
            self.files.push(names(method, &point));
        }
        self.make_dirs()?;
        self.scratch = Some(scratch);
        Ok(())
    }

    fn make_dirs(&mut self) -> Result<(), Error> {
        for dir in self.files.iter().flatten().filter_map(|file| own_dir(file)) {
            let made = new_dirs(dir).with_context(|| format!("cannot create {}", shown(&dir)));
            self.made.extend(made.map_err(Error::refused)?);
        }
        Ok(())
    }

    fn undo_on_abort(&self) {
        let aged = self.aged.as_ref().map(Aged::remover);
        let remover = self.scratch.as_ref().map(Scratch::remover);
        let is_own = remover.is_none() && !self.keep;
        let dirs = if is_own { self.made.clone() } else { Vec::new() };
        let files = if is_own { self.made_files.borrow().clone() } else { Vec::new() };
        let observer = self.session.observer.clone();
        abort::undo_on_abort(move || {
            let files = files.iter().flat_map(MadeFiles::list);
            files.chain(dirs.iter().rev().cloned()).for_each(|made| drop(made.remove()));
            aged.iter().for_each(|remove| remove());
            remover.iter().for_each(|remover| report_failed(&observer, remover.at_once()));
        });
    }

    /// Whether the images of scratch file systems are read and written with direct I/O.
    pub fn image_direct(&self) -> Option<bool> {
        self.scratch.as_ref().map(Scratch::is_direct)
    }

    /// Removes everything created.
    pub fn remove(mut self) -> Result<(), Error> {
        let removed = self.clear();
        removed.map_err(Error::broke)
    }

    /// Removes as much as possible; returns the first error.
    fn clear(&mut self) -> anyhow::Result<()> {
        let (scratch, aged) = (self.scratch.take(), self.aged.take());
        let files: Vec<Made> = self.made_files.take().iter().flat_map(MadeFiles::list).collect();
        let dirs = std::mem::take(&mut self.made);
        let is_kept = self.keep || scratch.is_some();
        let made = files.iter().chain(dirs.iter().rev()).filter(|_| !is_kept);
        let mut removed: Vec<anyhow::Result<()>> =
            made.map(|made| made.remove().with_context(|| format!("{} stays", shown(made.path())))).collect();
        removed.extend(scratch.map(|scratch| Ok(scratch.remove()?)));
        removed.extend(aged.map(|aged| Ok(aged.remove()?)));
        self.files.clear();
        abort::nothing_to_undo();
        removed.into_iter().collect()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Err(error) = self.clear() {
            self.session.observer.notice(&Notice::Remark(&format!("{error:#}")));
        }
    }
}

/// Name of a file in a directory created for it; no other file has it.
const APART: &str = "file";

/// Refuses an existing file, and an existing directory for it.
fn check_unused(file: &Path) -> Result<(), Error> {
    match [own_dir(file), Some(file)].into_iter().flatten().find(|path| path.symlink_metadata().is_ok()) {
        Some(path) => Err(Error::refused(anyhow!(
            "{}: it exists: move it away, or measure in another directory",
            shown(&path)
        ))),
        None => Ok(()),
    }
}

/// The directory created for a file, if any.
fn own_dir(file: &Path) -> Option<&Path> {
    file.parent().filter(|_| file.ends_with(APART))
}

/// Paths of a method's files.
pub fn names(method: &Method, dir: &Path) -> Vec<PathBuf> {
    let name = |number: u32| match method.files {
        Files::One => dir.join(format!("iosonar-{method}")),
        Files::Apart(_) => dir.join(format!("iosonar-{method}-{number}.dir")).join(APART),
        Files::Together(_) | Files::InTurn(_) => dir.join(format!("iosonar-{method}-{number}")),
    };
    (1..=method.files.count()).map(name).collect()
}

/// Prepares free space, if requested.
fn aged(question: &Question, dir: &Path) -> Result<Option<Aged>, Error> {
    let aged = question.age.as_ref().map(|age| age.apply(dir)).transpose();
    aged.context("--age").map_err(Error::refused)
}

fn report_failed(observer: &Arc<dyn Observer>, removed: Result<(), ScratchError>) {
    if let Err(error) = removed {
        observer.notice(&Notice::Remark(&error.to_string()));
    }
}

/// Removes remains of killed runs in a directory, best effort.
fn remove(observer: &Arc<dyn Observer>, leftovers: Leftovers, dir: &Path) {
    let report = |text: String| observer.notice(&Notice::Remark(&text));
    for (path, removed) in leftovers.remove() {
        let path = shown(&path);
        report(match removed {
            Ok(()) => format!("{path} was left by a run that was killed: it is removed"),
            Err(why) => format!("{path} was left by a run that was killed, and stays: {why}"),
        });
    }
    match remove_aged_leftovers(dir) {
        Ok(0) => {}
        Ok(count) => report(format!(
            "{count} files for aged free space were left in {} by a run that was killed: they are removed",
            shown(dir)
        )),
        Err(why) => report(format!("{}: {why}", shown(dir))),
    }
}

/// Whether the files fit, to avoid runs that end with a full disk. `freed`: bytes taken by leftovers.
fn has_room(dir: &Path, freed: u64, question: &Question, experiment: &Experiment) -> Result<(), Error> {
    let cannot = || shown(&dir).to_string();
    let file = open_to_inspect(dir).with_context(cannot).map_err(Error::refused)?;
    let free = free_space(&file).with_context(cannot).map_err(Error::refused)?.saturating_add(freed);
    let files: u64 = experiment.files().map(u64::from).sum();
    let needed = ByteSize(experiment.size.0.saturating_mul(files));
    if needed.0 > free {
        return Err(Error::refused(anyhow!(
            "--size {}: {files} files need {needed}, and {} has {} free: use a smaller size, fewer methods, or another directory",
            experiment.size,
            shown(&question.dir),
            ByteSize(free >> 20 << 20)
        )));
    }
    let most = experiment.files().map(u64::from).max().unwrap_or(1);
    let of_one = ByteSize(experiment.size.0.saturating_mul(most));
    match question.scratch.as_ref().map(|spec| ByteSize(spec.size)).filter(|size| of_one >= *size) {
        Some(size) => Err(Error::refused(anyhow!(
            "--scratch {size}: the files of one method need {of_one}: make it larger"
        ))),
        None => Ok(()),
    }
}
