//! The regular files among the named paths: files themselves, and walked directories.

use iosonar_os::{open_to_inspect, statx};
use std::fs::{File, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Opens a regular file to examine it; no other type is ever opened, because that could block or change it.
pub(crate) fn open(path: &Path) -> Result<(File, Metadata), String> {
    let text = |error: std::io::Error| error.to_string();
    let check = |facts: Metadata| refusal(&facts).map_or(Ok(facts), Err);
    check(path.metadata().map_err(text)?)?;
    let file = open_to_inspect(path).map_err(text)?;
    // Another file may have the name by now.
    let facts = check(file.metadata().map_err(text)?)?;
    Ok((file, facts))
}

/// The reason to refuse a file that is not regular.
fn refusal(facts: &Metadata) -> Option<String> {
    let kind = facts.file_type();
    let what = match () {
        () if kind.is_file() => return None,
        () if kind.is_dir() => return Some("a directory is in its place by now".into()),
        () if kind.is_block_device() => {
            return Some(
                "it is a block device and no regular file: name files, or the directory where it is mounted"
                    .into(),
            );
        }
        () if kind.is_char_device() => "a character device",
        () if kind.is_fifo() => "a FIFO (named pipe)",
        () if kind.is_socket() => "a socket",
        () => "of an unknown kind",
    };
    Some(format!("it is {what} and no regular file: name regular files or directories"))
}

/// Paths still to be visited.
enum Pending {
    /// As named: symbolic links are followed.
    Named(PathBuf),
    /// A regular file in a directory.
    File(PathBuf),
    /// A directory of this mount.
    Directory(PathBuf, Mount),
}

/// Which mount a path is on: its identity, or before Linux 5.8 the device number.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mount(Option<u64>, u64);

impl Mount {
    fn of(path: &Path) -> Option<Mount> {
        match statx::extra(path).ok()?.mount_id {
            Some(id) => Some(Mount(Some(id), 0)),
            None => Some(Mount(None, path.metadata().ok()?.dev())),
        }
    }
}

/// All files, in the order of the names; those of a directory sorted by name. Symbolic links, devices, pipes, sockets and mount points in
/// directories are skipped.
pub(crate) struct Walk(Vec<Pending>);

impl Walk {
    /// Walks files and directories.
    pub(crate) fn of(named: &[PathBuf]) -> Walk {
        Walk(named.iter().rev().cloned().map(Pending::Named).collect())
    }

    fn enter(&mut self, directory: &Path, mount: Mount) -> std::io::Result<()> {
        let mut entries = directory.read_dir()?.collect::<std::io::Result<Vec<_>>>()?;
        // Reverse order: the last entry pushed is visited first.
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.file_name()));
        for entry in entries {
            let kind = entry.file_type()?;
            if kind.is_file() {
                self.0.push(Pending::File(entry.path()));
            } else if kind.is_dir() && Mount::of(&entry.path()).is_none_or(|other| other == mount) {
                self.0.push(Pending::Directory(entry.path(), mount));
            }
        }
        Ok(())
    }
}

impl Iterator for Walk {
    type Item = Result<PathBuf, (PathBuf, String)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (path, mount) = match self.0.pop()? {
                Pending::File(path) => return Some(Ok(path)),
                Pending::Named(path) if !path.is_dir() => return Some(Ok(path)),
                Pending::Named(path) => {
                    let mount = Mount::of(&path);
                    (path, mount)
                }
                Pending::Directory(path, mount) => (path, Some(mount)),
            };
            if let Err(error) = self.enter(&path, mount.unwrap_or(Mount(None, 0))) {
                return Some(Err((path, error.to_string())));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn directories_are_walked_in_order_without_following_links() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("b/deep")).unwrap();
        for name in ["a", "b/deep/x", "b/y", "c"] {
            std::fs::write(at(name), "1").unwrap();
        }
        symlink(dir.path(), at("b/loop")).unwrap();
        symlink(at("a"), at("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        let found: Vec<PathBuf> = Walk::of(&[dir.path().into(), at("link")]).map(Result::unwrap).collect();
        assert_eq!(found, ["a", "b/deep/x", "b/y", "c", "link"].map(at));
        assert!(open(&at("link")).is_ok());
        assert!(open(&at("socket")).unwrap_err().contains("a socket"));
        assert!(open(Path::new("/dev/null")).unwrap_err().contains("character device"));
        assert!(open(&at("nowhere")).unwrap_err().contains("No such file"));
    }
}
