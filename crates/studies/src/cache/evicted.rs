//! Which files left the page cache.

use super::pages::Pages;
use crate::each_file::{Success, Visited, errors_json};
use iosonar_archive::TOOL;
use iosonar_os::page_cache::{CachedPages, page_bytes};
use iosonar_text::units::grouped;
use iosonar_text::{one_line, shown};
use serde_json::{Value, json};
use std::fmt;
use std::path::PathBuf;

/// Version of the JSON.
const VERSION: u32 = 1;

/// Evicted files. Its `Display` is a line for each.
#[derive(Debug)]
pub struct Evicted(pub(super) Visited<EvictedFile>);

/// Pages of a file before and after its eviction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvictedFile {
    /// As named or found.
    pub path: PathBuf,
    /// Its pages in the cache before.
    pub before: Pages,
    /// Its pages in the cache after.
    pub after: Pages,
    /// Why pages stay, or why it is unknown.
    pub reason: Option<String>,
}

impl EvictedFile {
    /// Whether no page is cached any more; `None` if unknown.
    pub fn is_cold(&self) -> Option<bool> {
        self.after.known().map(|pages| pages.cached == 0)
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
}

impl fmt::Display for EvictedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = shown(&self.path);
        let reason = self.reason.as_ref().map(|reason| format!(": {}", one_line(reason)));
        let reason = reason.unwrap_or_default();
        match (self.before, self.after) {
            (_, Pages::Unknown) => {
                write!(f, "{name}: flushed and evicted; unknown whether pages stay{reason}")
            }
            (Pages::Known(before), Pages::Known(CachedPages { cached: 0, .. })) => {
                write!(f, "{name}: {} pages evicted, none stays", grouped(before.cached))
            }
            (_, Pages::Known(after)) => write!(f, "{name}: {} pages stay{reason}", grouped(after.cached)),
        }
    }
}

impl Evicted {
    /// The files, in the order in which they were found, without those that failed.
    pub fn files(&self) -> &[EvictedFile] {
        &self.0.found
    }

    fn cold(&self) -> usize {
        self.files().iter().filter(|file| file.is_cold() == Some(true)).count()
    }

    /// Whether all files were flushed and evicted, and none is known or suspected to have pages in the cache.
    pub fn success(&self) -> Success {
        match Success::of(self.files().len(), self.0.errors.len()) {
            Success::All if self.cold() < self.files().len() => Success::Some,
            other => other,
        }
    }

    /// The answer as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "version": VERSION,
            "tool": TOOL,
            "page_bytes": page_bytes(),
            "files": self.files().iter().map(EvictedFile::json).collect::<Vec<Value>>(),
            "total": { "files": self.files().len(), "evicted_files": self.cold() },
            "errors": errors_json(&self.0.errors),
        })
    }
}

impl fmt::Display for Evicted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files().iter().try_for_each(|file| writeln!(f, "{file}"))
    }
}
