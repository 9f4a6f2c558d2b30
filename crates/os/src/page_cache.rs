//! Residency of a file in the page cache, and eviction.

use crate::blockdev;
use crate::map::Mapping;
use rustix::fs::{Access, Advice, AtFlags, CWD, fadvise};
use std::fs::File;
use std::io;
use std::ops;
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

/// Removes a file's clean pages from the page cache (`POSIX_FADV_DONTNEED`). Dirty pages stay, and so do mapped pages; a file
/// system in memory keeps everything.
///
/// # Errors
/// Those of posix_fadvise(2).
pub fn evict(file: &File) -> io::Result<()> {
    Ok(fadvise(file, 0, None, Advice::DontNeed)?)
}

/// Pages of a file in the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachedPages {
    /// Pages in the cache, dirty ones too.
    pub cached: u64,
    /// Dirty pages; absent where mincore(2) was asked.
    pub dirty: Option<u64>,
    /// Pages under writeback; absent where mincore(2) was asked.
    pub writeback: Option<u64>,
}

/// Bytes of a file or block device in the page cache, in whole pages.
///
/// # Errors
/// As [`cached_pages`].
pub fn cached_bytes(file: &File) -> io::Result<u64> {
    Ok(cached_pages(file)?.cached * page_bytes())
}

/// Bytes of the pages of a range that are in the page cache.
///
/// # Errors
/// As [`cached_pages`].
pub fn cached_bytes_in(file: &File, range: ops::Range<u64>) -> io::Result<u64> {
    match range.is_empty() {
        true => Ok(0),
        false => Ok(cached_pages_in(file, range)?.cached * page_bytes()),
    }
}

/// Pages of a file or block device in the page cache, by cachestat(2), or by mincore(2) where the kernel lacks that. Of a file in
/// an overlay they are those of the file below it, which mincore(2) alone counts.
///
/// # Errors
/// `EPERM` unless the caller owns the file or can write to it. Others are those of mmap(2) and mincore(2).
pub fn cached_pages(file: &File) -> io::Result<CachedPages> {
    cached_pages_in(file, 0..u64::MAX)
}

fn cached_pages_in(file: &File, range: ops::Range<u64>) -> io::Result<CachedPages> {
    let error = match is_in_overlay(file)? {
        true => io::Error::from_raw_os_error(libc::ENOSYS),
        false => match cachestat(file, &range) {
            Ok(pages) => {
                let (dirty, writeback) = (Some(pages.dirty), Some(pages.writeback));
                return Ok(CachedPages { cached: pages.cached, dirty, writeback });
            }
            Err(error) => error,
        },
    };
    match error.raw_os_error() {
        // Before Linux 6.5, or a sandbox that refuses unknown calls.
        Some(libc::ENOSYS | libc::EPERM) if may_know(file) => {
            let cached = resident_pages(file, &range)?;
            Ok(CachedPages { cached, dirty: None, writeback: None })
        }
        Some(libc::ENOSYS) => Err(io::Error::from_raw_os_error(libc::EPERM)),
        _ => Err(error),
    }
}

/// Bytes of a page.
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// Whether a file is one of an overlay (`OVERLAYFS_SUPER_MAGIC`): it has no pages itself, and cachestat(2) finds none. A mapping is
/// one of the file below.
fn is_in_overlay(file: &File) -> io::Result<bool> {
    const MAGIC: u32 = 0x794c_7630;
    Ok(rustix::fs::fstatfs(file)?.f_type == MAGIC.into())
}

/// Whether mincore(2) reports the truth about a file to this process, instead of calling all of it resident: it is the owner, or
/// may write to the file.
fn may_know(file: &File) -> bool {
    let user = rustix::process::geteuid();
    let is_owner = rustix::fs::fstat(file).is_ok_and(|facts| facts.st_uid == user.as_raw());
    let writable = || {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
    };
    // Root is not checked, also on a file system that is mounted read-only.
    user.is_root() || is_owner || writable()
}

fn cachestat(file: &File, range: &ops::Range<u64>) -> io::Result<Pages> {
    // A length of 0 means up to the end.
    let length = if range.end == u64::MAX { 0 } else { range.end - range.start };
    let (range, mut pages) = (Range { offset: range.start, length }, Pages::default());
    // SAFETY: both structures have the kernel's form, are alive during the call, and the second one is writable.
    let done = unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut pages, 0u32) };
    if done == 0 { Ok(pages) } else { Err(io::Error::last_os_error()) }
}

/// The pages of a range in the page cache from mincore(2), which shows everything as resident unless the caller owns the file or
/// can write to it.
fn resident_pages(file: &File, range: &ops::Range<u64>) -> io::Result<u64> {
    let length = match blockdev::is_block_device(file) {
        true => blockdev::size(file)?,
        false => file.metadata()?.len(),
    };
    let length = usize::try_from(length).map_err(io::Error::other)?;
    if length == 0 {
        return Ok(0);
    }
    let page = |at: u64| usize::try_from(at / page_bytes()).unwrap_or(usize::MAX);
    let pages = page(range.start)..page(range.end.min(length as u64).next_multiple_of(page_bytes()));
    Mapping::new(file, length, false)?.resident_pages(pages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn owner_may_query_page_cache() {
        assert!(may_know(&tempfile::tempfile().unwrap()));
    }

    #[test]
    fn cachestat_and_mincore_count_written_bytes() {
        let mut file = tempfile::tempfile().unwrap();
        assert_eq!(cached_bytes(&file).unwrap(), 0);
        let resident_bytes = |file: &File| resident_pages(file, &(0..u64::MAX)).unwrap() * page_bytes();
        assert_eq!(resident_bytes(&file), 0);
        file.write_all(&vec![1; 1 << 20]).unwrap();
        assert_eq!(cached_bytes(&file).unwrap(), 1 << 20);
        assert_eq!(resident_bytes(&file), 1 << 20);
        for (range, bytes) in
            [(0..1 << 20, 1 << 20), (65_536..131_072, 65_536), (5..6, page_bytes()), (1 << 20..2 << 20, 0)]
        {
            assert_eq!(cached_bytes_in(&file, range.clone()).unwrap(), bytes);
            assert_eq!(resident_pages(&file, &range).unwrap() * page_bytes(), bytes);
        }
        assert_eq!(cached_bytes_in(&file, 7..7).unwrap(), 0);
        file.sync_all().unwrap();
        evict(&file).unwrap();
        // Where the directory for temporary files is in memory, nothing can go.
        let pages = cached_pages(&file).unwrap();
        assert_eq!(pages.writeback, Some(0), "{pages:?}");
        let stays = cached_bytes(&file).unwrap();
        assert!([0, 1 << 20].contains(&stays), "{stays}");
        assert_eq!(resident_bytes(&file), stays);
    }
}
