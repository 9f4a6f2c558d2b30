//! Transfers of NFS mounts, from `/proc/self/mountstats`.

use super::Probe;
use super::files::number;
use crate::Root;
use crate::mounts::unescape;
use crate::target::TargetFacts;
use iosonar_evidence::{NfsBytes, Series};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

const FILE: &str = "/proc/self/mountstats";
/// Initial buffer size, enough for some mounts; it grows as needed.
const BUFFER: usize = 64 << 10;

/// Counters of the mounts that contain targets.
pub(super) struct Mounts {
    file: File,
    mounts: Vec<PathBuf>,
    series: Vec<Series>,
    text: Vec<u8>,
}

impl Mounts {
    /// Opens the mounts of targets; `None` if no target is on an NFS server. An error states why they are unreadable.
    pub(super) fn of(targets: &[TargetFacts], root: &Root) -> Option<Result<Mounts, String>> {
        let mut mounts: Vec<PathBuf> =
            targets.iter().filter_map(TargetFacts::nfs).map(|it| it.mount_point.clone()).collect();
        mounts.sort();
        mounts.dedup();
        (!mounts.is_empty()).then(|| Mounts::open(mounts, root))
    }

    /// Keeps the mounts that are in the file.
    fn open(mut mounts: Vec<PathBuf>, root: &Root) -> Result<Mounts, String> {
        let failed = |error: std::io::Error| format!("{FILE}: {error}");
        let file = File::open(root.path(FILE)).map_err(failed)?;
        let mut text = vec![0; BUFFER];
        let length = read_all(&file, &mut text).map_err(failed)?;
        let mut found = vec![false; mounts.len()];
        bytes_of_mounts(&text[..length], &mounts, &mut |mount, _| found[mount] = true);
        let mut found = found.into_iter();
        mounts.retain(|_| found.next().unwrap_or(false));
        if mounts.is_empty() {
            return Err(format!("{FILE} has no counters of the targets' mounts"));
        }
        let of_mount = |mount: &PathBuf| {
            let mount = mount.clone();
            NfsBytes::ALL.iter().map(move |counter| Series::nfs(&mount, *counter))
        };
        let series = mounts.iter().flat_map(of_mount).collect();
        Ok(Mounts { file, mounts, series, text })
    }
}

impl Probe for Mounts {
    fn series(&self) -> &[Series] {
        &self.series
    }

    fn sample(&mut self, give: &mut dyn FnMut(usize, f64)) {
        // A failed read is skipped in this sample.
        let Ok(length) = read_all(&self.file, &mut self.text) else { return };
        let counters = NfsBytes::ALL.len();
        bytes_of_mounts(&self.text[..length], &self.mounts, &mut |mount, values| {
            values.into_iter().enumerate().for_each(|(place, value)| give(mount * counters + place, value));
        });
    }
}

/// Reads a file from start to end; returns its length. The kernel returns a few pages of such a file for each read(2).
fn read_all(file: &File, text: &mut Vec<u8>) -> std::io::Result<usize> {
    let mut length = 0;
    loop {
        if length == text.len() {
            text.resize(2 * length, 0);
        }
        match file.read_at(&mut text[length..], length as u64)? {
            0 => return Ok(length),
            read => length += read,
        }
    }
}

/// Bytes from and to the server of each mount present, by its index in `mounts`: from `device S mounted on M with
/// fstype nfs4 ...` and the line `bytes:` after it. Of stacked mounts the last one counts.
fn bytes_of_mounts(text: &[u8], mounts: &[PathBuf], give: &mut dyn FnMut(usize, [f64; 2])) {
    let mut values = vec![None; mounts.len()];
    let mut current = None;
    for line in text.split(|&byte| byte == b'\n') {
        if line.starts_with(b"device ") {
            current = nfs_mount(line).and_then(|mount| mounts.iter().position(|known| *known == mount));
        } else if let (Some(mount), Some(rest)) = (current, line.trim_ascii().strip_prefix(b"bytes:")) {
            let mut numbers = rest.split(u8::is_ascii_whitespace).filter_map(number).skip(4);
            values[mount] = numbers.next().zip(numbers.next());
        }
    }
    for (mount, (read, written)) in values.into_iter().enumerate().filter_map(|(at, it)| Some((at, it?))) {
        give(mount, [read, written]);
    }
}

/// Mount point in a line of an NFS mount.
fn nfs_mount(line: &[u8]) -> Option<PathBuf> {
    let line = std::str::from_utf8(line).ok()?;
    let (place, kind) = line.split_once(" mounted on ")?.1.split_once(" with fstype ")?;
    let kind = kind.split(' ').next()?;
    matches!(kind, "nfs" | "nfs4").then(|| unescape(place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    const TEXT: &str = "device sysfs mounted on /sys with fstype sysfs\n\
        device server:/a b mounted on /mnt/a\\040b with fstype nfs4 statvers=1.1\n\
        \topts:\trw,vers=4.2\n\tage:\t77\n\tevents:\t1 2 3\n\tbytes:\t11 12 13 14 15 16 17 18\n\
        \tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\tper-op statistics\n\t        NULL: 1 1 0 44 24 0 0 0 0\n\n\
        device server:/c mounted on /mnt/c with fstype nfs statvers=1.1\n\tbytes:\t1 2 3 4 25 26 7 8\n";

    fn values(text: &[u8], mounts: &[&str]) -> Vec<(usize, [f64; 2])> {
        let mounts: Vec<PathBuf> = mounts.iter().map(PathBuf::from).collect();
        let mut found = Vec::new();
        bytes_of_mounts(text, &mounts, &mut |mount, values| found.push((mount, values)));
        found
    }

    #[test]
    fn server_bytes_match_the_mount() {
        let found = values(TEXT.as_bytes(), &["/mnt/c", "/sys", "/mnt/a b"]);
        assert_eq!(found, [(0, [25.0, 26.0]), (2, [15.0, 16.0])]);
        assert_eq!(values(b"device x mounted on /x with fstype nfs4\n\tbytes:\t1 2 3 4 5\n", &["/x"]), []);
    }

    #[test]
    fn missing_mount_has_no_series_and_long_files_are_read_fully() {
        let tree = Tree::new();
        let many = "device none mounted on /x with fstype autofs\n".repeat(4000);
        tree.file("/proc/self/mountstats", &format!("{many}{TEXT}"));
        let mounts = |all: &[&str]| Mounts::open(all.iter().map(PathBuf::from).collect(), &tree.root());
        let mut probe = mounts(&["/gone", "/mnt/c"]).unwrap();
        let names: Vec<String> = probe.series().iter().map(Series::to_string).collect();
        assert_eq!(names, ["/mnt/c.nfs_server_read_bytes", "/mnt/c.nfs_server_written_bytes"]);
        let mut found = Vec::new();
        probe.sample(&mut |place, value| found.push((place, value)));
        assert_eq!(found, [(0, 25.0), (1, 26.0)]);
        assert!(mounts(&["/gone"]).is_err_and(|why| why.contains("mountstats")));
    }
}
