//! Where the targets of a run are now.

use super::question::Question;
use iosonar_archive::{Archive, Located, PlaceOfPath};
use iosonar_runner::{Error, Notice, Session};
use iosonar_text::shown;
use std::path::{Path, PathBuf};

/// Present paths of a run's targets.
pub struct Targets {
    /// By their number in the plan; `None`: on another machine.
    pub paths: Vec<Option<PathBuf>>,
    /// Why a target was not found. That matters only if the result can be verified.
    pub missing: Option<String>,
}

impl Targets {
    /// Finds the targets of a result.
    pub fn find(session: &Session, archive: &Archive, question: &Question) -> Result<Targets, Error> {
        let known: Vec<&Path> = archive.plan().targets.iter().map(|target| target.path.as_path()).collect();
        if let Some((old, new)) = question
            .moved
            .iter()
            .find(|(old, _)| !known.iter().any(|path| path.as_os_str() == old.as_os_str()))
        {
            let known: Vec<String> = known.iter().map(|path| shown(path).to_string()).collect();
            return Err(Error::refused_because(format_args!(
                "--target {}={}: the run has no target {}; it has {}",
                shown(old),
                shown(new),
                shown(old),
                known.join(", ")
            )));
        }
        let mut found = Targets { paths: Vec::new(), missing: None };
        for (number, path) in known.into_iter().enumerate() {
            if question.only.as_ref().is_some_and(|only| !only.contains(&(number as u16))) {
                found.paths.push(None);
                continue;
            }
            let moved = question.moved.iter().rfind(|(old, _)| old.as_os_str() == path.as_os_str());
            let present = match moved {
                Some((_, new)) => Ok(new.clone()),
                None => find(session, archive, path),
            };
            found.paths.push(Some(present.unwrap_or_else(|why| {
                found.missing.get_or_insert(why);
                path.to_path_buf()
            })));
        }
        Ok(found)
    }
}

/// Finds a target that was not named, and reports the file used if that may be unclear.
fn find(session: &Session, archive: &Archive, target: &Path) -> Result<PathBuf, String> {
    let name = shown(target);
    let Located { path, place, other } = archive
        .locate(target)
        .map_err(|missing| format!("{missing}; if its data is elsewhere, give --target {name}=FILE"))?;
    let report = |text: String| session.observer.notice(&Notice::Target(&text));
    if place != PlaceOfPath::Root && (!is_here(&path, target) || other.is_some()) {
        report(format!("verify: target {name} is {}, {place}", shown(&path)));
    }
    if let Some(other) = other {
        let other = shown(&other);
        report(format!("verify: {other} is another file of this name; to read it: --target {name}={other}"));
    }
    Ok(path)
}

/// Whether a name leads to a path from the current directory.
fn is_here(path: &Path, name: &Path) -> bool {
    path.canonicalize().ok() == name.canonicalize().ok()
}
