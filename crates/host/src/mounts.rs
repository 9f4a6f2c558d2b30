//! What is mounted where: `/proc/*/mountinfo`.

use crate::{DevNumber, Root};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// At most so many processes are looked at for mount namespaces.
const MAX_PROCESSES: usize = 65_536;
/// At most so many mount namespaces are read.
const MAX_NAMESPACES: usize = 512;

/// One line of mountinfo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub id: u64,
    pub number: DevNumber,
    /// Which directory of the file system is what is seen at the mount point.
    pub root: PathBuf,
    pub mount_point: PathBuf,
    pub options: String,
    pub kind: String,
    pub source: String,
    pub super_options: String,
}

impl Mount {
    /// Whether the mount point shows what mount(8) shows of the file system, and not a directory of it.
    pub fn is_whole(&self) -> bool {
        let whole = match self.kind.as_str() {
            // The volume is named by an option.
            "btrfs" => self.super_option("subvol").unwrap_or("/"),
            _ => "/",
        };
        self.root == Path::new(whole)
    }

    /// Whether both show the same of one file system, which may have been unmounted meanwhile.
    pub fn is_same_file_system(&self, other: &Mount) -> bool {
        // The number of a file system without a device of its own is another one each time.
        let is_same_number =
            self.number == other.number || (self.number.major == 0 && other.number.major == 0);
        is_same_number && (&self.kind, &self.source, &self.root) == (&other.kind, &other.source, &other.root)
    }

    /// The value of `name=value` among the options of the file system.
    pub fn super_option(&self, name: &str) -> Option<&str> {
        self.super_options.split(',').find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }
}

/// Mounts of the mount namespace that this process is in.
pub(crate) fn own(root: &Root) -> io::Result<Vec<Mount>> {
    Ok(parse(&root.read("/proc/self/mountinfo")?))
}

/// Directories on which something is mounted in the mount namespace of this process, in the order of the kernel: what is mounted
/// on a directory of another mount comes after that.
///
/// # Errors
/// `/proc/self/mountinfo` cannot be read.
pub fn mount_points(root: &Root) -> io::Result<Vec<PathBuf>> {
    Ok(own(root)?.into_iter().map(|mount| mount.mount_point).collect())
}

/// What the file system that is seen at a mount point is mounted from, as mountinfo shows it; `None` where nothing is mounted.
pub fn mount_source(point: &Path, root: &Root) -> Option<PathBuf> {
    // The last one lies over those before it.
    let mount = own(root).ok()?.into_iter().rfind(|mount| mount.mount_point == point)?;
    Some(PathBuf::from(mount.source))
}

/// The mounts of another mount namespace, and one of the processes that live in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Foreign {
    pub pid: u32,
    pub mounts: Vec<Mount>,
}

/// Mounts of the other mount namespaces that may be looked at. What may not is skipped: there the exclusive open
/// of the device has the last word.
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

/// The mount with this id, else the one whose mount point is the longest prefix of `path`.
pub(crate) fn holding<'a>(mounts: &'a [Mount], id: Option<u64>, path: &Path) -> Option<&'a Mount> {
    let by_id = mounts.iter().find(|mount| Some(mount.id) == id);
    by_id.or_else(|| {
        let above = mounts.iter().filter(|mount| path.starts_with(&mount.mount_point));
        above.max_by_key(|mount| mount.mount_point.as_os_str().len())
    })
}

/// Reads the whole text; lines of another form are skipped.
pub(crate) fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
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

/// The kernel writes blanks, tabs, line ends and backslashes in paths as three octal digits.
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

/// The byte that a backslash and three octal digits at the start of `bytes` stand for.
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
    fn lines_are_read() {
        let mounts = parse(TEXT);
        assert_eq!(mounts.len(), 3);
        assert_eq!(mounts[1].mount_point, Path::new("/a b"));
        assert_eq!(mounts[1].number, DevNumber { major: 98, minor: 0 });
        assert_eq!(mounts[2].super_option("upperdir"), Some("/u"));
    }

    #[test]
    fn mount_is_found_by_id_else_by_path() {
        let mounts = parse(TEXT);
        assert_eq!(holding(&mounts, Some(37), Path::new("/x")).unwrap().id, 37);
        assert_eq!(holding(&mounts, None, Path::new("/a b/c")).unwrap().id, 36);
        assert_eq!(holding(&mounts, Some(99), Path::new("/ab")).unwrap().id, 27);
    }

    #[test]
    fn a_lone_backslash_stays() {
        assert_eq!(unescape("a\\b\\0"), Path::new("a\\b\\0"));
    }
}
