//! Events of several files of one trace, by time.

use super::event::{Event, Events};
use crate::request::{Bad, Entry, Next, TraceError};

/// Joins sources by the times of their events; of equal times the earlier source's comes first. What is bad comes as soon
/// as it is met.
pub struct Merged<E> {
    sources: Vec<Head<E>>,
}

struct Head<E> {
    source: E,
    next: Option<Event>,
    is_begun: bool,
}

impl<E: Events> Merged<E> {
    /// Of sources that each are in order.
    pub fn new(sources: impl IntoIterator<Item = E>) -> Merged<E> {
        let head = |source| Head { source, next: None, is_begun: false };
        Merged { sources: sources.into_iter().map(head).collect() }
    }

    /// The sources, in their order.
    pub fn sources(&self) -> impl Iterator<Item = &E> {
        self.sources.iter().map(|head| &head.source)
    }
}

impl<E: Events> Head<E> {
    fn advance(&mut self) -> Result<Option<Bad>, TraceError> {
        self.is_begun = true;
        match self.source.next()? {
            Some(Entry::One(event)) => self.next = Some(event),
            Some(Entry::Bad(bad)) => {
                self.is_begun = false;
                return Ok(Some(bad));
            }
            None => self.next = None,
        }
        Ok(None)
    }
}

impl<E: Events> Events for Merged<E> {
    fn next(&mut self) -> Next<Event> {
        for head in self.sources.iter_mut().filter(|head| !head.is_begun) {
            if let Some(bad) = head.advance()? {
                return Ok(Some(Entry::Bad(bad)));
            }
        }
        // A machine has few CPUs: looking at each is as fast as a heap.
        let earliest = self
            .sources
            .iter_mut()
            .filter(|head| head.next.is_some())
            .min_by_key(|head| head.next.map(|e| e.time));
        let Some(head) = earliest else { return Ok(None) };
        head.is_begun = false;
        Ok(head.next.take().map(Entry::One))
    }

    fn besides(&self) -> Vec<(String, u64)> {
        let mut sums: Vec<(String, u64)> = Vec::new();
        for (what, count) in self.sources().flat_map(Events::besides) {
            match sums.iter_mut().find(|(known, _)| *known == what) {
                Some((_, sum)) => *sum += count,
                None => sums.push((what, count)),
            }
        }
        sums
    }
}
