//! How a run ended.

use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// State of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", content = "why", rename_all = "kebab-case")]
pub enum RunState {
    /// Running, or killed.
    Running,
    /// Every request of the plan was processed.
    Finished,
    /// Stopped before the end of the plan; requests in flight were drained.
    Interrupted(Interruption),
    /// Aborted.
    Broken(Breakage),
    /// Every request of the plan was processed, but the result could not be converted to its finished form, for example
    /// because the disk was full. No record is lost. Holds the reason.
    Unconverted(String),
}

impl RunState {
    /// Whether every request of the plan was processed.
    pub fn is_complete(&self) -> bool {
        matches!(self, RunState::Finished | RunState::Unconverted(_))
    }

    /// The signal that stopped the run, if one did.
    pub fn signal(&self) -> Option<Signal> {
        match self {
            RunState::Interrupted(Interruption::Signal(signal)) => Some(*signal),
            _ => None,
        }
    }
}

/// The cause of an interruption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Interruption {
    /// A signal to the program.
    Signal(Signal),
    /// A time that was set during the run: the ramp of `knee` ends when its answer is clear.
    EndTime,
}

const END_TIME: &str = "its end time";

impl Display for Interruption {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Interruption::Signal(signal) => signal.fmt(f),
            Interruption::EndTime => f.write_str(END_TIME),
        }
    }
}

impl From<Interruption> for String {
    fn from(interruption: Interruption) -> String {
        interruption.to_string()
    }
}

impl TryFrom<String> for Interruption {
    type Error = String;

    fn try_from(text: String) -> Result<Interruption, String> {
        if text == END_TIME {
            return Ok(Interruption::EndTime);
        }
        let signal = Signal::of_name(&text).map(Interruption::Signal);
        signal.ok_or_else(|| format!("{text} is neither a signal nor \"{END_TIME}\""))
    }
}

/// A signal that stops the program, by its number on Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal(pub i32);

impl Signal {
    /// The terminal is gone.
    pub const HANG_UP: Signal = Signal(1);
    /// Ctrl-C.
    pub const INTERRUPT: Signal = Signal(2);
    /// The default of `kill`.
    pub const TERMINATE: Signal = Signal(15);

    const NAMES: [(Signal, &'static str); 3] =
        [(Signal::HANG_UP, "SIGHUP"), (Signal::INTERRUPT, "SIGINT"), (Signal::TERMINATE, "SIGTERM")];
    /// Precedes the number of a signal without a name here.
    const NUMBERED: &'static str = "signal ";

    fn of_name(text: &str) -> Option<Signal> {
        let named = Signal::NAMES.iter().find(|(_, name)| *name == text).map(|(signal, _)| *signal);
        named.or_else(|| text.strip_prefix(Signal::NUMBERED)?.parse().ok().map(Signal))
    }
}

impl Display for Signal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match Signal::NAMES.iter().find(|(signal, _)| signal == self) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "{}{}", Signal::NUMBERED, self.0),
        }
    }
}

/// Why a run broke off, as sentences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Breakage(String);

impl Breakage {
    /// Part of the sentence of a run that lacks records: archives keep sentences only.
    const UNWRITTEN: &'static str = "the records could not be written: ";

    /// One or several reasons, the most important one first.
    pub fn of(reasons: &[String]) -> Breakage {
        Breakage(reasons.join("; "))
    }

    /// The reason of a run whose records could not be written.
    pub fn unwritten(error: impl Display) -> String {
        format!("{}{error}", Breakage::UNWRITTEN)
    }

    /// Whether the archive lacks records of executed requests, because the disk of the result failed.
    pub fn lacks_records(&self) -> bool {
        self.0.contains(Breakage::UNWRITTEN)
    }
}

impl Display for Breakage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for Breakage {
    fn from(reason: String) -> Breakage {
        Breakage(reason)
    }
}

impl From<&str> for Breakage {
    fn from(reason: &str) -> Breakage {
        Breakage(reason.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_round_trip_through_json() {
        let interrupted = |by| RunState::Interrupted(by);
        for (state, json) in [
            (RunState::Finished, r#"{"state":"finished"}"#),
            (
                interrupted(Interruption::Signal(Signal::INTERRUPT)),
                r#"{"state":"interrupted","why":"SIGINT"}"#,
            ),
            (interrupted(Interruption::Signal(Signal(10))), r#"{"state":"interrupted","why":"signal 10"}"#),
            (interrupted(Interruption::EndTime), r#"{"state":"interrupted","why":"its end time"}"#),
            (RunState::Broken("target a: full".into()), r#"{"state":"broken","why":"target a: full"}"#),
        ] {
            assert_eq!(serde_json::to_string(&state).unwrap(), json);
            assert_eq!(serde_json::from_str::<RunState>(json).unwrap(), state);
        }
        let error = serde_json::from_str::<RunState>(r#"{"state":"interrupted","why":"rain"}"#).unwrap_err();
        assert!(error.to_string().contains("rain is neither a signal"), "{error}");
    }

    #[test]
    fn knows_which_runs_lack_records() {
        let unwritten = Breakage::unwritten("No space left on device");
        assert!(Breakage::of(&[unwritten.clone(), "target a: full".into()]).lacks_records());
        // As in a run of several processes.
        assert!(Breakage::of(&[format!("process 1: {unwritten}")]).lacks_records());
        assert!(!Breakage::of(&["target a: full".into()]).lacks_records());
    }
}
