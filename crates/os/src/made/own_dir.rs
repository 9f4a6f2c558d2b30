//! Directories that a process needs only while it runs: private, named after the process, marked, locked, and removed by the next
//! start of the same command where the process was killed.

use super::{FileId, Made, everything};
use crate::create;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file that marks a directory as ours, and is locked as long as its process lives.
pub const MARK: &str = "lock";

/// The first line of the mark; the identity of the directory follows. A copy of the directory has another one.
const FIRST_LINE: &str = "made by iosonar, removed by its next start here";

/// Maximum size of a mark.
const LONGEST_MARK: u64 = 1 << 28;

/// A private directory of this process. It is removed when this is dropped.
#[derive(Debug)]
pub struct OwnDir {
    made: Made,
    mark: File,
    kind: &'static str,
}

/// Start of the names of such directories; a process id, `-` and a number follow.
fn prefix(kind: &str) -> String {
    format!(".iosonar-{kind}-")
}

impl OwnDir {
    /// Makes `.iosonar-KIND-PID-N` in `parent`, closed to other users.
    ///
    /// # Errors
    /// It cannot be created there.
    pub fn new_in(parent: &Path, kind: &'static str) -> io::Result<OwnDir> {
        // The kernel shows mounts and loop devices by such paths.
        let parent = parent.canonicalize()?;
        for number in 0.. {
            let path = parent.join(format!("{}{}-{number}", prefix(kind), std::process::id()));
            let made = match create::new_private_dir(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                made => made?,
            };
            let marked = mark(&made);
            let mark = marked.inspect_err(|_| drop(made.remove_tree(&everything)))?;
            return Ok(OwnDir { made, mark, kind });
        }
        unreachable!("a number is free")
    }

    /// Removes directories of this kind that killed processes have left beside this one, as far as they can be. Call it when the
    /// command is not refused any more: a command that is refused changes nothing.
    pub fn remove_leftovers(&self) {
        let beside = self.path().parent().map(|parent| leftovers(parent, self.kind));
        for leftover in beside.and_then(Result::ok).unwrap_or_default() {
            // A directory that cannot be removed now does no harm.
            let _ = leftover.remove_tree(&everything);
        }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        self.made.path()
    }

    /// The directory as something that was made, for removing it from another thread.
    pub fn made(&self) -> &Made {
        &self.made
    }

    /// Removes it from another thread, for a signal that must end this process at once.
    pub fn remover(&self) -> impl Fn() + Send + use<> {
        let made = self.made.clone();
        // No report is possible any more; the next start tries again.
        move || drop(made.remove_tree(&everything))
    }

    /// Notes a line in the mark, for the process that removes leftovers of this one.
    ///
    /// # Errors
    /// Those of write(2).
    pub fn note(&mut self, line: &str) -> io::Result<()> {
        debug_assert!(!line.contains('\n'));
        self.mark.write_all(format!("{line}\n").as_bytes())
    }

    /// Notes a file that will have the name `path`, beside this directory.
    ///
    /// # Errors
    /// Those of write(2).
    pub fn note_beside(&mut self, path: &Path, id: FileId) -> io::Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.note(&format!("{name} {id}"))
    }

    /// Keeps the directory, without its mark: it is a result from now on.
    ///
    /// # Errors
    /// The mark cannot be removed.
    pub fn keep(self) -> io::Result<PathBuf> {
        Made::created(&self.path().join(MARK), &self.mark)?.remove()?;
        let path = self.path().to_path_buf();
        // Its drop must not remove the directory.
        std::mem::forget(self);
        Ok(path)
    }
}

impl Drop for OwnDir {
    fn drop(&mut self) {
        // The next start removes the rest.
        let _ = self.made.remove_tree(&everything);
    }
}

/// Writes the mark of a directory, and locks it.
fn mark(dir: &Made) -> io::Result<File> {
    let mut mark = create::new_file(&dir.path().join(MARK))?;
    mark.lock().or_else(|error| match error.kind() {
        // Where there are no locks, the process id in the name decides.
        ErrorKind::Unsupported => Ok(()),
        _ => Err(error),
    })?;
    // In one call: a process that is killed between two leaves a mark that proves nothing.
    mark.write_all(format!("{FIRST_LINE}\n{}\n", dir.id()).as_bytes())?;
    Ok(mark)
}

/// A directory of a process that is gone, proved to be made by the program.
#[derive(Debug)]
pub struct Leftover {
    made: Made,
    notes: Vec<String>,
    /// Kept, so that two processes do not remove it at the same time.
    _mark: File,
}

impl Leftover {
    /// The directory.
    pub fn path(&self) -> &Path {
        self.made.path()
    }

    /// The lines that its process noted.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Files beside the directory that its process noted with [`OwnDir::note_beside`], and that are still there.
    pub fn noted_beside(&self) -> Vec<Made> {
        let parent = self.path().parent().unwrap_or(Path::new("/"));
        let noted = |note: &String| {
            let mut words = note.rsplitn(4, ' ');
            let id: Vec<&str> = words.by_ref().take(3).collect();
            let path = parent.join(Path::new(words.next()?).file_name()?);
            let noted: FileId = id.into_iter().rev().collect::<Vec<_>>().join(" ").parse().ok()?;
            let found = FileId::of_path(&path).ok()?;
            // Both lie in one file system, whose number may be another one since it was mounted again.
            let is_same = found.is_same_inode(&noted) && found.device == self.made.id.device;
            is_same.then_some(Made { path, id: found })
        };
        self.notes.iter().filter_map(noted).collect()
    }

    /// Removes the directory with everything in it that `is_own` accepts, as [`Made::remove_tree`] does.
    ///
    /// # Errors
    /// Something else is in it.
    pub fn remove_tree(&self, is_own: &dyn Fn(&Path) -> bool) -> io::Result<()> {
        self.made.remove_tree(is_own)
    }
}

/// Directories of this kind in `parent` that killed processes have left. Each is named after a process, belongs to this user, is
/// closed to others, and has a mark with its identity that no process has locked.
///
/// # Errors
/// `parent` cannot be read.
pub fn leftovers(parent: &Path, kind: &str) -> io::Result<Vec<Leftover>> {
    let parent = parent.canonicalize()?;
    let prefix = prefix(kind);
    let mut found = Vec::new();
    for entry in fs::read_dir(&parent)? {
        let name = entry?.file_name();
        let is_named =
            name.to_str().and_then(|name| name.strip_prefix(&prefix)).is_some_and(is_pid_and_number);
        if is_named {
            found.extend(leftover(&parent.join(name)));
        }
    }
    found.sort_by(|one, other| one.path().cmp(other.path()));
    Ok(found)
}

/// `PID-N`.
fn is_pid_and_number(text: &str) -> bool {
    let is_number =
        |text: &str| !text.is_empty() && text.len() <= 10 && text.bytes().all(|b| b.is_ascii_digit());
    text.split_once('-').is_some_and(|(pid, number)| is_number(pid) && is_number(number))
}

/// The directory, if it is proved to be a leftover; `None` if it cannot be read.
fn leftover(path: &Path) -> Option<Leftover> {
    let found = fs::symlink_metadata(path).ok()?;
    let is_private =
        found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o077 == 0;
    if !is_private {
        return None;
    }
    let mark_path = path.join(MARK);
    if !fs::symlink_metadata(&mark_path).ok()?.is_file() {
        return None;
    }
    let mut mark = create::existing_file_to_lock(&mark_path).ok()?;
    match mark.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return None,
        // Where there are no locks, its process must be gone.
        Err(TryLockError::Error(_)) if process_is_gone(path) => {}
        Err(TryLockError::Error(_)) => return None,
    }
    let mut text = String::new();
    (&mut mark).take(LONGEST_MARK).read_to_string(&mut text).ok()?;
    let mut lines = text.lines();
    if lines.next()? != FIRST_LINE {
        return None;
    }
    let noted: FileId = lines.next()?.parse().ok()?;
    let id = FileId::of_path(path).ok()?;
    // A file system may have another device number since it was mounted again.
    if !id.is_same_inode(&noted) {
        return None;
    }
    let made = Made { path: path.to_path_buf(), id };
    Some(Leftover { made, notes: lines.map(String::from).collect(), _mark: mark })
}

fn process_is_gone(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut numbers = name.rsplit('-');
    let (_, pid) = (numbers.next(), numbers.next().unwrap_or_default());
    !Path::new("/proc").join(pid).exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Makes the leftovers of a killed process.
    fn killed(parent: &Path, kind: &'static str) -> PathBuf {
        let mut own = OwnDir::new_in(parent, kind).unwrap();
        own.note("noted").unwrap();
        fs::write(own.path().join("file"), "x").unwrap();
        let path = own.path().to_path_buf();
        own.mark.unlock().unwrap();
        std::mem::forget(own);
        path
    }

    #[test]
    fn directory_is_private_and_removed_on_drop() {
        let parent = tempfile::tempdir().unwrap();
        let own = OwnDir::new_in(parent.path(), "test").unwrap();
        assert_eq!(own.path().metadata().unwrap().mode() & 0o777, 0o700);
        fs::write(own.path().join("file"), "x").unwrap();
        let second = OwnDir::new_in(parent.path(), "test").unwrap();
        assert_eq!(names(parent.path()).len(), 2);
        drop((own, second));
        assert_eq!(names(parent.path()), [""; 0]);
        let kept = OwnDir::new_in(parent.path(), "test").unwrap().keep().unwrap();
        assert_eq!(names(&kept), [""; 0]);
    }

    #[test]
    fn next_start_removes_leftovers_of_a_killed_process() {
        let parent = tempfile::tempdir().unwrap();
        let left = killed(parent.path(), "test");
        let other_kind = killed(parent.path(), "other");
        let found = leftovers(parent.path(), "test").unwrap();
        assert_eq!((found.len(), found[0].path(), found[0].notes()), (1, &*left, &["noted".to_string()][..]));
        drop(found);
        let own = OwnDir::new_in(parent.path(), "test").unwrap();
        own.remove_leftovers();
        assert_eq!(names(own.path()), [MARK]);
        assert!(!left.exists() && other_kind.join("file").exists());
    }

    #[test]
    fn keeps_foreign_directories() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        let left = killed(parent.path(), "test");
        // A copy, with the mark of another directory.
        fs::create_dir(at(".iosonar-test-1-1")).unwrap();
        fs::copy(left.join(MARK), at(".iosonar-test-1-1/lock")).unwrap();
        // Without a mark; with another name; a link.
        fs::create_dir(at(".iosonar-test-1-2")).unwrap();
        fs::rename(&left, at(".iosonar-test-notes")).unwrap();
        std::os::unix::fs::symlink(at(".iosonar-test-notes"), at(".iosonar-test-1-3")).unwrap();
        let before = names(parent.path());
        assert!(leftovers(parent.path(), "test").unwrap().is_empty());
        OwnDir::new_in(parent.path(), "test").unwrap().remove_leftovers();
        assert_eq!(names(parent.path()), before);
        assert!(at(".iosonar-test-notes/file").exists());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]

        /// A mark may hold anything: it proves nothing, and breaks nothing.
        #[test]
        fn foreign_marker_content_proves_no_ownership(text in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..200),
            "(made by iosonar, removed by its next start here\n)?([0-9]{1,3}:[0-9]{1,3} [0-9]{1,20} (-|-?[0-9]{1,20})\n)?[ -~\n]{0,40}"
                .prop_map(String::into_bytes),
        ]) {
            let parent = tempfile::tempdir().unwrap();
            let dir = parent.path().join(".iosonar-test-1-0");
            create::new_private_dir(&dir).unwrap();
            fs::write(dir.join(MARK), &text).unwrap();
            prop_assert!(leftovers(parent.path(), "test").unwrap().is_empty());
        }
    }

    #[test]
    fn directory_names_contain_process_and_number() {
        for name in ["1-0", "4194304-12"] {
            assert!(is_pid_and_number(name), "{name}");
        }
        for name in ["", "-", "1-", "-1", "notes", "1-2-3", "1-x", "+1-2", "1-0.bak"] {
            assert!(!is_pid_and_number(name), "{name}");
        }
    }
}
