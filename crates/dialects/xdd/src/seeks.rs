//! Locations for `-seek save` and its histograms.

use crate::settings::TargetSettings;
use iosonar_archive::{PassTimes, Record};
use iosonar_plan::Nanos;
use iosonar_trace::SeekEntry;

/// The locations of the last pass of one queue thread, which are those of all passes, unless each has its own.
pub fn seek_entries(target: &TargetSettings, records: &[Record], passes: &[PassTimes]) -> Vec<SeekEntry> {
    let last = records.iter().map(|r| r.pass).max().unwrap_or(0);
    let start = |record: &Record| {
        let of = |p: &&PassTimes| (p.target, p.job, p.pass) == (record.target, record.worker, record.pass);
        passes.iter().find(of).map_or(Nanos(0), |p| p.start)
    };
    let is_throttled = target.throttle.is_some();
    let block = target.blocksize.max(1);
    let entry = |(ordinal, record): (u64, &Record)| SeekEntry {
        ordinal,
        location: record.executed.offset / block,
        reqsize: record.executed.length / block,
        op: record.op,
        due: if is_throttled { record.due.saturating_sub(start(record)) } else { Nanos(0) },
    };
    (0..).zip(records.iter().filter(|r| r.pass == last)).map(entry).collect()
}
