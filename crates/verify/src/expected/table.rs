//! The settled state of each sector: exactly one version is legal.
//!
//! A radix tree over chunks of 64 KiB. The root has a pointer for each 512 MiB of the target, a branch for each 16 MiB, a leaf for
//! each chunk. A pointer below [`FIRST`] is a tag that all sectors below it have, so unwritten ranges take no memory, and a discard
//! of the whole device hardly any.
//!
//! The node of a chunk is *coarse*, with a tag for each 4 KiB, until the first write that is not aligned to 4 KiB; then it is
//! *fine*, with a tag for each sector. Two bits more for each sector (or block) show whether a read has found the present version,
//! and whether this run had written the sector before.
//!
//! If the limit of memory is reached, the chunks that were not written to for the longest time are given up (second chance: a hand
//! goes round, takes the mark from nodes that were written to, and victims are those without it). Only sectors written there become
//! unknown ([`lost`](super::lost)): a chunk keeps them in its pointer, a leaf of more than one range in a small node, as long as
//! such nodes have less than a quarter of the memory.

use super::CHUNK;
use super::arena::{ADDRESS, Arena, CLASSES, Class, FIRST, MARK, whole_block_bytes};
use super::lost::{self, LEAF, LEAF_SECTORS, LeafStorage, Trace, is_code};
use crate::{Sectors, Tag};

/// Settled state of a sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Settled {
    pub(super) tag: Tag,
    pub(super) seen: bool,
    pub(super) rewritten: bool,
}

/// Sectors of a block of 4 KiB.
const BLOCK: u64 = 8;
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

/// In the root: there was no memory for a branch. All is unknown, and written ranges are not kept.
const NOWHERE: u32 = FIRST - 1;

/// The pointer to a chunk, decoded.
#[derive(Debug, Clone, Copy)]
enum Chunk {
    /// All its sectors have this tag.
    Uniform(Tag),
    /// It was given up: these sectors are unknown, and the others were never written.
    Lost(u128),
    /// See [`NOWHERE`].
    Nowhere,
    Coarse(usize),
    Fine(usize),
}

impl Chunk {
    fn of(pointer: u32) -> Chunk {
        match pointer {
            NOWHERE => Chunk::Nowhere,
            ..FIRST => Chunk::Uniform(Tag(pointer)),
            _ if is_code(pointer) => Chunk::Lost(lost::chunk_mask(pointer)),
            _ if pointer & MARK == 0 => Chunk::Coarse(pointer as usize),
            _ => Chunk::Fine((pointer & ADDRESS) as usize),
        }
    }
}

/// Nodes that must not be given up while memory is searched for.
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
    /// Where the search for a victim continues: block and node, for each class.
    hands: [(u32, u32); CLASSES.len()],
    unknown: u64,
    given_up: u64,
    /// Sectors of writes that no pointer knows of.
    nowhere: u64,
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
    /// A table of at most `limit` bytes.
    pub(super) fn new(limit: u64) -> Table {
        let most_root = (root_share(limit) / 4) as usize;
        Table {
            arena: Arena::new(limit - root_share(limit)),
            root: Vec::with_capacity(most_root),
            most_root,
            pinned: Pinned::default(),
            hands: [(0, 0); CLASSES.len()],
            unknown: 0,
            given_up: 0,
            nowhere: 0,
        }
    }

    /// Memory in use.
    pub(super) fn bytes(&self) -> u64 {
        self.arena.bytes() + size_of_val(&*self.root) as u64
    }

    /// Sectors that are unknown now, according to pointers.
    pub(super) fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Sectors that were written below [`NOWHERE`]. Sectors written again count again.
    pub(super) fn nowhere(&self) -> u64 {
        self.nowhere
    }

    /// Sectors that ever became unknown.
    pub(super) fn given_up(&self) -> u64 {
        self.given_up
    }

    fn word(&self, address: u32) -> u32 {
        self.arena.words[address as usize]
    }

    /// The chunk of `sector`, and the number of sectors with the same state.
    fn chunk(&self, sector: u64) -> (Chunk, u64) {
        let number = sector / BRANCH_SECTORS;
        let branch = match self.root.get(usize::try_from(number).unwrap_or(usize::MAX)) {
            Some(&pointer) => pointer,
            // Beyond the maximum reach of the root, nothing is known.
            None if number >= self.most_root as u64 => NOWHERE,
            None => Tag::INITIAL.0,
        };
        if branch < FIRST {
            return (Chunk::of(branch), BRANCH_SECTORS);
        }
        let leaf = self.word(branch + 1 + (sector / LEAF_SECTORS % BRANCH) as u32);
        let chunk = sector / CHUNK % LEAF;
        match leaf {
            ..FIRST => (Chunk::of(leaf), LEAF_SECTORS),
            _ if is_code(leaf) => (Chunk::Lost(self.lost_in_leaf(leaf, chunk)), CHUNK),
            _ => (Chunk::of(self.word(leaf + 1 + chunk as u32)), CHUNK),
        }
    }

    /// The unknown sectors of a chunk of a leaf that was given up.
    fn lost_in_leaf(&self, code: u32, chunk: u64) -> u128 {
        if code & MARK == 0 { lost::chunk_of_range(code, chunk) } else { self.trace(code).chunk(chunk) }
    }

    fn trace(&self, code: u32) -> Trace {
        let node = (code & ADDRESS & !1) as usize;
        let words = std::array::from_fn(|n| self.arena.words[node + TAGS + n]);
        Trace { words, has_ranges: self.arena.words[node] & MARK != 0 }
    }

    /// Whether nothing in `range` is or was written, as far as pointers show: chunks that have a node count as written.
    pub(super) fn is_initial(&self, range: Sectors) -> bool {
        let mut at = range.start;
        while at < range.end() {
            let (chunk, sectors) = self.chunk(at);
            let end = range.end().min(at - at % sectors + sectors);
            let is_initial = match chunk {
                Chunk::Uniform(tag) => tag == Tag::INITIAL,
                Chunk::Lost(lost) => lost & mask(Sectors::between(at, end)) == 0,
                Chunk::Nowhere | Chunk::Coarse(_) | Chunk::Fine(_) => false,
            };
            if !is_initial {
                return false;
            }
            at = end;
        }
        true
    }

    /// State of a sector.
    pub(super) fn get(&self, sector: u64) -> Settled {
        let at = (sector % CHUNK) as usize;
        let words = &self.arena.words;
        let bit = |node: usize, number: usize| words[node + number / 32] >> (number % 32) & 1 != 0;
        match self.chunk(sector).0 {
            Chunk::Uniform(tag) => Settled { tag, seen: false, rewritten: false },
            Chunk::Lost(lost) => Settled { tag: lost_tag(lost, sector), seen: false, rewritten: false },
            Chunk::Nowhere => Settled { tag: Tag::UNKNOWN, seen: false, rewritten: false },
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

    /// Calls `is_found` for each sector; it returns whether a read has found the sector's version.
    pub(super) fn check(&mut self, range: Sectors, mut is_found: impl FnMut(u64, Tag) -> bool) {
        let mut at = range.start;
        while at < range.end() {
            let start = at - at % CHUNK;
            let end = range.end().min(start + CHUNK);
            let (node, shift, seen) = match self.chunk(at).0 {
                Chunk::Coarse(node) => (node, BLOCK.trailing_zeros(), COARSE_SEEN),
                Chunk::Fine(node) => (node, 0, FINE_SEEN),
                Chunk::Lost(lost) => {
                    (at..end).for_each(|sector| _ = is_found(sector, lost_tag(lost, sector)));
                    at = end;
                    continue;
                }
                Chunk::Nowhere => {
                    (at..end).for_each(|sector| _ = is_found(sector, Tag::UNKNOWN));
                    at = end;
                    continue;
                }
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

    /// Notes that a read has found the version that the table has for `sector`.
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

    /// Counts `sectors` that get a tag; `were_unknown` of them were unknown before.
    fn count(&mut self, sectors: u64, were_unknown: u64, tag: Tag) {
        self.unknown -= were_unknown;
        if tag == Tag::UNKNOWN {
            self.unknown += sectors;
            self.given_up += sectors - were_unknown;
        }
    }

    fn set_branch(&mut self, start: u64, tag: Tag) {
        let Some(slot) = self.root_slot(start) else { return self.count_nowhere(BRANCH_SECTORS, tag) };
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
        if let (Chunk::Uniform(old), LEAF_SECTORS..) = self.chunk(start)
            && old == tag
        {
            return;
        }
        let Some(pointer) = self.leaf_pointer(start) else { return self.count_nowhere(LEAF_SECTORS, tag) };
        let were_unknown = self.drop_leaf(self.word(pointer));
        self.arena.words[pointer as usize] = tag.0;
        self.count(LEAF_SECTORS, were_unknown, tag);
    }

    /// Frees the nodes below a pointer to a leaf; returns how many of its sectors were unknown.
    fn drop_leaf(&mut self, leaf: u32) -> u64 {
        let unknown = self.unknown_of_leaf(leaf);
        if leaf < FIRST {
            return unknown;
        }
        if !is_code(leaf) {
            (1..=LEAF as u32).for_each(|n| _ = self.drop_chunk(self.word(leaf + n)));
            self.arena.release(Class::Leaf, leaf);
        } else if leaf & MARK != 0 {
            self.arena.release(Class::Trace, leaf & ADDRESS & !1);
        }
        unknown
    }

    /// Frees the node below a pointer to a chunk; returns how many of its sectors were unknown.
    fn drop_chunk(&mut self, pointer: u32) -> u64 {
        let unknown = self.unknown_of_chunk(pointer);
        match Chunk::of(pointer) {
            Chunk::Uniform(_) | Chunk::Lost(_) | Chunk::Nowhere => {}
            Chunk::Coarse(node) => self.arena.release(Class::Coarse, node as u32),
            Chunk::Fine(node) => self.arena.release(Class::Fine, node as u32),
        }
        unknown
    }

    /// The unknown sectors below a pointer to a leaf.
    fn unknown_of_leaf(&self, leaf: u32) -> u64 {
        match leaf {
            ..FIRST => u64::from(leaf == Tag::UNKNOWN.0) * LEAF_SECTORS,
            _ if is_code(leaf) => {
                (0..LEAF).map(|chunk| u64::from(self.lost_in_leaf(leaf, chunk).count_ones())).sum()
            }
            _ => (1..=LEAF as u32).map(|n| self.unknown_of_chunk(self.word(leaf + n))).sum(),
        }
    }

    /// The unknown sectors below a pointer to a chunk.
    fn unknown_of_chunk(&self, pointer: u32) -> u64 {
        let unknown = |tags: &[u32]| tags.iter().filter(|&&tag| tag == Tag::UNKNOWN.0).count() as u64;
        match Chunk::of(pointer) {
            Chunk::Uniform(tag) => u64::from(tag == Tag::UNKNOWN) * CHUNK,
            Chunk::Lost(lost) => u64::from(lost.count_ones()),
            Chunk::Nowhere => 0,
            Chunk::Coarse(node) => unknown(&self.arena.words[node + TAGS..node + COARSE_SEEN]) * BLOCK,
            Chunk::Fine(node) => unknown(&self.arena.words[node + TAGS..node + FINE_SEEN]),
        }
    }

    /// The sectors of a chunk that are not initial.
    fn written_of_chunk(&self, pointer: u32) -> u128 {
        let written = |tags: &[u32], each: u64| {
            let is_written = |(_, tag): &(u64, &u32)| **tag != Tag::INITIAL.0;
            let written = (0..).zip(tags).filter(is_written);
            written.fold(0, |all, (n, _)| all | lost::mask(n * each, each))
        };
        match Chunk::of(pointer) {
            Chunk::Uniform(Tag::INITIAL) | Chunk::Nowhere => 0,
            Chunk::Uniform(_) => u128::MAX,
            Chunk::Lost(lost) => lost,
            Chunk::Coarse(node) => written(&self.arena.words[node + TAGS..node + COARSE_SEEN], BLOCK),
            Chunk::Fine(node) => written(&self.arena.words[node + TAGS..node + FINE_SEEN], 1),
        }
    }

    /// The sectors of a leaf that are not initial.
    fn written_of_leaf(&self, leaf: u32) -> lost::Leaf {
        lost::Leaf(std::array::from_fn(|chunk| match leaf {
            ..FIRST => self.written_of_chunk(leaf),
            _ if is_code(leaf) => self.lost_in_leaf(leaf, chunk as u64),
            _ => self.written_of_chunk(self.word(leaf + 1 + chunk as u32)),
        }))
    }

    /// Sets the tag of sectors of one chunk.
    fn set_in_chunk(&mut self, range: Sectors, tag: Tag, seen: bool, rewritten: bool) {
        if let Chunk::Uniform(old) = self.chunk(range.start).0
            && old == tag
        {
            return;
        }
        let Some(leaf) = self.leaf(range, tag) else { return };
        let pointer = leaf + 1 + (range.start / CHUNK % LEAF) as u32;
        if range.count == CHUNK && tag.0 < FIRST {
            let were_unknown = self.drop_chunk(self.word(pointer));
            self.arena.words[pointer as usize] = tag.0;
            return self.count(CHUNK, were_unknown, tag);
        }
        self.pinned = Pinned { leaf, pointer };
        let aligned = range.start.is_multiple_of(BLOCK) && range.end().is_multiple_of(BLOCK);
        match self.node(pointer, aligned) {
            Some(Node::Coarse(node)) => self.set_coarse(node, range, tag, seen, rewritten),
            Some(Node::Fine(node)) => self.set_fine(node, range, tag, seen, rewritten),
            None => self.give_up_chunk(pointer, mask(range)),
        }
        self.pinned = Pinned::default();
        if tag.0 < FIRST {
            self.drop_uniform(pointer, tag);
        }
    }

    /// The node of a chunk for a write; `None` if there is no memory for it.
    fn node(&mut self, pointer: u32, aligned: bool) -> Option<Node> {
        let chunk = Chunk::of(self.word(pointer));
        match (chunk, aligned) {
            (Chunk::Coarse(node), true) => return Some(Node::Coarse(self.marked(node))),
            (Chunk::Fine(node), _) => return Some(Node::Fine(self.marked(node))),
            _ => {}
        }
        let is_coarse = aligned && !matches!(chunk, Chunk::Lost(lost) if !is_of_blocks(lost));
        let new = self.allocate(if is_coarse { Class::Coarse } else { Class::Fine })?;
        let node = new as usize;
        // To find memory, the old node may have been moved.
        let old = Chunk::of(self.word(pointer));
        self.arena.words[node] = pointer | MARK;
        if is_coarse {
            self.fill_coarse(node, old);
            self.arena.words[pointer as usize] = new;
            return Some(Node::Coarse(node));
        }
        self.fill_fine(node, old);
        self.arena.words[pointer as usize] = new | MARK;
        Some(Node::Fine(node))
    }

    /// Marks a node as written to.
    fn marked(&mut self, node: usize) -> usize {
        let owner = &mut self.arena.words[node];
        if *owner & MARK == 0 {
            *owner |= MARK;
        }
        node
    }

    /// Sets up a coarse node with the known state of its chunk.
    fn fill_coarse(&mut self, node: usize, old: Chunk) {
        let words = &mut self.arena.words[node + TAGS..node + Class::Coarse.words() as usize];
        words.fill(0);
        let tags = &mut words[..COARSE_SEEN - TAGS];
        match old {
            Chunk::Uniform(tag) => tags.fill(tag.0),
            Chunk::Lost(lost) => {
                (0..).zip(tags).for_each(|(n, tag)| *tag = lost_tag(lost, n * BLOCK).0);
            }
            Chunk::Nowhere => tags.fill(Tag::UNKNOWN.0),
            Chunk::Coarse(_) | Chunk::Fine(_) => unreachable!("a chunk with a node serves aligned writes"),
        }
    }

    /// Sets up a fine node, which may take the place of a coarse one.
    fn fill_fine(&mut self, node: usize, old: Chunk) {
        let words = &mut self.arena.words;
        words[node + TAGS..node + Class::Fine.words() as usize].fill(0);
        let tags = node + TAGS..node + FINE_SEEN;
        match old {
            Chunk::Uniform(tag) => words[tags].fill(tag.0),
            Chunk::Lost(lost) => {
                (0..).zip(&mut words[tags]).for_each(|(n, tag)| *tag = lost_tag(lost, n).0);
            }
            Chunk::Nowhere => words[tags].fill(Tag::UNKNOWN.0),
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
            Chunk::Uniform(_) | Chunk::Lost(_) | Chunk::Nowhere => return,
            Chunk::Coarse(node) => node + TAGS..node + COARSE_SEEN,
            Chunk::Fine(node) => node + TAGS..node + FINE_SEEN,
        };
        if self.arena.words[tags].iter().all(|&other| other == tag.0) {
            self.drop_chunk(self.word(pointer));
            self.arena.words[pointer as usize] = tag.0;
        }
    }

    /// Index in the root for a sector, if it can be reached.
    fn root_slot(&mut self, sector: u64) -> Option<usize> {
        let slot = usize::try_from(sector / BRANCH_SECTORS).ok().filter(|&slot| slot < self.most_root)?;
        if slot >= self.root.len() {
            self.root.resize(slot + 1, Tag::INITIAL.0);
        }
        Some(slot)
    }

    /// Counts a write below [`NOWHERE`].
    fn count_nowhere(&mut self, sectors: u64, tag: Tag) {
        if tag != Tag::INITIAL {
            self.given_up += sectors;
            self.nowhere += sectors;
        }
    }

    /// The address of the pointer to the leaf for a sector. Makes the branch, if it is missing.
    fn leaf_pointer(&mut self, sector: u64) -> Option<u32> {
        let slot = self.root_slot(sector)?;
        let tag = self.root[slot];
        if tag == NOWHERE {
            return None;
        }
        if tag < FIRST {
            let Some(branch) = self.allocate(Class::Branch) else {
                // After a discard of all of it, all of it was written.
                let is_initial = tag == Tag::INITIAL.0;
                self.root[slot] = if is_initial { NOWHERE } else { Tag::UNKNOWN.0 };
                if !is_initial {
                    let were_unknown = u64::from(tag == Tag::UNKNOWN.0) * BRANCH_SECTORS;
                    self.count(BRANCH_SECTORS, were_unknown, Tag::UNKNOWN);
                }
                return None;
            };
            let words = &mut self.arena.words[branch as usize..][..Class::Branch.words() as usize];
            words.fill(tag);
            self.root[slot] = branch;
        }
        Some(self.root[slot] + 1 + (sector / LEAF_SECTORS % BRANCH) as u32)
    }

    /// The leaf for a write of a part of it. Makes it, if it is missing; without memory for it, the write is given up.
    fn leaf(&mut self, write: Sectors, tag: Tag) -> Option<u32> {
        let Some(pointer) = self.leaf_pointer(write.start) else {
            let slot = self.root_slot(write.start);
            if slot.is_none_or(|slot| self.root[slot] == NOWHERE) {
                self.count_nowhere(write.count, tag);
            }
            return None;
        };
        let old = self.word(pointer);
        if old >= FIRST && !is_code(old) {
            return Some(old);
        }
        let Some(leaf) = self.allocate(Class::Leaf) else {
            let mut written = self.written_of_leaf(old);
            let start = write.start % LEAF_SECTORS;
            written.add(start, start + write.count);
            let were_unknown = self.drop_leaf(old);
            self.keep_lost(pointer, written.keep(), were_unknown, false);
            return None;
        };
        let start = leaf as usize;
        if old < FIRST {
            self.arena.words[start..start + Class::Leaf.words() as usize].fill(old);
        } else {
            let lost = self.written_of_leaf(old);
            for (word, lost) in self.arena.words[start + 1..].iter_mut().zip(lost.0) {
                *word = lost::chunk_code(lost);
            }
            let were_unknown = self.drop_leaf(old);
            // A chunk keeps few ranges.
            self.count(self.unknown_of_leaf(leaf), were_unknown, Tag::UNKNOWN);
        }
        self.arena.words[start] = pointer;
        self.arena.words[pointer as usize] = leaf;
        Some(leaf)
    }

    /// Allocates a node. If memory is full, something else is given up for it.
    fn allocate(&mut self, class: Class) -> Option<u32> {
        let free = self.arena.allocate(class);
        if free.is_some() {
            return free;
        }
        self.make_room_for_traces();
        // Blocks change their class as far as that costs nothing, or until the class has its share of them.
        let compacted = [Class::Coarse, Class::Fine].into_iter().any(|class| self.arena.compact(class));
        let done = compacted || (!self.has_share(class) && self.take_block(class)) || self.give_up_one(class);
        if done { self.arena.allocate(class) } else { None }
    }

    /// Whether a class has a quarter of the blocks; half for branches, whose content cannot be given up.
    fn has_share(&self, class: Class) -> bool {
        let parts = if class == Class::Branch { 2 } else { 4 };
        self.arena.blocks_of(class) * parts >= self.arena.blocks()
    }

    /// Makes room for the traces of the leaves of one block, which may be given up next.
    fn make_room_for_traces(&mut self) {
        let leaves = self.arena.capacity(Class::Leaf);
        if !self.arena.has_free(Class::Trace, leaves) && !self.has_share(Class::Trace) {
            self.take_block(Class::Trace);
            self.arena.add_block(Class::Trace);
        }
    }

    /// Empties a block of the largest class.
    fn take_block(&mut self, class: Class) -> bool {
        let is_kept = |other| other == class || other == Class::Branch || other == Class::Trace;
        let others = CLASSES.into_iter().filter(|&other| !is_kept(other));
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
        if richest == Class::Leaf {
            self.give_up_leaves(&nodes, class);
        } else {
            nodes.into_iter().for_each(|address| self.give_up_node(richest, address));
        }
        self.hands[richest as usize] = ((block + 1) % blocks, 0);
        true
    }

    /// Gives up the node of a class that was not written to for the longest time.
    fn give_up_one(&mut self, class: Class) -> bool {
        let blocks = self.arena.blocks();
        if matches!(class, Class::Branch | Class::Trace) || self.arena.blocks_of(class) == 0 {
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

    /// Whether a node was not written to since the last call.
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
            if pointer >= FIRST && !is_code(pointer) {
                let owner = &mut self.arena.words[(pointer & ADDRESS) as usize];
                is_old &= *owner & MARK == 0;
                *owner &= ADDRESS;
            }
        }
        is_old
    }

    fn give_up_node(&mut self, class: Class, address: u32) {
        match class {
            Class::Leaf => {
                let (owner, written, were_unknown) = self.take_leaf(address);
                self.keep_lost(owner, written, were_unknown, false);
            }
            _ => self.give_up_chunk(self.word(address) & ADDRESS, 0),
        }
    }

    /// Gives up the leaves of a block, so that there is memory for a `class`.
    fn give_up_leaves(&mut self, leaves: &[u32], class: Class) {
        let taken: Vec<_> = leaves.iter().map(|&leaf| self.take_leaf(leaf)).collect();
        for (owner, written, were_unknown) in taken {
            // The block is not for their own traces, unless it was emptied for such.
            self.keep_lost(owner, written, were_unknown, class == Class::Trace);
        }
    }

    /// Drops a leaf. Returns its owner, its written part, and how many of its sectors were unknown.
    fn take_leaf(&mut self, leaf: u32) -> (u32, LeafStorage, u64) {
        let (owner, written) = (self.word(leaf) & ADDRESS, self.written_of_leaf(leaf).keep());
        (owner, written, self.drop_leaf(leaf))
    }

    /// Keeps the written part of a dropped leaf. Unless it `may_take_block`, only blocks of traces have room.
    fn keep_lost(&mut self, pointer: u32, written: LeafStorage, were_unknown: u64, may_take_block: bool) {
        let has_room = may_take_block || self.arena.has_free(Class::Trace, 1);
        let code = match written {
            LeafStorage::Pointer(code) => code,
            LeafStorage::Node(trace, hull) => {
                let node = if has_room { self.arena.allocate(Class::Trace) } else { None };
                node.map_or(hull, |node| self.fill_trace(node, pointer, &trace))
            }
        };
        self.arena.words[pointer as usize] = code;
        self.count(self.unknown_of_leaf(code), were_unknown, Tag::UNKNOWN);
    }

    /// Sets up a node with a trace; returns its code.
    fn fill_trace(&mut self, node: u32, pointer: u32, trace: &Trace) -> u32 {
        let words = &mut self.arena.words[node as usize..];
        words[0] = pointer | if trace.has_ranges { MARK } else { 0 };
        words[TAGS..TAGS + trace.words.len()].copy_from_slice(&trace.words);
        MARK | node | 1
    }

    /// Gives up a chunk, and sectors that are written meanwhile.
    fn give_up_chunk(&mut self, pointer: u32, more: u128) {
        let written = self.written_of_chunk(self.word(pointer)) | more;
        let were_unknown = self.drop_chunk(self.word(pointer));
        let code = lost::chunk_code(written);
        self.arena.words[pointer as usize] = code;
        self.count(self.unknown_of_chunk(code), were_unknown, Tag::UNKNOWN);
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

    /// The sectors from `at` that are all initial, or all not, as far as one pointer goes. Sectors below [`NOWHERE`] count as
    /// initial.
    fn piece(&self, at: u64) -> (bool, Sectors) {
        let (chunk, sectors) = self.chunk(at);
        let end = at - at % sectors + sectors;
        let (tags, size) = match chunk {
            Chunk::Uniform(tag) => return (tag == Tag::INITIAL, Sectors::between(at, end)),
            Chunk::Nowhere => return (true, Sectors::between(at, end)),
            Chunk::Lost(lost) => {
                let rest = lost >> (at % CHUNK);
                let is_lost = rest & 1 != 0;
                let same = u64::from(if is_lost { rest.trailing_ones() } else { rest.trailing_zeros() });
                return (!is_lost, Sectors::between(at, end.min(at + same)));
            }
            Chunk::Coarse(node) => (&self.arena.words[node + TAGS..node + COARSE_SEEN], BLOCK),
            Chunk::Fine(node) => (&self.arena.words[node + TAGS..node + FINE_SEEN], 1),
        };
        let tags = &tags[(at % CHUNK / size) as usize..];
        let is_initial = tags[0] == Tag::INITIAL.0;
        let same = tags.iter().take_while(|&&tag| (tag == Tag::INITIAL.0) == is_initial).count() as u64;
        (is_initial, Sectors::new(at, same * size))
    }
}

/// The node of a chunk.
enum Node {
    Coarse(usize),
    Fine(usize),
}

/// Whether a mask has whole blocks of 4 KiB only.
fn is_of_blocks(lost: u128) -> bool {
    (0..CHUNK / BLOCK).all(|block| matches!(lost >> (block * BLOCK) & 0xff, 0 | 0xff))
}

/// Tag of a sector of a chunk that was given up.
fn lost_tag(lost: u128, sector: u64) -> Tag {
    if lost >> (sector % CHUNK) & 1 != 0 { Tag::UNKNOWN } else { Tag::INITIAL }
}

/// The bits of the sectors of a chunk.
fn mask(range: Sectors) -> u128 {
    lost::mask(range.start % CHUNK, range.count)
}
