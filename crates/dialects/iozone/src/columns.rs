//! Columns of IOzone's table and titles of its reports.

use iosonar_cells::CellResult;

/// Names of a test in IOzone's outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// The test's word.
    pub test: &'static str,
    /// First line of the column head.
    pub over: &'static str,
    /// Second line.
    pub head: &'static str,
    /// Title in reports, without "report".
    pub title: &'static str,
    /// Name of its streams, in throughput mode.
    pub streams: &'static str,
    /// Label in the report of throughput mode.
    pub line: &'static str,
}

macro_rules! columns {
    ($($test:literal $over:literal $head:literal $title:literal $streams:literal $line:literal;)*) => {
        &[$(Column { test: $test, over: $over, head: $head, title: $title, streams: $streams, line: $line }),*]
    };
}

/// Every test with a column, in table order.
static COLUMNS: &[Column] = columns! {
    "write"          ""       "write"     "Writer"          "initial writers"   "Initial write";
    "rewrite"        ""       "rewrite"   "Re-writer"       "rewriters"         "Rewrite";
    "read"           ""       "read"      "Reader"          "readers"           "Read";
    "reread"         ""       "reread"    "Re-Reader"       "re-readers"        "Re-read";
    "random_read"    "random" "read"      "Random read"     "random readers"    "Random read";
    "random_write"   "random" "write"     "Random write"    "random writers"    "Random write";
    "backward_read"  "bkwd"   "read"      "Backward read"   "reverse readers"   "Reverse Read";
    "record_rewrite" "record" "rewrite"   "Record rewrite"  "record rewriters"  "Record rewrite";
    "stride_read"    "stride" "read"      "Stride read"     "stride readers"    "Stride read";
    "fwrite"         ""       "fwrite"    "Fwrite"          "fwriters"          "Fwrite";
    "refwrite"       ""       "frewrite"  "Re-Fwrite"       "fwrite rewriters"  "Re-Fwrite";
    "fread"          ""       "fread"     "Fread"           "freaders"          "Fread";
    "refread"        ""       "freread"   "Re-Fread"        "fread re-readers"  "Re-Fread";
    "mixed"          ""       "mixed"     "Mixed workload"  "mixed workload"    "Mixed workload";
    "pwrite"         ""       "pwrite"    "Pwrite"          "pwrite writers"    "Pwrite";
    "repwrite"       ""       "repwrite"  "Re-Pwrite"       "pwrite rewriters"  "Re-Pwrite";
    "pread"          ""       "pread"     "Pread"           "pread readers"     "Pread";
    "repread"        ""       "repread"   "Re-Pread"        "pread re-readers"  "Re-Pread";
    "pwritev"        ""       "pwritev"   "Pwritev"         "pwritev writers"   "Pwritev";
    "repwritev"      ""       "repwritev" "Re-Pwritev"      "pwritev rewriters" "Re-Pwritev";
    "preadv"         ""       "preadv"    "Preadv"          "preadv readers"    "Preadv";
    "repreadv"       ""       "repreadv"  "Re-Preadv"       "preadv re-readers" "Re-Preadv";
};

/// Number of columns in IOzone's table, including tests that were not run.
const CLASSIC: usize = 13;

/// Columns of a table: IOzone's thirteen, and those of further selected tests.
pub fn columns(is_selected: impl Fn(&str) -> bool) -> Vec<&'static Column> {
    let further = COLUMNS[CLASSIC..].iter().filter(|column| is_selected(column.test));
    COLUMNS[..CLASSIC].iter().chain(further).collect()
}

impl Column {
    /// Returns the column of a test.
    pub fn of(test: &str) -> Option<&'static Column> {
        COLUMNS.iter().find(|column| column.test == test)
    }

    /// Width of its figures in IOzone's table.
    pub(crate) fn width(&self) -> usize {
        match self.test {
            "record_rewrite" | "stride_read" | "repwritev" => 10,
            "pread" => 8,
            _ => 9,
        }
    }

    /// Whether IOzone's head of the column ends one place before its figures.
    pub(crate) fn is_head_before(&self) -> bool {
        matches!(self.test, "read" | "random_read")
    }
}

/// Unit of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// KiB per second, which IOzone calls kBytes/sec.
    KibPerSecond,
    /// Operations per second.
    OpsPerSecond,
    /// Microseconds per operation.
    MicrosecondsPerOp,
}

impl Unit {
    /// Parses a unit as IOzone, or this program, prints it: `kBytes/sec`, `operations per second.`, `microseconds/op`.
    pub(crate) fn named(words: &str) -> Option<Unit> {
        let words = words.to_ascii_lowercase();
        let begins = |starts: &[&str]| starts.iter().any(|start| words.starts_with(start));
        match () {
            () if begins(&["kbytes/sec", "kb/sec"]) => Some(Unit::KibPerSecond),
            () if begins(&["op"]) => Some(Unit::OpsPerSecond),
            () if begins(&["micro", "usec"]) => Some(Unit::MicrosecondsPerOp),
            () => None,
        }
    }

    /// Name in the banner.
    pub fn name(self) -> &'static str {
        match self {
            Unit::KibPerSecond => "kBytes/sec",
            Unit::OpsPerSecond => "ops/sec",
            Unit::MicrosecondsPerOp => "microseconds/op",
        }
    }

    /// Name in lines of throughput mode.
    pub fn short(self) -> &'static str {
        match self {
            Unit::KibPerSecond => "kB/sec",
            other => other.name(),
        }
    }

    /// Figure, not rounded.
    pub fn value(self, result: &CellResult) -> f64 {
        match self {
            Unit::KibPerSecond => result.bytes_per_second / 1024.0,
            Unit::OpsPerSecond => result.ops_per_second,
            Unit::MicrosecondsPerOp => result.elapsed_ns as f64 / 1000.0 / result.ops.max(1) as f64,
        }
    }

    /// Figure as in tables: rounded down to a whole number.
    pub fn whole(self, result: &CellResult) -> u64 {
        self.value(result) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_cells::TESTS;

    #[test]
    fn each_test_has_a_column() {
        for test in TESTS {
            assert!(Column::of(test.name).is_some(), "{}", test.name);
        }
        assert_eq!(columns(|_| true).len(), TESTS.len());
        assert_eq!(columns(|_| false).last().unwrap().test, "refread");
    }
}
