//! The free ranges of a mounted file system (GETFSMAP), and its counts of free space.

use rustix::fd::AsFd;
use rustix::ioctl::{Opcode, Updater, opcode};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

/// `FS_IOC_GETFSMAP`: its size is that of the head alone; the records follow it.
const FS_IOC_GETFSMAP: Opcode = opcode::read_write::<Head>(b'X', 59);

/// `FMH_OF_DEV_T`: devices of records are device numbers.
const HAS_DEVICE_NUMBERS: u32 = 1;
/// The data device, where devices have other numbers: `XFS_DEV_DATA`.
const DATA_DEVICE: u32 = 1;
/// `FMR_OF_SPECIAL_OWNER`: the owner is no inode.
const SPECIAL_OWNER: u32 = 0x10;
/// `FMR_OF_LAST`.
const LAST: u32 = 0x20;
/// `FMR_OWN_FREE`, a special owner.
const OWNER_FREE: u64 = 1;
/// Records that one call returns: 64 KiB.
const BATCH: usize = 1024;

/// The kernel's `struct fsmap`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Record {
    device: u32,
    flags: u32,
    physical: u64,
    owner: u64,
    offset: u64,
    length: u64,
    reserved: [u64; 3],
}

/// The kernel's `struct fsmap_head` without its records.
#[repr(C)]
#[derive(Debug, Default)]
struct Head {
    flags_in: u32,
    flags_out: u32,
    count: u32,
    entries: u32,
    reserved: [u64; 6],
    /// The lowest and the highest requested record.
    keys: [Record; 2],
}

/// A head and room for the records after it, as the kernel writes them.
#[repr(C)]
#[derive(Debug)]
struct Request {
    head: Head,
    records: [Record; BATCH],
}

impl Request {
    /// A request for all records of all devices.
    fn new() -> Request {
        let all = u64::MAX;
        let high = Record {
            device: u32::MAX,
            flags: u32::MAX,
            physical: all,
            owner: all,
            offset: all,
            ..Record::default()
        };
        let head = Head { count: BATCH as u32, keys: [Record::default(), high], ..Head::default() };
        Request { head, records: [Record::default(); BATCH] }
    }

    /// Records that the kernel returned.
    fn returned(&self) -> &[Record] {
        &self.records[..(self.head.entries as usize).min(BATCH)]
    }

    /// Continues after the returned records; returns whether more can come.
    fn advance(&mut self) -> bool {
        let Some(last) = self.returned().last().copied() else { return false };
        let place = |record: &Record| (record.device, record.physical, record.owner, record.offset);
        // A batch that does not lead on would be read for ever.
        let leads_on = place(&last) > place(&self.head.keys[0]) || last.length > self.head.keys[0].length;
        self.head.keys[0] = last;
        last.flags & LAST == 0 && leads_on
    }

    /// The free range that a returned record is: of the data device, whose number is `device`.
    fn free(&self, record: &Record, device: u32) -> Option<FreeRange> {
        let data = if self.head.flags_out & HAS_DEVICE_NUMBERS != 0 { device } else { DATA_DEVICE };
        let is_free = record.flags & SPECIAL_OWNER != 0 && record.owner == OWNER_FREE;
        (is_free && record.device == data)
            .then_some(FreeRange { start: record.physical, length: record.length })
    }
}

/// A free range, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeRange {
    /// Start on the data device.
    pub start: u64,
    /// Length of the range.
    pub length: u64,
}

/// The free ranges of the data device of a file system, ascending and as the kernel reports them: XFS has no range across the
/// border of two allocation groups. They are read in batches, so ranges that change meanwhile can be reported twice, or not at
/// all. Data that has no place yet takes nothing from them.
#[derive(Debug)]
pub struct FreeRanges<'a> {
    file: &'a File,
    /// The number of the data device, as records have it.
    device: u32,
    request: Box<Request>,
    /// Records of the batch that were processed.
    seen: usize,
    is_over: bool,
}

impl<'a> FreeRanges<'a> {
    /// Free ranges of the file system that an open file or directory is on.
    ///
    /// # Errors
    /// Those of fstat(2).
    pub fn of(file: &'a File) -> io::Result<FreeRanges<'a>> {
        let device = kernel_number(file.metadata()?.dev());
        Ok(FreeRanges { file, device, request: Box::new(Request::new()), seen: 0, is_over: false })
    }

    /// Reads the next batch.
    fn fill(&mut self) -> io::Result<()> {
        // SAFETY: FS_IOC_GETFSMAP reads and writes a `struct fsmap_head`, which `Head` mirrors field for field, and writes at most
        // `count` records after it: `Request` has room for exactly these. All fields are integers, so whatever the kernel writes
        // is a valid value.
        let updater = unsafe { Updater::<FS_IOC_GETFSMAP, Request>::new(&mut self.request) };
        // SAFETY: as above; file systems without such a map refuse the opcode.
        unsafe { rustix::ioctl::ioctl(self.file.as_fd(), updater) }?;
        self.seen = 0;
        Ok(())
    }
}

impl Iterator for FreeRanges<'_> {
    type Item = io::Result<FreeRange>;

    /// # Errors
    /// `ENOTTY` or `EOPNOTSUPP`: the file system does not report its free space in this way. `EPERM` or `EACCES`: it does not
    /// report it to this user. Others are those of the ioctl.
    fn next(&mut self) -> Option<io::Result<FreeRange>> {
        loop {
            while let Some(record) = self.request.returned().get(self.seen) {
                self.seen += 1;
                if let Some(range) = self.request.free(record, self.device) {
                    return Some(Ok(range));
                }
            }
            if self.is_over {
                return None;
            }
            // The first request has nothing to follow.
            let is_first = self.request.head.entries == 0;
            if !is_first && !self.request.advance() {
                self.is_over = true;
                return None;
            }
            let filled = self.fill();
            self.is_over = filled.is_err() || self.request.returned().is_empty();
            if let Err(error) = filled {
                self.seen = BATCH;
                return Some(Err(error));
            }
        }
    }
}

/// A device number as the kernel writes it in 32 bits (`new_encode_dev`).
fn kernel_number(device: u64) -> u32 {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    minor & 0xff | major << 8 | (minor & !0xff) << 12
}

/// Free space of a file system, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeCount {
    /// All free space.
    pub all: u64,
    /// Space available to users other than root.
    pub available: u64,
}

/// Free space of the file system of an open file.
///
/// # Errors
/// Those of fstatvfs(3).
pub fn free_count(file: &File) -> io::Result<FreeCount> {
    let found = rustix::fs::fstatvfs(file)?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Ok(FreeCount { all: bytes(found.f_bfree), available: bytes(found.f_bavail) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn struct_layouts_match_the_kernel() {
        assert_eq!((size_of::<Record>(), size_of::<Head>()), (64, 192));
        assert_eq!((offset_of!(Record, physical), offset_of!(Record, length)), (8, 32));
        assert_eq!((offset_of!(Head, keys), offset_of!(Request, records)), (64, 192));
        assert_eq!(size_of::<Request>(), 192 + 64 * BATCH);
        assert_eq!(FS_IOC_GETFSMAP, 0xC0C0_583B);
    }

    #[test]
    fn device_numbers_match_fsmap_records() {
        assert_eq!(kernel_number(rustix::fs::makedev(254, 0)), 0xfe00);
        assert_eq!(kernel_number(rustix::fs::makedev(7, 0x123)), 0x10_0723);
    }

    fn free(device: u32, physical: u64, length: u64, flags: u32) -> Record {
        let flags = flags | SPECIAL_OWNER;
        Record { device, physical, length, flags, owner: OWNER_FREE, ..Record::default() }
    }

    #[test]
    fn keeps_free_ranges_of_the_data_device_only() {
        let mut request = Request::new();
        let found = free(0xfe00, 4096, 8192, 0);
        let file = Record { flags: 0, ..found };
        let range = Some(FreeRange { start: 4096, length: 8192 });
        request.head.flags_out = HAS_DEVICE_NUMBERS;
        assert_eq!(request.free(&found, 0xfe00), range);
        // The inode with the number 1 is no free range.
        assert_eq!(request.free(&file, 0xfe00), None);
        assert_eq!(request.free(&found, 0xfe01), None);
        request.head.flags_out = 0;
        assert_eq!(request.free(&found, 0xfe00), None);
        assert_eq!(request.free(&free(DATA_DEVICE, 4096, 8192, 0), 0xfe00), range);
    }

    #[test]
    fn batches_end_at_last_record_or_without_progress() {
        let mut request = Request::new();
        assert!(!request.advance(), "nothing was returned");
        request.head.entries = 1;
        request.records[0] = free(1, 4096, 4096, 0);
        assert!(request.advance());
        assert!(!request.advance(), "the same record again");
        request.records[0] = free(1, 16_384, 4096, LAST);
        assert!(!request.advance());
    }

    /// Where this directory's file system reports them.
    #[test]
    fn ranges_ascend_and_do_not_overlap() {
        let here = File::open(".").unwrap();
        let found: io::Result<Vec<FreeRange>> = FreeRanges::of(&here).unwrap().collect();
        let Ok(found) = found else { return };
        assert!(found.windows(2).all(|pair| pair[0].start + pair[0].length <= pair[1].start));
        assert!(found.iter().all(|range| range.length > 0));
        let counted = free_count(&here).unwrap();
        assert!(counted.available <= counted.all);
    }

    #[test]
    fn files_without_free_space_map_yield_one_error() {
        let file = File::open("/proc/self/status").unwrap();
        let found: Vec<io::Result<FreeRange>> = FreeRanges::of(&file).unwrap().collect();
        assert!(found.len() == 1 && found[0].is_err(), "{found:?}");
    }
}
