//! Codecs between bytes and timed requests.
//!
//! A codec reads from and writes to streams it is given; it knows no paths and no clock. There are blkreplay's load and
//! replay files ([`blkreplay`]), plain or gzip ([`decompress`]), and XDD's seek lists ([`read_seek_list`]).

pub mod blkreplay;
mod cursor;
mod differences;
mod digits;
mod fast_path;
pub mod fio;
pub mod fio_latency;
mod format;
mod input;
pub mod kernel;
mod request;
mod salvage;
mod seek_list;
mod stream;
pub mod tables;
mod telemetry;
mod text;

pub use differences::{Differences, Key};
pub use format::Format;
pub use input::{InputError, decompress, is_damage};
pub use request::{
    Bad, Entry, Flags, Kind, Names, Next, Pairing, Process, Requests, TraceError, TracePosition, Traced,
};
pub use salvage::Salvage;
pub use seek_list::{
    MOST_BUCKETS, SeekEntry, SeekList, SeekListError, SeekListWriter, distance_histogram, read_seek_list,
    seek_histogram, write_seek_list,
};

pub use stream::{FromFirst, InOrder, Joined, Load};
pub use telemetry::{TelemetryEntry, TelemetryError, read_telemetry, write_telemetry};
pub use text::explain;

use iosonar_plan::{Durability, Extent, Nanos, Op};

/// A request of a trace, with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedRequest {
    /// Line of the trace, from 1.
    pub line: u64,
    /// The trace's own time.
    pub time: Nanos,
    /// Read, write or flush.
    pub op: Op,
    /// Durability of a write.
    pub durability: Durability,
    /// Place; a flush has no place and no length.
    pub extent: Extent,
    /// In a result: whether it was deferred.
    pub pushed: bool,
    /// In a result: submitted − due.
    pub delay: Nanos,
    /// In a result: completed − submitted.
    pub latency: Nanos,
}

impl TimedRequest {
    /// Packs operation and durability into one byte.
    pub fn packed_op(&self) -> u8 {
        self.op.code() << 2 | self.durability.bits()
    }

    /// Unpacks such a byte.
    pub fn unpacked_op(byte: u8) -> (Op, Durability) {
        (Op::of_code(byte >> 2).unwrap_or(Op::Read), Durability::of_bits(byte))
    }
}
