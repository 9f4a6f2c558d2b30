//! Text that IOzone printed becomes a table of cells, so that old results can be compared with new ones.

use crate::columns::{Column, columns};
use crate::import_line::{Head, Throughput};
use iosonar_campaign::{CellResult, Table};
use std::collections::HashMap;

/// Notes that are kept at most.
const MOST_NOTES: usize = 30;

/// Results of IOzone, read from its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The cells. What IOzone does not tell is 0 or absent, and methods are empty.
    pub table: Table,
    /// What to know before using them: lines that could not be read, with their numbers, and what was ignored.
    pub notes: Vec<String>,
}

/// Why a text holds no results.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// Figures of `-O`.
    #[error(
        "line {0}: the figures are operations per second. Only kB/sec can be imported. Run IOzone without -O."
    )]
    Operations(usize),
    /// Figures of `-N`.
    #[error(
        "line {0}: the figures are microseconds per operation. Only kB/sec can be imported. Run IOzone without -N."
    )]
    Microseconds(usize),
    /// Figures in a unit that is not known.
    #[error(
        "line {0}: the unit '{1}' is not known. Only kB/sec can be imported. Import the text output of IOzone 3."
    )]
    Unit(usize, String),
    /// No figures.
    #[error(
        "there are no figures of IOzone. The file has neither a table ('kB  reclen  write ...') nor reports of -R nor lines of \
         throughput mode. Import what IOzone prints to its standard output."
    )]
    NoTable,
}

/// Reads text that IOzone 3 printed: tables, reports of `-R`, and throughput mode. A cell that appears again is its next repetition.
///
/// # Errors
/// The figures are no rates in kB/sec, or there are none.
pub fn import(text: &str) -> Result<Imported, ImportError> {
    let mut reader = Reader::default();
    for (number, line) in text.lines().enumerate() {
        reader.line(number + 1, line)?;
    }
    reader.finish()
}

/// What the lines before amount to.
#[derive(Default)]
struct Reader {
    command: String,
    results: Vec<CellResult>,
    /// Repetitions of each cell.
    repeats: HashMap<(&'static str, u64, u64, u32), u32>,
    place: Place,
    /// The output that is being read has a table, whose figures its reports repeat.
    has_table: bool,
    /// The command of that output.
    current_command: String,
    /// Sizes of files and records of throughput mode, in KiB.
    sizes: Option<(u64, u64)>,
    zeros: usize,
    repeated_reports: bool,
    throughput_reports: bool,
    notes: Vec<String>,
    more_notes: usize,
}

/// Where in an output the line stands.
#[derive(Default)]
enum Place {
    /// Neither in a table nor in a report.
    #[default]
    Elsewhere,
    /// Below the head of a table.
    Table(Head),
    /// In a report, of a test if its figures are wanted; with the sizes of its records.
    Report(Option<&'static Column>, Option<Vec<u64>>),
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), ImportError> {
        let trimmed = line.trim();
        unit(number, trimmed)?;
        if let Some((_, command)) = trimmed.split_once("Command line used:") {
            self.command(number, command.trim());
        } else if let Some(head) = Head::of(line) {
            if let Some(word) = &head.unknown {
                self.note(format!(
                    "line {number}: the column '{word}' is not known; it and all after it are ignored"
                ));
            }
            (self.place, self.has_table) = (Place::Table(head), true);
        } else if let Some(title) = title(trimmed) {
            self.title(number, title);
        } else if let Some(line) = Throughput::of(trimmed) {
            self.throughput(number, line)?;
        } else if trimmed.starts_with("Excel output is below") || trimmed.starts_with("iozone test complete")
        {
            self.place = Place::Elsewhere;
        } else if !trimmed.is_empty() {
            self.figures(number, line);
        }
        Ok(())
    }

    /// An output begins.
    fn command(&mut self, number: usize, command: &str) {
        if self.command.is_empty() {
            self.command = command.into();
        } else if self.command != command {
            self.note(format!(
                "line {number}: another command: {command}; its cells are further repetitions"
            ));
        }
        self.current_command = command.into();
        (self.place, self.has_table, self.sizes) = (Place::Elsewhere, false, None);
    }

    fn title(&mut self, number: usize, title: &str) {
        if title.starts_with("Throughput report") {
            self.throughput_reports = true;
            self.place = Place::Report(None, None);
            return;
        }
        let name = title.strip_suffix(" report").unwrap_or_default();
        let column = columns(|_| true).into_iter().find(|column| column.title.eq_ignore_ascii_case(name));
        if column.is_some() && self.has_table {
            self.repeated_reports = true;
        }
        let is_shifted = column.is_some_and(|column| self.is_shifted(column));
        if is_shifted && !self.has_table {
            self.note(format!(
                "line {number}: \"{title}\" is ignored: with -E and -i IOzone prints figures of another test there"
            ));
        }
        self.place = Place::Report(column.filter(|_| !self.has_table && !is_shifted), None);
    }

    /// With -E and a selection of tests, IOzone's reports of the further tests hold figures of the wrong ones.
    fn is_shifted(&self, column: &Column) -> bool {
        let further = !columns(|_| false).iter().any(|classic| classic.test == column.test);
        let has = |option: &str| self.current_command.split_whitespace().any(|word| word == option);
        let selects = self.current_command.split_whitespace().any(|word| word.starts_with("-i"));
        further && has("-E") && selects
    }

    fn throughput(&mut self, number: usize, line: Throughput) -> Result<(), ImportError> {
        self.place = Place::Elsewhere;
        match line {
            Throughput::Sizes(file, record) => self.sizes = Some((file, record)),
            Throughput::OtherUnit(unit) => return Err(other_unit(number, &unit)),
            Throughput::Unreadable => self.unreadable(number),
            Throughput::Rate(test, streams, kib) => match self.sizes {
                Some(sizes) => self.push(test, sizes, streams, kib),
                None => self.note(format!(
                    "line {number}: ignored, because no line before it has the sizes of files and records"
                )),
            },
        }
        Ok(())
    }

    /// A line of a table or a report.
    fn figures(&mut self, number: usize, line: &str) {
        match std::mem::take(&mut self.place) {
            Place::Elsewhere => {}
            Place::Table(head) => {
                match head.row(line) {
                    Some(row) => {
                        let figures = row.figures.into_iter();
                        figures
                            .for_each(|(test, kib)| self.push(test, (row.file, row.record), 1, kib as f64));
                    }
                    None => self.unreadable(number),
                }
                self.place = Place::Table(head);
            }
            Place::Report(Some(column), Some(records)) => {
                if !self.report_row(column, &records, line) {
                    self.unreadable(number);
                }
                self.place = Place::Report(Some(column), Some(records));
            }
            Place::Report(Some(column), None) => {
                let records: Option<Vec<u64>> = line.split_whitespace().map(quoted).collect();
                if records.is_none() {
                    self.unreadable(number);
                }
                self.place =
                    records.map_or(Place::Elsewhere, |sizes| Place::Report(Some(column), Some(sizes)));
            }
            ignored @ Place::Report(None, _) => self.place = ignored,
        }
    }

    /// `"1024"   32  ""  128`: a figure for each size of the records, or fewer. Whether it could be read.
    fn report_row(&mut self, column: &Column, records: &[u64], line: &str) -> bool {
        let mut words = line.split_whitespace();
        let Some(file) = words.next().and_then(quoted) else { return false };
        let figures: Option<Vec<Option<u64>>> =
            words.map(|word| if word == "\"\"" { Some(None) } else { word.parse().ok().map(Some) }).collect();
        let Some(figures) = figures.filter(|figures| figures.len() <= records.len()) else { return false };
        for (record, figure) in records.iter().zip(figures) {
            if let Some(figure) = figure {
                self.push(column.test, (file, *record), 1, figure as f64);
            }
        }
        true
    }

    fn push(&mut self, test: &'static str, (file, record): (u64, u64), streams: u32, kib: f64) {
        if kib <= 0.0 {
            self.zeros += 1;
            return;
        }
        let repeat = self.repeats.entry((test, file, record, streams)).or_default();
        self.results.push(CellResult {
            test: test.into(),
            file_bytes: file.saturating_mul(1024),
            record_bytes: record.saturating_mul(1024),
            streams,
            repeat: *repeat,
            bytes_per_second: kib * 1024.0,
            kib_per_second: kib as u64,
            ..CellResult::default()
        });
        *repeat += 1;
    }

    fn unreadable(&mut self, number: usize) {
        self.note(format!("line {number}: cannot be read, ignored"));
    }

    fn note(&mut self, note: String) {
        match self.notes.len() < MOST_NOTES {
            true => self.notes.push(note),
            false => self.more_notes += 1,
        }
    }

    fn finish(mut self) -> Result<Imported, ImportError> {
        if self.results.is_empty() {
            return Err(ImportError::NoTable);
        }
        let more = self.more_notes;
        let further = [
            (more > 0).then(|| format!("and {more} notes more")),
            (self.zeros > 0).then(|| {
                format!(
                    "{} figures of 0 are ignored: IOzone prints 0 for what it did not measure",
                    self.zeros
                )
            }),
            self.repeated_reports
                .then(|| "the reports of -R are ignored: the table has their figures".to_string()),
            self.throughput_reports.then(|| {
                "throughput reports are ignored: they do not tell the number of streams".to_string()
            }),
        ];
        self.notes.extend(further.into_iter().flatten());
        let table = Table { results: self.results, ..Table::empty("IOzone (imported)", &self.command) };
        Ok(Imported { table, notes: self.notes })
    }
}

/// Checks the unit of a banner.
fn unit(number: usize, line: &str) -> Result<(), ImportError> {
    let lower = line.to_ascii_lowercase();
    match lower.split_once("output is in ") {
        Some((_, unit)) if !unit.starts_with("kbytes/sec") => Err(other_unit(number, unit)),
        _ => Ok(()),
    }
}

fn other_unit(number: usize, unit: &str) -> ImportError {
    let unit = unit.trim_end_matches('"').trim();
    match unit {
        _ if unit.starts_with("micro") || unit.starts_with("usec") => ImportError::Microseconds(number),
        _ if unit.starts_with("op") => ImportError::Operations(number),
        _ => ImportError::Unit(number, unit.chars().filter(|c| !c.is_control()).take(40).collect()),
    }
}

/// The title of a report, without its quotes.
fn title(line: &str) -> Option<&str> {
    let title = line.strip_prefix('"')?.strip_suffix('"')?;
    (title.contains(" report") && !title.contains('"')).then_some(title)
}

/// A number between quotes.
fn quoted(word: &str) -> Option<u64> {
    word.strip_prefix('"')?.strip_suffix('"')?.parse().ok()
}

#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;
