//! How many other pages were used since a page was used last: its LRU stack distance.
//!
//! Every use gets the next position, a bit per position says whether it is the last use of its page. The distance is
//! the number of set bits behind a position. Counts per block and per group keep that a matter of some additions.

const WORDS_PER_BLOCK: usize = 8;
const BLOCKS_PER_GROUP: usize = 64;
const WORDS_PER_GROUP: usize = WORDS_PER_BLOCK * BLOCKS_PER_GROUP;
/// Positions of a group, the unit in which room is made.
const GROUP: usize = WORDS_PER_GROUP * 64;

/// Last uses in the order of time.
#[derive(Debug, Clone, Default)]
pub(super) struct Recency {
    words: Vec<u64>,
    blocks: Vec<u16>,
    groups: Vec<u32>,
    next: usize,
    live: usize,
}

impl Recency {
    /// Whether positions must be given out anew before the next use.
    pub(super) fn is_full(&self) -> bool {
        self.next == self.words.len() * 64
    }

    /// Notes the first use of a page; its position.
    pub(super) fn first(&mut self) -> u32 {
        let position = self.next;
        self.next += 1;
        self.live += 1;
        self.words[position / 64] |= 1 << (position % 64);
        self.blocks[position / 64 / WORDS_PER_BLOCK] += 1;
        self.groups[position / GROUP] += 1;
        position as u32
    }

    /// Forgets a last use.
    pub(super) fn remove(&mut self, position: u32) {
        let position = position as usize;
        self.live -= 1;
        self.words[position / 64] &= !(1 << (position % 64));
        self.blocks[position / 64 / WORDS_PER_BLOCK] -= 1;
        self.groups[position / GROUP] -= 1;
    }

    /// Number of pages whose last use is behind `position`.
    pub(super) fn behind(&self, position: u32) -> u64 {
        let position = position as usize;
        let (word, block, group) = (position / 64, position / 64 / WORDS_PER_BLOCK, position / GROUP);
        let in_word = (self.words[word] >> (position % 64) >> 1).count_ones();
        let in_block: u32 =
            self.words[word + 1..(block + 1) * WORDS_PER_BLOCK].iter().map(|w| w.count_ones()).sum();
        let in_group: u32 =
            self.blocks[block + 1..(group + 1) * BLOCKS_PER_GROUP].iter().map(|n| u32::from(*n)).sum();
        let used = self.next.div_ceil(GROUP).max(group + 1);
        let above: u32 = self.groups[group + 1..used].iter().sum();
        u64::from(in_word + in_block + in_group + above)
    }

    /// Gives out positions anew, in the same order, and makes room for three times as many uses as there are pages.
    /// The answer tells the new position of each old one.
    pub(super) fn compact(&mut self) -> Renumber {
        let mut before = 0;
        let start = |word: &u64| {
            let start = before;
            before += word.count_ones();
            start
        };
        let starts = self.words.iter().map(start).collect();
        let room = (4 * self.live).max(1).div_ceil(GROUP);
        let old = std::mem::replace(&mut self.words, vec![0; room * WORDS_PER_GROUP]);
        (self.blocks, self.groups) = (vec![0; room * BLOCKS_PER_GROUP], vec![0; room]);
        let live = std::mem::take(&mut self.live);
        self.next = 0;
        (0..live).for_each(|_| {
            self.first();
        });
        Renumber { words: old, starts }
    }
}

/// From old positions to new ones.
pub(super) struct Renumber {
    words: Vec<u64>,
    starts: Vec<u32>,
}

impl Renumber {
    /// The new position of a page whose last use was at `old`.
    pub(super) fn new_position(&self, old: u32) -> u32 {
        let (word, bit) = (old as usize / 64, old % 64);
        self.starts[word] + (self.words[word] & ((1 << bit) - 1)).count_ones()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn distances_are_those_of_a_list(pages in prop::collection::vec(0u64..50, 0..300), step in 1usize..2_000) {
            let (mut recency, mut at, mut list) = (Recency::default(), BTreeMap::new(), Vec::new());
            for page in pages {
                // Uses of pages that are forgotten at once: positions run out, gaps are wide.
                for _ in 0..step {
                    if recency.is_full() {
                        let renumber = recency.compact();
                        at.values_mut().for_each(|p| *p = renumber.new_position(*p));
                    }
                    let idle = recency.first();
                    recency.remove(idle);
                }
                if recency.is_full() {
                    let renumber = recency.compact();
                    at.values_mut().for_each(|p| *p = renumber.new_position(*p));
                }
                let before = list.iter().position(|p| *p == page);
                if let Some(old) = at.get(&page) {
                    prop_assert_eq!(recency.behind(*old), before.unwrap() as u64);
                    recency.remove(*old);
                    list.remove(before.unwrap());
                }
                at.insert(page, recency.first());
                list.insert(0, page);
            }
        }
    }
}
