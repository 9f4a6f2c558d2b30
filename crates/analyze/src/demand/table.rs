//! State of each page: an open-addressing table that can thin itself out.

use super::hash::fold;
use super::recency::Recency;
use iosonar_os::vec_for_huge_pages;
use std::hint::black_box;

/// A page and its state, 32 bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Entry {
    /// Number of the page plus 1; 0 for an empty slot.
    key: u64,
    /// Second of the last use.
    pub(super) last: u32,
    /// Second in which a request last began in it.
    pub(super) last_start: u32,
    /// Place of the last use in [`Recency`].
    pub(super) position: u32,
    /// Uses by reads and by writes.
    pub(super) uses: [u32; 2],
    /// Its sectors that were touched; the recent ones in second `last`.
    pub(super) touched: Sectors,
    /// Its sectors at which requests began; the recent ones in second `last_start`.
    pub(super) starts: Sectors,
}

/// Some of the eight sectors of a page, one bit each.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sectors {
    /// Sectors that were ever used.
    pub(super) ever: u8,
    /// Sectors of those whose last use was in the same second as that of the page. The times of the others are in
    /// [`super::sectors::SectorTimes`].
    pub(super) recent: u8,
}

impl Entry {
    /// Number of the page.
    pub(super) fn page(&self) -> u64 {
        self.key - 1
    }

    /// An otherwise empty entry of a page.
    #[cfg(test)]
    pub(super) fn of(page: u64) -> Entry {
        Entry { key: page + 1, ..Entry::default() }
    }

    fn is_empty(&self) -> bool {
        self.key == 0
    }
}

/// Pages by number. Pages whose hash does not begin with `log_rate` zeros are ignored.
#[derive(Debug, Clone)]
pub(super) struct PageTable {
    /// A power of two of them, at most five eighths full: twice the footprint holds it and the pages of a request.
    slots: Vec<Entry>,
    len: usize,
    log_rate: u32,
    recency: Recency,
}

/// Pages that stand next to each other in the table, so that a request finds its pages in few cache lines.
const NEIGHBOURS: u64 = 8;
const FIRST_SLOTS: usize = 1 << 6;

/// Whether a page belongs to the sample of one in 2^`log_rate`.
pub(super) fn is_sampled(page: u64, log_rate: u32) -> bool {
    // Another hash than that of the slots: the pages of a thinner sample must still spread over the table.
    log_rate == 0 || fold(!page).leading_zeros() >= log_rate
}

impl PageTable {
    pub(super) fn new() -> PageTable {
        PageTable {
            slots: vec![Entry::default(); FIRST_SLOTS],
            len: 0,
            log_rate: 0,
            recency: Recency::default(),
        }
    }

    /// Number of pages.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// One page of 2^this is sampled.
    pub(super) fn log_rate(&self) -> u32 {
        self.log_rate
    }

    /// The entry of a slot, and the order of last uses.
    pub(super) fn entry(&mut self, slot: usize) -> (&mut Entry, &mut Recency) {
        (&mut self.slots[slot], &mut self.recency)
    }

    /// The order of last uses.
    pub(super) fn recency(&mut self) -> &mut Recency {
        &mut self.recency
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.slots.iter().filter(|e| !e.is_empty())
    }

    fn home(&self, page: u64) -> usize {
        let chunk = fold(page / NEIGHBOURS) << NEIGHBOURS.trailing_zeros();
        (chunk | (page % NEIGHBOURS)) as usize & (self.slots.len() - 1)
    }

    /// Fetches the place where a page belongs.
    pub(super) fn expect(&self, page: u64) {
        if is_sampled(page, self.log_rate) {
            black_box(self.slots[self.home(page)].key);
        }
    }

    /// Makes room for the uses of `more` pages.
    pub(super) fn reserve(&mut self, more: usize) {
        self.make_positions(more);
        let mut size = self.slots.len();
        while (self.len + more) * 8 > size * 5 {
            size *= 2;
        }
        if size > self.slots.len() {
            let mut slots = vec_for_huge_pages(size);
            slots.resize(size, Entry::default());
            let old = std::mem::replace(&mut self.slots, slots);
            old.iter().filter(|e| !e.is_empty()).for_each(|e| self.place(*e));
        }
    }

    fn place(&mut self, entry: Entry) {
        let slot = self.find(entry.page(), self.home(entry.page()));
        self.slots[slot] = entry;
    }

    /// The slot of a page, or the empty one where it belongs, searched from `slot` on.
    fn find(&self, page: u64, mut slot: usize) -> usize {
        while !self.slots[slot].is_empty() && self.slots[slot].key != page + 1 {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }

    /// The slot of a page, which is probably `guess`, and whether the page was not there before. There must be room.
    pub(super) fn find_or_insert(&mut self, page: u64, guess: usize) -> (usize, bool) {
        let guess = guess & (self.slots.len() - 1);
        if self.slots[guess].key == page + 1 {
            return (guess, false);
        }
        let slot = self.find(page, self.home(page));
        let is_new = self.slots[slot].is_empty();
        if is_new {
            self.slots[slot].key = page + 1;
            self.len += 1;
        }
        (slot, is_new)
    }

    /// Assigns the positions of last uses again if fewer than `uses` are free.
    fn make_positions(&mut self, uses: usize) {
        if self.recency.has_room(uses) {
            return;
        }
        let renumber = self.recency.compact(uses);
        for entry in self.slots.iter_mut().filter(|e| !e.is_empty()) {
            entry.position = renumber.new_position(entry.position);
        }
    }

    /// Halves the share of sampled pages, and removes the others.
    pub(super) fn thin_out(&mut self) {
        self.log_rate += 1;
        let log_rate = self.log_rate;
        let mut kept = Vec::with_capacity(self.len / 2);
        for entry in self.slots.iter_mut().filter(|e| !e.is_empty()) {
            let entry = std::mem::take(entry);
            if is_sampled(entry.page(), log_rate) {
                kept.push(entry);
            } else {
                self.recency.remove(entry.position, 1);
            }
        }
        self.len = kept.len();
        kept.into_iter().for_each(|entry| self.place(entry));
    }
}
