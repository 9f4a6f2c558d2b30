//! Plans executed by several processes: the coordinating process, and the part of each process.

use crate::args::common::{ProgressArg, ProgressArgs};
use crate::exit::{Exit, Failure};
use crate::output::print_message;
use crate::session::{command_line, terminal};
use crate::signals::{Listener, Phase};
use crate::timings::Timings;
use anyhow::anyhow;
use iosonar_archive::PARTS;
use iosonar_archive::RunInfo;
use iosonar_cluster::protocol::TAKE_PART;
use iosonar_cluster::{Assembled, Executed, Launch, PhaseProgress, TogetherError, take_part};
use iosonar_engine::Control;
use iosonar_load::Notice;
use iosonar_plan::Plan;
use iosonar_runner::{Ended, announcement, preflight, write_back};
use iosonar_text::{shown, units};
use std::ffi::OsString;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Default command for starting a program on another machine: it does not ask for a password, and detects a lost connection.
const REMOTE_SHELL: &str = "ssh -T -o BatchMode=yes -o ServerAliveInterval=15";

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
    let control = Arc::new(Control::default());
    let listener = Listener::start(control.clone())?;
    listener.set_phase(Phase::Assembling);
    let failure = |error| failure(error, &control);
    let assembled = Assembled::new(&launch()?, plan, &command_line(), &control).map_err(failure)?;
    let dir = check(&assembled.info())?;
    let cautions = preflight::check_together(plan, &assembled.machines())?;
    assembled.messages().iter().chain(&cautions).for_each(print_message);
    let parts = dir.join(PARTS);
    listener.set_kept(format!("what each process recorded until now is in {}", shown(&parts)));
    listener.set_phase(Phase::Running);
    timings.end("prepare");
    let written_back = write_back::before(plan, &control, &terminal(&listener, timings));
    let mut lines = PhaseLines::new(progress);
    let executed = assembled.run(&dir, written_back, &control, |now| lines.show(now));
    listener.set_phase(Phase::Finishing);
    timings.end("run");
    let ended = executed.and_then(Executed::merge).map_err(failure)?;
    listener.set_kept(format!("the records are in {}", shown(&dir)));
    timings.end("merge");
    Ok((ended, listener))
}

fn failure(error: TogetherError, control: &Control) -> Failure {
    match error {
        TogetherError::Unmerged(_) => Failure::broke(error),
        TogetherError::Refused(_) | TogetherError::Archive(_) => Failure::refused(error),
        TogetherError::Stopped => {
            let exit = control.signal().map_or(Exit::Failed, |signal| Exit::Signal(signal.0));
            Failure { exit, ..Failure::broke(error) }
        }
    }
}

fn launch() -> Result<Launch, Failure> {
    let shell = std::env::var("RSH").unwrap_or_default();
    let hear = |line: &str| print_message(line);
    Ok(Launch { program: std::env::current_exe()?, remote_shell: remote_shell(&shell), hear })
}

/// Parses a remote shell named by the user. OpenSSH must not ask for a password: it is in the background, where reading from the terminal
/// would stop it.
fn remote_shell(named: &str) -> Vec<String> {
    let shell = if named.trim().is_empty() { REMOTE_SHELL } else { named };
    let mut words: Vec<String> = shell.split_whitespace().map(String::from).collect();
    let is_ssh = words.first().is_some_and(|word| Path::new(word).file_name() == Some("ssh".as_ref()));
    // Keywords of its options are not case-sensitive, and the first of two values counts.
    if is_ssh && !shell.to_ascii_lowercase().contains("batchmode") {
        words.splice(1..1, ["-o".into(), "BatchMode=yes".into()]);
    }
    words
}

/// Prints the starting phase at intervals.
struct PhaseLines {
    /// `None`: nothing is shown.
    every: Option<Duration>,
    begun: Instant,
    shown: Instant,
}

impl PhaseLines {
    fn new(progress: &ProgressArgs) -> PhaseLines {
        let is_silent = progress.no_progress || progress.progress == ProgressArg::None;
        let every = Duration::from_nanos(progress.progress_every.0);
        let now = Instant::now();
        PhaseLines { every: (!is_silent).then_some(every), begun: now, shown: now }
    }

    fn show(&mut self, now: PhaseProgress<'_>) {
        if self.every.is_some_and(|every| self.shown.elapsed() >= every) {
            self.shown = Instant::now();
            print_message(phase_line(now, self.begun.elapsed()));
        }
    }
}

/// Formats a line. Phases take different times, so the remaining time is an estimate.
fn phase_line(now: PhaseProgress<'_>, elapsed: Duration) -> String {
    let share = now.number as f64 / now.of.max(1) as f64;
    let left = if share > 0.0 { elapsed.mul_f64(1.0 / share - 1.0) } else { Duration::ZERO };
    let clock = |time: Duration| units::clock(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    format!(
        "{:.0}% {} | about {} left | phase {} of {}: {}",
        100.0 * share,
        clock(elapsed),
        clock(left),
        now.number + 1,
        now.of,
        now.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phase_line_shows_percent_and_remaining_time() {
        let now = PhaseProgress { number: 10, of: 40, name: "read 1MiB/64KiB" };
        let line = phase_line(now, Duration::from_secs(30));
        assert_eq!(line, "25% 00:30 | about 01:30 left | phase 11 of 40: read 1MiB/64KiB");
    }

    #[test]
    fn ssh_uses_batch_mode_unless_overridden() {
        let words = |named: &str| remote_shell(named).join(" ");
        assert_eq!(words(" "), REMOTE_SHELL);
        assert_eq!(words("ssh"), "ssh -o BatchMode=yes");
        assert_eq!(words("/usr/bin/ssh  -p 22"), "/usr/bin/ssh -o BatchMode=yes -p 22");
        for kept in ["ssh -oBatchMode=no", "ssh -o batchmode=yes -p 22", "rsh -l me", "my-ssh", "sh ssh"] {
            assert_eq!(words(kept), kept);
        }
    }

    #[test]
    fn recognizes_member_process_by_any_program_name() {
        let is = |words: &[&str]| is_part(words.iter().map(OsString::from));
        assert!(is(&["/usr/bin/iozone", "take-part"]) && !is(&["iozone", "-a"]) && !is(&["iosonar"]));
    }
}
