//! Detects the format of a trace from its first bytes, never from its name.

use crate::blkreplay::{self, Line};
use crate::fio::Version;
use crate::kernel::{blkparse, blktrace, ftrace};
use crate::tables::Table;
use std::fmt;

/// Trace format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    /// blkreplay's `.load` and `.replay`.
    Load,
    /// Binary file of one CPU, or of all, by blktrace.
    Blktrace,
    /// Text of blkparse, in this form of lines.
    Blkparse(blkparse::Form),
    /// Text of the kernel's block tracepoints, by tracefs, perf or trace-cmd.
    Ftrace,
    /// fio's I/O log.
    Fio(Version),
    /// fio's log of latencies.
    FioLatency,
    /// XDD's seek list.
    SeekList,
    /// A table.
    Table(Table),
    /// Records of a run as Parquet.
    Parquet,
}

impl Format {
    /// Names by which a format is selected.
    pub const NAMES: [&str; 15] = [
        "load",
        "blktrace",
        "blkparse",
        "ftrace",
        "fio",
        "fio-latency",
        "seek-list",
        "diskmon",
        "msr",
        "alibaba",
        "tencent",
        "spc",
        "fiu",
        "netapp",
        "parquet",
    ];

    /// Returns the format of a name; blkparse with its default line format, fio with version 3 (its reader detects the
    /// version).
    pub fn of_name(name: &str) -> Option<Format> {
        Some(match name {
            "load" => Format::Load,
            "blktrace" => Format::Blktrace,
            "blkparse" => Format::Blkparse(blkparse::Form::default()),
            "ftrace" => Format::Ftrace,
            "fio" => Format::Fio(Version::Three),
            "fio-latency" => Format::FioLatency,
            "seek-list" => Format::SeekList,
            "diskmon" => Format::Table(Table::DiskMon),
            "msr" => Format::Table(Table::Msr),
            "alibaba" => Format::Table(Table::Alibaba),
            "tencent" => Format::Table(Table::Tencent),
            "spc" => Format::Table(Table::Spc),
            "fiu" => Format::Table(Table::Fiu),
            "netapp" => Format::Table(Table::NetApp),
            "parquet" => Format::Parquet,
            _ => return None,
        })
    }

    /// Returns an example line; `None` for binary formats, and for loads, whose text lines are arbitrary.
    pub fn example(&self) -> Option<&'static str> {
        Some(match self {
            Format::Load | Format::Blktrace | Format::Parquet => return None,
            Format::Blkparse(_) => "8,0 1 2 0.000001234 1234 Q WS 64 + 8 [fio]",
            Format::Ftrace => "fio-1234 [000] ..... 5.000001: block_bio_queue: 8,0 WS 64 + 8 [fio]",
            Format::Fio(_) => "12 /dev/sda write 4096 4096",
            Format::FioLatency => "1, 108742, 0, 4096, 0",
            Format::SeekList => "0000000000 000000000000 8 r 0000000000000000 0000000000000000",
            Format::Table(Table::DiskMon) => "0 0.000000 0.00023100 0 Write 409600 8, with tabs between",
            Format::Table(Table::Msr) => "128166372003061629,hm,1,Read,383496192,32768,413",
            Format::Table(Table::Alibaba) => "419,W,8792731648,16384,1577808144360767",
            Format::Table(Table::Tencent) => "1538323200,12910952,128,0,1063",
            Format::Table(Table::Spc) => "0,20941264,8192,W,0.551706",
            Format::Table(Table::Fiu) => "89966346617 4892 syslogd 904265560 8 W 6 0 0a1b2c3d",
            Format::Table(Table::NetApp) => {
                "4124,50,822590674,RD,2,822590674,5001,6,0,0,2048,8,426600,7,6,200.5"
            }
        })
    }

    /// Whether the trace consists of block events, not of requests.
    pub fn is_events(&self) -> bool {
        matches!(self, Format::Blktrace | Format::Blkparse(_) | Format::Ftrace)
    }

    /// Whether times count from something other than the start of the trace.
    pub fn is_dated(&self) -> bool {
        match self {
            Format::Blktrace | Format::Ftrace => true,
            Format::Table(table) => table.is_dated(),
            _ => false,
        }
    }

    /// Detects the format of a trace that starts with `head`; `None` if unknown.
    pub fn recognise(head: &[u8]) -> Option<Format> {
        if head.starts_with(b"PAR1") {
            return Some(Format::Parquet);
        }
        if blktrace::recognises(head) {
            return Some(Format::Blktrace);
        }
        if head.contains(&0) {
            return None;
        }
        let text = String::from_utf8_lossy(head);
        Format::of_text(&text, head.ends_with(b"\n"))
    }

    fn of_text(text: &str, is_whole: bool) -> Option<Format> {
        // The last line may be truncated at the end of `head`.
        let count = text.lines().count();
        let whole = if is_whole || count < 2 { count } else { count - 1 };
        let lines = text.lines().take(whole).map(str::trim).filter(|line| !line.is_empty()).take(LOOKED_AT);
        if let Some(version) = lines.clone().find(|l| !l.starts_with('#')).and_then(Version::of) {
            return Some(Format::Fio(version));
        }
        let count = |is: &dyn Fn(&str) -> bool| lines.clone().filter(|line| is(line)).count();
        let mut scores = vec![
            (Format::Load, count(&is_load)),
            (Format::Ftrace, count(&ftrace::recognises)),
            (Format::SeekList, count(&crate::seek_list::recognises)),
            (Format::FioLatency, count(&crate::fio_latency::recognises)),
        ];
        scores.extend(Table::ALL.map(|t| (Format::Table(t), count(&|line| t.recognises(line)))));
        if let Some(form) = blkparse::recognise(lines.clone()) {
            let read = count(&|line| form.recognises(line));
            scores.push((Format::Blkparse(form), read));
        }
        let most = scores.iter().map(|(_, n)| *n).max().filter(|n| *n > 0)?;
        scores.into_iter().find(|(_, n)| *n == most).map(|(format, _)| format)
    }
}

/// Maximum number of lines examined.
const LOOKED_AT: usize = 400;

/// A request, or the header of a load.
fn is_load(line: &str) -> bool {
    let is_header = line.contains("replay_") && line.contains(';');
    is_header || matches!(blkreplay::parse_line(1, line), Line::Request(_))
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Load => "a load or result in blkreplay's form",
            Format::Blktrace => "a binary trace of blktrace",
            Format::Blkparse(_) => "text of blkparse",
            Format::Ftrace => "text of the kernel's block tracepoints",
            Format::Fio(Version::Two) => "an I/O log of fio, version 2",
            Format::Fio(Version::Three) => "an I/O log of fio, version 3",
            Format::FioLatency => "a latency log of fio",
            Format::SeekList => "a seek list of XDD",
            Format::Table(Table::DiskMon) => "a log of DiskMon",
            Format::Table(Table::Msr) => "a table of MSR Cambridge (SNIA)",
            Format::Table(Table::Alibaba) => "a table of Alibaba's block traces",
            Format::Table(Table::Tencent) => "a table of Tencent's block traces",
            Format::Table(Table::Spc) => "a trace in the form of the Storage Performance Council (UMass)",
            Format::Table(Table::Fiu) => "a table of FIU's block traces (SNIA)",
            Format::Table(Table::NetApp) => "a table of NetApp's hfplayer",
            Format::Parquet => "records of a run as Parquet",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn detects_formats_by_content() {
        let seek = "#Ordinal Location Reqsize Operation Time1 Time2\n0000000000 000000000000 8 r 0000000000000000 0000000000000000\n";
        for (text, want) in [
            ("text\nstart ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n", "a load"),
            ("Copyright\n 0.5 ; 1 ; 8 ; R ; 0.0 ; 0.0\n", "a load"),
            ("fio version 2 iolog\nx add\n", "an I/O log of fio, version 2"),
            ("fio version 3 iolog\n0 x add\n", "an I/O log of fio, version 3"),
            ("1, 108742, 0, 4096, 0\n1, 124897, 1, 8192, 0\n", "a latency log of fio"),
            ("1, 108742, 0, 4096, 4096, 0x0000\n", "a latency log of fio"),
            (
                "# tracer: nop\n fio-1 [000] d..1. 5.000001: block_rq_issue: 8,0 R 0 () 1 + 8 [fio]\n",
                "text of the kernel's",
            ),
            ("  8,0    1        2     0.000001234  1234  Q  WS 64 + 8 [a]\n", "text of blkparse"),
            ("0.000001234 1234 fio Q WS 64 8\n", "text of blkparse"),
            (seek, "a seek list"),
            ("0\t0.000000\t0.00023100\t0\tWrite\t409600\t8\n", "a log of DiskMon"),
            ("128166372003061629,hm,1,Read,383496192,32768,413\n", "a table of MSR"),
            ("419,W,8792731648,16384,1577808144360767\n", "a table of Alibaba"),
            ("1538323200,12910952,128,0,1063\n", "a table of Tencent"),
            ("0,20941264,8192,W,0.551706\n", "a trace in the form of the Storage Performance Council"),
            ("89966346617 4892 syslogd 904265560 8 W 6 0 0a1b2c3d\n", "a table of FIU"),
            ("4124,50,822590674,RD,2,822590674,5001,6,0,0,2048,8,426600,7,6,200.5\n", "a table of NetApp"),
            ("1, 115234, 0, 4096, 0, 0x0000, 885000\n", "a latency log of fio"),
            ("PAR1....", "records of a run"),
        ] {
            let found = Format::recognise(text.as_bytes()).map(|f| f.to_string()).unwrap_or_default();
            assert!(found.starts_with(want), "{text}: {found}");
        }
        assert_eq!(Format::recognise(b"hello\nworld\n"), None);
        assert_eq!(Format::recognise(b""), None);
        assert!(Format::NAMES.iter().all(|name| Format::of_name(name).is_some()));
    }

    proptest! {
        #[test]
        fn detects_format_of_any_bytes_without_panic(head in prop::collection::vec(any::<u8>(), 0..200)) {
            Format::recognise(&head);
        }
    }
}
