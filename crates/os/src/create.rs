//! Files and directories that are created: the only place in the product where that happens.
//!
//! A new file never takes the place of something else: it is created exclusively, or stays without a name until
//! it is complete. Replacing a file means to rename a complete new one over it.

use crate::made::{FileId, Made, Undo};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, openat, renameat_with};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Creates a file for writing (`O_EXCL`).
///
/// # Errors
/// `AlreadyExists` for anything with that name, a symbolic link too.
pub fn new_file(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).open(path)
}

/// Creates a file of `bytes` bytes, all of which have space on the device and read as zeros (`fallocate(2)` with mode 0).
///
/// # Errors
/// `AlreadyExists` as [`new_file`]; the file system is full or cannot allocate, and the file is removed then.
pub fn new_allocated_file(path: &Path, bytes: u64) -> io::Result<Made> {
    let file = new_file(path)?;
    let made = Made::created(path, &file)?;
    crate::file::extend(&file, bytes).inspect_err(|_| drop(made.remove()))?;
    Ok(made)
}

/// Opens a regular file that exists, for writing in place; at its end if `at_end`. Its content stays.
///
/// # Errors
/// `InvalidInput` for anything but a regular file.
pub fn existing_file(path: &Path, at_end: bool) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::options().write(true).append(at_end).custom_flags(flags.bits() as i32).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(ErrorKind::InvalidInput.into()) }
}

/// Opens a file of ours that exists, for locking it and for appending to it. Symbolic links are not followed.
///
/// # Errors
/// Those of open(2).
pub(crate) fn existing_file_to_lock(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    File::options().read(true).append(true).custom_flags(flags.bits() as i32).open(path)
}

/// Creates a directory.
///
/// # Errors
/// `AlreadyExists` for anything with that name.
pub fn new_dir(path: &Path) -> io::Result<Made> {
    new_dir_of_mode(path, 0o777)
}

fn new_dir_of_mode(path: &Path, mode: u32) -> io::Result<Made> {
    fs::DirBuilder::new().mode(mode).create(path)?;
    Made::proved(path, "mkdir(2) has created it a moment ago")
}

/// Creates a directory that no other user may enter (mode 0700).
///
/// # Errors
/// `AlreadyExists` for anything with that name.
pub fn new_private_dir(path: &Path) -> io::Result<Made> {
    new_dir_of_mode(path, 0o700)
}

/// Creates a directory with all that are missing above it; returns those that were created, outermost first.
///
/// # Errors
/// Those of mkdir(2). Directories created before are removed again.
pub fn new_dirs(path: &Path) -> io::Result<Vec<Made>> {
    make_all(path, new_dir)
}

/// The same with mode 0700 for created directories; others keep theirs.
///
/// # Errors
/// Those of mkdir(2). Directories created before are removed again.
pub fn new_private_dirs(path: &Path) -> io::Result<Vec<Made>> {
    make_all(path, new_private_dir)
}

fn make_all(path: &Path, make: impl Fn(&Path) -> io::Result<Made>) -> io::Result<Vec<Made>> {
    let is_missing = |dir: &&Path| !dir.as_os_str().is_empty() && !dir.exists();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    let mut made = Undo::default();
    for dir in missing.into_iter().rev() {
        made.push(make(dir)?);
    }
    Ok(made.keep())
}

/// Renames a file or directory.
///
/// # Errors
/// `AlreadyExists` where something has that name.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems do not know the flag.
        Err(Errno::INVAL | Errno::NOSYS) if to.symlink_metadata().is_err() => fs::rename(from, to),
        Err(Errno::INVAL | Errno::NOSYS) => Err(ErrorKind::AlreadyExists.into()),
        other => Ok(other?),
    }
}

/// Renames a complete file over another, which is gone then: a reader sees the old or the new one.
///
/// # Errors
/// Those of rename(2).
pub fn rename_over(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// Replaces a file, or creates it, as a whole.
///
/// # Errors
/// The file cannot be written; no part of it stays then.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut unfinished = Unfinished::begin(path.parent().unwrap_or(Path::new(".")))?;
    let file = unfinished.file();
    // The new file is as private as the one that it replaces.
    if let Some(old) = fs::symlink_metadata(path).ok().filter(Metadata::is_file) {
        file.set_permissions(Permissions::from_mode(old.mode() & 0o777))?;
    }
    file.write_all(bytes)?;
    unfinished.name_over(path)
}

/// Writes an attribute of the kernel, which must exist.
///
/// # Errors
/// Those of open(2) and write(2).
pub fn write_attribute(path: &Path, text: &str) -> io::Result<()> {
    File::options().write(true).truncate(true).open(path)?.write_all(text.as_bytes())
}

/// Opens a file that several processes lock and append to; creates it with mode 0600 if it does not exist.
///
/// # Errors
/// Those of open(2); symbolic links are not followed.
pub fn shared_file(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW.bits() as i32;
    File::options().create(true).append(true).mode(0o600).custom_flags(flags).open(path)
}

/// A file that has no name, or a temporary one, until it is complete. A file that is dropped before is removed.
#[derive(Debug)]
pub struct Unfinished {
    file: File,
    /// The temporary name, where the file system cannot hold files without names.
    temporary: Option<Temporary>,
    dir: PathBuf,
}

impl Unfinished {
    /// Starts a file that will be in the directory `dir`.
    ///
    /// # Errors
    /// No file can be created there.
    pub fn begin(dir: &Path) -> io::Result<Unfinished> {
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        if let Some(file) = unnamed(dir)? {
            return Ok(Unfinished { file, temporary: None, dir: dir.to_path_buf() });
        }
        let path = dir.join(temporary_name());
        let file = new_file(&path)?;
        let temporary = Temporary(Made::created(&path, &file)?);
        Ok(Unfinished { file, temporary: Some(temporary), dir: dir.to_path_buf() })
    }

    /// Its identity, which it keeps when it is named.
    ///
    /// # Errors
    /// Those of statx(2).
    pub fn id(&self) -> io::Result<FileId> {
        FileId::of(&self.file)
    }

    /// The file.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Renames the file to its own name.
    ///
    /// # Errors
    /// `AlreadyExists` where something has that name.
    pub fn name_new(self, path: &Path) -> io::Result<Made> {
        match &self.temporary {
            None => link(&self.file, path)?,
            Some(temporary) => rename_new(temporary.0.path(), path)?,
        }
        Made::created(path, &self.file)
    }

    /// Renames the file over another in the same directory.
    ///
    /// # Errors
    /// Those of linkat(2) and rename(2).
    pub fn name_over(self, path: &Path) -> io::Result<()> {
        let linked;
        let temporary = match &self.temporary {
            Some(temporary) => temporary,
            None => {
                let name = self.dir.join(temporary_name());
                link(&self.file, &name)?;
                linked = Temporary(Made::created(&name, &self.file)?);
                &linked
            }
        };
        rename_over(temporary.0.path(), path)
    }
}

/// A name that is removed with this.
#[derive(Debug)]
struct Temporary(Made);

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename nothing has that name.
        let _ = self.0.remove();
    }
}

/// A hidden name that no other process uses, and no other file of this one.
fn temporary_name() -> OsString {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!(".iosonar-{}-{}.partial", std::process::id(), NEXT.fetch_add(1, Relaxed)).into()
}

/// Where the kernel shows the open files of this process: a file without a name is reached through it.
const OPEN_FILES: &str = "/proc/self/fd";

/// A file without a name (`O_TMPFILE`); `None` where the file system has no such files, or where it could not get one later.
fn unnamed(dir: &Path) -> io::Result<Option<File>> {
    if !Path::new(OPEN_FILES).exists() {
        return Ok(None);
    }
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    match openat(CWD, dir, flags, Mode::from_raw_mode(0o666)) {
        Ok(file) => Ok(Some(file.into())),
        // Results of old kernels and file systems without such files.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn link(file: &File, path: &Path) -> io::Result<()> {
    let open = format!("{OPEN_FILES}/{}", file.as_raw_fd());
    Ok(linkat(CWD, open, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn both(dir: &Path) -> [Unfinished; 2] {
        let path = dir.join(temporary_name());
        let file = new_file(&path).unwrap();
        let temporary = Temporary(Made::created(&path, &file).unwrap());
        let named = Unfinished { file, temporary: Some(temporary), dir: dir.to_path_buf() };
        [Unfinished::begin(dir).unwrap(), named]
    }

    #[test]
    fn unfinished_file_leaves_and_replaces_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        for mut file in both(dir.path()) {
            file.file().write_all(b"half").unwrap();
        }
        assert_eq!(names(dir.path()), [""; 0]);
        fs::write(&path, "old").unwrap();
        for file in both(dir.path()) {
            assert_eq!(file.name_new(&path).unwrap_err().kind(), ErrorKind::AlreadyExists);
        }
        assert_eq!((names(dir.path()), fs::read(&path).unwrap()), (vec!["out".to_string()], b"old".to_vec()));
    }

    #[test]
    fn finished_file_has_its_name_and_default_mode() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        for (number, mut file) in both(dir.path()).into_iter().enumerate() {
            let path = dir.path().join(number.to_string());
            file.file().write_all(b"whole").unwrap();
            file.name_new(&path).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"whole");
            let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
            let plain = dir.path().join("plain");
            fs::write(&plain, "").unwrap();
            assert_eq!(mode(&path), mode(&plain));
        }
        for mut file in both(dir.path()) {
            file.file().write_all(b"new").unwrap();
            file.name_over(&dir.path().join("0")).unwrap();
        }
        assert_eq!(fs::read(dir.path().join("0")).unwrap(), b"new");
        assert_eq!(names(dir.path()), ["0", "1", "plain"]);
    }

    #[test]
    fn creates_only_new_files_and_opens_only_existing_ones() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path().join("nowhere"), &link).unwrap();
        assert_eq!(new_file(&link).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert!(write_attribute(&dir.path().join("none"), "1").is_err());
        assert!(existing_file(Path::new("/dev/null"), false).is_err());
        assert_eq!(names(dir.path()), ["link"]);
        let made = new_dirs(&dir.path().join("a/b")).unwrap();
        let paths: Vec<&Path> = made.iter().map(Made::path).collect();
        assert_eq!(paths, [dir.path().join("a"), dir.path().join("a/b")]);
        assert!(new_dirs(&dir.path().join("a/b")).unwrap().is_empty());
        fs::write(dir.path().join("a/f"), "").unwrap();
        assert!(new_dirs(&dir.path().join("a/f/c")).is_err());
    }

    #[test]
    fn failed_allocation_leaves_no_file() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let private = dir.path().join("private");
        new_private_dir(&private).unwrap();
        assert_eq!(private.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert!(new_allocated_file(&private.join("large"), 1 << 62).is_err());
        assert_eq!(names(&private), [""; 0]);
        let Ok(made) = new_allocated_file(&private.join("small"), 8192) else { return };
        assert_eq!(made.path().metadata().unwrap().len(), 8192);
    }

    #[test]
    fn never_reuses_an_existing_name() {
        let dir = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| dir.path().join(name));
        fs::write(&a, "a").unwrap();
        fs::write(&b, "b").unwrap();
        assert_eq!(rename_new(&a, &b).unwrap_err().kind(), ErrorKind::AlreadyExists);
        write_whole(&b, b"c").unwrap();
        assert_eq!((fs::read(&b).unwrap(), names(dir.path()).len()), (b"c".to_vec(), 2));
    }
}
