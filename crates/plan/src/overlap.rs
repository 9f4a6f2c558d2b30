//! Treatment of requests that would overlap another in place while both are in flight.
//!
//! blkreplay manual 2.4 calls such a pair *damaged I/O*: no kernel with a page cache produces it, and some
//! devices misbehave under it.

use crate::Op;
use serde::{Deserialize, Serialize};

/// Which pairs of operations conflict when they overlap in place and time (blkreplay manual 2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum Strong {
    /// 0: only write against write. Reads may pass writes.
    WriteWrite,
    /// 1: everything but read against read, as in textbooks.
    #[default]
    AnyWrite,
    /// 2: every pair, read against read too, as a page cache would have it.
    Every,
}

impl Strong {
    /// Whether `a` and `b` conflict when they overlap in place and time. Symmetric. Discards and write zeroes conflict as
    /// writes do; an operation without a place conflicts with nothing.
    pub fn conflict(self, a: Op, b: Op) -> bool {
        let is_strong = match self {
            Strong::WriteWrite => a.changes_data() && b.changes_data(),
            Strong::AnyWrite => a.changes_data() || b.changes_data(),
            Strong::Every => true,
        };
        is_strong && a.has_place() && b.has_place()
    }
}

impl TryFrom<u8> for Strong {
    type Error = String;
    fn try_from(n: u8) -> Result<Self, Self::Error> {
        match n {
            0 => Ok(Strong::WriteWrite),
            1 => Ok(Strong::AnyWrite),
            2 => Ok(Strong::Every),
            _ => Err(format!("{n} is no conflict table: use 0, 1 or 2")),
        }
    }
}

impl From<Strong> for u8 {
    fn from(s: Strong) -> u8 {
        s as u8
    }
}

/// Treatment of a request that conflicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OverlapPolicy {
    /// It is issued anyway (blkreplay `--with-conflicts`).
    Allow,
    /// It is skipped, and recorded as dropped (`--with-drop`).
    Drop,
    /// It waits until the conflict is gone; requests without a conflict pass it, conflicting ones never do
    /// (`--with-partial`).
    #[default]
    PushBack,
    /// It waits, and everything after it waits too (`--with-ordering`).
    Order,
}

/// Policy and conflict table together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Overlap {
    /// Treatment of a conflicting request.
    pub policy: OverlapPolicy,
    /// The pairs that conflict.
    pub strong: Strong,
    /// Most requests on the push-back list, 1 to 16 777 216. When it is full, a request that conflicts makes
    /// all after it wait; that is counted and cautioned.
    pub max_waiting: u32,
}

impl Default for Overlap {
    fn default() -> Overlap {
        Overlap { policy: OverlapPolicy::default(), strong: Strong::default(), max_waiting: 65_536 }
    }
}
