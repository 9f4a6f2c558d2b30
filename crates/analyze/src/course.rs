//! Requests by time: those that were demanded, and those that were delivered.

use crate::{Diagrams, Scope};

/// Requests by time column, all operations together.
pub(crate) struct Course {
    /// Width of a column.
    pub(crate) width_ns: u64,
    /// Every request by its due time.
    pub(crate) demanded: Vec<u64>,
    /// Completed requests by their completion.
    pub(crate) delivered: Vec<u64>,
    /// Bytes that they transferred.
    pub(crate) delivered_bytes: Vec<u64>,
}

impl Course {
    pub(crate) fn of(diagrams: &Diagrams) -> Course {
        let (demanded, delivered) =
            (diagrams.demanded.scope(Scope::All), diagrams.delivered.scope(Scope::All));
        Course {
            width_ns: demanded.axis().width_ns(),
            demanded: demanded.requests,
            delivered: delivered.requests,
            delivered_bytes: delivered.bytes,
        }
    }
}
