//! Memory for the table: nodes of a few sizes, in blocks, below a limit.
//!
//! All memory is one vector of words. It is reserved at the start and touched block by block. A block holds nodes of one
//! class; when its last node is freed, it serves any class. So memory that one kind of node does not need any more is
//! not lost for the others.
//!
//! A node's first word is its owner: the address of the word that points to it, and a mark. It is 0 in a free node, whose
//! second word leads to the next free one of the block. Addresses below [`FIRST`] are not used, so they can stand for
//! something else; so can odd ones, because nodes have an even number of words.

/// The first address of a node.
pub(super) const FIRST: u32 = 16;
/// An address, without the mark.
pub(super) const ADDRESS: u32 = u32::MAX >> 1;
/// The mark in an owner: the node was written to lately. In a pointer the same bit means that the node is fine.
pub(super) const MARK: u32 = !ADDRESS;

/// Sizes of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Pointers to 32 leaves. It has no owner, because it is never moved or freed for others.
    Branch,
    /// Pointers to 256 chunks.
    Leaf,
    /// State of a chunk in blocks of 4 KiB.
    Coarse,
    /// State of a chunk in sectors.
    Fine,
    /// Written sectors of a leaf that was given up.
    Trace,
}

pub(super) const CLASSES: [Class; 5] = [Class::Branch, Class::Leaf, Class::Coarse, Class::Fine, Class::Trace];

impl Class {
    /// Words of a node, an even number.
    pub(super) const fn words(self) -> u32 {
        let words: u32 = match self {
            Class::Branch => 1 + 32,
            Class::Leaf => 1 + 256,
            Class::Coarse => 1 + 16 + 4 + 1,
            Class::Fine => 1 + 128 + 4 + 4,
            Class::Trace => 1 + 8,
        };
        words.next_multiple_of(2)
    }
}

#[derive(Debug, Clone, Copy)]
struct Block {
    /// `None` if no node is in use.
    class: Option<Class>,
    live: u32,
    /// Nodes from this one on were never used.
    fresh: u32,
    /// First free node, or 0.
    free: u32,
}

const EMPTY: Block = Block { class: None, live: 0, fresh: 0, free: 0 };

#[derive(Debug, Clone, Default)]
struct Members {
    /// Blocks of the class.
    blocks: u32,
    /// Nodes in use.
    live: u32,
    /// Blocks that may have a free node.
    open: Vec<u32>,
}

pub(super) struct Arena {
    pub(super) words: Vec<u32>,
    blocks: Vec<Block>,
    most_blocks: usize,
    empty: Vec<u32>,
    /// Words of a block: 2^shift.
    shift: u32,
    members: [Members; CLASSES.len()],
}

impl std::fmt::Debug for Arena {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arena").field("blocks", &self.blocks.len()).finish_non_exhaustive()
    }
}

/// Bytes of a block, if there are `limit` bytes in all.
pub(super) fn block_bytes(limit: u64) -> u64 {
    (limit / 64).clamp(2 << 10, 64 << 10).next_power_of_two()
}

/// Memory of a block, with its metadata.
pub(super) fn whole_block_bytes(limit: u64) -> u64 {
    block_bytes(limit) + size_of::<Block>() as u64
}

impl Arena {
    /// An arena of at most `limit` bytes.
    pub(super) fn new(limit: u64) -> Arena {
        let shift = (block_bytes(limit) / 4).trailing_zeros();
        let mut most_blocks =
            (limit / whole_block_bytes(limit)).min(u64::from(ADDRESS >> shift) - 1) as usize;
        let mut words = Vec::new();
        // An address space that is limited may not have room for all.
        while words.try_reserve_exact((most_blocks << shift) + FIRST as usize).is_err() {
            most_blocks /= 2;
        }
        words.resize(FIRST as usize, 0);
        let blocks = Vec::with_capacity(most_blocks);
        Arena { words, blocks, most_blocks, empty: Vec::new(), shift, members: Default::default() }
    }

    /// Memory in use.
    pub(super) fn bytes(&self) -> u64 {
        (size_of_val(&*self.words) + size_of_val(&*self.blocks)) as u64
    }

    fn base(&self, block: u32) -> u32 {
        FIRST + (block << self.shift)
    }

    fn block_of(&self, address: u32) -> u32 {
        (address - FIRST) >> self.shift
    }

    /// Nodes of a class that one block has.
    pub(super) fn capacity(&self, class: Class) -> u32 {
        (1 << self.shift) / class.words()
    }

    /// Allocates a node of unknown content. The caller sets its owner.
    pub(super) fn allocate(&mut self, class: Class) -> Option<u32> {
        let capacity = self.capacity(class);
        loop {
            let Some(&block) = self.members[class as usize].open.last() else {
                self.add_block(class)?;
                continue;
            };
            let base = self.base(block);
            let state = &mut self.blocks[block as usize];
            if state.class != Some(class) || state.live == capacity {
                self.members[class as usize].open.pop();
                continue;
            }
            let address = if state.free == 0 {
                state.fresh += 1;
                base + (state.fresh - 1) * class.words()
            } else {
                let address = state.free;
                state.free = self.words[address as usize + 1];
                address
            };
            state.live += 1;
            self.members[class as usize].live += 1;
            return Some(address);
        }
    }

    /// Assigns one more block to a class, if there is an empty one.
    pub(super) fn add_block(&mut self, class: Class) -> Option<()> {
        let block = match self.empty.pop() {
            Some(block) => block,
            None if self.blocks.len() < self.most_blocks => {
                self.words.resize(self.words.len() + (1 << self.shift), 0);
                self.blocks.push(EMPTY);
                self.blocks.len() as u32 - 1
            }
            None => return None,
        };
        self.blocks[block as usize].class = Some(class);
        self.members[class as usize].blocks += 1;
        self.members[class as usize].open.push(block);
        Some(())
    }

    /// Frees a node.
    pub(super) fn release(&mut self, class: Class, address: u32) {
        let (number, capacity) = (self.block_of(address), self.capacity(class));
        let block = &mut self.blocks[number as usize];
        self.words[address as usize] = 0;
        self.words[address as usize + 1] = block.free;
        block.free = address;
        block.live -= 1;
        let members = &mut self.members[class as usize];
        members.live -= 1;
        if block.live == 0 {
            *block = EMPTY;
            members.blocks -= 1;
            self.empty.push(number);
        } else if block.live == capacity - 1 {
            members.open.push(number);
        }
    }

    /// Blocks of any class.
    pub(super) fn blocks(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// The class of a block.
    pub(super) fn class(&self, block: u32) -> Option<Class> {
        self.blocks[block as usize].class
    }

    /// Blocks of a class.
    pub(super) fn blocks_of(&self, class: Class) -> u32 {
        self.members[class as usize].blocks
    }

    /// Whether a class has at least `nodes` free nodes in its own blocks.
    pub(super) fn has_free(&self, class: Class, nodes: u32) -> bool {
        let members = &self.members[class as usize];
        members.blocks * self.capacity(class) - members.live >= nodes
    }

    /// The node of a block with this number, if there is one and it is in use.
    pub(super) fn node(&self, block: u32, number: u32) -> Option<u32> {
        let class = self.class(block)?;
        let address = self.base(block) + number * class.words();
        (number < self.blocks[block as usize].fresh && self.words[address as usize] != 0).then_some(address)
    }

    /// End of the node numbers of a block that were ever used.
    pub(super) fn used(&self, block: u32) -> u32 {
        self.blocks[block as usize].fresh
    }

    /// Empties a block of a class whose other blocks have room for its nodes. Only for classes whose nodes have an owner and own no
    /// others.
    pub(super) fn compact(&mut self, class: Class) -> bool {
        let (capacity, members) = (self.capacity(class), &self.members[class as usize]);
        if members.blocks * capacity - members.live < capacity || members.blocks < 2 {
            return false;
        }
        let of_class = (0..self.blocks()).filter(|&block| self.class(block) == Some(class));
        let Some(sparse) = of_class.min_by_key(|&block| self.blocks[block as usize].live) else {
            return false;
        };
        let nodes: Vec<u32> = (0..self.used(sparse)).filter_map(|number| self.node(sparse, number)).collect();
        // Prevents allocation in this block.
        self.blocks[sparse as usize].class = None;
        for from in nodes {
            let to = self.allocate(class).expect("the other blocks have room");
            let words = class.words() as usize;
            self.words.copy_within(from as usize..from as usize + words, to as usize);
            let owner = (self.words[to as usize] & ADDRESS) as usize;
            self.words[owner] = to | (self.words[owner] & MARK);
            self.release(class, from);
        }
        true
    }
}
