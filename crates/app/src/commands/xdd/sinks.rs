//! Destinations of XDD's output: results, comma-separated results, the combined line, errors, and the files of single queue threads.

use crate::exit::Failure;
use crate::output::print_message;
use crate::outputs::refuse_read_targets;
use iosonar_dialect_xdd::{SeekOrder, Settings, TargetSettings};
use iosonar_engine::TargetReady;
use iosonar_host::Root;
use iosonar_host::output::{Existing, Gate, Output, OutputName, Reserved, Role};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// A file of one queue thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Report {
    /// `-ts output`
    Stamps,
    /// `-ts dump`
    Dump,
    /// `-seek save`
    Seeks,
}

impl Report {
    const ALL: [Report; 3] = [Report::Stamps, Report::Dump, Report::Seeks];

    fn option(self) -> &'static str {
        match self {
            Report::Stamps => "-ts output",
            Report::Dump => "-ts dump",
            Report::Seeks => "-seek save",
        }
    }

    /// Name of a queue thread's file, if the target has such reports.
    fn file(self, target: &TargetSettings, number: u16, queue: u16) -> Option<String> {
        let ts = &target.timestamps;
        let stamped = |prefix: &String, ending: &str| {
            format!("{prefix}.target.{number:04}.qthread.{queue:04}.{ending}")
        };
        match self {
            Report::Stamps => {
                ts.output.as_ref().filter(|_| ts.on && ts.has_text()).map(|prefix| stamped(prefix, "csv"))
            }
            Report::Dump => ts.dump.as_ref().filter(|_| ts.on).map(|prefix| stamped(prefix, "bin")),
            Report::Seeks => {
                target.seek.save.as_ref().map(|prefix| format!("{prefix}.T{number}Q{queue}.txt"))
            }
        }
    }
}

type Thread = (Report, u16, u16);

/// All output files, tested before the run: no target and no input is among them, and none is named twice. Their contents from an earlier
/// run stay until they are complete.
pub struct Reservations {
    output: Option<Reserved>,
    csv: Option<Reserved>,
    errors: Option<Reserved>,
    combined: Option<Reserved>,
    reports: BTreeMap<Thread, Reserved>,
}

impl Reservations {
    /// Tests all files that the command line names. `setups` are the setup files that were read.
    pub fn of(
        settings: &Settings,
        setups: &[String],
        targets: &[TargetReady],
    ) -> Result<Reservations, Failure> {
        refuse_read_targets(targets, "-setup", setups)?;
        let root = Root::default();
        let mut gate = Gate::new(&root);
        targets.iter().enumerate().for_each(|(number, t)| gate.forbid(t.path(), Role::Target(number)));
        for file in setups {
            gate.forbid(Path::new(file), Role::Input("-setup".into()));
        }
        for target in &settings.targets {
            if let SeekOrder::Load(file) = &target.seek.order {
                gate.forbid(Path::new(file), Role::Input("-seek load".into()));
            }
        }
        let global = &settings.global;
        let mut reserve = |option: &str, name: &Option<String>, at_end: bool| {
            let existing = if at_end { Existing::Append } else { Existing::Replace };
            let reserve = |name: &String| gate.reserve(&OutputName::new(option, name), existing);
            name.as_ref().map(reserve).transpose().map_err(Failure::refused)
        };
        let mut reservations = Reservations {
            output: reserve("-output", &global.output, false)?,
            csv: reserve("-csvout", &global.csvout, false)?,
            errors: reserve("-errout", &global.errout, false)?,
            combined: reserve("-combined", &global.combined, true)?,
            reports: BTreeMap::new(),
        };
        for ((report, number, queue), file, at_end) in reports(settings) {
            let reserved = reserve(report.option(), &Some(file), at_end)?;
            reservations.reports.extend(reserved.map(|it| ((report, number, queue), it)));
        }
        Ok(reservations)
    }

    /// Opens the files that every run writes. Contents of an earlier run are replaced on publication; the combined line is appended.
    pub fn open(self) -> io::Result<Sinks> {
        let open = |reserved: Option<Reserved>| reserved.map(Reserved::open).transpose();
        Ok(Sinks {
            results: open(self.output)?.unwrap_or_else(Output::standard),
            csv: open(self.csv)?,
            combined: open(self.combined)?,
            errors: open(self.errors)?,
            reports: self.reports,
        })
    }
}

/// The files of all queue threads, and whether they are appended to.
fn reports(settings: &Settings) -> impl Iterator<Item = (Thread, String, bool)> + '_ {
    (0u16..).zip(&settings.targets).flat_map(|(number, target)| {
        let threads =
            (0..target.queuedepth as u16).flat_map(|queue| Report::ALL.map(|report| (report, queue)));
        threads.filter_map(move |(report, queue)| {
            let at_end = report == Report::Stamps && target.timestamps.append;
            Some(((report, number, queue), report.file(target, number, queue)?, at_end))
        })
    })
}

/// All destinations of output.
pub struct Sinks {
    results: Output,
    csv: Option<Output>,
    combined: Option<Output>,
    errors: Option<Output>,
    reports: BTreeMap<Thread, Reserved>,
}

impl Sinks {
    /// Prints results as text. A closed pipe is no failure.
    pub fn result(&mut self, text: &str) -> io::Result<()> {
        quiet(self.results.write_all(text.as_bytes()))
    }

    /// Prints results as comma-separated values.
    pub fn csv(&mut self, text: &str) -> io::Result<()> {
        self.csv.as_mut().map_or(Ok(()), |csv| csv.write_all(text.as_bytes()))
    }

    /// Prints the combined line.
    pub fn combined(&mut self, line: &str) -> io::Result<()> {
        self.combined.as_mut().map_or(Ok(()), |file| file.write_all(line.as_bytes()))
    }

    /// Prints an error message, without a newline.
    pub fn error(&mut self, text: &str) -> io::Result<()> {
        match &mut self.errors {
            Some(file) => file.write_all(format!("xdd: {text}\n").as_bytes()),
            None => {
                print_message(format_args!("xdd: {text}"));
                Ok(())
            }
        }
    }

    /// Returns the destination of results for direct writes.
    pub fn results(&mut self) -> &mut dyn Write {
        &mut self.results
    }

    /// Writes a report of one queue thread, if it has a file; returns whether it has.
    pub fn report(
        &mut self,
        report: Report,
        target: u16,
        queue: u16,
        write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        let Some(reserved) = self.reports.remove(&(report, target, queue)) else { return Ok(false) };
        let mut file = reserved.open()?;
        write(&mut file)?;
        file.publish()?;
        Ok(true)
    }

    /// Flushes standard output and pipes.
    pub fn flush(&mut self) -> io::Result<()> {
        quiet(self.results.flush())?;
        self.csv.as_mut().map_or(Ok(()), |csv| csv.flush())
    }

    /// Publishes all files, which are complete, under their names. A failure does not prevent the others.
    pub fn publish(self) -> io::Result<()> {
        let results = quiet(self.results.publish().map(drop));
        let others = [self.csv, self.combined, self.errors].into_iter().flatten();
        others.map(|output| output.publish().map(drop)).fold(results, io::Result::and)
    }
}

fn quiet(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
