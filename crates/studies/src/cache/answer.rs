//! How many pages of files are in the page cache.

use super::pages::{NOT_TOLD, Pages};
use crate::each_file::{Success, Visited, errors_json};
use iosonar_archive::TOOL;
use iosonar_os::page_cache::page_bytes;
use iosonar_text::shown;
use iosonar_text::units::{bytes, grouped};
use serde_json::{Value, json};
use std::fmt;
use std::path::PathBuf;

/// Version of the JSON.
const VERSION: u32 = 1;

/// Cached pages of files. Its `Display` is a table; empty without files.
#[derive(Debug)]
pub struct Counted(pub(super) Visited<CountedFile>);

/// A file and its cached pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedFile {
    /// As named or found.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// Its pages in the cache.
    pub pages: Pages,
}

impl CountedFile {
    fn all_pages(&self) -> u64 {
        self.size.div_ceil(page_bytes())
    }

    fn state(&self) -> &'static str {
        self.pages.state(self.all_pages())
    }

    fn json(&self) -> Value {
        let mut value = self.pages.json();
        value["path"] = self.path.display().to_string().into();
        value["size_bytes"] = self.size.into();
        value["pages"] = self.all_pages().into();
        value["state"] = self.state().into();
        value
    }
}

impl fmt::Display for CountedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |known: Option<u64>| known.map_or("-".into(), grouped);
        let counts = match self.pages {
            Pages::Known(found) => [Some(found.cached), found.dirty, found.writeback],
            Pages::Unknown => [None; 3],
        };
        let [cached, dirty, writeback] = counts.map(count);
        let (pages, name) = (grouped(self.all_pages()), shown(&self.path));
        write!(f, "{pages:>12} {cached:>12} {dirty:>10} {writeback:>10}  {:<13}  {name}", self.state())
    }
}

impl Counted {
    /// The files, in the order in which they were found, without those that failed.
    pub fn files(&self) -> &[CountedFile] {
        &self.0.found
    }

    /// Files whose pages are unknown.
    fn unknown(&self) -> usize {
        self.files().iter().filter(|file| file.pages == Pages::Unknown).count()
    }

    /// Cached pages of all files.
    fn cached(&self) -> u64 {
        self.files().iter().filter_map(|file| file.pages.known()).map(|pages| pages.cached).sum()
    }

    /// Whether the pages of all files are known.
    pub fn success(&self) -> Success {
        let unknown = self.unknown();
        Success::of(self.files().len() - unknown, self.0.errors.len() + unknown)
    }

    /// The answer as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "version": VERSION,
            "tool": TOOL,
            "page_bytes": page_bytes(),
            "files": self.files().iter().map(CountedFile::json).collect::<Vec<Value>>(),
            "total": {
                "files": self.files().len(),
                "unknown_files": self.unknown(),
                "cached_pages": self.cached(),
            },
            "errors": errors_json(&self.0.errors),
        })
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = self.files();
        if files.is_empty() {
            return Ok(());
        }
        writeln!(f, "       PAGES       CACHED      DIRTY  WRITEBACK  {:<13}  FILE", "STATE")?;
        files.iter().try_for_each(|file| writeln!(f, "{file}"))?;
        let cached = bytes(self.cached() * page_bytes());
        write!(f, "{} files, {cached} cached, in pages of {} bytes", files.len(), page_bytes())?;
        match self.unknown() {
            0 => writeln!(f),
            unknown => writeln!(f, "; of {unknown} files it is unknown: {NOT_TOLD}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_os::page_cache::CachedPages;

    fn file(pages: Pages) -> CountedFile {
        CountedFile { path: "a\nb".into(), size: 10 * page_bytes(), pages }
    }

    fn counted(files: Vec<CountedFile>, failed: usize) -> Counted {
        let errors = vec![("x".to_string(), "why".to_string()); failed];
        Counted(Visited { found: files, errors })
    }

    #[test]
    fn pages_of_other_users_are_unknown_and_no_success() {
        let known = Pages::Known(CachedPages { cached: 3, dirty: Some(1), writeback: None });
        let both = counted(vec![file(known), file(Pages::Unknown)], 0);
        assert_eq!(both.success(), Success::Some);
        let text = both.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "          10            3          1          -  partly cached  a\\nb");
        assert_eq!(lines[2], "          10            -          -          -  unknown        a\\nb");
        assert!(lines[3].ends_with("; of 1 files it is unknown: the kernel tells only the owner of the file and those who may write to it"));
        assert_eq!(both.to_json()["files"][1]["cached_pages"], Value::Null);
        let success = |files, failed| counted(files, failed).success();
        assert_eq!(success(vec![file(Pages::Unknown)], 0), Success::None);
        assert_eq!(success(vec![file(Pages::Unknown)], 1), Success::None);
        assert_eq!(success(vec![file(known)], 1), Success::Some);
        assert_eq!(success(vec![file(known)], 0), Success::All);
        assert_eq!(success(Vec::new(), 0), Success::All);
    }
}
