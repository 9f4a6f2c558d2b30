//! XDD's reports, from the records of the run.

use super::sections::sections;
use super::sinks::Sinks;
use super::stamps;
use crate::exit::Failure;
use iosonar_analyze::{Deskew, Passing, SkewWindows};
use iosonar_archive::{Archive, Outcome, Record, RunInfo};
use iosonar_dialect_xdd::{
    RateDetail, RateTable, RateTarget, RunClock, Settings, ctime, deskew_notes, ending_line, rate_csv,
    rate_csv_row, rate_text,
};
use iosonar_inputs::deskew_in;
use iosonar_os::realtime_ns;
use iosonar_plan::{BetweenPasses, Nanos, Op};

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
        let sections = sections(self.settings, self.info);
        sinks.result(&sections)?;
        sinks.csv(&sections)?;
        let mut rates = RateTable::new(self.settings.targets.iter().map(rate_target).collect());
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

    fn write_rates(
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
            let clock = &self.info.means.clock;
            sinks.result(&format!(
                "Timer overhead, {} picoseconds per reading of the clock {}, off by {} at most\n",
                clock.cost_ps, clock.source, clock.error
            ))?;
        }
        Ok(())
    }

    /// Reports a single operation that failed, or took too long.
    fn tell(&self, record: &Record, failed: &mut u64, sinks: &mut Sinks) -> std::io::Result<()> {
        let Some(target) = self.settings.targets.get(usize::from(record.target)) else { return Ok(()) };
        if record.outcome == Outcome::Failed {
            *failed += 1;
            if *failed <= self.settings.global.maxerrors.unwrap_or(MOST_ERRORS) {
                sinks.error(&failure(record, &target.path()))?;
            }
        }
        let Some((submitted, completed)) = record.submitted.zip(record.completed) else { return Ok(()) };
        let took = completed.saturating_sub(submitted);
        let Some(threshold) = target.report_threshold.filter(|threshold| took > *threshold) else {
            return Ok(());
        };
        let micros = |time: Nanos| time.0 as f64 / 1e3;
        sinks.result(&format!(
            "Target {} {}: I/O time exceeds threshold of, {:.3}, microseconds by, {:.3}, microseconds, I/O time, {:.3}, \
             microseconds, byte location, {}\n",
            record.target,
            target.path(),
            micros(threshold),
            micros(took.saturating_sub(threshold)),
            micros(took),
            record.executed.offset
        ))
    }

    fn write_verdict(&self, sinks: &mut Sinks) -> Result<(), Failure> {
        if self.settings.targets.iter().all(|target| target.verify.is_none()) {
            return Ok(());
        }
        let (mut requests, mut miscompared) = (0, 0);
        for (number, target) in self.info.targets.iter().enumerate() {
            let Some(checks) = &target.checks else { continue };
            for bad in &checks.first {
                sinks.error(&format!(
                    "target {number} {}: miscompare in pass {}, operation {}, at byte {} of the request at byte {}: \
                     expected {:#04x}, found {:#04x}; {} bytes are bad{}",
                    target.path,
                    bad.pass + 1,
                    bad.sequence,
                    bad.at,
                    bad.offset,
                    bad.expected,
                    bad.found,
                    bad.bad_bytes,
                    if bad.untransferred { "; the read succeeded and transferred nothing there" } else { "" }
                ))?;
            }
            (requests, miscompared) = (requests + checks.requests, miscompared + checks.miscompared);
        }
        let verdict = match miscompared {
            0 => format!("No errors reported in {requests} requests checked\n"),
            n => format!("There were {n} Miscompares detected in {requests} requests checked\n"),
        };
        sinks.result(&verdict)?;
        Ok(())
    }
}

fn rate_target(target: &iosonar_dialect_xdd::TargetSettings) -> RateTarget {
    RateTarget {
        queue_depth: target.queuedepth,
        block_size: target.blocksize,
        read_percent: target.read_percent,
        reopened: target.between_passes != BetweenPasses::Keep,
    }
}

fn failure(record: &Record, path: &str) -> String {
    let op = if record.op == Op::Read { "read" } else { "write" };
    let why = match u64::try_from(record.result) {
        Ok(0) if record.op == Op::Read => "End-Of-File reached".to_string(),
        Ok(bytes) => format!("short, {bytes} bytes"),
        Err(_) => {
            let errno = i32::try_from(record.result.saturating_neg()).unwrap_or_default();
            std::io::Error::from_raw_os_error(errno).to_string()
        }
    };
    format!(
        "target {} {path}: {op} of {} bytes at byte {} in pass {}, operation {}: {why}",
        record.target,
        record.executed.length,
        record.executed.offset,
        record.pass + 1,
        record.sequence
    )
}
