//! Snippets of equal length, the busiest first, dealt to some loads: blkreplay's overload test with recorded workloads
//! (manual 5.1.2, `create_derived_load.sh`).
//!
//! Requests go to one temporary file as they are read, 25 bytes each, and an index of 32 bytes for each snippet stays in
//! memory. So standard input will do, and a load may be longer than memory.

use crate::LoadError;
use iosonar_os::temporary;
use iosonar_plan::{Extent, Nanos};
use iosonar_trace::TimedRequest;
use std::cmp::Reverse;
use std::fs::File;
use std::io::{BufWriter, Result as IoResult, Write};
use std::os::unix::fs::FileExt;

/// Bytes of a request in the file.
const BYTES: usize = 25;
/// Requests that are read at once.
const AHEAD: u64 = 1 << 11;

/// Why a load cannot be cut.
#[derive(Debug, thiserror::Error)]
pub enum CutError {
    /// The load itself.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The file that holds the requests meanwhile.
    #[error("cannot keep the requests: {0}")]
    Spool(#[from] std::io::Error),
    /// After the loads before it, a request's time exceeds 64 bits of nanoseconds.
    #[error("line {0}: after the previous loads, its time exceeds 64 bits")]
    TooLarge(u64),
}

/// A part of the load of one window's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snippet {
    /// Its number in the order of time, from 0. Windows without a request have no snippet.
    pub number: u64,
    /// Its requests.
    pub requests: u64,
    /// Requests before it.
    before: u64,
    /// Time of its first request.
    first: Nanos,
}

/// Cuts loads, one after the other, at multiples of a window.
#[derive(Debug)]
pub struct Cutter {
    window: Nanos,
    file: BufWriter<File>,
    requests: u64,
    snippets: Vec<Snippet>,
    /// Number of the last snippet's window.
    place: u64,
    /// Offset of the times of the present load.
    offset: Nanos,
    /// Times of the last request: its own, and that after all loads before.
    last: (Nanos, Nanos),
}

impl Cutter {
    /// A cutter with this `window`, above 0.
    pub fn new(window: Nanos) -> IoResult<Cutter> {
        Ok(Cutter {
            window: Nanos(window.0.max(1)),
            file: BufWriter::new(temporary::file()?),
            requests: 0,
            snippets: Vec::new(),
            place: 0,
            offset: Nanos(0),
            last: Default::default(),
        })
    }

    /// Adds one more load, whose requests come by time. If it starts before the end of the one before, it is put after it: the last
    /// time is added to its times. Otherwise it counts as a continuation of the same recording.
    pub fn add(
        &mut self,
        load: impl IntoIterator<Item = Result<TimedRequest, LoadError>>,
    ) -> Result<(), CutError> {
        let mut is_first = true;
        for request in load {
            let request = request?;
            if is_first && request.time < self.last.0 {
                self.offset = self.last.1;
            }
            is_first = false;
            let time = request.time.0.checked_add(self.offset.0).ok_or(CutError::TooLarge(request.line))?;
            self.last = (request.time, Nanos(time));
            self.keep(Nanos(time), &request).map_err(temporary::explained)?;
        }
        Ok(())
    }

    fn keep(&mut self, time: Nanos, request: &TimedRequest) -> IoResult<()> {
        let place = time.0 / self.window.0;
        match self.snippets.last_mut() {
            // Times that run backward within a second stay where they are (`Backward::Shift`).
            Some(snippet) if place <= self.place => snippet.requests += 1,
            _ => {
                let number = self.snippets.len() as u64;
                self.snippets.push(Snippet { number, requests: 1, before: self.requests, first: time });
                self.place = place;
            }
        }
        self.requests += 1;
        self.file.write_all(&encode(time, request))
    }

    /// Ends the input. The last snippet, whose window may be incomplete, goes only with `keep_rest`.
    pub fn finish(mut self, keep_rest: bool) -> IoResult<Snippets> {
        let file = self.file.into_inner().map_err(|error| temporary::explained(error.into_error()))?;
        let rest = if keep_rest { None } else { self.snippets.pop() };
        let in_time = self.snippets.clone();
        let mut order = self.snippets;
        order.sort_by_cached_key(|s| Reverse((s.requests, s.number.to_string())));
        Ok(Snippets { file, in_time, order, rest })
    }
}

/// The snippets of a load, the busiest first.
///
/// Of snippets with equally many requests that with the greater number comes first, where numbers are compared digit by
/// digit from the left, as the original compares them: 9 before 10, 10 before 1.
#[derive(Debug)]
pub struct Snippets {
    file: File,
    in_time: Vec<Snippet>,
    order: Vec<Snippet>,
    rest: Option<Snippet>,
}

impl Snippets {
    /// The snippets in the order of time.
    pub fn in_time(&self) -> &[Snippet] {
        &self.in_time
    }

    /// The snippets, the busiest first.
    pub fn order(&self) -> &[Snippet] {
        &self.order
    }

    /// The incomplete snippet that was skipped.
    pub fn rest(&self) -> Option<Snippet> {
        self.rest
    }

    /// Load `number` of a split into `loads`: snippets `number`, `number` + `loads`, … of the order. Each starts at the last
    /// time of the one before, the first at 0. An error is the last item.
    pub fn load(&self, number: usize, loads: usize) -> impl Iterator<Item = IoResult<TimedRequest>> + '_ {
        let mut end = Nanos(0);
        let mine = self.order.iter().skip(number).step_by(loads.max(1));
        mine.flat_map(move |snippet| {
            let begin = end;
            // Known without reading: where the next one starts.
            let moved = move |time: Nanos| begin.saturating_add(time.saturating_sub(snippet.first));
            let (last, failed) = match self.time_of_last(snippet) {
                Ok(last) => (moved(last), None),
                Err(error) => (begin, Some(Err(error))),
            };
            end = last;
            let requests = self.requests(snippet).map(move |request| {
                let request = request?;
                Ok(TimedRequest { time: moved(request.time), ..request })
            });
            failed.into_iter().chain(requests)
        })
    }

    fn time_of_last(&self, snippet: &Snippet) -> IoResult<Nanos> {
        let mut bytes = [0; BYTES];
        self.file.read_exact_at(&mut bytes, (snippet.before + snippet.requests - 1) * BYTES as u64)?;
        Ok(decode(&bytes).time)
    }

    fn requests(&self, snippet: &Snippet) -> impl Iterator<Item = IoResult<TimedRequest>> + '_ {
        let end = snippet.before + snippet.requests;
        let pieces = (snippet.before..end).step_by(AHEAD as usize);
        pieces.flat_map(move |from| {
            let mut bytes = vec![0; (AHEAD.min(end - from)) as usize * BYTES];
            match self.file.read_exact_at(&mut bytes, from * BYTES as u64) {
                Ok(()) => bytes.as_chunks::<BYTES>().0.iter().map(|r| Ok(decode(r))).collect::<Vec<_>>(),
                Err(error) => vec![Err(error)],
            }
        })
    }
}

fn encode(time: Nanos, r: &TimedRequest) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    for (word, place) in [time.0, r.extent.offset, r.extent.length].into_iter().zip(bytes.chunks_mut(8)) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes[BYTES - 1] = r.packed_op();
    bytes
}

/// Fields of a derived load: delay and latency of a recording do not belong to it.
fn decode(bytes: &[u8; BYTES]) -> TimedRequest {
    let word = |i: usize| u64::from_le_bytes(bytes[i * 8..i * 8 + 8].try_into().expect("eight bytes"));
    let (op, durability) = TimedRequest::unpacked_op(bytes[BYTES - 1]);
    TimedRequest {
        line: 0,
        time: Nanos(word(0)),
        op,
        durability,
        extent: Extent { offset: word(1), length: word(2) },
        pushed: false,
        delay: Nanos(0),
        latency: Nanos(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::testing::read_at;
    use proptest::prelude::*;

    const S: u64 = Nanos::SECOND.0;

    fn cut(loads: &[Vec<TimedRequest>], window: u64, keep_rest: bool) -> Snippets {
        let mut cutter = Cutter::new(Nanos(window)).unwrap();
        for load in loads {
            cutter.add(load.iter().map(|r| Ok(*r))).unwrap();
        }
        cutter.finish(keep_rest).unwrap()
    }

    /// Requests at whole seconds; the sector is the second.
    fn seconds(at: &[u64]) -> Vec<TimedRequest> {
        at.iter().map(|s| read_at(1, s * S, *s)).collect()
    }

    fn times_and_sectors(snippets: &Snippets, number: usize, loads: usize) -> Vec<(u64, u64)> {
        let rows = snippets.load(number, loads).map(|r| r.unwrap());
        rows.map(|r| (r.time.0 / S, r.extent.offset / 512)).collect()
    }

    #[test]
    fn busiest_snippet_is_first_and_snippets_are_contiguous() {
        let load = seconds(&[1, 10, 13, 17, 20, 25, 30]);
        let snippets = cut(&[load], 10 * S, false);
        let counts: Vec<_> = snippets.order().iter().map(|s| (s.requests, s.number)).collect();
        assert_eq!(counts, [(3, 1), (2, 2), (1, 0)]);
        assert_eq!(snippets.rest().unwrap().requests, 1);
        let all = times_and_sectors(&snippets, 0, 1);
        assert_eq!(all, [(0, 10), (3, 13), (7, 17), (7, 20), (12, 25), (12, 1)]);
        assert_eq!(times_and_sectors(&snippets, 1, 2), [(0, 20), (5, 25)]);
        assert_eq!(times_and_sectors(&snippets, 3, 4), []);
    }

    #[test]
    fn gaps_produce_no_snippets() {
        let snippets = cut(&[seconds(&[0, 1, 1000, 1001, 1002, 2000])], 10 * S, true);
        let counts: Vec<u64> = snippets.in_time().iter().map(|s| s.requests).collect();
        assert_eq!(counts, [2, 3, 1]);
    }

    #[test]
    fn ties_are_ordered_as_decimal_fractions() {
        let at: Vec<u64> = (0..13).map(|i| i * 10).collect();
        let snippets = cut(&[seconds(&at)], 10 * S, false);
        let numbers: Vec<u64> = snippets.order().iter().map(|s| s.number).collect();
        assert_eq!(numbers, [9, 8, 7, 6, 5, 4, 3, 2, 11, 10, 1, 0]);
    }

    #[test]
    fn appends_restarted_loads_but_not_continued_ones() {
        let snippets = cut(&[seconds(&[0, 6]), seconds(&[2, 8]), seconds(&[9])], 100 * S, true);
        assert_eq!(times_and_sectors(&snippets, 0, 1), [(0, 0), (6, 6), (8, 2), (14, 8), (15, 9)]);
    }

    #[test]
    fn reports_time_beyond_64_bits() {
        let mut cutter = Cutter::new(Nanos(S)).unwrap();
        cutter.add([Ok(read_at(3, u64::MAX - 5, 0))]).unwrap();
        let told = cutter.add([Ok(read_at(7, 9, 0))]).unwrap_err().to_string();
        assert!(told.contains("line 7"), "{told}");
    }

    proptest! {
        #[test]
        fn no_request_is_lost_or_duplicated(
            steps in prop::collection::vec(0u64..30 * S, 1..200),
            window in S..40 * S,
            loads in 1usize..9,
            keep_rest: bool,
        ) {
            let mut time = 0;
            let times = steps.iter().map(|step| { time += step; time });
            let load: Vec<_> = (0..).zip(times).map(|(i, t)| read_at(1, t, i)).collect();
            let snippets = cut(&[load], window, keep_rest);
            let mut seen = Vec::new();
            for number in 0..loads {
                let mut last = 0;
                for request in snippets.load(number, loads) {
                    let request = request.unwrap();
                    prop_assert!(request.time.0 >= last);
                    last = request.time.0;
                    seen.push(request.extent.offset / 512);
                }
            }
            seen.sort_unstable();
            let rest = snippets.rest().map_or(0, |s| s.requests);
            prop_assert_eq!(seen, (0..steps.len() as u64 - rest).collect::<Vec<_>>());
        }
    }
}
