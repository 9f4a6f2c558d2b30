//! Failed requests by the kernel's reason.

use iosonar_archive::{Outcome, Record};
use iosonar_plan::Op;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Failed requests of one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// The errno; 0 for requests that stayed short without an error.
    pub errno: u32,
    /// Its name, for example `EIO`.
    pub name: String,
    /// Number of requests.
    pub count: u64,
    /// Due time of the first of them.
    pub first_due_ns: u64,
    /// Index of its target.
    pub first_target: u16,
    /// Its number.
    pub first_sequence: u64,
    /// Its operation.
    pub first_op: Op,
    /// Its offset on the target, in bytes.
    pub first_offset_bytes: u64,
}

impl ErrorCount {
    /// Sort key that finds the earliest one in any reading order.
    fn earliest(&self) -> (u64, u16, u64) {
        (self.first_due_ns, self.first_target, self.first_sequence)
    }
}

/// Failed requests by errno. There are at most 4096 errnos, so this is bounded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Errors(BTreeMap<u32, ErrorCount>);

impl Errors {
    pub(crate) fn add(&mut self, record: &Record) {
        if record.outcome != Outcome::Failed {
            return;
        }
        let errno = if record.result < 0 { u32::try_from(-record.result).unwrap_or(0) } else { 0 };
        self.count(ErrorCount {
            errno,
            name: errno_name(errno),
            count: 1,
            first_due_ns: record.due.0,
            first_target: record.target,
            first_sequence: record.sequence,
            first_op: record.op,
            first_offset_bytes: record.executed.offset,
        });
    }

    fn count(&mut self, more: ErrorCount) {
        let Some(mine) = self.0.get_mut(&more.errno) else {
            self.0.insert(more.errno, more);
            return;
        };
        let count = mine.count + more.count;
        if more.earliest() < mine.earliest() {
            *mine = more;
        }
        mine.count = count;
    }

    pub(crate) fn merge(&mut self, other: &Errors) {
        // Counts may come from another machine: names are made here.
        let named = |e: &ErrorCount| ErrorCount { name: errno_name(e.errno), ..e.clone() };
        other.0.values().map(named).for_each(|e| self.count(e));
    }

    /// Most frequent first.
    pub(crate) fn list(&self) -> Vec<ErrorCount> {
        let mut list: Vec<_> = self.0.values().cloned().collect();
        list.sort_by_key(|e| (std::cmp::Reverse(e.count), e.errno));
        list
    }
}

/// Linux errno values that a block layer or file system returns for reads and writes.
fn errno_name(errno: u32) -> String {
    let known = match errno {
        0 => "short transfer",
        1 => "EPERM",
        4 => "EINTR",
        5 => "EIO",
        6 => "ENXIO",
        9 => "EBADF",
        11 => "EAGAIN",
        12 => "ENOMEM",
        13 => "EACCES",
        14 => "EFAULT",
        16 => "EBUSY",
        19 => "ENODEV",
        22 => "EINVAL",
        27 => "EFBIG",
        28 => "ENOSPC",
        30 => "EROFS",
        52 => "EBADE",
        61 => "ENODATA",
        67 => "ENOLINK",
        84 => "EILSEQ",
        95 => "EOPNOTSUPP",
        110 => "ETIMEDOUT",
        116 => "ESTALE",
        121 => "EREMOTEIO",
        122 => "EDQUOT",
        125 => "ECANCELED",
        _ => return format!("errno {errno}"),
    };
    known.to_string()
}
