//! Reads random blocks of a target twice: blocks that are faster the second time were in a cache that no counter of
//! this machine shows. Blocks of zeros that are faster than others were not read at all. Nothing is written.

use crate::target::TargetFacts;
use iosonar_evidence::{Compared, RereadTimes};
use iosonar_os::{Buffer, monotonic_ns, open_to_read_directly};
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Minimum block size; larger logical blocks are used as they are.
const BLOCK: u64 = 4096;
/// Minimum range.
const SMALLEST: u64 = 16 << 20;
/// Number of blocks read if all hold data.
const BLOCKS: usize = 300;
/// Minimum number of blocks for a result.
const LEAST: usize = 100;
/// Maximum number of blocks, read if some are zeros and too few for a comparison with the others.
const MOST: usize = 1000;
/// At most one block in this many is read, because reading warms a cache for the run.
const ONE_IN: u64 = 8;
/// This many blocks are read once, and then again. Short disturbances by other programs slow both readings of these blocks.
const ROUND: usize = 50;
/// Maximum duration.
const TIME: Duration = Duration::from_secs(4);

/// A block that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BlockRead {
    ns: u64,
    is_zero: bool,
}

/// Reads random blocks in a range of a target twice with `O_DIRECT`, one at a time. The places come from the operating
/// system's entropy, so that no former run has read them deliberately. It takes at most four seconds and one read.
/// `is_stopped` ends it early.
///
/// # Errors
/// Why there is no result.
pub fn reread(
    target: &TargetFacts,
    range: Range<u64>,
    is_stopped: &dyn Fn() -> bool,
) -> Result<RereadTimes, String> {
    let block = BLOCK.next_multiple_of(target.logical_block_size.bytes.max(1));
    let places = random_places(range.start..range.end.min(target.size), block)?;
    let file = open_to_read_directly(&target.path)
        .map_err(|error| format!("it cannot be opened with O_DIRECT: {error}"))?;
    let mut buffer = Buffer::zeroed(block as usize);
    let mut read = |place: u64| -> Result<BlockRead, String> {
        let begun = monotonic_ns();
        let length = read_block(&file, &mut buffer, place);
        let ns = monotonic_ns() - begun;
        match length {
            Ok(length) if length as u64 == block => {
                Ok(BlockRead { ns, is_zero: buffer.iter().all(|byte| *byte == 0) })
            }
            Ok(length) => Err(format!("a read at {place} gave {length} of {block} bytes")),
            Err(error) => Err(format!("a read at {place} failed: {error}")),
        }
    };
    let begun = Instant::now();
    let (first, again) = read_twice(&places, &mut read, &|| is_stopped() || begun.elapsed() > TIME)?;
    if is_stopped() {
        return Err("a signal ended it".into());
    }
    times(block, &first, &again)
}

fn read_block(file: &std::fs::File, buffer: &mut Buffer, place: u64) -> io::Result<usize> {
    loop {
        match file.read_at(buffer, place) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Reads the blocks in rounds, each of them twice, until there are enough or `is_over`.
fn read_twice(
    places: &[u64],
    read: &mut dyn FnMut(u64) -> Result<BlockRead, String>,
    is_over: &dyn Fn() -> bool,
) -> Result<(Vec<BlockRead>, Vec<BlockRead>), String> {
    let (mut first, mut again) = (Vec::with_capacity(places.len()), Vec::with_capacity(places.len()));
    for round in places.chunks(ROUND) {
        for reads in [&mut first, &mut again] {
            for place in round {
                if !is_over() {
                    reads.push(read(*place)?);
                }
            }
        }
        if is_over() || is_enough(&first) {
            break;
        }
    }
    Ok((first, again))
}

/// Whether the first reading suffices: zeros and data are each either absent or numerous enough to compare.
fn is_enough(reads: &[BlockRead]) -> bool {
    let zeros = reads.iter().filter(|read| read.is_zero).count();
    let fewer = zeros.min(reads.len() - zeros);
    reads.len() >= BLOCKS && (fewer == 0 || fewer >= LEAST)
}

/// Distinct blocks of a range, in random order.
fn random_places(range: Range<u64>, block: u64) -> Result<Vec<u64>, String> {
    let (start, end) = (range.start.div_ceil(block), range.end / block);
    let count = end.saturating_sub(start);
    let wanted = (count / ONE_IN).min(MOST as u64) as usize;
    if count * block < SMALLEST || wanted < LEAST {
        let bytes = range.end.saturating_sub(range.start);
        return Err(format!("its range of {bytes} bytes is smaller than {SMALLEST}"));
    }
    // Its keys come from the operating system, and differ in each process.
    let entropy = RandomState::new();
    let mut seen = HashSet::with_capacity(wanted);
    let drawn = (0u64..).map(|number| start + entropy.hash_one(number) % count);
    Ok(drawn.filter(|place| seen.insert(*place)).take(wanted).map(|place| place * block).collect())
}

/// Computes the result of blocks that were read twice.
fn times(block_bytes: u64, first: &[BlockRead], again: &[BlockRead]) -> Result<RereadTimes, String> {
    let blocks = first.len().min(again.len());
    if blocks < LEAST {
        return Err(format!("only {blocks} blocks could be read twice in {} s", TIME.as_secs()));
    }
    let first = &first[..blocks];
    let sorted = |reads: &mut dyn Iterator<Item = &BlockRead>| {
        let mut times: Vec<u64> = reads.map(|read| read.ns).collect();
        times.sort_unstable();
        times
    };
    let of_kind = |is_zero: bool| sorted(&mut first.iter().filter(|read| read.is_zero == is_zero));
    let (zeros, data) = (of_kind(true), of_kind(false));
    let has_both = !zeros.is_empty() && !data.is_empty();
    let (first, again) = (sorted(&mut first.iter()), sorted(&mut again[..blocks].iter()));
    Ok(RereadTimes {
        block_bytes,
        blocks: blocks as u64,
        p50: compared(&first, &again, 0.5),
        p90: compared(&first, &again, 0.9),
        zero_blocks: zeros.len() as u64,
        data_and_zeros: has_both.then(|| compared(&data, &zeros, 0.5)),
    })
}

/// Compares a quantile of two sorted sets of times, of which the first is expected to be slower.
fn compared(first: &[u64], second: &[u64], share: f64) -> Compared {
    let (first_ns, second_ns) = (quantile(first, share), quantile(second, share));
    let border = (first_ns as f64 * second_ns as f64).sqrt();
    let above = |times: &[u64]| times.iter().filter(|ns| **ns as f64 > border).count() as u64;
    Compared { first_ns, second_ns, first_above: above(first), second_above: above(second) }
}

/// Quantile: the smallest time that this share of the reads did not exceed.
fn quantile(sorted: &[u64], share: f64) -> u64 {
    sorted[((sorted.len() as f64 * share).ceil() as usize).max(1) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Root, identify};
    use std::io::Write;

    const MIB: u64 = 1 << 20;

    fn reads(zeros: usize, zero_ns: u64, data: usize, data_ns: u64) -> Vec<BlockRead> {
        let of = |count: usize, ns: u64, is_zero: bool| vec![BlockRead { ns, is_zero }; count];
        [of(zeros, zero_ns, true), of(data, data_ns, false)].concat()
    }

    #[test]
    fn probed_blocks_are_distinct_in_range_and_random() {
        let range = 3 * MIB + 1..40 * MIB + 5;
        let places = random_places(range.clone(), 4096).unwrap();
        assert_eq!(places.len(), MOST);
        assert_eq!(places.iter().collect::<HashSet<_>>().len(), MOST);
        let is_within =
            |place: &u64| place.is_multiple_of(4096) && *place > 3 * MIB && place + 4096 <= 40 * MIB;
        assert!(places.iter().all(is_within), "{places:?}");
        assert_ne!(places, random_places(range, 4096).unwrap());
        assert_eq!(random_places(0..16 * MIB, 4096).unwrap().len(), 512);
        assert!(random_places(0..16 * MIB - 1, 4096).is_err() && random_places(5..5, 4096).is_err());
        assert!(random_places(0..16 * MIB, 1 << 20).is_err());
    }

    #[test]
    fn reads_more_blocks_until_zeros_are_comparable() {
        assert!(!is_enough(&reads(0, 1, 299, 1)) && is_enough(&reads(0, 1, 300, 1)));
        assert!(!is_enough(&reads(1, 1, 600, 1)) && is_enough(&reads(100, 1, 600, 1)));
        assert!(is_enough(&reads(300, 1, 0, 1)));
    }

    #[test]
    fn reads_blocks_in_rounds_until_enough_or_timeout() {
        let places: Vec<u64> = (0..1000).collect();
        let order = std::cell::RefCell::new(Vec::new());
        let mut read = |place: u64| {
            order.borrow_mut().push(place);
            Ok(BlockRead { ns: 1, is_zero: false })
        };
        let (first, again) = read_twice(&places, &mut read, &|| false).unwrap();
        assert_eq!((first.len(), again.len()), (BLOCKS, BLOCKS));
        let expected: Vec<u64> = (0..50).chain(0..50).chain(50..51).collect();
        assert_eq!(order.borrow()[..101], expected);
        let over = || order.borrow().len() >= 600 + 130;
        let (first, again) = read_twice(&places, &mut read, &over).unwrap();
        assert_eq!((first.len(), again.len()), (80, 50), "the second round was not read again");
        let failed = read_twice(&places, &mut |_| Err("no".into()), &|| false);
        assert_eq!(failed, Err("no".into()));
    }

    #[test]
    fn figures_cover_only_blocks_read_twice() {
        let first = reads(150, 43_000, 150, 99_000);
        let again: Vec<BlockRead> = reads(0, 0, 270, 50_000);
        let seen = times(4096, &first, &again).unwrap();
        assert_eq!((seen.blocks, seen.zero_blocks, seen.data_blocks()), (270, 150, 120));
        let kinds = Compared { first_ns: 99_000, second_ns: 43_000, first_above: 120, second_above: 0 };
        assert_eq!(seen.data_and_zeros, Some(kinds));
        let p50 = Compared { first_ns: 43_000, second_ns: 50_000, first_above: 120, second_above: 270 };
        let p90 = Compared { first_ns: 99_000, second_ns: 50_000, first_above: 120, second_above: 0 };
        assert_eq!((seen.p50, seen.p90), (p50, p90));
        let few = times(4096, &first, &again[..99]).unwrap_err();
        assert_eq!(few, "only 99 blocks could be read twice in 4 s");
        let all_data = times(4096, &reads(0, 0, 100, 5), &reads(0, 0, 100, 5)).unwrap();
        assert_eq!(all_data.data_and_zeros, None);
    }

    #[test]
    fn rereads_file_without_change_or_states_reason() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let content: Vec<u8> = (0..32 * MIB).map(|at| (at >> 20 & 1) as u8).collect();
        file.write_all(&content).unwrap();
        file.as_file().sync_all().unwrap();
        let facts = identify(file.path(), &Root::default()).unwrap();
        match reread(&facts, 0..u64::MAX, &|| false) {
            // Every other mebibyte is zeros.
            Ok(seen) => assert!(seen.zero_blocks >= 100 && seen.data_blocks() >= 100, "{seen:?}"),
            Err(why) => assert!(why.contains("O_DIRECT") || why.contains("only"), "{why}"),
        }
        assert!(std::fs::read(file.path()).unwrap() == content);
        assert!(reread(&facts, 0..MIB, &|| false).unwrap_err().contains("smaller than"));
        assert!(reread(&facts, 0..32 * MIB, &|| true).is_err());
    }
}
