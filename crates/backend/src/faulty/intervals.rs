//! A set of ranges of bytes, merged.

use iosonar_plan::Extent;
use std::collections::BTreeMap;

/// Ends by starts; no two touch.
#[derive(Debug, Default)]
pub(super) struct Intervals(BTreeMap<u64, u64>);

impl Intervals {
    pub(super) fn insert(&mut self, extent: Extent) {
        let (mut start, mut end) = (extent.offset, extent.end());
        if start == end {
            return;
        }
        while let Some((&first, &last)) = self.0.range(..=end).next_back().filter(|(_, last)| **last >= start)
        {
            self.0.remove(&first);
            (start, end) = (start.min(first), end.max(last));
        }
        self.0.insert(start, end);
    }

    pub(super) fn remove(&mut self, extent: Extent) {
        let (start, end) = (extent.offset, extent.end());
        if start == end {
            return;
        }
        while let Some((&first, &last)) = self.0.range(..end).next_back().filter(|(_, last)| **last > start) {
            self.0.remove(&first);
            if first < start {
                self.0.insert(first, start);
            }
            if last > end {
                self.0.insert(end, last);
            }
        }
    }

    /// Whether it has any byte of a range.
    pub(super) fn meets(&self, extent: Extent) -> bool {
        self.0.range(..extent.end()).next_back().is_some_and(|(_, last)| *last > extent.offset)
    }

    /// The end of the last range.
    pub(super) fn end(&self) -> u64 {
        self.0.last_key_value().map_or(0, |(_, end)| *end)
    }

    /// The range that contains `at` or is the next after it, or the first of all.
    pub(super) fn near(&self, at: u64) -> Option<Extent> {
        let around = self.0.range(..=at).next_back().filter(|(_, end)| **end > at);
        let found = around.or_else(|| self.0.range(at..).next()).or_else(|| self.0.first_key_value());
        found.map(|(start, end)| Extent { offset: *start, length: end - start })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const END: u64 = 40;

    fn extent() -> impl Strategy<Value = Extent> {
        (0..END)
            .prop_flat_map(|offset| (Just(offset), 0..=END - offset))
            .prop_map(|(offset, length)| Extent { offset, length })
    }

    proptest! {
        #[test]
        fn behaves_as_a_set_of_bytes(steps in prop::collection::vec((any::<bool>(), extent()), 1..20), probe in extent()) {
            let (mut set, mut model) = (Intervals::default(), [false; END as usize]);
            for (adds, extent) in steps {
                if adds { set.insert(extent) } else { set.remove(extent) }
                model[extent.offset as usize..extent.end() as usize].fill(adds);
            }
            let bytes = (0..END).map(|at| set.meets(Extent { offset: at, length: 1 }));
            prop_assert_eq!(bytes.collect::<Vec<_>>(), model);
            let has = model[probe.offset as usize..probe.end() as usize].contains(&true);
            prop_assert_eq!(probe.length > 0 && set.meets(probe), has);
            let near = set.near(probe.offset);
            prop_assert_eq!(near.is_some(), model.contains(&true));
            if let Some(near) = near {
                let whole = &model[near.offset as usize..near.end() as usize];
                prop_assert!(!whole.contains(&false) && (near.offset == 0 || !model[near.offset as usize - 1]));
            }
        }
    }
}
