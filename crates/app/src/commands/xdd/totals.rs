//! The reports of a whole run: rates, and the verdict on checked data.

use super::reports::Reports;
use super::sinks::Sinks;
use crate::exit::Failure;
use iosonar_analyze::Deskew;
use iosonar_archive::Checks;
use iosonar_dialect_xdd::{
    RateDetail, RateTable, check_verdict, deskew_notes, miscompare, rate_csv, rate_csv_row, rate_text,
};

impl Reports<'_> {
    /// Writes the table of rates, and what `-deskew` and `-timerinfo` add.
    pub(super) fn write_rates(
        &self,
        rates: &RateTable,
        deskew: Option<&Deskew>,
        sinks: &mut Sinks,
    ) -> Result<(), Failure> {
        let global = &self.settings.global;
        let detail = RateDetail {
            verbose: global.verbose,
            really_verbose: global.reallyverbose,
            queue_threads: global.qthreadinfo,
            clock: self.clock(),
        };
        let (rows, columns) = (rates.rows(&detail, deskew), rates.columns(&detail));
        sinks.result(&rate_text(&rows, columns))?;
        sinks.csv(&rate_csv(&rows, columns))?;
        sinks.combined(&rate_csv_row(&rates.combined(), columns))?;
        if let Some(deskew) = deskew {
            sinks.result(&deskew_notes(deskew, global.reallyverbose))?;
        }
        if global.timerinfo {
            let clock = &self.info.setup.clock;
            sinks.result(&format!(
                "Timer overhead, {} picoseconds per reading of the clock {}, off by {} at most\n",
                clock.cost_ps, clock.source, clock.error
            ))?;
        }
        Ok(())
    }

    /// Writes the verdict on checked data, if any was to be checked.
    pub(super) fn write_verdict(&self, sinks: &mut Sinks) -> Result<(), Failure> {
        if self.settings.targets.iter().all(|target| target.verify.is_none()) {
            return Ok(());
        }
        let targets = || self.info.targets.iter().enumerate();
        let checked =
            || targets().filter_map(|(number, target)| Some((number, target, target.checks.as_ref()?)));
        for (number, target, checks) in checked() {
            for bad in &checks.first {
                sinks.error(&miscompare(number, &target.path, bad))?;
            }
        }
        let sum = |of: fn(&Checks) -> u64| checked().map(|(.., checks)| of(checks)).sum();
        sinks.result(&check_verdict(sum(|checks| checks.requests), sum(|checks| checks.miscompared)))?;
        Ok(())
    }
}
