//! A detector and its result.

use crate::Case;
use crate::thresholds::Limits;
use iosonar_analyze::{Channel, Detection, DetectorId, During, Evidence, Level};
use iosonar_plan::Claim;

/// One detector.
#[derive(Debug)]
pub struct Detector {
    /// Its name.
    pub id: DetectorId,
    /// Source of its evidence.
    pub channel: Channel,
    /// The highest level for each claim.
    pub most: Most,
    /// Detections that are symptoms of this one.
    pub explains: &'static [DetectorId],
    /// Why it matters, for users.
    pub about: &'static str,
    /// Returns `None` if it does not apply.
    pub detect: fn(&Case<'_>) -> Option<Seen>,
}

/// The highest level of a detector, by claim.
#[derive(Debug, Clone, Copy)]
pub struct Most {
    /// For a claim about a device.
    pub device: Level,
    /// For a claim about a file system with its caches.
    pub filesystem: Level,
    /// For a claim about memory.
    pub cache: Level,
    /// For a claim about the replay of a recorded load.
    pub replay: Level,
}

impl Most {
    /// The same level for all claims.
    pub const fn always(level: Level) -> Most {
        Most { device: level, filesystem: level, cache: level, replay: level }
    }

    /// For claims that each byte crosses a device; for a file system it is information, and for memory as claimed.
    pub const fn of_devices(level: Level) -> Most {
        Most { device: level, filesystem: Level::Info, cache: Level::Ok, replay: level }
    }

    pub(crate) fn of(self, claim: Claim) -> Level {
        match claim {
            Claim::Device => self.device,
            Claim::Filesystem => self.filesystem,
            Claim::Cache => self.cache,
            Claim::Replay => self.replay,
        }
    }
}

/// The observation of a detector.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    level: Level,
    text: String,
    remedy: String,
    evidence: Vec<Evidence>,
    source: String,
    effect: Option<f64>,
    during: Option<During>,
    definitional: bool,
}

impl Seen {
    /// No objection.
    pub fn ok(text: impl Into<String>, source: &str) -> Seen {
        Seen::at(Level::Ok, text, source)
    }

    /// Information.
    pub fn info(text: impl Into<String>, source: &str) -> Seen {
        Seen::at(Level::Info, text, source)
    }

    /// Unknown, with the reason.
    pub fn unknown(why: impl Into<String>, source: &str) -> Seen {
        Seen::at(Level::Unknown, why, source)
    }

    /// An observation of this level.
    pub fn at(level: Level, text: impl Into<String>, source: &str) -> Seen {
        Seen {
            level,
            text: text.into(),
            remedy: String::new(),
            evidence: Vec::new(),
            source: source.to_string(),
            effect: None,
            during: None,
            definitional: false,
        }
    }

    /// The level, before it is limited by the claim.
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// Sets the remedy.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Seen {
        self.remedy = remedy.into();
        self
    }

    /// Adds a sentence that a verdict does not repeat.
    #[must_use]
    pub(crate) fn adding(mut self, sentence: &str) -> Seen {
        self.text = format!("{} {sentence}", self.text);
        self
    }

    /// Adds a number as evidence.
    #[must_use]
    pub fn with(mut self, name: &str, value: f64) -> Seen {
        // JSON has no infinities or NaN.
        if value.is_finite() {
            self.evidence.push(Evidence { name: name.into(), value });
        }
        self
    }

    /// Sets the factor by which the headline may be wrong.
    #[must_use]
    pub fn effect(mut self, factor: f64) -> Seen {
        self.effect = Some(factor).filter(|factor| factor.is_finite());
        self
    }

    /// Sets the time range.
    #[must_use]
    pub fn during(mut self, during: Option<During>) -> Seen {
        self.during = during;
        self
    }

    /// Joins two observations: the level and remedy of the worse one, and the texts that matter.
    pub(crate) fn and(self, other: Seen) -> Seen {
        let (mut worse, other) = if other.level > self.level { (other, self) } else { (self, other) };
        if other.level > Level::Unknown || worse.level <= Level::Unknown {
            worse.text = format!("{} {}", worse.text, other.text);
        }
        worse.evidence.extend(other.evidence);
        worse
    }

    /// Marks it as sufficient proof, if it fails.
    #[must_use]
    pub fn definitional(mut self) -> Seen {
        self.definitional = true;
        self
    }

    /// The detection for a claim: its level is limited to the highest one there.
    pub(crate) fn detection(self, detector: &Detector, claim: Claim) -> Detection {
        let most = detector.most.of(claim);
        let level = if self.level > Level::Unknown { self.level.min(most) } else { self.level };
        Detection {
            id: detector.id,
            level,
            channel: detector.channel,
            text: self.text,
            remedy: if level >= Level::Info { self.remedy } else { String::new() },
            evidence: self.evidence,
            source: self.source,
            effect: self.effect,
            during: self.during,
            definitional: self.definitional && level == Level::Fail,
            explained_by: None,
        }
    }
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
