//! Messages about single operations, and about checked data.

use crate::settings::TargetSettings;
use iosonar_archive::{Miscompare, Record};
use iosonar_plan::{Nanos, Op};

/// An operation that failed.
pub fn failed_operation(record: &Record, path: &str) -> String {
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

/// An operation that took longer than the target's threshold; `None` for others.
pub fn slow_operation(record: &Record, target: &TargetSettings) -> Option<String> {
    let took = record.completed?.saturating_sub(record.submitted?);
    let threshold = target.report_threshold.filter(|threshold| took > *threshold)?;
    let micros = |time: Nanos| time.0 as f64 / 1e3;
    Some(format!(
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

/// Data that is not what was expected.
pub fn miscompare(target: usize, path: &str, bad: &Miscompare) -> String {
    format!(
        "target {target} {path}: miscompare in pass {}, operation {}, at byte {} of the request at byte {}: \
         expected {:#04x}, found {:#04x}; {} bytes are bad{}",
        bad.pass + 1,
        bad.sequence,
        bad.at,
        bad.offset,
        bad.expected,
        bad.found,
        bad.bad_bytes,
        if bad.untransferred { "; the read succeeded and transferred nothing there" } else { "" }
    )
}

/// The verdict on all checked data.
pub fn check_verdict(requests: u64, miscompared: u64) -> String {
    match miscompared {
        0 => format!("No errors reported in {requests} requests checked\n"),
        n => format!("There were {n} Miscompares detected in {requests} requests checked\n"),
    }
}
