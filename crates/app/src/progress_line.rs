//! The progress of work that is no run: one line, which a terminal shows in place.

use crate::output::print_message;
use iosonar_runner::{Notice, Observer, Progress, Stage};
use std::io::{IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Seconds between two lines where there is no terminal.
const LINES: u64 = 10;

/// Prints the reports of a session, and its progress if wanted.
#[derive(Debug)]
pub struct ProgressLine {
    is_wanted: bool,
    /// Number of the last printed line, where there is no terminal.
    printed: AtomicU64,
}

impl ProgressLine {
    /// A line that is shown if it is wanted.
    pub fn new(is_wanted: bool) -> ProgressLine {
        ProgressLine { is_wanted, printed: AtomicU64::new(0) }
    }

    /// Removes the line from a terminal.
    pub fn clear(&self) {
        if self.is_wanted && stderr().is_terminal() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

impl Observer for ProgressLine {
    fn notice(&self, notice: &Notice<'_>) {
        print_message(notice);
    }

    fn stage(&self, stage: Stage) {
        if stage == Stage::Finishing && self.is_wanted && stderr().is_terminal() {
            print_message("");
        }
    }

    fn progress(&self, progress: &Progress<'_>) {
        if !self.is_wanted {
            return;
        }
        if stderr().is_terminal() {
            // A closed terminal must not end the command.
            let _ = write!(stderr(), "\r\x1b[K{}", progress.text);
            return;
        }
        let number = progress.elapsed.as_secs() / LINES;
        if self.printed.fetch_max(number, Relaxed) < number {
            print_message(progress.text);
        }
    }
}
