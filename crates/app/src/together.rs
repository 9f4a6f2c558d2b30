//! Plans executed by several processes: the coordinating process, and the part of each process.

use crate::args::common::{ProgressArg, ProgressArgs};
use crate::exit::{Exit, Failure};
use crate::output::print_message;
use crate::session::begin_session;
use crate::signals::{Listener, Phase};
use crate::timings::Timings;
use anyhow::anyhow;
use iosonar_archive::{PARTS, RunInfo};
use iosonar_cluster::protocol::TAKE_PART;
use iosonar_cluster::{Assembled, Launch, PhaseProgress, take_part};
use iosonar_engine::Control;
use iosonar_load::Notice;
use iosonar_plan::Plan;
use iosonar_runner::{Ended, announcement};
use iosonar_text::shown;
use std::ffi::OsString;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Whether the program was started to take part in the run of another one, whatever its name.
pub fn is_part(mut args: impl Iterator<Item = OsString>) -> bool {
    args.nth(1).is_some_and(|word| word == TAKE_PART)
}

/// Takes part in the run of another process, which is at the other end of standard input and output.
pub fn part() -> Result<Exit, Failure> {
    let control = Arc::new(Control::default());
    let listener = Listener::start(control.clone())?;
    listener.set_phase(Phase::Running);
    let notice = |path: &Path, notice: &Notice| print_message(notice.text(path));
    take_part(BufReader::new(std::io::stdin()), std::io::stdout(), control, announcement, notice)?;
    Ok(Exit::Fine)
}

/// Executes a plan in several processes. `check` may refuse the prepared run, and returns the directory of the result.
pub fn perform(
    plan: &Plan,
    progress: &ProgressArgs,
    check: impl FnOnce(&RunInfo) -> Result<PathBuf, Failure>,
    timings: &Timings,
) -> Result<(Ended, Listener), Failure> {
    if progress.progress == ProgressArg::Json {
        return Err(Failure::refused(anyhow!(
            "--progress json: a plan with `executor` reports the phases that start and nothing of requests: use --progress none"
        )));
    }
    let (session, listener) = begin_session(timings, None)?;
    listener.set_phase(Phase::Assembling);
    let launch = Launch::of_this_program(|line| print_message(line))?;
    let assembled = Assembled::in_session(&session, &launch, plan)?;
    let dir = check(&assembled.info())?;
    listener.set_kept(format!("what each process recorded until now is in {}", shown(&dir.join(PARTS))));
    let mut lines = PhaseLines::new(progress);
    let ended = assembled.execute(&session, &dir, |now| lines.show(now))?;
    listener.set_kept(format!("the records are in {}", shown(&dir)));
    timings.end("merge");
    Ok((ended, listener))
}

/// Prints the starting phase at intervals.
struct PhaseLines {
    /// `None`: nothing is shown.
    every: Option<Duration>,
    /// Time of the last line, since the start of the run.
    shown: Duration,
}

impl PhaseLines {
    fn new(progress: &ProgressArgs) -> PhaseLines {
        let is_silent = progress.no_progress || progress.progress == ProgressArg::None;
        let every = Duration::from_nanos(progress.progress_every.0);
        PhaseLines { every: (!is_silent).then_some(every), shown: Duration::ZERO }
    }

    fn show(&mut self, now: PhaseProgress<'_>) {
        if self.every.is_some_and(|every| now.elapsed.saturating_sub(self.shown) >= every) {
            self.shown = now.elapsed;
            print_message(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_member_process_by_any_program_name() {
        let is = |words: &[&str]| is_part(words.iter().map(OsString::from));
        assert!(is(&["/usr/bin/iozone", "take-part"]) && !is(&["iozone", "-a"]) && !is(&["iosonar"]));
    }
}
