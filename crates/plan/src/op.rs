//! What a request does.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    /// Transfers data from the target.
    Read,
    /// Transfers data to the target.
    Write,
}

impl Op {
    /// Every operation, in the order in which tables and legends show them.
    pub const ALL: [Op; 2] = [Op::Read, Op::Write];

    /// `R` or `W`, as in loads and traces.
    pub fn letter(self) -> char {
        match self {
            Op::Read => 'R',
            Op::Write => 'W',
        }
    }

    /// `read` or `write`.
    pub fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
        }
    }

    /// Whether this changes the target.
    pub fn is_write(self) -> bool {
        self == Op::Write
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
