//! Which ways to create files are compared, and where.

use anyhow::anyhow;
use iosonar_cells::creation::{Experiment, Method};
use iosonar_plan::{ByteSize, Nanos};
use iosonar_runner::{Error, new_run_id};
use iosonar_scratch::{Age, Spec};
use std::path::PathBuf;

/// Files are created in several ways, and scanned.
#[derive(Debug, Clone)]
pub struct Question {
    /// Directory on the file system to measure, or for the images of scratch file systems.
    pub dir: PathBuf,
    /// Size of each file.
    pub size: ByteSize,
    /// The ways to create files.
    pub methods: Vec<Method>,
    /// A new file system for each method; `None`: the one of `dir`.
    pub scratch: Option<Spec>,
    /// Prepared free space.
    pub age: Option<Age>,
    /// Size of the reads of scans.
    pub scan_size: ByteSize,
    /// Whether scans use direct I/O.
    pub scan_direct: bool,
    /// Scans of each file, of which the first is not compared.
    pub rounds: u32,
    /// Seed of orders, data and prepared free space.
    pub seed: u64,
    /// Interval between samples of the machine's counters.
    pub sample_every: Nanos,
    /// Whether the files are kept.
    pub keep: bool,
    /// Directory of the results, which must not exist.
    pub out: PathBuf,
    /// Whether words of `layout.csv` that a spreadsheet would take for formulas get an apostrophe.
    pub csv_safe: bool,
}

impl Question {
    /// The experiment that answers the question.
    pub(super) fn experiment(&self) -> Result<Experiment, Error> {
        let methods = self.methods.clone();
        let is_named_before = |(n, method): &(usize, &Method)| methods[..*n].contains(method);
        if let Some((_, twice)) = methods.iter().enumerate().find(is_named_before) {
            return Err(Error::refused(anyhow!("--methods: '{twice}' is named twice: remove one of them")));
        }
        for (option, size) in [("--size", self.size), ("--scan-size", self.scan_size)] {
            if size.0 == 0 {
                return Err(Error::refused(anyhow!("{option} 0: it must be above 0")));
            }
        }
        Ok(Experiment {
            methods,
            size: self.size,
            scan_record: self.scan_size,
            scan_direct: self.scan_direct,
            rounds: self.rounds,
            seed: self.seed,
            sample_every: self.sample_every,
            run_id: new_run_id(),
        })
    }
}
