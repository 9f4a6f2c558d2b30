//! Two loads become one, by time.

use super::change::moved;
use super::{FilterError, Requests, Texts};
use crate::recorded::LoadError;
use iosonar_plan::{Filter, Nanos};
use iosonar_trace::TimedRequest;
use std::path::Path;

type Answer = Result<TimedRequest, LoadError>;

/// One of the two loads, with its next request.
struct MergedSide {
    requests: Requests,
    head: Option<Answer>,
    last: Nanos,
    /// How to sort it, if it is not sorted.
    remedy: String,
}

impl MergedSide {
    fn new(requests: Requests, remedy: String) -> MergedSide {
        MergedSide { requests, head: None, last: Nanos(0), remedy }
    }

    /// Fetches the next request, if there is one: changed by `change`, and in order.
    fn look(&mut self, texts: &Texts, change: impl FnOnce(TimedRequest) -> Answer) {
        if self.head.is_none() {
            self.head =
                self.requests.next().map(|r| r.and_then(|r| self.in_order(r, texts)).and_then(change));
        }
    }

    fn in_order(&mut self, r: TimedRequest, texts: &Texts) -> Answer {
        let before = std::mem::replace(&mut self.last, r.time);
        if r.time >= before {
            return Ok(r);
        }
        let (at, remedy) = (texts.place(&r), self.remedy.clone());
        Err(FilterError::Unsorted { at, time: r.time, before, remedy }.into())
    }

    /// The time of the next request; an error comes before anything else.
    fn time(&self) -> Option<Nanos> {
        self.head.as_ref().map(|head| head.as_ref().map_or(Nanos(0), |r| r.time))
    }
}

/// A load merged with another one.
pub(super) struct Merge {
    load: MergedSide,
    other: MergedSide,
    /// Delay and offset of the other's requests.
    by: (Nanos, u64),
    filter: Filter,
    texts: Texts,
}

impl Merge {
    /// `other` are the requests of `file`.
    pub(super) fn new(
        [load, other]: [Requests; 2],
        file: &str,
        by: (Nanos, u64),
        filter: Filter,
        texts: Texts,
    ) -> Merge {
        let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
        let remedy = format!("make a sorted one, iosonar load filter sort '{file}' -o 'sorted-{name}'");
        let load = MergedSide::new(load, String::from("put a step 'sort' before the merge"));
        Merge { load, other: MergedSide::new(other, remedy), by, filter, texts }
    }
}

impl Iterator for Merge {
    type Item = Answer;

    fn next(&mut self) -> Option<Answer> {
        let Merge { load, other, by: (shift, offset), filter, texts } = self;
        load.look(texts, Ok);
        other.look(texts, |r| moved(r, Some(shift.0), Some(*offset), filter, texts));
        match (load.time(), other.time()) {
            (Some(time), others) if others.is_none_or(|others| time <= others) => load.head.take(),
            _ => other.head.take(),
        }
    }
}
