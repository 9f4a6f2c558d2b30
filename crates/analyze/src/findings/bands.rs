//! Bands: modes of the latency. Each may be a path of requests (a cache, a tier, the medium), a size, or a position in a batch: the
//! finding does not decide which.

use crate::SLOTS;
use crate::findings::bins::bin_of;
use crate::findings::{CompletionStall, OPS, percent, several};
use crate::numbers::span;
use crate::time_range::TimeRange;
use crate::{Class, CountGrid, ROWS_PER_DECADE, row_lower_edge};
use iosonar_plan::Op;
use iosonar_text::units::grouped;
use serde::{Deserialize, Serialize};

/// A mode of the latency of one operation, without requests that a stall held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyBand {
    /// `A` for the fastest of the operation, then `B`, and so on.
    pub letter: char,
    /// Reads, writes or flushes.
    pub op: Op,
    /// Where it starts: the valley to the faster band, or the fastest request.
    pub low_ns: u64,
    /// Where its requests are densest on the logarithmic scale.
    pub peak_ns: u64,
    /// Where it ends.
    pub high_ns: u64,
    /// Requests in it.
    pub requests: u64,
    /// Share of the operation's completed requests, those held by stalls excluded; 0 to 1.
    pub share: f64,
    /// The same share among the requests that were submitted in the first third of the time.
    pub first_third_share: Option<f64>,
    /// The same share in the last third: a cache that warms up enlarges its fast band.
    pub last_third_share: Option<f64>,
    /// The same share in 60 equal parts of the time; absent if nothing was submitted.
    pub share_over_time: Vec<Option<f64>>,
    /// First to last submission, to a time column.
    pub range: TimeRange,
}

impl LatencyBand {
    /// Label in pictures: `A 90.0 µs, 34 %`.
    pub fn label(&self) -> String {
        format!("{} {}, {}", self.letter, span(self.peak_ns), percent(self.share))
    }

    /// The band in one plain sentence.
    pub fn sentence(&self) -> String {
        let (low, peak, high) = (span(self.low_ns), span(self.peak_ns), span(self.high_ns));
        let mut text = format!(
            "{}, band {}: around {peak} ({low} to {high}), {} of them, {} requests",
            several(self.op),
            self.letter,
            percent(self.share),
            grouped(self.requests)
        );
        if let (Some(first), Some(last)) = (self.first_third_share, self.last_third_share)
            && (first - last).abs() >= 0.1
        {
            text += &format!(
                "; {} in the first third of the time, {} in the last",
                percent(first),
                percent(last)
            );
        }
        text
    }
}

/// Standard deviation of the smoothing, in rows: 3 % of a factor of ten.
const SIGMA_ROWS: f64 = 0.03 * ROWS_PER_DECADE as f64;
/// A mode is prominent from this difference of the decimal logarithm of the count on.
const PROMINENCE: f64 = 0.3;
/// Its requests differ from those of an equally wide valley by this much after a square root equalises their noise: 3.5
/// standard deviations of the difference of two counts.
const CLEAR: f64 = 2.5;
/// Rows that the smoothing averages.
const SMOOTHED_ROWS: f64 = 3.545 * SIGMA_ROWS;
/// Only the most prominent modes become bands: many small ones are noise.
const MOST_MODES: usize = 4;
/// The backlog of a stall drains within this many times its length. Later requests are slow for another reason.
const WORKED_OFF_TIMES: u64 = 10;
/// A delay of less than this part of the stall no longer shows its backlog.
const BACKLOG_PART: u64 = 100;
/// Modes with a smaller share of the operation's requests are ignored.
const LEAST_SHARE: f64 = 0.01;
/// Parts of the time for the share over time.
const PARTS: usize = 60;
/// Fewer requests of an operation have no modes.
const FEWEST: u64 = 200;

/// The bands of each operation. Requests that one of `stalls` held, or kept from being issued, are ignored: they form
/// separate humps. `delay` by due time shows how long requests were kept.
pub(super) fn bands(latency: &CountGrid, delay: &CountGrid, stalls: &[CompletionStall]) -> Vec<LatencyBand> {
    let held = |op| Held::by(stalls, delay, op);
    OPS.into_iter().flat_map(|op| Columns::of(latency, op, &held(op)).bands(op)).collect()
}

/// Requests of one operation that no stall held, by part of the time and latency.
struct Columns {
    range: TimeRange,
    /// Part after part.
    parts: Vec<[u64; SLOTS]>,
}

impl Columns {
    fn of(latency: &CountGrid, op: Op, held: &Held<'_>) -> Columns {
        let classes = classes(op);
        let used = |column: &usize| cells(latency, *column, classes).next().is_some();
        let first = (0..latency.axis().columns()).find(used).unwrap_or(0);
        let last = (first..latency.axis().columns()).rfind(used).unwrap_or(first);
        let width = latency.axis().width_ns();
        let range = TimeRange {
            from_ns: (first as u64).saturating_mul(width),
            to_ns: (last as u64 + 1).saturating_mul(width),
        };
        let mut parts = vec![[0; SLOTS]; PARTS];
        for column in first..=last {
            let submitted = (column as u64).saturating_mul(width).saturating_add(width / 2);
            let Some(part) = bin_of(submitted, range, PARTS) else { continue };
            for (slot, count) in cells(latency, column, classes) {
                if !held.has(submitted, width, slot) {
                    parts[part][slot] += u64::from(count);
                }
            }
        }
        Columns { range, parts }
    }

    fn bands(&self, op: Op) -> Vec<LatencyBand> {
        let mut counts = [0u64; SLOTS];
        self.parts.iter().for_each(|part| counts.iter_mut().zip(part).for_each(|(sum, n)| *sum += n));
        let total: u64 = counts.iter().sum();
        if total < FEWEST {
            return Vec::new();
        }
        let in_share = |mode: &Mode| {
            let requests: u64 = counts[mode.begin..mode.end].iter().sum();
            requests as f64 >= LEAST_SHARE * total as f64
        };
        let modes: Vec<Mode> = modes(&counts).into_iter().filter(in_share).collect();
        // A single mode only repeats the distribution.
        if modes.len() < 2 {
            return Vec::new();
        }
        ('A'..='Z').zip(modes).map(|(letter, mode)| self.band(op, letter, &mode, &counts)).collect()
    }

    fn band(&self, op: Op, letter: char, mode: &Mode, counts: &[u64; SLOTS]) -> LatencyBand {
        let share = |parts: &[[u64; SLOTS]]| {
            let sum = |part: &[u64]| part.iter().sum::<u64>();
            let total: u64 = parts.iter().map(|part| sum(part)).sum();
            let inside: u64 = parts.iter().map(|part| sum(&part[mode.begin..mode.end])).sum();
            (total > 0).then(|| inside as f64 / total as f64)
        };
        let used = |slot: &usize| counts[*slot] > 0;
        let first = (mode.begin..mode.end).find(used).unwrap_or(mode.begin);
        let last = (mode.begin..mode.end).rfind(used).unwrap_or(first);
        LatencyBand {
            letter,
            op,
            low_ns: slot_begin(first),
            peak_ns: slot_middle(mode.peak),
            high_ns: slot_begin(last + 1),
            requests: counts[mode.begin..mode.end].iter().sum(),
            share: share(&self.parts).unwrap_or(0.0),
            first_third_share: share(&self.parts[..PARTS / 3]),
            last_third_share: share(&self.parts[PARTS - PARTS / 3..]),
            share_over_time: self.parts.chunks(1).map(share).collect(),
            range: self.range,
        }
    }
}

/// The classes of one operation.
fn classes(op: Op) -> &'static [Class] {
    match op {
        Op::Read => &[Class::Read, Class::ReadPushed],
        Op::Write => &[Class::Write, Class::WritePushed],
        _ => &[Class::Flush],
    }
}

/// The cells of one operation in one column of a grid: slots and numbers of requests.
fn cells(grid: &CountGrid, column: usize, classes: &'static [Class]) -> impl Iterator<Item = (usize, u32)> {
    classes.iter().flat_map(move |class| grid.column(*class, column))
}

/// Requests of one operation that stalls held.
struct Held<'a> {
    stalls: Vec<&'a CompletionStall>,
    /// Times after stalls in which the delayed requests were issued.
    backlogs: Vec<TimeRange>,
}

impl Held<'_> {
    fn by<'a>(stalls: &'a [CompletionStall], delay: &CountGrid, op: Op) -> Held<'a> {
        Held {
            stalls: stalls.iter().filter(|s| s.op.is_none_or(|o| o == op)).collect(),
            // A stall of one operation also delays the other one if both share the queue depth.
            backlogs: stalls.iter().map(|stall| backlog(delay, stall.range, op)).collect(),
        }
    }

    /// Whether requests of a cell were held: submitted before the end of a stall and completed at it or later. Requests
    /// submitted while the held ones, or the delayed ones, drained were queued after them and count as held, too.
    fn has(&self, submitted: u64, width: u64, slot: usize) -> bool {
        // Times are known to a column and a row: in doubt a request counts as held.
        let earliest = submitted.saturating_sub(width);
        let completed = submitted.saturating_add(width).saturating_add(slot_begin(slot + 1));
        let is_held = |stall: &&CompletionStall| {
            let end = stall.range.to_ns;
            let drained = end.saturating_add(stall.drain_ns.min(longest_drain(stall.range)));
            (earliest < end && completed >= end) || (submitted >= end && earliest < drained)
        };
        let is_late = |backlog: &TimeRange| submitted >= backlog.from_ns && earliest < backlog.to_ns;
        self.stalls.iter().any(is_held) || self.backlogs.iter().any(is_late)
    }
}

fn longest_drain(stall: TimeRange) -> u64 {
    stall.length_ns().saturating_mul(WORKED_OFF_TIMES)
}

/// From the end of a stall until the last delayed request was issued: those due during it, and those due while the backlog
/// was issued. If that never ends the target is overloaded, and only those due during the stall count.
fn backlog(delay: &CountGrid, stall: TimeRange, op: Op) -> TimeRange {
    let (width, columns) = (delay.axis().width_ns().max(1), delay.axis().columns() as u64);
    let latest = stall.to_ns.saturating_add(longest_drain(stall));
    let (mut due_during, mut until) = (stall.to_ns, stall.to_ns);
    for column in stall.from_ns / width..columns {
        let due = column.saturating_mul(width);
        if due > until {
            break;
        }
        for (slot, _) in cells(delay, column as usize, classes(op)) {
            if slot_begin(slot) >= stall.length_ns() / BACKLOG_PART {
                until = until.max(due.saturating_add(slot_begin(slot + 1)));
            }
        }
        if due < stall.to_ns {
            due_during = until;
        }
        if until > latest {
            until = due_during.min(latest);
            break;
        }
    }
    TimeRange { from_ns: stall.to_ns, to_ns: until }
}

/// Least time of a slot.
fn slot_begin(slot: usize) -> u64 {
    if slot == 0 { 0 } else { row_lower_edge(slot - 1) }
}

/// Middle of a slot on the logarithmic scale.
fn slot_middle(slot: usize) -> u64 {
    let (begin, end) = (slot_begin(slot) as f64, slot_begin(slot + 1) as f64);
    if slot == 0 { (end / 2.0) as u64 } else { (begin * end).sqrt().round() as u64 }
}

/// A mode: slots from `begin` to before `end`.
struct Mode {
    begin: usize,
    peak: usize,
    end: usize,
}

/// Prominent peaks of the smoothed logarithm, separated at the valleys between them.
fn modes(counts: &[u64; SLOTS]) -> Vec<Mode> {
    let height: Vec<f64> = smoothed(counts).iter().map(|count| (1.0 + count).log10()).collect();
    let mut peaks: Vec<(usize, f64)> = (0..SLOTS)
        .map(|slot| (slot, prominence(&height, slot)))
        .filter(|(slot, prominence)| *prominence >= PROMINENCE && is_clear(height[*slot], *prominence))
        .collect();
    peaks.sort_by(|a, b| b.1.total_cmp(&a.1));
    peaks.truncate(MOST_MODES);
    let mut peaks: Vec<usize> = peaks.into_iter().map(|(slot, _)| slot).collect();
    peaks.sort_unstable();
    let valley = |pair: &[usize]| {
        (pair[0]..pair[1]).min_by(|a, b| height[*a].total_cmp(&height[*b])).unwrap_or(pair[0])
    };
    let cuts: Vec<usize> = [0].into_iter().chain(peaks.windows(2).map(valley)).chain([SLOTS]).collect();
    peaks
        .iter()
        .zip(cuts.windows(2))
        .map(|(peak, cut)| Mode { begin: cut[0], peak: *peak, end: cut[1] })
        .collect()
}

/// Whether the counts of a peak and of its valley differ by more than by chance.
fn is_clear(top: f64, prominence: f64) -> bool {
    let requests = |height: f64| (10f64.powf(height) - 1.0).max(0.0) * SMOOTHED_ROWS;
    requests(top).sqrt() - requests(top - prominence).sqrt() > CLEAR
}

fn smoothed(counts: &[u64; SLOTS]) -> Vec<f64> {
    let reach = (4.0 * SIGMA_ROWS).ceil() as i64;
    let weight = |distance: i64| (-0.5 * (distance as f64 / SIGMA_ROWS).powi(2)).exp();
    let all: f64 = (-reach..=reach).map(weight).sum();
    let at = |slot: i64| usize::try_from(slot).ok().and_then(|s| counts.get(s)).map_or(0.0, |n| *n as f64);
    (0..SLOTS as i64)
        .map(|slot| (-reach..=reach).map(|d| weight(d) * at(slot + d)).sum::<f64>() / all)
        .collect()
}

/// Height of a peak over the higher of the two valleys that separate it from higher ground; 0 if it is no peak. Beyond the
/// ends lies nothing.
fn prominence(height: &[f64], at: usize) -> f64 {
    let top = height[at];
    let is_peak = top > 0.0
        && at.checked_sub(1).is_none_or(|before| height[before] < top)
        && height.get(at + 1).is_none_or(|behind| *behind <= top);
    if !is_peak {
        return 0.0;
    }
    let valley = |side: &mut dyn Iterator<Item = &f64>| {
        let mut lowest = top;
        for value in side {
            if *value > top {
                return lowest;
            }
            lowest = lowest.min(*value);
        }
        0.0
    };
    let left = valley(&mut height[..at].iter().rev());
    let right = valley(&mut height[at + 1..].iter());
    top - left.max(right)
}
