//! fio's I/O logs, version 2 (`wait` lines) and version 3 (a time in each line): `fio(1)`, "trace file format".
//!
//! Units are those of fio 3.33, found by experiment (`tests/fixtures/README.md`): times of version 3 are microseconds
//! since the start of the job. A wait of version 2 ends the given number of *milliseconds* after that start, although
//! the manual says microseconds since the previous wait.

use crate::digits::Line;
use crate::request::{Bad, Entry, Kind, Names, Next, Requests, TraceError, TracePosition, Traced};
use crate::text::{Lines, whole};
use iosonar_plan::{Extent, Nanos};
use std::io::{BufRead, Write};

/// The version of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// Requests without times; `wait` lines have the end of the wait in milliseconds since the start.
    Two,
    /// Each line starts with its time.
    Three,
}

/// Nanoseconds of the unit of a time in version 3, and of a wait in version 2.
const MICROSECOND: u64 = 1000;
const MILLISECOND: u64 = 1_000_000;

impl Version {
    /// Returns the first line of a log.
    pub fn head(self) -> &'static str {
        match self {
            Version::Two => "fio version 2 iolog",
            Version::Three => "fio version 3 iolog",
        }
    }

    /// Detects the version from the first line of a log.
    pub fn of(line: &str) -> Option<Version> {
        [Version::Two, Version::Three].into_iter().find(|v| line.trim_end() == v.head())
    }
}

/// Reads a log. Its files are the devices.
pub struct FioLog<R> {
    lines: Lines<R>,
    version: Option<Version>,
    files: Names,
    now: u64,
    /// Lines that open or close files.
    files_handled: u64,
}

impl<R: BufRead> FioLog<R> {
    /// Reads decompressed text.
    pub fn new(input: R) -> FioLog<R> {
        FioLog { lines: Lines::new(input), version: None, files: Names::default(), now: 0, files_handled: 0 }
    }
}

/// A line of a log.
enum LogLine<'a> {
    Request(&'a str, Kind, u64, u64),
    Wait(u64),
    File,
}

impl<R: BufRead> Requests for FioLog<R> {
    fn next(&mut self) -> Next<Traced> {
        loop {
            let at = self.lines.number() + 1;
            let Some(line) = self.lines.next()? else { return Ok(None) };
            let text = line.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let Some(version) = self.version else {
                self.version = Version::of(text);
                if self.version.is_none() {
                    let why = "a log of fio starts with 'fio version 2 iolog' or 'fio version 3 iolog'";
                    return Err(TraceError::Broken { at: TracePosition::Line(at), why: why.into() });
                }
                continue;
            };
            let told = match version {
                Version::Two => parse_line(text).map(|told| (None, told)),
                Version::Three => timed(text).map(|(time, told)| (Some(time), told)),
            };
            let (time, told) = match told {
                Ok(told) => told,
                Err(why) => return Ok(Some(Entry::Bad(Bad::line(at, why, text)))),
            };
            match told {
                LogLine::Wait(_) if version == Version::Three => {
                    let why = "version 3 has no wait lines: each line has its time";
                    return Ok(Some(Entry::Bad(Bad::line(at, why, text))));
                }
                LogLine::Wait(until) => self.now = self.now.max(until),
                LogLine::File => self.files_handled += 1,
                LogLine::Request(file, kind, offset, length) => {
                    let Some(device) = self.files.number(file) else {
                        return Ok(Some(Entry::Bad(Bad::line(at, "there are more than 65536 files", text))));
                    };
                    let extent = Extent { offset, length };
                    let time = Nanos(time.unwrap_or(self.now));
                    return Ok(Some(Entry::One(Traced { device, ..Traced::new(at, time, kind, extent) })));
                }
            }
        }
    }

    fn devices(&self) -> Vec<String> {
        self.files.all()
    }

    fn device(&self, number: u32) -> Option<String> {
        self.files.get(number)
    }

    fn extra_counts(&self) -> Vec<(String, u64)> {
        vec![("lines that add, open and close files".into(), self.files_handled)]
    }
}

fn timed(text: &str) -> Result<(u64, LogLine<'_>), String> {
    let (time, rest) = text.split_once(' ').ok_or("nothing follows the time")?;
    let time = whole(time).and_then(|t| t.checked_mul(MICROSECOND)).filter(|t| *t < 1 << 63);
    Ok((time.ok_or("the time is no number")?, parse_line(rest)?))
}

fn parse_line(text: &str) -> Result<LogLine<'_>, String> {
    let mut words = text.split_ascii_whitespace();
    let (file, action) = (words.next().unwrap_or_default(), words.next().ok_or("the action is missing")?);
    let mut number = |what: &str| {
        let word = words.next().ok_or_else(|| format!("the {what} is missing"))?;
        whole(word).ok_or_else(|| format!("the {what} '{word}' is no number"))
    };
    let kind = match action {
        "add" | "open" | "close" => return Ok(LogLine::File),
        "wait" => {
            let until = number("time")?.checked_mul(MILLISECOND).filter(|n| *n < 1 << 63);
            return Ok(LogLine::Wait(until.ok_or("the time is too large")?));
        }
        "read" => Kind::Read,
        "write" => Kind::Write,
        "trim" => Kind::Discard,
        "sync" | "datasync" => Kind::Flush,
        other => return Err(format!("the action '{other}' is not known")),
    };
    // Some logs have a place for a sync, others do not; it is ignored.
    let (offset, length) = match kind {
        Kind::Flush => (0, 0),
        _ => (number("offset")?, number("length")?),
    };
    if length == 0 && kind != Kind::Flush {
        return Err("the length is 0".into());
    }
    let end = offset.checked_add(length).filter(|end| *end <= 1 << 63);
    end.ok_or("it ends beyond 2^63 bytes, the largest offset that Linux knows")?;
    Ok(LogLine::Request(file, kind, offset, length))
}

/// Writes a log.
pub struct FioWriter<W> {
    out: W,
    version: Version,
    file: String,
    /// Current time in units of the log.
    now: u64,
}

impl<W: Write> FioWriter<W> {
    /// Starts a log of requests on `file`, whose name must hold no blanks.
    pub fn new(mut out: W, version: Version, file: &str) -> std::io::Result<FioWriter<W>> {
        writeln!(out, "{}", version.head())?;
        let mut log = FioWriter { out, version, file: file.into(), now: 0 };
        log.handle("add")?;
        log.handle("open")?;
        Ok(log)
    }

    fn handle(&mut self, action: &str) -> std::io::Result<()> {
        match self.version {
            Version::Two => writeln!(self.out, "{} {action}", self.file),
            Version::Three => writeln!(self.out, "{} {} {action}", self.now, self.file),
        }
    }

    /// Writes a request; `false` if the log has no action for it. Times are rounded down to the log's unit.
    pub fn push(&mut self, request: &Traced) -> std::io::Result<bool> {
        let action = match request.kind {
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Discard => "trim",
            Kind::Flush => "sync",
            Kind::WriteZeroes | Kind::Other => return Ok(false),
        };
        let unit = if self.version == Version::Two { MILLISECOND } else { MICROSECOND };
        let time = self.now.max(request.time.0 / unit);
        match self.version {
            Version::Two if time > self.now => writeln!(self.out, "{} wait {time} 0", self.file)?,
            Version::Two => {}
            Version::Three => Line::new().number(time, 0).letter(' ').write(&mut self.out)?,
        }
        self.now = time;
        self.out.write_all(self.file.as_bytes())?;
        let Extent { offset, length } = request.extent;
        let mut line = Line::new();
        line.letter(' ').text(action).letter(' ');
        line.number(offset, 0).letter(' ').number(length, 0).end(&mut self.out)?;
        Ok(true)
    }

    /// Ends the log.
    pub fn end(mut self) -> std::io::Result<W> {
        self.handle("close")?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::all_entries;
    use proptest::prelude::*;

    fn all(text: &str) -> Vec<Result<Traced, String>> {
        all_entries(FioLog::new(text.as_bytes()))
    }

    #[test]
    fn reads_iolog_versions_2_and_3() {
        let two = "fio version 2 iolog\n/dev/a add\n/dev/a open\n/dev/a read 4096 8192\n/dev/a wait 1 0\n/dev/a wait 15 0\n/dev/b trim 0 512\n/dev/a sync 0 0\n/dev/a close\n";
        let three = "fio version 3 iolog\n0 /dev/a add\n0 /dev/a open\n0 /dev/a read 4096 8192\n15000 /dev/b trim 0 512\n15000 /dev/a sync\n16000 /dev/a close\n";
        for text in [two, three] {
            let all: Vec<Traced> = all(text).into_iter().map(Result::unwrap).collect();
            let seen: Vec<_> =
                all.iter().map(|r| (r.time.0, r.kind, r.extent.offset, r.extent.length, r.device)).collect();
            let want = [
                (0, Kind::Read, 4096, 8192, 0),
                (15_000_000, Kind::Discard, 0, 512, 1),
                (15_000_000, Kind::Flush, 0, 0, 0),
            ];
            assert_eq!(seen, want);
        }
    }

    #[test]
    fn errors_name_line_and_cause() {
        for (line, why) in [
            ("f read 1", "the length is missing"),
            ("f read x 1", "'x' is no number"),
            ("f read 1 0", "length is 0"),
            ("f fly 1 1", "'fly' is not known"),
            ("f", "the action is missing"),
            ("f read 9223372036854775807 2", "2^63"),
        ] {
            let told = all(&format!("fio version 2 iolog\n{line}\n"))[0].clone().unwrap_err();
            assert!(told.starts_with("line 2: ") && told.contains(why), "{told}");
        }
        assert!(all("fio version 1 iolog\n")[0].as_ref().unwrap_err().contains("starts with"));
        assert!(all("fio version 3 iolog\n1 f wait 5\n")[0].as_ref().unwrap_err().contains("no wait"));
    }

    proptest! {
        #[test]
        fn written_iolog_reads_back(
            list in prop::collection::vec((0u64..1 << 40, 0u8..4, 0u64..1 << 50, 1u64..1 << 30), 0..40), three: bool,
        ) {
            let version = if three { Version::Three } else { Version::Two };
            let kinds = [Kind::Read, Kind::Write, Kind::Discard, Kind::Flush];
            let mut list = list;
            list.sort();
            let mut log = FioWriter::new(Vec::new(), version, "/dev/x").unwrap();
            for (time, kind, offset, length) in &list {
                let extent = Extent { offset: *offset, length: *length };
                assert!(log.push(&Traced::new(0, Nanos(*time), kinds[usize::from(*kind)], extent)).unwrap());
            }
            let text = String::from_utf8(log.end().unwrap()).unwrap();
            let back: Vec<Traced> = all(&text).into_iter().map(Result::unwrap).collect();
            prop_assert_eq!(back.len(), list.len());
            for (r, (time, kind, offset, length)) in back.iter().zip(&list) {
                prop_assert_eq!(r.kind, kinds[usize::from(*kind)]);
                if r.kind != Kind::Flush {
                    prop_assert_eq!(r.extent, Extent { offset: *offset, length: *length });
                }
                let unit = if three { MICROSECOND } else { MILLISECOND };
                prop_assert_eq!(r.time.0, time / unit * unit);
            }
        }

        #[test]
        fn any_text_is_read_without_panic(text in "fio version [23] iolog\n([0-9a-z ]{0,30}\n){0,4}") {
            all(&text);
        }
    }
}
