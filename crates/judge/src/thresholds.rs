//! All thresholds in one table. Its version is stored in each result, so that an old one can be judged again with today's.
//! The numbers come from experiments on real devices; `docs/validity.md` has them.

use iosonar_analyze::Level;
/// Share of the requests that waited for their turn; the summary's own.
pub(crate) use iosonar_analyze::waiting::WAITING_SHARE;

/// Raised when a number below changes.
pub const THRESHOLDS_VERSION: u32 = 6;

/// The values from which on there is a caution, and from which on the figure fails.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) caution: f64,
    pub(crate) fail: f64,
}

impl Limits {
    /// The level of a value.
    pub(crate) fn level(self, value: f64) -> Level {
        if value > self.fail {
            Level::Fail
        } else if value > self.caution {
            Level::Caution
        } else {
            Level::Ok
        }
    }
}

const fn limits(caution: f64, fail: f64) -> Limits {
    Limits { caution, fail }
}

/// Never a caution, or never a failure.
const NEVER: f64 = f64::INFINITY;

/// Fewer requests are no evidence of a depth.
pub(crate) const LEAST_IN_FLIGHT: u64 = 31;
/// Upper bound of a file system's writes for a flush, in bytes: a commit of its journal.
pub(crate) const PER_FLUSH: f64 = 65_536.0;
/// Below this, accounts of bytes are no evidence.
pub(crate) const LEAST_BYTES: u64 = 1 << 20;
/// Share of the bytes that did not cross the device.
pub(crate) const NOT_FROM_DEVICE: Limits = limits(0.02, 0.10);
/// Share of the written bytes that had not reached the device.
pub(crate) const NOT_ON_DEVICE: Limits = limits(0.02, 0.10);
/// Share of the read range that holds no data.
pub(crate) const UNMAPPED: Limits = limits(0.001, 0.05);
/// Read bytes beyond the requested ones, as a share of these.
pub(crate) const AMPLIFIED: Limits = limits(0.2, 1.0);
/// Share of small reads below the floor of all block devices.
pub(crate) const TOO_FAST: Limits = limits(0.02, 0.10);
/// Fewest small reads for that.
pub(crate) const LEAST_SMALL: u64 = 100;
/// Share of requests that failed.
pub(crate) const FAILED: Limits = limits(0.0, 0.001);
/// Share of requests that the overlap policy dropped (blkreplay manual 2.4).
pub(crate) const DROPPED: Limits = limits(0.01, 0.05);
/// Share of unexecuted requests from which on no figure describes this load.
pub(crate) const NOT_DONE: f64 = 0.05;
/// Share of the target rate that was not reached.
pub(crate) const BEHIND: Limits = limits(0.02, 0.10);
/// Share of requests that a closed loop did not send during stalls, of all.
pub(crate) const HIDDEN: Limits = limits(0.001, NEVER);
/// A latency of this many times the median is a stall of a closed loop, if it is also as long as [`STALL_NS`].
pub(crate) const STALL_TIMES: u64 = 100;
/// Shortest stall.
pub(crate) const STALL_NS: u64 = 100_000_000;
/// Share of the depth missing in the device.
pub(crate) const DEPTH_MISSING: Limits = limits(0.5, 0.75);
/// Lower depths are not judged.
pub(crate) const LEAST_DEPTH: u64 = 4;
/// Shortest busy time of the device for a mean of its queue, in milliseconds.
pub(crate) const LEAST_BUSY_MS: f64 = 500.0;
/// Variation of the level from part to part (standard deviation divided by the mean).
pub(crate) const NOISY: Limits = limits(0.10, NEVER);
/// Parts of the measured time whose levels are compared.
pub(crate) const PARTS: usize = 20;
/// Fewest requests for that: a part with 50 varies by 14 % by chance alone.
pub(crate) const LEAST_REQUESTS: u64 = 2_000;
/// A shorter measured time shows no steady state (blkreplay manual 3.1.2).
pub(crate) const LEAST_SECONDS: f64 = 30.0;
/// Sufficient share of it: the first request comes a moment after the start of a run, the last one a moment before its end.
pub(crate) const WHOLE: f64 = 0.99;
/// Share of foreign bytes on the device.
pub(crate) const FOREIGN: Limits = limits(0.02, 0.25);
/// The same for the disks below a target, where file systems write for themselves.
pub(crate) const FOREIGN_BELOW: Limits = limits(0.25, NEVER);
/// Fewer foreign bytes there are ignored: something always writes its log.
pub(crate) const LEAST_FOREIGN: f64 = 16.0 * 1024.0 * 1024.0;
/// Share of requests that the kernel merged into others (blkreplay manual 2.3: usually below 1 %).
pub(crate) const MERGED: Limits = limits(0.05, 0.20);
/// Requests of the device for each of ours, above 1.
pub(crate) const SPLIT: Limits = limits(0.2, NEVER);
/// Share of requests that were issued before an earlier one.
pub(crate) const REORDERED: Limits = limits(0.05, NEVER);
/// Requests up to this mean size are judged for merging and splitting; in a replay all are.
pub(crate) const SMALL_MEAN: u64 = 64 << 10;
/// Share of the CPU time that a hypervisor gave to others.
pub(crate) const STOLEN: Limits = limits(0.01, 0.05);
/// Share of the periods of a CPU limit in which it was used up.
pub(crate) const THROTTLED: Limits = limits(0.01, 0.05);
/// Share of the time in which the whole generator was halted.
pub(crate) const HALTED: Limits = limits(0.01, 0.05);
/// Shortest such time in nanoseconds: virtual CPUs are taken away for a moment everywhere.
pub(crate) const LEAST_HALT_NS: f64 = 300e6;
/// Time that issuing threads waited for a CPU, divided by the time that they had one.
pub(crate) const CPU_WAIT: Limits = limits(0.25, 1.0);
/// Minimum share of the run's time waiting for a CPU to be significant.
pub(crate) const LEAST_WAIT: f64 = 0.01;
/// Minimum mean time of a flush on a real medium, in microseconds.
pub(crate) const FASTEST_FLUSH_US: f64 = 100.0;
/// Fewest flushes for a mean time, which is counted in milliseconds.
pub(crate) const LEAST_FLUSHES: f64 = 100.0;
/// Fewest ticks of all CPUs, and fewest periods of a limit, for a share.
pub(crate) const LEAST_TICKS: f64 = 500.0;
/// See [`LEAST_TICKS`].
pub(crate) const LEAST_PERIODS: f64 = 20.0;
/// The same for readings one second apart; most limits have ten periods in it.
pub(crate) const LEAST_PERIODS_OF_A_SECOND: f64 = 5.0;
/// Share of its time that the thread of a closed loop used a CPU.
pub(crate) const GENERATOR_BUSY: Limits = limits(0.80, 0.95);
/// Shortest CPU time, or time, of issuing threads for a share.
pub(crate) const LEAST_CPU_NS: f64 = 50e6;
/// Foreign requests per second above which a device is not quiet before a run.
pub(crate) const QUIET_REQUESTS: f64 = 10.0;
/// Share of foreign busy time above which it is not quiet.
pub(crate) const QUIET_BUSY: f64 = 0.01;
/// Distance to a limit of this machine at which a result shows the limit.
pub(crate) const NEAR_LIMIT: f64 = 0.05;
/// Pages that wait to be written, in bytes; see [`crate::is_much_to_write`].
pub(crate) const DIRTY: Limits = limits(64.0 * 1024.0 * 1024.0, NEVER);
/// Cost of reading the clock, as a share of the median latency.
pub(crate) const CLOCK_COST: Limits = limits(0.05, NEVER);
/// The load's highest end divided by the size of the device, or the other way round (blkreplay manual 3.1.4).
pub(crate) const WRONG_SIZE: Limits = limits(2.0, NEVER);
/// Random share of written data in percent below which a compressing target gains.
pub(crate) const RANDOM_PERCENT: u8 = 50;
/// Share of the buffered read range that is in the page cache before the run.
pub(crate) const CACHED_AT_START: Limits = limits(0.01, 0.10);
/// The share at which hardly anything remains for a device.
pub(crate) const ALL_CACHED: f64 = 0.90;
/// A smaller effect on the headline figure is not reported.
pub(crate) const LEAST_EFFECT: f64 = 0.05;
/// Memory, times this, has to be smaller than the footprint, so that the page cache cannot hold it (IOzone's rule).
pub(crate) const FITS_IN_MEMORY: f64 = 2.0;
/// Share of the read bytes from the page cache above which the size of memory matters.
pub(crate) const FROM_MEMORY: f64 = 0.02;
/// Bytes that fit into the cache of any drive or array.
pub(crate) const SMALLEST_CACHE: f64 = 16.0 * 1024.0 * 1024.0;
/// Share of the bytes at revisited places, from which on a cache serves most requests.
pub(crate) const REVISITED: f64 = 0.5;
/// Share of a device that requests did not reach (blkreplay manual 3.1.5).
pub(crate) const SPAN_MISSING: Limits = limits(0.9, NEVER);
/// Footprints below this share of a device are small.
pub(crate) const TOUCHED_LITTLE: f64 = 0.01;
/// Share of the time in which some workers were idle.
pub(crate) const TAIL: Limits = limits(0.10, NEVER);
/// Bytes that verification read, as a share of those of the requests.
pub(crate) const ADDED_READS: Limits = limits(0.05, NEVER);
/// Share of the time for which threads that check data had a CPU.
pub(crate) const CHECKING_CPU: Limits = limits(0.5, NEVER);
/// Share of writes that are no whole physical blocks.
pub(crate) const MISALIGNED: Limits = limits(0.01, NEVER);
/// Median lateness of requests that did not have to wait, as a share of the time between two requests of a loop.
pub(crate) const LATE_OF_GAP: Limits = limits(0.10, NEVER);
/// The same, as a share of the median latency.
pub(crate) const LATE_OF_LATENCY: Limits = limits(0.20, NEVER);
/// Fewer requests that did not have to wait are no evidence about a timer.
pub(crate) const LEAST_UNHELD: u64 = 31;
/// Nor is a smaller share of all completed requests.
pub(crate) const LEAST_UNHELD_SHARE: f64 = 0.01;
/// Requests later than this, and than the median latency, are late whatever the timer costs.
pub(crate) const ISSUED_LATE_NS: u64 = 1_000_000;
/// Lower lateness is the cost of a system call and of reading the clock.
pub(crate) const LATE_FLOOR_NS: f64 = 5_000.0;
/// Share of the events of a recording that were lost.
pub(crate) const LOST_EVENTS: Limits = limits(0.0, 0.001);
/// Share of recorded requests without their end or their start.
pub(crate) const WITHOUT_END: Limits = limits(0.01, NEVER);
/// Share of recorded requests whose end may be that of another one.
pub(crate) const AMBIGUOUS: Limits = limits(0.01, NEVER);
/// Requests per second below which a recorded system was idle.
pub(crate) const IDLE_PER_SECOND: f64 = 1.0;
/// Shortest recording for that.
pub(crate) const LEAST_IDLE_SECONDS: f64 = 10.0;
/// Share of the written bytes that were allocated, or written for the first time, during the run.
pub(crate) const ALLOCATED: Limits = limits(0.01, NEVER);
/// Throughput of the first pass, divided by the median of the later ones, that counts as equal.
pub(crate) const FIRST_PASS: std::ops::RangeInclusive<f64> = 0.87..=1.15;
/// Fewest passes for comparing the first with the others.
pub(crate) const LEAST_PASSES: usize = 3;
/// The first pass has to differ from the later ones by this many times their own spread.
pub(crate) const BEYOND_LATER_PASSES: f64 = 2.0;
/// Share of the requests that cross from one run of bytes into another one.
pub(crate) const CROSSING: Limits = limits(0.05, NEVER);
/// Fewer of them do not change a figure.
pub(crate) const LEAST_CROSSING: u64 = 10;
/// A run of bytes shorter than this many sequential requests is short.
pub(crate) const SHORT_RUN: u64 = 4;
/// Share of a range without data from which on each write there is a first one.
pub(crate) const ALL_UNWRITTEN: f64 = 0.99;
/// Bytes of a record in the log, packed against the one before; measured with random 4 KiB reads.
pub(crate) const PACKED_RECORD: f64 = 16.0;
/// Bytes of the records, as a share of those of the requests, where both go to one device.
pub(crate) const ARCHIVE: Limits = limits(0.005, 0.05);
/// Share of direct requests on btrfs that are no whole sectors of it.
pub(crate) const CUT_SECTORS: Limits = limits(0.01, 0.10);
/// Factor by which the median of re-read blocks is shorter if a cache below has them.
pub(crate) const REREAD_P50: f64 = 1.5;
/// The same of the 90th percentile.
pub(crate) const REREAD_P90: f64 = 3.0;
/// Standard deviations by which the shares of slow reads have to differ for that: if reads have two levels, quantiles jump by chance.
pub(crate) const SURE_SIGMAS: f64 = 4.0;
/// Median of the run's reads, as a share of that of blocks read for the first time, below which such a cache has served the
/// run.
pub(crate) const CACHED_RUN: f64 = 0.5;
/// The same above which a layer below the cache has served it.
pub(crate) const UNCACHED_RUN: f64 = 0.8;
/// Touched bytes that the cache of an array or of a host may hold.
pub(crate) const LARGE_CACHE: f64 = 4.0 * 1024.0 * 1024.0 * 1024.0;
/// Median of blocks with data divided by that of blocks of zeros, above which zeros are not read.
pub(crate) const ZEROS_FASTER: f64 = 1.5;
/// Fewest blocks of each kind for that.
pub(crate) const LEAST_OF_KIND: u64 = 100;
/// Share of the blocks of a target that hold nothing but zeros.
pub(crate) const ZERO_BLOCKS: f64 = 0.01;
