//! Memory that is read to fill the CPU cache with data that no request uses.

use std::hint::black_box;

/// Words of a cache line, of the shortest that machines have.
const LINE: usize = 64 / 8;

/// Memory of the size of a CPU cache.
#[derive(Debug)]
pub(crate) struct CpuCache(Vec<u64>);

impl CpuCache {
    /// `None` for 0 bytes. Each page is written: untouched ones would be one page of zeros, in the cache after its first line.
    pub(crate) fn new(bytes: u64) -> Option<CpuCache> {
        let words = usize::try_from(bytes / 8).ok().filter(|words| *words > 0)?;
        Some(CpuCache(vec![1; words]))
    }

    /// Reads a word of each line; returns how many.
    pub(crate) fn purge(&self) -> u64 {
        black_box(&self.0).iter().step_by(LINE).map(|word| black_box(*word)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::CpuCache;

    #[test]
    fn purge_reads_every_cache_line() {
        assert_eq!(CpuCache::new(1 << 20).unwrap().purge(), 16_384);
        assert_eq!(CpuCache::new(100).unwrap().purge(), 2);
        assert!(CpuCache::new(0).is_none());
    }
}
