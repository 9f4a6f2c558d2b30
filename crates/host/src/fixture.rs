//! A tree of `/proc` and `/sys` for tests, with its root.

use crate::Root;
use iosonar_testkit::KernelTree;
use std::ops::Deref;

/// Removed when dropped.
pub(crate) struct Tree(KernelTree);

impl Tree {
    /// An empty tree with no mounts, no swap and no block devices.
    pub fn new() -> Self {
        Self(KernelTree::new())
    }

    pub fn root(&self) -> Root {
        Root::new(self.0.prefix())
    }
}

impl Deref for Tree {
    type Target = KernelTree;

    fn deref(&self) -> &KernelTree {
        &self.0
    }
}
