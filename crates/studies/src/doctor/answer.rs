//! Facts about a target before anything is measured on it.

use iosonar_analyze::{Detection, Level};
use iosonar_evidence::{Fact, RereadTimes, TargetFacts};
use iosonar_judge::OthersUse;
use iosonar_plan::{Claim, Nanos};
use iosonar_runner::{foreign_io, probe};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// A target, examined without a run.
#[derive(Debug, Clone)]
pub struct Answer {
    /// As asked.
    pub target: PathBuf,
    /// As asked.
    pub claim: Claim,
    /// Kind and size, in words.
    pub what: String,
    /// The layers below it, a line each.
    pub layers: Vec<String>,
    /// Facts about it; those of a sample file for a directory.
    pub facts: TargetFacts,
    /// Whether a run may write to it; `None` for a directory.
    pub writing: Option<String>,
    /// Its devices with their use by others.
    pub others: Vec<OthersUse>,
    /// How long they were watched.
    pub watched: Nanos,
    /// Times of blocks that were read twice; `None` for a directory.
    pub probe: Option<Fact<RereadTimes>>,
    /// Detections that would spoil the planned measurement, or may influence it.
    pub found: Vec<Detection>,
    /// For each claim its name, and the verdict that is expected.
    pub verdicts: Vec<(String, String)>,
}

impl Answer {
    /// Whether the figures of the planned measurement would be fake.
    pub fn is_fake(&self) -> bool {
        self.found.iter().any(|one| one.is_proof)
    }

    /// Whether the figures of the planned measurement would be read with care.
    pub fn needs_care(&self) -> bool {
        self.found.iter().any(|one| one.level >= Level::Caution)
            || self.others.iter().any(OthersUse::disturbs)
    }

    /// Further facts: a word and a sentence each.
    pub fn remarks(&self) -> Vec<(&'static str, String)> {
        let mut remarks = Vec::new();
        remarks.extend(self.writing.clone().map(|text| ("writing", text)));
        remarks.extend(
            quiet_text(&self.others, Duration::from_nanos(self.watched.0)).map(|text| ("others", text)),
        );
        remarks.extend(self.probe.as_ref().map(|seen| ("probe", probe::sentence(seen))));
        remarks
    }

    /// The answer as JSON.
    pub fn to_json(&self) -> Value {
        let others: Vec<_> = self.others.iter().map(other_json).collect();
        let verdicts: Map<_, _> =
            self.verdicts.iter().map(|(claim, text)| (claim.clone(), json!(text))).collect();
        json!({"target": self.target, "claim": self.claim, "facts": self.facts, "writing": self.writing, "others": others,
               "probe": self.probe, "found": self.found, "verdicts": verdicts})
    }
}

/// Reports the use of its devices by others; `None` if they were not watched.
fn quiet_text(others: &[OthersUse], time: Duration) -> Option<String> {
    if time.is_zero() {
        return None;
    }
    let disturbing: Vec<String> =
        others.iter().filter(|other| other.disturbs()).map(foreign_io::sentence).collect();
    Some(match (others.is_empty(), disturbing.is_empty()) {
        (true, _) => "not known: its devices have no counters here".into(),
        (false, true) => format!("nobody uses its devices (watched for {} s)", time.as_secs_f64()),
        (false, false) => disturbing.join("; "),
    })
}

fn other_json(other: &OthersUse) -> Value {
    json!({"device": other.device, "requests_per_second": other.requests_per_second, "busy": other.busy,
           "disturbs": other.disturbs()})
}
