//! Merges the requests of traces in time order.

use crate::request::{Bad, Entry, Next, Requests, TraceError, TracePosition, Traced};
use iosonar_plan::Nanos;
use std::collections::{HashMap, VecDeque};

/// Reads a load as a trace: blkreplay's `.load` and `.replay`.
pub struct Load<R> {
    reader: crate::blkreplay::Reader<R>,
    texts: u64,
}

impl<R: std::io::BufRead> Load<R> {
    /// Reads decompressed text.
    pub fn new(input: R) -> Load<R> {
        Load { reader: crate::blkreplay::Reader::new(input), texts: 0 }
    }
}

impl<R: std::io::BufRead> Requests for Load<R> {
    fn next(&mut self) -> Next<Traced> {
        use crate::blkreplay::{Line, ReadError};
        loop {
            let line = self.reader.next_line().map_err(|error| match error {
                ReadError::Io { line, error } => TraceError::Io { at: TracePosition::Line(line), error },
                ReadError::Long(n) | ReadError::Binary(n) => {
                    TraceError::Broken { at: TracePosition::Line(n), why: error.to_string() }
                }
            })?;
            match line {
                Some(Line::Request(request)) => return Ok(Some(Entry::One(request.into()))),
                Some(Line::Bad(bad)) => {
                    return Ok(Some(Entry::Bad(Bad {
                        at: TracePosition::Line(bad.line),
                        why: bad.why,
                        text: Some(bad.text),
                    })));
                }
                Some(Line::Text) => self.texts += 1,
                None => return Ok(None),
            }
        }
    }

    fn extra_counts(&self) -> Vec<(String, u64)> {
        vec![("lines of text".into(), self.texts)]
    }
}

/// Merges traces by the times of their requests; for equal times the earlier trace comes first. The devices of the
/// second trace come after those of the first.
pub struct Joined<'a> {
    traces: Vec<Waiting<'a>>,
    /// Trace and device number in it, of all devices.
    devices: Vec<(usize, u32)>,
    /// Inverse of `devices`.
    numbers: HashMap<(usize, u32), u32>,
}

struct Waiting<'a> {
    trace: Box<dyn Requests + 'a>,
    next: Option<Traced>,
    is_asked: bool,
}

impl<'a> Joined<'a> {
    /// Merges traces that are each in order.
    pub fn new(traces: Vec<Box<dyn Requests + 'a>>) -> Joined<'a> {
        let waiting = |trace| Waiting { trace, next: None, is_asked: false };
        Joined {
            traces: traces.into_iter().map(waiting).collect(),
            devices: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    fn number(&mut self, trace: usize, device: u32) -> u32 {
        *self.numbers.entry((trace, device)).or_insert_with(|| {
            self.devices.push((trace, device));
            (self.devices.len() - 1) as u32
        })
    }
}

impl<R: Requests + ?Sized> Requests for Box<R> {
    fn next(&mut self) -> Next<Traced> {
        (**self).next()
    }

    fn devices(&self) -> Vec<String> {
        (**self).devices()
    }

    fn device(&self, number: u32) -> Option<String> {
        (**self).device(number)
    }

    fn extra_counts(&self) -> Vec<(String, u64)> {
        (**self).extra_counts()
    }
}

impl Requests for Joined<'_> {
    fn next(&mut self) -> Next<Traced> {
        for waiting in self.traces.iter_mut().filter(|w| !w.is_asked) {
            match waiting.trace.next()? {
                Some(Entry::One(request)) => (waiting.next, waiting.is_asked) = (Some(request), true),
                Some(Entry::Bad(bad)) => return Ok(Some(Entry::Bad(bad))),
                None => waiting.is_asked = true,
            }
        }
        let with_next = self.traces.iter().enumerate().filter_map(|(i, w)| Some((i, w.next?)));
        let Some((index, request)) = with_next.min_by_key(|(_, r)| r.time) else { return Ok(None) };
        let waiting = &mut self.traces[index];
        (waiting.next, waiting.is_asked) = (None, false);
        let device = self.number(index, request.device);
        Ok(Some(Entry::One(Traced { device, ..request })))
    }

    fn devices(&self) -> Vec<String> {
        let names: Vec<Vec<String>> = self.traces.iter().map(|w| w.trace.devices()).collect();
        let name = |(trace, device): &(usize, u32)| names[*trace].get(*device as usize).cloned();
        self.devices.iter().map(|d| name(d).unwrap_or_default()).collect()
    }

    fn device(&self, number: u32) -> Option<String> {
        let (trace, device) = self.devices.get(number as usize)?;
        self.traces[*trace].trace.device(*device)
    }

    fn extra_counts(&self) -> Vec<(String, u64)> {
        self.traces.iter().flat_map(|w| w.trace.extra_counts()).collect()
    }
}

/// Sets time zero to the first request, for traces whose times count from a date.
pub struct FromFirst<R> {
    requests: R,
    first: Option<Nanos>,
    at_most: Nanos,
}

impl<R: Requests> FromFirst<R> {
    /// Takes requests in time order.
    pub fn new(requests: R) -> FromFirst<R> {
        FromFirst { requests, first: None, at_most: Nanos(u64::MAX) }
    }

    /// The same, but with time zero at `at_most` or earlier.
    pub fn at_most(requests: R, at_most: Nanos) -> FromFirst<R> {
        FromFirst { requests, first: None, at_most }
    }
}

impl<R: Requests> Requests for FromFirst<R> {
    fn next(&mut self) -> Next<Traced> {
        let next = self.requests.next()?;
        Ok(next.map(|entry| match entry {
            Entry::One(request) => {
                let first = *self.first.get_or_insert(request.time.min(self.at_most));
                Entry::One(Traced { time: request.time.saturating_sub(first), ..request })
            }
            bad @ Entry::Bad(_) => bad,
        }))
    }

    fn devices(&self) -> Vec<String> {
        self.requests.devices()
    }

    fn device(&self, number: u32) -> Option<String> {
        self.requests.device(number)
    }

    fn extra_counts(&self) -> Vec<(String, u64)> {
        self.requests.extra_counts()
    }
}

/// Sorts requests by time within a limited window: requests of equal time keep their order. Bad entries are returned at
/// once.
pub struct InOrder<R> {
    requests: R,
    held: VecDeque<Traced>,
    most: usize,
    last: Nanos,
    moved: u64,
    is_over: bool,
}

/// Window: number of requests held.
const HELD: usize = 1 << 16;

impl<R: Requests> InOrder<R> {
    /// Sorts with the default window.
    pub fn new(requests: R) -> InOrder<R> {
        InOrder::holding(requests, HELD)
    }

    fn holding(requests: R, most: usize) -> InOrder<R> {
        InOrder { requests, held: VecDeque::new(), most, last: Nanos(0), moved: 0, is_over: false }
    }

    /// Requests that followed one with a later time.
    pub fn moved(&self) -> u64 {
        self.moved
    }

    fn hold(&mut self, request: Traced) -> Result<(), TraceError> {
        if self.held.back().is_none_or(|last| last.time <= request.time) {
            if self.held.is_empty() && request.time < self.last {
                return Err(self.too_late(&request));
            }
            self.held.push_back(request);
            return Ok(());
        }
        if request.time < self.last {
            return Err(self.too_late(&request));
        }
        self.moved += 1;
        let place = self.held.partition_point(|held| held.time <= request.time);
        self.held.insert(place, request);
        Ok(())
    }

    fn too_late(&self, request: &Traced) -> TraceError {
        let why = format!(
            "time runs backward, to {} after {}, over more than {} requests: use --keep-order to leave the order as it is",
            request.time, self.last, self.most
        );
        TraceError::Broken { at: TracePosition::Line(request.at), why }
    }
}

impl<R: Requests> Requests for InOrder<R> {
    fn next(&mut self) -> Next<Traced> {
        while !self.is_over && self.held.len() < self.most {
            match self.requests.next()? {
                Some(Entry::One(request)) => self.hold(request)?,
                Some(Entry::Bad(bad)) => return Ok(Some(Entry::Bad(bad))),
                None => self.is_over = true,
            }
        }
        let Some(next) = self.held.pop_front() else { return Ok(None) };
        self.last = next.time;
        Ok(Some(Entry::One(next)))
    }

    fn devices(&self) -> Vec<String> {
        self.requests.devices()
    }

    fn device(&self, number: u32) -> Option<String> {
        self.requests.device(number)
    }

    fn extra_counts(&self) -> Vec<(String, u64)> {
        let mut all = self.requests.extra_counts();
        all.push(("requests that were brought to their places in time".into(), self.moved));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use iosonar_plan::Extent;
    use proptest::prelude::*;

    struct Told(std::vec::IntoIter<Traced>);

    impl Requests for Told {
        fn next(&mut self) -> Next<Traced> {
            Ok(self.0.next().map(Entry::One))
        }
    }

    fn told(times: &[u64]) -> Told {
        let extent = Extent { offset: 0, length: 512 };
        let one = |(at, time): (u64, &u64)| Traced::new(at, Nanos(*time), Kind::Read, extent);
        Told((1..).zip(times).map(one).collect::<Vec<_>>().into_iter())
    }

    fn all(requests: &mut impl Requests) -> Result<Vec<(u64, u64)>, String> {
        let mut all = Vec::new();
        while let Some(entry) = requests.next().map_err(|e| e.to_string())? {
            match entry {
                Entry::One(r) => all.push((r.time.0, r.at)),
                Entry::Bad(bad) => return Err(bad.to_string()),
            }
        }
        Ok(all)
    }

    #[test]
    fn rejects_requests_out_of_order_beyond_window() {
        let mut near = InOrder::holding(told(&[1, 5, 2, 3]), 3);
        assert_eq!(all(&mut near).unwrap(), [(1, 1), (2, 3), (3, 4), (5, 2)]);
        assert_eq!(near.moved(), 2);
        let why = all(&mut InOrder::holding(told(&[4, 5, 6, 7, 3]), 3)).unwrap_err();
        assert!(why.starts_with("line 5: time runs backward") && why.contains("--keep-order"), "{why}");
    }

    proptest! {
        #[test]
        fn near_requests_are_sorted_stably(times in prop::collection::vec(0u64..9, 0..60)) {
            let mut want: Vec<(u64, u64)> = times.iter().zip(1..).map(|(t, at)| (*t, at)).collect();
            want.sort_by_key(|(t, _)| *t);
            prop_assert_eq!(all(&mut InOrder::new(told(&times))).unwrap(), want);
        }

        #[test]
        fn merged_traces_are_sorted_and_complete(a in prop::collection::vec(0u64..50, 0..20), b in prop::collection::vec(0u64..50, 0..20)) {
            let sorted = |mut v: Vec<u64>| { v.sort(); v };
            let (a, b) = (sorted(a), sorted(b));
            let mut joined = Joined::new(vec![Box::new(told(&a)), Box::new(told(&b))]);
            let times: Vec<u64> = all(&mut joined).unwrap().iter().map(|r| r.0).collect();
            prop_assert_eq!(times, sorted([a, b].concat()));
        }
    }
}
