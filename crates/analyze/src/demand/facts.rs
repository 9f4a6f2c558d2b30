//! The figures of a static analysis, as they stand in JSON.

use super::ByOp;
use serde::{Deserialize, Serialize};

/// Figures of a load's demand. Counts are exact unless [`SamplingFacts`] says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DemandFacts {
    /// Number of devices that requests were for.
    pub devices: u64,
    /// Requests and bytes.
    pub counts: ByOp<DemandCounts>,
    /// First and last time; `None` without requests.
    pub span: Option<DemandSpan>,
    /// Lengths of requests, in sectors; `None` for an operation without requests.
    pub sizes: ByOp<Option<SizeFacts>>,
    /// Where requests lie; `None` without requests.
    pub positions: Option<PositionFacts>,
    /// Working sets of each window, shortest first, the infinite one last.
    pub working_sets: Vec<WindowFacts>,
    /// How the infinite window grows.
    pub growth: Growth,
    /// Turns.
    pub turns: DemandTurns,
    /// Demanded rates.
    pub throughput: DemandThroughput,
    /// How often pages are used.
    pub frequency: ByOp<FrequencyFacts>,
    /// Repeated uses.
    pub repetitions: Repetitions,
    /// Miss ratio of an LRU cache.
    pub miss_ratio: MissRatioFacts,
    /// Effect of device wraparound for given sizes.
    pub wraparound: Vec<Wraparound>,
    /// Whether sets, frequencies and reuse distances are exact.
    pub sampling: SamplingFacts,
}

/// Requests and their volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DemandCounts {
    /// Number of requests.
    pub requests: u64,
    /// Their sectors of 512 bytes.
    pub sectors: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// First and last due time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DemandSpan {
    /// Least due time.
    pub first_ns: u64,
    /// Greatest due time.
    pub last_ns: u64,
}

/// Least, greatest, sum and mean of whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Extremes {
    /// How many numbers.
    pub count: u64,
    /// Their sum, saturated at 2^64 − 1.
    pub sum: u64,
    /// The least, 0 without numbers.
    pub min: u64,
    /// The greatest, 0 without numbers.
    pub max: u64,
    /// Sum divided by number, 0 without numbers.
    pub mean: f64,
}

impl Extremes {
    /// Computes the extremes of these numbers.
    pub fn of(numbers: impl IntoIterator<Item = u64>) -> Extremes {
        let (mut count, mut sum, mut min, mut max) = (0, 0u128, u64::MAX, 0);
        for n in numbers {
            (count, sum, min, max) = (count + 1, sum + u128::from(n), n.min(min), n.max(max));
        }
        let mean = if count == 0 { 0.0 } else { sum as f64 / count as f64 };
        let min = if count == 0 { 0 } else { min };
        Extremes { count, sum: u64::try_from(sum).unwrap_or(u64::MAX), min, max, mean }
    }
}

/// Least, greatest, sum and mean of fractions.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct FractionExtremes {
    /// How many numbers.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// The least, 0 without numbers.
    pub min: f64,
    /// The greatest, 0 without numbers.
    pub max: f64,
    /// Sum divided by number, 0 without numbers.
    pub mean: f64,
}

impl FractionExtremes {
    /// Computes the extremes of these numbers.
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> FractionExtremes {
        let mut numbers = numbers.into_iter();
        let Some(first) = numbers.next() else { return FractionExtremes::default() };
        let (mut count, mut sum, mut min, mut max) = (1u64, first, first, first);
        for n in numbers {
            (count, sum, min, max) = (count + 1, sum + n, n.min(min), n.max(max));
        }
        FractionExtremes { count, sum, min, max, mean: sum / count as f64 }
    }
}

/// Lengths of requests, in sectors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SizeFacts {
    /// Number of different lengths; lengths beyond the exact table count once for each power of two.
    pub distinct: u64,
    /// Shortest request.
    pub min_sectors: u64,
    /// Mean length.
    pub mean_sectors: f64,
    /// Longest request.
    pub max_sectors: u64,
    /// The most frequent length (the shortest of several); `None` if it is only known as a class.
    pub most_frequent_sectors: Option<u64>,
}

/// Where requests lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PositionFacts {
    /// Lowest first sector.
    pub lowest_sector: u64,
    /// First sector after the highest request.
    pub highest_end_sector: u64,
    /// Requests that do not start and end at multiples of 4 KiB.
    pub not_page_aligned: u64,
    /// Width of the cells in which requests are counted, GiB.
    pub cell_gib: u64,
    /// Cells with at least one request.
    pub cells_used: u64,
}

/// Sizes of the three working sets of one kind of window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SetSizes<T> {
    /// First sectors of requests.
    pub start: T,
    /// All sectors.
    pub touched: T,
    /// Pages of 4 KiB with a touched sector.
    pub pages: T,
}

/// Working sets of one window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowFacts {
    /// Length of the window in seconds; `None` for the infinite one.
    pub window_s: Option<u64>,
    /// Seconds between the ends of the sliding windows that were evaluated: 1 up to 2^18 s, then powers of two.
    pub step_s: u64,
    /// Sliding windows [t − d, t) for every step t; for the infinite window all from time zero to t.
    pub sliding: SetSizes<Extremes>,
    /// Consecutive windows [k·d, (k + 1)·d), the last one included; `None` for the infinite window and where the step
    /// is no divisor of the window.
    pub consecutive: Option<SetSizes<Extremes>>,
    /// Span (highest minus lowest first sector) of each consecutive window, in sectors.
    pub sum_dist: Option<Extremes>,
    /// Span divided by the size of the start set of each consecutive window, in sectors; 0 for an empty one.
    pub avg_dist: Option<FractionExtremes>,
    /// Span divided by the number of gaps in the start set, of consecutive windows that have one.
    pub mean_gap: Option<FractionExtremes>,
}

/// How the infinite window grows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Growth {
    /// Sizes after some round numbers of seconds, and at the end.
    pub after: Vec<GrowthPoint>,
    /// New pages per second during the last tenth of the whole seconds, in bytes/s.
    pub last_tenth_bytes_per_s: f64,
}

/// The infinite window after some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrowthPoint {
    /// Seconds from time zero.
    pub seconds: u64,
    /// Sizes of the sets.
    pub sets: SetSizes<u64>,
}

/// Turns (backward seeks): requests that start lower than their predecessor on the same device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DemandTurns {
    /// Turns of all requests, of reads among reads alone, and of writes among writes alone.
    pub total: ByOp<TurnCount>,
    /// Width of a window, nanoseconds.
    pub window_ns: u64,
    /// Turns in percent of the requests of each window that has requests.
    pub percent_per_window: FractionExtremes,
}

/// Turns of a number of requests.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct TurnCount {
    /// Number of requests.
    pub requests: u64,
    /// How many of them are turns.
    pub turns: u64,
    /// Turns in percent of requests; 0 without requests.
    pub percent: f64,
}

/// Demanded rates in consecutive windows from time zero, empty ones and the last one included.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DemandThroughput {
    /// Width of a window, nanoseconds.
    pub window_ns: u64,
    /// Requests per second.
    pub iops: ByOp<FractionExtremes>,
    /// Sectors per second.
    pub sectors_per_s: ByOp<FractionExtremes>,
}

/// How often pages of 4 KiB are used.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FrequencyFacts {
    /// Number of different pages.
    pub distinct_pages: u64,
    /// Number of uses: each request uses every page that it touches once.
    pub accesses: u64,
    /// The most used pages, at most 10; equal ones by device and page. Where pages are sampled: those of the sample.
    pub hottest: Vec<HotPage>,
    /// How many of the most used pages hold which share of the accesses: 1/64, 1/32 … 1/1.
    pub markers: Vec<MassMarker>,
    /// Exponent s of accesses ~ rank^−s, fitted to the log-spaced samples; `None` with fewer than 3 ranks.
    pub zipf_exponent: Option<f64>,
}

/// A page and how often it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HotPage {
    /// Device.
    pub device: u16,
    /// Number of the page: its first byte divided by 4096.
    pub page: u64,
    /// How often it is used.
    pub accesses: u64,
}

/// The most used pages that hold a share of all accesses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MassMarker {
    /// The share is 1 divided by this.
    pub one_of: u64,
    /// Fewest pages that reach the share.
    pub fewest: RankPoint,
    /// The point with at most one share for each rank, as pictures label it; `None` with more shares than ranks.
    pub label: Option<RankPoint>,
}

/// A place on the rank-frequency curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RankPoint {
    /// Rank of a page by descending number of accesses, from 1.
    pub rank: u64,
    /// Accesses of this and all lower ranks.
    pub accesses: u64,
    /// Rank in percent of all pages.
    pub pages_percent: f64,
    /// Total / (total − accesses + rank): how much faster a device gets if these pages cost one access each and
    /// nothing further.
    pub speedup: f64,
}

/// Repeated uses.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Repetitions {
    /// Uses of pages that had been used before: accesses minus distinct pages.
    pub page_accesses: u64,
    /// Those uses in percent of all uses.
    pub page_accesses_percent: f64,
    /// Pages that were used once only.
    pub pages_used_once: u64,
    /// Requests that equal their predecessor on the device in place, length and operation, less than 1 ms later.
    pub immediate: u64,
}

/// Miss ratio of an LRU cache of 4 KiB pages; each device has a separate cache of that size.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MissRatioFacts {
    /// At cache sizes that are powers of two.
    pub at: Vec<MissRatio>,
    /// First uses, which every cache misses, in parts of all accesses.
    pub first_use: ByOp<f64>,
    /// Where more memory starts to help less than on average; `None` if nothing is used again.
    pub knee: ByOp<Option<Knee>>,
}

/// Misses of a cache of one size, in parts of the page accesses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MissRatio {
    /// Size of the cache.
    pub cache_bytes: u64,
    /// Misses of all accesses, of those by reads, of those by writes. Reads and writes share the cache.
    pub miss: ByOp<f64>,
}

/// The bend of a miss-ratio curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// Size of the cache.
    pub cache_bytes: u64,
    /// Misses at that size, in parts of the accesses.
    pub miss: f64,
}

/// Effect of wraparound on a device of a given size: addresses are taken modulo its size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Wraparound {
    /// Size of the device.
    pub device_bytes: u64,
    /// Highest end divided by the size.
    pub factor: f64,
    /// Requests that do not lie on the device as they are.
    pub remapped: u64,
    /// Requests that cross the end of the device even after the modulo.
    pub crossing: u64,
}

/// Whether sets, frequencies and reuse distances are exact.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct SamplingFacts {
    /// Whether every page was counted, not a sample.
    pub exact: bool,
    /// Requests longer than 1 GiB, of which only the first GiB was counted.
    pub cut_requests: u64,
    /// One page of this many was sampled in the end (by the device with the smallest share); a power of two.
    pub one_of: u64,
    /// Pages in the sample at the end.
    pub sampled_pages: u64,
    /// Standard error of the sizes of the infinite window, in parts of the size.
    pub relative_error: SetSizes<f64>,
    /// Standard error of a miss ratio at most, before its correction; a difference of ratios.
    pub miss_ratio_error: f64,
}
