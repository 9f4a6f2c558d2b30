//! Keywords and formats shared by export and import.

use iosonar_archive::{Interruption, RunState};
use iosonar_plan::{Nanos, OverlapPolicy};

/// Names of the tail, in its order, with blkreplay's inner spacing.
pub(crate) const META_OPS: &str = "meta_ops";
pub(crate) const INPUT_LINES: &str = "# total input lines";
pub(crate) const TOTAL: &str = "# total     requests";
pub(crate) const COMPLETED: &str = "# completed requests";
pub(crate) const WRITES: &str = "# write     requests";
pub(crate) const DROPPED: &str = "# dropped   requests";
pub(crate) const PUSHED: &str = "# pushback  requests";
pub(crate) const ORDERED: &str = "# ordered   requests (waits)";
pub(crate) const VERIFY_ERRORS: &str = "# verify errors during replay";
pub(crate) const CONFLICT_MODE: &str = "conflict_mode";
pub(crate) const STRONG_MODE: &str = "strong_mode";
pub(crate) const VERIFY_MODE: &str = "verify_mode";
pub(crate) const MAX_SUBMITTED: &str = "max_submitted";
pub(crate) const MAX_PUSHBACK: &str = "max_pushback";
pub(crate) const SIZE: &str = "size of device";
pub(crate) const MAX_BLOCK: &str = "max block# occurred";
pub(crate) const SUMMARY: &str = "SUMMARY: ";
/// iosonar's additions after the tail.
pub(crate) const FAILED: &str = "# failed    requests";
pub(crate) const SKIPPED: &str = "# skipped   requests";
pub(crate) const STATE: &str = "# run state";
/// iosonar's text block.
pub(crate) const TOOL: &str = "# tool";
pub(crate) const RUN_ID: &str = "# run_id";
pub(crate) const STARTED: &str = "# started_unix_ns";

pub(crate) const BLKREPLAY_ON: &str = "blkreplay on ";
pub(crate) const STARTED_AT: &str = " started at ";
pub(crate) const ENDED_AT: &str = " ended at ";
pub(crate) const DROPPING: &str = "INFO: dropping ";
pub(crate) const SKIPPING: &str = "INFO: skipping ";
pub(crate) const DEVICE: &str = "INFO: device=";
pub(crate) const HAS_BLOCKS: &str = " has blocks=";

/// blkreplay's number of each overlap policy.
pub(crate) const CONFLICT_MODES: [OverlapPolicy; 4] =
    [OverlapPolicy::Allow, OverlapPolicy::Drop, OverlapPolicy::PushBack, OverlapPolicy::Order];

/// Formats seconds with all nine digits after the point.
pub(crate) fn seconds(time: Nanos) -> String {
    format!("{}.{:09}", time.0 / 1_000_000_000, time.0 % 1_000_000_000)
}

/// Makes `text` safe outside of result lines: without `;`, by which scripts recognise results, and without line ends.
pub(crate) fn plain(text: &str) -> String {
    iosonar_text::one_line(text).replace(';', " ")
}

/// Formats the state of the run in one line.
pub(crate) fn state(state: &RunState) -> String {
    match state {
        RunState::Running => "running".into(),
        // The text does not show how an archive is stored.
        RunState::Finished | RunState::Unconverted(_) => "finished".into(),
        RunState::Interrupted(signal) => format!("interrupted ({})", plain(&signal.to_string())),
        RunState::Broken(why) => format!("broken ({})", plain(&why.to_string())),
    }
}

/// The reverse of [`state`].
pub(crate) fn parse_state(text: &str) -> Option<RunState> {
    let reason = |word: &str| text.strip_prefix(word)?.strip_prefix(" (")?.strip_suffix(')');
    match text {
        "running" => Some(RunState::Running),
        "finished" => Some(RunState::Finished),
        _ => reason("interrupted")
            .map(|by| {
                Interruption::try_from(by.to_string())
                    .map_or_else(|_| RunState::Broken(text.into()), RunState::Interrupted)
            })
            .or_else(|| reason("broken").map(|why| RunState::Broken(why.into()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_archive::Signal;

    #[test]
    fn states_read_back() {
        let broken = RunState::Broken("disk (sda) full".into());
        for want in [
            RunState::Running,
            RunState::Finished,
            RunState::Interrupted(Interruption::Signal(Signal::INTERRUPT)),
            broken,
        ] {
            assert_eq!(parse_state(&state(&want)), Some(want));
        }
        assert_eq!(parse_state("broken"), None);
        assert_eq!(parse_state("interrupted (rain)"), Some(RunState::Broken("interrupted (rain)".into())));
        assert_eq!(state(&RunState::Broken("a; b\nc".into())), "broken (a  b\\nc)");
    }

    #[test]
    fn policy_numbers_match_blkreplay() {
        assert!((0..4).all(|n| CONFLICT_MODES[n] as usize == n));
    }
}
