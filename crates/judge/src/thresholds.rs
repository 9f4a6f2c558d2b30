//! All thresholds in one table. Its version is kept in each result, so that an old one can be judged again with today's. The
//! numbers come from experiments on real devices; `docs/validity.md` has them.

/// Raised when a number below changes.
pub const THRESHOLDS_VERSION: u32 = 1;

/// From which value on there is a caution, and from which on the figure fails.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) caution: f64,
    pub(crate) fail: f64,
}

const fn limits(caution: f64, fail: f64) -> Limits {
    Limits { caution, fail }
}

/// Never a caution, or never a failure.
const NEVER: f64 = f64::INFINITY;

/// Less than that was moved: accounts of bytes say nothing.
pub(crate) const LEAST_BYTES: u64 = 1 << 20;
/// Share of the bytes that did not cross the device.
pub(crate) const NOT_FROM_DEVICE: Limits = limits(0.02, 0.10);
/// Share of the written bytes that had not reached the device.
pub(crate) const NOT_ON_DEVICE: Limits = limits(0.02, 0.10);
/// Share of what is read that holds no data.
pub(crate) const UNMAPPED: Limits = limits(0.001, 0.05);
/// Read bytes beyond those asked for, as a share of these.
pub(crate) const AMPLIFIED: Limits = limits(0.2, 1.0);
/// Share of small reads below the floor of all block devices.
pub(crate) const TOO_FAST: Limits = limits(0.02, 0.10);
/// Fewest small reads for that.
pub(crate) const LEAST_SMALL: u64 = 100;
/// Share of requests that failed.
pub(crate) const FAILED: Limits = limits(0.0, 0.001);
/// Share of requests that the overlap policy dropped (blkreplay manual 2.4).
pub(crate) const DROPPED: Limits = limits(0.01, 0.05);
/// Share of requests not done with which no figure is one of this load.
pub(crate) const NOT_DONE: f64 = 0.05;
/// Share of the requested rate that was not reached.
pub(crate) const BEHIND: Limits = limits(0.02, 0.10);
/// Share of requests that a closed loop did not send during stalls, of all.
pub(crate) const HIDDEN: Limits = limits(0.001, NEVER);
/// A latency so many times the median is a stall of a closed loop, if it is also as long as [`STALL_NS`].
pub(crate) const STALL_TIMES: u64 = 100;
/// Shortest stall.
pub(crate) const STALL_NS: u64 = 100_000_000;
/// Share of the depth that the device did not see.
pub(crate) const DEPTH_MISSING: Limits = limits(0.5, 0.75);
/// Depths below that are not judged.
pub(crate) const LEAST_DEPTH: u64 = 4;
/// Shortest busy time of the device for a mean of its queue, in milliseconds.
pub(crate) const LEAST_BUSY_MS: f64 = 500.0;
/// Variation of the level from part to part (standard deviation divided by the mean).
pub(crate) const NOISY: Limits = limits(0.10, NEVER);
/// Parts of the measured time whose levels are compared.
pub(crate) const PARTS: usize = 20;
/// Fewest requests for that: a part with 50 varies by 14 % by chance alone.
pub(crate) const LEAST_REQUESTS: u64 = 2_000;
/// A shorter measured time says nothing of the steady state (blkreplay manual 3.1.2).
pub(crate) const LEAST_SECONDS: f64 = 30.0;
/// Share of the bytes on the device that were not ours.
pub(crate) const FOREIGN: Limits = limits(0.02, 0.25);
/// Share of requests that the kernel merged into others (blkreplay manual 2.3: usually below 1 %).
pub(crate) const MERGED: Limits = limits(0.05, 0.20);
/// Requests of the device for each of ours, above 1.
pub(crate) const SPLIT: Limits = limits(0.2, NEVER);
/// Mean size in bytes up to which merging and splitting change what is measured.
pub(crate) const SMALL_MEAN: u64 = 64 << 10;
/// Share of the CPU time that a hypervisor gave to others.
pub(crate) const STOLEN: Limits = limits(0.01, 0.05);
/// Share of the periods of a CPU limit in which it was used up.
pub(crate) const THROTTLED: Limits = limits(0.01, 0.05);
/// Time that issuing threads waited for a CPU, divided by the time that they had one.
pub(crate) const CPU_WAIT: Limits = limits(0.25, 1.0);
/// Fewest ticks of all CPUs, and fewest periods of a limit, of which a share says anything.
pub(crate) const LEAST_TICKS: f64 = 500.0;
/// See [`LEAST_TICKS`].
pub(crate) const LEAST_PERIODS: f64 = 20.0;
/// Share of its time that the thread of a closed loop used a CPU.
pub(crate) const GENERATOR_BUSY: Limits = limits(0.80, 0.95);
/// Shortest CPU time, or time, of issuing threads of which a share says anything.
pub(crate) const LEAST_CPU_NS: f64 = 50e6;
/// How near to a limit of this machine a result is that shows the limit.
pub(crate) const NEAR_LIMIT: f64 = 0.05;
/// Pages that wait to be written, in bytes.
pub(crate) const DIRTY: Limits = limits(64.0 * 1024.0 * 1024.0, NEVER);
/// Cost of reading the clock, as a share of the median latency.
pub(crate) const CLOCK_COST: Limits = limits(0.05, NEVER);
/// The load's highest end divided by the size of the device, or the other way round (blkreplay manual 3.1.4).
pub(crate) const WRONG_SIZE: Limits = limits(2.0, NEVER);
/// Random share of written data in percent below which a target that compresses gains.
pub(crate) const RANDOM_PERCENT: u8 = 50;
/// An effect below that on the headline figure is not told.
pub(crate) const LEAST_EFFECT: f64 = 0.05;
