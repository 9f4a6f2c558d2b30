//! Who else uses what a write would reach.

use super::openers::Opener;
use super::reach::{Device, File, Reach};
use crate::block::{self, BtrfsVolume};
use crate::loops::{self, Attached};
use crate::mounts::{self, Foreign, Mount};
use crate::{DevNumber, Root, TargetFacts};
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Options by which a mounted XFS names its further devices.
const SERVING_OPTIONS: [&str; 2] = ["logdev", "rtdev"];

/// One use of a device or file that forbids writing to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// The kernel's name of the device that is used (it can be a part of the target, or lie below it), or the file.
    pub of: String,
    /// How it is used.
    pub what: What,
}

/// How a device or file is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// It is mounted.
    Mounted {
        /// Where.
        mount_point: PathBuf,
        /// A process that lives in the mount namespace where it is; `None` for our own.
        process: Option<u32>,
    },
    /// It belongs to a mounted btrfs.
    BtrfsMember {
        /// Which one.
        uuid: String,
    },
    /// It is swap space.
    Swap,
    /// Another device lies on it (device mapper, MD, bcache …).
    Held {
        /// Its kernel name, and the one that it was given.
        by: String,
    },
    /// A loop device lies on it.
    BacksLoop {
        /// Its kernel name.
        loop_device: String,
    },
    /// It holds the log or the real-time data of a mounted file system that lies on another device.
    ServesMount {
        /// Where that is mounted.
        mount_point: PathBuf,
    },
    /// The kernel or a program has claimed it, a partition of it or its disk with `O_EXCL`.
    Exclusive {
        /// Programs that have it open; the kernel is none.
        openers: Vec<Opener>,
    },
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = &self.of;
        match &self.what {
            What::Mounted { mount_point, process: None } => {
                write!(f, "{of} is mounted on {0}, so unmount it first (`umount {0}`)", mount_point.display())
            }
            What::Mounted { mount_point, process: Some(pid) } => write!(
                f,
                "{of} is mounted on {0} in the mount namespace of process {pid}, so unmount it there (`nsenter -t {pid} -m umount {0}`)",
                mount_point.display()
            ),
            What::BtrfsMember { uuid } => {
                write!(f, "{of} belongs to the mounted btrfs {uuid}, so unmount that first")
            }
            What::Swap => write!(f, "{of} is swap space, so `swapoff` it first"),
            What::Held { by } => {
                write!(f, "{of} carries the device {by}, so take that down first, or write to it")
            }
            What::BacksLoop { loop_device } => {
                write!(
                    f,
                    "{of} carries {loop_device}, so detach that first (`losetup -d /dev/{loop_device}`)"
                )
            }
            What::ServesMount { mount_point } => write!(
                f,
                "{of} serves the file system that is mounted on {0} (its log, for example), so unmount that first (`umount {0}`)",
                mount_point.display()
            ),
            What::Exclusive { openers } => {
                let named = openers.iter().map(Opener::to_string).collect::<Vec<_>>().join(", ");
                write!(f, "{of} is claimed exclusively by the kernel or by a program")?;
                match openers.len() {
                    0 => f.write_str(" that can't be seen from here, so end that first"),
                    _ if openers.iter().all(Opener::is_this_run) => write!(f, ": {named}, so leave one out"),
                    _ => write!(f, ": {named}, so end that first"),
                }
            }
        }
    }
}

/// A file without which nobody knows whether a target is in use.
#[derive(Debug)]
pub(super) struct Unreadable {
    pub source_of_truth: &'static str,
    pub error: io::Error,
}

/// Everything that is in use on this machine.
#[derive(Debug)]
pub(super) struct Machine {
    mounts: Vec<Mount>,
    foreign: Vec<Foreign>,
    swaps: Vec<Swap>,
    loops: Vec<Attached>,
    volumes: Vec<BtrfsVolume>,
}

/// Swap space, as a device or as a file.
#[derive(Debug)]
struct Swap {
    /// Number of the device; `None` for a file.
    device: Option<DevNumber>,
    /// Device number of the file system and inode; `None` if the path leads nowhere from here.
    file: Option<(DevNumber, u64)>,
}

/// Every use that forbids writing to the target.
pub(super) fn find(machine: &Machine, facts: &TargetFacts, root: &Root) -> Vec<Use> {
    let reach = Reach::of(facts, root);
    let mut uses = Vec::new();
    for device in &reach.devices {
        machine.uses_of_device(device, root, &mut uses);
    }
    for file in &reach.files {
        machine.uses_of_file(file, &mut uses);
    }
    uses
}

impl Machine {
    pub(super) fn look(root: &Root) -> Result<Self, Unreadable> {
        let mounts = mounts::own(root)
            .map_err(|error| Unreadable { source_of_truth: "/proc/self/mountinfo", error })?;
        let swaps = swaps(root).map_err(|error| Unreadable { source_of_truth: "/proc/swaps", error })?;
        Ok(Self {
            mounts,
            foreign: mounts::foreign(root),
            swaps,
            loops: loops::attached(root),
            volumes: block::btrfs_volumes(root),
        })
    }

    fn uses_of_device(&self, device: &Device, root: &Root, uses: &mut Vec<Use>) {
        let mut add = |what| uses.push(Use { of: device.name.clone(), what });
        self.mounts_of(device.number).into_iter().for_each(&mut add);
        self.served_mounts(device.number, root).for_each(&mut add);
        let volumes = self.volumes.iter().filter(|volume| volume.members.contains(&device.number));
        volumes.for_each(|volume| add(What::BtrfsMember { uuid: volume.uuid.clone() }));
        if self.swaps.iter().any(|swap| swap.device == Some(device.number)) {
            add(What::Swap);
        }
        if device.holders_matter {
            let holders = block::holders(&device.name, root);
            let foreign = holders.into_iter().filter(|by| Some(by) != device.above.as_ref());
            foreign.for_each(|by| add(What::Held { by: block::given_name(&by, root) }));
        }
        let loops = self.loops.iter().filter(|it| it.is_on_device(device.number, root));
        let foreign = loops.filter(|it| Some(&it.name) != device.above.as_ref());
        foreign.for_each(|it| add(What::BacksLoop { loop_device: it.name.clone() }));
    }

    fn uses_of_file(&self, File { file, above }: &File, uses: &mut Vec<Use>) {
        let mut add = |what| uses.push(Use { of: file.path.display().to_string(), what });
        if self.swaps.iter().any(|swap| swap.file == Some((file.device, file.inode))) {
            add(What::Swap);
        }
        let loops = self.loops.iter().filter(|it| it.is_on_file(file.device, file.inode));
        let foreign = loops.filter(|it| Some(it.name.as_str()) != *above);
        foreign.for_each(|it| add(What::BacksLoop { loop_device: it.name.clone() }));
    }

    /// Mounted file systems that say by an option that this device serves them.
    fn served_mounts<'a>(&'a self, number: DevNumber, root: &'a Root) -> impl Iterator<Item = What> + 'a {
        let serves = move |mount: &&Mount| {
            let mut devices = SERVING_OPTIONS.iter().filter_map(|name| mount.super_option(name));
            devices.any(|path| block::number_at(path, root) == Some(number))
        };
        let mounts = self.mounts.iter().filter(serves);
        mounts.map(|mount| What::ServesMount { mount_point: mount.mount_point.clone() })
    }

    /// Where a device is mounted: once for each mount point here, and once for each other namespace.
    fn mounts_of(&self, number: DevNumber) -> Vec<What> {
        let of = |mounts: &[Mount]| -> Vec<PathBuf> {
            let found = mounts.iter().filter(|mount| mount.number == number);
            found.map(|mount| mount.mount_point.clone()).collect()
        };
        let own =
            of(&self.mounts).into_iter().map(|mount_point| What::Mounted { mount_point, process: None });
        let mut all: Vec<What> = own.collect();
        if all.is_empty() {
            // Namespaces mostly are copies of one another: one line is enough to find the mount.
            let foreign =
                self.foreign.iter().find_map(|it| Some((it.pid, of(&it.mounts).into_iter().next()?)));
            all.extend(foreign.map(|(pid, mount_point)| What::Mounted { mount_point, process: Some(pid) }));
        }
        all
    }
}

/// Reads `/proc/swaps`, which a kernel without swap support does not have.
fn swaps(root: &Root) -> io::Result<Vec<Swap>> {
    match root.read("/proc/swaps") {
        Ok(text) => Ok(text.lines().skip(1).filter_map(|line| swap(line, root)).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound && root.exists("/proc/self") => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// `/dev/sda2  partition  65532  0  -2`
fn swap(line: &str, root: &Root) -> Option<Swap> {
    let path = mounts::unescape(line.split_whitespace().next()?);
    let stat = rustix::fs::stat(root.path(&path)).ok();
    let by_stat =
        stat.as_ref().filter(|stat| stat.st_rdev != 0).map(|stat| DevNumber::from_raw(stat.st_rdev));
    Some(Swap {
        device: by_stat.or_else(|| block::number_at(path.to_str()?, root)),
        file: stat.map(|stat| (DevNumber::from_raw(stat.st_dev), stat.st_ino)),
    })
}
