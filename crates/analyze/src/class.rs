//! Kinds of requests: the disjoint classes that pictures count, and the scopes that tables show.

use iosonar_archive::Record;
use iosonar_plan::{Direction, Op};
use serde::{Deserialize, Serialize};

/// Number of classes.
pub const CLASSES: usize = 5;

/// Kind of a request. Every request that transfers data, and every flush, belongs to exactly one, so counts over all classes add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    /// A read that was not pushed back.
    Read = 0,
    /// A write that was not pushed back.
    Write = 1,
    /// A read that waited on the push-back list.
    ReadPushed = 2,
    /// A write that waited on the push-back list.
    WritePushed = 3,
    /// A flush. It has no bytes and no place.
    Flush = 4,
}

impl Class {
    /// Every class, in the order of their numbers.
    pub const ALL: [Class; CLASSES] =
        [Class::Read, Class::Write, Class::ReadPushed, Class::WritePushed, Class::Flush];
    /// Classes that transfer data.
    pub const TRANSFERS: [Class; 4] = [Class::Read, Class::Write, Class::ReadPushed, Class::WritePushed];

    /// The class of a record; `None` for other operations without data, which are counted separately.
    pub fn of(record: &Record) -> Option<Class> {
        if record.op.is_flush() {
            return Some(Class::Flush);
        }
        match (record.op.direction(), record.is_pushed()) {
            (Direction::Read, false) => Some(Class::Read),
            (Direction::Write, false) => Some(Class::Write),
            (Direction::Read, true) => Some(Class::ReadPushed),
            (Direction::Write, true) => Some(Class::WritePushed),
            (Direction::Other, _) => None,
        }
    }

    /// Whether its requests transfer data.
    pub fn is_transfer(self) -> bool {
        self != Class::Flush
    }

    /// Its operation: read, write or flush.
    pub fn op(self) -> Op {
        match self {
            Class::Read | Class::ReadPushed => Op::Read,
            Class::Write | Class::WritePushed => Op::Write,
            Class::Flush => Op::Flush,
        }
    }

    /// Its index in tables of all classes.
    pub fn index(self) -> usize {
        self as usize
    }

    /// The word in data blocks and tags.
    pub fn name(self) -> &'static str {
        match self {
            Class::Read => "read",
            Class::Write => "write",
            Class::ReadPushed => "read-pushed",
            Class::WritePushed => "write-pushed",
            Class::Flush => "flush",
        }
    }
}

/// A row of a statistics table. `Read` and `Write` contain their pushed-back requests, as in blkreplay, so
/// scopes overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Every request that transfers data.
    All,
    /// Every read.
    Read,
    /// Every write.
    Write,
    /// Reads that were pushed back.
    ReadPushed,
    /// Writes that were pushed back.
    WritePushed,
    /// Every flush.
    Flush,
}

impl Scope {
    /// Every scope, in the order of tables.
    pub const ALL: [Scope; 6] =
        [Scope::All, Scope::Read, Scope::Write, Scope::ReadPushed, Scope::WritePushed, Scope::Flush];
    /// Scopes of requests that transfer data.
    pub const TRANSFERS: [Scope; 5] =
        [Scope::All, Scope::Read, Scope::Write, Scope::ReadPushed, Scope::WritePushed];

    /// All, and one scope per operation, without separate pushed-back requests.
    pub const BY_OP: [Scope; 4] = [Scope::All, Scope::Read, Scope::Write, Scope::Flush];

    /// Whether requests of `class` count here.
    pub fn contains(self, class: Class) -> bool {
        match self {
            Scope::All => class.is_transfer(),
            Scope::Read => matches!(class, Class::Read | Class::ReadPushed),
            Scope::Write => matches!(class, Class::Write | Class::WritePushed),
            Scope::ReadPushed => class == Class::ReadPushed,
            Scope::WritePushed => class == Class::WritePushed,
            Scope::Flush => class == Class::Flush,
        }
    }

    /// The word in tables and tags.
    pub fn name(self) -> &'static str {
        match self {
            Scope::All => "all",
            Scope::Read => "read",
            Scope::Write => "write",
            Scope::ReadPushed => "read-pushed",
            Scope::WritePushed => "write-pushed",
            Scope::Flush => "flush",
        }
    }
}

/// One value for each scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de> + Default"))]
pub struct ByScope<T> {
    /// Every request that transfers data.
    pub all: T,
    /// Every read.
    pub read: T,
    /// Every write.
    pub write: T,
    /// Reads that were pushed back.
    pub read_pushed: T,
    /// Writes that were pushed back.
    pub write_pushed: T,
    /// Flushes.
    pub flush: T,
}

impl<T> ByScope<T> {
    /// Computes the value of each scope.
    pub fn from_fn(mut f: impl FnMut(Scope) -> T) -> ByScope<T> {
        ByScope {
            all: f(Scope::All),
            read: f(Scope::Read),
            write: f(Scope::Write),
            read_pushed: f(Scope::ReadPushed),
            write_pushed: f(Scope::WritePushed),
            flush: f(Scope::Flush),
        }
    }

    /// The value of a scope, mutable.
    pub fn get_mut(&mut self, scope: Scope) -> &mut T {
        match scope {
            Scope::All => &mut self.all,
            Scope::Read => &mut self.read,
            Scope::Write => &mut self.write,
            Scope::ReadPushed => &mut self.read_pushed,
            Scope::WritePushed => &mut self.write_pushed,
            Scope::Flush => &mut self.flush,
        }
    }

    /// The value of a scope.
    pub fn get(&self, scope: Scope) -> &T {
        match scope {
            Scope::All => &self.all,
            Scope::Read => &self.read,
            Scope::Write => &self.write,
            Scope::ReadPushed => &self.read_pushed,
            Scope::WritePushed => &self.write_pushed,
            Scope::Flush => &self.flush,
        }
    }
}
