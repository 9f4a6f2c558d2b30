//! A detector: its name, its reach, its relations to other detectors, and its functions. Its numbers are in `thresholds.rs`.

use crate::{Case, Finding, PlannedRun};
use iosonar_analyze::{Caution, Channel, Detection, DetectorId, Level, Summary};
use iosonar_plan::{Claim, Plan};

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
    /// Whether a failure shows what the figure measures instead. A level that changed, foreign I/O or a rate that was not reached makes a
    /// figure vague, and is no proof that it is another one.
    pub is_witness: bool,
    /// Cautions that need no evidence beside the summary: they stand for its detection, and are made for results without evidence, too.
    pub says: Option<fn(&Summary, &Plan) -> Vec<Caution>>,
    /// Judges a planned run, if the result does not depend on the run; returns `None` if it does not apply.
    pub predict: Option<fn(&PlannedRun<'_>) -> Option<Finding>>,
    /// Judges a result; returns `None` if it does not apply.
    pub detect: fn(&Case<'_>) -> Option<Finding>,
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

impl Detector {
    /// The detection for a claim: its level is limited to the highest one there.
    pub(crate) fn detection(&self, seen: Finding, claim: Claim) -> Detection {
        let most = self.most.of(claim);
        let level = if seen.level > Level::Unknown { seen.level.min(most) } else { seen.level };
        Detection {
            id: self.id,
            level,
            channel: self.channel,
            text: seen.text,
            remedy: if level >= Level::Info { seen.remedy } else { String::new() },
            evidence: seen.evidence,
            source: seen.source,
            effect: seen.effect,
            during: seen.during,
            is_proof: seen.is_proof && level == Level::Fail,
            explained_by: None,
        }
    }
}
