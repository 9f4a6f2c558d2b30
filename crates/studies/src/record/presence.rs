//! Whether the recorded devices still exist, and whether the kernel makes requests for them.

use iosonar_host::BlockDevice;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the kernel describes its disks.
const SYSFS: &str = "/sys/block";

/// Whether a driver takes requests: for one that takes bios directly (zram, md, most of device mapper) the kernel has no queue and emits no
/// issue events.
pub fn has_requests(device: &BlockDevice) -> bool {
    queue_is_in(Path::new(SYSFS), &device.name)
}

fn queue_is_in(sysfs: &Path, name: &str) -> bool {
    sysfs.join(name).join("mq").is_dir()
}

/// Watched devices.
pub struct Presence {
    sysfs: PathBuf,
    all: Vec<Watched>,
}

struct Watched {
    name: String,
    path: String,
    /// Increases when another device is attached under the same name.
    diskseq: Option<String>,
    is_gone: bool,
}

/// A device that disappeared while it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gone {
    /// Its path.
    pub path: String,
    /// Time of detection, since the start.
    pub after: Duration,
}

impl Presence {
    /// Watches existing devices.
    pub fn of<'a>(devices: impl Iterator<Item = &'a BlockDevice>) -> Presence {
        let named = devices.map(|device| (device.name.clone(), device.dev_path().display().to_string()));
        Presence::in_sysfs(Path::new(SYSFS), named)
    }

    fn in_sysfs(sysfs: &Path, devices: impl Iterator<Item = (String, String)>) -> Presence {
        let watched = |(name, path): (String, String)| {
            let diskseq = read(sysfs, &name, "diskseq");
            Watched { name, path, diskseq, is_gone: false }
        };
        Presence { sysfs: sysfs.to_path_buf(), all: devices.map(watched).collect() }
    }

    /// Returns devices that have disappeared since the last call.
    pub fn gone(&mut self, after: Duration) -> Vec<Gone> {
        let mut gone = Vec::new();
        for device in self.all.iter_mut().filter(|device| !device.is_gone) {
            let size = read(&self.sysfs, &device.name, "size");
            let is_empty = size.is_none_or(|sectors| sectors == "0");
            device.is_gone = is_empty || read(&self.sysfs, &device.name, "diskseq") != device.diskseq;
            if device.is_gone {
                gone.push(Gone { path: device.path.clone(), after });
            }
        }
        gone
    }
}

fn read(sysfs: &Path, name: &str, file: &str) -> Option<String> {
    let text = std::fs::read_to_string(sysfs.join(name).join(file)).ok()?;
    Some(text.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn reports_removed_or_replaced_device_once() {
        let sysfs = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| fs::write(sysfs.path().join(name), text).unwrap();
        for name in ["sda", "loop0", "loop1"] {
            fs::create_dir(sysfs.path().join(name)).unwrap();
            file(&format!("{name}/size"), "2048\n");
            file(&format!("{name}/diskseq"), "7\n");
        }
        let devices = ["sda", "loop0", "loop1"].map(|name| (name.to_string(), format!("/dev/{name}")));
        let mut presence = Presence::in_sysfs(sysfs.path(), devices.into_iter());
        let mut gone = |s| -> Vec<String> {
            let gone = presence.gone(Duration::from_secs(s));
            gone.into_iter().map(|gone| format!("{} {}", gone.path, gone.after.as_secs())).collect()
        };
        assert_eq!(gone(1), [""; 0]);
        file("loop0/size", "0\n");
        assert_eq!(gone(2), ["/dev/loop0 2"]);
        file("loop0/size", "2048\n");
        file("loop1/diskseq", "8\n");
        fs::remove_dir_all(sysfs.path().join("sda")).unwrap();
        assert_eq!(gone(3), ["/dev/sda 3", "/dev/loop1 3"]);
        assert_eq!(gone(4), [""; 0]);
    }

    #[test]
    fn detects_devices_with_request_queue() {
        let sysfs = tempfile::tempdir().unwrap();
        fs::create_dir_all(sysfs.path().join("sda/mq/0")).unwrap();
        fs::create_dir_all(sysfs.path().join("zram0/queue")).unwrap();
        assert!(queue_is_in(sysfs.path(), "sda") && !queue_is_in(sysfs.path(), "zram0"));
    }
}
