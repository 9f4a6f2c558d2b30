//! XDD's reports, from the records of the run.

use super::machine::machine;
use super::sinks::Sinks;
use super::stamps;
use crate::exit::Failure;
use iosonar_analyze::{Passing, SkewWindows};
use iosonar_archive::{Archive, Outcome, Record, RunInfo, TOOL};
use iosonar_dialect_xdd::{
    RateTable, RateTarget, RunClock, Settings, ctime, ending_line, failed_operation, sections, slow_operation,
};
use iosonar_inputs::deskew_in;
use iosonar_os::realtime_ns;
use std::io;

/// Maximum number of failed operations reported one by one, unless `-maxerrors` sets another.
const MOST_ERRORS: u64 = 100;

/// Input of the reports.
pub struct Reports<'a> {
    pub settings: &'a Settings,
    pub info: &'a RunInfo,
    pub archive: &'a Archive,
}

impl Reports<'_> {
    /// Writes all reports; returns whether operations failed, or none completed. `seen` observes each record.
    pub fn write(&self, sinks: &mut Sinks, mut seen: Option<&mut Passing>) -> Result<bool, Failure> {
        let sections = sections(self.settings, self.info, TOOL, &machine());
        sinks.result(&sections)?;
        sinks.csv(&sections)?;
        let mut rates = RateTable::new(self.settings.targets.iter().map(RateTarget::of).collect());
        self.info.passes.iter().for_each(|times| rates.add_times(times));
        let mut windows = self.settings.global.deskew.then(SkewWindows::default);
        let mut failed = 0u64;
        let mut written = Ok(());
        self.archive.for_each_record(&mut |record| {
            rates.add(record);
            if let Some(seen) = &mut seen {
                seen.add(std::slice::from_ref(record));
            }
            if let Some(windows) = &mut windows {
                windows.add(record);
            }
            if written.is_ok() {
                written = self.tell(record, &mut failed, sinks);
            }
        })?;
        written?;
        for (number, target) in self.info.targets.iter().enumerate() {
            if let Some(why) = &target.ended_early {
                sinks.error(&format!("target {number} {}: {why}", target.path))?;
            }
        }
        let deskew = windows.map(|windows| deskew_in(self.archive, &windows)).transpose()?;
        self.write_rates(&rates, deskew.as_ref(), sinks)?;
        let stamped = stamps::write(self, &sections, sinks).and_then(|()| stamps::save_seeks(self, sinks));
        self.write_verdict(sinks)?;
        sinks.result(&ending_line(&ctime(realtime_ns())))?;
        sinks.flush()?;
        // A failed report must not hide the verdict.
        if let Err(failure) = &stamped {
            sinks.error(&failure.text())?;
        }
        Ok(failed > 0 || rates.combined().ops == 0 || stamped.is_err())
    }

    /// Converts the run's clock to that of reports.
    pub fn clock(&self) -> RunClock {
        RunClock { epoch_unix_ns: self.info.started_unix_ns, delta_ns: 0 }
    }

    /// Reports a single operation that failed, or took too long.
    fn tell(&self, record: &Record, failed: &mut u64, sinks: &mut Sinks) -> io::Result<()> {
        let Some(target) = self.settings.targets.get(usize::from(record.target)) else { return Ok(()) };
        if record.outcome == Outcome::Failed {
            *failed += 1;
            if *failed <= self.settings.global.maxerrors.unwrap_or(MOST_ERRORS) {
                sinks.error(&failed_operation(record, &target.path()))?;
            }
        }
        slow_operation(record, target).map_or(Ok(()), |line| sinks.result(&line))
    }
}
