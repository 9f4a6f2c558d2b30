//! Set of checked sectors: their number, and the number of checks of sectors that had been checked before.

use std::collections::HashMap;

/// Sectors of a page of the map: 2 MiB of the device.
const PAGE: u64 = 4096;
const WORDS: usize = (PAGE / 64) as usize;
/// Bytes for a page, with its share of the index.
const PAGE_BYTES: u64 = 8 * WORDS as u64 + 32;

/// Counts the sectors of a device that were checked, each once, in bounded memory.
#[derive(Debug, Default)]
pub struct Checked {
    pages: Vec<[u64; WORDS]>,
    index: HashMap<u64, u32>,
    /// The page that was used last, and its index: reads go through many sectors of one.
    last: Option<(u64, u32)>,
    most_pages: usize,
    sectors: u64,
    checks: u64,
    is_incomplete: bool,
}

impl Checked {
    /// A counter with at most that much memory.
    pub fn new(limit_bytes: u64) -> Checked {
        let most_pages = usize::try_from(limit_bytes / PAGE_BYTES).unwrap_or(usize::MAX).max(1);
        Checked { most_pages, ..Checked::default() }
    }

    /// Counts a check of a sector.
    #[inline]
    pub fn add(&mut self, sector: u64) {
        self.checks += 1;
        let page = sector / PAGE;
        let at = match self.last {
            Some((last, at)) if last == page => at,
            _ => {
                let Some(at) = self.find(page) else {
                    self.is_incomplete = true;
                    return;
                };
                self.last = Some((page, at));
                at
            }
        };
        let word = &mut self.pages[at as usize][(sector % PAGE / 64) as usize];
        let bit = 1 << (sector % 64);
        self.sectors += u64::from(*word & bit == 0);
        *word |= bit;
    }

    /// Index of a page; `None` if there is no memory for it.
    fn find(&mut self, page: u64) -> Option<u32> {
        if let Some(at) = self.index.get(&page) {
            return Some(*at);
        }
        if self.pages.len() >= self.most_pages {
            return None;
        }
        let at = self.pages.len() as u32;
        self.pages.push([0; WORDS]);
        self.index.insert(page, at);
        Some(at)
    }

    /// Sectors that were checked; a lower bound, if the memory did not suffice.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Checks of sectors that had been checked before, or for which there was no memory.
    pub fn again(&self) -> u64 {
        self.checks - self.sectors
    }

    /// Whether the memory did not suffice to distinguish all sectors.
    pub fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// Memory in use.
    pub fn bytes(&self) -> u64 {
        self.pages.len() as u64 * PAGE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_each_sector_once() {
        let mut checked = Checked::new(1 << 20);
        (0..10_000).chain(5_000..15_000).for_each(|sector| checked.add(sector));
        checked.add(1 << 50);
        assert_eq!((checked.sectors(), checked.again(), checked.is_incomplete()), (15_001, 5_000, false));
    }

    #[test]
    fn counts_at_least_what_its_memory_holds() {
        let mut checked = Checked::new(2 * PAGE_BYTES);
        (0..10).chain(0..10).for_each(|n| checked.add(n * PAGE));
        assert_eq!((checked.sectors(), checked.again(), checked.is_incomplete()), (2, 18, true));
        assert!(checked.bytes() <= 2 * PAGE_BYTES);
    }
}
