//! Events of partitions as events of their disks.

use iosonar_trace::kernel::{Device, Event, Events};
use iosonar_trace::{Entry, Next};
use std::collections::HashMap;

/// Gives the events of partitions the number of their disk. The kernel moves a request of a partition to its place on the disk
/// before the first event; whether the queue event has the number of the partition depends on the kernel, all later ones have
/// that of the disk.
pub struct OnDisks<E> {
    events: E,
    disks: HashMap<Device, Device>,
    shown: Event,
}

impl<E: Events> OnDisks<E> {
    /// `disks` has the disk of each partition.
    pub fn new(events: E, disks: HashMap<Device, Device>) -> OnDisks<E> {
        OnDisks { events, disks, shown: Event::default() }
    }

    /// The events below.
    pub fn events(&self) -> &E {
        &self.events
    }
}

impl<E: Events> Events for OnDisks<E> {
    fn next(&mut self) -> Next<&Event> {
        self.shown = match self.events.next()? {
            Some(Entry::One(event)) => *event,
            Some(Entry::Bad(bad)) => return Ok(Some(Entry::Bad(bad))),
            None => return Ok(None),
        };
        self.shown.device = *self.disks.get(&self.shown.device).unwrap_or(&self.shown.device);
        Ok(Some(Entry::One(&self.shown)))
    }

    fn shown(&self) -> &Event {
        &self.shown
    }
}
