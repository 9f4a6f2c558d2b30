//! `iosonar layout`: where the blocks of files are, where space is free, and which of them are in the page cache.

mod cached;
mod evict;
mod files;
mod free;
mod latency;
mod map;
mod picture;
mod pictures;
mod run;

use crate::args::cache::Cache;
use crate::args::common::ProgressArgs;
use crate::args::layout::{Layout, LayoutArgs};
use crate::exit::{Exit, Failure};
use crate::output::{print_json, print_message};
use crate::progress::Form;
use crate::screen;
use files::Walk;
use iosonar_text::shown;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Name and version of the program, for JSON.
const TOOL: &str = concat!("iosonar ", env!("CARGO_PKG_VERSION"));

/// Examines the layout of files.
pub fn layout(args: &LayoutArgs) -> Result<Exit, Failure> {
    match &args.what {
        Layout::Run(args) => run::run(args),
        Layout::Map(args) => map::map(args),
        Layout::Free(args) => free::free(args),
        Layout::Latency(args) => latency::latency(args),
    }
}

/// Evicts files from the page cache, or counts their pages there.
pub fn cache(args: &Cache) -> Result<Exit, Failure> {
    match args {
        Cache::Evict(args) => evict::evict(args),
        Cache::Count(args) => cached::cached(args),
    }
}

/// Results for the files of a command.
struct Visited<T> {
    /// Results of the successful files, in the order in which they were found.
    found: Vec<T>,
    /// The failed files, and why. Each was reported already.
    errors: Vec<(String, String)>,
}

/// Calls `work` for each file, reports failures, continues with the others, and shows progress.
fn visit<T>(
    named: &[PathBuf],
    progress: &ProgressArgs,
    mut work: impl FnMut(&Path) -> Result<T, String>,
) -> Visited<T> {
    let mut visited = Visited { found: Vec::new(), errors: Vec::new() };
    let mut ticker = Ticker::of(progress);
    for file in Walk::of(named) {
        let done = file.and_then(|path| work(&path).map_err(|error| (path, error)));
        match done {
            Ok(found) => visited.found.push(found),
            Err((path, error)) => {
                ticker.clear();
                print_message(format_args!("iosonar: {}: {error}", shown(&path)));
                visited.errors.push((path.display().to_string(), error));
            }
        }
        ticker.tick(visited.found.len(), visited.errors.len());
    }
    ticker.clear();
    visited
}

impl<T> Visited<T> {
    /// 2 if every file failed, 1 if some did.
    fn exit(&self) -> Exit {
        match (self.found.is_empty(), self.errors.is_empty()) {
            (_, true) => Exit::Fine,
            (true, false) => Exit::Refused,
            (false, false) => Exit::Failed,
        }
    }

    /// Paths and reasons, for JSON.
    fn errors_json(&self) -> Vec<serde_json::Value> {
        self.errors.iter().map(|(path, error)| json!({ "path": path, "error": error })).collect()
    }
}

/// No progress before this time: most commands have ended by then.
const SHORT: Duration = Duration::from_secs(1);

/// Shows the number of finished files at intervals.
struct Ticker {
    form: Form,
    every: Option<Duration>,
    next: Instant,
    is_shown: bool,
}

impl Ticker {
    fn of(progress: &ProgressArgs) -> Ticker {
        let form = Form::of(progress);
        let first = if form == Form::Rewritten { SHORT } else { form.every().unwrap_or(SHORT).max(SHORT) };
        Ticker { form, every: form.every(), next: Instant::now() + first, is_shown: false }
    }

    fn tick(&mut self, done: usize, failed: usize) {
        let Some(every) = self.every.filter(|_| Instant::now() >= self.next) else { return };
        self.next = Instant::now() + every;
        let failures = if failed == 0 { String::new() } else { format!(", {failed} failed") };
        let line = format!("{done} files{failures}");
        match self.form {
            Form::Rewritten => {
                screen::put(&format!("\r\x1b[K{line}"));
                self.is_shown = true;
            }
            Form::Json(_) => print_json(&json!({ "files": done, "failed": failed })),
            Form::Lines(_) | Form::Silent => print_message(line),
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            screen::put("\r\x1b[K");
        }
    }
}
