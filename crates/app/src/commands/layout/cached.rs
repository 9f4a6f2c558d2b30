//! `iosonar cache count`: the share of files in the page cache.

use super::files::open;
use super::{TOOL, visit};
use crate::args::layout::CachedArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use iosonar_os::page_cache::{CachedPages, cached_pages, page_bytes};
use iosonar_text::shown;
use iosonar_text::units::grouped;
use serde_json::{Value, json};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Version of the JSON.
const VERSION: u32 = 1;

/// Why the number of cached pages is unknown.
pub const NOT_TOLD: &str = "the kernel tells only the owner of the file and those who may write to it";

/// Cached pages of a file, where known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The kernel's counts.
    Known(CachedPages),
    /// The kernel does not answer this user.
    Unknown,
}

impl Answer {
    /// Asks the kernel about an open file.
    pub fn of(file: &File) -> std::io::Result<Answer> {
        match cached_pages(file) {
            Ok(pages) => Ok(Answer::Known(pages)),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(Answer::Unknown),
            Err(error) => Err(error),
        }
    }

    /// `cold` and `cached` only where known. `pages` is the total.
    fn state(self, pages: u64) -> &'static str {
        match self {
            Answer::Unknown => "unknown",
            Answer::Known(CachedPages { cached: 0, .. }) => "cold",
            Answer::Known(found) if found.cached < pages => "partly cached",
            Answer::Known(_) => "cached",
        }
    }

    /// Its counts, for JSON; each is null if unknown.
    pub fn json(self) -> Value {
        let known = match self {
            Answer::Known(pages) => Some(pages),
            Answer::Unknown => None,
        };
        json!({
            "cached_pages": known.map(|pages| pages.cached),
            "dirty_pages": known.and_then(|pages| pages.dirty),
            "writeback_pages": known.and_then(|pages| pages.writeback),
        })
    }
}

/// A file and its cached pages.
struct Residency {
    path: PathBuf,
    size: u64,
    answer: Answer,
}

impl Residency {
    fn of(path: &Path) -> Result<Residency, String> {
        let (file, facts) = open(path)?;
        let answer = Answer::of(&file).map_err(|error| error.to_string())?;
        Ok(Residency { path: path.into(), size: facts.len(), answer })
    }

    fn pages(&self) -> u64 {
        self.size.div_ceil(page_bytes())
    }

    fn state(&self) -> &'static str {
        self.answer.state(self.pages())
    }

    fn json(&self) -> Value {
        let mut value = self.answer.json();
        value["path"] = self.path.display().to_string().into();
        value["size_bytes"] = self.size.into();
        value["pages"] = self.pages().into();
        value["state"] = self.state().into();
        value
    }

    fn line(&self) -> String {
        let count = |known: Option<u64>| known.map_or("-".into(), grouped);
        let counts = match self.answer {
            Answer::Known(found) => [Some(found.cached), found.dirty, found.writeback],
            Answer::Unknown => [None; 3],
        };
        let [cached, dirty, writeback] = counts.map(count);
        let (pages, name) = (grouped(self.pages()), shown(&self.path));
        format!("{pages:>12} {cached:>12} {dirty:>10} {writeback:>10}  {:<13}  {name}\n", self.state())
    }
}

/// Prints the cached pages of files.
pub fn cached(args: &CachedArgs) -> Result<Exit, Failure> {
    let visited = visit(&args.files, &args.progress, Residency::of);
    let found = &visited.found;
    let known = found.iter().filter_map(|file| match file.answer {
        Answer::Known(pages) => Some(pages),
        Answer::Unknown => None,
    });
    let (files, cached) = known.fold((0, 0), |(n, sum), pages| (n + 1, sum + pages.cached));
    let unknown = found.len() - files;
    if args.json {
        let value = json!({
            "version": VERSION,
            "tool": TOOL,
            "page_bytes": page_bytes(),
            "files": found.iter().map(Residency::json).collect::<Vec<Value>>(),
            "total": { "files": found.len(), "unknown_files": unknown, "cached_pages": cached },
            "errors": visited.errors_json(),
        });
        print(&format!("{value:#}\n"))?;
    } else if !found.is_empty() {
        print(&text(found, unknown, cached))?;
    }
    Ok(match visited.exit() {
        Exit::Fine | Exit::Failed if files == 0 && unknown > 0 => Exit::Refused,
        Exit::Fine if unknown > 0 => Exit::Failed,
        exit => exit,
    })
}

fn text(found: &[Residency], unknown: usize, cached: u64) -> String {
    let mut text = format!("       PAGES       CACHED      DIRTY  WRITEBACK  {:<13}  FILE\n", "STATE");
    found.iter().for_each(|file| text += &file.line());
    let bytes = iosonar_text::units::bytes(cached * page_bytes());
    text += &format!("{} files, {bytes} cached, in pages of {} bytes", found.len(), page_bytes());
    if unknown > 0 {
        text += &format!("; of {unknown} files it is unknown: {NOT_TOLD}");
    }
    text + "\n"
}
