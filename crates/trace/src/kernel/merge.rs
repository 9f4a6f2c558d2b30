//! Events of several files of one trace, by time.

use super::event::{Event, Events};
use crate::request::{Bad, Entry, Next, Process, TraceError};
use std::collections::HashMap;

/// Joins sources by the times of their events; of equal times the earlier source's comes first. What is bad comes as soon
/// as it is met.
pub struct Merged<E> {
    sources: Vec<Head<E>>,
    names: SharedNames,
}

/// Names of processes that one source told and events of another need: blktrace names a process once, in the file of the
/// CPU on which it was met first.
#[derive(Debug, Default)]
pub struct SharedNames(HashMap<u32, [u8; 16]>);

/// Processes whose names are kept; a machine has no more at a time.
const MOST_NAMES: usize = 1 << 16;

impl SharedNames {
    /// Gives the process of an event its name, if it has none and a source knows one.
    pub fn complete<'a, E: Events + 'a>(
        &mut self,
        process: &mut Process,
        mut sources: impl Iterator<Item = &'a E>,
    ) {
        // Number 0 is that of every CPU's idle process: each has its own name, and none asked for anything.
        if process.name[0] != 0 || process.pid == 0 {
            return;
        }
        // Asked once for each process: a machine may have many CPUs.
        if let Some(known) = self.0.get(&process.pid) {
            process.name = *known;
        } else if let Some(told) = sources.find_map(|source| source.name_of(process.pid)) {
            process.name = told;
            if self.0.len() < MOST_NAMES {
                self.0.insert(process.pid, told);
            }
        }
    }
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
        Merged { sources: sources.into_iter().map(head).collect(), names: SharedNames::default() }
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
        let Some(mut event) = head.next.take() else { return Ok(None) };
        // Every source stands at a later event: what it told before has been read.
        self.names.complete(&mut event.process, self.sources.iter().map(|head| &head.source));
        Ok(Some(Entry::One(event)))
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
