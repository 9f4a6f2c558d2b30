//! A hash of the issued requests, which does not depend on worker, time and order of issue.

use crate::draws::{fold, mix};
use iosonar_plan::{Durability, Extent, Op};

/// Hash over a set of requests: the sum of a hash of each (an incremental multiset hash after Bellare and Micciancio,
/// 1997, in 64 bits: against accidents, not against adversaries). Jobs keep one each and merge them at the end; a run
/// with other jobs, depth or engine issues the same requests and amounts to the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IssuedHash {
    sum: u64,
    count: u64,
}

impl IssuedHash {
    /// Adds a request. `stream` is that of its source, and separates targets and passes.
    #[inline]
    pub fn add(&mut self, stream: u64, sequence: u64, op: Op, durability: Durability, extent: Extent) {
        // Zero for plain reads and writes, so that their hashes are those of versions which knew nothing else.
        let beyond =
            if op.is_transfer() { 0 } else { u64::from(op.code()) } << 2 | u64::from(durability.bits());
        let beyond = if beyond == 0 { 0 } else { mix(beyond) };
        let op = u64::from(op == Op::Write);
        let what = fold(stream ^ 0x243f_6a88_85a3_08d3, sequence ^ 0x1319_8a2e_0370_7344);
        let place =
            fold(extent.offset ^ 0xa409_3822_299f_31d0, (extent.length << 1 | op) ^ 0x082e_fa98_ec4e_6c89);
        self.sum = self.sum.wrapping_add(mix(what ^ place.rotate_left(32) ^ beyond));
        self.count += 1;
    }

    /// Adds the requests of another job.
    pub fn merge(&mut self, other: IssuedHash) {
        self.sum = self.sum.wrapping_add(other.sum);
        self.count += other.count;
    }

    /// Number of counted requests.
    pub fn count(self) -> u64 {
        self.count
    }

    /// The hash.
    pub fn value(self) -> u64 {
        mix(self.sum ^ mix(self.count))
    }
}

impl std::fmt::Display for IssuedHash {
    /// Writes sixteen hexadecimal digits.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const BLOCK: Extent = Extent { offset: 4096, length: 4096 };

    fn of(requests: &[(u64, u64, Op, Extent)]) -> u64 {
        let mut hash = IssuedHash::default();
        let none = Durability::NONE;
        requests.iter().for_each(|(s, sequence, op, extent)| hash.add(*s, *sequence, *op, none, *extent));
        hash.value()
    }

    #[test]
    fn hash_covers_each_part_of_a_request() {
        let hashes = [
            of(&[]),
            of(&[(0, 1, Op::Read, BLOCK)]),
            of(&[(1, 1, Op::Read, BLOCK)]),
            of(&[(1, 0, Op::Read, BLOCK)]),
            of(&[(0, 2, Op::Read, BLOCK)]),
            of(&[(0, 1, Op::Write, BLOCK)]),
            of(&[(0, 1, Op::Read, Extent { length: 8192, ..BLOCK })]),
            of(&[(0, 1, Op::Read, Extent { offset: 8192, ..BLOCK })]),
            of(&[(0, 1, Op::Read, BLOCK), (0, 1, Op::Read, BLOCK)]),
        ];
        assert_eq!(hashes.iter().collect::<BTreeSet<_>>().len(), hashes.len());
    }

    #[test]
    fn hash_covers_operation_and_durability() {
        let all = [Durability::NONE, Durability::FUA, Durability::PREFLUSH];
        let of = |op, durability| {
            let mut hash = IssuedHash::default();
            hash.add(0, 1, op, durability, BLOCK);
            hash.value()
        };
        let mut hashes: BTreeSet<u64> = all.iter().map(|durability| of(Op::Write, *durability)).collect();
        hashes.extend([of(Op::Read, all[0]), of(Op::Flush, all[0]), of(Op::of_code(15).unwrap(), all[0])]);
        assert_eq!(hashes.len(), 6);
    }

    #[test]
    fn hashes_of_neighbours_do_not_cancel() {
        // Requests that swap their addresses are other requests, for every pair of small numbers.
        let at = |offset| Extent { offset, length: 512 };
        for a in 0..40 {
            for b in 0..a {
                let straight = of(&[(0, a, Op::Read, at(a * 512)), (0, b, Op::Read, at(b * 512))]);
                let swapped = of(&[(0, a, Op::Read, at(b * 512)), (0, b, Op::Read, at(a * 512))]);
                assert_ne!(straight, swapped);
            }
        }
    }

    #[test]
    fn hash_ignores_order_and_partition() {
        let requests: Vec<_> =
            (0..100).map(|i| (0, i, Op::Read, Extent { offset: i * 512, length: 512 })).collect();
        let (even, odd): (Vec<_>, Vec<_>) = requests.iter().partition(|r| r.1 % 2 == 0);
        let mut merged = IssuedHash::default();
        for part in [odd, even] {
            let mut hash = IssuedHash::default();
            let none = Durability::NONE;
            part.iter().for_each(|(s, sequence, op, extent)| hash.add(*s, *sequence, *op, none, *extent));
            merged.merge(hash);
        }
        assert_eq!((merged.value(), merged.count()), (of(&requests), 100));
    }
}
