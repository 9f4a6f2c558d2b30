//! Text files that IOzone writes to the current directory: latencies (`-Q`), histograms (`-+z`) and time stamps (`-+T`).

use crate::settings::Settings;
use iosonar_cells::Matrix;
use iosonar_plan::Cell;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Latency files: test and name.
const LATENCIES: [(&str, &str); 4] =
    [("write", "wol.dat"), ("rewrite", "rwol.dat"), ("read", "rol.dat"), ("reread", "rrol.dat")];

/// First line of a latency file.
const HEAD: &str = "Offset in kBytes   Latency in microseconds  Transfer size in bytes";

/// Buckets of a histogram, line by line: maximum latency in microseconds, and name. The last one has the rest.
const BANDS: [&[(u64, &str)]; 9] = [
    &[(20, "20us"), (40, "40us"), (60, "60us"), (80, "80us"), (100, "100us")],
    &[(200, "200us"), (400, "400us"), (600, "600us"), (800, "800us"), (1_000, "1ms")],
    &[(2_000, "2ms"), (4_000, "4ms"), (6_000, "6ms"), (8_000, "8ms"), (10_000, "10ms")],
    &[(12_000, "12ms"), (14_000, "14ms"), (16_000, "16ms"), (18_000, "18ms"), (20_000, "20ms")],
    &[(40_000, "40ms"), (60_000, "60ms"), (80_000, "80ms"), (100_000, "100ms")],
    &[(200_000, "200ms"), (400_000, "400ms"), (600_000, "600ms"), (800_000, "800ms"), (1_000_000, "1s")],
    &[(2_000_000, "2s"), (4_000_000, "4s"), (6_000_000, "6s"), (8_000_000, "8s"), (10_000_000, "10s")],
    &[(20_000_000, "20s"), (40_000_000, "40s"), (60_000_000, "60s"), (80_000_000, "80s")],
    &[(120_000_000, "120s"), (u64::MAX, "120+s")],
];

/// A file that a command line requests without naming it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogName {
    /// Option that requests it.
    pub option: &'static str,
    /// File in the current directory.
    pub file: String,
    stream: u16,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Latencies of one test.
    Latencies(&'static str),
    Histogram,
    Stamps,
}

impl Settings {
    /// Files of `-Q`, `-+z` and `-+T`, for the maximum number of concurrent streams.
    pub fn logs(&self, matrix: &Matrix) -> Vec<LogName> {
        let most = matrix.streams.iter().copied().max().unwrap_or(1).min(u16::MAX.into()) as u16;
        let is_done = |test: &str| matrix.tests.iter().any(|selected| selected.name == test);
        let mut logs = Vec::new();
        for stream in 0..most {
            let mut add = |option, file: String, kind| logs.push(LogName { option, file, stream, kind });
            for (test, file) in LATENCIES.into_iter().filter(|(test, _)| self.latency_files && is_done(test))
            {
                let file = match self.is_throughput() {
                    true => format!("Child_{stream}_{file}"),
                    false => file.into(),
                };
                add("-Q", file, Kind::Latencies(test));
            }
            if self.histogram_files {
                add("-+z", format!("Iozone_histogram_child_{stream}.txt"), Kind::Histogram);
            }
            if self.stamp_files {
                add("-+T", format!("Child_{stream}.log"), Kind::Stamps);
            }
        }
        logs
    }

    /// Whether a test has a latency file.
    pub(crate) fn has_latency_file(test: &str) -> bool {
        LATENCIES.iter().any(|(name, _)| *name == test)
    }
}

/// A completed read or write.
#[derive(Debug, Clone, Copy)]
pub struct LoggedRequest {
    /// Its stream.
    pub stream: u16,
    /// Phase number of its cell.
    pub phase: u16,
    /// Offset.
    pub offset: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Submission, since the start of the run.
    pub submitted_ns: u64,
    /// Completion, since the start of the run.
    pub completed_ns: u64,
}

/// Formats a time since the start of the run.
pub type Stamp<'a> = &'a dyn Fn(u64) -> String;

/// Files of a run, written while its requests are read in order.
pub struct Logs<'a> {
    of_stream: BTreeMap<u16, Vec<Log<'a>>>,
    stamp: Stamp<'a>,
}

/// A file, and the state of the current test.
struct Log<'a> {
    kind: Kind,
    file: Box<dyn Write + 'a>,
    present: Option<Present>,
}

struct Present {
    phase: u16,
    title: String,
    counts: [u64; 40],
    first_ns: u64,
    last_ns: u64,
}

impl<'a> Logs<'a> {
    /// Takes files to which nothing is written yet.
    pub fn new(files: Vec<(LogName, Box<dyn Write + 'a>)>, stamp: Stamp<'a>) -> Logs<'a> {
        let mut of_stream: BTreeMap<u16, Vec<Log<'a>>> = BTreeMap::new();
        for (name, file) in files {
            of_stream.entry(name.stream).or_default().push(Log { kind: name.kind, file, present: None });
        }
        Logs { of_stream, stamp }
    }

    /// Adds a request of a cell.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn add(&mut self, cell: &Cell, request: &LoggedRequest) -> io::Result<()> {
        let logs = self.of_stream.get_mut(&request.stream).map(Vec::as_mut_slice).unwrap_or_default();
        for log in logs {
            if !matches!(log.kind, Kind::Latencies(test) if test != cell.test) {
                log.add(cell, request, self.stamp)?;
            }
        }
        Ok(())
    }

    /// Writes pending data.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        for log in self.of_stream.values_mut().flatten() {
            log.end_test(self.stamp)?;
            log.file.flush()?;
        }
        Ok(())
    }
}

impl Log<'_> {
    fn add(&mut self, cell: &Cell, request: &LoggedRequest, stamp: Stamp<'_>) -> io::Result<()> {
        if self.present.as_ref().is_none_or(|present| present.phase != request.phase) {
            self.end_test(stamp)?;
            self.begin_test(cell, request)?;
        }
        let latency_ns = request.completed_ns.saturating_sub(request.submitted_ns);
        if let Kind::Latencies(_) = self.kind {
            let (kb, us) = (request.offset >> 10, latency_ns as f64 / 1000.0);
            return writeln!(self.file, "{kb} {us:.3} {}", request.bytes);
        }
        if let Some(present) = &mut self.present {
            present.counts[bucket(latency_ns)] += 1;
            present.first_ns = present.first_ns.min(request.submitted_ns);
            present.last_ns = present.last_ns.max(request.completed_ns);
        }
        Ok(())
    }

    fn begin_test(&mut self, cell: &Cell, request: &LoggedRequest) -> io::Result<()> {
        let (file, record) = (cell.file.0 >> 10, cell.record.0 >> 10);
        let streams = if cell.streams > 1 { format!(", {} streams", cell.streams) } else { String::new() };
        let title = format!("{}: file {file} kB, record {record} kB{streams}", cell.test);
        if let Kind::Latencies(_) = self.kind {
            // Comments for the plotting programs that read such files.
            writeln!(self.file, "# {title}\n# {HEAD}")?;
        }
        let (first_ns, last_ns) = (u64::MAX, 0);
        self.present = Some(Present { phase: request.phase, title, counts: [0; 40], first_ns, last_ns });
        Ok(())
    }

    fn end_test(&mut self, stamp: Stamp<'_>) -> io::Result<()> {
        let Some(Present { title, counts, first_ns, last_ns, .. }) = self.present.take() else {
            return Ok(());
        };
        match self.kind {
            Kind::Latencies(_) => Ok(()),
            Kind::Stamps => {
                writeln!(self.file, "{title}: start {}, end {}", stamp(first_ns), stamp(last_ns))
            }
            Kind::Histogram => {
                writeln!(self.file, "{title}")?;
                let mut counts = counts.iter();
                for (band, number) in BANDS.iter().zip(1..) {
                    write!(self.file, "Band {number}:")?;
                    for ((_, name), count) in band.iter().zip(&mut counts) {
                        write!(self.file, " {:>12}", format!("{name}:{count}"))?;
                    }
                    writeln!(self.file)?;
                }
                Ok(())
            }
        }
    }
}

/// Bucket of a latency: the first whose limit it does not exceed.
fn bucket(latency_ns: u64) -> usize {
    let limits = BANDS.into_iter().flatten().map(|(us, _)| us.saturating_mul(1000));
    limits.clone().position(|limit| latency_ns <= limit).unwrap_or(limits.count() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::ByteSize;

    #[test]
    fn buckets_include_their_upper_limits() {
        assert_eq!(BANDS.into_iter().flatten().count(), 40);
        for (ns, place) in [
            (0, 0),
            (20_000, 0),
            (20_001, 1),
            (1_000_000, 9),
            (120_000_000_000, 38),
            (120_000_000_001, 39),
            (u64::MAX, 39),
        ] {
            assert_eq!(bucket(ns), place, "{ns}");
        }
    }

    #[test]
    fn each_file_has_its_tests() {
        let cell = |test: &str| Cell {
            test: test.into(),
            file: ByteSize(128 << 10),
            record: ByteSize(64 << 10),
            streams: 1,
            method: String::new(),
            repeat: 0,
        };
        let request = |phase: u16, offset: u64, submitted_ns: u64, took: u64| LoggedRequest {
            stream: 0,
            phase,
            offset,
            bytes: 65_536,
            submitted_ns,
            completed_ns: submitted_ns + took,
        };
        let mut written = [Vec::new(), Vec::new(), Vec::new()];
        let kinds = [Kind::Latencies("write"), Kind::Histogram, Kind::Stamps];
        let files = kinds.into_iter().zip(&mut written).map(|(kind, file)| {
            let name = LogName { option: "-Q", file: String::new(), stream: 0, kind };
            (name, Box::new(file) as Box<dyn Write>)
        });
        let mut logs = Logs::new(files.collect(), &|ns| format!("<{ns}>"));
        for (test, request) in [
            ("write", request(0, 0, 1000, 2500)),
            ("write", request(0, 65_536, 5000, 30_000)),
            ("read", request(1, 0, 90_000, 10)),
        ] {
            logs.add(&cell(test), &request).unwrap();
        }
        logs.finish().unwrap();
        let [latencies, histogram, stamps] = written.map(|file| String::from_utf8(file).unwrap());
        assert_eq!(
            latencies,
            format!("# write: file 128 kB, record 64 kB\n# {HEAD}\n0 2.500 65536\n64 30.000 65536\n")
        );
        assert_eq!(
            stamps,
            "write: file 128 kB, record 64 kB: start <1000>, end <35000>\n\
             read: file 128 kB, record 64 kB: start <90000>, end <90010>\n"
        );
        let lines: Vec<&str> = histogram.lines().collect();
        assert_eq!(lines.len(), 20);
        assert!(lines[1].starts_with("Band 1:       20us:1       40us:1       60us:0"), "{histogram}");
        assert!(lines[9].ends_with("120+s:0") && lines[11].contains("20us:1       40us:0"), "{histogram}");
    }
}
