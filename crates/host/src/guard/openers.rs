//! Programs that have a device open, named in a refusal.

use crate::target::{BlockDevice, Role};
use crate::{DevNumber, Root, block};
use iosonar_text::shown;
use rustix::fs::FileType;
use std::fmt;

/// Maximum number of processes examined.
const MAX_PROCESSES: usize = 65_536;
/// Maximum number of programs named.
const MAX_NAMED: usize = 4;

/// A program that has a device open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opener {
    /// Process id.
    pub process: u32,
    /// Program name.
    pub program: String,
    /// Kernel name of the device.
    pub device: String,
}

impl Opener {
    /// Whether it is this program: then another of its targets uses the device.
    pub fn is_this_run(&self) -> bool {
        self.process == std::process::id()
    }
}

impl fmt::Display for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { process, program, device } = self;
        if self.is_this_run() {
            return write!(f, "this run has {device} open for another target");
        }
        write!(f, "process {process} ({}) has {device} open", shown(program))
    }
}

/// Returns the programs that have the device, a partition of it or its disk open, as far as this user may see. The
/// kernel is not included.
pub(super) fn of(device: &BlockDevice, root: &Root) -> Vec<Opener> {
    let related = related(device, root);
    let names = root.list("/proc").unwrap_or_default();
    let processes = names.into_iter().filter_map(|name| name.parse::<u32>().ok()).take(MAX_PROCESSES);
    processes.filter_map(|process| opener(process, &related, root)).take(MAX_NAMED).collect()
}

/// Devices whose openers prevent an exclusive open of `device`.
fn related(device: &BlockDevice, root: &Root) -> Vec<(String, DevNumber)> {
    let numbered = |name: String| block::number_of(&name, root).map(|number| (name, number));
    let mut all = vec![(device.name.clone(), device.number)];
    all.extend(block::partitions(&device.name, root).unwrap_or_default().into_iter().filter_map(numbered));
    if let Role::Partition { disk, .. } = &device.role {
        all.push((disk.name.clone(), disk.number));
    }
    all
}

fn opener(process: u32, devices: &[(String, DevNumber)], root: &Root) -> Option<Opener> {
    let directory = format!("/proc/{process}/fd");
    let (device, _) = root.list(&directory).ok()?.into_iter().find_map(|descriptor| {
        let stat = rustix::fs::stat(root.path(format!("{directory}/{descriptor}"))).ok()?;
        let is_device = FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice;
        let opened = is_device.then(|| DevNumber::from_raw(stat.st_rdev))?;
        devices.iter().find(|(_, number)| *number == opened)
    })?;
    let program = root.read(format!("/proc/{process}/comm")).unwrap_or_default();
    Some(Opener { process, program, device: device.clone() })
}
