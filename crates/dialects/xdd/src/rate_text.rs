//! Rows of the rate table as text and as comma-separated values.
//!
//! Scripts take values of the `Combined` line by position: its label is one word, every other label is two, and after
//! the label each line has the same number of words as the heading.

use crate::facts::{RateDetail, RunClock};
use crate::rates::{RateRow, RateTable};
use std::fmt::Write;

/// Optional columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateColumns {
    /// Time of opening.
    pub open_time: bool,
    /// Start and end in picoseconds, on this clock.
    pub stamps: Option<RunClock>,
}

impl RateTable {
    /// Columns required by `detail`.
    pub fn columns(&self, detail: &RateDetail) -> RateColumns {
        RateColumns { open_time: self.has_open_time(), stamps: detail.really_verbose.then_some(detail.clock) }
    }
}

/// A column after the label: its value, and its heading and width in text and among comma-separated values.
struct Column {
    text: (&'static str, usize),
    csv: (&'static str, usize),
    value: fn(&RateRow, &RunClock) -> String,
}

/// Columns of every table.
const USUAL: [Column; 11] = [
    Column { text: ("T", 4), csv: ("Target", 4), value: |row, _| row.target.to_string() },
    Column { text: ("Q", 4), csv: ("Q", 2), value: |row, _| row.queue.to_string() },
    Column { text: ("Bytes", 14), csv: ("Bytes", 12), value: |row, _| row.bytes.to_string() },
    Column { text: ("Ops", 9), csv: ("Ops", 6), value: |row, _| row.ops.to_string() },
    Column { text: ("Time", 9), csv: ("Time", 7), value: |row, _| format!("{:.3}", row.time.as_secs_f64()) },
    Column { text: ("Rate", 10), csv: ("Avg Rate", 7), value: |row, _| format!("{:.3}", row.rate()) },
    Column { text: ("IOPS", 10), csv: ("IOPS", 6), value: |row, _| format!("{:.2}", row.iops()) },
    Column { text: ("Latency", 9), csv: ("Latency", 7), value: |row, _| format!("{:.4}", row.latency()) },
    Column {
        text: ("%CPU", 7),
        csv: ("Percent CPU", 5),
        value: |row, _| format!("{:.2}", row.cpu_percent()),
    },
    Column { text: ("IOtype", 6), csv: ("OP_Type", 0), value: |row, _| row.io_type.name().into() },
    Column { text: ("ReqSize", 8), csv: ("ReqSize", 10), value: |row, _| row.request_size.to_string() },
];

const OPEN_TIME: Column = Column {
    text: ("OpenTime_usec", 13),
    csv: ("OpenTime_usec", 10),
    value: |row, _| format!("{:.3}", row.open_ns as f64 / 1e3),
};

const STAMPS: [Column; 2] = [
    Column {
        text: ("Start_ps", 22),
        csv: ("Start_ps", 0),
        value: |row, clock| clock.picoseconds(row.start).to_string(),
    },
    Column {
        text: ("End_ps", 22),
        csv: ("End_ps", 0),
        value: |row, clock| clock.picoseconds(row.end).to_string(),
    },
];

impl RateColumns {
    fn all(self) -> impl Iterator<Item = &'static Column> {
        let open_time = self.open_time.then_some(&OPEN_TIME);
        USUAL.iter().chain(open_time).chain(STAMPS.iter().filter(move |_| self.stamps.is_some()))
    }

    fn clock(self) -> RunClock {
        self.stamps.unwrap_or_default()
    }
}

/// Heading and rows in columns.
pub fn rate_text(rows: &[RateRow], columns: RateColumns) -> String {
    let line = |label: &str, cell: &dyn Fn(&Column) -> String| {
        let mut line = format!("{label:17}");
        for column in columns.all() {
            let _ = write!(line, " {:>width$}", cell(column), width = column.text.1);
        }
        line + "\n"
    };
    let mut text = line("", &|column| column.text.0.into());
    for row in rows {
        text += &line(&row.label, &|column| (column.value)(row, &columns.clock()));
    }
    text
}

/// Heading and rows as comma-separated values.
pub fn rate_csv(rows: &[RateRow], columns: RateColumns) -> String {
    let headings = columns.all().map(|column| format!(",{}", column.csv.0));
    let mut text = headings.collect::<String>() + "\n";
    for row in rows {
        text += &rate_csv_row(row, columns);
    }
    text
}

/// One row as comma-separated values, with its line end, for the file of combined rows.
pub fn rate_csv_row(row: &RateRow, columns: RateColumns) -> String {
    let mut text = row.label.clone();
    for column in columns.all() {
        let value = (column.value)(row, &columns.clock());
        let _ = write!(text, ",{value:>width$}", width = column.csv.1);
    }
    text + "\n"
}
