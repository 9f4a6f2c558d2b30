//! The settled state of each sector: exactly one version is legal.
//!
//! A radix tree over chunks of 64 KiB. The root has a pointer for each 512 MiB of the target, a branch for each 16 MiB, a
//! leaf for each chunk. A pointer below [`FIRST`] is a tag that all sectors below it have, so what was never written
//! takes no memory, and a discard of the whole device hardly any.
//!
//! The node of a chunk is *coarse*, with a tag for each 4 KiB, until the first write that is not aligned to 4 KiB; then
//! it is *fine*, with a tag for each sector. Two bits more for each sector (or block) tell whether a read has found the
//! present version, and whether this run had written the sector before.
//!
//! If the limit of memory is reached, the chunks that were not written to for the longest time become unknown (second
//! chance: a hand goes round, takes the mark from nodes that were written to, and those that have none).

use super::CHUNK;
use super::arena::{ADDRESS, Arena, CLASSES, Class, FIRST, MARK, whole_block_bytes};
use crate::{Sectors, Tag};

/// What is known of a sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Settled {
    pub(super) tag: Tag,
    pub(super) seen: bool,
    pub(super) rewritten: bool,
}

/// Sectors of a block of 4 KiB.
const BLOCK: u64 = 8;
/// Chunks of a leaf.
const LEAF: u64 = 256;
/// Sectors of a leaf, 16 MiB.
const LEAF_SECTORS: u64 = LEAF * CHUNK;
/// Leaves of a branch.
const BRANCH: u64 = 32;
/// Sectors of a branch, 512 MiB.
const BRANCH_SECTORS: u64 = BRANCH * LEAF_SECTORS;

/// Words of the nodes of chunks: the tags follow the owner.
const TAGS: usize = 1;
const COARSE_SEEN: usize = TAGS + 16;
const COARSE_REWRITTEN: usize = COARSE_SEEN + 4;
const FINE_SEEN: usize = TAGS + 128;
const FINE_REWRITTEN: usize = FINE_SEEN + 4;

/// The pointer to a chunk, decoded.
#[derive(Debug, Clone, Copy)]
enum Chunk {
    /// All its sectors have this tag.
    Uniform(Tag),
    Coarse(usize),
    Fine(usize),
}

impl Chunk {
    fn of(pointer: u32) -> Chunk {
        match pointer {
            ..FIRST => Chunk::Uniform(Tag(pointer)),
            _ if pointer & MARK == 0 => Chunk::Coarse(pointer as usize),
            _ => Chunk::Fine((pointer & ADDRESS) as usize),
        }
    }
}

/// What the memory is for, while it is looked for: these must not be given up.
#[derive(Debug, Clone, Copy, Default)]
struct Pinned {
    leaf: u32,
    pointer: u32,
}

#[derive(Debug)]
pub(super) struct Table {
    arena: Arena,
    root: Vec<u32>,
    most_root: usize,
    pinned: Pinned,
    /// Where the search for a victim goes on: block and node, for each class.
    hands: [(u32, u32); 4],
    unknown: u64,
    given_up: u64,
}

/// Bytes for the root, of `limit`.
fn root_share(limit: u64) -> u64 {
    limit / 64
}

/// Bytes that the table needs for this many chunks below `end`, if all its memory is `limit`.
pub(super) fn need(chunks: u64, end_bytes: u64, aligned: bool, limit: u64) -> u64 {
    let sectors = end_bytes.div_ceil(512);
    let leaves = chunks.min(sectors / LEAF_SECTORS + 2);
    let branches = leaves.min(sectors / BRANCH_SECTORS + 2);
    let block = super::arena::block_bytes(limit - root_share(limit));
    let blocks = |nodes: u64, class: Class| nodes.div_ceil(block / 4 / u64::from(class.words()));
    // A chunk that becomes fine has a coarse node until then.
    let nodes = if aligned { blocks(chunks, Class::Coarse) } else { blocks(chunks, Class::Fine) + 2 };
    let blocks = blocks(branches, Class::Branch) + blocks(leaves, Class::Leaf) + nodes;
    let root = 4 * (sectors / BRANCH_SECTORS + 1);
    let arena = blocks * whole_block_bytes(limit - root_share(limit));
    (arena * 64).div_ceil(63).max(root * 64) + 64
}

impl Table {
    /// Takes at most `limit` bytes.
    pub(super) fn new(limit: u64) -> Table {
        let most_root = (root_share(limit) / 4) as usize;
        Table {
            arena: Arena::new(limit - root_share(limit)),
            root: Vec::with_capacity(most_root),
            most_root,
            pinned: Pinned::default(),
            hands: [(0, 0); 4],
            unknown: 0,
            given_up: 0,
        }
    }

    /// Memory in use.
    pub(super) fn bytes(&self) -> u64 {
        self.arena.bytes() + size_of_val(&*self.root) as u64
    }

    /// Sectors that are unknown now.
    pub(super) fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Sectors that ever became unknown.
    pub(super) fn given_up(&self) -> u64 {
        self.given_up
    }

    fn word(&self, address: u32) -> u32 {
        self.arena.words[address as usize]
    }

    /// The pointer for `sector` that is nearest to it, and the sectors below that pointer.
    fn pointer(&self, sector: u64) -> (u32, u64) {
        let number = sector / BRANCH_SECTORS;
        let branch = match self.root.get(usize::try_from(number).unwrap_or(usize::MAX)) {
            Some(&pointer) => pointer,
            // Beyond what the root can ever reach, nothing is known.
            None if number >= self.most_root as u64 => Tag::UNKNOWN.0,
            None => Tag::INITIAL.0,
        };
        if branch < FIRST {
            return (branch, BRANCH_SECTORS);
        }
        let leaf = self.word(branch + 1 + (sector / LEAF_SECTORS % BRANCH) as u32);
        if leaf < FIRST {
            return (leaf, LEAF_SECTORS);
        }
        (self.word(leaf + 1 + (sector / CHUNK % LEAF) as u32), CHUNK)
    }

    /// Whether nothing in `range` is or was written, as far as pointers tell: chunks that have a node count as written.
    pub(super) fn is_initial(&self, range: Sectors) -> bool {
        let mut at = range.start;
        while at < range.end() {
            let (pointer, sectors) = self.pointer(at);
            if pointer != Tag::INITIAL.0 {
                return false;
            }
            at = at - at % sectors + sectors;
        }
        true
    }

    /// What is known of a sector.
    pub(super) fn get(&self, sector: u64) -> Settled {
        let at = (sector % CHUNK) as usize;
        let words = &self.arena.words;
        let bit = |node: usize, number: usize| words[node + number / 32] >> (number % 32) & 1 != 0;
        match Chunk::of(self.pointer(sector).0) {
            Chunk::Uniform(tag) => Settled { tag, seen: false, rewritten: false },
            Chunk::Coarse(node) => Settled {
                tag: Tag(words[node + TAGS + at / BLOCK as usize]),
                seen: bit(node + COARSE_SEEN, at),
                rewritten: bit(node + COARSE_REWRITTEN, at / BLOCK as usize),
            },
            Chunk::Fine(node) => Settled {
                tag: Tag(words[node + TAGS + at]),
                seen: bit(node + FINE_SEEN, at),
                rewritten: bit(node + FINE_REWRITTEN, at),
            },
        }
    }

    /// Asks for each sector whether a read has found what it has.
    pub(super) fn check(&mut self, range: Sectors, mut is_found: impl FnMut(u64, Tag) -> bool) {
        let mut at = range.start;
        while at < range.end() {
            let start = at - at % CHUNK;
            let end = range.end().min(start + CHUNK);
            let (node, shift, seen) = match Chunk::of(self.pointer(at).0) {
                Chunk::Coarse(node) => (node, BLOCK.trailing_zeros(), COARSE_SEEN),
                Chunk::Fine(node) => (node, 0, FINE_SEEN),
                Chunk::Uniform(tag) => {
                    (at..end).for_each(|sector| _ = is_found(sector, tag));
                    at = end;
                    continue;
                }
            };
            let mut bits = 0;
            for sector in at..end {
                let tag = Tag(self.arena.words[node + TAGS + ((sector - start) >> shift) as usize]);
                let is_version = tag != Tag::INITIAL;
                bits |= u128::from(is_found(sector, tag) && is_version) << (sector - start);
            }
            self.set_bits(node + seen, bits, true);
            at = end;
        }
    }

    /// A read has found the version that the table has for `sector`.
    pub(super) fn mark_seen(&mut self, sector: u64) {
        self.check(Sectors::new(sector, 1), |_, _| true);
    }

    /// Sets or clears bits of a map of 128.
    fn set_bits(&mut self, at: usize, bits: u128, on: bool) {
        for (n, word) in self.arena.words[at..at + 4].iter_mut().enumerate() {
            let bits = (bits >> (32 * n)) as u32;
            let new = if on { *word | bits } else { *word & !bits };
            // A word that does not change stays clean in the cache.
            if new != *word {
                *word = new;
            }
        }
    }

    /// The one version of `range` is `tag` from now on. `rewritten`: even if it was initial before.
    pub(super) fn set(&mut self, range: Sectors, tag: Tag, seen: bool, rewritten: bool) {
        let mut at = range.start;
        while at < range.end() {
            let is_whole = |sectors: u64| at.is_multiple_of(sectors) && range.end() - at >= sectors;
            let uniform = tag.0 < FIRST;
            at = if uniform && is_whole(BRANCH_SECTORS) {
                self.set_branch(at, tag);
                at + BRANCH_SECTORS
            } else if uniform && is_whole(LEAF_SECTORS) {
                self.set_leaf(at, tag);
                at + LEAF_SECTORS
            } else {
                let end = range.end().min(at - at % CHUNK + CHUNK);
                self.set_in_chunk(Sectors::between(at, end), tag, seen, rewritten);
                end
            };
        }
    }

    /// Counts `sectors` that get a tag; so many of them were unknown before.
    fn count(&mut self, sectors: u64, were_unknown: u64, tag: Tag) {
        self.unknown -= were_unknown;
        if tag == Tag::UNKNOWN {
            self.unknown += sectors;
            self.given_up += sectors - were_unknown;
        }
    }

    fn set_branch(&mut self, start: u64, tag: Tag) {
        if self.pointer(start) == (tag.0, BRANCH_SECTORS) {
            return;
        }
        let Some(slot) = self.root_slot(start) else { return self.count_beyond(BRANCH_SECTORS, tag) };
        let branch = self.root[slot];
        let mut were_unknown = u64::from(branch == Tag::UNKNOWN.0) * BRANCH_SECTORS;
        if branch >= FIRST {
            were_unknown = (1..=BRANCH as u32).map(|n| self.drop_leaf(self.word(branch + n))).sum();
            self.arena.release(Class::Branch, branch);
        }
        self.root[slot] = tag.0;
        self.count(BRANCH_SECTORS, were_unknown, tag);
    }

    fn set_leaf(&mut self, start: u64, tag: Tag) {
        if self.pointer(start).1 >= LEAF_SECTORS && self.pointer(start).0 == tag.0 {
            return;
        }
        let Some(pointer) = self.leaf_pointer(start) else { return };
        let were_unknown = self.drop_leaf(self.word(pointer));
        self.arena.words[pointer as usize] = tag.0;
        self.count(LEAF_SECTORS, were_unknown, tag);
    }

    /// Frees what a pointer to a leaf leads to; how many of its sectors were unknown.
    fn drop_leaf(&mut self, leaf: u32) -> u64 {
        if leaf < FIRST {
            return u64::from(leaf == Tag::UNKNOWN.0) * LEAF_SECTORS;
        }
        let unknown = (1..=LEAF as u32).map(|n| self.drop_chunk(self.word(leaf + n))).sum();
        self.arena.release(Class::Leaf, leaf);
        unknown
    }

    /// Frees what a pointer to a chunk leads to; how many of its sectors were unknown.
    fn drop_chunk(&mut self, pointer: u32) -> u64 {
        let unknown = |tags: &[u32]| tags.iter().filter(|&&tag| tag == Tag::UNKNOWN.0).count() as u64;
        match Chunk::of(pointer) {
            Chunk::Uniform(tag) => u64::from(tag == Tag::UNKNOWN) * CHUNK,
            Chunk::Coarse(node) => {
                let count = unknown(&self.arena.words[node + TAGS..node + COARSE_SEEN]);
                self.arena.release(Class::Coarse, node as u32);
                count * BLOCK
            }
            Chunk::Fine(node) => {
                let count = unknown(&self.arena.words[node + TAGS..node + FINE_SEEN]);
                self.arena.release(Class::Fine, node as u32);
                count
            }
        }
    }

    /// Sets the tag of sectors of one chunk.
    fn set_in_chunk(&mut self, range: Sectors, tag: Tag, seen: bool, rewritten: bool) {
        if self.pointer(range.start).0 == tag.0 {
            return;
        }
        let Some(leaf) = self.leaf(range.start) else {
            if range.start / BRANCH_SECTORS >= self.most_root as u64 {
                self.count_beyond(range.count, tag);
            }
            return;
        };
        let pointer = leaf + 1 + (range.start / CHUNK % LEAF) as u32;
        if range.count == CHUNK && tag.0 < FIRST {
            let were_unknown = self.drop_chunk(self.word(pointer));
            self.arena.words[pointer as usize] = tag.0;
            return self.count(CHUNK, were_unknown, tag);
        }
        self.pinned = Pinned { leaf, pointer };
        let aligned = range.start.is_multiple_of(BLOCK) && range.end().is_multiple_of(BLOCK);
        match self.node(pointer, aligned) {
            Chunk::Uniform(_) => {}
            Chunk::Coarse(node) => self.set_coarse(node, range, tag, seen, rewritten),
            Chunk::Fine(node) => self.set_fine(node, range, tag, seen, rewritten),
        }
        self.pinned = Pinned::default();
        if tag.0 < FIRST {
            self.drop_uniform(pointer, tag);
        }
    }

    /// The node of a chunk for a write; uniform, if there is no memory for it.
    fn node(&mut self, pointer: u32, aligned: bool) -> Chunk {
        let chunk = Chunk::of(self.word(pointer));
        match (chunk, aligned) {
            (Chunk::Coarse(node) | Chunk::Fine(node), true) | (Chunk::Fine(node), false) => {
                let owner = &mut self.arena.words[node];
                if *owner & MARK == 0 {
                    *owner |= MARK;
                }
                return chunk;
            }
            _ => {}
        }
        let class = if aligned { Class::Coarse } else { Class::Fine };
        let Some(new) = self.allocate(class) else {
            self.give_up_chunk(pointer);
            return Chunk::Uniform(Tag::UNKNOWN);
        };
        let mark = if aligned { 0 } else { MARK };
        // To find memory, the old node may have been moved.
        let (old, words) = (Chunk::of(self.word(pointer)), &mut self.arena.words);
        let node = new as usize;
        words[node] = pointer | MARK;
        words[node + TAGS..node + class.words() as usize].fill(0);
        match old {
            Chunk::Uniform(tag) => {
                let tags = if aligned { COARSE_SEEN } else { FINE_SEEN };
                words[node + TAGS..node + tags].fill(tag.0);
            }
            Chunk::Coarse(old) => {
                for sector in 0..CHUNK as usize {
                    words[node + TAGS + sector] = words[old + TAGS + sector / BLOCK as usize];
                    let rewritten = words[old + COARSE_REWRITTEN] >> (sector / BLOCK as usize) & 1;
                    words[node + FINE_REWRITTEN + sector / 32] |= rewritten << (sector % 32);
                }
                words.copy_within(old + COARSE_SEEN..old + COARSE_SEEN + 4, node + FINE_SEEN);
                self.arena.release(Class::Coarse, old as u32);
            }
            Chunk::Fine(_) => unreachable!("a fine chunk serves all writes"),
        }
        self.arena.words[pointer as usize] = new | mark;
        Chunk::of(new | mark)
    }

    fn set_coarse(&mut self, node: usize, range: Sectors, tag: Tag, seen: bool, rewritten: bool) {
        let (first, count) = ((range.start % CHUNK / BLOCK) as usize, (range.count / BLOCK) as usize);
        let (mut unknown, mut bits) = (0, self.arena.words[node + COARSE_REWRITTEN]);
        for n in first..first + count {
            let old = std::mem::replace(&mut self.arena.words[node + TAGS + n], tag.0);
            unknown += u64::from(old == Tag::UNKNOWN.0);
            bits |= u32::from(rewritten || old != Tag::INITIAL.0) << n;
            bits &= !(u32::from(tag == Tag::INITIAL) << n);
        }
        self.arena.words[node + COARSE_REWRITTEN] = bits;
        self.set_bits(node + COARSE_SEEN, mask(range), seen && tag != Tag::INITIAL);
        self.count(range.count, unknown * BLOCK, tag);
    }

    fn set_fine(&mut self, node: usize, range: Sectors, tag: Tag, seen: bool, rewritten: bool) {
        let first = (range.start % CHUNK) as usize;
        let (mut unknown, mut bits) = (0, 0);
        for n in first..first + range.count as usize {
            let old = std::mem::replace(&mut self.arena.words[node + TAGS + n], tag.0);
            unknown += u64::from(old == Tag::UNKNOWN.0);
            bits |= u128::from(rewritten || old != Tag::INITIAL.0) << n;
        }
        match tag {
            Tag::INITIAL => self.set_bits(node + FINE_REWRITTEN, mask(range), false),
            _ => self.set_bits(node + FINE_REWRITTEN, bits, true),
        }
        self.set_bits(node + FINE_SEEN, mask(range), seen && tag != Tag::INITIAL);
        self.count(range.count, unknown, tag);
    }

    /// Frees a chunk that has `tag` everywhere.
    fn drop_uniform(&mut self, pointer: u32, tag: Tag) {
        let tags = match Chunk::of(self.word(pointer)) {
            Chunk::Uniform(_) => return,
            Chunk::Coarse(node) => node + TAGS..node + COARSE_SEEN,
            Chunk::Fine(node) => node + TAGS..node + FINE_SEEN,
        };
        if self.arena.words[tags].iter().all(|&other| other == tag.0) {
            self.drop_chunk(self.word(pointer));
            self.arena.words[pointer as usize] = tag.0;
        }
    }

    /// The place of the root for a sector, if it can be reached.
    fn root_slot(&mut self, sector: u64) -> Option<usize> {
        let slot = usize::try_from(sector / BRANCH_SECTORS).ok().filter(|&slot| slot < self.most_root)?;
        if slot >= self.root.len() {
            self.root.resize(slot + 1, Tag::INITIAL.0);
        }
        Some(slot)
    }

    /// A write that the root cannot reach.
    fn count_beyond(&mut self, sectors: u64, tag: Tag) {
        if tag != Tag::INITIAL {
            self.given_up += sectors;
        }
    }

    /// The address of the pointer to the leaf for a sector. Makes the branch, if there is none yet.
    fn leaf_pointer(&mut self, sector: u64) -> Option<u32> {
        let slot = self.root_slot(sector)?;
        if self.root[slot] < FIRST {
            let tag = self.root[slot];
            let Some(branch) = self.allocate(Class::Branch) else {
                self.count(BRANCH_SECTORS, u64::from(tag == Tag::UNKNOWN.0) * BRANCH_SECTORS, Tag::UNKNOWN);
                self.root[slot] = Tag::UNKNOWN.0;
                return None;
            };
            let words = &mut self.arena.words[branch as usize..][..Class::Branch.words() as usize];
            words.fill(tag);
            self.root[slot] = branch;
        }
        Some(self.root[slot] + 1 + (sector / LEAF_SECTORS % BRANCH) as u32)
    }

    /// The leaf for a sector. Makes it, if there is none yet.
    fn leaf(&mut self, sector: u64) -> Option<u32> {
        let pointer = self.leaf_pointer(sector)?;
        let tag = self.word(pointer);
        if tag >= FIRST {
            return Some(tag);
        }
        let Some(leaf) = self.allocate(Class::Leaf) else {
            self.count(LEAF_SECTORS, u64::from(tag == Tag::UNKNOWN.0) * LEAF_SECTORS, Tag::UNKNOWN);
            self.arena.words[pointer as usize] = Tag::UNKNOWN.0;
            return None;
        };
        let words = &mut self.arena.words[leaf as usize..][..Class::Leaf.words() as usize];
        words.fill(tag);
        words[0] = pointer;
        self.arena.words[pointer as usize] = leaf;
        Some(leaf)
    }

    /// Memory for a node. If there is none, something else is given up for it.
    fn allocate(&mut self, class: Class) -> Option<u32> {
        let free = self.arena.allocate(class);
        if free.is_some() {
            return free;
        }
        // Blocks change their class as far as that costs nothing, or until the class has a quarter of them.
        let compacted = [Class::Coarse, Class::Fine].into_iter().any(|class| self.arena.compact(class));
        let has_share = self.arena.blocks_of(class) * 4 >= self.arena.blocks();
        let done = compacted || (!has_share && self.take_block(class)) || self.give_up_one(class);
        if done { self.arena.allocate(class) } else { None }
    }

    /// Empties a block of the class that has most.
    fn take_block(&mut self, class: Class) -> bool {
        let others = CLASSES.into_iter().filter(|&other| other != class && other != Class::Branch);
        let Some(richest) = others.max_by_key(|&other| self.arena.blocks_of(other)) else { return false };
        let blocks = self.arena.blocks();
        let from = self.hands[richest as usize].0;
        let mut candidates = (0..blocks).map(|n| (from + n) % blocks);
        let pinned = self.pinned;
        let is_free = |table: &Table, address: u32| {
            address != pinned.leaf && table.word(address) & ADDRESS != pinned.pointer
        };
        let nodes = |table: &Table, block: u32| -> Vec<u32> {
            (0..table.arena.used(block)).filter_map(|number| table.arena.node(block, number)).collect()
        };
        let found = candidates.find_map(|block| {
            let nodes = (self.arena.class(block) == Some(richest)).then(|| nodes(self, block))?;
            nodes.iter().all(|&address| is_free(self, address)).then_some((block, nodes))
        });
        let Some((block, nodes)) = found else { return false };
        for address in nodes {
            self.give_up_node(richest, address);
        }
        self.hands[richest as usize] = ((block + 1) % blocks, 0);
        true
    }

    /// Gives up the node of a class that was not written to for the longest time.
    fn give_up_one(&mut self, class: Class) -> bool {
        let blocks = self.arena.blocks();
        if class == Class::Branch || self.arena.blocks_of(class) == 0 {
            return false;
        }
        let (mut block, mut number) = self.hands[class as usize];
        // In the first round the marks are taken away, in the second a node is found, if not all are pinned.
        let mut rounds = 0;
        while rounds <= 2 {
            if self.arena.class(block) != Some(class) || number >= self.arena.used(block) {
                (block, number) = ((block + 1) % blocks, 0);
                rounds += u32::from(block == 0);
                continue;
            }
            if let Some(address) = self.arena.node(block, number)
                && self.is_old(class, address)
            {
                self.give_up_node(class, address);
                self.hands[class as usize] = (block, number + 1);
                return true;
            }
            number += 1;
        }
        false
    }

    /// Whether a node was not written to since it was asked for the last time.
    fn is_old(&mut self, class: Class, address: u32) -> bool {
        if address == self.pinned.leaf || self.word(address) & ADDRESS == self.pinned.pointer {
            return false;
        }
        if class != Class::Leaf {
            let is_old = self.word(address) & MARK == 0;
            self.arena.words[address as usize] &= ADDRESS;
            return is_old;
        }
        let mut is_old = true;
        for n in 1..=LEAF as u32 {
            let pointer = self.word(address + n);
            if pointer >= FIRST {
                let owner = &mut self.arena.words[(pointer & ADDRESS) as usize];
                is_old &= *owner & MARK == 0;
                *owner &= ADDRESS;
            }
        }
        is_old
    }

    fn give_up_node(&mut self, class: Class, address: u32) {
        let owner = self.word(address) & ADDRESS;
        if class != Class::Leaf {
            return self.give_up_chunk(owner);
        }
        let were_unknown = self.drop_leaf(address);
        self.arena.words[owner as usize] = Tag::UNKNOWN.0;
        self.count(LEAF_SECTORS, were_unknown, Tag::UNKNOWN);
    }

    fn give_up_chunk(&mut self, pointer: u32) {
        let were_unknown = self.drop_chunk(self.word(pointer));
        self.arena.words[pointer as usize] = Tag::UNKNOWN.0;
        self.count(CHUNK, were_unknown, Tag::UNKNOWN);
    }

    /// Ranges that are not initial, ascending; neighbours are not merged.
    pub(super) fn touched(&self) -> impl Iterator<Item = Sectors> {
        let (mut at, end) = (0, self.root.len() as u64 * BRANCH_SECTORS);
        std::iter::from_fn(move || {
            while at < end {
                let (is_initial, piece) = self.piece(at);
                at = piece.end();
                if !is_initial {
                    return Some(piece);
                }
            }
            None
        })
    }

    /// The sectors from `at` that are all initial, or all not, as far as one pointer goes.
    fn piece(&self, at: u64) -> (bool, Sectors) {
        let (pointer, sectors) = self.pointer(at);
        let end = at - at % sectors + sectors;
        let (tags, size) = match Chunk::of(pointer) {
            Chunk::Uniform(tag) => return (tag == Tag::INITIAL, Sectors::between(at, end)),
            Chunk::Coarse(node) => (&self.arena.words[node + TAGS..node + COARSE_SEEN], BLOCK),
            Chunk::Fine(node) => (&self.arena.words[node + TAGS..node + FINE_SEEN], 1),
        };
        let tags = &tags[(at % CHUNK / size) as usize..];
        let is_initial = tags[0] == Tag::INITIAL.0;
        let same = tags.iter().take_while(|&&tag| (tag == Tag::INITIAL.0) == is_initial).count() as u64;
        (is_initial, Sectors::new(at, same * size))
    }
}

/// The bits of the sectors of a chunk.
fn mask(range: Sectors) -> u128 {
    (u128::MAX >> (CHUNK - range.count)) << (range.start % CHUNK)
}
