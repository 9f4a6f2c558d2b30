//! The files of XDD's output, tested before the run.

use super::files::{Thread, reports};
use super::sinks::Sinks;
use crate::exit::Failure;
use crate::outputs::refuse_read_targets;
use iosonar_dialect_xdd::{SeekOrder, Settings};
use iosonar_engine::TargetReady;
use iosonar_host::Root;
use iosonar_host::output::{Existing, Gate, Output, OutputName, Reserved, Role};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

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
