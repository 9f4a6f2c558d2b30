//! Location of the parts of files: extent maps and their figures, as reported by a file system. Also the location of free
//! space.
//!
//! A [`Scan`] takes the extents of a file in their order, finds holes, cuts at the end of the file, and counts
//! ([`Figures`]). Its memory depends on what is kept: all rows of a map, or only the figures.

mod extent;
mod figures;
mod fragments;
mod free;
mod json;
mod scan;

pub use extent::{Extent, Kind};
pub use figures::{Figures, SizeClass, Sizes};
pub use fragments::{Fragment, fragments};
pub use free::{FreeReport, FreeSpace, GroupFree, left_after};
pub use json::{FreeJson, MapsJson, VERSION, figures_json};
pub use scan::{FileMap, Row, Scan};

use serde::{Deserialize, Serialize, Serializer};
use std::path::PathBuf;

/// Address space of extents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Addresses {
    /// Bytes of the device, or of the volume, that the file system is on.
    Device,
    /// Bytes of the realtime device of an XFS.
    RealtimeDevice,
    /// Logical addresses of a btrfs, which it maps to its devices by chunks.
    #[serde(rename = "btrfs-logical")]
    Logical,
    /// The file system's own addresses.
    #[serde(rename = "file-system")]
    Reported,
}

impl Addresses {
    /// The address space that a file system of this type reports.
    pub fn of(kind: &str) -> Addresses {
        match kind {
            "xfs" | "ext2" | "ext3" | "ext4" => Addresses::Device,
            "btrfs" => Addresses::Logical,
            _ => Addresses::Reported,
        }
    }

    /// A warning before comparing them with addresses of a device, as a sentence.
    pub fn remark(self) -> Option<&'static str> {
        match self {
            Addresses::Device => None,
            Addresses::RealtimeDevice => Some("Addresses are those of the realtime device."),
            Addresses::Logical => {
                Some("Addresses are logical addresses of btrfs, not of a device: chunks map them to devices.")
            }
            Addresses::Reported => {
                Some("Addresses are those that the file system reports; they need not be those of a device.")
            }
        }
    }
}

/// Allocation groups of equal size, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Groups {
    /// Number of groups.
    pub count: u64,
    /// Bytes of a group; the last one can be shorter. Above 0.
    pub bytes: u64,
}

impl Groups {
    /// The group of an address, and the offset in it, in bytes.
    pub fn of(self, address: u64) -> (u64, u64) {
        let bytes = self.bytes.max(1);
        (address / bytes, address % bytes)
    }
}

/// Facts about the file system of a map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// Its type: `xfs`, `ext4`, `btrfs` …
    #[serde(rename = "type")]
    pub kind: String,
    /// Its mount point; `None` if unknown.
    #[serde(serialize_with = "as_shown")]
    pub mount_point: Option<PathBuf>,
    /// Its mount source: usually a device.
    pub source: Option<String>,
    /// Bytes of a block. Above 0.
    pub block_bytes: u64,
    /// Allocation groups, of XFS only.
    pub groups: Option<Groups>,
    /// Bytes of the address space; `None` if unknown.
    pub bytes: Option<u64>,
    /// Its address space.
    pub addresses: Addresses,
}

/// JSON cannot hold bytes that are not text.
fn as_shown<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.display().to_string()).serialize(serializer)
}

/// The map of a file, or only its figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Map {
    /// The file as named, or found.
    pub path: PathBuf,
    /// Its file system.
    pub volume: std::sync::Arc<Volume>,
    /// Length of the file in bytes.
    pub size: u64,
    /// Extent size hint in bytes, of XFS; 0 if unset.
    pub extent_size_hint: u64,
    /// Whether the file was flushed before it was read.
    pub is_synced: bool,
    /// Counts and sums.
    pub figures: Figures,
    /// Extents and holes up to the end of the file, in its order; `None` if only figures were kept.
    pub rows: Option<Vec<Row>>,
    /// Extents after the end of the file, which hold no data; `None` if only figures were kept.
    pub beyond: Option<Vec<Extent>>,
}
