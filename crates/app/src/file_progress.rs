//! The progress of verbs that work on files: their number at intervals.

use crate::args::common::ProgressArgs;
use crate::output::{print_json, print_message};
use crate::progress::Form;
use crate::screen;
use crate::session::command_line;
use iosonar_runner::{Notice, Observer, Session};
use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// No progress before this time: most commands have ended by then.
const SHORT: Duration = Duration::from_secs(1);

/// Calls a verb with a session that prints its reports, and shows how many files are done.
pub fn show_files<T>(progress: &ProgressArgs, verb: impl FnOnce(&Session) -> T) -> T {
    let observer = Arc::new(FileProgress::of(progress));
    let session = Session { command: command_line(), ..Session::new(observer.clone()) };
    let answer = verb(&session);
    observer.clear();
    answer
}

/// Prints the reports of a session, and the number of its files.
struct FileProgress {
    form: Form,
    shown: Mutex<Shown>,
}

/// When the number is shown next, and whether it is on the terminal now.
struct Shown {
    next: Instant,
    is_on_terminal: bool,
}

impl FileProgress {
    fn of(progress: &ProgressArgs) -> FileProgress {
        let form = Form::of(progress);
        let first = if form == Form::Rewritten { SHORT } else { form.every().unwrap_or(SHORT).max(SHORT) };
        let shown = Shown { next: Instant::now() + first, is_on_terminal: false };
        FileProgress { form, shown: Mutex::new(shown) }
    }

    fn clear(&self) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut shown.is_on_terminal) {
            screen::put("\r\x1b[K");
        }
    }
}

impl Observer for FileProgress {
    fn notice(&self, notice: &Notice<'_>) {
        self.clear();
        print_message(notice);
    }

    fn files(&self, done: usize, failed: usize) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(every) = self.form.every().filter(|_| Instant::now() >= shown.next) else { return };
        shown.next = Instant::now() + every;
        let failures = if failed == 0 { String::new() } else { format!(", {failed} failed") };
        let line = format!("{done} files{failures}");
        match self.form {
            Form::Rewritten => {
                screen::put(&format!("\r\x1b[K{line}"));
                shown.is_on_terminal = true;
            }
            Form::Json(_) => print_json(&json!({ "files": done, "failed": failed })),
            Form::Lines(_) | Form::Silent => print_message(line),
        }
    }
}
