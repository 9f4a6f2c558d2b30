//! Which bytes of a target hold no data, as far as this machine can know.

use crate::target::{BlockDevice, Layer, RegularFile, Role, TargetFacts, TargetKind};
use iosonar_os::empty_bytes;
use iosonar_os::open_to_inspect;
use iosonar_os::page_cache::cached_bytes_in;
use iosonar_text::shown;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Unmapped bytes of a range, according to the lowest file below a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmappedBytes {
    /// Bytes of the range without data: holes, unwritten extents, discarded blocks.
    pub empty: u64,
    /// The file examined: the target itself, or the backing file of a loop device.
    pub file: PathBuf,
}

/// A range of the lowest file below a target that this machine knows.
#[derive(Debug)]
pub(crate) struct StoredIn {
    /// The file, opened for inspection.
    pub(crate) file: File,
    /// Path of the file.
    pub(crate) path: PathBuf,
    /// The range in the file.
    pub(crate) range: Range<u64>,
}

/// Returns the bytes of a range of a target that hold no data. For a loop device, or a partition of one, its backing
/// file is examined.
///
/// # Errors
/// The bytes are unknown: other devices do not report which of their blocks are stored.
pub fn emptiness(target: &TargetFacts, range: Range<u64>) -> Result<UnmappedBytes, String> {
    let StoredIn { file, path, range } = stored_in(target, range)?;
    let empty = empty_bytes(&file, range).map_err(|error| format!("{}: {error}", shown(&path)))?;
    Ok(UnmappedBytes { empty, file: path })
}

/// Returns the bytes of a range of a target that are in the page cache: buffered reads there reach no device.
///
/// # Errors
/// The bytes are unknown. The kernel answers only the file's owner and those who may write to it, and reports nothing
/// as cached for files in an overlay.
pub fn cached(target: &TargetFacts, range: Range<u64>) -> Result<u64, String> {
    if let TargetKind::RegularFile(file) = &target.kind
        && file.file_system.known().is_none_or(|system| system.kind == "overlay")
    {
        return Err(format!("what is cached of {} is kept in a layer below", shown(&target.path)));
    }
    let failed = |error: std::io::Error| format!("{}: {error}", shown(&target.path));
    let file = open_to_inspect(&target.path).map_err(failed)?;
    cached_bytes_in(&file, range.clone()).map(|bytes| bytes.min(range.end - range.start)).map_err(failed)
}

/// Returns the file that stores a range of a target.
///
/// # Errors
/// There is no file to examine.
pub(crate) fn stored_in(target: &TargetFacts, range: Range<u64>) -> Result<StoredIn, String> {
    match &target.kind {
        // The name as typed is certain to lead to it.
        TargetKind::RegularFile(file) => of_file(&target.path, file, range),
        TargetKind::BlockDevice(device) => of_device(device, range),
        TargetKind::MemoryDevice(_) => Err(format!("{} stores nothing", shown(&target.path))),
    }
}

fn of_device(device: &BlockDevice, range: Range<u64>) -> Result<StoredIn, String> {
    let moved = |by: u64| range.start.saturating_add(by)..range.end.saturating_add(by);
    match &device.role {
        Role::Loop { backing_file, offset, below, .. } => {
            let range = moved(offset.known().copied().unwrap_or(0));
            match &**below {
                Layer::RegularFile(file) => of_file(backing_file, file, range),
                Layer::BlockDevice(below) => of_device(below, range),
                Layer::FileSystem(_) => Err(format!("what {} lies on is no file", device.name)),
                Layer::Unknown(why) => Err(format!("what {} lies on is unknown: {why}", device.name)),
            }
        }
        Role::Partition { start, disk, .. } => match start.known() {
            Some(start) => of_device(disk, moved(*start)),
            None => Err(format!("where {} starts on its disk is unknown", device.name)),
        },
        Role::Disk | Role::Stacked { .. } => {
            Err(format!("{} does not report which of its blocks are stored", device.name))
        }
    }
}

fn of_file(path: &Path, known: &RegularFile, range: Range<u64>) -> Result<StoredIn, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", shown(&path));
    let file = open_to_inspect(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    if !found.is_file() || found.ino() != known.inode {
        return Err(format!("{} leads to another file here", shown(&path)));
    }
    Ok(StoredIn { file, path: path.to_path_buf(), range })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fact, Root, identify};
    use std::os::unix::fs::FileExt;

    const MIB: u64 = 1 << 20;

    /// A sparse file of 4 MiB with data in its second.
    fn sparse() -> (tempfile::TempDir, TargetFacts) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("image");
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(4 * MIB).unwrap();
        file.write_all_at(&vec![7; MIB as usize], MIB).unwrap();
        file.sync_all().unwrap();
        let facts = identify(&path, &Root::default()).unwrap();
        (dir, facts)
    }

    #[test]
    fn counts_cached_pages_where_cachestat_is_reliable() {
        let (_dir, facts) = sparse();
        // Written data is cached; unwritten data is not.
        assert_eq!((cached(&facts, MIB..2 * MIB), cached(&facts, 2 * MIB..3 * MIB)), (Ok(MIB), Ok(0)));
        assert_eq!(cached(&facts, MIB + 5..MIB + 6), Ok(1));
        let TargetKind::RegularFile(mut file) = facts.kind.clone() else { panic!("{facts:?}") };
        let Fact::Known(system) = &mut file.file_system else { panic!("{file:?}") };
        system.kind = "overlay".into();
        let overlaid = TargetFacts { kind: TargetKind::RegularFile(file), ..facts };
        assert!(cached(&overlaid, 0..MIB).unwrap_err().contains("in a layer below"));
    }

    fn device(name: &str, role: Role) -> BlockDevice {
        BlockDevice {
            number: crate::DevNumber { major: 7, minor: 0 },
            name: name.into(),
            size: 4 * MIB,
            read_only: Fact::Known(false),
            driver: Fact::Known("loop".into()),
            is_virtual: true,
            diskseq: Fact::absent("not here"),
            model: Fact::absent("not here"),
            serial: Fact::absent("not here"),
            queue: Default::default(),
            role,
            partitions: Vec::new(),
        }
    }

    /// A loop device that shows a file from its second mebibyte on.
    fn on_file(facts: &TargetFacts) -> BlockDevice {
        let TargetKind::RegularFile(file) = &facts.kind else { panic!("it is a file") };
        let role = Role::Loop {
            backing_file: facts.path.clone(),
            offset: Fact::Known(MIB),
            direct_io: Fact::Known(true),
            below: Box::new(Layer::RegularFile(file.clone())),
        };
        device("loop0", role)
    }

    #[test]
    fn file_shows_holes_of_itself_and_its_loop_device() {
        let (_dir, facts) = sparse();
        let of_file = emptiness(&facts, 0..4 * MIB).unwrap();
        assert_eq!(of_file, UnmappedBytes { empty: 3 * MIB, file: facts.path.clone() });
        let device = on_file(&facts);
        let empty = |device: &BlockDevice, range: Range<u64>| {
            let StoredIn { file, range, .. } = of_device(device, range).unwrap();
            empty_bytes(&file, range).unwrap()
        };
        assert_eq!(empty(&device, 0..MIB), 0);
        assert_eq!(empty(&device, 0..3 * MIB), 2 * MIB);
        let partition =
            Role::Partition { index: Fact::Known(1), start: Fact::Known(MIB / 2), disk: Box::new(device) };
        assert_eq!(empty(&self::device("loop0p1", partition), 0..MIB), MIB / 2);
    }

    #[test]
    fn unknown_storage_state_has_a_reason() {
        let (_dir, facts) = sparse();
        let disk = of_device(&device("sda", Role::Disk), 0..MIB).unwrap_err();
        assert_eq!(disk, "sda does not report which of its blocks are stored");
        let other = tempfile::NamedTempFile::new().unwrap();
        let mut moved = on_file(&facts);
        if let Role::Loop { backing_file, .. } = &mut moved.role {
            *backing_file = other.path().to_path_buf();
        }
        assert!(of_device(&moved, 0..MIB).unwrap_err().ends_with("leads to another file here"));
    }
}
