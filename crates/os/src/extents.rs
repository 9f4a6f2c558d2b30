//! Locations of a file's blocks: its extents (FIEMAP), the allocation groups of XFS, and the extent size hint.

use rustix::fd::AsFd;
use rustix::ioctl::{Getter, Opcode, Setter, Updater, opcode};
use std::io;

/// `FS_IOC_FIEMAP`: its size is that of the header alone; the extents follow it.
const FS_IOC_FIEMAP: Opcode = opcode::read_write::<Header>(b'f', 11);
/// `XFS_IOC_FSGEOMETRY_V4`: every XFS has known it since 2001.
const XFS_IOC_FSGEOMETRY_V4: Opcode = opcode::read::<XfsGeometryV4>(b'X', 124);
/// `FS_IOC_FSGETXATTR`.
const FS_IOC_FSGETXATTR: Opcode = opcode::read::<FsXattr>(b'X', 31);
/// `FS_IOC_FSSETXATTR`.
const FS_IOC_FSSETXATTR: Opcode = opcode::write::<FsXattr>(b'X', 32);

/// `FIEMAP_FLAG_SYNC`: the file is flushed first, so that all of its blocks have addresses.
const FIEMAP_FLAG_SYNC: u32 = 1;
/// `FIEMAP_EXTENT_LAST`.
const LAST: u32 = 1;
/// Extents that one call returns: 28 KiB.
const BATCH: usize = 512;

/// Header of the kernel's `struct fiemap`.
#[repr(C)]
#[derive(Debug, Default)]
struct Header {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

/// The kernel's `struct fiemap_extent`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// A header and room for the extents after it, as the kernel writes them.
#[repr(C)]
#[derive(Debug)]
struct Request {
    header: Header,
    extents: [FiemapExtent; BATCH],
}

/// The kernel's `struct xfs_fsop_geom_v4`.
#[repr(C)]
struct XfsGeometryV4 {
    block_size: u32,
    realtime_extent_size: u32,
    group_blocks: u32,
    group_count: u32,
    log_blocks: u32,
    sector_size: u32,
    inode_size: u32,
    inode_percent: u32,
    data_blocks: u64,
    realtime_blocks: u64,
    realtime_extents: u64,
    log_start: u64,
    uuid: [u8; 16],
    stripe_unit: u32,
    stripe_width: u32,
    version: i32,
    flags: u32,
    log_sector_size: u32,
    realtime_sector_size: u32,
    directory_block_size: u32,
    log_stripe_unit: u32,
}

/// The kernel's `struct fsxattr`.
#[repr(C)]
struct FsXattr {
    flags: u32,
    extent_size: u32,
    extents: u32,
    project: u32,
    cow_extent_size: u32,
    padding: [u8; 8],
}

/// An extent as the file system reports it; all sizes are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawExtent {
    /// Start in the file.
    pub logical: u64,
    /// Start in the address space of the file system. Without meaning for some flags.
    pub physical: u64,
    /// Length in the file.
    pub length: u64,
    /// `FIEMAP_EXTENT_…`.
    pub flags: u32,
}

/// The extents of a file in the order of the file, as far as the file system reports them: beyond its end, too. They
/// are read in batches, so a file that changes meanwhile can report a place twice, or not at all.
#[derive(Debug)]
pub struct Extents<'a, F> {
    file: &'a F,
    request: Box<Request>,
    /// Extents of the batch that were returned.
    returned: usize,
    is_over: bool,
}

impl<'a, F: AsFd> Extents<'a, F> {
    /// Extents of an open file. `sync` flushes it first: else blocks that were not written yet have no address.
    pub fn of(file: &'a F, sync: bool) -> Extents<'a, F> {
        let flags = if sync { FIEMAP_FLAG_SYNC } else { 0 };
        let header = Header { length: u64::MAX, flags, extent_count: BATCH as u32, ..Header::default() };
        let request = Box::new(Request { header, extents: [FiemapExtent::default(); BATCH] });
        Extents { file, request, returned: 0, is_over: false }
    }

    /// Reads the next batch; returns whether there is one.
    fn fill(&mut self) -> io::Result<bool> {
        // SAFETY: FS_IOC_FIEMAP reads and writes a `struct fiemap`, which `Header` mirrors field for field, and writes at
        // most `extent_count` entries after it: `Request` has room for exactly these. All fields are integers, so whatever
        // the kernel writes is a valid value.
        let updater = unsafe { Updater::<FS_IOC_FIEMAP, Request>::new(&mut self.request) };
        // SAFETY: as above; files without extents refuse the opcode.
        unsafe { rustix::ioctl::ioctl(self.file, updater) }?;
        let Request { header, extents } = &mut *self.request;
        let mapped = (header.mapped_extents as usize).min(BATCH);
        self.returned = 0;
        // Once is enough: a flush before each batch would move the extents being read.
        header.flags = 0;
        let Some(last) = extents[..mapped].last() else { return Ok(false) };
        let end = last.logical.saturating_add(last.length);
        // A batch that does not lead on would be read for ever.
        let leads_on = end > header.start && end < u64::MAX;
        self.is_over = last.flags & LAST != 0 || !leads_on;
        header.start = end;
        header.length = u64::MAX - end;
        Ok(true)
    }
}

impl<F: AsFd> Iterator for Extents<'_, F> {
    type Item = io::Result<RawExtent>;

    /// # Errors
    /// `EOPNOTSUPP` or `ENOTTY`: the file system has no extent maps. Others are those of the ioctl.
    fn next(&mut self) -> Option<io::Result<RawExtent>> {
        let is_read = self.returned == self.request.header.mapped_extents as usize;
        if is_read {
            match self.is_over {
                true => return None,
                false => match self.fill() {
                    Ok(true) => {}
                    Ok(false) => {
                        self.is_over = true;
                        return None;
                    }
                    Err(error) => {
                        self.is_over = true;
                        return Some(Err(error));
                    }
                },
            }
        }
        let FiemapExtent { logical, physical, length, flags, .. } =
            *self.request.extents.get(self.returned)?;
        self.returned += 1;
        Some(Ok(RawExtent { logical, physical, length, flags }))
    }
}

/// The allocation groups of an XFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XfsGeometry {
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Number of allocation groups.
    pub groups: u64,
    /// Bytes of each of them, the last one excepted, which can be shorter.
    pub group_bytes: u64,
    /// Bytes of the data device that the file system uses.
    pub data_bytes: u64,
}

/// Geometry of the XFS that an open file is in.
///
/// # Errors
/// `ENOTTY` or `EOPNOTSUPP` where it is in another file system.
pub fn xfs_geometry(file: impl AsFd) -> io::Result<XfsGeometry> {
    // SAFETY: XFS_IOC_FSGEOMETRY_V4 writes one `struct xfs_fsop_geom_v4`, which `XfsGeometryV4` mirrors field for field; all
    // its fields are integers, so whatever the kernel writes is a valid value.
    let getter = unsafe { Getter::<XFS_IOC_FSGEOMETRY_V4, XfsGeometryV4>::new() };
    // SAFETY: as above; other file systems refuse the opcode. The caller asks for files only, and no file system gives the
    // number another meaning.
    let found = unsafe { rustix::ioctl::ioctl(file, getter) }?;
    let block_bytes = u64::from(found.block_size);
    Ok(XfsGeometry {
        block_bytes,
        groups: found.group_count.into(),
        group_bytes: block_bytes * u64::from(found.group_blocks),
        data_bytes: block_bytes.saturating_mul(found.data_blocks),
    })
}

/// Attributes that XFS, ext4, btrfs and others keep of a file (`FS_IOC_FSGETXATTR`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// Whether the file is on the realtime device of an XFS, which has no allocation groups of the data device.
    pub is_realtime: bool,
    /// Extent size hint in bytes; 0 means no hint.
    pub extent_size_bytes: u32,
}

/// Attributes of an open file.
///
/// # Errors
/// `ENOTTY` or `EOPNOTSUPP` where the file system has no attributes.
pub fn attributes(file: impl AsFd) -> io::Result<Attributes> {
    /// `FS_XFLAG_REALTIME`.
    const REALTIME: u32 = 1;
    let found = get_attributes(file)?;
    Ok(Attributes { is_realtime: found.flags & REALTIME != 0, extent_size_bytes: found.extent_size })
}

/// Sets the extent size hint of an open file. Its other attributes stay.
///
/// # Errors
/// `ENOTTY` or `EOPNOTSUPP` where the file system has no such hints, `EINVAL` where the file has blocks already, or the file system
/// does not accept the size.
pub fn set_extent_size(file: impl AsFd, bytes: u32) -> io::Result<()> {
    /// `FS_XFLAG_EXTSIZE`.
    const EXTENT_SIZE: u32 = 0x800;
    let found = get_attributes(&file)?;
    let changed = FsXattr { flags: found.flags | EXTENT_SIZE, extent_size: bytes, ..found };
    // SAFETY: FS_IOC_FSSETXATTR reads one `struct fsxattr`, which `FsXattr` mirrors field for field.
    let setter = unsafe { Setter::<FS_IOC_FSSETXATTR, FsXattr>::new(changed) };
    // SAFETY: as above; files without attributes refuse the opcode.
    unsafe { rustix::ioctl::ioctl(&file, setter) }?;
    // ext4 takes the call and ignores the hint.
    match get_attributes(&file)?.extent_size == bytes {
        true => Ok(()),
        false => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
    }
}

fn get_attributes(file: impl AsFd) -> io::Result<FsXattr> {
    // SAFETY: FS_IOC_FSGETXATTR writes one `struct fsxattr`, which `FsXattr` mirrors field for field; all its fields are
    // integers, so whatever the kernel writes is a valid value.
    let getter = unsafe { Getter::<FS_IOC_FSGETXATTR, FsXattr>::new() };
    // SAFETY: as above; files without attributes refuse the opcode.
    Ok(unsafe { rustix::ioctl::ioctl(file, getter) }?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::mem::offset_of;
    use std::os::unix::fs::FileExt;

    #[test]
    fn struct_layouts_match_the_kernel() {
        assert_eq!((size_of::<Header>(), size_of::<FiemapExtent>()), (32, 56));
        assert_eq!(offset_of!(FiemapExtent, flags), 40);
        assert_eq!(offset_of!(Request, extents), 32);
        assert_eq!((size_of::<XfsGeometryV4>(), offset_of!(XfsGeometryV4, uuid)), (112, 64));
        assert_eq!(size_of::<FsXattr>(), 28);
        assert_eq!(FS_IOC_FIEMAP, 0xC020_660B);
        assert_eq!(XFS_IOC_FSGEOMETRY_V4, 0x8070_587C);
        assert_eq!(FS_IOC_FSGETXATTR, 0x801C_581F);
        assert_eq!(FS_IOC_FSSETXATTR, 0x401C_5820);
    }

    /// More than a batch, where this directory's file system has maps: every second block is a hole.
    #[test]
    fn extents_of_several_batches_are_in_file_order() {
        let file = tempfile::tempfile_in(".").unwrap();
        let blocks = BATCH as u64 + 100;
        for block in 0..blocks {
            file.write_all_at(&[1; 4096], block * 8192).unwrap();
        }
        let found: io::Result<Vec<RawExtent>> = Extents::of(&file, true).collect();
        let Ok(found) = found else { return };
        assert_eq!(found.iter().map(|e| e.length).sum::<u64>(), blocks * 4096, "{found:?}");
        assert!(found.windows(2).all(|pair| pair[0].logical + pair[0].length <= pair[1].logical));
        assert!(found.iter().all(|extent| extent.physical != 0));
    }

    #[test]
    fn an_empty_file_has_no_extents() {
        let file = tempfile::tempfile_in(".").unwrap();
        let found: io::Result<Vec<RawExtent>> = Extents::of(&file, true).collect();
        assert!(found.map_or(true, |found| found.is_empty()));
    }

    #[test]
    fn an_extent_size_is_set_or_refused() {
        let file = tempfile::tempfile_in(".").unwrap();
        match set_extent_size(&file, 1 << 20) {
            Ok(()) => assert_eq!(attributes(&file).unwrap().extent_size_bytes, 1 << 20),
            Err(error) => {
                assert!(matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOTTY)), "{error}")
            }
        }
    }

    #[test]
    fn files_without_extents_are_an_error() {
        let file = File::open("/proc/self/status").unwrap();
        let found: Vec<io::Result<RawExtent>> = Extents::of(&file, true).collect();
        assert!(found.len() == 1 && found[0].is_err(), "{found:?}");
        assert!(xfs_geometry(&file).is_err() && attributes(&file).is_err());
    }
}
