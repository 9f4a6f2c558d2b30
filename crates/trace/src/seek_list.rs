//! Seek lists: requests as a text that is saved, loaded and inspected.

use crate::digits::Line;
use crate::request::{Bad, Entry, Next, Requests, Traced};
use crate::text::{Lines, entries, words};
use iosonar_plan::{Extent, Nanos, Op};
use std::fmt::Write;
use std::io::BufRead;

const COLUMNS: &str = "#Ordinal Location Reqsize Operation Time1 Time2\n";

/// Maximum number of histogram buckets.
pub const MOST_BUCKETS: u32 = 1_000_000;

/// One request of a seek list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeekEntry {
    /// Number of the request.
    pub ordinal: u64,
    /// First block.
    pub location: u64,
    /// Blocks.
    pub reqsize: u64,
    /// Read or write.
    pub op: Op,
    /// Due time from the start of the pass; 0: at once.
    pub due: Nanos,
}

/// Why a text is not a seek list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the seek list: {why}")]
pub struct SeekListError {
    /// Line number, from 1.
    pub line: u64,
    /// Reason.
    pub why: String,
}

/// Formats the list as text; [`read_seek_list`] returns the same list.
pub fn write_seek_list(entries: &[SeekEntry]) -> String {
    let longest = distances(entries).max().unwrap_or(0);
    let shortest = distances(entries).min().unwrap_or(0);
    let total: u128 = distances(entries).map(u128::from).sum();
    let average = total.checked_div(entries.len() as u128).unwrap_or(0);
    let mut text = format!(
        "# Longest seek={longest}, Shortest seek={shortest}, Average seek distance={average}\n{COLUMNS}"
    );
    let mut rows = Vec::new();
    entries.iter().for_each(|entry| row(entry, &mut rows).expect("memory takes it"));
    text += &String::from_utf8_lossy(&rows);
    text
}

/// From the start of each request to the start of the next, in blocks.
fn distances(entries: &[SeekEntry]) -> impl Iterator<Item = u64> + '_ {
    entries.windows(2).map(|pair| pair[0].location.abs_diff(pair[1].location))
}

/// Reads a list. Empty lines and lines starting with `#` are skipped; the second time is ignored. Due times are rounded
/// down to whole nanoseconds.
pub fn read_seek_list(text: &str) -> Result<Vec<SeekEntry>, SeekListError> {
    entries(text, "it", read_entry).map_err(|(line, why)| SeekListError { line, why })
}

/// Whether a line is an entry of a list.
pub(crate) fn recognises(line: &str) -> bool {
    read_entry(line).is_ok()
}

/// Reads a list as a trace: requests one after the other, in blocks of `block` bytes.
pub struct SeekList<R> {
    lines: Lines<R>,
    block: u64,
}

impl<R: BufRead> SeekList<R> {
    /// Reads decompressed text.
    pub fn new(input: R, block: u64) -> SeekList<R> {
        SeekList { lines: Lines::new(input), block }
    }
}

impl<R: BufRead> Requests for SeekList<R> {
    fn next(&mut self) -> Next<Traced> {
        loop {
            let (at, block) = (self.lines.number() + 1, self.block);
            let Some(line) = self.lines.next()? else { return Ok(None) };
            let text = line.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            return Ok(Some(match read_entry(text).and_then(|entry| traced(at, entry, block)) {
                Ok(request) => Entry::One(request),
                Err(why) => Entry::Bad(Bad::line(at, why, text)),
            }));
        }
    }
}

fn traced(at: u64, entry: SeekEntry, block: u64) -> Result<Traced, String> {
    let extent = entry.location.checked_mul(block).zip(entry.reqsize.checked_mul(block));
    let extent = extent.and_then(|(offset, length)| Extent::new(offset, length));
    let extent = extent.ok_or("it ends beyond 2^63 bytes, the largest offset that Linux knows")?;
    if entry.due.0 >= 1 << 63 {
        return Err("the time is too large".into());
    }
    Ok(Traced::new(at, entry.due, entry.op.into(), extent))
}

/// Writes a list request by request, without the distances in [`write_seek_list`]'s first line, which are known only at
/// the end.
pub struct SeekListWriter<W> {
    out: W,
    block: u64,
    ordinal: u64,
}

impl<W: std::io::Write> SeekListWriter<W> {
    /// Starts a list in blocks of `block` bytes.
    pub fn new(mut out: W, block: u64) -> std::io::Result<SeekListWriter<W>> {
        out.write_all(COLUMNS.as_bytes())?;
        Ok(SeekListWriter { out, block, ordinal: 0 })
    }

    /// Writes a request; `false` if a list cannot express it, or if it is not aligned to blocks.
    pub fn push(&mut self, request: &Traced) -> std::io::Result<bool> {
        let Extent { offset, length } = request.extent;
        let whole = offset % self.block == 0 && length % self.block == 0;
        let Some(op) = request.kind.op().filter(|op| whole && op.is_transfer()) else { return Ok(false) };
        let (location, reqsize) = (offset / self.block, length / self.block);
        let entry = SeekEntry { ordinal: self.ordinal, location, reqsize, op, due: request.time };
        row(&entry, &mut self.out)?;
        self.ordinal += 1;
        Ok(true)
    }

    /// Ends the list.
    pub fn end(self) -> W {
        self.out
    }
}

/// Writes an entry; times are in picoseconds.
fn row(entry: &SeekEntry, out: &mut impl std::io::Write) -> std::io::Result<()> {
    let SeekEntry { ordinal, location, reqsize, op, due } = *entry;
    let mut line = Line::new();
    line.zeros(ordinal, 10).letter(' ').zeros(location, 12).letter(' ').number(reqsize, 0);
    line.text(if op.is_write() { " w " } else { " r " });
    // Nanoseconds followed by three zeros: the product would overflow 64 bits.
    line.zeros(due.0, 13).text("000 ").zeros(0, 16).end(out)
}

fn read_entry(text: &str) -> Result<SeekEntry, String> {
    let [ordinal, location, reqsize, letter, due, unused] = words(text).map_err(|count| {
        format!("it has {count} fields, but needs 6: ordinal, location, request size, r or w, and two times")
    })?;
    let entry = SeekEntry {
        ordinal: number("ordinal", ordinal)?,
        location: number("location", location)?,
        reqsize: number("request size", reqsize)?,
        op: operation(letter)?,
        due: due_time(due)?,
    };
    due_time(unused)?;
    if entry.reqsize == 0 {
        return Err("the request size is 0 blocks".into());
    }
    if entry.location.checked_add(entry.reqsize).is_none() {
        return Err("the request ends beyond the last block that can be counted".into());
    }
    Ok(entry)
}

fn operation(letter: &str) -> Result<Op, String> {
    match letter {
        "r" => Ok(Op::Read),
        "w" => Ok(Op::Write),
        _ => Err(format!("the operation is '{letter}', but must be r or w")),
    }
}

fn number(name: &str, word: &str) -> Result<u64, String> {
    digits(word)
        .and_then(|w| w.parse().ok())
        .ok_or_else(|| format!("the {name} is '{word}', but must be a whole number from 0 to {}", u64::MAX))
}

fn due_time(word: &str) -> Result<Nanos, String> {
    let picoseconds = digits(word).and_then(|w| w.parse::<u128>().ok());
    let time = picoseconds.and_then(|ps| u64::try_from(ps / 1000).ok());
    time.map(Nanos)
        .ok_or_else(|| format!("the time is '{word}', but must be whole picoseconds, up to 584 years"))
}

/// Returns `word` if it has only digits: signs are not allowed.
fn digits(word: &str) -> Option<&str> {
    word.bytes().all(|b| b.is_ascii_digit()).then_some(word)
}

/// Histogram of locations. The buckets share the `range` blocks from `start` evenly, and extend to farther locations,
/// so that each location is counted.
pub fn seek_histogram(entries: &[SeekEntry], buckets: u32, start: u64, range: u64) -> String {
    let locations = || entries.iter().map(|e| e.location);
    let low = locations().min().map_or(start, |l| l.min(start));
    let planned = u128::from(start) + u128::from(range);
    let high = locations().max().map_or(planned, |l| planned.max(u128::from(l) + 1));
    let width = high.saturating_sub(low.into());
    histogram("#SeekHist", buckets, width, locations().map(|l| l - low))
}

/// Histogram of distances from the start of one request to the start of the next. The buckets share the distances from
/// 0 to the longest evenly.
pub fn distance_histogram(entries: &[SeekEntry], buckets: u32) -> String {
    let width = distances(entries).max().map_or(1, |longest| u128::from(longest) + 1);
    histogram("#DistHist", buckets, width, distances(entries))
}

/// Counts values below `width` in `buckets` of even width; at least 1, at most [`MOST_BUCKETS`].
fn histogram(name: &str, buckets: u32, width: u128, values: impl Iterator<Item = u64>) -> String {
    let buckets = buckets.clamp(1, MOST_BUCKETS);
    let mut counts = vec![0u64; buckets as usize];
    for value in values {
        let bucket = u128::from(value) * u128::from(buckets) / width.max(1);
        if let Some(count) = counts.get_mut(bucket.min(u128::from(buckets) - 1) as usize) {
            *count += 1;
        }
    }
    let mut text = String::new();
    for (number, count) in counts.iter().enumerate() {
        let _ = writeln!(text, "{name} {number:04} {count:10}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(location: u64) -> SeekEntry {
        SeekEntry { ordinal: 0, location, reqsize: 8, op: Op::Read, due: Nanos(0) }
    }

    fn counts(text: &str) -> Vec<u64> {
        text.lines().map(|l| l.split_ascii_whitespace().last().unwrap().parse().unwrap()).collect()
    }

    #[test]
    fn rejects_invalid_seek_lists_with_line() {
        let good = "0000000000 000000000000 8 r 0000000000000000 0000000000000000";
        for (bad, why) in [
            ("0 0 8 r 0", "5 fields"),
            ("0 0 8 r 0 0 0", "7 fields"),
            ("0 0 0 r 0 0", "0 blocks"),
            ("0 0 8 x 0 0", "'x'"),
            ("0 0 8 R 0 0", "'R'"),
            ("0 -1 8 r 0 0", "location is '-1'"),
            ("0 +1 8 r 0 0", "location is '+1'"),
            ("0 18446744073709551616 8 r 0 0", "location"),
            ("0 18446744073709551615 1 r 0 0", "beyond"),
            ("0 0 8 r 99999999999999999999999 0", "584 years"),
            ("0 0 8 r 0 z", "'z'"),
            ("a 0 8 r 0 0", "ordinal"),
        ] {
            let error = read_seek_list(&format!("# head\n{good}\n{bad}\n")).unwrap_err();
            assert_eq!(error.line, 3, "{bad}");
            assert!(error.to_string().contains(why), "{error}");
        }
        for empty in ["", "# only\n#comments\n\n"] {
            assert!(read_seek_list(empty).unwrap_err().why.contains("no request"));
        }
    }

    #[test]
    fn due_times_exceed_32_bits() {
        let text = "7 16 8 w 30000000000000 0";
        let want =
            SeekEntry { ordinal: 7, location: 16, op: Op::Write, due: Nanos::from_secs(30), ..entry(0) };
        assert_eq!(read_seek_list(text).unwrap(), [want]);
    }

    #[test]
    fn histograms_count_every_request() {
        let list: Vec<SeekEntry> = [0, 1020, 2040, 3060, 4095, 5000].map(entry).into();
        assert_eq!(counts(&seek_histogram(&list, 4, 0, 4096)), [2, 1, 1, 2]);
        assert_eq!(counts(&seek_histogram(&list[..5], 4, 0, 4096)), [2, 1, 1, 1]);
        assert_eq!(
            seek_histogram(&list[..1], 2, 0, 10),
            "#SeekHist 0000          1\n#SeekHist 0001          0\n"
        );
        assert_eq!(counts(&distance_histogram(&list, 2)), [0, 5]);
        assert_eq!(distance_histogram(&list[..1], 1), "#DistHist 0000          0\n");
    }

    fn entries() -> impl Strategy<Value = Vec<SeekEntry>> {
        let parts = (any::<u64>(), any::<u64>(), 1..=u64::MAX, any::<bool>(), any::<u64>());
        let entry = parts.prop_filter_map("ends too late", |(ordinal, location, reqsize, write, due)| {
            location.checked_add(reqsize)?;
            let op = if write { Op::Write } else { Op::Read };
            Some(SeekEntry { ordinal, location, reqsize, op, due: Nanos(due) })
        });
        prop::collection::vec(entry, 1..20)
    }

    proptest! {
        #[test]
        fn lists_read_back(list in entries()) {
            prop_assert_eq!(read_seek_list(&write_seek_list(&list)), Ok(list));
        }

        #[test]
        fn streamed_seek_list_reads_back(list in prop::collection::vec((0u64..1 << 40, 1u64..1 << 20, any::<bool>(), 0u64..1 << 62), 0..20)) {
            let requests: Vec<Traced> = list.iter().zip(1..).map(|((location, blocks, write, due), at)| {
                let op = if *write { Op::Write } else { Op::Read };
                traced(at, SeekEntry { ordinal: 0, location: *location, reqsize: *blocks, op, due: Nanos(*due) }, 1024).unwrap()
            }).collect();
            let mut writer = SeekListWriter::new(Vec::new(), 1024).unwrap();
            for request in &requests {
                prop_assert!(writer.push(request).unwrap());
            }
            let text = writer.end();
            let mut reader = SeekList::new(&text[..], 1024);
            for request in requests {
                // The first line has the column names.
                prop_assert_eq!(reader.next().unwrap(), Some(Entry::One(Traced { at: request.at + 1, ..request })));
            }
            prop_assert_eq!(reader.next().unwrap(), None);
        }

        #[test]
        fn any_text_is_read_without_panic(text in "[#0-9rw a\\n-]{0,80}") {
            let _ = read_seek_list(&text);
        }

        #[test]
        fn histogram_counts_every_request(list in entries(), buckets in 0u32..40, start: u64, range: u64) {
            let seeks = counts(&seek_histogram(&list, buckets, start, range));
            prop_assert_eq!(seeks.len() as u32, buckets.max(1));
            prop_assert_eq!(seeks.iter().sum::<u64>(), list.len() as u64);
            prop_assert_eq!(counts(&distance_histogram(&list, buckets)).iter().sum::<u64>(), list.len() as u64 - 1);
        }
    }
}
