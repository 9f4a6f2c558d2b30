//! Free space of mounted file systems, as they report it (GETFSMAP).

use crate::extent_map::describe;
use iosonar_layout::{FreeReport, FreeSpace};
use iosonar_os::free_ranges::{FreeRanges, free_count};
use iosonar_os::{open_to_inspect, sync_file_system};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::ops::Range;
use std::path::Path;

/// Reads the free space of the file system of a regular file or directory. `syncs`: flush the file system first, so
/// that data is allocated and freed space is free. Also returns the first `keeps` free ranges, in bytes and ascending.
///
/// # Errors
/// An unsupported file system, a path that is neither, or an error from the kernel, in words.
pub fn read_free_space(path: &Path, syncs: bool, keeps: usize) -> Result<(FreeReport, Vec<Range<u64>>)> {
    let file = open(path)?;
    let volume = describe(path, &file)?;
    let in_words = |error| in_words(&error, &volume.kind);
    if syncs {
        sync_file_system(&file)?;
    }
    let mut free = FreeSpace::new(volume.groups);
    let mut ranges = Vec::new();
    for range in FreeRanges::of(&file)? {
        let range = range.map_err(in_words)?;
        free.add(range.start, range.length);
        if ranges.len() < keeps {
            ranges.push(range.start..range.start.saturating_add(range.length));
        }
    }
    let counted = free_count(&file)?;
    let (path, is_synced) = (path.to_path_buf(), syncs);
    let (statfs_free, statfs_available) = (counted.all, counted.available);
    Ok((FreeReport { path, volume, is_synced, statfs_free, statfs_available, free }, ranges))
}

/// Opens regular files and directories only: opening anything else could block or have side effects.
fn open(path: &Path) -> Result<File> {
    let check = |facts: std::fs::Metadata| match facts.is_file() || facts.is_dir() {
        true => Ok(()),
        false => Err(Error::new(
            ErrorKind::InvalidInput,
            "it is no regular file and no directory: name one on the file system, such as its mount point",
        )),
    };
    check(path.metadata()?)?;
    let file = open_to_inspect(path)?;
    // The name may denote something else by now.
    check(file.metadata()?)?;
    Ok(file)
}

/// Explains why the free space is unknown, with a remedy. The kind is that of the kernel's error.
fn in_words(error: &Error, file_system: &str) -> Error {
    // Error of a file system without the ioctl.
    let has_none = error.raw_os_error() == Some(Errno::NOTTY.raw_os_error());
    if has_none || error.kind() == ErrorKind::Unsupported {
        let why = format!("{file_system} does not report its free space by GETFSMAP");
        return Error::new(ErrorKind::Unsupported, format!("{why}: {}", instead_of(file_system)));
    }
    let remedy = match error.kind() {
        ErrorKind::PermissionDenied => ": the kernel reports it to root only: try as root",
        _ => "",
    };
    Error::new(error.kind(), format!("cannot read the free space of {file_system}: {error}{remedy}"))
}

/// Alternative to the missing report.
fn instead_of(file_system: &str) -> &'static str {
    match file_system {
        "btrfs" => {
            "it maps chunks to devices, and free space inside them has no device address; \
                    'btrfs filesystem usage' prints its sums"
        }
        "tmpfs" | "ramfs" => "its files are in memory; name a directory on XFS or ext4",
        _ => "XFS and ext4 do; df prints sums of others",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_state_cause_and_remedy() {
        let told = |number: Errno, kind: &str| in_words(&number.into(), kind);
        let btrfs = told(Errno::NOTTY, "btrfs");
        assert_eq!(btrfs.kind(), ErrorKind::Unsupported);
        assert!(btrfs.to_string().starts_with("btrfs does not report its free space by GETFSMAP: it maps"));
        let memory = told(Errno::OPNOTSUPP, "tmpfs").to_string();
        assert!(memory.contains("in memory; name a directory"), "{memory}");
        let denied = told(Errno::PERM, "xfs");
        assert_eq!(denied.kind(), ErrorKind::PermissionDenied);
        assert!(denied.to_string().ends_with("try as root"), "{denied}");
        assert!(told(Errno::IO, "xfs").to_string().starts_with("cannot read the free space of xfs: "));
    }

    #[test]
    fn rejects_special_files_without_opening() {
        let refused = read_free_space(Path::new("/dev/null"), false, 0).unwrap_err();
        assert!(refused.to_string().contains("no regular file and no directory"), "{refused}");
        let absent = read_free_space(Path::new("/nowhere"), false, 0).unwrap_err();
        assert_eq!(absent.kind(), ErrorKind::NotFound);
    }

    /// On file systems that report them: at most the wanted number of ranges is kept, and all are counted.
    #[test]
    fn keeps_at_most_the_wanted_ranges() {
        let Ok((found, ranges)) = read_free_space(Path::new("."), false, 2) else { return };
        assert!(ranges.len() <= 2 && found.free.ranges() >= ranges.len() as u64);
        assert!(found.free.sizes().max() >= ranges.first().map(|range| range.end - range.start));
    }
}
