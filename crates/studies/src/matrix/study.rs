//! The directory of a matrix: its question, its parts, its cells.

use crate::cells::{count_until, machine, stats_of};
use iosonar_analyze::CellStats;
use iosonar_archive::{Archive, TOOL, remove_archive};
use iosonar_cells::{CellResult, Matrix, Question, Table};
use iosonar_host::other_writer;
use iosonar_host::output::check_absent;
use iosonar_inputs::Input;
use iosonar_os::bounded::{LIST_LIMIT, TEXT_LIMIT, read_text};
use iosonar_os::create::{new_dirs, new_file, write_whole};
use iosonar_runner::{Error, Session};
use iosonar_story::{MatrixFacts, matrix_story};
use iosonar_text::csv::Form;
use iosonar_text::shown;
use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Names in the directory.
const QUESTION: &str = "matrix.json";
/// Name of the file with the cells.
pub const CELLS: &str = "cells.json";
const CELLS_CSV: &str = "cells.csv";

/// A matrix, measured or in progress.
pub(super) struct Study {
    pub dir: PathBuf,
    pub question: Question,
    /// The cells measured so far.
    pub table: Table,
    /// Whether only this user can have written its question and its parts.
    pub is_own: bool,
    /// Locks the directory against other processes; `None` before it exists.
    pub lock: Option<File>,
    /// Form of the cells as CSV.
    csv_form: Form,
}

impl Study {
    /// Plans a new matrix; nothing is created yet.
    pub fn planned(session: &Session, question: Question, dir: PathBuf) -> Result<Study, Error> {
        check_absent("--out", &dir).map_err(Error::refused)?;
        let table = Table::empty(TOOL, &session.command);
        Ok(Study { dir, question, table, is_own: true, lock: None, csv_form: Form::default() })
    }

    /// Opens a started matrix. `typed` has to equal its question; without it, no other user may have written the question: it names files
    /// that are created and removed. It never permits destroying data.
    pub fn open(session: &Session, dir: &Path, typed: Option<&Question>) -> Result<Study, Error> {
        let text = read(dir, QUESTION, TEXT_LIMIT).map_err(|error| {
            error.context(format!("--resume {}: it is no directory of a matrix", shown(&dir)))
        })?;
        let question: Question = serde_json::from_str(&text)
            .map_err(|error| Error::refused(error).context(shown(&dir.join(QUESTION)).to_string()))?;
        if let Some(field) = typed.and_then(|typed| difference(typed, &question)) {
            return Err(Error::refused_because(format_args!(
                "--resume {}: its {field} are not those that were typed: give only --resume, or begin a new matrix with --out",
                shown(&dir)
            )));
        }
        let whose = other_writer([dir, &dir.join(QUESTION)]);
        if let Some(whose) = whose.as_ref().filter(|_| typed.is_none()) {
            return Err(Error::refused_because(format_args!(
                "--resume {}: {whose}, and it names the files to write: type FILE and all options of this matrix again, beside --resume",
                shown(&dir)
            )));
        }
        let question = Question { destroy: false, ..question };
        let table = match dir.join(CELLS).exists() {
            true => {
                let text = read(dir, CELLS, LIST_LIMIT)?;
                table_of(&dir.join(CELLS), &text)?
            }
            false => Table::empty(TOOL, &session.command),
        };
        let lock = Some(lock(&dir.join(QUESTION))?);
        Ok(Study {
            dir: dir.to_path_buf(),
            question,
            table,
            is_own: whose.is_none(),
            lock,
            csv_form: Form::default(),
        })
    }

    /// Sets the form of its cells as CSV.
    pub fn with_csv_form(self, csv_form: Form) -> Study {
        Study { csv_form, ..self }
    }

    /// Archives of its parts.
    pub fn parts(&self) -> impl Iterator<Item = PathBuf> + '_ {
        (1..).map(|number| self.dir.join(format!("part-{number}"))).take_while(|path| path.exists())
    }

    /// Counts the cells of parts that were killed before their cells were kept; returns their number. Unreadable cells are measured again.
    pub fn recover(&mut self) -> usize {
        let archives: Vec<Archive> = self.parts().filter_map(|part| Archive::open(&part).ok()).collect();
        let mut recovered = 0;
        for archive in archives {
            let info = archive.run().clone();
            let machine = machine(&archive);
            let Ok(input) = Input::of_archive(archive) else { continue };
            let Ok(stats) = stats_of(&input, &info, count_until(self.question.stonewall)) else { continue };
            let timed = self.question.timed;
            let found = stats.iter().filter_map(|stats| CellResult::of(stats, timed)).collect();
            let added = self.table.add_missing(found);
            if added > 0 {
                self.table.machine = machine;
            }
            recovered += added;
        }
        recovered
    }

    /// Creates the directory and writes the question, for a new matrix.
    pub fn create(&mut self) -> Result<(), Error> {
        let path = self.dir.join(QUESTION);
        if path.exists() {
            return Ok(());
        }
        let text = serde_json::to_string_pretty(&self.question).map_err(Error::broke)? + "\n";
        let written = new_dirs(&self.dir)
            .and_then(|_| new_file(&path))
            .and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| Error::refused(error).context(format!("cannot write {}", shown(&path))))?;
        self.lock = Some(lock(&path)?);
        Ok(())
    }

    /// Path of the next part's archive.
    pub fn next_part(&self) -> PathBuf {
        self.dir.join(format!("part-{}", self.parts().count() + 1))
    }

    /// Keeps the cells of a part, the description of the measurement, and the story of all cells.
    pub fn add(
        &mut self,
        stats: &[CellStats],
        matrix: &Matrix,
        describe: impl FnOnce(&mut Table),
    ) -> Result<(), Error> {
        let timed = self.question.timed;
        let found = stats.iter().filter_map(|stats| CellResult::of(stats, timed)).collect();
        self.table.replace(found);
        describe(&mut self.table);
        self.tell(matrix);
        self.keep()
    }

    /// Makes the story of all cells until now.
    pub fn tell(&mut self, matrix: &Matrix) {
        let dir = self.dir.to_string_lossy();
        let story = matrix_story(&MatrixFacts { table: &self.table, matrix, dir: &dir });
        self.table.story = Some(story);
    }

    /// Writes the table.
    pub fn keep(&self) -> Result<(), Error> {
        self.replace(CELLS, &self.table.to_json())?;
        self.replace(CELLS_CSV, &self.table.csv(self.csv_form))
    }

    /// Removes a part's archive.
    pub fn drop_part(&self, part: &Path) -> Result<(), Error> {
        remove_archive(part).map_err(Error::broke)
    }

    /// Replaces a file atomically: a reader finds all of the old one or all of the new one.
    fn replace(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.dir.join(name);
        let written = write_whole(&path, text.as_bytes());
        written.map_err(|error| Error::broke(error).context(format!("cannot write {}", shown(&path))))
    }
}

/// The text of a file of a matrix.
fn read(dir: &Path, name: &str, limit: u64) -> Result<String, Error> {
    let path = dir.join(name);
    read_text(&path, limit)
        .map_err(|unread| Error::refused_because(format_args!("{}: {unread}", shown(&path))))
}

/// The question in a directory of results, if it can be read.
pub fn asked(dir: &Path) -> Option<Question> {
    serde_json::from_str(&read(dir, QUESTION, TEXT_LIMIT).ok()?).ok()
}

/// Locks a matrix until the file is closed, also by the end of the process.
fn lock(question: &Path) -> Result<File, Error> {
    let name = shown(&question);
    let file = File::open(question).map_err(|error| Error::refused(error).context(name.to_string()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::refused_because(format_args!(
            "{name}: another process measures this matrix: wait for its end, or stop it"
        ))),
        // The file system has no locks: no other process can be kept out.
        Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// The first field in which two questions differ.
fn difference(typed: &Question, kept: &Question) -> Option<String> {
    let fields = |question: &Question| serde_json::to_value(question).unwrap_or_default();
    let (typed, kept) = (fields(typed), fields(kept));
    let typed = typed.as_object()?;
    // The handling of files does not change any figure.
    let decides = |name: &&String| !["keep", "destroy", "claim"].contains(&name.as_str());
    let mut fields = typed.iter().filter(|(name, _)| decides(name));
    fields.find(|(name, value)| kept.get(name.as_str()) != Some(*value)).map(|(name, _)| name.clone())
}

/// The table in a file, from its text.
pub(crate) fn table_of(file: &Path, cells: &str) -> Result<Table, Error> {
    Table::from_json(cells).map_err(|why| Error::refused_because(format_args!("{}: {why}", shown(&file))))
}
