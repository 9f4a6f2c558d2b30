//! Numbers as bytes: the encoding of all blocks of a page. The form is described in `docs/page.md`.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::Write;

/// Bytes, packed.
pub(super) struct Checked {
    /// A raw deflate stream.
    pub(super) deflated: Vec<u8>,
    /// CRC-32 of the unpacked bytes.
    pub(super) crc32: u32,
}

/// Packs bytes. Level 6 would make pages 3 % smaller, and take twice as long.
pub(super) fn deflate(bytes: &[u8]) -> Checked {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(2));
    encoder.write_all(bytes).expect("writing to memory does not fail");
    let deflated = encoder.finish().expect("writing to memory does not fail");
    Checked { deflated, crc32: crc32fast::hash(bytes) }
}

/// Seven bits a byte, lowest first; the highest bit says that more follow (LEB128).
pub(super) fn varint(bytes: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        bytes.push(n as u8 | 0x80);
        n >>= 7;
    }
    bytes.push(n as u8);
}

/// Takes a number from the start of `bytes`; `None` if it is cut off.
pub(super) fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut n = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        n |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(n);
        }
    }
    None
}

/// Counts: a run of zeros is a zero and its length less one.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) bytes: Vec<u8>,
    zeros: u64,
    pub(super) sum: u64,
}

impl Counts {
    pub(super) fn push(&mut self, n: u64) {
        if n == 0 {
            self.zeros += 1;
            return;
        }
        self.flush();
        varint(&mut self.bytes, n);
        self.sum += n;
    }

    pub(super) fn push_zeros(&mut self, count: u64) {
        self.zeros += count;
    }

    /// Ends a run of zeros here.
    pub(super) fn flush(&mut self) {
        if self.zeros > 0 {
            let run = std::mem::take(&mut self.zeros);
            varint(&mut self.bytes, 0);
            varint(&mut self.bytes, run - 1);
        }
    }
}
