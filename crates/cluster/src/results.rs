//! The results of all processes, merged into one archive.

use crate::coordinator::{Assembled, TogetherError};
use crate::counts::merge_counts;
use crate::merge::{PartClock, PartResult, merge_info, merge_records, merge_series, unread};
use crate::part::Part;
use crate::protocol::clean;
use iosonar_analyze::{HostReport, Limits, Summary};
use iosonar_archive::{Archive, ArchiveWriter, LOG, RunInfo, RunState, TOOL, remove_archive};
use iosonar_os::made::Made;
use iosonar_plan::Plan;
use iosonar_runner::Ended;
use iosonar_text::shell::quoted;
use iosonar_text::shown;
use std::path::Path;

/// State of a run whose hosts keep their records, until their counts are merged.
pub(crate) const NOT_MERGED: &str = "the counts of its hosts are not merged";

/// A finished run. Each process has separate records.
pub(crate) struct Executed<'a> {
    pub(crate) all: Assembled<'a>,
    pub(crate) archive: ArchiveWriter,
    /// Facts at the start.
    pub(crate) info: RunInfo,
    /// Directory of the processes' archives, until they are merged.
    pub(crate) parts: Made,
    /// End of the last phase.
    pub(crate) ended: u64,
    /// A signal came.
    pub(crate) is_stopped: bool,
}

impl Executed<'_> {
    /// Merges all results. The archives of the processes are removed after that.
    ///
    /// # Errors
    /// Writing failed; the archives of the processes stay.
    pub(crate) fn merge(mut self) -> Result<Ended, TogetherError> {
        let plan = self.all.plan();
        if plan.has_hosts() {
            self.info.hosts = self.all.host_runs(self.ended);
        }
        let kept = match plan.keeps_records_on_hosts() {
            true => Kept::OnHosts(self.all.limits()),
            false => Kept::Nowhere,
        };
        let Executed { mut all, archive, info, parts, is_stopped, .. } = self;
        let merging = Merging { plan, archive, info, parts, is_stopped, kept };
        merging.begin();
        let results: Vec<PartResult> = all.parts_mut().iter_mut().map(result_of).collect();
        merging.merge(results, all.parts_mut().iter().map(|part| part.skipped).sum())
    }
}

/// Where records stay.
pub(crate) enum Kept {
    /// They are merged into the result.
    Nowhere,
    /// On their hosts, which have sent counts with these limits.
    OnHosts(Limits),
    /// Beside the result, in the archives of its parts. These are their counts.
    Beside(Vec<u8>),
}

/// A run that is over, while its parts are merged.
pub(crate) struct Merging<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) archive: ArchiveWriter,
    /// Facts at the start.
    pub(crate) info: RunInfo,
    /// Directory of the archives of the parts.
    pub(crate) parts: Made,
    /// A signal came.
    pub(crate) is_stopped: bool,
    pub(crate) kept: Kept,
}

impl Merging<'_> {
    /// Writes the state in case that the program is killed meanwhile. A full disk also shows in the records.
    pub(crate) fn begin(&self) {
        let why = match self.kept {
            Kept::OnHosts(_) => NOT_MERGED.into(),
            _ => not_merged_here(self.parts.path()),
        };
        let _ = self.archive.write_run(&RunInfo { state: RunState::Broken(why.into()), ..self.info.clone() });
    }

    /// Merges the parts into one result.
    ///
    /// # Errors
    /// Writing failed; the archives of the parts stay.
    pub(crate) fn merge(self, mut results: Vec<PartResult>, skipped: u64) -> Result<Ended, TogetherError> {
        let merged = self.write_records(&mut results).and_then(|()| {
            self.add_evidence(&results);
            let mut info = merge_info(self.info.clone(), &results, self.is_stopped);
            if let Kept::Nowhere = self.kept {
                // Until now it said where 'iosonar collect' finds them.
                let is_merged = |part: &PartResult| part.unread.is_none();
                let hosts = info.hosts.iter_mut().zip(&results).filter(|(_, part)| is_merged(part));
                hosts.for_each(|(host, _)| host.records = None);
            }
            self.archive.write_run(&info).map(|()| info).map_err(|error| error.to_string())
        });
        let info = merged.map_err(|why| {
            let place = match self.kept {
                Kept::OnHosts(_) => format!(
                    "'iosonar collect {}' fetches the records",
                    quoted(&self.archive.dir().to_string_lossy())
                ),
                _ => format!("the records of each process are in {}", shown(self.parts.path())),
            };
            TogetherError::Unmerged(format!("{why}; {place}"))
        })?;
        if !matches!(self.kept, Kept::Beside(_)) {
            for (number, _) in results.iter().enumerate().filter(|(_, part)| part.unread.is_none()) {
                // Archives that cannot be removed do not affect the result.
                let _ = remove_archive(&self.parts.path().join(number.to_string()));
            }
            // A non-empty directory stays.
            let _ = self.parts.remove();
        }
        Ok(Ended { archive: self.archive, info, skipped })
    }

    /// Adds samples of this machine's counters, and extent maps of files here. They are supplementary: errors do not
    /// fail the result.
    fn add_evidence(&self, results: &[PartResult]) {
        if self.plan.has_hosts() {
            let reports: Vec<HostReport> = results.iter().map(report_of).collect();
            let _ = self.archive.write_hosts(&serde_json::to_value(reports).unwrap_or_default());
        }
        let maps = results.iter().filter_map(|part| part.archive.as_ref()?.maps().ok());
        let _ = self.archive.write_maps(maps.flatten());
        if results.iter().any(|part| part.host.is_none() && part.archive.is_some()) {
            let _ = self.archive.series_log().and_then(|mut log| merge_series(results, &mut log));
        }
    }

    fn write_records(&self, results: &mut [PartResult]) -> Result<(), String> {
        let mut made = self.archive.made_log().map_err(|error| error.to_string())?;
        match &self.kept {
            Kept::Nowhere => merge_records(self.plan, results, made.log())
                .map_err(|error| format!("the records cannot be written: {error}"))?,
            Kept::OnHosts(limits) => {
                self.write_counts(&merge_counts(self.plan.targets.len(), limits, results))?
            }
            Kept::Beside(counts) => self.write_counts(counts)?,
        }
        made.publish().map_err(|error| error.to_string())
    }

    fn write_counts(&self, counts: &[u8]) -> Result<(), String> {
        self.archive.write_counts(counts).map_err(|error| error.to_string())
    }
}

/// State of a run whose parts are on this machine, until they are merged.
fn not_merged_here(parts: &Path) -> String {
    format!("the records of its processes are not merged; they are in {}", shown(&parts))
}

/// Result of a process. That of a lost process is the content of its log.
fn result_of(part: &mut Part) -> PartResult {
    let status = part.process.dismiss();
    let (archive, unread) = archive_of(part);
    let known = part.done.take().or_else(|| archive.as_ref().map(|archive| archive.run().clone()));
    let prepared = part.prepared.as_ref().map(|prepared| prepared.info.clone());
    let info = known.or(prepared).unwrap_or_else(|| RunInfo::new(TOOL, "", Vec::new()));
    let lost = part.lost.take().map(|why| match (why.is_empty(), status) {
        (true, Some(status)) => format!("its process ended before the run did ({status})"),
        (true, None) => "its process ended before the run did".into(),
        (false, _) => why,
    });
    let elsewhere = part.scratch.as_ref().filter(|_| !part.starts.is_empty());
    let elsewhere = elsewhere.map(|dir| place_of_records(dir));
    let is_cause = part.is_cause || part.ended.is_some_and(|(_, is_whole)| !is_whole);
    let broken = match &info.state {
        RunState::Broken(why) if is_cause => Some(why.to_string()),
        _ => None,
    };
    let (here, there) = part.starts.first().copied().unwrap_or_default();
    PartResult {
        name: part.process.name.clone(),
        host: part.host.clone(),
        targets: part.targets.clone(),
        archive,
        info,
        clock: PartClock { map: part.clock_map(), here, there },
        is_numbered: false,
        failed: lost.or(broken).map(|why| why + &elsewhere.unwrap_or_default()),
        unread,
    }
}

/// The place of records that a machine has kept, after a reason.
pub(crate) fn place_of_records(dir: &Path) -> String {
    format!("; its records are in {} there", shown(&dir))
}

/// The findings of a machine on its part. It may be another machine, whose texts are made harmless.
pub(crate) fn report_of(part: &PartResult) -> HostReport {
    let mut json = part.archive.as_ref().map(Archive::summary_json).unwrap_or_default();
    clean(&mut json);
    HostReport::of(part.host.clone(), serde_json::from_value::<Summary>(json).ok())
}

/// Opens the archive of a process, if it exists; also returns why it is unreadable.
fn archive_of(part: &Part) -> (Option<Archive>, Option<String>) {
    let Some(dir) = part.process.archive.get().filter(|dir| dir.exists()) else { return (None, None) };
    match Archive::open(dir) {
        Ok(archive) => (Some(archive), None),
        // The process was lost, which already explains the missing records.
        Err(_) if part.lost.is_some() && !has_records(dir) => (None, None),
        Err(error) => (None, Some(unread(dir, error))),
    }
}

fn has_records(archive: &Path) -> bool {
    archive.join(LOG).exists()
}
