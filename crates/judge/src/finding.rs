//! The observation of a detector.

use iosonar_analyze::{During, Evidence, Level};

/// The observation of a detector.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub(crate) level: Level,
    pub(crate) text: String,
    pub(crate) remedy: String,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) source: String,
    pub(crate) effect: Option<f64>,
    pub(crate) during: Option<During>,
    pub(crate) is_proof: bool,
}

impl Finding {
    /// No objection.
    pub fn ok(text: impl Into<String>, source: &str) -> Finding {
        Finding::at(Level::Ok, text, source)
    }

    /// Information.
    pub fn info(text: impl Into<String>, source: &str) -> Finding {
        Finding::at(Level::Info, text, source)
    }

    /// Unknown, with the reason.
    pub fn unknown(why: impl Into<String>, source: &str) -> Finding {
        Finding::at(Level::Unknown, why, source)
    }

    /// An observation of this level.
    pub fn at(level: Level, text: impl Into<String>, source: &str) -> Finding {
        Finding {
            level,
            text: text.into(),
            remedy: String::new(),
            evidence: Vec::new(),
            source: source.to_string(),
            effect: None,
            during: None,
            is_proof: false,
        }
    }

    /// The level, before it is limited by the claim.
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// Sets the remedy.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Finding {
        self.remedy = remedy.into();
        self
    }

    /// Adds a sentence that a verdict does not repeat.
    #[must_use]
    pub(crate) fn adding(mut self, sentence: &str) -> Finding {
        self.text = format!("{} {sentence}", self.text);
        self
    }

    /// Adds a number as evidence.
    #[must_use]
    pub fn with(mut self, name: &str, value: f64) -> Finding {
        // JSON has no infinities or NaN.
        if value.is_finite() {
            self.evidence.push(Evidence { name: name.into(), value });
        }
        self
    }

    /// Sets the factor by which the headline may be wrong.
    #[must_use]
    pub fn effect(mut self, factor: f64) -> Finding {
        self.effect = Some(factor).filter(|factor| factor.is_finite());
        self
    }

    /// Sets the time range.
    #[must_use]
    pub fn during(mut self, during: Option<During>) -> Finding {
        self.during = during;
        self
    }

    /// Joins two observations: the level and remedy of the worse one, and the texts that matter.
    pub(crate) fn and(self, other: Finding) -> Finding {
        let (mut worse, other) = if other.level > self.level { (other, self) } else { (self, other) };
        if other.level > Level::Unknown || worse.level <= Level::Unknown {
            worse.text = format!("{} {}", worse.text, other.text);
        }
        worse.evidence.extend(other.evidence);
        worse
    }

    /// Marks it as sufficient proof, if it fails.
    #[must_use]
    pub fn proof(mut self) -> Finding {
        self.is_proof = true;
        self
    }
}
