//! Cautions as data: names, severities, texts.

use crate::DetectorId;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// How much a caution matters, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good to know.
    Note,
    /// It may change the figures.
    Warning,
    /// The figures do not mean what they seem to.
    Severe,
}

/// Machine-readable names of the cautions. Those of one severity are reported in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CautionId {
    /// Faults were made on purpose.
    FaultsInjected,
    /// The null engine.
    NullEngine,
    /// The simulated device.
    SimulatedDevice,
    /// Through the page cache.
    NotDirect,
    /// Checked data miscompared.
    Miscompared,
    /// Verification found faults.
    DataErrors,
    /// Verification had nothing to check.
    NothingVerified,
    /// Verification gave up the state of sectors, or its scan was stopped.
    VerifiedInPart,
    /// Verification added reads to the workload.
    VerificationReads,
    /// The run aborted.
    RunBroken,
    /// A signal stopped it.
    RunInterrupted,
    /// It was killed, or is still running.
    RunUnfinished,
    /// The result has not got its finished form.
    Unconverted,
    /// A target stopped early while others continued.
    TargetEnded,
    /// No request completed.
    NothingCompleted,
    /// The kernel refused requests.
    FailedRequests,
    /// More than 5 % of the requests were skipped.
    DroppedShare,
    /// Requests of the ramp failed.
    RampFailed,
    /// Transfers were shorter than requested.
    ShortTransfers,
    /// The load's flushes were skipped.
    FlushesDropped,
    /// Discards of the load were skipped.
    DiscardsDropped,
    /// A synthetic workload uses a small part of its target.
    Wraparound,
    /// Requests were widened to whole blocks.
    Rounded,
    /// Requests were moved down from the end of the target.
    MovedAtBorder,
    /// Another engine than the plan's carried the requests out.
    EngineFallback,
    /// The machine did not allow something.
    #[serde(rename = "means-notice")]
    SetupNotice,
    /// The run was slower than its timetable.
    BehindDemand,
    /// Requests that nothing held were issued late compared with what the target takes.
    IssuedLate,
    /// Requests were issued later and later.
    IssueDrift,
    /// Requests waited for their turn: the depth was used up, or one before them held them up.
    HeldUp,
    /// Completions may have been seen late.
    ReapLag,
    /// Issuing had to wait for the recorder.
    RecorderStalls,
    /// The push-back list was full.
    PushBackStalls,
    /// Requests waited for memory for their data.
    BufferStalls,
    /// Lines of the load were skipped.
    BadLines,
    /// The load's time ran backward.
    BackwardTime,
    /// A detector found that the figures are not, or may not be, what they claim to be.
    #[serde(untagged)]
    Detected(DetectorId),
}

impl CautionId {
    /// The name in JSON.
    pub fn name(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(name)) => name,
            _ => String::new(),
        }
    }
}

/// One caution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caution {
    /// Machine-readable name.
    pub id: CautionId,
    /// How much it matters.
    pub severity: Severity,
    /// Human-readable text.
    pub text: String,
}

impl Caution {
    /// A caution that may change the figures.
    pub fn warning(id: CautionId, text: String) -> Caution {
        Caution { id, severity: Severity::Warning, text }
    }

    /// Its place in a list: the most severe first, then in the order of their names; detections come last, in the order of their judgement.
    pub fn place(&self) -> impl Ord + use<> {
        let name = (!matches!(self.id, CautionId::Detected(_))).then_some(self.id);
        (Reverse(self.severity), name.is_none(), name)
    }
}
