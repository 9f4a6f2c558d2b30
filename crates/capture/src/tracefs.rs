//! The kernel's tracing as files: finds it, creates a separate instance, and undoes everything.

use crate::error::{CaptureError, at};
use crate::mount::{TRACEFS, turn};
use iosonar_os::create;
use iosonar_os::made::Made;
use iosonar_trace::kernel::Device;
use iosonar_trace::kernel::ring::Forms;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Mount points of tracing, by the kernel's documentation.
const PLACES: [&str; 2] = [TRACEFS.place, "/sys/kernel/debug/tracing"];
/// Name prefix of our instances; the process id follows.
const NAME: &str = "iosonar-record-";

/// Finds tracefs; mounts it at its standard place if it is not mounted.
fn find() -> Result<PathBuf, CaptureError> {
    let is_there = |place: &&&str| Path::new(place).join("instances").is_dir();
    if let Some(place) = PLACES.iter().find(is_there) {
        return Ok(PathBuf::from(place));
    }
    TRACEFS.mount()?;
    Ok(PathBuf::from(TRACEFS.place))
}

/// Unmounts a recorder's mount after the last recorder.
fn unmount_ours() -> io::Result<()> {
    if has_recorders() { Ok(()) } else { TRACEFS.unmount_if_ours() }
}

/// Whether there are instances of recorders, including killed ones.
fn has_recorders() -> bool {
    let entries = fs::read_dir(Path::new(TRACEFS.place).join("instances"));
    entries.into_iter().flatten().flatten().any(|e| e.file_name().to_string_lossy().starts_with(NAME))
}

/// A separate tracing instance. It is switched off and removed on drop.
#[derive(Debug)]
pub(crate) struct Instance {
    root: PathBuf,
    dir: PathBuf,
    made: Made,
}

impl Instance {
    pub(crate) fn create() -> Result<Instance, CaptureError> {
        let turn = turn();
        let root = find()?;
        let dir = root.join("instances").join(format!("{NAME}{}", std::process::id()));
        // A killed process may have had the same number; its instance is useless, unless it is in use.
        let _ = remove_leftover(&dir);
        remove_of_dead(&root);
        let made = create::new_dir(&dir).map_err(|error| {
            // Ignore unmount errors; report the original one.
            let _ = unmount_ours();
            at(&dir)(error)
        })?;
        drop(turn);
        let instance = Instance { root, dir, made };
        instance.write("tracing_on", "0")?;
        Ok(instance)
    }

    pub(crate) fn write(&self, file: &str, text: &str) -> Result<(), CaptureError> {
        let path = self.dir.join(file);
        create::write_attribute(&path, text).map_err(at(&path))
    }

    pub(crate) fn read(&self, file: &str) -> Result<String, CaptureError> {
        let path = self.dir.join(file);
        read(&path).map_err(at(&path))
    }

    /// Enables an event for these devices.
    pub(crate) fn enable(
        &self,
        event: &str,
        devices: &[Device],
        without_data: bool,
    ) -> Result<(), CaptureError> {
        let terms: Vec<String> = devices.iter().map(|d| format!("dev == {}", d.0)).collect();
        let devices = terms.join(" || ");
        let filter = if without_data { format!("({devices}) && nr_sector == 0") } else { devices };
        self.write(&format!("events/block/{event}/filter"), &filter)?;
        self.write(&format!("events/block/{event}/enable"), "1")
    }

    /// Returns the formats of pages and of these events, and the bytes of a page.
    pub(crate) fn forms(&self, events: &[&'static str]) -> Result<(Forms, usize), CaptureError> {
        let page = self.root.join("events/header_page");
        let header = match self.read("events/header_page") {
            Ok(own) => own,
            Err(_) => read(&page).map_err(at(&page))?,
        };
        let form = |event: &&'static str| Ok((*event, self.read(&format!("events/block/{event}/format"))?));
        let events = self.known(events).iter().map(form).collect::<Result<Vec<_>, CaptureError>>()?;
        Ok((Forms::parse(&header, events)?, page_bytes(&header)))
    }

    /// Returns those events that this kernel has.
    pub(crate) fn known(&self, events: &[&'static str]) -> Vec<&'static str> {
        let is_known = |event: &&&str| self.dir.join("events/block").join(event).is_dir();
        events.iter().filter(is_known).copied().collect()
    }

    /// Opens the buffers of all CPUs, for non-blocking reads.
    pub(crate) fn pipes(&self) -> Result<Vec<(PathBuf, File)>, CaptureError> {
        let all = self.dir.join("per_cpu");
        let mut dirs: Vec<PathBuf> =
            fs::read_dir(&all).map_err(at(&all))?.flatten().map(|entry| entry.path()).collect();
        dirs.sort();
        let open = |dir: PathBuf| {
            let path = dir.join("trace_pipe_raw");
            let mut options = File::options();
            let options = options.read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
            options.open(&path).map(|file| (dir, file)).map_err(at(&path))
        };
        dirs.into_iter().map(open).collect()
    }
}

/// Reads a text file. Some tracing files return everything to the first read or never.
fn read(path: &Path) -> io::Result<String> {
    let (mut file, mut text) = (File::open(path)?, Vec::new());
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return String::from_utf8(text).map_err(|_| ErrorKind::InvalidData.into()),
            read => text.extend_from_slice(&buffer[..read]),
        }
    }
}

/// Page size from the page's own description: start and size of its data.
fn page_bytes(header: &str) -> usize {
    let data = header.lines().find(|line| line.contains(" data;"));
    let number = |name: &str| {
        let rest = data?.split_once(name)?.1;
        rest.split(';').next()?.trim().parse::<usize>().ok()
    };
    number("offset:").zip(number("size:")).map_or(4096, |(offset, size)| offset + size)
}

impl Drop for Instance {
    fn drop(&mut self) {
        // On failure, a cleanup can remove it.
        let _turn = turn();
        let _ = self.made.remove();
        let _ = unmount_ours();
    }
}

/// Removes the instance of a dead recorder, which disables its events; no effect if it is missing. One in use is kept:
/// the kernel refuses with [`ErrorKind::ResourceBusy`].
fn remove_leftover(dir: &Path) -> io::Result<()> {
    const PROOF: &str =
        "its name is that of a recorder's instance: the file system of tracing holds nothing else by it";
    match Made::proved(dir, PROOF) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        instance => instance?.remove(),
    }
}

/// Removes instances whose process is gone. Errors are ignored: a cleanup reports them.
fn remove_of_dead(root: &Path) {
    let entries = fs::read_dir(root.join("instances"));
    for entry in entries.into_iter().flatten().flatten() {
        let is_dead =
            process_of(&entry).is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists());
        if is_dead {
            let _ = remove_leftover(&entry.path());
        }
    }
}

/// Process number in the name of a recorder's instance; `None` for other instances.
fn process_of(entry: &fs::DirEntry) -> Option<u32> {
    entry.file_name().to_string_lossy().strip_prefix(NAME)?.parse().ok()
}

/// Removes the instances of dead recorders: their process numbers are added to `removed`, those of living ones to `alive`.
pub(crate) fn cleanup(removed: &mut Vec<u32>, alive: &mut Vec<u32>) -> Result<(), CaptureError> {
    let _turn = turn();
    for place in PLACES {
        let instances = Path::new(place).join("instances");
        let Ok(entries) = fs::read_dir(&instances) else { continue };
        for entry in entries.flatten() {
            let Some(pid) = process_of(&entry) else { continue };
            let path = entry.path();
            match remove_leftover(&path) {
                Ok(()) => removed.push(pid),
                Err(error) if error.kind() == ErrorKind::ResourceBusy => alive.push(pid),
                Err(error) => return Err(at(&path)(error)),
            }
        }
    }
    unmount_ours().map_err(at(Path::new(TRACEFS.place)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_page_size_from_kernel_header() {
        let header = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: char data;\toffset:16;\tsize:65520;\tsigned:0;\n";
        assert_eq!(page_bytes(header), 65536);
        assert_eq!(page_bytes("nothing"), 4096);
    }
}
