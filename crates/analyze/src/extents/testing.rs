//! Maps for tests.

use iosonar_layout::{Addresses, Extent, Map, Scan, Volume};
use std::sync::Arc;

/// A map of extents: offset, address, length, flags of FIEMAP.
pub(super) fn map(extents: &[(u64, u64, u64, u32)]) -> Map {
    let size = extents.last().map_or(0, |(offset, _, length, _)| offset + length);
    let mut scan = Scan::new(size, 4096, None, true);
    extents.iter().for_each(|(o, p, l, f)| scan.add(Extent::new(*o, *p, *l, *f)));
    let (figures, kept) = scan.finish();
    let (rows, beyond) = kept.unzip();
    let volume = Arc::new(Volume {
        kind: "ext4".into(),
        mount_point: Some("/mnt".into()),
        source: Some("/dev/sdx".into()),
        block_bytes: 4096,
        groups: None,
        bytes: None,
        addresses: Addresses::Device,
    });
    Map { path: "f".into(), volume, size, extent_size_hint: 0, is_synced: true, figures, rows, beyond }
}
