//! A detector and what it says.

use crate::Case;
use crate::thresholds::Limits;
use iosonar_analyze::{Channel, Detection, DetectorId, During, Evidence, Level};
use iosonar_plan::Claim;

/// One detector.
#[derive(Debug)]
pub struct Detector {
    /// Its name.
    pub id: DetectorId,
    /// Where its evidence comes from.
    pub channel: Channel,
    /// The most that it may say for a claim.
    pub most: Most,
    /// Detections that are symptoms of this one.
    pub explains: &'static [DetectorId],
    /// Why it matters, for people who ask.
    pub about: &'static str,
    /// None where it does not apply.
    pub detect: fn(&Case<'_>) -> Option<Seen>,
}

/// The most that a detector may say, by claim.
#[derive(Debug, Clone, Copy)]
pub struct Most {
    /// For the speed of a device.
    pub device: Level,
    /// For the speed of a file system with its caches.
    pub filesystem: Level,
    /// For the speed of memory.
    pub cache: Level,
    /// For the replay of a recorded load.
    pub replay: Level,
}

impl Most {
    /// The same for all claims.
    pub const fn always(level: Level) -> Most {
        Most { device: level, filesystem: level, cache: level, replay: level }
    }

    /// Where each byte is to cross a device; elsewhere it is information, and of memory it is as claimed.
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

/// What a detector has seen.
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
    /// As it should be.
    pub fn ok(text: impl Into<String>, source: &str) -> Seen {
        Seen::at(Level::Ok, text, source)
    }

    /// Good to know.
    pub fn info(text: impl Into<String>, source: &str) -> Seen {
        Seen::at(Level::Info, text, source)
    }

    /// It cannot be known, and why.
    pub fn unknown(why: impl Into<String>, source: &str) -> Seen {
        Seen::at(Level::Unknown, why, source)
    }

    /// It matters as much as this.
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

    /// How much it matters, before the claim limits that.
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// How to mend it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Seen {
        self.remedy = remedy.into();
        self
    }

    /// One more sentence, which a verdict does not repeat.
    #[must_use]
    pub(crate) fn adding(mut self, sentence: &str) -> Seen {
        self.text = format!("{} {sentence}", self.text);
        self
    }

    /// A number that it rests on.
    #[must_use]
    pub fn with(mut self, name: &str, value: f64) -> Seen {
        // JSON has no other numbers.
        if value.is_finite() {
            self.evidence.push(Evidence { name: name.into(), value });
        }
        self
    }

    /// By which factor the headline may be wrong.
    #[must_use]
    pub fn effect(mut self, factor: f64) -> Seen {
        self.effect = Some(factor).filter(|factor| factor.is_finite());
        self
    }

    /// When it shows.
    #[must_use]
    pub fn during(mut self, during: Option<During>) -> Seen {
        self.during = during;
        self
    }

    /// Two things at once: as much as the worse one matters, with its remedy, and the text of what is worth telling.
    pub(crate) fn and(self, other: Seen) -> Seen {
        let (mut worse, other) = if other.level > self.level { (other, self) } else { (self, other) };
        if other.level > Level::Unknown || worse.level <= Level::Unknown {
            worse.text = format!("{} {}", worse.text, other.text);
        }
        worse.evidence.extend(other.evidence);
        worse
    }

    /// One witness is enough, if it fails.
    #[must_use]
    pub fn definitional(mut self) -> Seen {
        self.definitional = true;
        self
    }

    /// What a detector says for a claim: at most as much as matters there.
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
    /// How much a value matters.
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
