//! XDD's time stamp reports and dumps, and saved seek lists.

use super::files::Report;
use super::reports::Reports;
use super::sinks::Sinks;
use crate::exit::Failure;
use iosonar_archive::Record;
use iosonar_dialect_xdd::{
    Dump, DumpHead, StampEntry, StampHead, StampReport, StampWindow, TargetSettings, seek_entries,
    stamp_entries,
};
use iosonar_trace::{distance_histogram, seek_histogram, write_seek_list};
use std::io::Write;

/// Writes the reports of every queue thread of every target that has time stamps.
pub fn write(reports: &Reports<'_>, sections: &str, sinks: &mut Sinks) -> Result<(), Failure> {
    for (number, target) in (0u16..).zip(&reports.settings.targets) {
        let ts = &target.timestamps;
        if !ts.on || !(ts.has_text() || ts.dump.is_some() || ts.output.is_some()) {
            continue;
        }
        for queue in 0..target.queuedepth as u16 {
            let entries = stamp_entries(records_of(reports, number, queue)?);
            let entries: Vec<StampEntry> = StampWindow::of(ts).select(entries).collect();
            let thread = (number, queue);
            let to_file = |out: &mut dyn Write| report(reports, target, thread, &entries, sections, out);
            let is_written = sinks.report(Report::Stamps, number, queue, to_file)?;
            if ts.has_text() && !is_written {
                report(reports, target, thread, &entries, "", sinks.results())?;
            }
            sinks.report(Report::Dump, number, queue, |out| dump(reports, target, thread, entries, out))?;
        }
    }
    Ok(())
}

/// The requests of one queue thread, ordered by pass and number.
fn records_of(reports: &Reports<'_>, number: u16, queue: u16) -> Result<Vec<Record>, Failure> {
    let mut records = Vec::new();
    reports.archive.for_each_record(&mut |record| {
        if record.target == number && record.worker == queue {
            records.push(*record);
        }
    })?;
    records.sort_by_key(|r| (r.pass, r.sequence));
    Ok(records)
}

fn report(
    reports: &Reports<'_>,
    target: &TargetSettings,
    (number, queue_thread): (u16, u16),
    entries: &[StampEntry],
    sections: &str,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let head = StampHead {
        target: number,
        queue_thread,
        entries: entries.len() as u64,
        tick_ps: 1000,
        clock: reports.clock(),
        block_size: target.blocksize,
        detailed: target.timestamps.detailed,
    };
    let mut report = StampReport::new(out, head, sections)?;
    for entry in entries {
        report.add(entry)?;
    }
    report.finish()?;
    Ok(())
}

fn dump(
    reports: &Reports<'_>,
    target: &TargetSettings,
    (number, queue_thread): (u16, u16),
    entries: Vec<StampEntry>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let head = DumpHead {
        target: number,
        queue_thread,
        block_size: target.blocksize,
        request_size: target.request_bytes(),
        id: reports.settings.global.id.clone(),
        clock: reports.clock(),
    };
    Ok(out.write_all(&Dump { head, entries }.to_bytes())?)
}

/// Saves the requested locations, and prints their histograms.
pub fn save_seeks(reports: &Reports<'_>, sinks: &mut Sinks) -> Result<(), Failure> {
    for (number, target) in (0u16..).zip(&reports.settings.targets) {
        let seek = &target.seek;
        if seek.save.is_none() && seek.seekhist.is_none() && seek.disthist.is_none() {
            continue;
        }
        for queue in 0..target.queuedepth as u16 {
            let records = records_of(reports, number, queue)?;
            let entries = seek_entries(target, &records, &reports.info.passes);
            let mut histograms = String::new();
            if let Some(buckets) = seek.seekhist {
                let range = target.range_blocks().unwrap_or(0);
                histograms += &seek_histogram(&entries, buckets, target.startoffset, range);
            }
            if let Some(buckets) = seek.disthist {
                histograms += &distance_histogram(&entries, buckets);
            }
            let list = || write_seek_list(&entries) + &histograms;
            let to_file = |out: &mut dyn Write| Ok(out.write_all(list().as_bytes())?);
            if !sinks.report(Report::Seeks, number, queue, to_file)? {
                histograms.lines().try_for_each(|line| sinks.error(line))?;
            }
        }
    }
    Ok(())
}
