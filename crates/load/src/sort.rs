//! Sorting a load by time in bounded memory: sorted runs in one unnamed temporary file, merged while read.

use iosonar_os::temporary;
use iosonar_plan::{Extent, Nanos};
use iosonar_trace::TimedRequest;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::os::unix::fs::FileExt;

/// Requests sorted in memory at a time: 16 MiB.
const RUN: usize = 1 << 18;
/// Requests of a run that are read ahead while merging.
const AHEAD: usize = 128;
const BYTES: usize = 33;

/// Takes requests in any order and returns them by time; equal times keep their order.
#[derive(Debug)]
pub(crate) struct Sorter {
    run_length: usize,
    pending: Vec<TimedRequest>,
    file: Option<BufWriter<File>>,
    runs: Vec<Run>,
    /// The next request of each run: time, number of the run.
    heap: BinaryHeap<Reverse<(Nanos, usize)>>,
}

#[derive(Debug)]
struct Run {
    /// Requests of the run that are still in the file: first and after the last.
    next: u64,
    end: u64,
    ahead: std::vec::IntoIter<TimedRequest>,
    head: Option<TimedRequest>,
}

impl Sorter {
    pub(crate) fn new() -> Sorter {
        Sorter::with_run_length(RUN)
    }

    fn with_run_length(run_length: usize) -> Sorter {
        Sorter { run_length, pending: Vec::new(), file: None, runs: Vec::new(), heap: BinaryHeap::new() }
    }

    pub(crate) fn push(&mut self, request: TimedRequest) -> Result<()> {
        self.pending.push(request);
        if self.pending.len() == self.run_length { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> Result<()> {
        // The sort is stable, and runs are merged in their order: equal times keep theirs.
        self.pending.sort_by_key(|r| r.time);
        let file = match &mut self.file {
            Some(file) => file,
            empty => empty.insert(BufWriter::new(temporary::file()?)),
        };
        for request in &self.pending {
            file.write_all(&encode(request))?;
        }
        let next = self.runs.last().map_or(0, |run| run.end);
        let end = next + self.pending.len() as u64;
        self.runs.push(Run { next, end, ahead: Vec::new().into_iter(), head: None });
        self.pending.clear();
        Ok(())
    }

    /// Ends the input; from now on [`Sorter::next`] returns the requests.
    pub(crate) fn finish(mut self) -> Result<Sorter> {
        self.pending.sort_by_key(|r| r.time);
        if let Some(file) = &mut self.file {
            file.flush()?;
        }
        // The requests still in memory are the last run.
        let end = self.runs.last().map_or(0, |run| run.end);
        let ahead = std::mem::take(&mut self.pending).into_iter();
        self.runs.push(Run { next: end, end, ahead, head: None });
        for run in 0..self.runs.len() {
            self.advance(run)?;
        }
        Ok(self)
    }

    pub(crate) fn next(&mut self) -> Result<Option<TimedRequest>> {
        let Some(Reverse((_, run))) = self.heap.pop() else { return Ok(None) };
        let request = self.runs[run].head.take();
        self.advance(run)?;
        Ok(request)
    }

    fn advance(&mut self, index: usize) -> Result<()> {
        let run = &mut self.runs[index];
        if run.ahead.len() == 0 && run.next < run.end {
            let count = AHEAD.min((run.end - run.next) as usize);
            let mut bytes = vec![0; count * BYTES];
            let file = self.file.as_ref().expect("a run lies in the file").get_ref();
            file.read_exact_at(&mut bytes, run.next * BYTES as u64)?;
            run.next += count as u64;
            run.ahead = bytes.as_chunks::<BYTES>().0.iter().map(decode).collect::<Vec<_>>().into_iter();
        }
        run.head = run.ahead.next();
        if let Some(head) = &run.head {
            self.heap.push(Reverse((head.time, index)));
        }
        Ok(())
    }
}

/// Checks whether `requests` can be sorted, as far as a temporary file is needed for it.
pub(crate) fn check_room(requests: u64) -> Result<()> {
    if requests >= RUN as u64 { temporary::file().map(drop) } else { Ok(()) }
}

fn encode(r: &TimedRequest) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    for (i, word) in [r.line, r.time.0, r.extent.offset, r.extent.length].into_iter().enumerate() {
        bytes[i * 8..i * 8 + 8].copy_from_slice(&word.to_le_bytes());
    }
    bytes[32] = r.packed_op();
    bytes
}

/// Fields for a replay: a result's own delay and latency are not kept.
fn decode(bytes: &[u8; BYTES]) -> TimedRequest {
    let word = |i: usize| u64::from_le_bytes(bytes[i * 8..i * 8 + 8].try_into().expect("eight bytes"));
    let (op, durability) = TimedRequest::unpacked_op(bytes[32]);
    TimedRequest {
        line: word(0),
        time: Nanos(word(1)),
        op,
        durability,
        extent: Extent { offset: word(2), length: word(3) },
        pushed: false,
        delay: Nanos(0),
        latency: Nanos(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::{Durability, Op};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sorts_stably_with_any_spilling(times in proptest::collection::vec(0u64..20, 0..400), run in 1usize..50) {
            let request = |(i, time): (usize, &u64)| TimedRequest {
                line: i as u64,
                time: Nanos(*time),
                op: [Op::Write, Op::Read, Op::Flush][i % 3],
                durability: Durability::NONE.with(Durability::FUA, i % 6 == 0),
                extent: Extent { offset: i as u64 * 7, length: 512 },
                pushed: false,
                delay: Nanos(0),
                latency: Nanos(0),
            };
            let mut want: Vec<TimedRequest> = times.iter().enumerate().map(request).collect();
            let mut sorter = Sorter::with_run_length(run);
            for r in &want {
                sorter.push(*r).unwrap();
            }
            let mut sorter = sorter.finish().unwrap();
            want.sort_by_key(|r| r.time);
            for r in want {
                prop_assert_eq!(sorter.next().unwrap(), Some(r));
            }
            prop_assert_eq!(sorter.next().unwrap(), None);
        }
    }
}
