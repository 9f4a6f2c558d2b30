//! Limits of the memory for the data of requests.

use crate::ByteSize;
use serde::{Deserialize, Serialize};

/// Memory for the data of requests. It is allocated before the start and never grows; a request that finds no free memory waits,
/// and that is counted as delay and cautioned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Memory {
    /// The most for all targets together, each has an equal share. Less is taken where less is of use: a target
    /// needs no more than its depth of its longest request.
    pub buffers: ByteSize,
    /// Take it as huge pages (`MAP_HUGETLB`), which have to be reserved (`vm.nr_hugepages`).
    pub hugepages: bool,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory { buffers: ByteSize(1 << 30), hugepages: false }
    }
}
