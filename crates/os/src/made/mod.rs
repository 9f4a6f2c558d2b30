//! Files, mounts and devices that this process has made, and their removal: the only place in the product that removes files and
//! directories, unmounts file systems and detaches loop devices.
//!
//! A name proves nothing: while a command runs, another process may move a file away and put another one in its place. So each
//! thing is known by an identity that the kernel gives it once (device, inode and time of birth; id of a mount; backing file of a
//! loop device), and a removal that meets something else under the name leaves it and reports an error.
//!
//! Between the check and the removal lies one system call: the kernel has none that removes by identity.

mod loop_device;
mod mount;
mod own_dir;
mod tree;

pub use loop_device::MadeLoop;
pub use mount::{MadeMount, Unmount};
pub use own_dir::{Leftover, MARK, OwnDir, leftovers};

use rustix::fd::AsFd;
use rustix::fs::{AtFlags, CWD, Statx, StatxFlags};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Identity of a file or directory: no other file has it, neither now nor later.
///
/// An inode number is used again after its file has gone; the time of birth distinguishes the two. Without it, device and inode
/// have to suffice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId {
    device: (u32, u32),
    inode: u64,
    born_ns: Option<i64>,
}

impl FileId {
    /// Identity of the file with this name; a symbolic link is not followed.
    ///
    /// # Errors
    /// Those of statx(2), `NotFound` among them.
    pub fn of_path(path: &Path) -> io::Result<FileId> {
        Ok(FileId::from(rustix::fs::statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, wanted())?))
    }

    /// Identity of an open file.
    ///
    /// # Errors
    /// Those of statx(2).
    pub fn of(file: impl AsFd) -> io::Result<FileId> {
        Ok(FileId::from(rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, wanted())?))
    }

    /// Whether both are the same file of one file system, ignoring the device number: that may change when the file system is
    /// mounted again.
    pub fn is_same_inode(&self, other: &FileId) -> bool {
        (self.inode, self.born_ns) == (other.inode, other.born_ns)
    }
}

fn wanted() -> StatxFlags {
    StatxFlags::BASIC_STATS | StatxFlags::BTIME
}

impl From<Statx> for FileId {
    fn from(answer: Statx) -> FileId {
        let has_birth = answer.stx_mask & StatxFlags::BTIME.bits() != 0;
        let born = answer.stx_btime;
        let born_ns = born.tv_sec.saturating_mul(1_000_000_000).saturating_add(born.tv_nsec.into());
        FileId {
            device: (answer.stx_dev_major, answer.stx_dev_minor),
            inode: answer.stx_ino,
            born_ns: has_birth.then_some(born_ns),
        }
    }
}

/// `major:minor inode born`, with `-` for a birth that is not known.
impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} {} ", self.device.0, self.device.1, self.inode)?;
        match self.born_ns {
            Some(born) => write!(f, "{born}"),
            None => f.write_str("-"),
        }
    }
}

/// A text that is no identity of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseFileIdError;

impl FromStr for FileId {
    type Err = ParseFileIdError;

    fn from_str(text: &str) -> Result<FileId, ParseFileIdError> {
        let parse = || {
            let mut words = text.split(' ');
            let (major, minor) = words.next()?.split_once(':')?;
            let inode = words.next()?.parse().ok()?;
            let born = words.next()?;
            let born_ns = if born == "-" { None } else { Some(born.parse().ok()?) };
            let device = (major.parse().ok()?, minor.parse().ok()?);
            words.next().is_none().then_some(FileId { device, inode, born_ns })
        };
        parse().ok_or(ParseFileIdError)
    }
}

/// A file or directory that this process has made. [`Made::remove`] is the only way to remove one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    path: PathBuf,
    id: FileId,
}

impl Made {
    /// A file or directory that the caller has just created exclusively, and has open as `file`.
    ///
    /// # Errors
    /// Its identity cannot be read.
    pub fn created(path: &Path, file: impl AsFd) -> io::Result<Made> {
        Ok(Made { path: path.to_path_buf(), id: FileId::of(file)? })
    }

    /// A file or directory that the caller has proved to be the program's own, by its content or by a note of another process of
    /// the program. `proof` describes how; it is for the reader of the code.
    ///
    /// # Errors
    /// No file has that name, or its identity cannot be read.
    pub fn proved(path: &Path, proof: &'static str) -> io::Result<Made> {
        debug_assert!(!proof.is_empty());
        Ok(Made { path: path.to_path_buf(), id: FileId::of_path(path)? })
    }

    /// A file or directory that the user has named, with a request to remove it; the caller has it open as `file`. `permission`
    /// names the option; it is for the reader of the code.
    ///
    /// # Errors
    /// Its identity cannot be read.
    pub fn permitted(path: &Path, file: impl AsFd, permission: &'static str) -> io::Result<Made> {
        debug_assert!(!permission.is_empty());
        Made::created(path, file)
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its identity.
    pub fn id(&self) -> FileId {
        self.id
    }

    /// Whether its name still leads to it.
    pub fn is_there(&self) -> bool {
        FileId::of_path(&self.path).is_ok_and(|id| id == self.id)
    }

    /// Removes the file, or the directory if it is empty. A missing one is no error.
    ///
    /// # Errors
    /// Something else has the name by now: it stays. Else those of unlink(2) and rmdir(2).
    pub fn remove(&self) -> io::Result<()> {
        let Some(found) = self.found()? else { return Ok(()) };
        gone(if found.is_dir() { fs::remove_dir(&self.path) } else { fs::remove_file(&self.path) })
    }

    /// Removes the directory with everything in it that `is_own` accepts, by its path below the directory. It stays where
    /// anything else is in it. Nothing of another mount is removed, and no symbolic link is followed.
    ///
    /// # Errors
    /// Something else has the name by now: it stays. Else those of unlink(2) and rmdir(2), `DirectoryNotEmpty` among them.
    pub fn remove_tree(&self, is_own: &dyn Fn(&Path) -> bool) -> io::Result<()> {
        if self.found()?.is_none() {
            return Ok(());
        }
        tree::remove(self, is_own)
    }

    /// Metadata of the file under its name; `None` if there is no such file.
    fn found(&self) -> io::Result<Option<fs::Metadata>> {
        match FileId::of_path(&self.path) {
            Ok(id) if id == self.id => Ok(fs::symlink_metadata(&self.path).ok()),
            Ok(_) => Err(io::Error::other("it is another file by now, so it was not removed")),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A missing file needs no removal.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Everything below a directory of [`Made::remove_tree`].
pub fn everything(_: &Path) -> bool {
    true
}

/// Things that are removed in reverse order when this is dropped, unless they are kept.
#[derive(Debug, Default)]
pub struct Undo(Vec<Made>);

impl Undo {
    /// Adds something that was made later than all others.
    pub fn push(&mut self, made: Made) {
        self.0.push(made);
    }

    /// Keeps everything.
    pub fn keep(mut self) -> Vec<Made> {
        std::mem::take(&mut self.0)
    }
}

impl From<Vec<Made>> for Undo {
    fn from(made: Vec<Made>) -> Undo {
        Undo(made)
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        // Ignore removal errors; the error that ends the command matters more.
        self.0.iter().rev().for_each(|made| drop(made.remove()));
    }
}

/// Creates a file for reading and writing (`O_EXCL`).
///
/// # Errors
/// `AlreadyExists` for anything with that name, a symbolic link too.
pub fn new_file(path: &Path) -> io::Result<(File, Made)> {
    let file = crate::create::new_file(path)?;
    let made = Made::created(path, &file)?;
    Ok((file, made))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_only_the_file_that_was_made() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let (file, made) = new_file(&path).unwrap();
        assert!(made.is_there());
        fs::rename(&path, dir.path().join("moved")).unwrap();
        made.remove().unwrap();
        fs::write(&path, "somebody's").unwrap();
        assert!(made.remove().unwrap_err().to_string().contains("another file"));
        assert_eq!(fs::read(&path).unwrap(), b"somebody's");
        fs::rename(dir.path().join("moved"), &path).unwrap();
        made.remove().unwrap();
        made.remove().unwrap();
        assert!(!path.exists());
        drop(file);
    }

    #[test]
    fn distinguishes_files_with_a_reused_inode() {
        let dir = tempfile::tempdir_in(".").unwrap();
        let path = dir.path().join("f");
        let made = new_file(&path).unwrap().1;
        for _ in 0..20 {
            fs::remove_file(&path).unwrap();
            // The clock of births has the resolution of a tick.
            std::thread::sleep(std::time::Duration::from_millis(11));
            fs::write(&path, "somebody's").unwrap();
            if FileId::of_path(&path).unwrap().born_ns.is_some() {
                assert!(!made.is_there());
            }
        }
    }

    #[test]
    fn keeps_symlink_that_replaced_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("f"), dir.path().join("other"));
        let made = new_file(&path).unwrap().1;
        fs::rename(&path, &other).unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        assert!(made.remove().is_err());
        assert!(path.is_symlink() && other.exists());
    }

    #[test]
    fn identities_round_trip() {
        let id = FileId { device: (7, 3), inode: 12, born_ns: Some(-5) };
        for id in [id, FileId { born_ns: None, ..id }] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for text in ["", "7:3", "7 3 1", "7:3 1", "7:3 1 x", "7:3 1 2 3"] {
            assert_eq!(text.parse::<FileId>(), Err(ParseFileIdError));
        }
    }

    #[test]
    fn removes_created_paths_unless_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/c");
        drop(Undo::from(crate::create::new_dirs(&path).unwrap()));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        let kept = Undo::from(crate::create::new_dirs(&path).unwrap()).keep();
        assert!(path.is_dir());
        fs::write(dir.path().join("a/foreign"), "x").unwrap();
        drop(Undo::from(kept));
        assert!(dir.path().join("a/foreign").exists() && !dir.path().join("a/b").exists());
    }
}
