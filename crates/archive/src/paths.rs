//! Locates the files named in a result, from any directory.

use crate::Archive;
use iosonar_text::shown;
use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};

/// Base of a path of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceOfPath {
    /// The root.
    Root,
    /// The directory in which the run was started.
    Start,
    /// The directory of the result, moved together with the file.
    Result,
    /// The current directory.
    Here,
}

impl Display for PlaceOfPath {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            PlaceOfPath::Root => "as the result names it",
            PlaceOfPath::Start => "in the directory that the run was started in",
            PlaceOfPath::Result => "beside the result",
            PlaceOfPath::Here => "in the current directory",
        })
    }
}

/// A file named in a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// Its path.
    pub path: PathBuf,
    /// Base of the path.
    pub place: PlaceOfPath,
    /// Another file that the result may mean as well.
    pub other: Option<PathBuf>,
}

/// A file that was not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Name in the result.
    pub name: PathBuf,
    /// Places searched.
    pub tried: Vec<(PathBuf, PlaceOfPath)>,
}

impl Display for Missing {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (path, place) = &self.tried[0];
        write!(f, "{}: there is no such file {place}", shown(&path))?;
        for (path, place) in &self.tried[1..] {
            write!(f, ", nor {} {place}", shown(&path))?;
        }
        Ok(())
    }
}

impl std::error::Error for Missing {}

impl Archive {
    /// Finds a file named in the plan. A relative path starts in the directory in which the run was started. If it is
    /// not there, the file was moved together with the result, or is in the current directory.
    ///
    /// # Errors
    /// The file is in none of these places.
    pub fn locate(&self, name: &Path) -> Result<Located, Missing> {
        let mut tried = self.places_of(name);
        let is_there = |(path, _): &&(PathBuf, PlaceOfPath)| path.symlink_metadata().is_ok();
        let mut found = tried.iter().filter(is_there);
        let Some((path, place)) = found.next().cloned() else {
            tried.dedup_by(|a, b| is_same(&a.0, &b.0));
            return Err(Missing { name: name.to_path_buf(), tried });
        };
        let other = found.map(|(other, _)| other).find(|other| !is_same(other, &path)).cloned();
        Ok(Located { path, place, other })
    }

    /// Possible places of a file named in the plan, most likely first.
    fn places_of(&self, name: &Path) -> Vec<(PathBuf, PlaceOfPath)> {
        if name.is_absolute() {
            return vec![(name.to_path_buf(), PlaceOfPath::Root)];
        }
        let here = (name.to_path_buf(), PlaceOfPath::Here);
        let whole = std::path::absolute(self.dir()).unwrap_or_else(|_| self.dir().to_path_buf());
        let beside = whole.parent().map(|parent| (parent.join(name), PlaceOfPath::Result));
        match &self.run().directory {
            Some(start) => {
                let start = (Path::new(start).join(name), PlaceOfPath::Start);
                [start].into_iter().chain(beside).chain([here]).collect()
            }
            // Its name is not UTF-8.
            None => [here].into_iter().chain(beside).collect(),
        }
    }
}

/// Whether two paths denote the same file.
fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => std::path::absolute(one).ok() == std::path::absolute(other).ok(),
    }
}
