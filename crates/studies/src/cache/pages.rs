//! Cached pages of a file, where the kernel reports them.

use iosonar_os::page_cache::{CachedPages, cached_pages};
use serde_json::{Value, json};
use std::fs::File;
use std::io::ErrorKind;

/// Why the number of cached pages is unknown.
pub(super) const NOT_TOLD: &str = "the kernel tells only the owner of the file and those who may write to it";

/// Cached pages of a file, where known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// The kernel's counts.
    Known(CachedPages),
    /// The kernel does not answer this user.
    Unknown,
}

impl Pages {
    /// Asks the kernel about an open file.
    pub(super) fn of(file: &File) -> std::io::Result<Pages> {
        match cached_pages(file) {
            Ok(pages) => Ok(Pages::Known(pages)),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(Pages::Unknown),
            Err(error) => Err(error),
        }
    }

    /// The counts; `None` if unknown.
    pub fn known(self) -> Option<CachedPages> {
        match self {
            Pages::Known(pages) => Some(pages),
            Pages::Unknown => None,
        }
    }

    /// `cold` and `cached` only where known. `pages` is the total.
    pub(super) fn state(self, pages: u64) -> &'static str {
        match self.known() {
            None => "unknown",
            Some(CachedPages { cached: 0, .. }) => "cold",
            Some(found) if found.cached < pages => "partly cached",
            Some(_) => "cached",
        }
    }

    /// Its counts, for JSON; each is null if unknown.
    pub(super) fn json(self) -> Value {
        let known = self.known();
        json!({
            "cached_pages": known.map(|pages| pages.cached),
            "dirty_pages": known.and_then(|pages| pages.dirty),
            "writeback_pages": known.and_then(|pages| pages.writeback),
        })
    }
}
