//! `iosonar cache evict`: removes files from the page cache, and verifies it.

use super::cached::{Answer, NOT_TOLD};
use super::files::open;
use super::{TOOL, visit};
use crate::args::layout::EvictArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use iosonar_host::{Fact, Root, file_system_of};
use iosonar_os::page_cache::{self, CachedPages, page_bytes};
use iosonar_text::shown;
use iosonar_text::units::grouped;
use serde_json::{Value, json};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Version of the JSON.
const VERSION: u32 = 1;
/// Pages that other CPUs are about to use stay at the first attempt.
const ATTEMPTS: usize = 3;

/// Result for a file.
struct Eviction {
    path: PathBuf,
    before: Answer,
    after: Answer,
    /// Why pages stay, or why it is unknown.
    reason: Option<String>,
}

/// Evicts files.
pub fn evict(args: &EvictArgs) -> Result<Exit, Failure> {
    let visited = visit(&args.files, &args.progress, Eviction::of);
    let found = &visited.found;
    let evicted = found.iter().filter(|file| file.is_cold() == Some(true)).count();
    if args.json {
        let value = json!({
            "version": VERSION,
            "tool": TOOL,
            "page_bytes": page_bytes(),
            "files": found.iter().map(Eviction::json).collect::<Vec<Value>>(),
            "total": { "files": found.len(), "evicted_files": evicted },
            "errors": visited.errors_json(),
        });
        print(&format!("{value:#}\n"))?;
    } else {
        found.iter().try_for_each(|file| print(&file.line()))?;
    }
    Ok(match visited.exit() {
        Exit::Fine if evicted < found.len() => Exit::Failed,
        exit => exit,
    })
}

impl Eviction {
    /// Flushes, evicts, and counts.
    fn of(path: &Path) -> Result<Eviction, String> {
        let (file, facts) = open(path)?;
        let text = |error: std::io::Error| error.to_string();
        let before = Answer::of(&file).map_err(text)?;
        let mut after = before;
        for _ in 0..ATTEMPTS {
            file.sync_all().map_err(|error| format!("cannot be flushed: {error}"))?;
            page_cache::evict(&file).map_err(text)?;
            after = Answer::of(&file).map_err(text)?;
            if !matches!(after, Answer::Known(CachedPages { cached: 1.., .. })) {
                break;
            }
        }
        let reason = match after {
            Answer::Known(CachedPages { cached: 0, .. }) => None,
            Answer::Known(pages) => Some(why_it_stays(path, facts.ino(), pages)),
            Answer::Unknown => Some(NOT_TOLD.to_string()),
        };
        Ok(Eviction { path: path.into(), before, after, reason })
    }

    /// Whether no page is cached any more; `None` if unknown.
    fn is_cold(&self) -> Option<bool> {
        match self.after {
            Answer::Known(pages) => Some(pages.cached == 0),
            Answer::Unknown => None,
        }
    }

    fn json(&self) -> Value {
        json!({
            "path": self.path.display().to_string(),
            "before": self.before.json(),
            "after": self.after.json(),
            "evicted": self.is_cold(),
            "reason": self.reason,
        })
    }

    fn line(&self) -> String {
        let name = shown(&self.path);
        let reason = self.reason.as_ref().map(|reason| format!(": {}", iosonar_text::one_line(reason)));
        let reason = reason.unwrap_or_default();
        match (self.before, self.after) {
            (_, Answer::Unknown) => {
                format!("{name}: flushed and evicted; unknown whether pages stay{reason}\n")
            }
            (Answer::Known(before), Answer::Known(CachedPages { cached: 0, .. })) => {
                format!("{name}: {} pages evicted, none stays\n", grouped(before.cached))
            }
            (_, Answer::Known(after)) => format!("{name}: {} pages stay{reason}\n", grouped(after.cached)),
        }
    }
}

/// The reason, as far as it can be found.
fn why_it_stays(path: &Path, inode: u64, pages: CachedPages) -> String {
    if let Fact::Known(found) = file_system_of(path, &Root::default())
        && ["tmpfs", "ramfs"].contains(&found.kind.as_str())
    {
        return format!("{} keeps its files in memory", found.kind);
    }
    if pages.dirty.unwrap_or(0) + pages.writeback.unwrap_or(0) > 0 {
        return "it is being written".into();
    }
    match mapped_by(path, inode) {
        Some(process) => format!("mapped by {process}"),
        None => "mapped or in use by a process that this user cannot see, or by the kernel".into(),
    }
}

/// A process that has mapped the file, with its name, among those whose maps this user may read.
fn mapped_by(path: &Path, inode: u64) -> Option<String> {
    let root = Root::default();
    let resolved = path.canonicalize().ok()?;
    // `start-end rwxp offset device inode path`: on btrfs the device is not that of stat(2), so the path decides.
    let maps_it = |text: &String| {
        text.lines().any(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            fields.get(4).and_then(|field| field.parse().ok()) == Some(inode)
                && line.ends_with(&*resolved.to_string_lossy())
        })
    };
    let pids = root.list("/proc").ok()?.into_iter().filter(|name| name.parse::<u32>().is_ok());
    let mut processes =
        pids.filter(|pid| root.read(format!("/proc/{pid}/maps")).is_ok_and(|text| maps_it(&text)));
    let pid = processes.next()?;
    let name = root.read(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(format!("process {pid} ({})", name.trim()))
}
