//! The tests of a matrix. A new one is an entry in [`TESTS`].

use crate::Matrix;
use iosonar_plan::{ByteSize, Engine, Order, StdioOptions, Vectors};

/// A test: one kind of access to a file, from its start to its end.
#[derive(Debug, PartialEq)]
pub struct Test {
    /// Word in plans, JSON and CSV.
    pub name: &'static str,
    /// Number of IOzone's option `-i` that contains it.
    pub number: u8,
    /// Direction.
    pub transfer: Transfer,
    /// Order of its requests.
    pub order: OrderKind,
    /// System calls.
    pub calls: Calls,
    /// State of the file before it.
    pub made: Made,
    /// Whether it repeats the previous test in the list.
    pub repeats: bool,
}

/// Direction of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// Only reads.
    Read,
    /// Only writes.
    Write,
    /// Some streams read and others write.
    Mix,
}

/// Order of a test's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderKind {
    /// From the start of the file to its end.
    Sequential,
    /// From its end to its start.
    Backward,
    /// Every Nth record, in N rounds.
    Strided,
    /// Each record once, in random order.
    Random,
    /// The first record, repeatedly.
    First,
}

/// System calls of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// The matrix's method.
    Chosen,
    /// `fread` and `fwrite`.
    Stdio,
    /// `pread` and `pwrite`.
    Positional,
    /// `preadv` and `pwritev` of up to 16 records.
    Vectored,
}

/// State of the file before a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// Deleted and created.
    Anew,
    /// Left by earlier tests.
    Before,
}

use Calls::{Chosen, Positional, Stdio, Vectored};
use Made::{Anew, Before};
use OrderKind::{Backward, First, Random, Sequential, Strided};
use Transfer::{Mix, Read, Write};

macro_rules! tests {
    ($($name:literal $number:literal $transfer:ident $order:ident $calls:ident $made:ident $repeats:literal;)*) => {
        &[$(Test {
            name: $name,
            number: $number,
            transfer: $transfer,
            order: $order,
            calls: $calls,
            made: $made,
            repeats: $repeats,
        }),*]
    };
}

/// Every test, in the order of IOzone's numbers.
pub static TESTS: &[Test] = tests! {
    "write"          0 Write Sequential Chosen     Anew   false;
    "rewrite"        0 Write Sequential Chosen     Before true;
    "read"           1 Read  Sequential Chosen     Before false;
    "reread"         1 Read  Sequential Chosen     Before true;
    "random_read"    2 Read  Random     Chosen     Before false;
    "random_write"   2 Write Random     Chosen     Before false;
    "backward_read"  3 Read  Backward   Chosen     Before false;
    "record_rewrite" 4 Write First      Chosen     Before false;
    "stride_read"    5 Read  Strided    Chosen     Before false;
    "fwrite"         6 Write Sequential Stdio      Anew   false;
    "refwrite"       6 Write Sequential Stdio      Before true;
    "fread"          7 Read  Sequential Stdio      Before false;
    "refread"        7 Read  Sequential Stdio      Before true;
    "mixed"          8 Mix   Random     Chosen     Before false;
    "pwrite"         9 Write Sequential Positional Anew   false;
    "repwrite"       9 Write Sequential Positional Before true;
    "pread"         10 Read  Sequential Positional Before false;
    "repread"       10 Read  Sequential Positional Before true;
    "pwritev"       11 Write Sequential Vectored   Anew   false;
    "repwritev"     11 Write Sequential Vectored   Before true;
    "preadv"        12 Read  Sequential Vectored   Before false;
    "repreadv"      12 Read  Sequential Vectored   Before true;
};

/// Names of all tests, for messages and help.
pub fn test_names() -> String {
    TESTS.iter().map(|test| test.name).collect::<Vec<_>>().join(", ")
}

impl Test {
    /// Looks up a test by name.
    pub fn named(name: &str) -> Option<&'static Test> {
        TESTS.iter().find(|test| test.name == name)
    }

    /// Whether it reads, in any stream.
    pub fn reads(&self) -> bool {
        self.transfer != Write
    }

    /// Whether it writes, in any stream.
    pub fn writes(&self) -> bool {
        self.transfer != Read
    }

    /// Whether it only reads, from start to end, one record at a time.
    pub(crate) fn is_plain_reader(&self) -> bool {
        self.transfer == Read && self.order == Sequential && self.calls != Vectored
    }

    /// Its order in a matrix.
    pub(crate) fn order(&self, matrix: &Matrix) -> Order {
        match self.order {
            Sequential => Order::Sequential,
            Backward => Order::Backward,
            Strided => Order::Strided { every: matrix.stride },
            Random => matrix.random.clone(),
            First => Order::Fixed,
        }
    }

    /// Bytes of its requests, on files of `records` records.
    pub(crate) fn request(&self, record: ByteSize, records: u64) -> ByteSize {
        ByteSize(record.0 * if self.calls == Vectored { vectors(records) } else { 1 })
    }

    /// Engine of its requests, if the matrix has chosen `chosen`.
    pub(crate) fn engine(&self, chosen: Engine, record: ByteSize, records: u64) -> Engine {
        match self.calls {
            Chosen => chosen,
            Stdio => Engine::Stdio(StdioOptions { buffer: record }),
            Positional => Engine::Threads,
            Vectored => Engine::Pvsync(Vectors { count: vectors(records) as u32 }),
        }
    }
}

/// Records of a vectored request: the largest number up to the engine's maximum that divides the file.
fn vectors(records: u64) -> u64 {
    (1..=u64::from(Vectors::MOST)).rev().find(|count| records.is_multiple_of(*count)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_names_are_unique_and_rewrites_follow_writes() {
        for (place, test) in TESTS.iter().enumerate() {
            assert_eq!(Test::named(test.name), Some(test));
            let before = TESTS[..place].last();
            assert!(!test.repeats || before.is_some_and(|before| before.number == test.number), "{test:?}");
            assert!(test.made == Before || test.transfer == Write, "{test:?}");
        }
        assert!(Test::named("mix").is_none());
    }

    #[test]
    fn vector_count_divides_record_count() {
        for (records, count) in [(16, 16), (32, 16), (4, 4), (25, 5), (17, 1), (1, 1), (24, 12)] {
            assert_eq!(vectors(records), count, "{records}");
        }
    }
}
