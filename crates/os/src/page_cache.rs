//! How much of a file is in the page cache, and removing it from there.

use crate::blockdev;
use crate::map::Mapping;
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Number of cachestat(2), the same on all architectures but Alpha.
const CACHESTAT: libc::c_long = 451;

/// The kernel's `struct cachestat_range`.
#[repr(C)]
struct Range {
    offset: u64,
    length: u64,
}

/// The kernel's `struct cachestat`: numbers of pages.
#[repr(C)]
#[derive(Default)]
struct Pages {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Removes a file's clean pages from the page cache (`POSIX_FADV_DONTNEED`). Dirty pages stay, and so do pages that somebody has
/// mapped; a file system in memory keeps everything.
///
/// # Errors
/// Those of posix_fadvise(2).
pub fn evict(file: &File) -> io::Result<()> {
    Ok(fadvise(file, 0, None, Advice::DontNeed)?)
}

/// Bytes of a file or block device in the page cache, in whole pages.
///
/// # Errors
/// `EPERM` and `EACCES`: only its owner and those who may write to it are told. Others are those of mmap(2) and mincore(2).
pub fn cached_bytes(file: &File) -> io::Result<u64> {
    match cachestat(file) {
        Ok(pages) => Ok(pages * page_size()),
        // Before Linux 6.5.
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => resident_bytes(file),
        Err(error) => Err(error),
    }
}

fn page_size() -> u64 {
    rustix::param::page_size() as u64
}

fn cachestat(file: &File) -> io::Result<u64> {
    // A length of 0 means up to the end.
    let (range, mut pages) = (Range { offset: 0, length: 0 }, Pages::default());
    // SAFETY: both structures have the kernel's form, are alive during the call, and the second one is writable.
    let done = unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut pages, 0u32) };
    if done == 0 { Ok(pages.cached) } else { Err(io::Error::last_os_error()) }
}

/// The same from mincore(2), which shows everything as resident to those who may not know.
fn resident_bytes(file: &File) -> io::Result<u64> {
    let length = match blockdev::is_block_device(file) {
        true => blockdev::size(file)?,
        false => file.metadata()?.len(),
    };
    let length = usize::try_from(length).map_err(io::Error::other)?;
    if length == 0 {
        return Ok(0);
    }
    Ok(Mapping::new(file, length, false)?.resident_pages()? * page_size())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn written_bytes_are_cached_and_both_ways_count_them() {
        let mut file = tempfile::tempfile().unwrap();
        assert_eq!(cached_bytes(&file).unwrap(), 0);
        assert_eq!(resident_bytes(&file).unwrap(), 0);
        file.write_all(&vec![1; 1 << 20]).unwrap();
        assert_eq!(cached_bytes(&file).unwrap(), 1 << 20);
        assert_eq!(resident_bytes(&file).unwrap(), 1 << 20);
        file.sync_all().unwrap();
        evict(&file).unwrap();
        // Where the directory for temporary files is in memory, nothing can go.
        let stays = cached_bytes(&file).unwrap();
        assert!([0, 1 << 20].contains(&stays), "{stays}");
        assert_eq!(resident_bytes(&file).unwrap(), stays);
    }
}
