//! Merges events of several files of one trace, by time.

use super::event::{Counts, Event, Events, Origin};
use crate::request::{Bad, Entry, Next, Process, TraceError};
use iosonar_plan::Nanos;
use std::collections::HashMap;

/// Merges sources by the times of their events; for equal times the earlier source comes first. Bad entries are
/// returned as soon as they are read.
pub struct Merged<E> {
    sources: Vec<Head<E>>,
    /// Sources asked for their first event.
    begun: usize,
    /// Source whose event was shown last and has to advance.
    last: Option<usize>,
    names: SharedNames,
}

/// Names of processes that one source has and events of another need: blktrace names a process once, in the file of the
/// CPU that saw it first.
#[derive(Debug, Default)]
pub struct SharedNames(HashMap<u32, [u8; 16]>);

/// Maximum number of process names kept; a machine runs no more at a time.
const MOST_NAMES: usize = 1 << 16;

impl SharedNames {
    /// Name of a process without one, if a source has it.
    pub fn missing<'a, E: Events + 'a>(
        &mut self,
        process: Process,
        mut sources: impl Iterator<Item = &'a E>,
    ) -> Option<[u8; 16]> {
        // Number 0 is the idle process of every CPU: the names differ, and it issues no requests.
        if process.name[0] != 0 || process.pid == 0 {
            return None;
        }
        // Looked up once for each process: a machine may have many CPUs.
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
    /// Time of the shown event; `None` at EOF.
    time: Option<Nanos>,
}

impl<E: Events> Merged<E> {
    /// Merges sources that are each in order.
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

    /// Makes each source show its next event; returns early with a bad entry, and continues with the same source.
    fn advance(&mut self) -> Result<Option<Bad>, TraceError> {
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
        if let Some(bad) = self.advance()? {
            return Ok(Some(Entry::Bad(bad)));
        }
        // A machine has few CPUs: a linear scan is as fast as a heap.
        let times = self.sources.iter().enumerate().filter_map(|(index, head)| Some((head.time?, index)));
        // The lowest index of equal times.
        self.last = times.min().map(|(_, index)| index);
        let Some(last) = self.last else { return Ok(None) };
        // Every source shows a later event, so all earlier names have been read.
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

    fn extra_counts(&self) -> Vec<(String, u64)> {
        let mut sums: Vec<(String, u64)> = Vec::new();
        for (what, count) in self.sources().flat_map(Events::extra_counts) {
            match sums.iter_mut().find(|(known, _)| *known == what) {
                Some((_, sum)) => *sum += count,
                None => sums.push((what, count)),
            }
        }
        sums
    }
}
