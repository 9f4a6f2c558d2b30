//! The prefix below which `/proc` and `/sys` are read.

use crate::Fact;
use crate::kernel_fs::{self, KernelFs};
use iosonar_text::shown;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

/// Parent of `/proc`, `/sys`, `/etc` and `/run`: `/`, or a tree made by a test.
#[derive(Debug, Clone)]
pub struct Root {
    prefix: PathBuf,
    /// Cached results, if this root caches.
    memory: Option<Arc<Memory>>,
}

impl PartialEq for Root {
    fn eq(&self, other: &Root) -> bool {
        self.prefix == other.prefix
    }
}

impl Eq for Root {}

/// Cached results. Errors are stored as errno.
#[derive(Debug, Default)]
struct Memory {
    texts: Mutex<HashMap<PathBuf, Result<String, i32>>>,
    lists: Mutex<HashMap<PathBuf, Result<Vec<String>, i32>>>,
    real: Mutex<HashMap<PathBuf, Result<PathBuf, i32>>>,
}

/// Reads each path once.
fn once<T: Clone>(
    known: &Mutex<HashMap<PathBuf, Result<T, i32>>>,
    path: &Path,
    ask: impl FnOnce(&Path) -> io::Result<T>,
) -> io::Result<T> {
    /// Errors without errno: no such file, as for all paths that leave the root.
    const ENOENT: i32 = 2;
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(answer) = known.get(path) {
        return answer.clone().map_err(io::Error::from_raw_os_error);
    }
    let answer = ask(path);
    let kept = answer.as_ref().map_err(|error| error.raw_os_error().unwrap_or(ENOENT));
    known.insert(path.to_owned(), kept.cloned());
    answer
}

impl Default for Root {
    fn default() -> Self {
        Self::new("/")
    }
}

impl Root {
    /// A tree below `prefix`.
    pub fn new(prefix: impl Into<PathBuf>) -> Self {
        Self { prefix: prefix.into(), memory: None }
    }

    /// The same root, which reads each file, directory and link once and then returns the cached result: for inspecting
    /// thousands of targets. Not for the guard, which needs the current state.
    #[must_use]
    pub fn remembering(&self) -> Self {
        Self { prefix: self.prefix.clone(), memory: Some(Arc::default()) }
    }

    /// Whether this is the machine itself: only then may the kernel be asked by other means than files.
    pub fn is_real(&self) -> bool {
        self.prefix == Path::new("/")
    }

    /// Real path of the absolute path `path`.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.prefix.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Content of a file, without trailing white space and NUL bytes.
    ///
    /// # Errors
    /// Those of open(2) and read(2).
    pub fn read(&self, path: impl AsRef<Path>) -> io::Result<String> {
        let read = |path: &Path| {
            let bytes = fs::read(self.path(path))?;
            let text = String::from_utf8_lossy(&bytes);
            Ok(text.trim_end_matches(|c: char| c.is_whitespace() || c == '\0').to_owned())
        };
        match &self.memory {
            Some(memory) => once(&memory.texts, path.as_ref(), read),
            None => read(path.as_ref()),
        }
    }

    /// Content of a file as a fact; if absent, the reason names the path.
    pub fn fact(&self, path: impl AsRef<Path>) -> Fact<String> {
        let path = path.as_ref();
        match self.read(path) {
            Ok(text) if text.is_empty() => Fact::absent(format!("{} is empty", shown(&path))),
            Ok(text) => Fact::Known(text),
            Err(error) => Fact::absent(format!("{}: {error}", shown(&path))),
        }
    }

    /// Sorted names in a directory.
    ///
    /// # Errors
    /// Those of opening and reading a directory.
    pub fn list(&self, path: impl AsRef<Path>) -> io::Result<Vec<String>> {
        let list = |path: &Path| {
            let mut names = fs::read_dir(self.path(path))?
                .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
                .collect::<io::Result<Vec<_>>>()?;
            names.sort();
            Ok(names)
        };
        match &self.memory {
            Some(memory) => once(&memory.lists, path.as_ref(), list),
            None => list(path.as_ref()),
        }
    }

    /// Target of a symbolic link.
    ///
    /// # Errors
    /// Those of readlink(2).
    pub fn link(&self, path: impl AsRef<Path>) -> io::Result<PathBuf> {
        fs::read_link(self.path(path))
    }

    /// Whether the file exists.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).exists()
    }

    /// Verifies that the kernel answers at `path`: the path exists, and no other file system covers it. A tree made by
    /// a test has no such file systems; there the path must exist.
    ///
    /// # Errors
    /// Those of statfs(2), and a path on another file system.
    pub(crate) fn require(&self, path: impl AsRef<Path>, held_by: KernelFs) -> io::Result<()> {
        let found = kernel_fs::holding(&self.path(path))?;
        if self.is_real() && found != Some(held_by.name()) {
            return Err(io::Error::other(format!("{} is not mounted there", held_by.name())));
        }
        Ok(())
    }

    /// Absolute path, below this root, with all symbolic links resolved.
    ///
    /// # Errors
    /// Those of realpath(3), and `NotFound` if a link leaves the root.
    pub fn resolve(&self, path: impl AsRef<Path>) -> io::Result<PathBuf> {
        let resolve = |path: &Path| {
            let real = fs::canonicalize(self.path(path))?;
            let inside = real
                .strip_prefix(fs::canonicalize(&self.prefix)?)
                .map_err(|_| io::Error::from(io::ErrorKind::NotFound))?;
            Ok(Path::new("/").join(inside))
        };
        match &self.memory {
            Some(memory) => once(&memory.real, path.as_ref(), resolve),
            None => resolve(path.as_ref()),
        }
    }
}
