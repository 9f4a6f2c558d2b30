//! The cells that are measured, with the matrix that they belong to.

use iosonar_archive::RunInfo;
use iosonar_cells::{Matrix, Question as Asked, Table};
use iosonar_plan::Executor;
use iosonar_text::shown;
use std::fs::File;
use std::path::PathBuf;

/// All cells until now.
#[derive(Debug)]
pub struct Answer {
    /// Directory of the results.
    pub dir: PathBuf,
    /// The question, as the directory keeps it.
    pub asked: Asked,
    /// The cells.
    pub table: Table,
    /// The matrix.
    pub matrix: Matrix,
    /// The part that was measured now; `None` if no cell was missing.
    pub part: Option<MatrixRun>,
    /// Keeps other processes out while files are added to the directory.
    pub(super) _lock: Option<File>,
}

/// A run that measured cells.
#[derive(Debug)]
pub struct MatrixRun {
    /// How it ended.
    pub info: RunInfo,
    /// Cells that are missing after it.
    pub missing: usize,
    /// Whether its figures are not what they claim to be.
    pub is_fake: bool,
}

impl Answer {
    /// The cells as `cells.json` keeps them.
    pub fn json(&self) -> String {
        self.table.to_json()
    }

    /// The test files in words: the first, and the number of others.
    pub fn files(&self) -> String {
        let first = self.asked.files.first().map(|file| shown(file).to_string()).unwrap_or_default();
        match self.asked.files.len() {
            0 | 1 => first,
            many => format!("{first} and {} more", many - 1),
        }
    }

    /// The method of measurement, in words.
    pub fn how(&self) -> String {
        let asked = &self.asked;
        let cache = if asked.cold { "evicted before each test that reads" } else { "not evicted" };
        let hosts: Vec<String> = asked.executors.iter().filter_map(Executor::place).collect();
        let words = [
            (!hosts.is_empty(), format!("streams on {}", shown(&hosts.join(", ")))),
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
}
