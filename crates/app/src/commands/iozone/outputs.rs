//! Output files of IOzone's reports.

use crate::exit::Failure;
use iosonar_cells::{Matrix, Table};
use iosonar_dialect_iozone::{LogName, Logs, Settings, WorkbookForm};
use iosonar_host::Root;
use iosonar_host::output::{Existing, Gate, OutputError, OutputName, Reserved, Role};
use iosonar_inputs::Input;
use iosonar_studies::request_logs;
use iosonar_text::csv;
use std::io::Write;
use std::path::Path;

/// All output files, tested before the run: none exists, is a target or an input, and none is named twice.
pub struct Reservations {
    json: Option<Reserved>,
    csv: Option<Reserved>,
    /// With the form selected by the name.
    workbook: Option<(Reserved, WorkbookForm)>,
    /// Log files, whose names are fixed.
    logs: Vec<(LogName, Reserved)>,
}

impl Reservations {
    /// Tests all files that the command line names.
    pub fn of<'a>(
        settings: &Settings,
        matrix: &Matrix,
        targets: impl Iterator<Item = &'a Path>,
    ) -> Result<Reservations, Failure> {
        let root = Root::default();
        let mut gate = Gate::new(&root);
        for (option, file) in settings.input_files() {
            gate.forbid(Path::new(file), Role::Input(option.into()));
        }
        targets.enumerate().for_each(|(number, path)| gate.forbid(path, Role::Target(number)));
        let mut reserve = |option: &str, name: &Option<String>| {
            let reserve = |name: &String| gate.reserve(&OutputName::new(option, name), Existing::Keep);
            name.as_ref().map(reserve).transpose().map_err(Failure::refused)
        };
        let form = settings.workbook.as_ref().map(|name| WorkbookForm::of(name));
        let json = reserve("--json", &settings.json)?;
        let csv = reserve("--csv", &settings.csv)?;
        let workbook = reserve("-b", &settings.workbook)?.zip(form);
        // The user has not typed these names, so not even a pipe is taken.
        let mut reserve = |log: LogName| {
            let name = OutputName::new(log.option, &log.file);
            gate.check_absent(&name)?;
            gate.reserve(&name, Existing::Keep).map(|reserved| (log, reserved))
        };
        let logs = settings.logs(matrix).into_iter().map(&mut reserve);
        let logs = logs.collect::<Result<_, OutputError>>().map_err(Failure::refused)?;
        Ok(Reservations { json, csv, workbook, logs })
    }

    /// Whether cells go to standard output, so that the table does not.
    pub fn takes_standard_output(&self) -> bool {
        [&self.json, &self.csv].into_iter().flatten().any(Reserved::is_standard_output)
    }

    /// Fills the log files from the requests of a run.
    pub fn write_logs(&mut self, input: &Input, started_unix_ns: u64) -> Result<(), Failure> {
        if self.logs.is_empty() {
            return Ok(());
        }
        let open = |(name, reserved): (LogName, Reserved)| Ok::<_, std::io::Error>((name, reserved.open()?));
        let mut files = self.logs.drain(..).map(open).collect::<Result<Vec<_>, _>>()?;
        let stamp = |ns: u64| {
            let unix_ns = i128::from(started_unix_ns) + i128::from(ns);
            jiff::Timestamp::from_nanosecond(unix_ns).unwrap_or(jiff::Timestamp::MAX).to_string()
        };
        let open = files.iter_mut().map(|(name, file)| (name.clone(), Box::new(file) as Box<dyn Write>));
        request_logs::fill(input, Logs::new(open.collect(), &stamp))?;
        files.into_iter().try_for_each(|(_, file)| file.publish().map(drop))?;
        Ok(())
    }

    /// Writes all of them.
    pub fn write(self, settings: &Settings, matrix: &Matrix, table: &Table) -> Result<(), Failure> {
        let write = |reserved: Reserved, bytes: &[u8]| {
            let mut file = reserved.open()?;
            file.write_all(bytes)?;
            file.publish()
        };
        self.json.map(|file| write(file, table.to_json().as_bytes())).transpose()?;
        self.csv
            .map(|file| write(file, table.csv(csv::Form { safe: settings.csv_safe, crlf: false }).as_bytes()))
            .transpose()?;
        if let Some((file, form)) = self.workbook {
            let bytes = form.build(settings, matrix, table).map_err(anyhow::Error::from)?;
            write(file, &bytes)?;
        }
        Ok(())
    }
}
