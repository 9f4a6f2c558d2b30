//! The judgement of a result: its detections and the verdict, as data. `iosonar-judge` makes them.

use iosonar_plan::Claim;
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! detectors {
    ($($(#[$doc:meta])* $variant:ident $name:literal,)*) => {
        /// Names of the detectors.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum DetectorId {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl DetectorId {
            /// All of them.
            pub const ALL: &[DetectorId] = &[$(DetectorId::$variant),*];

            /// The name in texts and results.
            pub const fn name(self) -> &'static str {
                match self {
                    $(DetectorId::$variant => $name,)*
                }
            }
        }
    };
}

detectors! {
    /// Reads were not served by the device.
    ReadsNotFromDevice "reads-not-from-device",
    /// Reads lie in holes or in blocks that were never written.
    UnmappedTarget "unmapped-target",
    /// Written data had not reached the device when the run ended.
    WritesNotOnDevice "writes-not-on-device",
    /// A layer keeps data in the page cache although direct I/O was requested.
    PageCacheInPath "page-cache-in-path",
    /// Blocks that were read a second time came faster: a cache below Linux serves them.
    CacheBelow "cache-below",
    /// Blocks of zeros are answered without reading them.
    ZeroesShortCut "zeroes-short-cut",
    /// The data ends in memory.
    MemoryTarget "memory-target",
    /// Requests were not executed as requested.
    RequestsNotDone "requests-not-done",
    /// The target rate was not reached.
    CannotKeepUp "cannot-keep-up",
    /// A closed loop sent nothing while the target stood still.
    StallsHidden "stalls-hidden",
    /// The device had fewer requests in flight than requested.
    QueueDepthNotReached "queue-depth-not-reached",
    /// The level of the run changed.
    NotSteady "not-steady",
    /// Other programs used the device.
    ForeignIo "foreign-io",
    /// Data that a target can make smaller, or need not store.
    TrivialData "trivial-data",
    /// Load and device differ much in size.
    WrongSizeDevice "wrong-size-device",
    /// The kernel merged or split requests.
    RequestsReshaped "requests-reshaped",
    /// The generator had to wait for a CPU.
    CpuDisturbed "cpu-disturbed",
    /// The issuing thread was the limit, and not the target.
    GeneratorBound "generator-bound",
    /// A limit of this machine was measured.
    OwnLimit "own-limit",
    /// Requests were faster than any block device.
    FasterThanAnyDevice "faster-than-any-device",
    /// More was read from the device than requested.
    ReadAmplification "read-amplification",
    /// The device has a volatile cache, and nothing was flushed.
    VolatileCache "volatile-cache",
    /// Dirty pages waited for writeback when the run began.
    DirtyAtStart "dirty-at-start",
    /// Reading the clock takes too long for these latencies.
    CoarseClock "coarse-clock",
    /// The level of the run varies much.
    Noisy "noisy",
    /// The run is too short for a verdict on its level.
    TooShort "too-short",
    /// The machine was set up otherwise at the end.
    SettingsChanged "settings-changed",
    /// So little was touched that a cache holds it, or a small part of a device was used.
    SmallFootprint "small-footprint",
    /// Not all jobs were busy for the whole time.
    StragglerTail "straggler-tail",
    /// Checking of data takes part in the figures.
    VerifyCosts "verify-costs",
    /// Writes were no whole physical blocks.
    Misaligned "misaligned",
    /// Requests were issued late although nothing held them.
    LateTimer "late-timer",
    /// A recording lacks requests, or parts of them.
    TraceIncomplete "trace-incomplete",
    /// The run wrote blocks for the first time, or blocks that an earlier run has written.
    FreshOrWarmMapping "fresh-or-warm-mapping",
    /// Consecutive data is not contiguous on the device.
    Fragmented "fragmented",
    /// The file was copied to the upper layer of an overlay when it was opened.
    CopiedUp "copied-up",
    /// The result was written to the device that was measured.
    ArchiveOnTarget "archive-on-target",
    /// Facts that the claim needs cannot be observed here.
    NotObservable "not-observable",
}

impl fmt::Display for DetectorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How much a detection matters, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Checked, no objection.
    Ok,
    /// Unknown here: neither good nor bad.
    Unknown,
    /// Good to know; the figure is what it claims to be.
    Info,
    /// The figure may be less than it claims.
    Caution,
    /// The figure is not what it claims.
    Fail,
}

/// Source of the evidence of a detection. Two detections of one channel may share one error; two channels are two witnesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// Bytes that were counted on their way down.
    Accounting,
    /// Where the bytes of a target are, and what it is.
    Mapping,
    /// How long requests took.
    Latency,
    /// The content of the data.
    Content,
    /// When requests went, and which.
    Schedule,
    /// The machine beside the run.
    Environment,
}

/// A number that a detection rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Its name, with the unit at the end.
    pub name: String,
    /// Its value.
    pub value: f64,
}

/// A time range of a run that shows something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct During {
    /// Its start, in nanoseconds of the run's clock.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
}

/// The result of one detector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Detection {
    /// Its name.
    pub id: DetectorId,
    /// How much it matters for this claim.
    pub level: Level,
    /// The source of its evidence.
    pub channel: Channel,
    /// The observation, with numbers: one sentence or two.
    pub text: String,
    /// The remedy; empty if there is nothing to fix.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remedy: String,
    /// The numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// Where the numbers were read.
    pub source: String,
    /// Factor by which the headline figure may be wrong, if it can be estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<f64>,
    /// When it shows; absent if all the time, or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub during: Option<During>,
    /// The figure contradicts its claim by definition, whatever the noise: one witness is enough.
    #[serde(default, rename = "definitional", skip_serializing_if = "is_false")]
    pub is_proof: bool,
    /// The detection that explains this one, which is a symptom and is not printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explained_by: Option<DetectorId>,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Detection {
    /// Whether it is reported to people.
    pub fn is_reported(&self) -> bool {
        self.level >= Level::Caution && self.explained_by.is_none()
    }

    /// Its name, the observation, and the remedy, in a line.
    pub fn line(&self) -> String {
        format!("{}: {} {}", self.id, self.text, self.remedy).trim_end().to_string()
    }
}

/// The verdict on a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No objection to the claim, and everything it needs is known.
    Trustworthy,
    /// Something may be wrong, or is not known.
    Care,
    /// The figure is not what it claims to be.
    Fake,
    /// Nothing was measured: no I/O was done, or a model answered.
    NotMeasured,
}

/// A target that makes the result fake by itself, and its proofs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FakeTarget {
    /// Its number in the plan.
    pub target: u16,
    /// Its path.
    pub path: String,
    /// Detections that hold for it by definition.
    pub proofs: Vec<DetectorId>,
}

/// The verdict on a result, and its reasons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Version of the thresholds.
    pub thresholds: u32,
    /// The quantity that is claimed to be measured.
    pub claim: Claim,
    /// The verdict on the figures.
    pub verdict: Verdict,
    /// The verdict in one sentence, without the word `verdict`.
    pub sentence: String,
    /// Facts that a trustworthy result of this claim needs, and that are unknown here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The detections, most severe first; those that do not apply are absent.
    pub detections: Vec<Detection>,
    /// Of several targets those that make the whole fake; empty if each of them does, and if none does by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fake_targets: Vec<FakeTarget>,
}

impl Judgement {
    /// The detection of a detector.
    pub fn of(&self, id: DetectorId) -> Option<&Detection> {
        self.detections.iter().find(|detection| detection.id == id)
    }

    /// Detections that are reported to people, most severe first.
    pub fn reported(&self) -> impl Iterator<Item = &Detection> {
        self.detections.iter().filter(|detection| detection.is_reported())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_json_and_are_unique() {
        let mut names: Vec<&str> = DetectorId::ALL.iter().map(|id| id.name()).collect();
        for id in DetectorId::ALL {
            assert_eq!(serde_json::to_value(id).unwrap(), id.name());
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), DetectorId::ALL.len());
    }
}
