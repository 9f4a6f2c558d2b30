//! Extent maps of files, as reported by their file systems (FIEMAP).

use crate::{Fact, Root, file_system_of};
use iosonar_layout::{Addresses, Extent, Groups, Map, Scan, Volume};
use iosonar_os::extents::{Extents, attributes, xfs_geometry};
use iosonar_os::{block_bytes, statx};
use rustix::io::Errno;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// Parts of a map to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Counts and sums only.
    Figures,
    /// All extents, too.
    Extents,
    /// All extents, too; more than this many are an error.
    ExtentsUpTo(usize),
}

/// Reads maps.
#[derive(Debug)]
pub struct MapReader {
    /// Whether to flush files first.
    syncs: bool,
    keeps: Keep,
    /// Facts about file systems, by mount and device number.
    volumes: HashMap<(Option<u64>, u64), Arc<Volume>>,
}

impl MapReader {
    /// `syncs`: whether to flush files first. Otherwise blocks that were not written yet have no address.
    pub fn new(syncs: bool, keeps: Keep) -> MapReader {
        MapReader { syncs, keeps, volumes: HashMap::new() }
    }

    /// Reads the map of an open regular file, named `path`.
    ///
    /// # Errors
    /// A file system without maps, or an error from the kernel, in words.
    pub fn read(&mut self, path: &Path, file: &File) -> Result<Map> {
        let facts = file.metadata()?;
        let attributes = attributes(file).ok();
        let mut volume = self.volume(path, file, facts.dev())?;
        if attributes.is_some_and(|found| found.is_realtime) {
            // The realtime device does not have the data device's allocation groups.
            let addresses = Addresses::RealtimeDevice;
            volume = Arc::new(Volume { groups: None, bytes: None, addresses, ..(*volume).clone() });
        }
        let keeps_rows = self.keeps != Keep::Figures;
        let mut scan = Scan::new(facts.len(), volume.block_bytes, volume.groups, keeps_rows);
        for (number, extent) in Extents::of(file, self.syncs).enumerate() {
            let extent = extent.map_err(|error| in_words(&error, &volume))?;
            if matches!(self.keeps, Keep::ExtentsUpTo(most) if number >= most) {
                return Err(Error::other(format!("it has more than {number} extents")));
            }
            scan.add(Extent::new(extent.logical, extent.physical, extent.length, extent.flags));
        }
        let (figures, kept) = scan.finish();
        let (rows, beyond) = kept.unzip();
        let extent_size_hint = attributes.map_or(0, |found| found.extent_size_bytes.into());
        let (path, size, is_synced) = (path.to_path_buf(), facts.len(), self.syncs);
        Ok(Map { path, volume, size, extent_size_hint, is_synced, figures, rows, beyond })
    }

    fn volume(&mut self, path: &Path, file: &File, device: u64) -> Result<Arc<Volume>> {
        let mount = statx::extra(path).ok().and_then(|extra| extra.mount_id);
        if let Some(known) = self.volumes.get(&(mount, device)) {
            return Ok(Arc::clone(known));
        }
        let volume = Arc::new(describe(path, file)?);
        self.volumes.insert((mount, device), Arc::clone(&volume));
        Ok(volume)
    }
}

pub(crate) fn describe(path: &Path, file: &File) -> Result<Volume> {
    let (kind, mount_point, source) = match file_system_of(path, &Root::default()) {
        Fact::Known(found) => (found.kind, Some(found.mount_point), Some(found.source)),
        Fact::Absent { .. } => ("unknown file system".to_string(), None, None),
    };
    let geometry = xfs_geometry(file).ok().filter(|found| kind == "xfs" && found.group_bytes > 0);
    Ok(Volume {
        addresses: Addresses::of(&kind),
        kind,
        mount_point,
        source,
        block_bytes: block_bytes(file)?,
        groups: geometry.map(|found| Groups { count: found.groups, bytes: found.group_bytes }),
        bytes: geometry.map(|found| found.data_bytes),
    })
}

/// Explains why a file has no map. The kind is that of the kernel's error.
fn in_words(error: &Error, volume: &Volume) -> Error {
    let kind = &volume.kind;
    // Error of a file system without ioctls.
    let has_no_ioctls = error.raw_os_error() == Some(Errno::NOTTY.raw_os_error());
    let is_unsupported = error.kind() == ErrorKind::Unsupported || has_no_ioctls;
    let (of, words) = match (is_unsupported, kind.as_str()) {
        (true, "tmpfs" | "ramfs") => {
            (ErrorKind::Unsupported, format!("{kind} has no extent maps: its files are in memory"))
        }
        (true, _) => (ErrorKind::Unsupported, format!("{kind} reports no extent maps (FIEMAP): {error}")),
        (false, _) => (error.kind(), format!("cannot read its extents on {kind}: {error}")),
    };
    Error::new(of, words)
}
