//! Keeps the valid start of a damaged trace.

use crate::format::Format;
use crate::input::{is_damage, is_trailing_garbage};
use crate::kernel::{Counts, Event, Events, Origin};
use crate::request::{Bad, Entry, Next, Requests, TraceError, TracePosition, Traced};
use std::io::ErrorKind;

const DOUBT: &str = "gzip streams are damaged: requests that were read of them can be wrong";

/// How readers name the lines they skip.
const PASSED: [&str; 2] = ["lines that are no events", "lines of other events"];

/// Reports damage as a bad entry instead of an error, and keeps everything before it: a truncated compressed file, an
/// invalid line. A trace that breaks before its first entry stays an error.
pub struct Salvage<T> {
    trace: T,
    /// File name, if there are several files.
    file: Option<String>,
    is_begun: bool,
    is_over: bool,
    /// A checksum failed: earlier data can be wrong, too, and still look like requests.
    is_doubtful: bool,
    /// Error for a trace without entries, with an example line.
    expected: Option<String>,
    bad: u64,
}

impl<T> Salvage<T> {
    /// Wraps the reader of one file; `file` is set if there are several.
    pub fn new(trace: T, file: Option<String>) -> Salvage<T> {
        Salvage { trace, file, is_begun: false, is_over: false, is_doubtful: false, expected: None, bad: 0 }
    }

    /// Makes a trace without any entry an error, if it has lines that are not in this format.
    #[must_use]
    pub fn expecting(mut self, format: &Format) -> Salvage<T> {
        let example = format.example();
        self.expected =
            example.map(|example| format!("no line of it is one of {format}, such as '{example}'"));
        self
    }

    /// Checks the end of the trace; `besides` counts other contents.
    fn end(&self, besides: &[(String, u64)]) -> Result<(), TraceError> {
        let passed =
            besides.iter().filter(|(what, _)| PASSED.contains(&what.as_str())).map(|(_, n)| n).sum::<u64>();
        match &self.expected {
            Some(why) if !self.is_begun && self.bad + passed > 0 => {
                Err(TraceError::Broken { at: TracePosition::Line(1), why: self.named(why.clone()) })
            }
            _ => Ok(()),
        }
    }

    /// Updates the state for an entry, and converts damage.
    fn heed<E>(&mut self, next: Next<E>) -> Next<E> {
        match next {
            Ok(Some(Entry::One(one))) => {
                self.is_begun = true;
                Ok(Some(Entry::One(one)))
            }
            Ok(Some(Entry::Bad(bad))) => {
                self.bad += 1;
                Ok(Some(Entry::Bad(Bad { why: self.named(bad.why), ..bad })))
            }
            Ok(None) => Ok(None),
            Err(TraceError::Io { at, error }) if self.is_begun && is_damage(&error) => {
                self.is_over = true;
                let is_whole = is_trailing_garbage(&error);
                self.is_doubtful = !is_whole && error.kind() != ErrorKind::UnexpectedEof;
                let lost = if is_whole { "" } else { "what follows this is lost, because " };
                let why = self.named(format!("{lost}{error}"));
                Ok(Some(Entry::Bad(Bad { at, why, text: None })))
            }
            Err(TraceError::Broken { at, why }) if self.is_begun => {
                Ok(Some(Entry::Bad(Bad { at, why: self.named(why), text: None })))
            }
            Err(TraceError::Broken { at, why }) => Err(TraceError::Broken { at, why: self.named(why) }),
            Err(error) => Err(error),
        }
    }

    fn doubts(&self, mut besides: Vec<(String, u64)>) -> Vec<(String, u64)> {
        if self.is_doubtful {
            besides.push((DOUBT.into(), 1));
        }
        besides
    }

    fn named(&self, why: String) -> String {
        match &self.file {
            Some(file) => format!("of {file}: {why}"),
            None => why,
        }
    }
}

impl<T: Events> Events for Salvage<T> {
    fn next(&mut self) -> Next<&Event> {
        if self.is_over {
            return Ok(None);
        }
        let next = self.trace.next().map(|entry| entry.map(|entry| entry.map(|_| ())));
        let entry = self.heed(next)?;
        if entry.is_none() {
            self.end(&self.trace.extra_counts())?;
        }
        Ok(entry.map(|entry| entry.map(|()| self.trace.shown())))
    }

    fn shown(&self) -> &Event {
        self.trace.shown()
    }

    fn count(&mut self, counts: &mut Counts) {
        self.trace.count(counts);
    }

    fn moved_from(&self) -> Option<Origin> {
        self.trace.moved_from()
    }

    fn name_of(&self, pid: u32) -> Option<[u8; 16]> {
        self.trace.name_of(pid)
    }

    fn name_shown(&mut self, name: [u8; 16]) {
        self.trace.name_shown(name);
    }

    fn extra_counts(&self) -> Vec<(String, u64)> {
        self.doubts(self.trace.extra_counts())
    }
}

impl<T: Requests> Requests for Salvage<T> {
    fn next(&mut self) -> Next<Traced> {
        if self.is_over {
            return Ok(None);
        }
        let next = self.trace.next();
        let entry = self.heed(next)?;
        if entry.is_none() {
            self.end(&self.trace.extra_counts())?;
        }
        Ok(entry)
    }

    fn devices(&self) -> Vec<String> {
        self.trace.devices()
    }

    fn device(&self, number: u32) -> Option<String> {
        self.trace.device(number)
    }

    fn extra_counts(&self) -> Vec<(String, u64)> {
        self.doubts(self.trace.extra_counts())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::blktrace::Blktrace;
    use crate::{Load, decompress};
    use flate2::{Compression, write::GzEncoder};
    use std::io::{Cursor, Write};

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut out = GzEncoder::new(Vec::new(), Compression::none());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    }

    /// Number of requests, and messages; a doubt at the end.
    fn read(mut requests: impl Requests) -> Result<(u64, Vec<String>), String> {
        let (mut count, mut told) = (0, Vec::new());
        while let Some(entry) = requests.next().map_err(|e| e.to_string())? {
            match entry {
                Entry::One(_) => count += 1,
                Entry::Bad(bad) => told.push(bad.to_string()),
            }
        }
        let doubts = requests.extra_counts().into_iter().filter(|(what, n)| what == DOUBT && *n > 0);
        told.extend(doubts.map(|(what, _)| what));
        Ok((count, told))
    }

    #[test]
    fn keeps_whole_lines_of_truncated_file() {
        let line = "0.5 ; 16 ; 8 ; R ; 0.0 ; 0.0\n";
        let whole = gzip(line.repeat(100).as_bytes());
        let load = |bytes: &[u8], file| {
            let text = decompress(Cursor::new(bytes.to_vec())).unwrap();
            read(Salvage::new(Load::new(text), file))
        };
        assert_eq!(load(&whole, None).unwrap(), (100, vec![]));
        let (count, told) = load(&whole[..30 + 7 * line.len()], Some("b.gz".into())).unwrap();
        assert!((6..=7).contains(&count), "{count}");
        assert_eq!(told.len(), 1);
        assert!(
            told[0].starts_with(&format!(
                "line {count}: of b.gz: what follows this is lost, because the gzip stream is cut off"
            )),
            "{told:?}"
        );
        // The checksum at the end covers everything.
        let mut bad = whole.clone();
        *bad.iter_mut().nth_back(6).unwrap() ^= 1;
        let (count, told) = load(&bad, None).unwrap();
        assert!(count == 100 && told.len() == 2 && told[0].contains("is damaged"), "{told:?}");
        assert!(load(&whole[..12], None).unwrap_err().contains("is cut off"));
        // Trailing garbage after a whole stream casts no doubt on it.
        let (count, told) = load(&[&whole[..], b"rubbish"].concat(), None).unwrap();
        assert!(count == 100 && told.len() == 1, "{told:?}");
        assert!(told[0].starts_with("line 100: trailing garbage follows the gzip stream"), "{told:?}");
    }

    #[test]
    fn binary_line_loses_only_itself() {
        let line = "0.5 ; 16 ; 8 ; R ; 0.0 ; 0.0\n";
        let mut text = line.repeat(3).into_bytes();
        text[line.len() + 4] = 0;
        let (count, told) = read(Salvage::new(Load::new(&text[..]), None)).unwrap();
        assert_eq!((count, told.len()), (2, 1));
        assert!(told[0].contains("line 2"), "{told:?}");
        assert!(read(Salvage::new(Load::new(&b"\0\n"[..]), None)).is_err());
    }

    #[test]
    fn rejects_input_without_any_event() {
        let mut events = Salvage::new(Blktrace::new(&[7u8; 100][..]), Some("x".into()));
        let error = Events::next(&mut events).unwrap_err().to_string();
        assert!(error.starts_with("byte 0: of x: here should be an event"), "{error}");
    }
}
