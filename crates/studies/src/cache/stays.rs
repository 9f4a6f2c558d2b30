//! Why pages of a file stay in the page cache.

use iosonar_host::{Fact, Root, file_system_of};
use iosonar_os::page_cache::CachedPages;
use std::path::Path;

/// The reason, as far as it can be found.
pub(super) fn why_it_stays(root: &Root, path: &Path, inode: u64, pages: CachedPages) -> String {
    if let Fact::Known(found) = file_system_of(path, root)
        && ["tmpfs", "ramfs"].contains(&found.kind.as_str())
    {
        return format!("{} keeps its files in memory", found.kind);
    }
    if pages.dirty.unwrap_or(0) + pages.writeback.unwrap_or(0) > 0 {
        return "it is being written".into();
    }
    match mapped_by(root, path, inode) {
        Some(process) => format!("mapped by {process}"),
        None => "mapped or in use by a process that this user cannot see, or by the kernel".into(),
    }
}

/// A process that has mapped the file, with its name, among those whose maps this user may read.
fn mapped_by(root: &Root, path: &Path, inode: u64) -> Option<String> {
    let resolved = path.canonicalize().ok()?;
    // `start-end rwxp offset device inode path`: on btrfs the device is not that of stat(2), so the path decides.
    let maps_it = |text: &String| {
        text.lines().any(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            fields.get(4).and_then(|field| field.parse().ok()) == Some(inode)
                && line.ends_with(&*resolved.to_string_lossy())
        })
    };
    let pids = root.list("/proc").ok()?.into_iter().filter(|name| name.parse::<u32>().is_ok());
    let mut processes =
        pids.filter(|pid| root.read(format!("/proc/{pid}/maps")).is_ok_and(|text| maps_it(&text)));
    let pid = processes.next()?;
    let name = root.read(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(format!("process {pid} ({})", name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn the_process_that_maps_a_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        std::fs::create_dir_all(at("proc/7")).unwrap();
        std::fs::create_dir_all(at("proc/net")).unwrap();
        std::fs::write(at("a"), "1").unwrap();
        std::fs::write(at("proc/7/comm"), "reader\n").unwrap();
        let (path, inode) = (at("a"), at("a").metadata().unwrap().ino());
        let root = Root::new(folder.path());
        let why = |dirty| {
            let pages = CachedPages { cached: 1, dirty: Some(dirty), writeback: None };
            why_it_stays(&root, &path, inode, pages)
        };
        assert!(why(0).starts_with("mapped or in use by a process that this user cannot see"));
        let maps = format!("7f00-7f01 r--p 00000000 08:01 {inode} {}\n", path.display());
        std::fs::write(at("proc/7/maps"), maps).unwrap();
        assert_eq!(why(0), "mapped by process 7 (reader)");
        assert_eq!(why(1), "it is being written");
    }
}
