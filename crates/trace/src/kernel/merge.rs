//! Events of several files of one trace, by time.

use super::event::{Counts, Event, Events, Origin};
use crate::request::{Bad, Entry, Next, Process, TraceError};
use iosonar_plan::Nanos;
use std::collections::HashMap;

/// Joins sources by the times of their events; of equal times the earlier source's comes first. What is bad comes as soon
/// as it is met.
pub struct Merged<E> {
    sources: Vec<Head<E>>,
    /// Sources that were asked for their first event.
    begun: usize,
    /// The source whose event was shown last: it has to go on.
    last: Option<usize>,
    names: SharedNames,
}

/// Names of processes that one source told and events of another need: blktrace names a process once, in the file of the
/// CPU on which it was met first.
#[derive(Debug, Default)]
pub struct SharedNames(HashMap<u32, [u8; 16]>);

/// Processes whose names are kept; a machine has no more at a time.
const MOST_NAMES: usize = 1 << 16;

impl SharedNames {
    /// The name of a process that has none, if a source knows one.
    pub fn missing<'a, E: Events + 'a>(
        &mut self,
        process: Process,
        mut sources: impl Iterator<Item = &'a E>,
    ) -> Option<[u8; 16]> {
        // Number 0 is that of every CPU's idle process: each has its own name, and none requested anything.
        if process.name[0] != 0 || process.pid == 0 {
            return None;
        }
        // Asked once for each process: a machine may have many CPUs.
        if let Some(known) = self.0.get(&process.pid) {
            return Some(*known);
        }
        let told = sources.find_map(|source| source.name_of(process.pid))?;
        if self.0.len() < MOST_NAMES {
            self.0.insert(process.pid, told);
        }
        Some(told)
    }
}

struct Head<E> {
    source: E,
    /// When the event is that it shows; none at its end.
    time: Option<Nanos>,
}

impl<E: Events> Merged<E> {
    /// Of sources that each are in order.
    pub fn new(sources: impl IntoIterator<Item = E>) -> Merged<E> {
        let head = |source| Head { source, time: None };
        Merged {
            sources: sources.into_iter().map(head).collect(),
            begun: 0,
            last: None,
            names: SharedNames::default(),
        }
    }

    /// The sources, in their order.
    pub fn sources(&self) -> impl Iterator<Item = &E> {
        self.sources.iter().map(|head| &head.source)
    }

    /// Makes each source show its next event; what is bad ends that before its turn is over.
    fn go_on(&mut self) -> Result<Option<Bad>, TraceError> {
        while let Some(head) = self.sources.get_mut(self.begun) {
            if let Some(bad) = head.advance()? {
                return Ok(Some(bad));
            }
            self.begun += 1;
        }
        if let Some(last) = self.last {
            if let Some(bad) = self.sources[last].advance()? {
                return Ok(Some(bad));
            }
            self.last = None;
        }
        Ok(None)
    }
}

impl<E: Events> Head<E> {
    fn advance(&mut self) -> Result<Option<Bad>, TraceError> {
        self.time = match self.source.next()? {
            Some(Entry::One(event)) => Some(event.time),
            Some(Entry::Bad(bad)) => return Ok(Some(bad)),
            None => None,
        };
        Ok(None)
    }
}

impl<E: Events> Events for Merged<E> {
    fn next(&mut self) -> Next<&Event> {
        if let Some(bad) = self.go_on()? {
            return Ok(Some(Entry::Bad(bad)));
        }
        // A machine has few CPUs: looking at each is as fast as a heap.
        let times = self.sources.iter().enumerate().filter_map(|(index, head)| Some((head.time?, index)));
        // Of equal times the least index.
        self.last = times.min().map(|(_, index)| index);
        let Some(last) = self.last else { return Ok(None) };
        // Every source shows a later event: what it told before has been read.
        let process = self.sources[last].source.shown().process;
        let name = self.names.missing(process, self.sources.iter().map(|head| &head.source));
        let source = &mut self.sources[last].source;
        if let Some(name) = name {
            source.name_shown(name);
        }
        Ok(Some(Entry::One(source.shown())))
    }

    fn shown(&self) -> &Event {
        self.sources[self.last.unwrap_or(0)].source.shown()
    }

    fn moved_from(&self) -> Option<Origin> {
        self.sources[self.last?].source.moved_from()
    }

    fn count(&mut self, counts: &mut Counts) {
        self.sources.iter_mut().for_each(|head| head.source.count(counts));
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
