//! Histograms as text that other tools read: the interval log of HdrHistogram (`histograms.hlog`).

use crate::{ByScope, Distribution, Scope, Tally};
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use std::io;
use std::time::{Duration, SystemTime};

/// Writes one interval over the whole run for each quantity and scope that has requests, tagged
/// `latency.read` and so on. Values are nanoseconds; the column of the greatest value is in milliseconds.
pub fn write_log(tally: &Tally, started_unix_ns: u64, out: &mut dyn io::Write) -> io::Result<()> {
    let started = SystemTime::UNIX_EPOCH + Duration::from_nanos(started_unix_ns);
    let mut serializer = V2DeflateSerializer::new();
    let mut out = out;
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("[Histograms of iosonar, values in nanoseconds]")
        .with_start_time(started)
        .with_base_time(started)
        .with_max_value_divisor(1_000_000.0)
        .begin_log_with(&mut out, &mut serializer)?;
    let run = Duration::from_nanos(tally.span.end_ns());
    let quantities: [(&str, ByScope<Distribution>); 3] =
        [("latency", tally.latency()), ("delay", tally.delay()), ("response", tally.response())];
    for (quantity, distributions) in &quantities {
        for scope in Scope::ALL {
            let distribution = distributions.get(scope);
            if distribution.count() == 0 {
                continue;
            }
            let name = format!("{quantity}.{}", scope.name());
            let tag = Tag::new(&name).expect("the names hold no comma and no blank");
            log.write_histogram(distribution.histogram(), Duration::ZERO, run, Some(tag))
                .map_err(|e| io::Error::other(format!("{name}: {e:?}")))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;
    use crate::{Limits, Tally};
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    #[test]
    fn histogram_log_reads_back() {
        let mut tally = Tally::new(2, &Limits::default());
        Fixture::mixed().records.iter().for_each(|r| tally.add(r));
        let mut text = Vec::new();
        write_log(&tally, 1_600_000_000_000_000_000, &mut text).unwrap();
        let mut counts = Vec::new();
        for entry in IntervalLogIterator::new(&text) {
            if let LogEntry::Interval(i) = entry.unwrap() {
                let bytes = base64_decode(i.encoded_histogram());
                let h: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
                counts.push((i.tag().unwrap().as_str().to_string(), h.len()));
            }
        }
        assert_eq!(counts.len(), 15);
        assert_eq!(counts[0], ("latency.all".to_string(), 850));
    }

    /// Only for this test: base64 of the standard alphabet.
    fn base64_decode(text: &str) -> Vec<u8> {
        const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let bits = text.bytes().filter_map(|b| ALPHABET.iter().position(|a| *a == b));
        let (mut out, mut buffer, mut held) = (Vec::new(), 0usize, 0);
        for six in bits {
            buffer = buffer << 6 | six;
            held += 6;
            if held >= 8 {
                held -= 8;
                out.push((buffer >> held) as u8);
            }
        }
        out
    }
}
