//! The address space of a target, cut where active requests start and end.
//!
//! A treap in an arena: ordered by start, balanced by a cheap pseudo-random priority, without allocation once
//! the arena is warm. Two active requests never cut each other's segments apart without this map knowing, so
//! every active request covers whole segments.

use crate::pool::{Lists, NONE};
use iosonar_plan::Extent;

/// A range of bytes and its users.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The last active request with exclusive use, or [`NONE`].
    pub(crate) exclusive: u32,
    /// Active requests since then that share it: a list.
    pub(crate) shared: u32,
}

impl Segment {
    fn empty(start: u64, end: u64) -> Segment {
        Segment { start, end, exclusive: NONE, shared: NONE }
    }

    pub(crate) fn is_unused(&self) -> bool {
        self.exclusive == NONE && self.shared == NONE
    }
}

#[derive(Debug, Clone, Copy)]
struct Node {
    segment: Segment,
    left: u32,
    right: u32,
    priority: u32,
}

/// An ordered map of disjoint segments.
#[derive(Debug)]
pub(crate) struct Segments {
    nodes: Vec<Node>,
    free: Vec<u32>,
    root: u32,
    random: u32,
    /// Segments taken out by [`Segments::cut`], in order, until [`Segments::put_back`].
    stack: Vec<u32>,
}

impl Segments {
    pub(crate) fn with_capacity(segments: usize) -> Segments {
        Segments {
            nodes: Vec::with_capacity(segments),
            free: Vec::with_capacity(segments),
            root: NONE,
            random: 0x9e37_79b9,
            stack: Vec::with_capacity(64),
        }
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.len() == self.free.len()
    }

    /// Calls `f` with each segment that overlaps `extent`, in order, until it returns a value.
    pub(crate) fn find<T>(&self, extent: Extent, f: &mut impl FnMut(&Segment) -> Option<T>) -> Option<T> {
        self.find_below(self.root, extent, f)
    }

    fn find_below<T>(&self, at: u32, extent: Extent, f: &mut impl FnMut(&Segment) -> Option<T>) -> Option<T> {
        let node = self.nodes.get(at as usize)?;
        let segment = &node.segment;
        if extent.offset < segment.start
            && let found @ Some(_) = self.find_below(node.left, extent, f)
        {
            return found;
        }
        if extent.offset < segment.end
            && segment.start < extent.end()
            && let found @ Some(_) = f(segment)
        {
            return found;
        }
        if extent.end() > segment.end { self.find_below(node.right, extent, f) } else { None }
    }

    /// Calls `f` with every segment of `extent`, after making the segments cover it exactly: those that stick
    /// out are cut, gaps become unused segments. Segments that `f` leaves unused are removed. `lists` holds
    /// the lists of sharers.
    pub(crate) fn update(
        &mut self,
        extent: Extent,
        lists: &mut Lists,
        f: &mut impl FnMut(&mut Lists, &mut Segment),
    ) {
        self.cut_at(extent.offset, lists);
        self.cut_at(extent.end(), lists);
        let (before, rest) = self.split(self.root, extent.offset);
        let (inside, behind) = self.split(rest, extent.end());
        self.collect(inside);
        let mut tree = before;
        let mut at = extent.offset;
        let covered = std::mem::take(&mut self.stack);
        for &index in &covered {
            let segment = self.nodes[index as usize].segment;
            if at < segment.start {
                tree = self.append(tree, Segment::empty(at, segment.start), lists, f);
            }
            at = segment.end;
            self.free.push(index);
            tree = self.append(tree, segment, lists, f);
        }
        if at < extent.end() {
            tree = self.append(tree, Segment::empty(at, extent.end()), lists, f);
        }
        self.stack = covered;
        self.stack.clear();
        self.root = self.merge(tree, behind);
    }

    fn append(
        &mut self,
        tree: u32,
        mut segment: Segment,
        lists: &mut Lists,
        f: &mut impl FnMut(&mut Lists, &mut Segment),
    ) -> u32 {
        f(lists, &mut segment);
        if segment.is_unused() {
            return tree;
        }
        let node = self.new_node(segment);
        self.merge(tree, node)
    }

    /// Cuts the segment around `at`, if there is one, into two. Each has a list of all the sharers.
    fn cut_at(&mut self, at: u64, lists: &mut Lists) {
        let around = |s: &Segment| s.start < at && at < s.end;
        let mut node = self.root;
        while let Some(n) = self.nodes.get(node as usize) {
            if around(&n.segment) {
                break;
            }
            node = if at <= n.segment.start { n.left } else { n.right };
        }
        if node == NONE {
            return;
        }
        let lower = &mut self.nodes[node as usize].segment;
        let mut upper = *lower;
        lower.end = at;
        upper.start = at;
        upper.shared = lists.duplicate(upper.shared);
        let (before, behind) = self.split(self.root, at);
        let middle = self.new_node(upper);
        let before = self.merge(before, middle);
        self.root = self.merge(before, behind);
    }

    fn new_node(&mut self, segment: Segment) -> u32 {
        // xorshift32: the balance needs no better randomness.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        let node = Node { segment, left: NONE, right: NONE, priority: self.random };
        match self.free.pop() {
            Some(index) => {
                self.nodes[index as usize] = node;
                index
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        }
    }

    /// Splits a tree into segments that start before `at`, and the others.
    fn split(&mut self, tree: u32, at: u64) -> (u32, u32) {
        let Some(node) = self.nodes.get(tree as usize).copied() else { return (NONE, NONE) };
        if node.segment.start < at {
            let (lower, upper) = self.split(node.right, at);
            self.nodes[tree as usize].right = lower;
            (tree, upper)
        } else {
            let (lower, upper) = self.split(node.left, at);
            self.nodes[tree as usize].left = upper;
            (lower, tree)
        }
    }

    /// Joins two trees; all of `lower` lies before all of `upper`.
    fn merge(&mut self, lower: u32, upper: u32) -> u32 {
        if lower == NONE || upper == NONE {
            return if lower == NONE { upper } else { lower };
        }
        if self.nodes[lower as usize].priority > self.nodes[upper as usize].priority {
            self.nodes[lower as usize].right = self.merge(self.nodes[lower as usize].right, upper);
            lower
        } else {
            self.nodes[upper as usize].left = self.merge(lower, self.nodes[upper as usize].left);
            upper
        }
    }

    /// Puts the indices of a tree on the stack, in order.
    fn collect(&mut self, tree: u32) {
        let Some(node) = self.nodes.get(tree as usize).copied() else { return };
        self.collect(node.left);
        self.stack.push(tree);
        self.collect(node.right);
    }
}
