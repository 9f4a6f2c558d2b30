//! Which requests of one trace are missing in another (blkreplay manual, C.1): by place, length and operation alone,
//! without times and order. Requests that the kernel split or merged are recognised.
//!
//! Memory: 16 bytes for each request of both traces.

use iosonar_plan::{Extent, Op};

/// A request as it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// First byte.
    pub offset: u64,
    /// Length in bytes, capped at 4 GiB - 1.
    length: u32,
    /// Number of the device: places of two devices are never the same.
    pub device: u16,
    op: u8,
}

impl Key {
    /// Key of a request; lengths above 4 GiB are capped.
    pub fn new(op: Op, extent: Extent) -> Key {
        let length = u32::try_from(extent.length).unwrap_or(u32::MAX);
        Key { offset: extent.offset, length, device: 0, op: op.index() as u8 }
    }

    /// The same request on this device.
    #[must_use]
    pub fn on(self, device: u16) -> Key {
        Key { device, ..self }
    }

    /// Read or write.
    pub fn op(self) -> Op {
        Op::of_index(self.op.into()).expect("keys hold operations that were met")
    }

    /// Bytes.
    pub fn length(self) -> u64 {
        self.length.into()
    }

    fn end(self) -> u64 {
        self.offset + self.length()
    }
}

/// Comparison of two traces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Differences {
    /// Requests in both.
    pub same: u64,
    /// Requests of the first that are split in the second; and the number of parts.
    pub split: (u64, u64),
    /// Requests of the first that are merged into fewer in the second; and the number of those.
    pub joined: (u64, u64),
    /// Requests that the second lacks, in the order of their places.
    pub missing: Vec<Key>,
    /// Requests that the first lacks.
    pub added: Vec<Key>,
}

impl Differences {
    /// Compares these requests, given in any order.
    pub fn between(mut first: Vec<Key>, mut second: Vec<Key>) -> Differences {
        let order = |k: &Key| (k.device, k.op, k.offset, k.length);
        first.sort_unstable_by_key(order);
        second.sort_unstable_by_key(order);
        let mut found = Differences::default();
        let (mut a, mut b) = (first.into_iter().peekable(), second.into_iter().peekable());
        let (mut missing, mut added) = (Vec::new(), Vec::new());
        loop {
            match (a.peek(), b.peek()) {
                (Some(x), Some(y)) if x == y => {
                    found.same += 1;
                    a.next();
                    b.next();
                }
                (Some(x), Some(y)) if order(x) < order(y) => missing.extend(a.next()),
                (Some(_), Some(_)) | (None, Some(_)) => added.extend(b.next()),
                (Some(_), None) => missing.extend(a.next()),
                (None, None) => break,
            }
        }
        let parts = found.recognise(&missing, &added);
        let (is_known, is_known_too) = parts;
        let rest = |keys: Vec<Key>, known: Vec<bool>| -> Vec<Key> {
            keys.into_iter().zip(known).filter(|(_, known)| !known).map(|(key, _)| key).collect()
        };
        found.missing = rest(missing, is_known);
        found.added = rest(added, is_known_too);
        found
    }

    /// Whether both have the same requests, apart from splits and merges.
    pub fn are_none(&self) -> bool {
        self.missing.is_empty() && self.added.is_empty()
    }

    /// Finds runs of neighbours that cover the same bytes on both sides; returns which requests of each side are matched.
    fn recognise(&mut self, missing: &[Key], added: &[Key]) -> (Vec<bool>, Vec<bool>) {
        let (mut known, mut known_too) = (vec![false; missing.len()], vec![false; added.len()]);
        self.split = cover(missing, &mut known, added, &mut known_too);
        let (into, of) = cover(added, &mut known_too, missing, &mut known);
        self.joined = (of, into);
        (known, known_too)
    }
}

/// Covers each unmatched one of `wholes` with adjacent `parts` that end where it does, and marks both as matched.
/// Returns the numbers of wholes and of parts.
fn cover(wholes: &[Key], known: &mut [bool], parts: &[Key], used: &mut [bool]) -> (u64, u64) {
    let (mut found, mut of) = (0, 0);
    for (whole, known) in wholes.iter().zip(known).filter(|(_, known)| !**known) {
        if let Some(chain) = chain(parts, used, whole) {
            (found, of) = (found + 1, of + chain.len() as u64);
            *known = true;
            chain.into_iter().for_each(|part| used[part] = true);
        }
    }
    (found, of)
}

/// Indexes of unused keys that lie one after the other and cover exactly `whole`.
fn chain(keys: &[Key], used: &[bool], whole: &Key) -> Option<Vec<usize>> {
    let (mut at, mut parts) = (whole.offset, Vec::new());
    while at < whole.end() {
        let wanted = (whole.device, whole.op, at);
        let from = keys.partition_point(|k| (k.device, k.op, k.offset) < wanted);
        let same_place = keys[from..].iter().take_while(|k| (k.device, k.op, k.offset) == wanted);
        let fitting = same_place.enumerate().map(|(i, k)| (from + i, k));
        // Of those that start here, the longest that still fits.
        let (index, part) =
            fitting.filter(|(i, k)| !used[*i] && k.end() <= whole.end() && k.length > 0).last()?;
        parts.push(index);
        at = part.end();
    }
    (parts.len() > 1).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(op: Op, offset: u64, length: u64) -> Key {
        Key::new(op, Extent { offset, length })
    }

    #[test]
    fn recognizes_splits_and_merges_and_lists_the_rest() {
        let (r, w) = (Op::Read, Op::Write);
        let first = vec![
            key(w, 0, 100),
            key(r, 200, 50),
            key(r, 250, 50),
            key(w, 500, 8),
            key(w, 500, 8),
            key(r, 900, 8),
        ];
        let second = vec![
            key(w, 60, 40),
            key(w, 0, 60),
            key(r, 200, 100),
            key(w, 500, 8),
            key(w, 700, 8),
            key(w, 900, 8),
        ];
        let found = Differences::between(first, second);
        assert_eq!((found.same, found.split, found.joined), (1, (1, 2), (2, 1)));
        assert_eq!(found.missing, [key(r, 900, 8), key(w, 500, 8)]);
        assert_eq!(found.added, [key(w, 700, 8), key(w, 900, 8)]);
        assert!(!found.are_none());
    }

    #[test]
    fn distinguishes_equal_offsets_on_two_devices() {
        let one = |device, offset, length| key(Op::Read, offset, length).on(device);
        let first = vec![one(0, 0, 8), one(1, 64, 16)];
        let second = vec![one(1, 0, 8), one(1, 64, 8), one(0, 72, 8)];
        let found = Differences::between(first.clone(), second);
        assert_eq!((found.same, found.split), (0, (0, 0)));
        assert_eq!((found.missing.len(), found.added.len()), (2, 3));
        let second = vec![one(1, 64, 8), one(1, 72, 8), one(0, 0, 8)];
        let found = Differences::between(first, second);
        assert!((found.same, found.split) == (1, (1, 2)) && found.are_none(), "{found:?}");
        assert_eq!(size_of::<Key>(), 16);
    }

    proptest! {
        #[test]
        fn differences_ignore_order_and_lose_nothing(
            a in prop::collection::vec((any::<bool>(), 0u64..20, 1u64..5), 0..40),
            b in prop::collection::vec((any::<bool>(), 0u64..20, 1u64..5), 0..40),
        ) {
            let keys = |v: &[(bool, u64, u64)]| -> Vec<Key> {
                v.iter().map(|(w, o, l)| key(if *w { Op::Write } else { Op::Read }, *o, *l)).collect()
            };
            let (a, b) = (keys(&a), keys(&b));
            let mut turned = a.clone();
            turned.reverse();
            let found = Differences::between(a.clone(), b.clone());
            prop_assert_eq!(&Differences::between(turned, b.clone()), &found);
            prop_assert!(Differences::between(a.clone(), a.clone()).are_none());
            let of_first = found.same + found.split.0 + found.joined.0 + found.missing.len() as u64;
            let of_second = found.same + found.split.1 + found.joined.1 + found.added.len() as u64;
            prop_assert_eq!((of_first, of_second), (a.len() as u64, b.len() as u64));
            // A request added to one side is reported.
            let mut more = a.clone();
            more.push(key(Op::Write, 1 << 30, 7));
            prop_assert_eq!(Differences::between(more, a).missing, [key(Op::Write, 1 << 30, 7)]);
        }
    }
}
