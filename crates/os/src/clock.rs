//! The one clock of a run: `CLOCK_MONOTONIC` in whole nanoseconds from the run's time zero, read from the processor's
//! time stamp counter where that can be trusted.
//!
//! Asking the kernel's vDSO costs 20 to 100 ns here, the counter a fraction of that, and a run asks for the time more
//! than once per request. The counter is used where the processor says that it neither stops nor changes its speed
//! (`constant_tsc`, `nonstop_tsc`) and the kernel itself takes it as its clock source. Its rate is measured against
//! `CLOCK_MONOTONIC` and corrected once a second ([`Clock::correct`]): the difference that is found is made up for by
//! running a little faster or slower, so that time stays continuous and never goes back.

use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

const SECOND: u64 = 1_000_000_000;
/// The first rate is measured over at least this time: pairs of readings are exact to some 30 ns.
const FIRST_CALIBRATION: u64 = 20_000_000;
/// A rate is corrected by at most one in this many.
const LARGEST_SLEW: u64 = 2_000;
/// A difference above this is a jump: the machine slept, or was moved. Time follows it at once, but only forward.
const JUMP: i64 = 1_000_000;
/// Readings of both clocks, of which the closest pair is taken.
const TRIES: usize = 16;

/// `CLOCK_MONOTONIC` in nanoseconds: comparable with the kernel's trace clock `mono`.
pub fn monotonic_ns() -> u64 {
    nanos(ClockId::Monotonic)
}

/// Wall clock in nanoseconds since 1970, for display only.
pub fn realtime_ns() -> u64 {
    nanos(ClockId::Realtime)
}

/// Both clocks of this machine at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemClock {
    /// [`monotonic_ns`].
    pub monotonic: u64,
    /// [`realtime_ns`].
    pub realtime: u64,
    /// Largest error of the wall clock, in nanoseconds; `None` if nothing keeps it equal to other clocks.
    pub error_ns: Option<u64>,
}

/// Reads both clocks, and what the kernel knows of the wall clock (adjtimex(2): `maxerror`, which a daemon for NTP or PTP sets and which grows by
/// 500 ppm).
///
/// # Errors
/// The system call is forbidden.
pub fn system_clock() -> io::Result<SystemClock> {
    let (before, realtime, after) = (monotonic_ns(), realtime_ns(), monotonic_ns());
    // SAFETY: a structure of numbers, for which zeros are valid: no mode is set, so nothing is changed.
    let mut kept: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is writable and lives during the call.
    let state = unsafe { libc::adjtimex(&raw mut kept) };
    if state < 0 {
        return Err(io::Error::last_os_error());
    }
    let is_kept = state != libc::TIME_ERROR && kept.status & libc::STA_UNSYNC == 0;
    let gap = after.saturating_sub(before);
    let most = u64::try_from(kept.maxerror).ok().filter(|_| is_kept);
    Ok(SystemClock {
        monotonic: before + gap / 2,
        realtime,
        error_ns: most.map(|micros| micros.saturating_mul(1_000).saturating_add(gap.div_ceil(2))),
    })
}

fn nanos(id: ClockId) -> u64 {
    let t = clock_gettime(id);
    t.tv_sec as u64 * SECOND + t.tv_nsec as u64
}

/// Measures the time since an origin; before it, 0. Clones share the origin and its corrections.
#[derive(Debug, Clone)]
pub struct Clock {
    origin: Arc<AtomicU64>,
    counter: Option<Arc<Counter>>,
}

impl Clock {
    /// Time zero at `origin` on `CLOCK_MONOTONIC`. Reads the time stamp counter where it can be trusted; the first
    /// clock of a process then takes 20 ms to measure its rate.
    pub fn from_origin(origin: u64) -> Clock {
        Clock { counter: Counter::new().map(Arc::new), ..Clock::system(origin) }
    }

    /// A clock that always reads the kernel's `clock_gettime`.
    pub fn system(origin: u64) -> Clock {
        Clock { origin: Arc::new(AtomicU64::new(origin)), counter: None }
    }

    /// Moves time zero. For use between the preparations and the start of a run, when the duration of the preparations is known.
    pub fn set_origin(&self, origin: u64) {
        self.origin.store(origin, Ordering::Relaxed);
    }

    /// Time zero on `CLOCK_MONOTONIC`, in nanoseconds.
    pub fn origin(&self) -> u64 {
        self.origin.load(Ordering::Relaxed)
    }

    /// Nanoseconds since time zero.
    #[inline]
    pub fn now(&self) -> u64 {
        let monotonic = match &self.counter {
            Some(counter) => counter.line().at(read_counter()),
            None => monotonic_ns(),
        };
        monotonic.saturating_sub(self.origin.load(Ordering::Relaxed))
    }

    /// Source of the readings: `tsc` or `clock_gettime`.
    pub fn source(&self) -> &'static str {
        if self.counter.is_some() { "tsc" } else { "clock_gettime" }
    }

    /// Compares with `CLOCK_MONOTONIC` and corrects the rate; returns the difference that was found, in nanoseconds.
    /// To be called about once a second, by one thread.
    pub fn correct(&self) -> u64 {
        self.counter.as_ref().map_or(0, |counter| counter.correct())
    }

    /// Cost of one reading, in picoseconds: the minimum of a few series.
    pub fn cost_ps(&self) -> u64 {
        const READINGS: u64 = 1_000;
        let series = |_| {
            let begin = monotonic_ns();
            for _ in 0..READINGS {
                std::hint::black_box(self.now());
            }
            (monotonic_ns() - begin) * 1_000 / READINGS
        };
        (0..5).map(series).min().unwrap_or_default()
    }
}

/// A straight line from counts to nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line {
    count: u64,
    ns: u64,
    /// Nanoseconds per count, times 2^32.
    rate: u64,
}

impl Line {
    /// Nanoseconds at a count. A thread may hold a count from just before the line's beginning: then that.
    #[inline]
    fn at(self, count: u64) -> u64 {
        let since = count.saturating_sub(self.count);
        self.ns + ((u128::from(since) * u128::from(self.rate)) >> 32) as u64
    }

    /// The line that continues from here at `pair`, and reaches the true time within a second, as far as the largest slew allows.
    /// `true_rate` is the measured rate.
    fn corrected(self, pair: Pair, true_rate: u64) -> Line {
        let here = self.at(pair.count);
        let ahead = here as i64 - pair.ns as i64;
        if ahead < -JUMP {
            return Line { count: pair.count, ns: pair.ns, rate: true_rate };
        }
        let slew = (i128::from(true_rate) * i128::from(ahead) / i128::from(SECOND)) as i64;
        let most = (true_rate / LARGEST_SLEW) as i64;
        let rate = true_rate.saturating_add_signed(-slew.clamp(-most, most));
        Line { count: pair.count, ns: here, rate }
    }
}

/// Both clocks at the same moment.
#[derive(Debug, Clone, Copy)]
struct Pair {
    count: u64,
    ns: u64,
}

impl Pair {
    fn read() -> Pair {
        let read = |_| {
            let before = read_counter();
            let ns = monotonic_ns();
            let width = read_counter().saturating_sub(before);
            (width, Pair { count: before + width / 2, ns })
        };
        let closest = (0..TRIES).map(read).min_by_key(|(width, _)| *width);
        closest.expect("there is more than one try").1
    }

    /// Nanoseconds per count since `earlier`, times 2^32.
    fn rate_since(self, earlier: Pair) -> u64 {
        let (ns, counts) = (self.ns - earlier.ns, (self.count - earlier.count).max(1));
        ((u128::from(ns) << 32) / u128::from(counts)) as u64
    }
}

/// The time stamp counter as a clock.
#[derive(Debug)]
struct Counter {
    /// Odd while the line changes.
    version: AtomicU64,
    count: AtomicU64,
    ns: AtomicU64,
    rate: AtomicU64,
    /// The pair of the last correction; written by the correcting thread alone.
    last_count: AtomicU64,
    last_ns: AtomicU64,
}

impl Counter {
    /// `None` where the counter cannot be trusted.
    fn new() -> Option<Counter> {
        static FIRST: OnceLock<Option<(Pair, u64)>> = OnceLock::new();
        let (pair, rate) = (*FIRST.get_or_init(|| is_trusted().then(first_rate)))?;
        Some(Counter {
            version: AtomicU64::new(0),
            count: AtomicU64::new(pair.count),
            ns: AtomicU64::new(pair.ns),
            rate: AtomicU64::new(rate),
            last_count: AtomicU64::new(pair.count),
            last_ns: AtomicU64::new(pair.ns),
        })
    }

    /// The present line, whole: read again where a correction came between.
    #[inline]
    fn line(&self) -> Line {
        loop {
            let version = self.version.load(Ordering::Acquire);
            let line = Line {
                count: self.count.load(Ordering::Acquire),
                ns: self.ns.load(Ordering::Acquire),
                rate: self.rate.load(Ordering::Acquire),
            };
            if version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version {
                return line;
            }
            std::hint::spin_loop();
        }
    }

    fn correct(&self) -> u64 {
        let pair = Pair::read();
        let (last_count, last_ns) =
            (self.last_count.load(Ordering::Relaxed), self.last_ns.load(Ordering::Relaxed));
        let line = self.line();
        let found = line.at(pair.count).abs_diff(pair.ns);
        // Too soon after the last one, the pairs' own inexactness would look like a rate.
        if pair.ns - last_ns < FIRST_CALIBRATION {
            return found;
        }
        let last = Pair { count: last_count, ns: last_ns };
        let (line, rate) = if pair.count > last.count {
            (line, pair.rate_since(last))
        } else {
            // The counter began again, as after a suspension: so does the line, at the rate that it had.
            (Line { count: pair.count, ns: pair.ns.max(line.ns), ..line }, line.rate)
        };
        self.set(line.corrected(pair, rate));
        self.last_count.store(pair.count, Ordering::Relaxed);
        self.last_ns.store(pair.ns, Ordering::Relaxed);
        found
    }

    fn set(&self, line: Line) {
        self.version.fetch_add(1, Ordering::AcqRel);
        self.count.store(line.count, Ordering::Release);
        self.ns.store(line.ns, Ordering::Release);
        self.rate.store(line.rate, Ordering::Release);
        self.version.fetch_add(1, Ordering::AcqRel);
    }
}

fn first_rate() -> (Pair, u64) {
    let first = Pair::read();
    let mut second = first;
    while second.ns - first.ns < FIRST_CALIBRATION {
        std::thread::sleep(std::time::Duration::from_millis(5));
        second = Pair::read();
    }
    (second, second.rate_since(first))
}

/// Whether the counter runs evenly on every CPU, according to the processor and the kernel.
fn is_trusted() -> bool {
    let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has = |flag: &str| {
        let mut flags = info.lines().filter(|line| line.starts_with("flags")).peekable();
        flags.peek().is_some() && flags.all(|line| line.split_whitespace().any(|word| word == flag))
    };
    cfg!(target_arch = "x86_64")
        && source.is_ok_and(|name| name.trim() == "tsc")
        && has("constant_tsc")
        && has("nonstop_tsc")
}

/// The processor's time stamp counter.
#[cfg(target_arch = "x86_64")]
#[inline]
fn read_counter() -> u64 {
    // SAFETY: rdtsc reads a register; every processor of this architecture has it, and a kernel that forbids it
    // (PR_SET_TSC) does so only where this process requested it, which it never does.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Unused: such a processor's counter is never trusted, and never read.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn read_counter() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// 0.5 ns per count: 2 GHz.
    const HALF: u64 = 1 << 31;

    #[test]
    fn clock_correction_is_continuous_and_converges() {
        let line = Line { count: 0, ns: 1_000, rate: HALF };
        // 100 us ahead after a second, and the true rate is unchanged.
        let pair = Pair { count: 2 * SECOND, ns: 1_000 + SECOND - 100_000 };
        let next = line.corrected(pair, HALF);
        assert_eq!(next.at(pair.count), line.at(pair.count), "continuous");
        let later = next.at(pair.count + 2 * SECOND);
        assert!(later.abs_diff(pair.ns + SECOND) <= 1, "{later} {}", pair.ns + SECOND);
    }

    #[test]
    fn clock_never_runs_backward_and_follows_forward_jumps() {
        let line = Line { count: 0, ns: 0, rate: HALF };
        let asleep = line.corrected(Pair { count: 100, ns: 5 * SECOND }, HALF);
        assert_eq!(asleep.at(100), 5 * SECOND);
        let ahead = line.corrected(Pair { count: 20 * SECOND, ns: SECOND }, HALF);
        assert_eq!(ahead.at(20 * SECOND), 10 * SECOND, "it waits for the other, it does not go back");
        assert!(ahead.rate < HALF && ahead.rate > HALF - HALF / 1_000);
    }

    #[test]
    fn clock_tracks_kernel_clock_monotonically_under_correction() {
        let clock = Clock::from_origin(monotonic_ns());
        let (done, origin) = (AtomicBool::new(false), clock.origin());
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut last = 0;
                while !done.load(Ordering::Relaxed) {
                    let now = clock.now();
                    assert!(now >= last, "{now} after {last}");
                    last = now;
                }
            });
            for _ in 0..10 {
                std::thread::sleep(std::time::Duration::from_millis(25));
                clock.correct();
            }
            // Between the two readings this thread may be away for long, but the one lies between the others.
            let before = monotonic_ns() - origin;
            let now = clock.now();
            let after = monotonic_ns() - origin;
            assert!(now + 100_000 > before && now < after + 100_000, "{before} {now} {after}");
            done.store(true, Ordering::Relaxed);
            reader.join().unwrap();
        });
        println!("{} {} ps, error {} ns", clock.source(), clock.cost_ps(), clock.correct());
    }
}
