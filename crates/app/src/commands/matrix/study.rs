//! The directory of a matrix: its question, its parts, its cells.

use super::super::cells::{count_until, stats_of};
use crate::exit::Failure;
use crate::new_load::check_absent;
use crate::output::unused_dated;
use anyhow::{Context, anyhow};
use iosonar_analyze::CellStats;
use iosonar_archive::{Archive, TOOL, remove_archive};
use iosonar_campaign::{CellResult, Question, Table};
use iosonar_host::other_writer;
use iosonar_os::bounded::{LIST_LIMIT, TEXT_LIMIT, read_text};
use iosonar_os::create::{new_dirs, new_file, write_whole};
use iosonar_text::csv::Form;
use iosonar_text::shown;
use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Names in the directory.
const QUESTION: &str = "matrix.json";
pub const CELLS: &str = "cells.json";
const CELLS_CSV: &str = "cells.csv";

/// A matrix, measured or in progress.
pub struct Study {
    pub dir: PathBuf,
    pub question: Question,
    /// The cells measured so far.
    pub table: Table,
    /// Whether only this user can have written its question and its parts.
    pub is_own: bool,
    /// Locks the directory against other processes; `None` before it exists.
    lock: Option<File>,
    /// Form of the cells as CSV.
    csv_form: Form,
}

impl Study {
    /// Plans a new matrix; nothing is created yet.
    pub fn planned(question: Question, out: Option<PathBuf>) -> Result<Study, Failure> {
        let dir = out.unwrap_or_else(|| unused_dated("matrix"));
        check_absent("--out", &dir)?;
        let table = Table::empty(TOOL, &crate::session::command_line());
        Ok(Study { dir, question, table, is_own: true, lock: None, csv_form: Form::default() })
    }

    /// Opens a started matrix. `typed` has to equal its question; without it, no other user may have written the question: it names files
    /// that are created and removed. It never permits destroying data.
    pub fn open(dir: &Path, typed: Option<&Question>) -> Result<Study, Failure> {
        let asked = read(dir, QUESTION, TEXT_LIMIT)
            .with_context(|| format!("--resume {}: it is no directory of a matrix", shown(&dir)));
        let question: Question = asked
            .and_then(|text| {
                serde_json::from_str(&text).with_context(|| shown(&dir.join(QUESTION)).to_string())
            })
            .map_err(Failure::refused)?;
        if let Some(field) = typed.and_then(|typed| difference(typed, &question)) {
            return Err(Failure::refused(anyhow!(
                "--resume {}: its {field} are not those that were typed: give only --resume, or begin a new matrix with --out",
                shown(&dir)
            )));
        }
        let whose = other_writer([dir, &dir.join(QUESTION)]);
        if let Some(whose) = whose.as_ref().filter(|_| typed.is_none()) {
            return Err(Failure::refused(anyhow!(
                "--resume {}: {whose}, and it names the files to write: type FILE and all options of this matrix again, beside --resume",
                shown(&dir)
            )));
        }
        let question = Question { destroy: false, ..question };
        let table = match dir.join(CELLS).exists() {
            true => {
                let text = read(dir, CELLS, LIST_LIMIT).map_err(Failure::refused)?;
                Table::from_json(&text)
                    .map_err(|why| Failure::refused(anyhow!("{}: {why}", shown(&dir.join(CELLS)))))?
            }
            false => Table::empty(TOOL, &crate::session::command_line()),
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
            let machine = super::machine(&archive);
            let Ok(stats) = stats_of(archive, &info, count_until(self.question.stonewall)) else { continue };
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
    pub fn create(&mut self) -> Result<(), Failure> {
        let path = self.dir.join(QUESTION);
        if path.exists() {
            return Ok(());
        }
        let text = serde_json::to_string_pretty(&self.question).map_err(anyhow::Error::from)? + "\n";
        let written = new_dirs(&self.dir)
            .and_then(|_| new_file(&path))
            .and_then(|mut file| file.write_all(text.as_bytes()));
        written.with_context(|| format!("cannot write {}", shown(&path))).map_err(Failure::refused)?;
        self.lock = Some(lock(&path)?);
        Ok(())
    }

    /// Path of the next part's archive.
    pub fn next_part(&self) -> PathBuf {
        self.dir.join(format!("part-{}", self.parts().count() + 1))
    }

    /// Keeps the cells of a part, and the description of the measurement.
    pub fn add(&mut self, stats: &[CellStats], describe: impl FnOnce(&mut Table)) -> Result<(), Failure> {
        let timed = self.question.timed;
        let found = stats.iter().filter_map(|stats| CellResult::of(stats, timed)).collect();
        self.table.replace(found);
        describe(&mut self.table);
        self.keep()
    }

    /// Writes the table.
    pub fn keep(&self) -> Result<(), Failure> {
        self.replace(CELLS, &self.table.to_json())?;
        self.replace(CELLS_CSV, &self.table.csv(self.csv_form))
    }

    /// The test files in words: the first, and the number of others.
    pub fn files(&self) -> String {
        let first = self.question.files.first().map(|file| shown(file).to_string()).unwrap_or_default();
        match self.question.files.len() {
            0 | 1 => first,
            many => format!("{first} and {} more", many - 1),
        }
    }

    /// The method of measurement, in words.
    pub fn how(&self) -> String {
        let asked = &self.question;
        let cache = if asked.cold { "evicted before each test that reads" } else { "not evicted" };
        let words = [
            (asked.repeat == 1, "measured once, in random order".into()),
            (asked.repeat > 1, format!("{} repetitions in random order", asked.repeat)),
            (true, format!("files {cache}")),
            (asked.direct, "O_DIRECT".into()),
            (asked.sync.is_set(), asked.sync.name().into()),
            (asked.depth > 1, format!("up to {} requests in flight", asked.depth)),
            (asked.timed.fsync, "time includes the flush".into()),
            (asked.timed.close, "time includes closing".into()),
        ];
        words.into_iter().filter(|(holds, _)| *holds).map(|(_, word)| word).collect::<Vec<_>>().join(", ")
    }

    /// The question in a directory, if readable.
    pub fn asked(dir: &Path) -> Option<Question> {
        serde_json::from_str(&read(dir, QUESTION, TEXT_LIMIT).ok()?).ok()
    }

    /// Removes a part's archive.
    pub fn drop_part(&self, part: &Path) -> Result<(), Failure> {
        remove_archive(part).map_err(Failure::broke)
    }

    /// Replaces a file atomically: a reader finds all of the old one or all of the new one.
    pub fn replace(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.dir.join(name);
        let written = write_whole(&path, text.as_bytes());
        written.with_context(|| format!("cannot write {}", shown(&path))).map_err(Failure::broke)
    }
}

/// The text of a file of a matrix.
fn read(dir: &Path, name: &str, limit: u64) -> anyhow::Result<String> {
    let path = dir.join(name);
    read_text(&path, limit).map_err(|unread| anyhow!("{}: {unread}", shown(&path)))
}

/// Locks a matrix until the file is closed, also by the end of the process.
fn lock(question: &Path) -> Result<File, Failure> {
    let name = shown(&question);
    let file = File::open(question).with_context(|| name.to_string()).map_err(Failure::refused)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Failure::refused(anyhow!(
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
