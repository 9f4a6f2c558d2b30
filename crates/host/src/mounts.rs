//! Mounts, from `/proc/*/mountinfo`.

use crate::{DevNumber, Root};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Maximum number of processes examined for mount namespaces.
const MAX_PROCESSES: usize = 65_536;
/// Maximum number of mount namespaces read.
const MAX_NAMESPACES: usize = 512;

/// A line of mountinfo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub id: u64,
    pub number: DevNumber,
    /// Directory of the file system that is visible at the mount point.
    pub root: PathBuf,
    pub mount_point: PathBuf,
    pub options: String,
    pub kind: String,
    pub source: String,
    pub super_options: String,
}

impl Mount {
    /// Whether the mount point shows the whole file system like mount(8), and not a directory of it.
    pub fn is_whole(&self) -> bool {
        let whole = match self.kind.as_str() {
            // The subvolume is named by an option.
            "btrfs" => self.super_option("subvol").unwrap_or("/"),
            _ => "/",
        };
        self.root == Path::new(whole)
    }

    /// Whether both show the same directory of one file system, which may have been unmounted meanwhile.
    pub fn is_same_file_system(&self, other: &Mount) -> bool {
        // Anonymous device numbers change with each mount.
        let is_same_number =
            self.number == other.number || (self.number.major == 0 && other.number.major == 0);
        is_same_number && (&self.kind, &self.source, &self.root) == (&other.kind, &other.source, &other.root)
    }

    /// Value of `name=value` in the options of the file system.
    pub fn super_option(&self, name: &str) -> Option<&str> {
        self.super_options.split(',').find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }
}

/// Mounts of this process's mount namespace.
pub(crate) fn own(root: &Root) -> io::Result<Vec<Mount>> {
    Ok(parse(&root.read("/proc/self/mountinfo")?))
}

/// Mount points in this process's mount namespace, in the kernel's order: mounts on a directory of another mount come
/// after it.
///
/// # Errors
/// `/proc/self/mountinfo` cannot be read.
pub fn mount_points(root: &Root) -> io::Result<Vec<PathBuf>> {
    Ok(own(root)?.into_iter().map(|mount| mount.mount_point).collect())
}

/// Source of the file system visible at a mount point, as in mountinfo; `None` if nothing is mounted.
pub fn mount_source(point: &Path, root: &Root) -> Option<PathBuf> {
    // The last mount covers earlier ones.
    let mount = own(root).ok()?.into_iter().rfind(|mount| mount.mount_point == point)?;
    Some(PathBuf::from(mount.source))
}

/// Mounts of another mount namespace, and one of its processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Foreign {
    pub pid: u32,
    pub mounts: Vec<Mount>,
}

/// Mounts of the other accessible mount namespaces. Inaccessible ones are skipped: there the exclusive open of the
/// device decides.
pub(crate) fn foreign(root: &Root) -> Vec<Foreign> {
    let mut seen: HashSet<PathBuf> = root.link("/proc/self/ns/mnt").into_iter().collect();
    let pids = root.list("/proc").unwrap_or_default();
    let pids = pids.iter().filter_map(|name| name.parse::<u32>().ok()).take(MAX_PROCESSES);
    let of_new_namespace = |pid: u32| {
        let namespace = root.link(format!("/proc/{pid}/ns/mnt")).ok()?;
        let text =
            (!seen.contains(&namespace)).then(|| root.read(format!("/proc/{pid}/mountinfo")).ok())??;
        seen.insert(namespace);
        Some(Foreign { pid, mounts: parse(&text) })
    };
    pids.filter_map(of_new_namespace).take(MAX_NAMESPACES).collect()
}

/// The mount with this id, or else the one whose mount point is the longest prefix of `path`.
pub(crate) fn holding<'a>(mounts: &'a [Mount], id: Option<u64>, path: &Path) -> Option<&'a Mount> {
    let by_id = mounts.iter().find(|mount| Some(mount.id) == id);
    by_id.or_else(|| {
        let above = mounts.iter().filter(|mount| path.starts_with(&mount.mount_point));
        above.max_by_key(|mount| mount.mount_point.as_os_str().len())
    })
}

/// Parses the whole text; malformed lines are skipped.
pub(crate) fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

/// Parses `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`.
fn parse_line(line: &str) -> Option<Mount> {
    let (mount, file_system) = line.split_once(" - ")?;
    let mut mount = mount.split(' ');
    let mut file_system = file_system.split(' ');
    let id = mount.next()?.parse().ok()?;
    let _parent = mount.next()?;
    Some(Mount {
        id,
        number: mount.next()?.parse().ok()?,
        root: unescape(mount.next()?),
        mount_point: unescape(mount.next()?),
        options: mount.next()?.to_owned(),
        kind: file_system.next()?.to_owned(),
        source: unescape(file_system.next()?).to_string_lossy().into_owned(),
        super_options: file_system.next().unwrap_or_default().to_owned(),
    })
}

/// Decodes a path: the kernel writes blanks, tabs, line ends and backslashes as three octal digits.
pub(crate) fn unescape(text: &str) -> PathBuf {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let (byte, length) = octal(&bytes[at..]).map_or((bytes[at], 1), |byte| (byte, 4));
        plain.push(byte);
        at += length;
    }
    PathBuf::from(OsStr::from_bytes(&plain))
}

/// Byte encoded by a backslash and three octal digits at the start of `bytes`.
fn octal(bytes: &[u8]) -> Option<u8> {
    let [b'\\', digits @ ..] = bytes.get(..4)? else { return None };
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
36 27 98:0 /mnt1 /a\\040b rw,noatime master:1 shared:7 - ext3 /dev/root ro,errors=continue
37 27 0:40 / /o rw - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w
broken line
";

    #[test]
    fn reads_mountinfo_lines() {
        let mounts = parse(TEXT);
        assert_eq!(mounts.len(), 3);
        assert_eq!(mounts[1].mount_point, Path::new("/a b"));
        assert_eq!(mounts[1].number, DevNumber { major: 98, minor: 0 });
        assert_eq!(mounts[2].super_option("upperdir"), Some("/u"));
    }

    #[test]
    fn finds_mount_by_id_or_path() {
        let mounts = parse(TEXT);
        assert_eq!(holding(&mounts, Some(37), Path::new("/x")).unwrap().id, 37);
        assert_eq!(holding(&mounts, None, Path::new("/a b/c")).unwrap().id, 36);
        assert_eq!(holding(&mounts, Some(99), Path::new("/ab")).unwrap().id, 27);
    }

    #[test]
    fn keeps_lone_backslash() {
        assert_eq!(unescape("a\\b\\0"), Path::new("a\\b\\0"));
    }
}
