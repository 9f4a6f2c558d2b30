//! The story of a result as data: event, cause, worth and remedy. `iosonar-story` makes it.

use crate::judgement::Verdict;
use crate::shape::Shape;
use crate::time_range::TimeRange;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Most characters of a headline.
pub const HEADLINE_CHARS: usize = 90;
/// A statement needs at least this many requests.
pub const LEAST_REQUESTS: u64 = 30;

/// The story of a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Story {
    /// Subject, effect and size, in at most [`HEADLINE_CHARS`] characters.
    pub headline: String,
    /// At most two sentences, each with its evidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<Reason>,
    /// The verdict and its one reason; absent if nothing is known of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worth: Option<String>,
    /// A command to copy, or a step to take.
    #[serde(default, rename = "try", skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// Times in which requests took longer than normal, by onset.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<StoryEvent>,
    /// Shares of the lost request-seconds by cause, the largest first. They add up to 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<CauseShare>,
    /// Sum over all completed requests of their response beyond the normal one, in seconds.
    pub lost_request_seconds: f64,
    /// The response outside of the events; absent if nothing completed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normal: Option<Normal>,
    /// The requests that take longest by an attribute of theirs; absent if no group stands out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contrast: Option<Contrast>,
    /// Each target, and each phase; absent if the run has one of both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartStory>,
    /// Disturbances over time; absent if there was none, or time is too coarse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blame: Option<Blame>,
}

/// Two groups of requests whose latencies differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contrast {
    /// The attribute by which they are grouped.
    pub by: Attribute,
    /// The group with the longer latency.
    pub slow: ContrastGroup,
    /// The group that it is compared with.
    pub other: ContrastGroup,
}

/// An attribute of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attribute {
    /// Read or write.
    Operation,
    /// Bytes that were requested.
    Size,
    /// Position on the target.
    Place,
    /// Number of requests that were submitted together.
    Batch,
    /// Number of fragments of its file.
    Fragment,
}

/// Requests with one value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContrastGroup {
    /// `writes`, `64 KiB`, `12.0 GiB to 14.0 GiB`, `submitted alone`.
    pub name: String,
    /// Number of requests; by all but the operation those of a sample.
    pub requests: u64,
    /// Median of their latencies, in nanoseconds; by batch and fragment to 0.8 %.
    pub p50_ns: u64,
}

/// The story of one of several targets, or of one of several phases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartStory {
    /// Number of the target in the plan; absent for a phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<u16>,
    /// Number of the phase in the plan; absent for a target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<u16>,
    /// The last part of the target's path, or the name of the phase.
    pub name: String,
    /// Event or figures, in at most [`HEADLINE_CHARS`] characters.
    pub headline: String,
    /// The verdict on this part, where it is known to be worse than that on others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// Disturbances over time, in slices of equal width.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blame {
    /// Start of the first slice, in nanoseconds of the run's clock.
    pub from_ns: u64,
    /// Width of a slice.
    pub slice_ns: u64,
    /// A row for each cause that shows; others have one for each device, or group of devices.
    pub rows: Vec<BlameRow>,
}

/// One cause over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlameRow {
    /// One of [`Cause::Halted`], [`Cause::NoCpu`], [`Cause::Others`], [`Cause::DepthFull`] and [`Cause::Conflicts`].
    pub cause: Cause,
    /// The devices that others used; absent for other causes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// A value from 0 to 100 for each slice. Halted and without a CPU: share of its time. Others: their bytes per second, as a share of the
    /// greatest rate of all bytes on the device. Depth and conflicts: share of the response that the requests spent waiting for it.
    pub percent: Vec<u8>,
}

impl BlameRow {
    /// Its label in pictures: `others on vda`.
    pub fn label(&self) -> String {
        match (self.cause, &self.device) {
            (Cause::Halted, _) => "halted".into(),
            (Cause::NoCpu, _) => "waited for a CPU".into(),
            (Cause::Others, Some(device)) => format!("others on {device}"),
            (Cause::DepthFull, _) => "depth full".into(),
            (Cause::Conflicts, _) => "conflicts".into(),
            (cause, _) => cause.to_string(),
        }
    }
}

/// The first lines of an answer that is not the story of one run: of a comparison, or of a study.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Statement {
    /// Subject, effect and size, in at most [`HEADLINE_CHARS`] characters.
    pub headline: String,
    /// At most two sentences, each with its evidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<Reason>,
    /// How far the answer reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worth: Option<String>,
    /// A command to copy, or a step to take.
    #[serde(default, rename = "try", skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// A sentence of the story, and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The sentence.
    pub text: String,
    /// Paths of the values in `show --json`: names and indexes with points between them.
    pub evidence: Vec<String>,
}

impl Reason {
    /// A sentence that rests on the values at `evidence`.
    pub fn new(text: impl Into<String>, evidence: &[&str]) -> Reason {
        Reason { text: text.into(), evidence: evidence.iter().map(|path| path.to_string()).collect() }
    }
}

/// Cause of responses that are longer than normal, in the order in which causes are tried: a target is not blamed for a time in which this
/// program did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// This program was stopped as a whole, or the machine was.
    Halted,
    /// This program waited for a CPU, or had used up its limit of CPU time.
    NoCpu,
    /// Others used a device of the chain below a target.
    Others,
    /// Requests waited for others that they conflict with.
    Conflicts,
    /// The target completed nothing although requests were in flight.
    TargetStoodStill,
    /// Requests waited for their turn although the target answered as usual: too few may be in flight.
    DepthFull,
    /// Requests were others than usual: larger, or other operations.
    OtherRequests,
    /// More was wanted at once than usual, within the depth.
    MoreAtOnce,
    /// The target took longer than usual.
    TargetSlower,
    /// No cause was found.
    Unexplained,
}

impl Cause {
    /// Whether it lies outside of the target, and of the queue of requests.
    pub fn is_outside(self) -> bool {
        matches!(self, Cause::Halted | Cause::NoCpu | Cause::Others)
    }

    /// Whether requests wait for their turn because of it, at any depth: nothing was issued, or nothing came back.
    pub fn blocks_the_queue(self) -> bool {
        self.is_outside() || self == Cause::TargetStoodStill
    }
}

/// A cause outside of the target, as a finding names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutsideCause {
    /// The cause.
    pub cause: Cause,
    /// The sentence of its event.
    pub text: String,
}

impl Story {
    /// Its first lines.
    pub fn statement(&self) -> Statement {
        Statement {
            headline: self.headline.clone(),
            because: self.because.clone(),
            worth: self.worth.clone(),
            remedy: self.remedy.clone(),
        }
    }

    /// The cause of most of the lost time; `None` if no time was lost.
    pub fn main_cause(&self) -> Option<Cause> {
        self.shares.first().map(|one| one.cause)
    }

    /// The cause of events outside of the target that cover at least half of a time; of several events the one that covers most.
    pub fn outside_cause(&self, range: TimeRange) -> Option<OutsideCause> {
        let covered = |event: &&StoryEvent| event.range.overlap_ns(range);
        let outside = || self.events.iter().filter(|event| event.cause.is_outside());
        let sum: u64 = outside().map(|event| covered(&event)).sum();
        let most = outside().max_by_key(covered).filter(|event| covered(event) > 0)?;
        (2 * sum >= range.length_ns()).then(|| OutsideCause { cause: most.cause, text: most.text.clone() })
    }

    /// The events with most lost time, by onset.
    pub fn largest_events(&self, most: usize) -> Vec<&StoryEvent> {
        let mut worst: Vec<&StoryEvent> = self.events.iter().collect();
        worst.sort_by(|a, b| b.share.total_cmp(&a.share));
        worst.truncate(most);
        worst.sort_by_key(|event| event.range.from_ns);
        worst
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::Halted => "this program was halted",
            Cause::NoCpu => "this program waited for a CPU",
            Cause::Others => "others used the device",
            Cause::DepthFull => "the depth was used up",
            Cause::OtherRequests => "requests were others than usual",
            Cause::MoreAtOnce => "more was wanted at once",
            Cause::TargetStoodStill => "the target stood still",
            Cause::Conflicts => "requests waited for conflicts",
            Cause::TargetSlower => "the target took longer",
            Cause::Unexplained => "unexplained",
        })
    }
}

/// A time in which requests took longer than normal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoryEvent {
    /// From the first such request's due time to the last completion.
    #[serde(flatten)]
    pub range: TimeRange,
    /// Number of the target; absent if the run has one target, or if several show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<u16>,
    /// Number of the phase; absent if the run has one phase, or if several show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<u16>,
    /// Its cause.
    pub cause: Cause,
    /// One sentence.
    pub text: String,
    /// Reads and writes that were due in its slices of time.
    pub requests: u64,
    /// Their response beyond the normal one, in seconds.
    pub lost_request_seconds: f64,
    /// That time divided by the lost time of the run; 0 to 1.
    pub share: f64,
    /// The longest response, in nanoseconds.
    pub worst_response_ns: u64,
    /// The shape of `docs/shapes.md` that it looks like: a guess. Absent if it looks like none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
}

/// The share of the lost request-seconds with one cause.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CauseShare {
    /// The cause.
    pub cause: Cause,
    /// 0 to 1.
    pub share: f64,
}

/// Response of the requests outside of the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Normal {
    /// Number of requests.
    pub requests: u64,
    /// Median, to 3 %.
    pub p50_ns: u64,
    /// 99th percentile, to 3 %.
    pub p99_ns: u64,
}
