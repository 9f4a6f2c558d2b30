//! The prefix below which `/proc` and `/sys` are read.

use crate::Fact;
use crate::kernel_fs::{self, KernelFs};
use iosonar_text::shown;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

/// Where `/proc`, `/sys`, `/etc` and `/run` are looked for: below `/`, or below a tree that a test made.
#[derive(Debug, Clone)]
pub struct Root {
    prefix: PathBuf,
    /// Answers that were given, of a root that remembers them.
    memory: Option<Arc<Memory>>,
}

impl PartialEq for Root {
    fn eq(&self, other: &Root) -> bool {
        self.prefix == other.prefix
    }
}

impl Eq for Root {}

/// What was read. Errors are their numbers.
#[derive(Debug, Default)]
struct Memory {
    texts: Mutex<HashMap<PathBuf, Result<String, i32>>>,
    lists: Mutex<HashMap<PathBuf, Result<Vec<String>, i32>>>,
    real: Mutex<HashMap<PathBuf, Result<PathBuf, i32>>>,
}

/// Asks once for each path.
fn once<T: Clone>(
    known: &Mutex<HashMap<PathBuf, Result<T, i32>>>,
    path: &Path,
    ask: impl FnOnce(&Path) -> io::Result<T>,
) -> io::Result<T> {
    /// An answer without a number: no such file, as all that leads out of the root.
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

    /// The same root, which reads each file, directory and link once and answers the same from then on: for one look at thousands
    /// of targets. Not for the guard, which needs what is true now.
    #[must_use]
    pub fn remembering(&self) -> Self {
        Self { prefix: self.prefix.clone(), memory: Some(Arc::default()) }
    }

    /// Whether this is the machine itself: only then is it right to ask the kernel by other means than files.
    pub fn is_real(&self) -> bool {
        self.prefix == Path::new("/")
    }

    /// Where the file with the absolute path `path` lies.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.prefix.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Content of a file, without white space and NUL bytes at its end.
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

    /// Content of a file as a fact: the reason for its absence names the path.
    pub fn fact(&self, path: impl AsRef<Path>) -> Fact<String> {
        let path = path.as_ref();
        match self.read(path) {
            Ok(text) if text.is_empty() => Fact::absent(format!("{} is empty", shown(&path))),
            Ok(text) => Fact::Known(text),
            Err(error) => Fact::absent(format!("{}: {error}", shown(&path))),
        }
    }

    /// Names in a directory, in order.
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

    /// Text of a symbolic link.
    ///
    /// # Errors
    /// Those of readlink(2).
    pub fn link(&self, path: impl AsRef<Path>) -> io::Result<PathBuf> {
        fs::read_link(self.path(path))
    }

    /// Whether there is such a file.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).exists()
    }

    /// Makes sure that the kernel answers at `path`: the path exists, and no other file system covers it. A tree that a
    /// test made has no such file systems; there the path has to exist.
    ///
    /// # Errors
    /// Those of statfs(2), and a path that another file system holds.
    pub(crate) fn require(&self, path: impl AsRef<Path>, held_by: KernelFs) -> io::Result<()> {
        let found = kernel_fs::holding(&self.path(path))?;
        if self.is_real() && found != Some(held_by.name()) {
            return Err(io::Error::other(format!("{} is not mounted there", held_by.name())));
        }
        Ok(())
    }

    /// Absolute path, below this root, with every symbolic link followed.
    ///
    /// # Errors
    /// Those of realpath(3), and `NotFound` where a link leads out of the root.
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
