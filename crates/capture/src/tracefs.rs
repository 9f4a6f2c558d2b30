//! The kernel's tracing as files: finding it, an instance of our own, and undoing everything.

use iosonar_trace::kernel::Device;
use iosonar_trace::kernel::ring::{FormError, Forms};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Where tracing is, by the kernel's documentation.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// How instances of ours begin; the number of the process follows.
const NAME: &str = "iosonar-record-";
/// Tells that the file system was mounted by us, for a cleanup after a crash.
const MOUNTED_BY_US: &str = "/run/iosonar-mounted-tracefs";

/// Why recording is not possible, or broke.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The kernel refused something.
    #[error("{path}: {error}{}", remedy(.error))]
    Io {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        error: io::Error,
    },
    /// This kernel cannot be recorded. Holds why.
    #[error("{0}")]
    Impossible(String),
    /// The kernel's buffers are of a form that is not known.
    #[error(transparent)]
    Form(#[from] FormError),
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::PermissionDenied => {
            ": recording reads the kernel's trace buffers, which needs root (or CAP_SYS_ADMIN)"
        }
        ErrorKind::NotFound => {
            ": this kernel was built without it (CONFIG_EVENT_TRACING, CONFIG_BLK_DEV_IO_TRACE)"
        }
        _ => "",
    }
}

pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> CaptureError + '_ {
    move |error| CaptureError::Io { path: path.to_path_buf(), error }
}

/// Finds the file system of tracing; mounts it where it belongs if it is nowhere. Whether that was done.
fn find() -> Result<(PathBuf, bool), CaptureError> {
    let is_there = |place: &&&str| Path::new(place).join("instances").is_dir();
    if let Some(place) = PLACES.iter().find(is_there) {
        return Ok((PathBuf::from(place), false));
    }
    let place = Path::new(PLACES[0]);
    let none = c"";
    mount("tracefs", place, "tracefs", MountFlags::NOSUID | MountFlags::NOEXEC | MountFlags::NODEV, none)
        .map_err(|errno| CaptureError::Io { path: place.to_path_buf(), error: errno.into() })?;
    // A cleanup without this leaves the file system mounted, which harms nobody.
    let _ = fs::write(MOUNTED_BY_US, b"");
    Ok((place.to_path_buf(), true))
}

fn unmount_ours() -> io::Result<()> {
    if !Path::new(MOUNTED_BY_US).exists() {
        return Ok(());
    }
    // Somebody else may have begun to use it meanwhile: then it stays.
    match unmount(PLACES[0], UnmountFlags::empty()) {
        Ok(()) | Err(rustix::io::Errno::BUSY | rustix::io::Errno::INVAL) => fs::remove_file(MOUNTED_BY_US),
        Err(errno) => Err(errno.into()),
    }
}

/// An instance of tracing of our own. It is switched off and removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Instance {
    root: PathBuf,
    dir: PathBuf,
    is_mounted_by_us: bool,
}

impl Instance {
    pub(crate) fn create() -> Result<Instance, CaptureError> {
        let (root, is_mounted_by_us) = find()?;
        let dir = root.join("instances").join(format!("{NAME}{}", std::process::id()));
        // A process of the same number may have been killed; what it left is of no use, and what is used stays.
        let _ = remove_instance(&dir);
        fs::create_dir(&dir).map_err(at(&dir))?;
        let instance = Instance { root, dir, is_mounted_by_us };
        instance.write("tracing_on", "0")?;
        Ok(instance)
    }

    pub(crate) fn write(&self, file: &str, text: &str) -> Result<(), CaptureError> {
        let path = self.dir.join(file);
        fs::write(&path, text).map_err(at(&path))
    }

    pub(crate) fn read(&self, file: &str) -> Result<String, CaptureError> {
        let path = self.dir.join(file);
        read(&path).map_err(at(&path))
    }

    /// Switches an event on for these devices.
    pub(crate) fn enable(&self, event: &str, devices: &[Device]) -> Result<(), CaptureError> {
        let terms: Vec<String> = devices.iter().map(|d| format!("dev == {}", d.0)).collect();
        self.write(&format!("events/block/{event}/filter"), &terms.join(" || "))?;
        self.write(&format!("events/block/{event}/enable"), "1")
    }

    /// The forms of pages and of these events, and the bytes of a page.
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

    /// Those events that this kernel has.
    pub(crate) fn known(&self, events: &[&'static str]) -> Vec<&'static str> {
        let is_known = |event: &&&str| self.dir.join("events/block").join(event).is_dir();
        events.iter().filter(is_known).copied().collect()
    }

    /// The buffers of all CPUs, to be read without waiting.
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

/// The text of a file. Some files of tracing give everything to the first read or never.
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

/// From the page's own description: where its data begins, and how much it is.
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
        // What cannot be undone here, a cleanup can.
        let _ = remove_instance(&self.dir);
        if self.is_mounted_by_us {
            let _ = unmount_ours();
        }
    }
}

/// Removes an instance, which switches its events off; nothing if it is not there. One that somebody uses is left alone: the
/// kernel refuses with [`ErrorKind::ResourceBusy`].
fn remove_instance(dir: &Path) -> io::Result<()> {
    if dir.exists() { fs::remove_dir(dir) } else { Ok(()) }
}

/// What a cleanup found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cleaned {
    /// Numbers of processes that are gone, whose tracing was switched off and removed.
    pub removed: Vec<u32>,
    /// Numbers of processes that still record.
    pub alive: Vec<u32>,
}

/// Removes what recorders that are gone left in the kernel.
///
/// # Errors
/// What the kernel refuses.
pub fn cleanup() -> Result<Cleaned, CaptureError> {
    let mut cleaned = Cleaned::default();
    for place in PLACES {
        let instances = Path::new(place).join("instances");
        let Ok(entries) = fs::read_dir(&instances) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(pid) = name.strip_prefix(NAME).and_then(|pid| pid.parse::<u32>().ok()) else { continue };
            let path = entry.path();
            match remove_instance(&path) {
                Ok(()) => cleaned.removed.push(pid),
                Err(error) if error.kind() == ErrorKind::ResourceBusy => cleaned.alive.push(pid),
                Err(error) => return Err(at(&path)(error)),
            }
        }
    }
    if cleaned.alive.is_empty() {
        let place = Path::new(PLACES[0]);
        unmount_ours().map_err(at(place))?;
    }
    Ok(cleaned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_page_is_told_by_the_kernel() {
        let header = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: char data;\toffset:16;\tsize:65520;\tsigned:0;\n";
        assert_eq!(page_bytes(header), 65536);
        assert_eq!(page_bytes("nothing"), 4096);
    }
}
