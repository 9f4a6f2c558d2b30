//! What processes that were killed left: finding and removing it.

use crate::ScratchError;
use crate::removal::{self, Unmount};
use iosonar_host::Root;
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How the name of a directory of scratch file systems starts.
pub(crate) const PREFIX: &str = ".iosonar-scratch-";

/// Removes the scratch file systems of processes that no longer live: in directories of `parent`, and wherever mounts and loop
/// devices lead to such a directory. Returns the directories that were removed. Only root has any; for other users this does
/// nothing.
///
/// # Errors
/// Of the first directory that cannot be removed, for example because a process uses a file system in it. All others are
/// removed nevertheless.
pub fn remove_leftovers(parent: &Path) -> Result<Vec<PathBuf>, ScratchError> {
    if !rustix::process::geteuid().is_root() {
        return Ok(Vec::new());
    }
    let root = Root::default();
    let found = candidates(parent, &root)?;
    // A directory in the file system of another one comes before that.
    let removed = found.into_iter().rev().map(|dir| Ok(remove_one(&dir, &root)?.then_some(dir)));
    let removed: Vec<Result<Option<PathBuf>, ScratchError>> = removed.collect();
    removed.into_iter().filter_map(Result::transpose).collect()
}

/// Directories with such a name: in `parent`, above mount points, above files of loop devices.
fn candidates(parent: &Path, root: &Root) -> Result<BTreeSet<PathBuf>, ScratchError> {
    let cannot_read = || ScratchError::io("cannot read", parent);
    let parent = parent.canonicalize().map_err(cannot_read())?;
    let entries = fs::read_dir(&parent).map_err(cannot_read())?.flatten().map(|entry| entry.path());
    let mounts = removal::mounts(root)?;
    let loops = removal::loops(root)?.into_iter().map(|it| it.file);
    let paths = entries.chain(mounts).chain(loops);
    Ok(paths.filter_map(|path| scratch_directory(&path)).collect())
}

/// The innermost directory of scratch file systems that holds a path, or is it.
fn scratch_directory(path: &Path) -> Option<PathBuf> {
    let is_scratch =
        |dir: &&Path| dir.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    path.ancestors().find(is_scratch).map(Path::to_path_buf)
}

/// Whether there was something to remove.
fn remove_one(dir: &Path, root: &Root) -> Result<bool, ScratchError> {
    let cannot_remove = || ScratchError::io("cannot remove", dir);
    match fs::symlink_metadata(dir) {
        // Another user's directory can be made of anything.
        Ok(found) if !found.is_dir() || found.uid() != 0 => Ok(false),
        Ok(_) => match removal::claim(dir).map_err(cannot_remove())? {
            None => Ok(false),
            Some(_lock) => removal::remove(dir, Unmount::Wait, root).map(|()| true),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => detach_deleted(dir, root),
        Err(error) => Err(cannot_remove()(error)),
    }
}

/// Detaches loop devices of files that were deleted with their directory. A path that only leads nowhere belongs to another
/// mount namespace.
fn detach_deleted(dir: &Path, root: &Root) -> Result<bool, ScratchError> {
    let is_left = |it: &iosonar_host::LoopFile| it.is_deleted && !it.is_autoclear && it.file.starts_with(dir);
    let left: Vec<_> = removal::loops(root)?.into_iter().filter(is_left).collect();
    left.iter().try_for_each(|it| removal::detach(&it.device, root))?;
    Ok(!left.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree with these mounts and these files of loop devices.
    fn tree(mountinfo: &str, loops: &[&str]) -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        let file = |path: String, text: &str| {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        file("proc/self/mountinfo".into(), mountinfo);
        for (number, backing) in loops.iter().enumerate() {
            file(format!("sys/block/loop{number}/loop/backing_file"), &format!("{backing}\n"));
        }
        tree
    }

    #[test]
    fn leftovers_are_found_by_name_mount_and_loop_device() {
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path().canonicalize().unwrap();
        fs::create_dir(parent.join(".iosonar-scratch-1-0")).unwrap();
        fs::create_dir(parent.join("other")).unwrap();
        let mountinfo = "27 1 254:0 / / rw - ext4 /dev/vda rw\n\
             36 27 7:0 / /a\\040b/.iosonar-scratch-2-0/xfs rw - xfs /dev/loop0 rw\n";
        let loops =
            ["/a b/.iosonar-scratch-2-0/xfs.img", "/c/.iosonar-scratch-3-0/x.img (deleted)", "/d/image"];
        let tree = tree(mountinfo, &loops);
        let found = candidates(&parent, &Root::new(tree.path())).unwrap();
        let expected = ["/a b/.iosonar-scratch-2-0", "/c/.iosonar-scratch-3-0"].map(PathBuf::from);
        let expected = expected.into_iter().chain([parent.join(".iosonar-scratch-1-0")]);
        assert_eq!(found, expected.collect());
    }

    #[test]
    fn loop_devices_of_other_mount_namespaces_stay() {
        let tree = tree("", &["/nowhere/.iosonar-scratch-4-0/x.img"]);
        assert!(!remove_one(Path::new("/nowhere/.iosonar-scratch-4-0"), &Root::new(tree.path())).unwrap());
    }

    #[test]
    fn the_innermost_directory_counts() {
        let found = scratch_directory(Path::new("/.iosonar-scratch-1-0/xfs/.iosonar-scratch-2-0/a.img"));
        assert_eq!(found.unwrap(), Path::new("/.iosonar-scratch-1-0/xfs/.iosonar-scratch-2-0"));
        assert_eq!(scratch_directory(Path::new("/tmp/iosonar-scratch-1")), None);
    }
}
