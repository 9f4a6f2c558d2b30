//! The volatile write cache of a device that is to crash: its content, and the part of it that survives. Nothing here does I/O.
//!
//! A write that was acknowledged is *dirty* until the device below has it too. A write that the device has got only just stays for
//! reads that started before: they may have read the device too early.

use super::damage::below;
use super::ledger::{Survived, Unflushed};
use iosonar_plan::Extent;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most bytes of dirty writes.
pub(super) const MOST: u64 = 64 << 20;

/// One write in this many is torn at a crash.
const TORN: u64 = 4;

/// A cache, and the lock for changing the device below: destaged writes keep their order.
#[derive(Debug)]
pub(super) struct SharedCache {
    cache: Mutex<Cache>,
    turn: Mutex<()>,
}

/// State shared by the issuing loops of a device.
#[derive(Debug)]
pub(super) struct Cache {
    /// Entries, by the order of their acknowledgements.
    entries: BTreeMap<u64, Entry>,
    /// Offset and order of each entry.
    places: BTreeSet<(u64, u64)>,
    /// Bytes of the longest entry so far.
    longest: u64,
    /// The orders of dirty entries.
    dirty_orders: BTreeSet<u64>,
    /// Time since when the device below has the clean entries, and their orders.
    clean_orders: BTreeSet<(u64, u64)>,
    in_flight: BTreeMap<u64, (Extent, Arc<[u8]>)>,
    /// Start times of the reads in flight.
    reads: BTreeSet<u64>,
    clock: u64,
    /// Count of dirty entries.
    dirty: Unflushed,
    wrappers: usize,
    has_crashed: bool,
    random: Xoshiro256PlusPlus,
    block: u64,
}

#[derive(Debug)]
struct Entry {
    extent: Extent,
    /// `None` means zeros.
    data: Option<Arc<[u8]>>,
    /// The parts that no later write has superseded, in bytes from its start.
    parts: Vec<Range<u64>>,
    /// Since when the device below has it; `None` while dirty.
    clean_since: Option<u64>,
}

/// A write or parts of it, for the device below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pieces {
    /// Order of the acknowledgement.
    pub(super) order: u64,
    pub(super) extent: Extent,
    pub(super) data: Arc<[u8]>,
    pub(super) parts: Vec<Range<u64>>,
    /// These are all parts that the cache had.
    pub(super) is_whole: bool,
}

impl Pieces {
    /// The places of the parts with their bytes.
    pub(super) fn each(&self) -> impl Iterator<Item = (Extent, &[u8])> {
        self.parts.iter().map(|part| {
            let place = Extent { offset: self.extent.offset + part.start, length: part.end - part.start };
            (place, &self.data[part.start as usize..part.end as usize])
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn bytes(parts: &[Range<u64>]) -> u64 {
    parts.iter().map(|part| part.end - part.start).sum()
}

/// The rest of some parts outside of a range.
fn without(parts: &[Range<u64>], hole: &Range<u64>) -> Vec<Range<u64>> {
    let each = |part: &Range<u64>| {
        [part.start..part.end.min(hole.start), part.start.max(hole.end)..part.end]
            .map(|rest| if rest.start < rest.end { Some(rest) } else { None })
    };
    parts.iter().flat_map(each).flatten().collect()
}

impl SharedCache {
    pub(super) fn new(block: u64, random: Xoshiro256PlusPlus) -> SharedCache {
        let cache = Cache {
            entries: BTreeMap::new(),
            places: BTreeSet::new(),
            longest: 0,
            dirty_orders: BTreeSet::new(),
            clean_orders: BTreeSet::new(),
            in_flight: BTreeMap::new(),
            reads: BTreeSet::new(),
            clock: 0,
            dirty: Unflushed::default(),
            wrappers: 0,
            has_crashed: false,
            random,
            block,
        };
        SharedCache { cache: Mutex::new(cache), turn: Mutex::new(()) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Cache> {
        lock(&self.cache)
    }

    /// Waits for the exclusive right to change the device below. Taken before the cache itself.
    pub(super) fn turn(&self) -> MutexGuard<'_, ()> {
        lock(&self.turn)
    }
}

impl Cache {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    pub(super) fn has_crashed(&self) -> bool {
        self.has_crashed
    }

    /// Bytes of a logical block.
    pub(super) fn block(&self) -> u64 {
        self.block
    }

    /// Counts one more wrapper that reaches the device.
    pub(super) fn join(&mut self) {
        self.wrappers += 1;
    }

    /// Removes a wrapper; returns whether it was the last one.
    pub(super) fn leave(&mut self) -> bool {
        self.wrappers = self.wrappers.saturating_sub(1);
        self.wrappers == 0
    }

    /// Dirty writes.
    pub(super) fn dirty(&self) -> Unflushed {
        self.dirty
    }

    /// Notes the start of a read; returns its number.
    pub(super) fn begin_read(&mut self) -> u64 {
        let number = self.tick();
        self.reads.insert(number);
        number
    }

    /// Notes the end of a read.
    pub(super) fn end_read(&mut self, number: u64) {
        self.reads.remove(&number);
        self.forget_clean();
    }

    /// Forgets clean entries that no read in flight needs.
    fn forget_clean(&mut self) {
        let oldest = self.reads.first().copied().unwrap_or(u64::MAX);
        while let Some((since, order)) =
            self.clean_orders.first().copied().filter(|(since, _)| *since <= oldest)
        {
            self.clean_orders.remove(&(since, order));
            self.remove(order);
        }
    }

    fn remove(&mut self, order: u64) {
        if let Some(entry) = self.entries.remove(&order) {
            self.places.remove(&(entry.extent.offset, order));
        }
    }

    /// Entries of a place, in the order of their acknowledgements.
    fn at(&self, extent: Extent) -> Vec<u64> {
        let start = (extent.offset.saturating_sub(self.longest), 0);
        let near = self.places.range(start..(extent.end(), 0)).map(|(_, order)| *order);
        let mut orders: Vec<u64> =
            near.filter(|order| self.entries.get(order).is_some_and(|e| e.extent.overlaps(extent))).collect();
        orders.sort_unstable();
        orders
    }

    /// Parts of a read of `extent` that come from the cache, in order: bytes of the read, the entry, and the first byte of the
    /// entry.
    fn over(&self, read: u64, extent: Extent) -> Vec<(Range<usize>, &Entry, usize)> {
        let is_seen = |entry: &&Entry| entry.clean_since.is_none_or(|since| since > read);
        let entries =
            self.at(extent).into_iter().filter_map(|order| self.entries.get(&order)).filter(is_seen);
        let mut all = Vec::new();
        for entry in entries {
            for part in &entry.parts {
                let start = (entry.extent.offset + part.start).max(extent.offset);
                let end = (entry.extent.offset + part.end).min(extent.end());
                if start < end {
                    let range = (start - extent.offset) as usize..(end - extent.offset) as usize;
                    all.push((range, entry, (start - entry.extent.offset) as usize));
                }
            }
        }
        all
    }

    /// Minimum length of a read from its start, because the cache has the last of these bytes.
    pub(super) fn reach(&self, read: u64, extent: Extent) -> usize {
        self.over(read, extent).into_iter().map(|(range, ..)| range.end).max().unwrap_or(0)
    }

    /// Lays the cached data over the data that a read got from the device below.
    pub(super) fn overlay(&self, read: u64, extent: Extent, memory: &mut [u8]) {
        let extent = Extent { length: memory.len() as u64, ..extent };
        for (range, entry, from) in self.over(read, extent) {
            let length = range.len();
            match &entry.data {
                Some(data) => memory[range].copy_from_slice(&data[from..from + length]),
                None => memory[range].fill(0),
            }
        }
    }

    /// Notes the start of a write; returns its number.
    pub(super) fn begin_write(&mut self, extent: Extent, data: Arc<[u8]>) -> u64 {
        let number = self.tick();
        self.in_flight.insert(number, (extent, data));
        number
    }

    /// Notes that a write is over, and no part of it is in the cache.
    pub(super) fn end_write(&mut self, number: u64) {
        self.in_flight.remove(&number);
    }

    /// The last acknowledgement that has to be destaged to make room for `length` more bytes.
    pub(super) fn overflow(&self, length: u64) -> Option<u64> {
        let mut excess = (self.dirty.bytes + length).checked_sub(MOST).filter(|excess| *excess > 0)?;
        let mut last = None;
        for (order, entry) in self.dirty_entries() {
            last = Some(order);
            match excess.checked_sub(bytes(&entry.parts)) {
                Some(more) if more > 0 => excess = more,
                _ => break,
            }
        }
        last
    }

    fn dirty_entries(&self) -> impl Iterator<Item = (u64, &Entry)> {
        self.dirty_orders.iter().filter_map(|order| Some((*order, self.entries.get(order)?)))
    }

    fn add(&mut self, entry: Entry) {
        let order = self.tick();
        match entry.clean_since {
            Some(since) => self.clean_orders.insert((since, order)),
            None => self.dirty_orders.insert(order),
        };
        self.longest = self.longest.max(entry.extent.length);
        self.places.insert((entry.extent.offset, order));
        self.entries.insert(order, entry);
    }

    /// Acknowledges a write, which is dirty from now on. `false`: it is too late, because the device has crashed.
    pub(super) fn hold(&mut self, number: u64) -> bool {
        let Some((extent, data)) = self.in_flight.remove(&number).filter(|_| !self.has_crashed) else {
            return false;
        };
        self.dirty.writes += 1;
        self.dirty.bytes += extent.length;
        self.add(Entry {
            extent,
            data: Some(data),
            parts: std::iter::once(0..extent.length).collect(),
            clean_since: None,
        });
        true
    }

    /// The device below has got a write past the cache, or a discard or write zeroes without data: cached data of its place is
    /// superseded.
    pub(super) fn pass(&mut self, extent: Extent, data: Option<Arc<[u8]>>) {
        for order in self.at(extent) {
            let Some(entry) = self.entries.get_mut(&order).filter(|entry| entry.clean_since.is_none()) else {
                continue;
            };
            let start = extent.offset.saturating_sub(entry.extent.offset);
            let rest = without(&entry.parts, &(start..extent.end() - entry.extent.offset));
            self.dirty.bytes -= bytes(&entry.parts) - bytes(&rest);
            entry.parts = rest;
            if entry.parts.is_empty() {
                self.dirty.writes -= 1;
                self.dirty_orders.remove(&order);
                self.remove(order);
            }
        }
        if !self.reads.is_empty() {
            let since = Some(self.tick());
            let parts = std::iter::once(0..extent.length).collect();
            self.add(Entry { extent, data, parts, clean_since: since });
        }
    }

    /// The oldest dirty write, up to an acknowledgement.
    pub(super) fn oldest(&self, last: u64) -> Option<Pieces> {
        let (order, entry) = self.dirty_entries().next().filter(|(order, _)| *order <= last)?;
        Some(Pieces::of(order, entry))
    }

    /// Marks an entry as clean: the device below has it.
    pub(super) fn clean(&mut self, order: u64) {
        let since = self.tick();
        let Some(entry) = self.entries.get_mut(&order) else { return };
        self.dirty.writes -= 1;
        self.dirty.bytes -= bytes(&entry.parts);
        entry.clean_since = Some(since);
        self.dirty_orders.remove(&order);
        self.clean_orders.insert((since, order));
        self.forget_clean();
    }

    /// The acknowledgement of the last write.
    pub(super) fn last(&self) -> u64 {
        self.clock
    }

    /// Stops the device: returns the parts of writes that the device below gets, in order, and their counts.
    pub(super) fn crash(&mut self) -> (Vec<Pieces>, Survived) {
        self.has_crashed = true;
        let mut all: Vec<Pieces> =
            self.dirty_entries().map(|(order, entry)| Pieces::of(order, entry)).collect();
        let mut survived = Survived { cached: all.len() as u64, ..Survived::default() };
        let mut in_flight: Vec<_> = std::mem::take(&mut self.in_flight).into_iter().collect();
        survived.in_flight = in_flight.len() as u64;
        while !in_flight.is_empty() {
            // Writes in flight have no order.
            let next = below(&mut self.random, in_flight.len() as u64) as usize;
            let (order, (extent, data)) = in_flight.swap_remove(next);
            let parts = std::iter::once(0..extent.length).collect();
            all.push(Pieces { order, extent, data, parts, is_whole: true });
        }
        self.entries.clear();
        self.places.clear();
        self.dirty_orders.clear();
        self.clean_orders.clear();
        self.dirty = Unflushed::default();
        // From nearly no entry to nearly all.
        let share = 1 + below(&mut self.random, 99);
        all.retain_mut(|pieces| {
            let before = bytes(&pieces.parts);
            pieces.parts = self.some_of(pieces, share);
            pieces.is_whole = bytes(&pieces.parts) == before;
            match bytes(&pieces.parts) {
                0 => survived.lost += 1,
                _ if pieces.is_whole => survived.whole += 1,
                _ => survived.in_part += 1,
            }
            !pieces.parts.is_empty()
        });
        (all, survived)
    }

    /// All of a write, nothing, or some whole blocks.
    fn some_of(&mut self, pieces: &Pieces, share: u64) -> Vec<Range<u64>> {
        let random = &mut self.random;
        if below(random, TORN) > 0 {
            return if below(random, 100) < share { pieces.parts.clone() } else { Vec::new() };
        }
        let blocks = blocks(pieces, self.block);
        let (count, border) = (blocks.len() as u64, 1 + below(random, blocks.len() as u64));
        let kind = below(random, 3);
        let mut some = Vec::<Range<u64>>::new();
        for (number, block) in (0..count).zip(blocks) {
            let survives = match kind {
                0 => number < border,
                1 => number >= border,
                _ => below(random, 2) == 0,
            };
            match some.last_mut().filter(|last| last.end == block.start) {
                _ if !survives => {}
                Some(last) => last.end = block.end,
                None => some.push(block),
            }
        }
        some
    }
}

/// The parts of a write, cut at the borders of blocks.
fn blocks(pieces: &Pieces, block: u64) -> Vec<Range<u64>> {
    let offset = pieces.extent.offset;
    let mut all = Vec::new();
    for part in &pieces.parts {
        let mut at = part.start;
        while at < part.end {
            let end = (((offset + at) / block + 1) * block - offset).min(part.end);
            all.push(at..end);
            at = end;
        }
    }
    all
}

impl Pieces {
    fn of(order: u64, entry: &Entry) -> Pieces {
        let data = entry.data.clone().unwrap_or_default();
        Pieces { order, extent: entry.extent, data, parts: entry.parts.clone(), is_whole: true }
    }
}
