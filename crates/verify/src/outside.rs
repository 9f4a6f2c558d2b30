//! Sectors that a run does not write: their content before it, so that a change is seen.

use crate::Sectors;
use crate::observation::Bytes;
use iosonar_content::checksum;

/// A union of ranges in bounded memory. Above the limit, ranges with small gaps between them become one.
#[derive(Debug)]
pub struct Ranges {
    ranges: Vec<Sectors>,
    limit: usize,
    /// Gaps up to this many sectors are closed.
    gap: u64,
}

impl Ranges {
    /// A union of at most `limit` ranges; 16 bytes of memory for each.
    pub fn new(limit: usize) -> Ranges {
        Ranges { ranges: Vec::new(), limit: limit.max(2), gap: 0 }
    }

    /// Adds a range.
    pub fn add(&mut self, range: Sectors) {
        if range.count == 0 {
            return;
        }
        if let Some(last) = self.ranges.last_mut()
            && (last.start..=last.end()).contains(&range.start)
        {
            *last = Sectors::between(last.start, last.end().max(range.end()));
            return;
        }
        if self.ranges.len() == self.limit {
            self.join();
            // Half of the room at least, so that not each range costs another round.
            while self.ranges.len() > self.limit / 2 {
                self.gap = (2 * self.gap).max(1);
                self.join();
            }
        }
        self.ranges.push(range);
    }

    fn join(&mut self) {
        let gap = self.gap;
        self.ranges.sort_unstable_by_key(|range| range.start);
        self.ranges.dedup_by(|next, last| {
            let is_near = next.start <= last.end().saturating_add(gap);
            if is_near {
                *last = Sectors::between(last.start, last.end().max(next.end()));
            }
            is_near
        });
    }

    /// The ranges in order, no two of which touch; and the largest gap that was closed.
    pub fn finish(mut self) -> (Vec<Sectors>, u64) {
        self.join();
        (self.ranges, self.gap)
    }
}

/// State of a sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// No state yet.
    Nothing,
    /// Its content before the run is known.
    Before,
    /// Its content at the end was compared, too.
    Compared,
}

/// Sectors of one device whose content before the run is known by its checksum: 13 bytes of memory for each.
#[derive(Debug, Default)]
pub struct Outside {
    places: Vec<u64>,
    sums: Vec<u32>,
    known: Vec<Known>,
    remembered: u64,
}

impl Outside {
    /// Adds sectors that are to be read before the run.
    pub fn add(&mut self, places: impl IntoIterator<Item = u64>) {
        let before = self.places.len();
        self.places.extend(places);
        if self.places.len() == before {
            return;
        }
        self.places.sort_unstable();
        self.places.dedup();
        self.sums = vec![0; self.places.len()];
        self.known = vec![Known::Nothing; self.places.len()];
    }

    fn find(&self, place: u64) -> Option<usize> {
        self.places.binary_search(&place).ok()
    }

    /// The sectors, in order.
    pub fn places(&self) -> &[u64] {
        &self.places
    }

    /// Whether a sector's content before the run is known.
    pub fn knows(&self, place: u64) -> bool {
        self.find(place).is_some_and(|number| self.known[number] != Known::Nothing)
    }

    /// Notes a read sector of the device: the first time, its content is remembered. Returns whether it has changed since.
    pub fn look(&mut self, place: u64, bytes: &Bytes) -> bool {
        let Some(number) = self.find(place) else { return false };
        let sum = checksum(bytes);
        if self.known[number] == Known::Nothing {
            (self.sums[number], self.known[number]) = (sum, Known::Before);
            return false;
        }
        self.known[number] = Known::Compared;
        self.sums[number] != sum
    }

    /// Drops sectors that could not be read; called before the run has begun, but after all was read.
    pub fn drop_unread(&mut self) {
        let known = std::mem::take(&mut self.known);
        let keeps = |number: usize| known[number] != Known::Nothing;
        self.retain(keeps);
        self.known = vec![Known::Before; self.places.len()];
        self.remembered = self.places.len() as u64;
    }

    /// Forgets sectors from `start` on.
    pub fn forget_from(&mut self, start: u64) {
        let keep = self.places.partition_point(|place| *place < start);
        self.places.truncate(keep);
        self.sums.truncate(keep);
        self.known.truncate(keep);
    }

    fn retain(&mut self, keeps: impl Fn(usize) -> bool) {
        let (mut of_places, mut of_sums) = (0.., 0..);
        self.places.retain(|_| of_places.next().is_some_and(&keeps));
        self.sums.retain(|_| of_sums.next().is_some_and(&keeps));
    }

    /// Sectors that were read before the run.
    pub fn remembered(&self) -> u64 {
        self.remembered
    }

    /// Sectors that were read before the run and at its end.
    pub fn compared(&self) -> u64 {
        self.known.iter().filter(|known| **known == Known::Compared).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_ranges_and_closes_small_gaps_when_memory_is_short() {
        let mut ranges = Ranges::new(100);
        for (start, count) in [(8, 8), (0, 8), (32, 8), (36, 2), (16, 0)] {
            ranges.add(Sectors::new(start, count));
        }
        assert_eq!(ranges.finish(), (vec![Sectors::new(0, 16), Sectors::new(32, 8)], 0));
        let mut ranges = Ranges::new(8);
        for number in 0..1000 {
            ranges.add(Sectors::new(number * 37 % 1000 * 16, 8));
        }
        let (joined, gap) = ranges.finish();
        assert!(joined.len() <= 8 && gap >= 8, "{joined:?} {gap}");
        assert_eq!((joined[0].start, joined[joined.len() - 1].end()), (0, 999 * 16 + 8));
    }

    #[test]
    fn detects_change_and_skips_unknown_sectors() {
        let (zeros, ones) = ([0; 512], [0xff; 512]);
        let mut outside = Outside::default();
        outside.add([7, 3, 7]);
        outside.add([5, 9]);
        assert_eq!(outside.places(), [3, 5, 7, 9]);
        assert!(!outside.look(3, &zeros) && !outside.look(5, &ones) && !outside.look(9, &ones));
        assert!(!outside.look(4, &zeros));
        // Sector 7 could not be read.
        outside.drop_unread();
        assert_eq!((outside.places(), outside.knows(7), outside.knows(5)), (&[3, 5, 9][..], false, true));
        outside.forget_from(9);
        assert_eq!(outside.compared(), 0);
        assert!(!outside.look(3, &zeros) && outside.look(5, &zeros) && !outside.look(9, &zeros));
        assert_eq!(outside.compared(), 2);
    }
}
