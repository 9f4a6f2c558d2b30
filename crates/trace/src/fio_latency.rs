//! fio's latency logs (`--write_lat_log`): a request in a row, `time, latency, direction, length`, then its offset where
//! `log_offset` is set, then its priority, then the time of its issue where `log_issue_time` is set (fio 3.39).
//!
//! Checked against logs of fio 3.33: the time is that of the completion in whole milliseconds since the start of the
//! job, or since 1970; the latency is in nanoseconds. Rows of length 0 are averages over `log_avg_msec`, not requests.

use crate::request::{Bad, Entry, Kind, Next, Pairing, Requests, TraceError, TracePosition, Traced};
use crate::text::{Lines, whole};
use iosonar_plan::{Extent, Nanos};
use std::io::BufRead;

/// Nanoseconds of the unit of a time.
const MILLISECOND: u64 = 1_000_000;
/// Times from here on (1973) count from 1970, not from the start of a job.
const DATED: u64 = 100_000_000_000 * MILLISECOND;

/// Reads a log.
pub struct LatencyLog<R> {
    lines: Lines<R>,
    /// Time origin, if times count from 1970.
    origin: Option<u64>,
    placeless: u64,
}

impl<R: BufRead> LatencyLog<R> {
    /// Reads decompressed text.
    pub fn new(input: R) -> LatencyLog<R> {
        LatencyLog { lines: Lines::new(input), origin: None, placeless: 0 }
    }
}

/// Whether a line is a row of such a log.
pub(crate) fn recognises(line: &str) -> bool {
    row(line).is_ok()
}

/// A row.
struct Row {
    time: u64,
    latency: u64,
    kind: Kind,
    length: u64,
    offset: Option<u64>,
    /// Issue time in nanoseconds; `None` if the row has only the completion time, in milliseconds.
    issued: Option<u64>,
}

fn row(text: &str) -> Result<Row, String> {
    let columns: Vec<&str> = text.split(", ").collect();
    let [time, latency, direction, length, rest @ ..] = &columns[..] else {
        return Err(format!("it has {} columns, not 4 to 7", columns.len()));
    };
    let number =
        |name: &str, text: &str| whole(text).ok_or_else(|| format!("the {name} '{text}' is no number"));
    let (rest, issued) = match rest {
        [rest @ .., priority, issued] if priority.starts_with("0x") && is_priority(priority) => {
            (rest, Some(number("time of issue", issued)?).filter(|time| *time < 1 << 62))
        }
        _ => (rest, None),
    };
    let offset = match rest {
        [] => None,
        // Before fio 3.30 there was no priority; the offset was in its place.
        [priority] if is_priority(priority) => None,
        [offset] => Some(number("offset", offset)?),
        [offset, priority] if is_priority(priority) => Some(number("offset", offset)?),
        _ => return Err("the length is followed by an offset and a priority, and nothing else".into()),
    };
    let kind = match *direction {
        "0" => Kind::Read,
        "1" => Kind::Write,
        "2" => Kind::Discard,
        other => return Err(format!("the direction '{other}' is none of 0, 1 and 2")),
    };
    let time = number("time", time)?.checked_mul(MILLISECOND).filter(|time| *time < 1 << 62);
    let latency = number("latency", latency).map(|ns| ns.min(1 << 62))?;
    Ok(Row {
        time: time.ok_or("the time is too large")?,
        latency,
        kind,
        length: number("length", length)?,
        offset,
        issued,
    })
}

/// `0x0000` with `log_prio`, or else whether the priority was high.
fn is_priority(text: &str) -> bool {
    let is_hex = |hex: &str| !hex.is_empty() && hex.bytes().all(|b| b.is_ascii_hexdigit());
    matches!(text, "0" | "1") || text.strip_prefix("0x").is_some_and(is_hex)
}

impl<R: BufRead> Requests for LatencyLog<R> {
    fn next(&mut self) -> Next<Traced> {
        loop {
            let at = self.lines.number() + 1;
            let Some(line) = self.lines.next()? else { return Ok(None) };
            let text = line.trim();
            if text.is_empty() {
                continue;
            }
            let row = match row(text) {
                Ok(row) => row,
                Err(why) => return Ok(Some(Entry::Bad(Bad::line(at, why, text)))),
            };
            if row.length == 0 {
                let why =
                    "it holds averages over log_avg_msec, not requests: write the log without --log_avg_msec";
                return Err(TraceError::Broken { at: TracePosition::Line(at), why: why.into() });
            }
            let Some(extent) = Extent::new(row.offset.unwrap_or(0), row.length) else {
                let why = "it ends beyond 2^63 bytes, the largest offset that Linux knows";
                return Ok(Some(Entry::Bad(Bad::line(at, why, text))));
            };
            self.placeless += u64::from(row.offset.is_none());
            let begin = row.issued.unwrap_or(row.time.saturating_sub(row.latency));
            let dated = if row.time >= DATED { begin } else { 0 };
            let origin = *self.origin.get_or_insert(dated);
            let request = Traced::new(at, Nanos(begin.saturating_sub(origin)), row.kind, extent);
            let latency = Some(Nanos(row.latency));
            return Ok(Some(Entry::One(Traced { latency, pairing: Pairing::Exact, ..request })));
        }
    }

    fn devices(&self) -> Vec<String> {
        vec![String::new()]
    }

    fn device(&self, number: u32) -> Option<String> {
        (number == 0).then(String::new)
    }

    fn extra_counts(&self) -> Vec<(String, u64)> {
        let placeless =
            "requests have no place in the log and stand at 0: fio writes places with --log_offset=1";
        vec![(placeless.into(), self.placeless)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::all_entries;
    use proptest::prelude::*;

    fn all(text: &str) -> Vec<Result<Traced, String>> {
        all_entries(LatencyLog::new(text.as_bytes()))
    }

    #[test]
    fn a_time_of_issue_is_exact() {
        let read = all("1, 115234, 0, 4096, 8192, 0x0000, 885000\n2, 100220, 1, 4096, 0x0000, 1890000\n");
        let told: Vec<(u64, u64, u64)> = read
            .iter()
            .map(|request| request.as_ref().unwrap())
            .map(|request| (request.time.0, request.latency.unwrap().0, request.extent.offset))
            .collect();
        assert_eq!(told, [(885_000, 115_234, 8192), (1_890_000, 100_220, 0)]);
    }

    #[test]
    fn reads_every_row_format() {
        for (row, place) in [
            ("5, 1000000, 1, 8192", 0),
            ("5, 1000000, 1, 8192, 0", 0),
            ("5, 1000000, 1, 8192, 0x4002", 0),
            ("5, 1000000, 1, 8192, 122880", 122_880),
            ("5, 1000000, 1, 8192, 122880, 0", 122_880),
            ("5, 1000000, 1, 8192, 122880, 0x0000", 122_880),
        ] {
            let request = all(row)[0].clone().unwrap();
            assert_eq!((request.time.0, request.latency), (4_000_000, Some(Nanos(1_000_000))), "{row}");
            assert_eq!(
                (request.kind, request.extent.offset, request.extent.length),
                (Kind::Write, place, 8192)
            );
        }
        let dated = all("1790000000005, 1000000, 0, 512, 0\n1790000000007, 1000000, 0, 512, 0\n");
        let times: Vec<u64> = dated.into_iter().map(|r| r.unwrap().time.0).collect();
        assert_eq!(times, [0, 2_000_000]);
    }

    #[test]
    fn reports_invalid_rows() {
        for (row, why) in [
            ("20, 192730, 0, 0, 0", "averages over log_avg_msec"),
            ("5, 1, 3, 8192, 0", "direction '3'"),
            ("5, x, 1, 8192, 0", "latency 'x'"),
            ("5, 1, 1", "3 columns"),
            ("5, 1, 1, 512, 0, 0, 0", "nothing else"),
        ] {
            let told = all(row)[0].clone().unwrap_err();
            assert!(told.contains(why), "{row}: {told}");
        }
        assert!(!recognises("1538323200,12910952,128,0,1063"), "a row of Tencent's");
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "([0-9a-fx, ]{0,40}\n){0,4}") {
            all(&text);
        }
    }
}
