//! Where the files of `layout run` are: in a directory, or each method's on a file system of its own. Everything is removed at
//! the end, also where a signal ends the program.

use super::run::Stop;
use crate::exit::Failure;
use crate::layout_args::RunArgs;
use crate::output::print_message;
use crate::signals;
use anyhow::{Context, anyhow};
use iosonar_campaign::creation::{Experiment, Files, Method};
use iosonar_os::create::new_dirs;
use iosonar_os::{free_space, open_to_inspect};
use iosonar_plan::ByteSize;
use iosonar_scratch::{Aged, Scratch, ScratchError, Spec, remove_leftovers};
use iosonar_text::shown;
use std::path::{Path, PathBuf};

/// The places of files.
pub struct Stage {
    /// Of each method, in the order of methods.
    pub files: Vec<Vec<PathBuf>>,
    scratch: Option<Scratch>,
    aged: Option<Aged>,
    keep: bool,
}

impl Stage {
    /// Makes file systems and free space as wanted, and the directories of methods that have several.
    pub fn build(args: &RunArgs, experiment: &Experiment, stop: &Stop) -> Result<Stage, Failure> {
        let dir = args.dir.canonicalize().with_context(|| shown(&args.dir).to_string());
        let dir = dir.map_err(Failure::refused)?;
        if !dir.is_dir() {
            return Err(Failure::refused(anyhow!("{}: it is no directory", shown(&args.dir))));
        }
        for removed in remove_leftovers(&dir).map_err(Failure::refused)? {
            let removed = shown(&removed);
            print_message(format_args!(
                "iosonar: {removed} was left by a run that was killed: it is removed"
            ));
        }
        has_room(&dir, args, experiment)?;
        let mut stage = Stage { files: Vec::new(), scratch: None, aged: None, keep: args.keep };
        match args.scratch {
            Some(size) => stage.add_file_systems(&dir, size, args, experiment, stop)?,
            None => {
                let files: Vec<_> = experiment.methods.iter().map(|method| names(method, &dir)).collect();
                // What is there already is somebody's: it is not taken for what this run removes.
                files.iter().flatten().try_for_each(|file| check_unused(file))?;
                stage.aged = aged(args, &dir)?;
                stage.files = files;
            }
        }
        stage.undo_on_abort();
        stage.make_dirs()?;
        Ok(stage)
    }

    fn add_file_systems(
        &mut self,
        dir: &Path,
        size: ByteSize,
        args: &RunArgs,
        experiment: &Experiment,
        stop: &Stop,
    ) -> Result<(), Failure> {
        let count = experiment.methods.len();
        print_message(format_args!(
            "iosonar: making {count} file systems of {size} ({}) in {}",
            args.fs,
            shown(&dir)
        ));
        let spec = Spec {
            kind: args.fs,
            size: size.0,
            mkfs_options: words(args.mkfs_options.as_deref()),
            mount_options: args.mount_options.clone().unwrap_or_default(),
        };
        let mut scratch = Scratch::create(dir).map_err(Failure::refused)?;
        let remover = scratch.remover();
        signals::undo_on_abort(move || tell_failed(remover.at_once()));
        for (number, method) in experiment.methods.iter().enumerate() {
            stop.check()?;
            let name = format!("fs-{}", number + 1);
            let point = scratch.add(&name, &spec).map_err(Failure::refused)?;
            aged(args, &point)?;
            // Without this, an allocator may pass over what was freed a moment ago.
            scratch.remount(&name).map_err(Failure::refused)?;
            self.files.push(names(method, &point));
        }
        self.scratch = Some(scratch);
        Ok(())
    }

    /// Directories of methods whose files lie apart.
    fn dirs(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().flatten().filter_map(|file| own_dir(file))
    }

    fn make_dirs(&self) -> Result<(), Failure> {
        for dir in self.dirs() {
            new_dirs(dir)
                .with_context(|| format!("cannot create {}", shown(&dir)))
                .map_err(Failure::refused)?;
        }
        Ok(())
    }

    fn undo_on_abort(&self) {
        let remover = self.scratch.as_ref().map(Scratch::remover);
        let is_removed = remover.is_none() && !self.keep;
        let owned = |path: &Path| is_removed.then(|| path.to_path_buf());
        let files: Vec<PathBuf> = self.made().filter_map(owned).collect();
        let dirs: Vec<PathBuf> = self.dirs().filter_map(owned).collect();
        signals::undo_on_abort(move || {
            files.iter().for_each(|file| drop(std::fs::remove_file(file)));
            dirs.iter().for_each(|dir| drop(std::fs::remove_dir(dir)));
            remover.iter().for_each(|remover| tell_failed(remover.at_once()));
        });
    }

    /// Files that are removed at the end.
    fn made(&self) -> impl Iterator<Item = &Path> {
        let aged = self.aged.iter().flat_map(Aged::files);
        self.files.iter().flatten().chain(aged).map(PathBuf::as_path)
    }

    /// Whether the images of scratch file systems are read and written with direct I/O.
    pub fn image_direct(&self) -> Option<bool> {
        self.scratch.as_ref().map(Scratch::is_direct)
    }

    /// Removes what was made.
    pub fn remove(mut self) -> Result<(), Failure> {
        let removed = self.clear();
        removed.map_err(Failure::broke)
    }

    fn clear(&mut self) -> anyhow::Result<()> {
        let aged = self.aged.take();
        if let Some(scratch) = self.scratch.take() {
            scratch.remove()?;
        } else {
            if !self.keep {
                let remove = |file: &PathBuf| std::fs::remove_file(file);
                self.files.iter().flatten().filter(|file| file.exists()).try_for_each(remove)?;
                self.dirs().filter(|dir| dir.exists()).try_for_each(std::fs::remove_dir)?;
            }
            aged.into_iter().try_for_each(Aged::remove)?;
        }
        self.files.clear();
        signals::nothing_to_undo();
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Err(error) = self.clear() {
            print_message(format_args!("iosonar: {error:#}"));
        }
    }
}

/// Name of a file in a directory of its own; no other file has it.
const APART: &str = "file";

/// Refuses a file that exists, and one whose own directory does.
fn check_unused(file: &Path) -> Result<(), Failure> {
    match [own_dir(file), Some(file)].into_iter().flatten().find(|path| path.symlink_metadata().is_ok()) {
        Some(path) => Err(Failure::refused(anyhow!(
            "{}: it exists: move it away, or measure in another directory",
            shown(&path)
        ))),
        None => Ok(()),
    }
}

/// The directory of a file that has one of its own.
fn own_dir(file: &Path) -> Option<&Path> {
    file.parent().filter(|_| file.ends_with(APART))
}

/// Where the files of a method are.
pub fn names(method: &Method, dir: &Path) -> Vec<PathBuf> {
    let name = |number: u32| match method.files {
        Files::One => dir.join(format!("iosonar-{method}")),
        Files::Apart(_) => dir.join(format!("iosonar-{method}-{number}.dir")).join(APART),
        Files::Together(_) | Files::InTurn(_) => dir.join(format!("iosonar-{method}-{number}")),
    };
    (1..=method.files.count()).map(name).collect()
}

/// Prepares free space, if that is wanted.
fn aged(args: &RunArgs, dir: &Path) -> Result<Option<Aged>, Failure> {
    let aged = args.age.as_ref().map(|age| age.apply(dir)).transpose();
    aged.context("--age").map_err(Failure::refused)
}

fn tell_failed(removed: Result<(), ScratchError>) {
    if let Err(error) = removed {
        print_message(format_args!("iosonar: {error}"));
    }
}

fn words(text: Option<&str>) -> Vec<String> {
    text.unwrap_or_default().split_whitespace().map(String::from).collect()
}

/// Whether the files fit, so that nothing is begun that ends with a full disk.
fn has_room(dir: &Path, args: &RunArgs, experiment: &Experiment) -> Result<(), Failure> {
    let cannot = || shown(dir).to_string();
    let file = open_to_inspect(dir).with_context(cannot).map_err(Failure::refused)?;
    let free = free_space(&file).with_context(cannot).map_err(Failure::refused)?;
    let files: u64 = experiment.files().map(u64::from).sum();
    let needed = ByteSize(experiment.size.0.saturating_mul(files));
    if needed.0 > free {
        return Err(Failure::refused(anyhow!(
            "--size {}: {files} files need {needed}, and {} has {} free: use a smaller size, fewer methods, or another directory",
            experiment.size,
            shown(&args.dir),
            ByteSize(free >> 20 << 20)
        )));
    }
    let most = experiment.files().map(u64::from).max().unwrap_or(1);
    let of_one = ByteSize(experiment.size.0.saturating_mul(most));
    match args.scratch.filter(|size| of_one >= *size) {
        Some(size) => Err(Failure::refused(anyhow!(
            "--scratch {size}: the files of one method need {of_one}: make it larger"
        ))),
        None => Ok(()),
    }
}
