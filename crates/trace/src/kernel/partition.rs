//! Maps requests back to partitions.
//!
//! The kernel moves a request of a partition to its place on the disk before it emits events (`blk_partition_remap`):
//! all events have the disk's number and place. Only the preceding remap (`A`) has those of the partition.

use super::event::{Action, Counts, Device, Event, Events, Origin};
use crate::request::{Entry, Next};
use iosonar_plan::SECTOR;
use std::collections::{BTreeMap, HashSet};

/// Maximum number of remaps kept; the oldest are dropped first.
const MOST: usize = 1 << 16;

/// A range of a disk to which a request was moved.
struct Moved {
    /// First sector after the range.
    end: u64,
    from: Origin,
    /// Sequence number, for dropping the oldest.
    number: u64,
    /// Whether the request was queued; the next one at the same place needs another remap.
    is_queued: bool,
}

/// Restores the device and the sector that events had on a partition. Devices other than partitions (device mapper)
/// remap, too, and have separate events: these stay unchanged.
pub struct OnPartitions<E> {
    events: E,
    partitions: Vec<Device>,
    have_events: HashSet<Device>,
    moved: BTreeMap<(Device, u64), Moved>,
    number: u64,
    shown: Event,
}

impl<E: Events> OnPartitions<E> {
    /// Restores places on these partitions.
    pub fn new(events: E, partitions: Vec<Device>) -> OnPartitions<E> {
        let (have_events, moved) = (HashSet::new(), BTreeMap::new());
        OnPartitions { events, partitions, have_events, moved, number: 0, shown: Event::default() }
    }

    fn remember(&mut self, event: &Event) {
        let Some(from) = self.events.moved_from() else { return };
        if !self.partitions.contains(&from.device) || self.have_events.contains(&from.device) {
            return;
        }
        self.number += 1;
        let end = event.sector.saturating_add(event.bytes / SECTOR);
        let moved = Moved { end, from, number: self.number, is_queued: false };
        self.moved.insert((event.device, event.sector), moved);
        if self.moved.len() > MOST {
            let recent = self.number - MOST as u64 / 2;
            self.moved.retain(|_, moved| moved.number > recent);
        }
    }

    /// Returns the event as one of the partition, unchanged if its request was not moved.
    fn on_partition(&mut self, event: Event) -> Event {
        if self.partitions.contains(&event.device) {
            self.have_events.insert(event.device);
        }
        let place = (event.device, event.sector);
        if event.action == Action::Queue && self.moved.get(&place).is_some_and(|moved| moved.is_queued) {
            self.moved.remove(&place);
        }
        let found = self.moved.range_mut(..=place).next_back();
        let Some((&(device, begin), moved)) = found else { return event };
        if device != event.device || event.sector >= moved.end {
            return event;
        }
        moved.is_queued |= event.action == Action::Queue;
        let sector = moved.from.sector.saturating_add(event.sector - begin);
        let on_partition = Event { device: moved.from.device, sector, ..event };
        if on_partition.is_possible() { on_partition } else { event }
    }
}

impl<E: Events> Events for OnPartitions<E> {
    fn next(&mut self) -> Next<&Event> {
        let event = match self.events.next()? {
            Some(Entry::One(event)) => *event,
            Some(Entry::Bad(bad)) => return Ok(Some(Entry::Bad(bad))),
            None => return Ok(None),
        };
        self.shown = match event.action {
            Action::Remap => {
                self.remember(&event);
                event
            }
            Action::Other => event,
            _ => self.on_partition(event),
        };
        Ok(Some(Entry::One(&self.shown)))
    }

    fn shown(&self) -> &Event {
        &self.shown
    }

    fn count(&mut self, counts: &mut Counts) {
        self.events.count(counts);
    }

    fn besides(&self) -> Vec<(String, u64)> {
        self.events.besides()
    }

    fn moved_from(&self) -> Option<Origin> {
        self.events.moved_from()
    }

    fn name_of(&self, pid: u32) -> Option<[u8; 16]> {
        self.events.name_of(pid)
    }
}

#[cfg(test)]
mod tests {
    use super::super::blkparse::{Blkparse, Form};
    use super::*;

    /// Action, device and sector of the events of a blkparse text, as those of a partition.
    fn places(text: &str, partition: &str) -> Vec<(Action, String, u64)> {
        let partitions = vec![Device::parse(partition).unwrap()];
        let mut events = OnPartitions::new(Blkparse::new(text.as_bytes(), Form::default()), partitions);
        let mut all = Vec::new();
        while let Some(entry) = events.next().unwrap() {
            let Entry::One(event) = entry else { panic!("{entry:?}") };
            all.push((event.action, event.device.to_string(), event.sector));
        }
        all
    }

    #[test]
    fn requests_that_were_moved_have_the_place_on_the_partition() {
        let text = "\
  8,16 1 1 0.000000000 1000 A R 4096000 + 16 <- (8,18) 2047952
  8,16 1 2 0.000000500 1000 Q R 4096000 + 16 [dd]
  8,16 1 3 0.000001000 1000 D R 4096000 + 8 [dd]
  8,16 1 4 0.000002000 1000 D R 4096008 + 8 [dd]
  8,16 1 5 0.000400000 0 C R 4096008 + 8 [0]
  8,16 1 6 0.000500000 9 Q R 4096000 + 16 [scan]
  8,16 1 7 0.000600000 9 Q R 4096016 + 16 [scan]
";
        use Action::*;
        let (disk, partition) = (|| "8,16".to_string(), || "8,18".to_string());
        let want = vec![
            (Remap, disk(), 4_096_000),
            (Queue, partition(), 2_047_952),
            (Issue, partition(), 2_047_952),
            (Issue, partition(), 2_047_960),
            (Complete, partition(), 2_047_960),
            // Another process reads the same place of the disk directly.
            (Queue, disk(), 4_096_000),
            (Queue, disk(), 4_096_016),
        ];
        assert_eq!(places(text, "8,18"), want);
        assert!(places(text, "8,17").iter().all(|(_, device, _)| device == "8,16"));
    }

    #[test]
    fn devices_with_events_of_their_own_are_no_partitions() {
        let text = "\
  253,0 1 1 0.000000000 1000 Q R 64 + 8 [dd]
  8,16 1 2 0.000000500 1000 A R 2112 + 8 <- (253,0) 64
  8,16 1 3 0.000000600 1000 Q R 2112 + 8 [dd]
";
        let devices: Vec<String> = places(text, "253,0").into_iter().map(|(_, device, _)| device).collect();
        assert_eq!(devices, ["253,0", "8,16", "8,16"]);
    }
}
