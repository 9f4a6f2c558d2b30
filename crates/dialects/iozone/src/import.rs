//! Imports text that IOzone printed as a table of cells, so that old results can be compared with new ones.

use crate::columns::{Column, Unit, columns};
use crate::import_line::{Head, Throughput};
use crate::import_sheet::{Sheet, SheetError};
use iosonar_cells::{CellResult, TESTS, Table};
use std::collections::HashMap;

/// Maximum number of notes kept.
const MOST_NOTES: usize = 30;
/// Magics of workbooks of newer spreadsheets.
const ZIP: [u8; 4] = *b"PK\x03\x04";
const COMPOUND: [u8; 4] = [0xd0, 0xcf, 0x11, 0xe0];
/// Maximum number of notes repeated in an error.
const MOST_REASONS: usize = 3;

/// Results of IOzone, read from its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// Cells. Values that IOzone does not print are 0 or absent, and methods are empty.
    pub table: Table,
    /// Caveats: unreadable lines, with their numbers, and ignored parts.
    pub notes: Vec<String>,
}

/// Why a text contains no results.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// Figures in an unknown unit.
    #[error(
        "line {0}: the unit '{1}' is not known. kB/sec, operations per second (-O) and microseconds per operation (-N) can be \
         imported. Import the text output of IOzone 3."
    )]
    Unit(usize, String),
    /// No figures.
    #[error(
        "there are no figures of IOzone. The file has neither a table ('kB  reclen  write ...') nor reports of -R nor lines of \
         throughput mode. Import what IOzone prints to its standard output."
    )]
    NoTable,
    /// No line of figures is readable.
    #[error("there are figures of IOzone, and none that can be read: {0}")]
    NoneRead(String),
    /// An unsupported workbook.
    #[error("this is a workbook ({0}) whose cells are not read: name the text that iozone printed")]
    Workbook(&'static str),
    /// A worksheet of throughput mode.
    #[error(
        "this is a workbook of IOzone's throughput mode, which has neither file sizes nor numbers of streams: name the text that \
         it printed"
    )]
    Streams,
    /// A worksheet that is truncated or malformed.
    #[error("this is a damaged workbook of IOzone ({0}): name the text that it printed")]
    Sheet(SheetError),
    /// Neither text nor a workbook.
    #[error("it is neither text nor a workbook of IOzone")]
    NotText,
}

/// Whether the start of a file is that of IOzone's output, or of a workbook that it wrote.
pub fn is_iozones(head: &[u8]) -> bool {
    // No other importable format starts like these.
    is_printed(head) || head.starts_with(&ZIP) || head.starts_with(&COMPOUND)
}

/// Whether the start of a file is that of IOzone's output, or of its worksheet: workbooks of newer spreadsheets look like any of theirs.
pub fn is_printed(head: &[u8]) -> bool {
    if Sheet::is_at_start(head) {
        return true;
    }
    let text = String::from_utf8_lossy(head);
    let has_banner = text.contains("Iozone: Performance Test") || text.contains("IOzone's command line");
    let is_of_table = |line: &str| Head::of(unquoted(line)).is_some();
    let is_of_throughput = |line: &str| matches!(Throughput::of(unquoted(line)), Some(Throughput::Rate(..)));
    has_banner || text.lines().any(|line| is_of_table(line) || is_of_throughput(line))
}

/// Reads a file of IOzone 3: text as [`import`] does, or the worksheet of `-b`.
///
/// # Errors
/// Those of [`import`]; an unsupported workbook.
pub fn import_file(bytes: &[u8]) -> Result<Imported, ImportError> {
    match bytes {
        sheet if Sheet::is_at_start(sheet) => {
            let sheet = Sheet::read(sheet).map_err(ImportError::Sheet)?;
            if sheet.is_of_throughput() { Err(ImportError::Streams) } else { import(&sheet.to_text()) }
        }
        bytes if bytes.starts_with(&ZIP) => Err(ImportError::Workbook(".xlsx")),
        bytes if bytes.starts_with(&COMPOUND) => Err(ImportError::Workbook("newer .xls")),
        text if text.contains(&0) => Err(ImportError::NotText),
        // Mails are not always UTF-8; IOzone's own output is ASCII.
        text => import(&String::from_utf8_lossy(text)),
    }
}

/// Strips a mail's quotation marks from a line.
fn unquoted(line: &str) -> &str {
    let mut line = line;
    while let Some(rest) = line.trim_start().strip_prefix('>') {
        line = rest.strip_prefix(' ').unwrap_or(rest);
    }
    line
}

/// Reads text that IOzone 3 printed: tables, reports of `-R`, and throughput mode, even if quoted in a mail or with
/// collapsed blanks. Repeated cells are further repetitions.
///
/// # Errors
/// The unit of the figures is unknown, or there are no figures.
pub fn import(text: &str) -> Result<Imported, ImportError> {
    let mut reader = Reader::default();
    for (number, line) in text.lines().enumerate() {
        reader.line(number + 1, unquoted(line))?;
    }
    reader.finish()
}

/// State after the lines read so far.
#[derive(Default)]
struct Reader {
    command: String,
    results: Vec<CellResult>,
    /// Number of repetitions of each cell.
    repeats: HashMap<(&'static str, u64, u64, u32), u32>,
    place: OutputSection,
    /// The current output has a table, whose figures its reports repeat.
    has_table: bool,
    /// Command of the current output.
    current_command: String,
    /// Tests it selects; empty if it does not select any.
    selected: Vec<&'static str>,
    /// Unit of the figures, from banner and command.
    unit: Option<Unit>,
    /// Figures were read since: a following banner belongs to the next output.
    has_figures: bool,
    /// Units other than kB/sec found.
    converted: Vec<Unit>,
    /// File and record size of throughput mode, in KiB.
    sizes: Option<(u64, u64)>,
    zeros: usize,
    vectors: usize,
    repeated_reports: bool,
    throughput_reports: bool,
    notes: Vec<String>,
    more_notes: usize,
}

/// Part of the output that contains the line.
#[derive(Default)]
enum OutputSection {
    /// Neither in a table nor in a report.
    #[default]
    Elsewhere,
    /// Below the head of a table.
    Table(Head),
    /// In a report, with its test if its figures are wanted, and its record sizes.
    Report(Option<&'static Column>, Option<Vec<u64>>),
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), ImportError> {
        let trimmed = line.trim();
        if self.banner(number, trimmed)? {
            return Ok(());
        }
        if let Some((_, command)) = trimmed.split_once("Command line used:") {
            self.command(number, command.trim());
        } else if let Some(head) = Head::of(line) {
            if let Some(word) = &head.unknown {
                self.note(format!(
                    "line {number}: the column '{word}' is not known; it and all after it are ignored"
                ));
            }
            (self.place, self.has_table) = (OutputSection::Table(head), true);
        } else if let Some(title) = title(trimmed) {
            self.title(number, title);
        } else if let Some(line) = Throughput::of(trimmed) {
            self.throughput(number, line)?;
        } else if trimmed.starts_with("Excel output is below") || trimmed.starts_with("iozone test complete")
        {
            self.place = OutputSection::Elsewhere;
        } else if !trimmed.is_empty() {
            self.figures(number, line);
        }
        Ok(())
    }

    /// Takes the unit from a line of the banner; returns whether it is one. All modes also print "kBytes/sec".
    fn banner(&mut self, number: usize, line: &str) -> Result<bool, ImportError> {
        let lower = line.to_ascii_lowercase();
        let Some((before, words)) = lower.split_once("output is in ") else { return Ok(false) };
        // Reports repeat it in quotes.
        if before.ends_with('"') {
            return Ok(false);
        }
        let Some(unit) = Unit::named(words) else { return Err(other_unit(number, words)) };
        self.begin_output();
        if self.unit.is_none() || unit != Unit::KibPerSecond {
            self.unit = Some(unit);
        }
        Ok(true)
    }

    /// Forgets the unit of an output whose figures were read.
    fn begin_output(&mut self) {
        if std::mem::take(&mut self.has_figures) {
            self.unit = None;
        }
    }

    /// Starts an output.
    fn command(&mut self, number: usize, command: &str) {
        if self.command.is_empty() {
            self.command = command.into();
        } else if self.command != command {
            self.note(format!(
                "line {number}: another command: {command}; its cells are further repetitions"
            ));
        }
        self.current_command = command.into();
        self.begin_output();
        let has = |option: &str| command.split_whitespace().any(|word| word == option);
        match (has("-O"), has("-N")) {
            (true, _) => self.unit = Some(Unit::OpsPerSecond),
            (_, true) => self.unit = Some(Unit::MicrosecondsPerOp),
            _ => {}
        }
        self.selected = selected(command);
        (self.place, self.has_table, self.sizes) = (OutputSection::Elsewhere, false, None);
    }

    fn title(&mut self, number: usize, title: &str) {
        if title.starts_with("Throughput report") {
            self.throughput_reports = true;
            self.place = OutputSection::Report(None, None);
            return;
        }
        let is_report = |at: &usize| title[*at..].eq_ignore_ascii_case(" report");
        let name = title.len().checked_sub(" report".len()).filter(is_report).map_or("", |at| &title[..at]);
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
        self.place = OutputSection::Report(column.filter(|_| !self.has_table && !is_shifted), None);
    }

    /// With -E and a selection of tests, IOzone's reports of the further tests have figures of the wrong tests.
    fn is_shifted(&self, column: &Column) -> bool {
        let further = !columns(|_| false).iter().any(|classic| classic.test == column.test);
        let has = |option: &str| self.current_command.split_whitespace().any(|word| word == option);
        let selects = self.current_command.split_whitespace().any(|word| word.starts_with("-i"));
        further && has("-E") && selects
    }

    fn throughput(&mut self, number: usize, line: Throughput) -> Result<(), ImportError> {
        self.place = OutputSection::Elsewhere;
        match line {
            Throughput::Sizes(file, record) => self.sizes = Some((file, record)),
            Throughput::OtherUnit(unit) => return Err(other_unit(number, &unit)),
            Throughput::Unreadable => self.unreadable(number),
            Throughput::Rate(test, streams, figure, unit) => match self.sizes {
                Some(sizes) => self.push(test, sizes, streams, figure, unit),
                None => self.note(format!(
                    "line {number}: ignored, because no line before it has the sizes of files and records"
                )),
            },
        }
        Ok(())
    }

    /// Reads a line of a table or a report.
    fn figures(&mut self, number: usize, line: &str) {
        match std::mem::take(&mut self.place) {
            OutputSection::Elsewhere => {}
            OutputSection::Table(head) => {
                match head.row(line, &self.selected) {
                    Some(row) => {
                        let (sizes, unit) = ((row.file, row.record), self.unit());
                        let figures = row.figures.into_iter();
                        figures.for_each(|(test, figure)| self.push(test, sizes, 1, figure as f64, unit));
                    }
                    None => self.unreadable(number),
                }
                self.place = OutputSection::Table(head);
            }
            OutputSection::Report(Some(column), Some(records)) => {
                if !self.report_row(column, &records, line) {
                    self.unreadable(number);
                }
                self.place = OutputSection::Report(Some(column), Some(records));
            }
            OutputSection::Report(Some(column), None) => {
                let records: Option<Vec<u64>> = line.split_whitespace().map(quoted).collect();
                if records.is_none() {
                    self.unreadable(number);
                }
                self.place = records.map_or(OutputSection::Elsewhere, |sizes| {
                    OutputSection::Report(Some(column), Some(sizes))
                });
            }
            ignored @ OutputSection::Report(None, _) => self.place = ignored,
        }
    }

    /// Parses `"1024"   32  ""  128`: one figure per record size, or fewer. Returns whether it was readable.
    fn report_row(&mut self, column: &Column, records: &[u64], line: &str) -> bool {
        let mut words = line.split_whitespace();
        let Some(file) = words.next().and_then(quoted) else { return false };
        let figure =
            |word: &str| word.parse().ok().filter(|figure: &f64| figure.is_finite() && *figure >= 0.0);
        let figures: Option<Vec<Option<f64>>> =
            words.map(|word| if word == "\"\"" { Some(None) } else { figure(word).map(Some) }).collect();
        let Some(figures) = figures.filter(|figures| figures.len() <= records.len()) else { return false };
        for (record, figure) in records.iter().zip(figures) {
            if let Some(figure) = figure {
                self.push(column.test, (file, *record), 1, figure, self.unit());
            }
        }
        true
    }

    fn unit(&self) -> Unit {
        self.unit.unwrap_or(Unit::KibPerSecond)
    }

    fn push(
        &mut self,
        test: &'static str,
        (file, record): (u64, u64),
        streams: u32,
        figure: f64,
        unit: Unit,
    ) {
        self.has_figures = true;
        if figure <= 0.0 {
            self.zeros += 1;
            return;
        }
        if unit != Unit::KibPerSecond && has_vectors(test) {
            self.vectors += 1;
            return;
        }
        if unit != Unit::KibPerSecond && !self.converted.contains(&unit) {
            self.converted.push(unit);
        }
        let record_bytes = record.saturating_mul(1024);
        let (bytes_per_second, ops_per_second) = rates(figure, unit, record_bytes);
        let repeat = self.repeats.entry((test, file, record, streams)).or_default();
        self.results.push(CellResult {
            test: test.into(),
            file_bytes: file.saturating_mul(1024),
            record_bytes,
            streams,
            repeat: *repeat,
            bytes_per_second,
            kib_per_second: (bytes_per_second / 1024.0) as u64,
            ops_per_second,
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
            return Err(match self.notes.is_empty() {
                true => ImportError::NoTable,
                false => ImportError::NoneRead(
                    self.notes.into_iter().take(MOST_REASONS).collect::<Vec<_>>().join("; "),
                ),
            });
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
            (self.vectors > 0).then(|| {
                format!(
                    "{} figures of pwritev and preadv are ignored: an operation has several records there, so it gives no rate",
                    self.vectors
                )
            }),
            self.converted.contains(&Unit::OpsPerSecond).then(|| {
                "the figures are operations per second (-O): rates are these times the size of a record".to_string()
            }),
            self.converted.contains(&Unit::MicrosecondsPerOp).then(|| {
                "the figures are whole microseconds per operation (-N): rates are the size of a record divided by these, and as \
                 coarse"
                    .to_string()
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

/// Converts a figure to bytes and operations per second; IOzone's default unit has no operations.
fn rates(figure: f64, unit: Unit, record_bytes: u64) -> (f64, f64) {
    match unit {
        Unit::KibPerSecond => (figure * 1024.0, 0.0),
        Unit::OpsPerSecond => (figure * record_bytes as f64, figure),
        Unit::MicrosecondsPerOp => (1e6 / figure * record_bytes as f64, 1e6 / figure),
    }
}

/// Whether an operation of a test has several records.
fn has_vectors(test: &str) -> bool {
    test.ends_with('v')
}

/// Tests that a command of IOzone selects with `-i`, in table order.
fn selected(command: &str) -> Vec<&'static str> {
    let mut words = command.split_whitespace();
    let mut numbers: Vec<u8> = Vec::new();
    while let Some(word) = words.next() {
        let number = match word.strip_prefix("-i") {
            Some("") => words.next(),
            other => other,
        };
        numbers.extend(number.and_then(|number| number.parse::<u8>().ok()));
    }
    let is_selected = |column: &&Column| {
        TESTS.iter().any(|test| test.name == column.test && numbers.contains(&test.number))
    };
    columns(|_| true).into_iter().filter(is_selected).map(|column| column.test).collect()
}

fn other_unit(number: usize, unit: &str) -> ImportError {
    let unit = unit.trim_end_matches('"').trim();
    ImportError::Unit(number, unit.chars().filter(|c| !c.is_control()).take(40).collect())
}

/// Title of a report, without its quotes.
fn title(line: &str) -> Option<&str> {
    let title = line.strip_prefix('"')?.strip_suffix('"')?;
    (title.to_ascii_lowercase().contains(" report") && !title.contains('"')).then_some(title)
}

/// Parses a quoted number.
fn quoted(word: &str) -> Option<u64> {
    word.strip_prefix('"')?.strip_suffix('"')?.parse().ok()
}

#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;
