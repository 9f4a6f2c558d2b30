//! Stalls: times without completions although requests were in flight.

use crate::findings::{OPS, moment, several};
use crate::numbers::span;
use crate::sketch::Sketch;
use crate::story::{Cause, OutsideCause};
use crate::time_range::TimeRange;
use iosonar_plan::Op;
use iosonar_text::units::grouped;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Kind of a stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StallKind {
    /// Full stall: nothing completed while several requests were in flight: empty space below the slow requests of a sonar.
    Lash,
    /// Partial stall: nothing of one operation completed, while the other did.
    Needle,
    /// Requests of one operation piled up and completed together, although others of the same operation completed
    /// meanwhile.
    Queue,
    /// Nothing completed with a single request in flight: it flies above the others.
    Hang,
}

/// A time without completions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletionStall {
    /// Its kind.
    pub kind: StallKind,
    /// The operation that stood still; `None` if all did.
    pub op: Option<Op>,
    /// From the last completion before it (or the first submission into an idle target) to the next.
    pub range: TimeRange,
    /// Reads that were submitted before its end and completed at its end or later.
    pub held_reads: u64,
    /// Writes held in the same way.
    pub held_writes: u64,
    /// Flushes held in the same way.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held_flushes: u64,
    /// From its end until the last of those completed.
    pub drain_ns: u64,
    /// Longest latency among those.
    pub longest_latency_ns: u64,
    /// Evidence: gaps between completions longer than this count as stalls in this run.
    pub threshold_ns: u64,
    /// Whether the generator had no CPU meanwhile, so that this says nothing about the target.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_generator: bool,
    /// The cause outside of the target that the story names for this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<OutsideCause>,
}

impl CompletionStall {
    /// Requests that it held.
    pub fn held(&self) -> u64 {
        self.held_reads + self.held_writes + self.held_flushes
    }

    /// The stall in one plain sentence, without a number.
    pub fn sentence(&self) -> String {
        let what = match (self.kind, self.op) {
            _ if self.is_of_program() => {
                self.outside.as_ref().map_or(String::new(), |outside| outside.text.clone())
            }
            _ if self.is_of_generator => "the generator had no CPU, or was stopped".to_string(),
            (StallKind::Lash, _) => "nothing completed (full stall: lash)".to_string(),
            (StallKind::Hang, _) => "the only request in flight hung".to_string(),
            (StallKind::Needle, Some(op)) => {
                format!("no {} completed, the others went on (partial stall: needle)", op.name())
            }
            (StallKind::Queue, Some(op)) => {
                format!("{} piled up and completed together (partial stall: needle)", several(op))
            }
            (StallKind::Needle, None) => {
                "neither reads nor writes went on as usual (partial stall: needle)".to_string()
            }
            (StallKind::Queue, None) => {
                "reads and writes piled up and completed together (partial stall: needle)".to_string()
            }
        };
        let others = self.outside.as_ref().filter(|_| !self.is_of_program());
        let others = others.map_or(String::new(), |others| format!(" while {}", others.text));
        let held = held_words([self.held_reads, self.held_writes, self.held_flushes]);
        format!(
            "at {} for {}: {what}{others}, {held}, worked off after {}, longest latency {}",
            moment(self.range.from_ns),
            span(self.range.length_ns()),
            span(self.drain_ns),
            span(self.longest_latency_ns)
        )
    }
}

impl CompletionStall {
    /// Whether the story says that this program did not run.
    fn is_of_program(&self) -> bool {
        self.outside.as_ref().is_some_and(|outside| outside.cause != Cause::Others)
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// How many requests of each operation were held: `3 held, reads`, `5 held, 3 reads and 2 writes`.
fn held_words(held: [u64; 3]) -> String {
    let some: Vec<(u64, Op)> = held.into_iter().zip(OPS).filter(|(n, _)| *n > 0).collect();
    let total = grouped(held.iter().sum());
    match some.as_slice() {
        [] => format!("{total} held"),
        [(_, op)] => format!("{total} held, {}", several(*op)),
        [rest @ .., last] => {
            let of = |(n, op): &(u64, Op)| format!("{} {}", grouped(*n), several(*op));
            let rest: Vec<String> = rest.iter().map(of).collect();
            format!("{total} held, {} and {}", rest.join(", "), of(last))
        }
    }
}

/// Gaps below this are never stalls.
const SHORTEST_NS: u64 = 50_000_000;
/// A stall is this many times longer than nearly all gaps of the run.
const TIMES_USUAL: u64 = 20;
/// "Nearly all": at most one gap in this many is longer ...
const ONE_IN: u64 = 1_000;
/// ... but at least this many remain above, or the stalls of a short run would hide themselves.
const LEFT_ABOVE: u64 = 16;
/// Fewer gaps do not show what is usual.
const FEWEST_GAPS: u64 = 32;
/// Maximum candidates of each kind that are kept while records arrive.
const MOST_CANDIDATES: usize = 1_024;
/// Maximum stalls in the list.
const MOST_LISTED: usize = 256;

/// Detects times without completions. Takes requests in the order of completion; its memory is bounded.
#[derive(Debug, Clone, Default)]
pub struct Completions {
    all: Gaps,
    of_op: [Gaps; 3],
    piles: [PileDetector; 3],
}

/// Results of [`Completions`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CompletionFacts {
    /// By onset.
    pub stalls: Vec<CompletionStall>,
    /// Further stalls, shorter than those of the list.
    pub left_out: u64,
}

impl Completions {
    /// An empty detector.
    pub fn new() -> Completions {
        Completions::default()
    }

    /// Adds the next submitted request in the order of completion, a failed one too.
    pub fn add(&mut self, submitted_ns: u64, completed_ns: u64, op: Op) {
        let index = OPS.iter().position(|known| *known == op).unwrap_or(0);
        self.all.add(submitted_ns, completed_ns, index);
        self.of_op[index].add(submitted_ns, completed_ns, index);
        self.piles[index].add(submitted_ns, completed_ns);
    }

    /// Returns the results.
    pub fn facts(mut self) -> CompletionFacts {
        let (mut stalls, mut left_out) = self.all.stalls(None);
        for (index, op) in OPS.into_iter().enumerate() {
            // A full stall is not reported again for one operation.
            let (mut needles, more) = self.of_op[index].stalls(Some(op));
            needles.retain(|needle| !cover_half(&stalls, needle));
            stalls.append(&mut needles);
            left_out += more;
        }
        for (index, op) in OPS.into_iter().enumerate() {
            let piles = std::mem::take(&mut self.piles[index]);
            left_out += piles.left_out;
            let new = piles.stalls(op);
            stalls.extend(new.filter(|pile| !stalls.iter().any(|s| explains(s, pile))).collect::<Vec<_>>());
        }
        let mut stalls = together(stalls);
        stalls.sort_by_key(|s| std::cmp::Reverse(s.range.length_ns()));
        left_out += stalls.len().saturating_sub(MOST_LISTED) as u64;
        stalls.truncate(MOST_LISTED);
        stalls.sort_by_key(|s| (s.range.from_ns, s.range.to_ns));
        CompletionFacts { stalls, left_out }
    }
}

/// Whether full stalls cover half of a partial one, one or several: a straggler may separate them.
fn cover_half(stalls: &[CompletionStall], needle: &CompletionStall) -> bool {
    let lashes = stalls.iter().filter(|s| s.op.is_none());
    2 * lashes.map(|lash| lash.range.overlap_ns(needle.range)).sum::<u64>() >= needle.range.length_ns()
}

/// Merges a stall of reads and one of writes at the same time.
fn together(stalls: Vec<CompletionStall>) -> Vec<CompletionStall> {
    let is_same_time = |a: &CompletionStall, b: &CompletionStall| {
        2 * a.range.overlap_ns(b.range) >= a.range.length_ns().max(b.range.length_ns())
    };
    let (mut all, one_op): (Vec<_>, Vec<_>) = stalls.into_iter().partition(|s| s.op.is_none());
    let (reads, one_op): (Vec<_>, Vec<_>) = one_op.into_iter().partition(|s| s.op == Some(Op::Read));
    let (mut writes, mut flushes): (Vec<_>, Vec<_>) =
        one_op.into_iter().partition(|s| s.op == Some(Op::Write));
    for read in reads {
        match writes.iter().position(|write| is_same_time(&read, write)) {
            Some(at) => all.push(joined(&read, &writes.swap_remove(at))),
            None => all.push(read),
        }
    }
    all.append(&mut writes);
    all.append(&mut flushes);
    all
}

fn joined(read: &CompletionStall, write: &CompletionStall) -> CompletionStall {
    let range = TimeRange {
        from_ns: read.range.from_ns.min(write.range.from_ns),
        to_ns: read.range.to_ns.max(write.range.to_ns),
    };
    let drained = |stall: &CompletionStall| stall.range.to_ns + stall.drain_ns;
    let is_needle = read.kind == StallKind::Needle && write.kind == StallKind::Needle;
    CompletionStall {
        kind: if is_needle { StallKind::Needle } else { StallKind::Queue },
        op: None,
        range,
        held_reads: read.held_reads,
        held_writes: write.held_writes,
        held_flushes: 0,
        drain_ns: drained(read).max(drained(write)).saturating_sub(range.to_ns),
        longest_latency_ns: read.longest_latency_ns.max(write.longest_latency_ns),
        threshold_ns: read.threshold_ns.min(write.threshold_ns),
        is_of_generator: false,
        outside: None,
    }
}

/// Whether a stall held the requests of a pile.
fn explains(stall: &CompletionStall, pile: &CompletionStall) -> bool {
    (stall.op.is_none() || stall.op == pile.op)
        && 4 * stall.range.overlap_ns(pile.range) >= pile.range.length_ns()
}

/// Gaps between completions of one kind.
#[derive(Debug, Clone, Default)]
struct Gaps {
    last_completed: u64,
    /// Lengths, without the time before the submission of the request that ended the gap.
    lengths: Sketch<8>,
    /// By time.
    candidates: Vec<Candidate>,
    /// Lengths of candidates that were too short to keep.
    forgotten: Sketch<8>,
}

/// A gap that may be a stall.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    last_before: u64,
    end: u64,
    /// The earliest submission among the held requests.
    first_submitted: u64,
    /// Waiting time of the request that ended it.
    ender_waited: u64,
    held: [u64; 3],
    drained: u64,
    longest: u64,
}

impl Candidate {
    /// Start of the time in which something was in flight and nothing completed.
    fn begin(&self) -> u64 {
        self.last_before.max(self.first_submitted)
    }

    fn length(&self) -> u64 {
        self.end - self.begin()
    }

    fn hold(&mut self, submitted: u64, completed: u64, op: usize) {
        self.held[op] += 1;
        self.first_submitted = self.first_submitted.min(submitted);
        self.drained = completed;
        self.longest = self.longest.max(completed - submitted);
    }
}

impl Gaps {
    fn add(&mut self, submitted: u64, completed: u64, op: usize) {
        let (last, completed) = (self.last_completed, completed.max(self.last_completed));
        let submitted = submitted.min(completed);
        let waited = completed - submitted.max(last);
        self.lengths.add(waited);
        if completed - last > SHORTEST_NS {
            self.remember(Candidate {
                last_before: last,
                end: completed,
                first_submitted: submitted,
                ender_waited: waited,
                held: [0; 3],
                drained: completed,
                longest: 0,
            });
        }
        // Candidates that end before this submission do not hold it, nor do earlier ones.
        let holding =
            self.candidates.iter_mut().rev().take_while(|c| c.end > submitted || c.end == completed);
        holding.for_each(|c| c.hold(submitted, completed, op));
        self.last_completed = completed;
    }

    fn remember(&mut self, candidate: Candidate) {
        self.candidates.push(candidate);
        if self.candidates.len() > MOST_CANDIDATES {
            // Not the newest: the requests it holds are not known yet.
            let older = &self.candidates[..MOST_CANDIDATES];
            let shortest = (0..MOST_CANDIDATES).min_by_key(|i| older[*i].length()).unwrap_or(0);
            self.forgotten.add(self.candidates.remove(shortest).length());
        }
    }

    /// Longer gaps are stalls; `None` with too few gaps.
    fn threshold(&self) -> Option<u64> {
        let count = self.lengths.count();
        let usual = || self.lengths.at_rank(count - (count / ONE_IN).max(LEFT_ABOVE));
        (count >= FEWEST_GAPS).then(|| usual().saturating_mul(TIMES_USUAL).max(SHORTEST_NS))
    }

    /// The stalls, and how many more there were.
    fn stalls(&self, op: Option<Op>) -> (Vec<CompletionStall>, u64) {
        let Some(threshold) = self.threshold() else { return (Vec::new(), 0) };
        let long = self.candidates.iter().filter(|c| c.length() > threshold);
        let stalls = long.filter_map(|c| c.stall(op, threshold)).collect();
        (stalls, self.forgotten.above(threshold))
    }
}

impl Candidate {
    fn stall(&self, op: Option<Op>, threshold: u64) -> Option<CompletionStall> {
        let held: u64 = self.held.iter().sum();
        // One request hangs; the other one completed as usual, and no more were submitted.
        if held == 2 && self.ender_waited < self.length() / 4 {
            return None;
        }
        let kind = match op {
            _ if held < 2 => StallKind::Hang,
            None => StallKind::Lash,
            Some(_) => StallKind::Needle,
        };
        // A single slow request of one operation while the other completes is no stall.
        (op.is_none() || held > 1).then(|| CompletionStall {
            kind,
            op,
            range: TimeRange { from_ns: self.begin(), to_ns: self.end },
            held_reads: self.held[0],
            held_writes: self.held[1],
            held_flushes: self.held[2],
            drain_ns: self.drained - self.end,
            longest_latency_ns: self.longest,
            threshold_ns: threshold,
            is_of_generator: false,
            outside: None,
        })
    }
}

/// Requests faster than this are in no pile.
const SLOW_NS: u64 = 50_000_000;
/// The slowest of a pile took at least this long, so that the slow ones span a factor of two.
const PILE_HEIGHT_NS: u64 = 2 * SLOW_NS;
/// Fewest requests of a pile.
const PILE_LEAST: u64 = 8;
/// Slow completions before the pile that are kept.
const MOST_RECENT: usize = 64;
/// Equal parts of the latency, of which nearly all must have requests.
const PARTS: u64 = 8;

/// Requests of one operation that pile up and complete together although others complete meanwhile: submitted at various
/// times, completed within a short one, with all latencies up to the longest. Requests submitted together that complete one
/// by one are a burst, permanently slow ones are a band, and a single slow request is no pile.
#[derive(Debug, Clone, Default)]
struct PileDetector {
    current: Option<Pile>,
    /// Completion times of slow requests before the current pile.
    recent: VecDeque<u64>,
    found: Vec<Pile>,
    left_out: u64,
}

#[derive(Debug, Clone)]
struct Pile {
    first_completed: u64,
    last_completed: u64,
    first_submitted: u64,
    /// Sum, and sum of the squares, of the times from each submission to the first completion; in nanoseconds.
    waited: [f64; 2],
    longest: u64,
    count: u64,
    latencies: Sketch<8>,
}

impl PileDetector {
    fn add(&mut self, submitted: u64, completed: u64) {
        let latency = completed.saturating_sub(submitted);
        if latency < SLOW_NS {
            return;
        }
        match &mut self.current {
            Some(pile) if completed.saturating_sub(pile.last_completed) <= pile.longest / 20 => {
                pile.add(submitted, completed, latency);
            }
            _ => {
                self.close();
                let mut pile = Pile {
                    first_completed: completed,
                    last_completed: completed,
                    first_submitted: submitted,
                    waited: [0.0; 2],
                    longest: 0,
                    count: 0,
                    latencies: Sketch::default(),
                };
                pile.add(submitted, completed, latency);
                self.current = Some(pile);
            }
        }
    }

    fn close(&mut self) {
        let Some(pile) = self.current.take() else { return };
        let begin = pile.first_completed.saturating_sub(pile.longest / 2);
        let before = self.recent.iter().filter(|c| **c >= begin).count() as u64;
        let is_full = before == MOST_RECENT as u64;
        self.recent
            .extend(std::iter::repeat_n(pile.last_completed, pile.count.min(MOST_RECENT as u64) as usize));
        self.recent.drain(..self.recent.len().saturating_sub(MOST_RECENT));
        if is_full || before * 4 > pile.count || !pile.is_needle() {
            return;
        }
        self.found.push(pile);
        if self.found.len() > MOST_CANDIDATES {
            let lowest = (0..self.found.len()).min_by_key(|i| self.found[*i].longest).unwrap_or(0);
            self.found.remove(lowest);
            self.left_out += 1;
        }
    }

    fn stalls(mut self, op: Op) -> impl Iterator<Item = CompletionStall> {
        self.close();
        self.found.into_iter().map(move |pile| CompletionStall {
            kind: StallKind::Queue,
            op: Some(op),
            range: TimeRange { from_ns: pile.first_submitted, to_ns: pile.first_completed },
            held_reads: if op == Op::Read { pile.count } else { 0 },
            held_writes: if op == Op::Write { pile.count } else { 0 },
            held_flushes: if op == Op::Flush { pile.count } else { 0 },
            drain_ns: pile.last_completed - pile.first_completed,
            longest_latency_ns: pile.longest,
            threshold_ns: SLOW_NS,
            is_of_generator: false,
            outside: None,
        })
    }
}

impl Pile {
    fn add(&mut self, submitted: u64, completed: u64, latency: u64) {
        self.last_completed = self.last_completed.max(completed);
        self.first_submitted = self.first_submitted.min(submitted);
        // Requests of a pile may be submitted after its first completion, too.
        let waited = self.first_completed as f64 - submitted as f64;
        self.waited = [self.waited[0] + waited, self.waited[1] + waited * waited];
        self.longest = self.longest.max(latency);
        self.count += 1;
        self.latencies.add(latency);
    }

    /// Standard deviation of the submission times; if spread evenly over the longest latency it is 29 % of that.
    fn submissions_deviate(&self) -> f64 {
        let [mean, square] = self.waited.map(|sum| sum / self.count as f64);
        (square - mean * mean).max(0.0).sqrt()
    }

    fn is_needle(&self) -> bool {
        let filled = || {
            let edge = |part: u64| SLOW_NS + (self.longest - SLOW_NS) / PARTS * part;
            let above = |part| self.latencies.above(edge(part));
            // The sketch's steps blur the edges, so two parts may seem empty.
            (0..PARTS - 1).filter(|part| above(*part) > above(part + 1)).count() as u64 + 1 >= PARTS - 2
        };
        self.count >= PILE_LEAST
            && self.longest >= PILE_HEIGHT_NS
            && self.last_completed - self.first_completed <= self.longest / 2
            && self.submissions_deviate() >= self.longest as f64 / 6.0
            && filled()
    }
}
