//! Removing a directory with its content.

use super::{FileId, Made, gone};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, StatxFlags, openat, statx, unlinkat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The program makes no directories deeper than this.
const DEEPEST: usize = 32;

/// Removes the entries that `is_own` accepts, then the directory itself.
pub(super) fn remove(top: &Made, is_own: &dyn Fn(&Path) -> bool) -> io::Result<()> {
    let Some(dir) = open(CWD, top.path().as_os_str())? else { return Ok(()) };
    // Only the directory that was made is entered, not another one of that name.
    if FileId::of(&dir)? != top.id() {
        return Err(io::Error::other("it is another directory by now, so it was not removed"));
    }
    let mount = mount_of(&dir)?;
    empty(&dir, Path::new(""), mount, is_own, 0)?;
    top.remove()
}

/// Opens a directory; `None` if it is gone. A symbolic link is an error.
fn open(parent: impl AsFd, name: &OsStr) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    match openat(parent, name, flags, Mode::empty()) {
        Ok(dir) => Ok(Some(dir)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Device and mount of an open directory; the mount is not known before Linux 5.8.
fn mount_of(dir: &OwnedFd) -> io::Result<(u32, u32, Option<u64>)> {
    let answer = statx(dir, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?;
    let has_id = answer.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    Ok((answer.stx_dev_major, answer.stx_dev_minor, has_id.then_some(answer.stx_mnt_id)))
}

/// Removes the content of a directory. `below` is its path below the first one.
fn empty(
    dir: &OwnedFd,
    below: &Path,
    mount: (u32, u32, Option<u64>),
    is_own: &dyn Fn(&Path) -> bool,
    depth: usize,
) -> io::Result<()> {
    if depth > DEEPEST {
        return Ok(());
    }
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        let path = below.join(name);
        if name == "." || name == ".." || !is_own(&path) {
            continue;
        }
        let found = match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => continue,
            found => found?,
        };
        if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
            gone(unlinkat(dir, name, AtFlags::empty()).map_err(Into::into))?;
            continue;
        }
        let Some(inner) = open(dir, name)? else { continue };
        // A file system mounted there is foreign: the directory below it stays, too.
        if mount_of(&inner)? != mount {
            continue;
        }
        empty(&inner, &path, mount, is_own, depth + 1)?;
        gone(unlinkat(dir, name, AtFlags::REMOVEDIR).map_err(Into::into))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::made::everything;
    use crate::made::{Made, new_file};
    use std::fs;
    use std::path::Path;

    #[test]
    fn removes_tree_only_if_all_content_is_its_own() {
        let parent = tempfile::tempdir().unwrap();
        let outside = parent.path().join("outside");
        fs::write(&outside, "somebody's").unwrap();
        let path = parent.path().join("dir");
        let made = crate::create::new_dir(&path).unwrap();
        let fill = || {
            fs::create_dir_all(path.join("a/b")).unwrap();
            fs::write(path.join("a/b/own"), "").unwrap();
            std::os::unix::fs::symlink(&outside, path.join("a/link")).unwrap();
        };
        fill();
        fs::write(path.join("a/foreign"), "").unwrap();
        assert!(made.remove_tree(&|path: &Path| !path.ends_with("foreign")).is_err());
        assert!(path.join("a/foreign").exists() && !path.join("a/b").exists());
        fill();
        made.remove_tree(&everything).unwrap();
        assert!(!path.exists() && outside.exists());
    }

    #[test]
    fn keeps_replaced_directory_of_the_same_name() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("dir");
        let made: Made = crate::create::new_dir(&path).unwrap();
        fs::rename(&path, parent.path().join("moved")).unwrap();
        fs::create_dir(&path).unwrap();
        new_file(&path.join("foreign")).unwrap();
        assert!(made.remove_tree(&everything).is_err());
        assert!(path.join("foreign").exists());
    }
}
