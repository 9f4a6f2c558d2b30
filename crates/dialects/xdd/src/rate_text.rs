//! Rows of the rate table as text and as comma-separated values.
//!
//! Scripts take values of the `Combined` line by position: its label is one word, every other label is two, and behind
//! the label each line has the same number of words as the heading.

use crate::facts::{RateDetail, RunClock};
use crate::rates::{RateRow, RateTable};
use std::fmt::Write;

/// Which columns there are behind the usual ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateColumns {
    /// Time of opening.
    pub open_time: bool,
    /// Start and end in picoseconds, as this clock tells them.
    pub stamps: Option<RunClock>,
}

impl RateTable {
    /// The columns that `detail` asks for.
    pub fn columns(&self, detail: &RateDetail) -> RateColumns {
        RateColumns { open_time: self.has_open_time(), stamps: detail.really_verbose.then_some(detail.clock) }
    }
}

/// Heading and rows in columns.
pub fn rate_text(rows: &[RateRow], columns: RateColumns) -> String {
    let mut text = format!(
        "{:17} {:>4} {:>4} {:>14} {:>9} {:>9} {:>10} {:>10} {:>9} {:>7} {:>6} {:>8}",
        "", "T", "Q", "Bytes", "Ops", "Time", "Rate", "IOPS", "Latency", "%CPU", "IOtype", "ReqSize"
    );
    if columns.open_time {
        text.push_str(" OpenTime_usec");
    }
    if columns.stamps.is_some() {
        let _ = write!(text, " {:>22} {:>22}", "Start_ps", "End_ps");
    }
    text.push('\n');
    for row in rows {
        let _ = write!(
            text,
            "{:17} {:>4} {:>4} {:>14} {:>9} {:>9.3} {:>10.3} {:>10.2} {:>9.4} {:>7.2} {:>6} {:>8}",
            row.label,
            row.target,
            row.queue,
            row.bytes,
            row.ops,
            row.time.as_secs_f64(),
            row.rate(),
            row.iops(),
            row.latency(),
            row.cpu_percent(),
            row.io_type.name(),
            row.request_size,
        );
        if columns.open_time {
            let _ = write!(text, " {:>13.3}", row.open_ns as f64 / 1e3);
        }
        if let Some(clock) = columns.stamps {
            let _ = write!(text, " {:>22} {:>22}", clock.picoseconds(row.start), clock.picoseconds(row.end));
        }
        text.push('\n');
    }
    text
}

/// Heading and rows as comma-separated values.
pub fn rate_csv(rows: &[RateRow], columns: RateColumns) -> String {
    let mut text = String::from(",Target,Q,Bytes,Ops,Time,Avg Rate,IOPS,Latency,Percent CPU,OP_Type,ReqSize");
    if columns.open_time {
        text.push_str(",OpenTime_usec");
    }
    if columns.stamps.is_some() {
        text.push_str(",Start_ps,End_ps");
    }
    text.push('\n');
    for row in rows {
        text.push_str(&rate_csv_row(row, columns));
    }
    text
}

/// One row as comma-separated values, with its line end: what a file of combined rows gets of each run.
pub fn rate_csv_row(row: &RateRow, columns: RateColumns) -> String {
    let mut text = format!(
        "{},{:4},{:2},{:12},{:6},{:7.3},{:7.3},{:6.2},{:7.4},{:5.2},{},{:10}",
        row.label,
        row.target,
        row.queue,
        row.bytes,
        row.ops,
        row.time.as_secs_f64(),
        row.rate(),
        row.iops(),
        row.latency(),
        row.cpu_percent(),
        row.io_type.name(),
        row.request_size,
    );
    if columns.open_time {
        let _ = write!(text, ",{:10.3}", row.open_ns as f64 / 1e3);
    }
    if let Some(clock) = columns.stamps {
        let _ = write!(text, ",{},{}", clock.picoseconds(row.start), clock.picoseconds(row.end));
    }
    text.push('\n');
    text
}
