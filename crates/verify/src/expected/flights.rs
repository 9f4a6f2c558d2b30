//! Requests in flight, found by place.
//!
//! A slab holds them. A request that touches one or two chunks of 64 KiB is linked into the list of each chunk's bucket; longer
//! ones are in a separate list. So a new request looks at the few that are near it, however many are in flight. Reads and writes
//! have separate lists, because reads do not disturb each other.

use super::CHUNK;
use crate::{Atomic, Sectors, Tag};

/// No link.
const NONE: u32 = u32::MAX;
/// Enough for some thousand requests in flight; 8 KiB.
const BUCKETS: usize = 1024;
/// A search over more chunks examines all requests instead.
const MOST_CHUNKS: u64 = 64;

/// Requests in flight that are usual; more take memory beyond the limit.
const USUAL: usize = 1024;
/// Memory for them.
pub(super) const USUAL_BYTES: u64 = (USUAL * size_of::<InFlight>() + (BUCKETS + 1) * 8) as u64;

/// Kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    /// A write. `alone`: nothing else touches its range since it began, and the side table knows nothing of it.
    Write {
        alone: bool,
    },
    /// The slot is free; the first link leads to the next free one.
    Free,
}

impl Kind {
    fn lists(self) -> usize {
        usize::from(self != Kind::Read)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct InFlight {
    pub(super) range: Sectors,
    pub(super) begin: u64,
    pub(super) tag: Tag,
    pub(super) kind: Kind,
    pub(super) atomic: Atomic,
    links: [Link; 2],
}

#[derive(Debug, Clone, Copy)]
struct Link {
    previous: u32,
    next: u32,
}

const UNLINKED: Link = Link { previous: NONE, next: NONE };

#[derive(Debug)]
pub(super) struct Flights {
    slots: Vec<InFlight>,
    free: u32,
    /// First link of each bucket, of reads and of writes; the last bucket holds the long ones.
    heads: Vec<[u32; 2]>,
}

/// The long requests' bucket.
const LONG: usize = BUCKETS;

fn bucket(chunk: u64) -> usize {
    (chunk.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BUCKETS.trailing_zeros())) as usize
}

fn chunks(range: Sectors) -> (u64, u64) {
    (range.start / CHUNK, (range.end() - 1) / CHUNK)
}

/// The buckets of a request.
fn buckets(range: Sectors) -> [Option<usize>; 2] {
    if range.count == 0 {
        return [None, None];
    }
    match chunks(range) {
        (first, last) if first == last => [Some(bucket(first)), None],
        (first, last) if first + 1 == last => [Some(bucket(first)), Some(bucket(last))],
        _ => [Some(LONG), None],
    }
}

impl Flights {
    pub(super) fn new() -> Flights {
        Flights { slots: Vec::with_capacity(USUAL), free: NONE, heads: vec![[NONE; 2]; BUCKETS + 1] }
    }

    /// Memory in use.
    pub(super) fn bytes(&self) -> u64 {
        (size_of_val(&*self.slots) + size_of_val(&*self.heads)) as u64
    }

    /// Adds a request.
    pub(super) fn insert(
        &mut self,
        range: Sectors,
        begin: u64,
        tag: Tag,
        (kind, atomic): (Kind, Atomic),
    ) -> u32 {
        let new = InFlight { range, begin, tag, kind, atomic, links: [UNLINKED; 2] };
        let id = self.free;
        let id = if id == NONE {
            self.slots.push(new);
            self.slots.len() as u32 - 1
        } else {
            self.free = self.slots[id as usize].links[0].next;
            self.slots[id as usize] = new;
            id
        };
        for (side, bucket) in buckets(range).into_iter().enumerate() {
            let Some(bucket) = bucket else { continue };
            let link = id << 1 | side as u32;
            let head = &mut self.heads[bucket][kind.lists()];
            let next = std::mem::replace(head, link);
            self.slots[id as usize].links[side].next = next;
            if next != NONE {
                self.link(next).previous = link;
            }
        }
        id
    }

    /// Removes a request.
    pub(super) fn range(&self, id: u32) -> Sectors {
        self.slots[id as usize].range
    }

    pub(super) fn remove(&mut self, id: u32) -> InFlight {
        let removed = self.slots[id as usize];
        for (side, bucket) in buckets(removed.range).into_iter().enumerate() {
            let Some(bucket) = bucket else { continue };
            // Read again: two links in one bucket may be neighbours.
            let Link { previous, next } = self.slots[id as usize].links[side];
            match previous {
                NONE => self.heads[bucket][removed.kind.lists()] = next,
                _ => self.link(previous).next = next,
            }
            if next != NONE {
                self.link(next).previous = previous;
            }
        }
        self.slots[id as usize].kind = Kind::Free;
        self.slots[id as usize].links[0].next = self.free;
        self.free = id;
        removed
    }

    fn link(&mut self, link: u32) -> &mut Link {
        &mut self.slots[(link >> 1) as usize].links[(link & 1) as usize]
    }

    /// Notes that the side table has a write.
    pub(super) fn share(&mut self, id: u32) -> InFlight {
        self.slots[id as usize].kind = Kind::Write { alone: false };
        self.slots[id as usize]
    }

    /// A write in flight over `range` that `wanted` accepts. It may be called twice for the same one.
    pub(super) fn write_over(&self, range: Sectors, wanted: impl FnMut(&InFlight) -> bool) -> Option<u32> {
        self.find(1, range, wanted)
    }

    /// Start of the oldest read in flight over `range`.
    pub(super) fn oldest_read(&self, range: Sectors) -> Option<u64> {
        let mut oldest = None;
        self.find(0, range, |read| {
            oldest = Some(oldest.map_or(read.begin, |begin: u64| begin.min(read.begin)));
            false
        });
        oldest
    }

    /// Whether a read is in flight over `range`.
    pub(super) fn has_read(&self, range: Sectors) -> bool {
        self.find(0, range, |_| true).is_some()
    }

    fn find(&self, list: usize, range: Sectors, mut wanted: impl FnMut(&InFlight) -> bool) -> Option<u32> {
        if range.count == 0 {
            return None;
        }
        let mut is_it = |slot: &InFlight| slot.range.overlaps(range) && wanted(slot);
        let (first, last) = chunks(range);
        if last - first >= MOST_CHUNKS {
            let of_kind = |slot: &InFlight| slot.kind != Kind::Free && slot.kind.lists() == list;
            return self.slots.iter().position(|slot| of_kind(slot) && is_it(slot)).map(|id| id as u32);
        }
        let long = self.find_in(self.heads[LONG][list], &mut is_it);
        long.or_else(|| (first..=last).find_map(|c| self.find_in(self.heads[bucket(c)][list], &mut is_it)))
    }

    fn find_in(&self, mut link: u32, is_it: &mut impl FnMut(&InFlight) -> bool) -> Option<u32> {
        while link != NONE {
            let slot = &self.slots[(link >> 1) as usize];
            if is_it(slot) {
                return Some(link >> 1);
            }
            link = slot.links[(link & 1) as usize].next;
        }
        None
    }
}
