//! Asks the kernel about each file, or evicts it.

use super::answer::{Counted, CountedFile};
use super::evicted::{Evicted, EvictedFile};
use super::pages::{NOT_TOLD, Pages};
use super::question::Question;
use super::stays::why_it_stays;
use crate::each_file::visit;
use crate::files::open;
use iosonar_host::Root;
use iosonar_os::page_cache::{self, CachedPages};
use iosonar_runner::Session;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Pages that other CPUs are about to use stay at the first attempt.
const ATTEMPTS: usize = 3;

/// Counts the cached pages of files. A file that fails is reported, and is part of the answer.
pub fn count(session: &Session, question: &Question) -> Counted {
    Counted(visit(session, &question.files, counted))
}

/// Flushes files, removes them from the page cache, and counts their pages again. A file that fails is reported, and is part of the answer.
pub fn evict(session: &Session, question: &Question) -> Evicted {
    Evicted(visit(session, &question.files, evicted))
}

fn counted(path: &Path) -> Result<CountedFile, String> {
    let (file, facts) = open(path)?;
    let pages = Pages::of(&file).map_err(|error| error.to_string())?;
    Ok(CountedFile { path: path.into(), size: facts.len(), pages })
}

fn evicted(path: &Path) -> Result<EvictedFile, String> {
    let (file, facts) = open(path)?;
    let text = |error: std::io::Error| error.to_string();
    let before = Pages::of(&file).map_err(text)?;
    let mut after = before;
    for _ in 0..ATTEMPTS {
        file.sync_all().map_err(|error| format!("cannot be flushed: {error}"))?;
        page_cache::evict(&file).map_err(text)?;
        after = Pages::of(&file).map_err(text)?;
        if !matches!(after, Pages::Known(CachedPages { cached: 1.., .. })) {
            break;
        }
    }
    let reason = match after {
        Pages::Known(CachedPages { cached: 0, .. }) => None,
        Pages::Known(pages) => Some(why_it_stays(&Root::default(), path, facts.ino(), pages)),
        Pages::Unknown => Some(NOT_TOLD.to_string()),
    };
    Ok(EvictedFile { path: path.into(), before, after, reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::each_file::Success;
    use iosonar_runner::Silent;
    use std::sync::Arc;

    fn session() -> Session {
        Session::new(Arc::new(Silent))
    }

    #[test]
    fn a_written_file_is_cached_until_it_is_evicted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, vec![7; 100_000]).unwrap();
        let question = Question { files: vec![folder.path().into()] };
        let before = count(&session(), &question);
        assert_eq!(before.success(), Success::All);
        let (json, text) = (before.to_json(), before.to_string());
        assert_eq!(
            (&json["files"][0]["state"], &json["files"][0]["size_bytes"]),
            (&"cached".into(), &100_000.into())
        );
        assert!(text.contains("\n1 files, ") && text.lines().count() == 3, "{text}");
        let evicted = evict(&session(), &question);
        let name = path.display();
        if evicted.to_string().contains("keeps its files in memory") {
            assert_eq!(evicted.success(), Success::Some, "{evicted}");
            return;
        }
        assert_eq!(evicted.success(), Success::All, "{evicted}");
        let pages = json["total"]["cached_pages"].as_u64().unwrap();
        assert_eq!(evicted.to_string(), format!("{name}: {pages} pages evicted, none stays\n"));
        let after = count(&session(), &question).to_json();
        assert_eq!(
            (&after["files"][0]["state"], &after["total"]["cached_pages"]),
            (&"cold".into(), &0.into())
        );
    }

    #[test]
    fn a_mapped_file_stays() {
        // The kernel maps the executable of this test.
        let own = std::env::current_exe().unwrap();
        let answer = evict(&session(), &Question { files: vec![own] });
        assert_eq!((answer.success(), answer.files()[0].is_cold()), (Success::Some, Some(false)), "{answer}");
        let json = answer.to_json();
        assert_eq!(
            (&json["files"][0]["evicted"], &json["total"]["evicted_files"]),
            (&false.into(), &0.into())
        );
        assert!(answer.to_string().contains(" pages stay: "), "{answer}");
    }

    #[test]
    fn files_that_cannot_be_opened_are_part_of_the_answer() {
        let question = Question { files: vec!["/dev/null".into(), "nowhere".into()] };
        let answer = count(&session(), &question);
        assert_eq!((answer.success(), answer.to_string().as_str()), (Success::None, ""));
        let errors = answer.to_json()["errors"].clone();
        assert_eq!((&errors[0]["path"], &errors[1]["path"]), (&"/dev/null".into(), &"nowhere".into()));
        assert_eq!(evict(&session(), &question).success(), Success::None);
    }
}
