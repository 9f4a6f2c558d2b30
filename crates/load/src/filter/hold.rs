//! Steps that start at the end of a load, or return to its start: reverse, sort and repeat.

use super::change::moved;
use super::{FilterError, Maker, Requests, Round, Texts};
use crate::recorded::LoadError;
use iosonar_plan::{Filter, Nanos};
use iosonar_trace::TimedRequest;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes of memory that a request takes while it is held.
pub(super) const EACH: u64 = size_of::<TimedRequest>() as u64;

/// Memory for requests that steps hold, shared by clones.
#[derive(Debug, Clone)]
pub struct Room {
    most: u64,
    held: Arc<AtomicU64>,
}

/// An unlimited room.
impl Default for Room {
    fn default() -> Room {
        Room::of_bytes(u64::MAX)
    }
}

impl Room {
    /// A room of this many bytes.
    pub fn of_bytes(bytes: u64) -> Room {
        Room { most: bytes / EACH, held: Arc::default() }
    }

    /// Bytes of all requests that were held, at the same time or one after the other.
    pub fn held_bytes(&self) -> u64 {
        self.held.load(Relaxed).saturating_mul(EACH)
    }

    /// Reads all requests of a load into memory.
    fn hold(&self, load: Requests, filter: &Filter) -> Result<Vec<TimedRequest>, LoadError> {
        let mut all = Vec::new();
        for request in load {
            if self.held.fetch_add(1, Relaxed) >= self.most {
                return Err(FilterError::NoRoom { filter: filter.clone(), most: self.most }.into());
            }
            all.push(request?);
        }
        Ok(all)
    }
}

/// Makes all requests by `make`, as soon as the first one is requested.
fn late(
    load: Requests,
    room: Room,
    filter: Filter,
    make: impl FnOnce(Vec<TimedRequest>) -> Requests + Send + 'static,
) -> Requests {
    let all = move || match room.hold(load, &filter) {
        Ok(all) => make(all),
        Err(error) => Box::new(iter::once(Err(error))),
    };
    Box::new(iter::once_with(all).flatten())
}

/// The i-th time with the rest of the i-th request from the end.
pub(super) fn reversed(load: Requests, room: Room) -> Requests {
    late(load, room, Filter::Reverse, |all| {
        let last = all.len().saturating_sub(1);
        Box::new((0..all.len()).map(move |i| Ok(TimedRequest { time: all[i].time, ..all[last - i] })))
    })
}

/// Sorts by time; equal times keep their order.
pub(super) fn sorted(load: Requests, room: Room) -> Requests {
    late(load, room, Filter::Sort, |mut all| {
        all.sort_by_key(|r| r.time);
        Box::new(all.into_iter().map(Ok))
    })
}

/// How a load is repeated: as the replay of one that starts again, whose first time becomes the last one before
/// (`Backward::Shift`).
pub(super) struct Repetition {
    pub(super) times: u64,
    pub(super) offset: u64,
    pub(super) filter: Filter,
    pub(super) texts: Texts,
}

impl Repetition {
    /// A request in repetition `k`, from 0, where each lasts `round`.
    fn place(&self, r: TimedRequest, k: u64, round: Nanos) -> Result<TimedRequest, LoadError> {
        moved(r, round.0.checked_mul(k), self.offset.checked_mul(k), &self.filter, &self.texts)
    }
}

/// Repeats a load by holding its requests.
pub(super) fn repeated(repetition: Repetition, load: Requests, room: Room) -> Requests {
    late(load, room, repetition.filter.clone(), |all| {
        let (Some(first), Some(last)) = (all.first(), all.last()) else { return Box::new(iter::empty()) };
        let round = last.time.saturating_sub(first.time);
        let (mut k, mut next) = (0, 0);
        Box::new(iter::from_fn(move || {
            if next == all.len() {
                (k, next) = (k + 1, 0);
            }
            next += 1;
            (k < repetition.times).then(|| repetition.place(all[next - 1], k, round))
        }))
    })
}

/// Makes the input again for each repetition, and holds nothing.
pub(super) struct Again {
    repetition: Repetition,
    maker: Arc<Maker>,
    steps: usize,
    now: Requests,
    /// The present repetition, from 0.
    k: u64,
    /// First and last time of the first repetition.
    span: Option<(Nanos, Nanos)>,
}

impl Again {
    /// `load` is the output of the first `steps` steps of `maker`.
    pub(super) fn new(repetition: Repetition, maker: Arc<Maker>, steps: usize, load: Requests) -> Again {
        Again { repetition, maker, steps, now: load, k: 0, span: None }
    }

    fn place(&mut self, r: TimedRequest) -> Result<TimedRequest, LoadError> {
        let (first, last) = self.span.get_or_insert((r.time, r.time));
        if self.k == 0 {
            *last = r.time;
        }
        let round = last.saturating_sub(*first);
        self.repetition.place(r, self.k, round)
    }
}

impl Iterator for Again {
    type Item = Result<TimedRequest, LoadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(request) = self.now.next() {
                return Some(request.and_then(|r| self.place(r)));
            }
            // A load that was empty stays so.
            if self.span.is_none() || self.k + 1 >= self.repetition.times {
                return None;
            }
            self.k += 1;
            match self.maker.make(self.steps, Round::Later) {
                Ok(requests) => self.now = requests,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
