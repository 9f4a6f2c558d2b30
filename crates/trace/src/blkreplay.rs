//! blkreplay's `.load` and `.replay` files: one request per line, columns separated by `;`, between free text.
//!
//! blkreplay manual, appendix B; deviations that a reader must accept are listed in the project's format page
//! (`docs/formats.md`).

use crate::digits::Line as TextLine;
use crate::text::explain;
use crate::{TimedRequest, fast_path};
use iosonar_plan::{Durability, Extent, Nanos, Op, SECTOR};
use std::io::{BufRead, Read, Write};

/// Maximum line length; longer lines are not text.
const MAX_LINE: usize = 1 << 16;

/// The header line of a result, as scripts look for it.
pub const REPLAY_HEADER: &str = "orig_start ; sector; length ; op ;  replay_delay; replay_duration";

/// Classified line of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A request.
    Request(TimedRequest),
    /// Looks like a request but is invalid.
    Bad(BadLine),
    /// Everything else: headers, comments, notices, blank lines.
    Text,
}

/// A line that looks like a request but is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}: '{text}'")]
pub struct BadLine {
    /// Line number, from 1.
    pub line: u64,
    /// Reason.
    pub why: String,
    /// Text of the line, shortened.
    pub text: String,
}

/// Why reading a load stopped early.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The input failed: I/O error, or a damaged or truncated gzip stream.
    #[error("after line {line}: {error}")]
    Io {
        /// The last line that was read.
        line: u64,
        /// Cause.
        error: std::io::Error,
    },
    /// A line that exceeds the maximum length.
    #[error(
        "line {0} is longer than 65536 bytes: this is no load; see 'iosonar replay --help' for the formats"
    )]
    Long(u64),
    /// Zero bytes, which text never contains.
    #[error("line {0} contains zero bytes: this is binary data, no load")]
    Binary(u64),
}

/// Reads a load line by line.
pub struct Reader<R> {
    input: R,
    line: u64,
    bytes: Vec<u8>,
}

impl<R: BufRead> Reader<R> {
    /// Reads decompressed text.
    pub fn new(input: R) -> Reader<R> {
        Reader { input, line: 0, bytes: Vec::with_capacity(256) }
    }

    /// Lines read so far.
    pub fn lines(&self) -> u64 {
        self.line
    }

    /// Text of the last line, if that was [`Line::Text`].
    pub fn text(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the next line; `None` at EOF.
    pub fn next_line(&mut self) -> Result<Option<Line>, ReadError> {
        let buffered = match self.input.fill_buf() {
            Err(error) if error.kind() != std::io::ErrorKind::Interrupted => {
                return Err(ReadError::Io { line: self.line, error: explain(error) });
            }
            other => other.unwrap_or_default(),
        };
        if let Some((request, length)) = fast_path::request(self.line + 1, buffered) {
            self.input.consume(length);
            self.line += 1;
            return Ok(Some(Line::Request(request)));
        }
        self.next_line_carefully()
    }

    fn next_line_carefully(&mut self) -> Result<Option<Line>, ReadError> {
        self.bytes.clear();
        let mut limited = self.input.by_ref().take(MAX_LINE as u64 + 1);
        let read = limited.read_until(b'\n', &mut self.bytes);
        let read = read.map_err(|error| ReadError::Io { line: self.line, error: explain(error) })?;
        if read == 0 {
            return Ok(None);
        }
        self.line += 1;
        if self.bytes.len() > MAX_LINE {
            return Err(ReadError::Long(self.line));
        }
        if self.bytes.contains(&0) {
            return Err(ReadError::Binary(self.line));
        }
        Ok(Some(parse_line(self.line, &String::from_utf8_lossy(&self.bytes))))
    }
}

/// Operations whose lines are comments to readers that do not know them, such as blkreplay's own: `# flush ; time`,
/// `# discard ; time ; sector ; length`; delay and latency may follow.
const COMMENTED: [Op; 3] = [Op::Flush, Op::Discard, Op::WriteZeroes];

/// Parses one line.
pub fn parse_line(line: u64, text: &str) -> Line {
    let text = text.trim();
    let parsed = match commented(text) {
        Some((op, columns)) => parse_commented(line, op, columns),
        None if looks_like_request(text) => parse_request(line, text),
        None => return Line::Text,
    };
    match parsed {
        Ok(request) => Line::Request(request),
        Err(why) => Line::Bad(BadLine { line, why, text: text.chars().take(60).collect() }),
    }
}

/// Whether a line is meant as a request: its first column starts like a number. Text, header, comment and notice lines
/// start with a letter or `#`, even if they contain semicolons.
fn looks_like_request(text: &str) -> bool {
    let first = text.split(';').next().unwrap_or_default().trim();
    let number = first.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    if text.contains(';') {
        let unsigned = first.trim_start_matches(['+', '-']).to_ascii_lowercase();
        number && !first.starts_with("--") || matches!(unsigned.as_str(), "nan" | "inf" | "infinity")
    } else {
        // A request truncated within its first column.
        number && first.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    }
}

fn parse_request(line: u64, text: &str) -> Result<TimedRequest, String> {
    let mut columns = text.split(';').map(str::trim);
    let mut column =
        |name: &str| columns.next().filter(|c| !c.is_empty()).ok_or_else(|| format!("{name} is missing"));
    let time = parse_time(column("the time")?).map_err(|why| format!("the time {why}"))?;
    let place = (column("the sector")?, column("the length")?);
    let (op, durability, pushed) = parse_op(column("the operation (R or W)")?)?;
    let extent = parse_extent(place)?;
    // Loads have 0.0 or nothing here; results have the measured values.
    let mut measured = || columns.next().and_then(|c| parse_time(c).ok()).unwrap_or_default();
    let (delay, latency) = (measured(), measured());
    Ok(TimedRequest { line, time, op, durability, extent, pushed, delay, latency })
}

fn parse_extent((sector, length): (&str, &str)) -> Result<Extent, String> {
    let (sector, length) = (parse_count("the sector", sector)?, parse_count("the length", length)?);
    if length == 0 {
        return Err("the length is 0".into());
    }
    Extent::from_sectors(sector, length)
        .ok_or_else(|| "it ends beyond 2^63 bytes, the largest offset that Linux knows".into())
}

/// Splits a comment into operation and columns. Without a column it is a plain comment.
fn commented(text: &str) -> Option<(Op, &str)> {
    let (name, columns) = text.split_once(';')?;
    let is_named = |op: &Op| name.split_ascii_whitespace().eq(["#", op.name()]);
    Some((COMMENTED.into_iter().find(is_named)?, columns))
}

fn parse_commented(line: u64, op: Op, columns: &str) -> Result<TimedRequest, String> {
    let mut columns = columns.split(';').map(str::trim);
    let time = columns.next().unwrap_or_default();
    let time = parse_time(time).map_err(|why| format!("the time of the {op} {why}"))?;
    let mut column = |name: &str| columns.next().ok_or_else(|| format!("{name} of the {op} is missing"));
    let extent = match op.has_place() {
        true => parse_extent((column("the sector")?, column("the length")?))?,
        false => Extent::default(),
    };
    let mut measured = || columns.next().and_then(|c| parse_time(c).ok()).unwrap_or_default();
    let (delay, latency, durability) = (measured(), measured(), Durability::NONE);
    Ok(TimedRequest { line, time, op, durability, extent, pushed: false, delay, latency })
}

fn parse_count(name: &str, text: &str) -> Result<u64, String> {
    if text.starts_with('-') {
        return Err(format!("{name} is negative"));
    }
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let value = text.parse().ok().filter(|n: &u64| *n < 1 << 63);
    match (digits, value) {
        (true, Some(value)) => Ok(value),
        (true, None) => Err(format!("{name} lies beyond 2^63")),
        (false, _) => Err(format!("{name} is no whole number")),
    }
}

fn parse_op(text: &str) -> Result<(Op, Durability, bool), String> {
    // A write that first flushes (FWS, FWFS) carries data: it is a write.
    let rest = text.strip_prefix('F').filter(|rest| rest.starts_with('W'));
    let letters = rest.unwrap_or(text);
    let durability = || {
        let behind: String = letters.chars().skip(1).take_while(char::is_ascii_alphabetic).collect();
        Durability::NONE
            .with(Durability::FUA, behind.contains('F'))
            .with(Durability::PREFLUSH, rest.is_some() || behind.contains('P'))
    };
    match letters.chars().next() {
        Some('R') => Ok((Op::Read, Durability::NONE, false)),
        Some('W') => Ok((Op::Write, durability(), false)),
        Some('r') => Ok((Op::Read, Durability::NONE, true)),
        Some('w') => Ok((Op::Write, durability(), true)),
        Some('D') => Err("a discard has a line of its own: '# discard ; time ; sector ; length'".into()),
        Some('F') => Err("an empty flush has a line of its own: '# flush ; time'".into()),
        _ => Err(format!("the operation '{text}' is neither a read (R) nor a write (W)")),
    }
}

/// Seconds with a fraction; digits below a nanosecond are cut off.
fn parse_time(text: &str) -> Result<Nanos, &'static str> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if text.contains(',') {
        return Err("has a decimal comma: write a point");
    }
    if text.starts_with('-') {
        return Err("is negative");
    }
    if whole.is_empty() && fraction.is_empty() || !digits(whole) || !digits(fraction) {
        return Err("is no number");
    }
    let seconds: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| "is too large")? };
    let kept = &fraction[..fraction.len().min(9)];
    let nanos = kept.bytes().fold(0, |n, b| n * 10 + u64::from(b - b'0')) * 10u64.pow(9 - kept.len() as u32);
    let time = seconds.checked_mul(1_000_000_000).and_then(|n| n.checked_add(nanos));
    // Half of what 64 bits hold, so that later sums never overflow: 292 years.
    time.filter(|n| *n < 1 << 63).map(Nanos).ok_or("is too large")
}

/// Durability of a write as letters after its own; readers that do not know them ignore them.
fn letters(durability: Durability) -> &'static str {
    match (durability.has(Durability::PREFLUSH), durability.has(Durability::FUA)) {
        (false, false) => "",
        (false, true) => "F",
        (true, false) => "P",
        (true, true) => "PF",
    }
}

/// Writes one result line in blkreplay's columns; operations without such columns become comments that this reader knows.
pub fn write_result(out: &mut impl Write, request: &TimedRequest) -> std::io::Result<()> {
    if !request.op.is_transfer() {
        return write_commented(out, request);
    }
    let op = request.op.letter();
    TextLine::new()
        .seconds(request.time.0, 4)
        .text(" ; ")
        .number(request.extent.offset / SECTOR, 10)
        .text(" ; ")
        .number(request.extent.length / SECTOR, 3)
        .text(" ; ")
        .letter(if request.pushed { op.to_ascii_lowercase() } else { op })
        .text(letters(request.durability))
        .text(" ; ")
        .seconds(request.delay.0, 3)
        .text(" ; ")
        .seconds(request.latency.0, 3)
        .end(out)
}

fn write_commented(out: &mut impl Write, request: &TimedRequest) -> std::io::Result<()> {
    let mut line = TextLine::new();
    line.text("# ").text(request.op.name()).text(" ; ").seconds(request.time.0, 6).text(" ; ");
    if request.op.has_place() {
        let Extent { offset, length } = request.extent;
        line.number(offset / SECTOR, 0).text(" ; ").number(length / SECTOR, 0).text(" ; ");
    }
    if request.delay == Nanos(0) && request.latency == Nanos(0) {
        return line.text("0.0 ; 0.0").end(out);
    }
    line.seconds(request.delay.0, 3).text(" ; ").seconds(request.latency.0, 3).end(out)
}

/// Writes one load line of a read or write; columns that a load does not know are 0.0.
pub fn write_load(
    out: &mut impl Write,
    time: Nanos,
    op: Op,
    sector: u64,
    length: u64,
) -> std::io::Result<()> {
    write_plain(out, time, op, Durability::NONE, (sector, length))
}

fn write_plain(
    out: &mut impl Write,
    time: Nanos,
    op: Op,
    durability: Durability,
    (sector, length): (u64, u64),
) -> std::io::Result<()> {
    TextLine::new()
        .seconds(time.0, 6)
        .text(" ; ")
        .number(sector, 12)
        .text(" ; ")
        .number(length, 4)
        .text(" ; ")
        .letter(op.letter())
        .text(letters(durability))
        .text(" ; 0.0 ; 0.0")
        .end(out)
}

/// Writes one load line without result columns.
pub fn write_demand(out: &mut impl Write, r: &TimedRequest) -> std::io::Result<()> {
    if !r.op.is_transfer() {
        return write_commented(out, &TimedRequest { delay: Nanos(0), latency: Nanos(0), ..*r });
    }
    write_plain(out, r.time, r.op, r.durability, (r.extent.offset / SECTOR, r.extent.length / SECTOR))
}

/// Writes a result line if the request has times of a run, otherwise a load line.
pub fn write_request(out: &mut impl Write, r: &TimedRequest) -> std::io::Result<()> {
    if r.pushed || r.delay > Nanos(0) || r.latency > Nanos(0) {
        return write_result(out, r);
    }
    write_demand(out, r)
}

/// The header line of a load.
pub const LOAD_HEADER: &str = "start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(text: &str) -> TimedRequest {
        match parse_line(1, text) {
            Line::Request(r) => r,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn why(text: &str) -> String {
        match parse_line(1, text) {
            Line::Bad(bad) => bad.why,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn reads_every_line_variation() {
        for (text, time, sector, op, pushed) in [
            ("      0.000000000 ;           16 ;    8 ; W ; 0.0 ; 0.0\r\n", 0, 16, Op::Write, false),
            ("0.000000001;24;8;R", 1, 24, Op::Read, false),
            (" 0.000000002 ; 32 ; 8 ;RA ; 0.0 ; 0.0", 2, 32, Op::Read, false),
            ("0.000000003 ; 40 ; 8 ; w ; 0.0 ; 0.0", 3, 40, Op::Write, true),
            (" 0.5 ; 48 ; 8 ; WS ; 0.0 ; 0.0", 500_000_000, 48, Op::Write, false),
            ("1 ; 56 ; 8 ; R ; 0 ; 0", 1_000_000_000, 56, Op::Read, false),
            ("\t1. ; 56 ; 8 ; FWFS ; 0 ; 0 ; more", 1_000_000_000, 56, Op::Write, false),
            (".0000000019 ; 56 ; 8 ; r", 1, 56, Op::Read, true),
        ] {
            let r = request(text);
            assert_eq!(
                (r.time.0, r.extent.offset / 512, r.op, r.pushed),
                (time, sector, op, pushed),
                "{text}"
            );
            assert_eq!(r.extent.length, 8 * 512);
        }
    }

    #[test]
    fn decodes_durability_from_write_flags() {
        let none = Durability::NONE;
        let (fua, preflush) = (Durability::FUA, Durability::PREFLUSH);
        for (letters, want) in [
            ("W", none),
            ("WSM", none),
            ("WF", fua),
            ("WFSM", fua),
            ("WP", preflush),
            ("WPF", fua.with(preflush, true)),
            ("FWS", preflush),
            ("FWFS", fua.with(preflush, true)),
            ("w", none),
            ("wF", fua),
            ("RF", none),
        ] {
            assert_eq!(request(&format!("0 ; 8 ; 8 ; {letters}")).durability, want, "{letters}");
        }
    }

    #[test]
    fn flush_lines_are_comments_to_blkreplay() {
        for (text, time, delay, latency) in [
            ("# flush ;      1.500000000 ; 0.0 ; 0.0\n", 1_500_000_000, 0, 0),
            ("#  flush;2", 2_000_000_000, 0, 0),
            ("# flush ; 0.1 ; 0.000000007 ; 0.000000009 ; more", 100_000_000, 7, 9),
        ] {
            let r = request(text);
            assert_eq!((r.op, r.extent, r.time.0), (Op::Flush, Extent::default(), time), "{text}");
            assert_eq!((r.delay.0, r.latency.0), (delay, latency), "{text}");
        }
        for text in ["# flush", "# flush it ; 1.0", "#flush ; 1.0", "flush ; 1.0"] {
            assert_eq!(parse_line(1, text), Line::Text, "{text}");
        }
        for (text, word) in
            [("often", "no number"), ("-1", "negative"), ("", "no number"), ("1,5", "decimal comma")]
        {
            let Line::Bad(bad) = parse_line(1, &format!("# flush ; {text}")) else { panic!("{text}") };
            assert!(bad.why.contains("the time of the flush") && bad.why.contains(word), "{}", bad.why);
        }
    }

    #[test]
    fn discard_and_zero_lines_are_comments_with_a_range() {
        let r = request("# discard ; 1.5 ; 16 ; 8 ; 0.000000007 ; 0.000000009");
        assert_eq!((r.op, r.time.0, r.delay.0, r.latency.0), (Op::Discard, 1_500_000_000, 7, 9));
        assert_eq!(r.extent, Extent { offset: 8192, length: 4096 });
        assert_eq!(request("# write-zeroes ; 0 ; 0 ; 1").op, Op::WriteZeroes);
        for (text, why) in [
            ("# discard ; 1", "the sector of the discard is missing"),
            ("# discard ; 1 ; 8", "the length of the discard is missing"),
            ("# discard ; 1 ; 8 ; 0", "the length is 0"),
            ("# write-zeroes ; x ; 8 ; 8", "the time of the write-zeroes is no number"),
            ("1 ; 8 ; 8 ; D", "# discard ; time ; sector ; length"),
        ] {
            let Line::Bad(bad) = parse_line(1, text) else { panic!("{text}") };
            assert!(bad.why.contains(why), "{text}: {}", bad.why);
        }
    }

    #[test]
    fn text_lines_are_not_requests() {
        for text in [
            "",
            "\n",
            "Copyright somebody; all rights",
            "# 1 ; 2 ; 3 ; R",
            LOAD_HEADER,
            REPLAY_HEADER,
            "INFO: dropping block=96 len=8 mode=W",
            "-----------------",
            "----;----",
            "=========",
            "2012 was a good year",
        ] {
            assert_eq!(parse_line(1, text), Line::Text, "{text}");
        }
    }

    #[test]
    fn errors_name_the_invalid_field() {
        for (text, part) in [
            ("1.0 ; 64 ; 8 ; D ; 0 ; 0", "discard"),
            ("1.0 ; 64 ; 8 ; FN ; 0 ; 0", "flush"),
            ("1.0 ; 64 ; 8 ; X ; 0 ; 0", "neither"),
            ("1.0 ; 72 ; 8", "operation (R or W) is missing"),
            ("1.0 ; 80 ; 0 ; R", "length is 0"),
            ("1.0 ; -8 ; 8 ; R", "sector is negative"),
            ("1.0 ; 88 ; -8 ; R", "length is negative"),
            ("1.0 ; 9223372036854775808 ; 8 ; R", "beyond 2^63"),
            ("1.0 ; 9223372036854775807 ; 8 ; R", "beyond 2^63"),
            ("1.0 ; 99999999999999999999 ; 8 ; R", "beyond 2^63"),
            ("1.0 ; 8.5 ; 8 ; R", "no whole number"),
            ("0,5 ; 8 ; 8 ; R", "comma"),
            ("-1.0 ; 8 ; 8 ; R", "negative"),
            ("nan ; 8 ; 8 ; R", "no number"),
            ("-inf ; 8 ; 8 ; R", "negative"),
            ("1e3 ; 8 ; 8 ; R", "no number"),
            ("99999999999999999999 ; 8 ; 8 ; R", "too large"),
            ("12.5", "sector is missing"),
        ] {
            assert!(why(text).contains(part), "{text}: {}", why(text));
        }
    }

    #[test]
    fn binary_or_endless_line_ends_reading() {
        let mut reader = Reader::new(&b"text\n\0\0\n"[..]);
        assert!(matches!(reader.next_line(), Ok(Some(Line::Text))));
        assert!(matches!(reader.next_line(), Err(ReadError::Binary(2))));
        let endless = vec![b'x'; MAX_LINE + 10];
        assert!(matches!(Reader::new(&endless[..]).next_line(), Err(ReadError::Long(1))));
    }

    proptest! {
        #[test]
        fn a_result_line_reads_back(
            time in 0u64..1 << 62, sector in 0u64..1 << 50, length in 1u64..1 << 20,
            kind in 0u8..8, pushed: bool, delay in 0u64..1 << 62, latency in 0u64..1 << 62,
        ) {
            let ops = [Op::Read, Op::Flush, Op::Discard, Op::WriteZeroes, Op::Write];
            let op = ops[usize::from(kind.min(4))];
            let want = TimedRequest {
                line: 1,
                time: Nanos(time),
                op,
                durability: Durability::of_bits(if op.is_write() { kind - 4 } else { 0 }),
                extent: match op {
                    Op::Flush => Extent::default(),
                    _ => Extent::from_sectors(sector, length).unwrap(),
                },
                pushed: pushed && op.is_transfer(),
                delay: Nanos(delay),
                latency: Nanos(latency),
            };
            let mut text = Vec::new();
            write_result(&mut text, &want).unwrap();
            prop_assert_eq!(request(std::str::from_utf8(&text).unwrap()), want);
            let mut text = Vec::new();
            write_demand(&mut text, &want).unwrap();
            let plain = TimedRequest { pushed: false, delay: Nanos(0), latency: Nanos(0), ..want };
            prop_assert_eq!(request(std::str::from_utf8(&text).unwrap()), plain);
        }

        #[test]
        fn any_text_is_read_without_panic(text: String) {
            parse_line(1, &text);
        }

        #[test]
        fn anything_like_a_line_is_read_without_panic(text in "(# (flush|discard|write-zeroes))?[0-9.;, RWrwDFP+-]{0,60}") {
            parse_line(1, &text);
        }
    }
}
