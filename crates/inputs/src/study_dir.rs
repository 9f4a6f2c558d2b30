//! Directories that hold the answer of a study, and its runs: they are not runs themselves.

use iosonar_archive::{Archive, ArchiveError};
use iosonar_text::{shell, shown};
use std::fmt;
use std::path::{Path, PathBuf};

/// The question of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StudyKind {
    /// Saturation of a target.
    Knee,
    /// File operations over sizes.
    Matrix,
    /// Ways to create a file.
    Layout,
}

impl StudyKind {
    const ALL: [StudyKind; 3] = [StudyKind::Knee, StudyKind::Matrix, StudyKind::Layout];

    /// The command that runs it.
    pub fn command(self) -> &'static str {
        match self {
            StudyKind::Knee => "iosonar knee",
            StudyKind::Matrix => "iosonar matrix",
            StudyKind::Layout => "iosonar layout run",
        }
    }

    /// The file with the answer.
    pub fn answer(self) -> &'static str {
        match self {
            StudyKind::Knee => "knee.json",
            StudyKind::Matrix => "cells.json",
            StudyKind::Layout => "layout.json",
        }
    }

    /// The page and the picture of the answer. A directory of an earlier version may have no page.
    fn views(self) -> &'static [&'static str] {
        match self {
            StudyKind::Knee => &["knee.html", "knee.png"],
            StudyKind::Matrix => &["matrix.html"],
            StudyKind::Layout => &["layout.html", "layout.png"],
        }
    }
}

/// A directory with the answer of a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Study {
    /// Its question.
    pub kind: StudyKind,
    dir: PathBuf,
    /// Name of the first directory in it that is a run.
    run: Option<String>,
}

impl Study {
    /// Opens a directory; `None` if it has no such answer, or is a run.
    pub fn of(dir: &Path) -> Option<Study> {
        let kind = StudyKind::ALL.into_iter().find(|kind| dir.join(kind.answer()).is_file())?;
        let names = dir.read_dir().ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut runs: Vec<String> = names.filter(|name| Archive::open(&dir.join(name)).is_ok()).collect();
        runs.sort_unstable();
        Some(Study { kind, dir: dir.into(), run: runs.into_iter().next() })
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The file with the answer.
    pub fn file(&self) -> PathBuf {
        self.dir.join(self.kind.answer())
    }
}

impl fmt::Display for Study {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dir = shown(&self.dir);
        write!(f, "{dir} is the answer of '{}', and no single run: it stands in ", self.kind.command())?;
        let views = self.kind.views().iter().filter(|name| self.dir.join(name).is_file());
        let files: Vec<String> =
            [self.kind.answer()].iter().chain(views).map(|name| format!("{dir}/{name}")).collect();
        match files.split_last() {
            Some((last, rest)) if !rest.is_empty() => write!(f, "{} and {last}", rest.join(", "))?,
            _ => f.write_str(&files.concat())?,
        }
        match &self.run {
            Some(run) => write!(f, "; one of its runs is {dir}/{run}"),
            None => Ok(()),
        }
    }
}

/// Opens the archive of a run; for a study the error names it and its runs.
///
/// # Errors
/// It is not an archive, or cannot be read.
pub fn open_archive(dir: &Path) -> Result<Archive, OpenArchiveError> {
    Archive::open(dir).map_err(|error| match (&error, Study::of(dir)) {
        (ArchiveError::NoArchive(_), Some(study)) => OpenArchiveError::Study(study),
        _ => OpenArchiveError::Archive(error),
    })
}

/// Opens the archive of a run, of which single requests are needed.
///
/// # Errors
/// It is not an archive, or cannot be read, or its records stay elsewhere.
pub fn open_records(dir: &Path) -> Result<Archive, OpenArchiveError> {
    let archive = open_archive(dir)?;
    match archive.has_counts_only() {
        true => Err(OpenArchiveError::Elsewhere(Elsewhere::of(dir))),
        false => Ok(archive),
    }
}

/// A run whose records stay on the hosts that executed it.
#[derive(Debug, thiserror::Error)]
#[error("{name}: its records are on the hosts: fetch them with 'iosonar collect {command}' first")]
pub struct Elsewhere {
    name: String,
    command: String,
}

impl Elsewhere {
    pub(crate) fn of(dir: &Path) -> Elsewhere {
        Elsewhere { name: shown(&dir).to_string(), command: shell::quoted(&dir.to_string_lossy()) }
    }
}

/// Why a directory cannot be opened as a run.
#[derive(Debug, thiserror::Error)]
pub enum OpenArchiveError {
    /// It is not a run, or cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// It has several runs.
    #[error("{0}")]
    Study(Study),
    /// Its records stay elsewhere.
    #[error(transparent)]
    Elsewhere(#[from] Elsewhere),
}
