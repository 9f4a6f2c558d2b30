//! Unmounts and remounts a file system, so that none of its files are in the page cache.

use crate::mounts::{self, Mount, unescape};
use crate::{DevNumber, Root};
use iosonar_os::bounded::{TEXT_LIMIT, read_text};
use iosonar_os::made::{MadeMount, Unmount};
use iosonar_text::{one_line, shown};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fs, io, thread};

/// Waits between attempts while the file system is busy, together about 3 s. The kernel closes the files of an io_uring
/// some time after the ring.
const WAITS_MS: [u64; 8] = [10, 20, 50, 100, 200, 400, 800, 1400];

/// Why a file system cannot be unmounted and mounted again.
#[derive(Debug, thiserror::Error)]
pub enum RemountError {
    /// Not a mount point.
    #[error("{0} is no mount point: name the directory that the file system of the test file is mounted on")]
    NoMountPoint(String),
    /// The root of this process.
    #[error("/ is the root file system, which cannot be unmounted: put the test file on another file system")]
    RootFileSystem,
    /// A directory of a file system is mounted there, and mount(8) could not restore that.
    #[error(
        "{path} shows only {} of {device} (a bind mount): name the directory that the whole file system is mounted on",
        shown(&part)
    )]
    PartOfFileSystem {
        /// The mount point.
        path: String,
        /// Directory visible there.
        part: PathBuf,
        /// Source of the file system.
        device: String,
    },
    /// Another file system is mounted now.
    #[error("{path} was {before} and is {found} since it was mounted again: mount {before} there by hand")]
    Another {
        /// The mount point.
        path: String,
        /// Source of the current mount.
        found: String,
        /// Source of the previous mount.
        before: String,
    },
    /// The mounts are unreadable.
    #[error("what is mounted cannot be read ({0}), and nothing can be unmounted without that")]
    Unknown(io::Error),
    /// It cannot be mounted again.
    #[error(
        "{0} has no line in {1} and is on no block device ({2}), so it could not be mounted again: add a line for it to {1}"
    )]
    NoWayBack(String, String, String),
    /// The programs for unmounting failed, or are missing.
    #[error("{path} cannot be unmounted: {why}")]
    Unmount {
        /// The mount point.
        path: String,
        /// Message of the program, and the users of the file system.
        why: String,
    },
    /// It is unmounted now.
    #[error("{path} was unmounted and cannot be mounted again: {why}; by hand: {command}")]
    Mount {
        /// The mount point.
        path: String,
        /// Message of the program.
        why: String,
        /// Command that mounts it.
        command: String,
    },
}

/// A file system that can be unmounted and mounted again.
#[derive(Debug)]
pub struct Remount {
    mount: Mount,
    /// Arguments of `mount`.
    back: Vec<OsString>,
    /// Block device to hold open meanwhile: a loop device may detach with its last use.
    device: Option<PathBuf>,
}

impl Remount {
    /// Returns the file system mounted on a directory. It is mounted again by its line in `/etc/fstab` if that names
    /// the same file system, or else from the same block device with the same options.
    ///
    /// # Errors
    /// Nothing is mounted there, or it could not be mounted again identically.
    pub fn of(directory: &Path, root: &Root) -> Result<Remount, RemountError> {
        let none = || RemountError::NoMountPoint(shown(directory).to_string());
        let path = directory.canonicalize().map_err(|_| none())?;
        if path == Path::new("/") {
            return Err(RemountError::RootFileSystem);
        }
        let all = mounts::own(root).map_err(RemountError::Unknown)?;
        // The last mount covers earlier ones.
        let mount = all.into_iter().rfind(|mount| mount.mount_point == path).ok_or_else(none)?;
        if !mount.is_whole() {
            return Err(RemountError::PartOfFileSystem {
                path: shown(&path).to_string(),
                part: mount.root,
                device: shown(&mount.source).to_string(),
            });
        }
        let table = fstab();
        if read_text(&table, TEXT_LIMIT).is_ok_and(|text| names_in_fstab(&text, &path, &mount)) {
            return Ok(Remount { mount, back: vec![path.into()], device: None });
        }
        let device = fs::canonicalize(&mount.source).ok().filter(|path| path.starts_with("/dev"));
        let Some(device) = device.filter(|device| is_below(device, &mount)) else {
            return Err(RemountError::NoWayBack(
                shown(&path).to_string(),
                shown(&table).to_string(),
                shown(&mount.source).to_string(),
            ));
        };
        let options = format!("{},{}", mount.options, mount.super_options);
        let mut back = ["-t", &mount.kind, "-o", &options, &mount.source].map(OsString::from).to_vec();
        back.push(path.into());
        Ok(Remount { mount, back, device: Some(device) })
    }

    /// Whether a file is on it, and not on another mount below it.
    pub fn holds(&self, file: &Path, root: &Root) -> bool {
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let Ok(parent) = parent.canonicalize() else { return false };
        let id = iosonar_os::statx::extra(&parent).ok().and_then(|extra| extra.mount_id);
        mounts::own(root).is_ok_and(|all| {
            mounts::holding(&all, id, &parent)
                .is_some_and(|mount| mount.mount_point == self.mount.mount_point)
        })
    }

    /// Unmounts and mounts it again. While it is busy, this is retried for a few seconds.
    ///
    /// # Errors
    /// Unmounting failed, and it is still mounted; or mounting again failed.
    pub fn execute(&self, root: &Root) -> Result<(), RemountError> {
        let path = shown(&self.mount.mount_point).to_string();
        let unmounted = |why: String| RemountError::Unmount { path: path.clone(), why };
        let held = self.device.as_ref().map(File::open).transpose();
        let held = held.map_err(|error| unmounted(error.to_string()))?;
        let mount = MadeMount::proved(&self.mount.mount_point, "the user has named it to be mounted again");
        unmount(&mount.map_err(|error| unmounted(error.to_string()))?, root)?;
        let mounted = attempt(|| call("mount", &self.back), |_| true);
        drop(held);
        let words = || self.back.iter().map(|word| shown(word).to_string()).collect::<Vec<_>>().join(" ");
        let command = || format!("mount {}", words());
        mounted.map_err(|why| RemountError::Mount { path: path.clone(), why, command: command() })?;
        let found = mounts::own(root).map_err(RemountError::Unknown)?;
        let found = found.into_iter().rfind(|mount| mount.mount_point == self.mount.mount_point);
        match found {
            Some(found) if found.is_same_file_system(&self.mount) => Ok(()),
            found => Err(RemountError::Another {
                path,
                found: found.map_or("nothing".into(), |found| shown(&found.source).to_string()),
                before: shown(&self.mount.source).to_string(),
            }),
        }
    }
}

/// Unmounts a mount. While it is busy, this is retried for a few seconds.
///
/// # Errors
/// [`RemountError::Unmount`]: it is still mounted, or was not mounted.
pub fn unmount(mount: &MadeMount, root: &Root) -> Result<(), RemountError> {
    let point = mount.point();
    let once = || match mount.unmount(Unmount::Now) {
        Err(error) if error.kind() == ErrorKind::ResourceBusy => Err(BUSY.to_string()),
        // fstab may allow users to mount it: the program checks that.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => call("umount", &[point]),
        done => done.map_err(|error| error.to_string()),
    };
    attempt(once, |why| why.contains(BUSY)).map_err(|why| {
        let users = if why.contains(BUSY) { users(point, root) } else { String::new() };
        RemountError::Unmount {
            path: shown(&point).to_string(),
            why: format!("{}{users}", why.trim_end_matches('.')),
        }
    })
}

const BUSY: &str = "target is busy";

/// Names the users of a file system: processes with a file or their working directory there.
fn users(mount_point: &Path, root: &Root) -> String {
    const NAMED: usize = 3;
    let pids = root.list("/proc").unwrap_or_default();
    let pids = pids.iter().filter_map(|name| name.parse::<u32>().ok());
    let users: Vec<String> = pids.filter_map(|pid| use_by(pid, mount_point, root)).take(NAMED).collect();
    if users.is_empty() { String::new() } else { format!(" ({}): end what uses it", users.join("; ")) }
}

fn use_by(pid: u32, mount_point: &Path, root: &Root) -> Option<String> {
    let is_here = |path: &PathBuf| path.starts_with(mount_point);
    let link = |name: &str| root.link(format!("/proc/{pid}/{name}")).ok().filter(is_here);
    let opened = || {
        let descriptors = root.list(format!("/proc/{pid}/fd")).unwrap_or_default();
        descriptors.iter().find_map(|number| link(&format!("fd/{number}")))
    };
    let who = match pid == std::process::id() {
        true => "this process".to_string(),
        false => {
            let name = root.read(format!("/proc/{pid}/comm")).unwrap_or_default();
            format!("process {pid} ({})", shown(&name))
        }
    };
    match link("cwd") {
        Some(path) => Some(format!("{who} has its working directory {}", shown(&path))),
        None => opened().map(|path| format!("{who} has {} open", shown(&path))),
    }
}

/// Path of fstab, as mount(8) finds it.
fn fstab() -> PathBuf {
    std::env::var_os("LIBMOUNT_FSTAB").map_or_else(|| "/etc/fstab".into(), PathBuf::from)
}

/// Whether exactly one line of fstab(5) has this mount point, and names the mounted file system.
fn names_in_fstab(text: &str, path: &Path, mount: &Mount) -> bool {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let fields = lines.filter_map(|line| {
        let mut fields = line.split_whitespace();
        Some((fields.next()?, fields.next()?))
    });
    let sources: Vec<&str> =
        fields.filter(|(_, point)| unescape(point) == path).map(|(source, _)| source).collect();
    match sources[..] {
        [source] => names_source(&unescape(source), mount),
        _ => false,
    }
}

/// Whether the first field of a line of fstab(5) is the source of the mount.
fn names_source(source: &Path, mount: &Mount) -> bool {
    let text = source.to_string_lossy();
    let tags = [
        ("UUID=", "by-uuid"),
        ("LABEL=", "by-label"),
        ("PARTUUID=", "by-partuuid"),
        ("PARTLABEL=", "by-partlabel"),
    ];
    let by_tag = tags.iter().find_map(|(tag, dir)| Some((dir, text.strip_prefix(tag)?.trim_matches('"'))));
    let path = match by_tag {
        Some((dir, name)) => Path::new("/dev/disk").join(dir).join(name),
        None => source.to_path_buf(),
    };
    // Other sources, such as the export of a server, are compared as text.
    text == mount.source || is_below(&path, mount)
}

/// Whether a block device is the one below a mount.
fn is_below(device: &Path, mount: &Mount) -> bool {
    let Ok(facts) = device.metadata() else { return false };
    let is_device = facts.file_type().is_block_device();
    // A btrfs has an anonymous number; its source is one of its devices.
    let is_source = || fs::canonicalize(&mount.source).ok() == fs::canonicalize(device).ok();
    is_device && (DevNumber::from_raw(facts.rdev()) == mount.number || mount.number.major == 0 && is_source())
}

/// Retries until success, or until an error that is not transient.
fn attempt(
    mut work: impl FnMut() -> Result<(), String>,
    goes_away: impl Fn(&str) -> bool,
) -> Result<(), String> {
    for wait in WAITS_MS {
        match work() {
            Err(why) if goes_away(&why) => thread::sleep(Duration::from_millis(wait)),
            done => return done,
        }
    }
    work()
}

/// Runs a program; returns its message if it fails. Ctrl-C at the terminal does not reach it: between the two programs
/// the file system is not mounted.
fn call(program: &str, arguments: &[impl AsRef<OsStr>]) -> Result<(), String> {
    let called = Command::new(program).args(arguments).env("LC_ALL", "C").process_group(0).output();
    let output = called.map_err(|error| format!("the program {program} cannot be started ({error})"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ");
    let said = one_line(&said).into_owned();
    Err(if said.is_empty() { format!("{program}: {}", output.status) } else { said })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn fstab_line_must_match_mounted_source() {
        let text = "# host:/x /mnt\nhost:/x\t/a\\040b  nfs defaults 0 0\n\nLABEL=/mnt none swap sw\nhost:/x /two nfs\n/dev/sdb /two xfs\n";
        let mount = |source: &str| mounts::parse(&format!("1 0 0:9 / /p rw - nfs {source} rw\n")).remove(0);
        let found = |path: &str, source: &str| names_in_fstab(text, Path::new(path), &mount(source));
        assert!(found("/a b", "host:/x"));
        assert!(!found("/a b", "host:/y") && !found("/mnt", "host:/x") && !found("/a", "host:/x"));
        assert!(!found("/two", "host:/x"));
    }

    #[test]
    fn rejects_root_and_bind_mounts() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        let tree = Tree::new();
        tree.mountinfo("self", &format!("1 0 7:9 /sub {} rw - ext4 /dev/loop9 rw\n", path.display()));
        let error = |path: &Path| Remount::of(path, &tree.root()).unwrap_err().to_string();
        assert!(error(&path).contains("shows only /sub of /dev/loop9"), "{}", error(&path));
        assert!(error(Path::new("/")).contains("root file system"));
    }

    #[test]
    fn rejects_mounts_that_cannot_be_restored() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        let tree = Tree::new();
        tree.mountinfo("self", &format!("1 0 0:9 / {} rw - nfs host:/x rw\n", path.display()));
        let error = |path: &Path| Remount::of(path, &tree.root()).unwrap_err().to_string();
        assert!(error(&path).contains("add a line"), "{}", error(&path));
        assert!(error(&path.join("none")).contains("is no mount point"));
    }

    #[test]
    fn retries_until_success_or_permanent_error() {
        let mut calls = 0;
        let mut work = || {
            calls += 1;
            if calls < 3 { Err("target is busy".to_string()) } else { Ok(()) }
        };
        assert_eq!(attempt(&mut work, |why| why.contains("busy")), Ok(()));
        assert_eq!(
            attempt(|| Err("no such device".into()), |why| why.contains("busy")),
            Err("no such device".into())
        );
        assert_eq!(calls, 3);
    }
}
