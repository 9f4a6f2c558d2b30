//! Pairs of file size and record size.

use iosonar_plan::ByteSize;

/// Files above this size are not tested with records below 64 KiB by default (IOzone's crossover).
pub const CROSSOVER: ByteSize = ByteSize(16 << 20);
/// Smallest record after the crossover.
const LEAST_AFTER: ByteSize = ByteSize(64 << 10);

/// A file size and a record size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// Length of the file.
    pub file: ByteSize,
    /// Bytes of a record.
    pub record: ByteSize,
}

impl Pair {
    /// Whole records in the file.
    pub fn records(self) -> u64 {
        self.file.0 / self.record.0.max(1)
    }

    /// Bytes read and written: whole records.
    pub fn bytes(self) -> ByteSize {
        ByteSize(self.records() * self.record.0)
    }
}

/// Sizes that grow by a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Series {
    /// Smallest size.
    pub least: ByteSize,
    /// Upper limit.
    pub most: ByteSize,
    /// Factor between neighbours, at least 2.
    pub factor: u64,
}

impl Series {
    /// Returns the sizes, ascending.
    pub fn sizes(self) -> impl Iterator<Item = ByteSize> {
        let next = move |size: &ByteSize| size.0.checked_mul(self.factor.max(2)).map(ByteSize);
        std::iter::successors(Some(self.least), next)
            .take_while(move |size| size.0 > 0 && size.0 <= self.most.0)
    }
}

/// All pairs with records no larger than the file; with `crossover`, small records only for small files.
pub fn pairs(files: &[ByteSize], records: &[ByteSize], crossover: bool) -> Vec<Pair> {
    let of = |file: ByteSize| {
        let fits = move |record: &&ByteSize| {
            record.0 <= file.0 && !(crossover && file.0 > CROSSOVER.0 && record.0 < LEAST_AFTER.0)
        };
        records.iter().filter(fits).map(move |record| Pair { file, record: *record })
    };
    files.iter().copied().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(least: u64, most: u64) -> Vec<ByteSize> {
        Series { least: ByteSize(least), most: ByteSize(most), factor: 2 }.sizes().collect()
    }

    /// The table of the specification: 126 pairs, 146 without the crossover.
    #[test]
    fn the_default_matrix_has_126_pairs() {
        let (files, records) = (series(64 << 10, 512 << 20), series(4 << 10, 16 << 20));
        assert_eq!((files.len(), records.len()), (14, 13));
        let crossed = pairs(&files, &records, true);
        assert_eq!((crossed.len(), pairs(&files, &records, false).len()), (126, 146));
        assert!(crossed.iter().all(|pair| pair.record.0 <= pair.file.0));
        let least = |file: u64| crossed.iter().filter(|p| p.file.0 == file).map(|p| p.record.0).min();
        assert_eq!((least(16 << 20), least(32 << 20)), (Some(4 << 10), Some(64 << 10)));
    }

    #[test]
    fn size_series_never_exceeds_its_maximum() {
        assert_eq!(series(1 << 20, 10 << 20).iter().map(|s| s.0 >> 20).collect::<Vec<_>>(), [1, 2, 4, 8]);
        assert_eq!(
            series(100 << 10, 500 << 10).iter().map(|s| s.0 >> 10).collect::<Vec<_>>(),
            [100, 200, 400]
        );
        assert!(series(2, 1).is_empty());
    }
}
