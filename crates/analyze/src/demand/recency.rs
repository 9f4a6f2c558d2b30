//! LRU stack distance: the number of other pages that were used since the last use of a page.
//!
//! Every use gets the next position, a bit per position says whether it is the last use of its page. The distance is
//! the number of set bits after a position. Counts per block and per group keep that a matter of some additions.

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
    /// Whether there are positions for `uses` more of them; if not, call `compact`.
    pub(super) fn has_room(&self, uses: usize) -> bool {
        self.next + uses <= self.words.len() * 64
    }

    /// The position that the next use gets.
    pub(super) fn next(&self) -> u32 {
        self.next as u32
    }

    /// Records one use each of `pages` consecutive pages. There must be room.
    pub(super) fn push(&mut self, pages: u32) {
        let first = self.next;
        self.next += pages as usize;
        self.live += pages as usize;
        for (word, bits) in words_of(first, pages) {
            self.words[word] |= bits;
            self.blocks[word / WORDS_PER_BLOCK] += bits.count_ones() as u16;
            self.groups[word / WORDS_PER_GROUP] += bits.count_ones();
        }
    }

    /// Removes the last uses at `pages` consecutive positions.
    pub(super) fn remove(&mut self, first: u32, pages: u32) {
        self.live -= pages as usize;
        for (word, bits) in words_of(first as usize, pages) {
            self.words[word] &= !bits;
            self.blocks[word / WORDS_PER_BLOCK] -= bits.count_ones() as u16;
            self.groups[word / WORDS_PER_GROUP] -= bits.count_ones();
        }
    }

    /// Number of pages whose last use is after `position`.
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

    /// Assigns positions again, in the same order, and makes room for three times as many uses as there are pages, and for
    /// `uses` at least. Returns the mapping from old positions to new ones.
    pub(super) fn compact(&mut self, uses: usize) -> Renumber {
        let mut before = 0;
        let start = |word: &u64| {
            let start = before;
            before += word.count_ones();
            start
        };
        let starts = self.words.iter().map(start).collect();
        let room = (4 * self.live).max(self.live + uses).div_ceil(GROUP);
        let old = std::mem::replace(&mut self.words, vec![0; room * WORDS_PER_GROUP]);
        (self.blocks, self.groups) = (vec![0; room * BLOCKS_PER_GROUP], vec![0; room]);
        let live = std::mem::take(&mut self.live);
        self.next = 0;
        self.push(live as u32);
        Renumber { words: old, starts }
    }
}

/// The words that hold `count` bits from `first` on, with these bits set.
fn words_of(first: usize, count: u32) -> impl Iterator<Item = (usize, u64)> {
    let end = first + count as usize;
    (first / 64..end.div_ceil(64)).map(move |word| {
        let (from, to) = (first.max(word * 64) - word * 64, end.min(word * 64 + 64) - word * 64);
        (word, (u64::MAX << from) & (u64::MAX >> (64 - to)))
    })
}

/// Mapping from old positions to new ones.
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
        fn distances_match_a_list_model(
            runs in prop::collection::vec((0u64..50, 1u32..70), 0..300), idle in 0u32..2_000
        ) {
            let (mut recency, mut at, mut list) = (Recency::default(), BTreeMap::<u64, u32>::new(), Vec::new());
            let room = |recency: &mut Recency, at: &mut BTreeMap<u64, u32>, uses: u32| {
                if !recency.has_room(uses as usize) {
                    let renumber = recency.compact(uses as usize);
                    at.values_mut().for_each(|p| *p = renumber.new_position(*p));
                }
                recency.next()
            };
            for (first, pages) in runs {
                // Uses of pages that are forgotten at once: positions run out, gaps are wide.
                let position = room(&mut recency, &mut at, idle);
                recency.push(idle);
                recency.remove(position, idle);
                room(&mut recency, &mut at, pages);
                for page in first..first + u64::from(pages) {
                    if let Some(old) = at.remove(&page) {
                        let before = list.iter().position(|p| *p == page).unwrap();
                        prop_assert_eq!(recency.behind(old), before as u64);
                        recency.remove(old, 1);
                        list.remove(before);
                    }
                    at.insert(page, recency.next());
                    recency.push(1);
                    list.insert(0, page);
                }
            }
        }

        #[test]
        fn splits_bit_range_into_words(first in 0usize..300, count in 0u32..300) {
            let words: Vec<(usize, u64)> = words_of(first, count).collect();
            prop_assert_eq!(words.iter().map(|(_, bits)| bits.count_ones()).sum::<u32>(), count);
            prop_assert!((first..first + count as usize)
                .all(|bit| words.iter().any(|(word, bits)| *word == bit / 64 && bits >> (bit % 64) & 1 == 1)));
        }
    }
}
