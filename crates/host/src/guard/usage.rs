//! Finds other users of what a write would affect.

use super::openers::Opener;
use super::reach::{Device, File, Reach};
use crate::block::{self, BtrfsVolume};
use crate::kernel_fs::KernelFs;
use crate::loops::{self, Attached, Backs};
use crate::mounts::{self, Foreign, Mount};
use crate::{DevNumber, Root, TargetFacts};
use iosonar_text::shown;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Mount options in which XFS names its further devices.
const SERVING_OPTIONS: [&str; 2] = ["logdev", "rtdev"];

/// A use of a device or file that forbids writing to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// Kernel name of the device in use (it can be a partition of the target, or below it), or the file.
    pub of: String,
    /// Kind of use.
    pub what: What,
}

/// Kinds of use of a device or file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Mounted.
    Mounted {
        /// Mount point.
        mount_point: PathBuf,
        /// A process in the mount namespace; `None` for our own.
        process: Option<u32>,
    },
    /// Member of a mounted btrfs.
    BtrfsMember {
        /// UUID of the btrfs.
        uuid: String,
    },
    /// Swap space.
    Swap,
    /// Another device is on top of it (device mapper, MD, bcache ...).
    Held {
        /// Its kernel name, and its device mapper name.
        by: String,
    },
    /// A loop device is on top of it.
    BacksLoop {
        /// Its kernel name.
        loop_device: String,
    },
    /// It contains the log or the real-time data of a mounted file system on another device.
    ServesMount {
        /// Mount point of that file system.
        mount_point: PathBuf,
    },
    /// The kernel or a program has claimed it, a partition of it or its disk with `O_EXCL`.
    Exclusive {
        /// Programs that have it open, without the kernel.
        openers: Vec<Opener>,
    },
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = &self.of;
        match &self.what {
            What::Mounted { mount_point, process: None } => {
                write!(f, "{of} is mounted on {0}, so unmount it first (`umount {0}`)", shown(&mount_point))
            }
            What::Mounted { mount_point, process: Some(pid) } => write!(
                f,
                "{of} is mounted on {0} in the mount namespace of process {pid}, so unmount it there (`nsenter -t {pid} -m umount {0}`)",
                shown(&mount_point)
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
                shown(&mount_point)
            ),
            What::Exclusive { openers } => {
                let named = openers.iter().map(Opener::to_string).collect::<Vec<_>>().join(", ");
                write!(f, "{of} is claimed exclusively by the kernel or by a program")?;
                match openers.len() {
                    0 => f.write_str(" that can't be seen from here, so end that first"),
                    _ if openers.iter().all(Opener::is_this_run) => write!(f, ": {named}, so remove one"),
                    _ => write!(f, ": {named}, so end that first"),
                }
            }
        }
    }
}

/// A missing fact without which the use of a target is unknown.
#[derive(Debug)]
pub(super) struct Unreadable {
    /// The missing fact, and the reason.
    pub why: String,
    /// Remedy.
    pub remedy: &'static str,
}

impl Unreadable {
    /// An unreadable file or directory of `/proc` or `/sys`.
    pub fn file(source_of_truth: impl fmt::Display, error: io::Error) -> Unreadable {
        Unreadable {
            why: format!("{source_of_truth} can't be read ({error})"),
            remedy: "mount /proc and /sys (read-only is enough)",
        }
    }

    /// An unknown file or device below a loop device.
    fn backing(loop_device: &str, why: &str) -> Unreadable {
        Unreadable {
            why: format!("what {loop_device} lies on is unknown ({why})"),
            remedy: "detach that loop device, or run as a user and in a container that may open it",
        }
    }
}

/// Everything in use on this machine.
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

/// Returns every use that forbids writing to the target.
///
/// # Errors
/// A required fact is unreadable. Uses found are reported first: ending them may suffice.
pub(super) fn find(machine: &Machine, facts: &TargetFacts, root: &Root) -> Result<Vec<Use>, Unreadable> {
    let reach = Reach::of(facts, root)?;
    let mut uses = Vec::new();
    let devices = reach.devices.iter().map(|device| machine.uses_of_device(device, root, &mut uses));
    let of_devices = devices.fold(Ok(()), Result::and);
    let files = reach.files.iter().map(|file| machine.uses_of_file(file, &mut uses));
    let of_files = files.fold(Ok(()), Result::and);
    let hidden = reach.hidden.iter().map(|(name, why)| machine.uses_below(name, why, &mut uses));
    let of_hidden = hidden.fold(Ok(()), Result::and);
    if uses.is_empty() {
        of_devices.and(of_files).and(of_hidden)?;
    }
    Ok(uses)
}

impl Machine {
    /// Reads every source that the guard needs.
    pub(super) fn look(root: &Root) -> Result<Self, Unreadable> {
        let mounts = own_mounts(root).map_err(|error| Unreadable::file("/proc/self/mountinfo", error))?;
        for (directory, held_by) in [
            ("/proc", KernelFs::Proc),
            ("/sys", KernelFs::Sys),
            ("/sys/block", KernelFs::Sys),
            ("/sys/class/block", KernelFs::Sys),
            ("/sys/fs", KernelFs::Sys),
        ] {
            root.require(directory, held_by).map_err(|error| Unreadable::file(directory, error))?;
        }
        Ok(Self {
            swaps: swaps(root).map_err(|error| Unreadable::file("/proc/swaps", error))?,
            loops: loops::attached(root).map_err(|error| Unreadable::file("/sys/block/loop*", error))?,
            volumes: volumes(&mounts, root).map_err(|error| Unreadable::file(block::BTRFS, error))?,
            foreign: mounts::foreign(root),
            mounts,
        })
    }

    fn uses_of_device(&self, device: &Device, root: &Root, uses: &mut Vec<Use>) -> Result<(), Unreadable> {
        let mut add = |what| uses.push(Use { of: device.name.clone(), what });
        self.mounts_of(device.number).into_iter().for_each(&mut add);
        self.served_mounts(device.number, root).for_each(&mut add);
        let volumes = self.volumes.iter().filter(|volume| volume.members.contains(&device.number));
        volumes.for_each(|volume| add(What::BtrfsMember { uuid: volume.uuid.clone() }));
        if self.swaps.iter().any(|swap| swap.device == Some(device.number)) {
            add(What::Swap);
        }
        if device.holders_matter {
            let source = || format!("{}/holders", shown(&block::class_entry(&device.name)));
            let holders = block::holders(&device.name, root).map_err(|e| Unreadable::file(source(), e))?;
            let foreign = holders.into_iter().filter(|by| Some(by) != device.above.as_ref());
            foreign.for_each(|by| add(What::Held { by: block::given_name(&by, root) }));
        }
        let backs = |it: &Attached| match it.name == device.name {
            true => Backs::No,
            false => it.is_on_device(device.number, &device.name, root),
        };
        self.loops_on(&device.name, device.above.as_deref(), backs, uses)
    }

    fn uses_of_file(&self, File { file, above }: &File, uses: &mut Vec<Use>) -> Result<(), Unreadable> {
        let of = shown(&file.path).to_string();
        if self.swaps.iter().any(|swap| swap.file == Some((file.device, file.inode))) {
            uses.push(Use { of: of.clone(), what: What::Swap });
        }
        let backs = |it: &Attached| it.is_on_file(file.device, file.inode, file.size);
        self.loops_on(&of, *above, backs, uses)
    }

    /// Loop devices other than `above` on the same file or device.
    fn loops_on(
        &self,
        of: &str,
        above: Option<&str>,
        backs: impl Fn(&Attached) -> Backs,
        uses: &mut Vec<Use>,
    ) -> Result<(), Unreadable> {
        let mut known = Ok(());
        for it in self.loops.iter().filter(|it| Some(it.name.as_str()) != above) {
            match backs(it) {
                Backs::Yes => {
                    let what = What::BacksLoop { loop_device: it.name.clone() };
                    uses.push(Use { of: of.to_owned(), what });
                }
                Backs::No => {}
                Backs::Unknown => {
                    let why =
                        format!("{} is not found here, and /dev/{} can't be asked", it.backing_file, it.name);
                    known = Err(Unreadable::backing(&it.name, &why));
                }
            }
        }
        known
    }

    /// Uses of the file or device below a loop device of the target that has no path: only the driver's numbers are known.
    fn uses_below(&self, name: &str, why: &str, uses: &mut Vec<Use>) -> Result<(), Unreadable> {
        let own = self.loops.iter().find(|it| it.name == name && it.is_known_to_be_on_a_file());
        let own = own.ok_or_else(|| Unreadable::backing(name, why))?;
        let beside = self.loops.iter().filter(|it| it.is_beside(own));
        uses.extend(beside.map(|it| Use {
            of: own.backing_file.clone(),
            what: What::BacksLoop { loop_device: it.name.clone() },
        }));
        Ok(())
    }

    /// Mounted file systems that name this device in an option.
    fn served_mounts<'a>(&'a self, number: DevNumber, root: &'a Root) -> impl Iterator<Item = What> + 'a {
        let serves = move |mount: &&Mount| {
            let mut devices = SERVING_OPTIONS.iter().filter_map(|name| mount.super_option(name));
            devices.any(|path| block::number_at(path, root) == Some(number))
        };
        let mounts = self.mounts.iter().filter(serves);
        mounts.map(|mount| What::ServesMount { mount_point: mount.mount_point.clone() })
    }

    /// Mounts of a device: one per mount point here, and one per other namespace.
    fn mounts_of(&self, number: DevNumber) -> Vec<What> {
        let of = |mounts: &[Mount]| -> Vec<PathBuf> {
            let found = mounts.iter().filter(|mount| mount.number == number);
            found.map(|mount| mount.mount_point.clone()).collect()
        };
        let own =
            of(&self.mounts).into_iter().map(|mount_point| What::Mounted { mount_point, process: None });
        let mut all: Vec<What> = own.collect();
        if all.is_empty() {
            // Namespaces are mostly copies of each other: one line suffices to find the mount.
            let foreign =
                self.foreign.iter().find_map(|it| Some((it.pid, of(&it.mounts).into_iter().next()?)));
            all.extend(foreign.map(|(pid, mount_point)| What::Mounted { mount_point, process: Some(pid) }));
        }
        all
    }
}

/// Mounts of our own namespace, from the kernel itself.
fn own_mounts(root: &Root) -> io::Result<Vec<Mount>> {
    root.require("/proc/self/mountinfo", KernelFs::Proc)?;
    mounts::own(root)
}

/// Every mounted btrfs. If mountinfo shows one, sysfs must describe it.
fn volumes(mounts: &[Mount], root: &Root) -> io::Result<Vec<BtrfsVolume>> {
    let volumes = block::btrfs_volumes(root)?;
    if volumes.is_empty() && mounts.iter().any(|mount| mount.kind == "btrfs") {
        return Err(io::Error::other("a btrfs is mounted, and nothing describes it"));
    }
    Ok(volumes)
}

/// Reads `/proc/swaps`. A kernel without swap support lacks it; then `/proc/meminfo` must show no swap. A container's
/// own version of the file is trusted: a swap device is claimed exclusively, and the kernel refuses writes to a swap
/// file (see `permit_file`).
fn swaps(root: &Root) -> io::Result<Vec<Swap>> {
    match root.read("/proc/swaps") {
        Ok(text) if text.starts_with("Filename") => {
            Ok(text.lines().skip(1).filter_map(|line| swap(line, root)).collect())
        }
        Ok(_) => Err(io::Error::other("it lacks its header")),
        Err(error) if error.kind() == io::ErrorKind::NotFound && has_no_swap(root) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn has_no_swap(root: &Root) -> bool {
    let total = |text: String| {
        let line = text.lines().find_map(|line| line.strip_prefix("SwapTotal:").map(str::to_owned));
        line.is_some_and(|line| line.split_whitespace().next() == Some("0"))
    };
    root.read("/proc/meminfo").is_ok_and(total)
}

/// Parses `/dev/sda2  partition  65532  0  -2`.
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
