//! Maps requests back to partitions.
//!
//! The kernel moves a request of a partition to its place on the disk before it emits events (`blk_partition_remap`):
//! all events have the disk's number and place. Only the preceding remap (`A`) has those of the partition.

use super::event::{Action, Device, Event, Events, Origin};
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
    /// Sectors not completed yet. At 0, only completions without data match: that of a flush after the data.
    left: u64,
}

impl Moved {
    fn matches(&self, event: &Event) -> bool {
        let is_late = event.action == Action::Complete && event.bytes == 0;
        event.sector < self.end && (self.left > 0 || is_late)
    }
}

/// Restores the device and the sector that events had on a partition. Devices other than partitions (device mapper)
/// remap, too, and have separate events: these stay unchanged. So do all events in a trace of the partition itself,
/// which have its number and places on the disk.
pub struct OnPartitions<E> {
    events: E,
    chosen: Vec<Device>,
    have_events: HashSet<Device>,
    moved: BTreeMap<(Device, u64), Moved>,
    /// Sectors of the longest moved request.
    longest: u64,
    number: u64,
    shown: Event,
}

impl<E: Events> OnPartitions<E> {
    /// Restores places on the partitions among the chosen devices. Requests of a disk that is chosen, too, stay unchanged.
    pub fn new(events: E, chosen: Vec<Device>) -> OnPartitions<E> {
        let (have_events, moved) = (HashSet::new(), BTreeMap::new());
        OnPartitions { events, chosen, have_events, moved, longest: 0, number: 0, shown: Event::default() }
    }

    fn remember(&mut self, event: &Event) {
        let Some(from) = self.events.moved_from() else { return };
        let is_partition = self.chosen.contains(&from.device) && !self.have_events.contains(&from.device);
        if !is_partition || self.chosen.contains(&event.device) {
            return;
        }
        self.number += 1;
        let sectors = event.bytes / SECTOR;
        self.longest = self.longest.max(sectors);
        let end = event.sector.saturating_add(sectors);
        let moved = Moved { end, from, number: self.number, is_queued: false, left: sectors };
        self.moved.insert((event.device, event.sector), moved);
        if self.moved.len() > MOST {
            let recent = self.number - MOST as u64 / 2;
            self.moved.retain(|_, moved| moved.number > recent);
        }
    }

    /// Returns the event as one of the partition, unchanged if its request was not moved.
    fn on_partition(&mut self, event: Event) -> Event {
        if self.chosen.contains(&event.device) {
            self.have_events.insert(event.device);
        }
        let place = (event.device, event.sector);
        let found = match event.action {
            // A remap precedes each queued request of a partition.
            Action::Queue => self.moved.get_mut(&place).filter(|moved| !moved.is_queued).map(|moved| {
                moved.is_queued = true;
                (event.sector, moved.from)
            }),
            _ => {
                let first = (event.device, event.sector.saturating_sub(self.longest));
                let mut before = self.moved.range(first..=place).rev();
                before
                    .find(|(_, moved)| moved.matches(&event))
                    .map(|((_, begin), moved)| (*begin, moved.from))
            }
        };
        if event.action == Action::Complete {
            self.complete(&event);
        }
        let Some((begin, from)) = found else { return event };
        let sector = from.sector.saturating_add(event.sector - begin);
        let on_partition = Event { device: from.device, sector, ..event };
        if on_partition.is_possible() { on_partition } else { event }
    }

    /// Counts completed sectors: an event may complete a part of a request, or several merged ones.
    fn complete(&mut self, event: &Event) {
        let end = event.sector.saturating_add(event.bytes / SECTOR);
        let first = (event.device, event.sector.saturating_sub(self.longest));
        for ((_, begin), moved) in self.moved.range_mut(first..(event.device, end)) {
            let completed = end.min(moved.end).saturating_sub(event.sector.max(*begin));
            moved.left = moved.left.saturating_sub(completed);
        }
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

    fn extra_counts(&self) -> Vec<(String, u64)> {
        self.events.extra_counts()
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
    fn remapped_requests_use_partition_offsets() {
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

    /// Device and sector of each event but remaps, of lines without their first columns.
    fn on(partition: &str, lines: &[&str]) -> Vec<(String, u64)> {
        let line = |(n, line): (usize, &&str)| format!("  8,16 1 {n} 0.{n:09} 9 {line}\n");
        let text: String = lines.iter().enumerate().map(line).collect();
        let all = places(&text, partition).into_iter();
        all.filter(|(action, ..)| *action != Action::Remap)
            .map(|(_, device, sector)| (device, sector))
            .collect()
    }

    #[test]
    fn finds_parts_of_split_requests_beside_completed_ones() {
        let lines = [
            "A R 1008 + 8 <- (8,18) 8",
            "Q R 1008 + 8 [a]",
            "C R 1008 + 8 [0]",
            "A R 1000 + 64 <- (8,18) 0",
            "Q R 1000 + 64 [a]",
            "D R 1000 + 32 [a]",
            "D R 1032 + 32 [a]",
            "C R 1032 + 32 [0]",
            "C R 1000 + 32 [0]",
            // The disk itself, inside of completed requests.
            "Q R 1004 + 8 [b]",
            "D R 1004 + 8 [b]",
            "C R 1004 + 8 [0]",
        ];
        let found = on("8,18", &lines);
        let want = [8, 8, 0, 0, 32, 32, 0].map(|sector| ("8,18".to_string(), sector));
        assert_eq!(found[..7], want);
        assert!(found[7..].iter().all(|place| *place == ("8,16".to_string(), 1004)), "{found:?}");
    }

    #[test]
    fn completes_merged_requests_together_and_keeps_the_flush_after_a_write() {
        let lines = [
            "A W 1000 + 8 <- (8,18) 0",
            "Q W 1000 + 8 [a]",
            "A W 1008 + 8 <- (8,18) 8",
            "Q W 1008 + 8 [a]",
            "D W 1000 + 16 [a]",
            "C W 1000 + 16 [0]",
            "C W 1000 + 0 [0]",
            "D W 1008 + 8 [b]",
        ];
        let devices: Vec<String> = on("8,18", &lines).into_iter().map(|(device, _)| device).collect();
        assert_eq!(devices, ["8,18", "8,18", "8,18", "8,18", "8,18", "8,16"]);
    }

    #[test]
    fn keeps_offsets_for_partition_traces_and_chosen_disk() {
        let text =
            "8,18 1 1 0.000000001 9 A R 1000 + 8 <- (8,18) 0\n8,18 1 2 0.000000002 9 Q R 1000 + 8 [a]\n";
        assert!(places(text, "8,18").iter().all(|(_, _, sector)| *sector == 1000));
        let text =
            "8,16 1 1 0.000000001 9 A R 1000 + 8 <- (8,18) 0\n8,16 1 2 0.000000002 9 Q R 1000 + 8 [a]\n";
        let chosen = ["8,16", "8,18"].map(|device| Device::parse(device).unwrap()).to_vec();
        let mut events = OnPartitions::new(Blkparse::new(text.as_bytes(), Form::default()), chosen);
        while let Some(Entry::One(event)) = events.next().unwrap() {
            assert_eq!((event.device.to_string(), event.sector), ("8,16".to_string(), 1000));
        }
    }

    #[test]
    fn devices_with_own_events_are_not_partitions() {
        let text = "\
  253,0 1 1 0.000000000 1000 Q R 64 + 8 [dd]
  8,16 1 2 0.000000500 1000 A R 2112 + 8 <- (253,0) 64
  8,16 1 3 0.000000600 1000 Q R 2112 + 8 [dd]
";
        let devices: Vec<String> = places(text, "253,0").into_iter().map(|(_, device, _)| device).collect();
        assert_eq!(devices, ["253,0", "8,16", "8,16"]);
    }
}
