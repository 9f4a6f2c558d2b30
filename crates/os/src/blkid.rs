//! Names of the content of a device: file systems, partition tables, members of RAIDs and volume groups, encryption, swap. The
//! tables are those of libblkid (util-linux), which is loaded when it is first needed: a program that is built without it starts
//! where it is missing.

use libc::{c_char, c_int, c_void};
use rustix::fd::{AsFd, AsRawFd, RawFd};
use std::ffi::CStr;
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

/// The library by the name that its interface has had since 2006.
const LIBRARY: &CStr = c"libblkid.so.1";
/// Maximum number of signatures read of one device, in case the library finds one again and again.
const MAX_SIGNATURES: usize = 64;

/// `BLKID_SUBLKS_...` of `blkid.h`: LABEL, UUID, TYPE, USAGE and BADCSUM (report those with a wrong checksum, too).
const SUPERBLOCKS: c_int = 1 << 1 | 1 << 3 | 1 << 5 | 1 << 7 | 1 << 10;
/// `BLKID_PARTS_FORCE_GPT`: report a GPT also where the protective MBR is broken.
const PARTITIONS: c_int = 1 << 1;

/// One signature that the library knows. Texts come from the device, so they may hold any bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signature {
    /// Kind of the content, for example `ext4`, `crypto_LUKS`, `LVM2_member`; `None` for a partition table.
    pub content: Option<String>,
    /// `filesystem`, `raid`, `crypto` or `other`.
    pub usage: Option<String>,
    /// Kind of the partition table, for example `gpt`.
    pub table: Option<String>,
    /// Label of the content.
    pub label: Option<String>,
    /// Identifier of the content.
    pub uuid: Option<String>,
    /// Whether its checksum is wrong.
    pub damaged: bool,
}

/// Reason why nothing is known about a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The library could not be loaded; holds the loader's message.
    NoLibrary(String),
    /// The device could not be searched to the end; holds the name of the failed call.
    Failed(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoLibrary(why) => {
                write!(
                    f,
                    "libblkid is not installed, which names signatures; it belongs to util-linux: {why}"
                )
            }
            Error::Failed(call) => write!(f, "libblkid failed in {call}"),
        }
    }
}

impl std::error::Error for Error {}

/// Every signature on the open device or file, in the order in which the library finds them, each once.
///
/// # Errors
/// The library is missing, or the device can't be read.
pub fn signatures(device: impl AsFd) -> Result<Vec<Signature>, Error> {
    let library = library()?;
    let mut probe = Probe::new(library).ok_or(Error::Failed("blkid_new_probe"))?;
    probe.prepare(device.as_fd().as_raw_fd())?;
    let mut found: Vec<Signature> = Vec::new();
    for _ in 0..MAX_SIGNATURES {
        match probe.step() {
            Step::Error if found.is_empty() => return Err(Error::Failed("blkid_do_probe")),
            // An error does not undo earlier findings.
            Step::End | Step::Error => break,
            Step::Found => {}
        }
        let signature = probe.signature();
        if !found.contains(&signature) {
            found.push(signature);
        }
    }
    Ok(found)
}

type NewProbe = unsafe extern "C" fn() -> *mut c_void;
type FreeProbe = unsafe extern "C" fn(*mut c_void);
type SetDevice = unsafe extern "C" fn(*mut c_void, c_int, i64, i64) -> c_int;
type SetNumber = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
type DoProbe = unsafe extern "C" fn(*mut c_void) -> c_int;
type Lookup =
    unsafe extern "C" fn(*mut c_void, *const c_char, *mut *const c_char, *mut libc::size_t) -> c_int;
type InitDebug = unsafe extern "C" fn(c_int);

/// The functions of the library that are used here.
struct Library {
    new_probe: NewProbe,
    free_probe: FreeProbe,
    set_device: SetDevice,
    enable_superblocks: SetNumber,
    set_superblocks_flags: SetNumber,
    enable_partitions: SetNumber,
    set_partitions_flags: SetNumber,
    do_probe: DoProbe,
    lookup_value: Lookup,
}

/// The library, loaded once and never closed.
fn library() -> Result<&'static Library, Error> {
    static LOADED: OnceLock<Result<Library, Error>> = OnceLock::new();
    LOADED.get_or_init(|| load(LIBRARY)).as_ref().map_err(Clone::clone)
}

fn load(name: &CStr) -> Result<Library, Error> {
    // SAFETY: the name ends with NUL. Loading the library does the same as in any program of util-linux.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    let handle = NonNull::new(handle).ok_or_else(loader_error)?;
    // SAFETY: `symbol` gives the addresses of the functions of these names in libblkid.so.1, and each type is the
    // function's prototype in its blkid.h (blkid_probe and the handles are pointers, blkid_loff_t is int64_t); the
    // interface of this major version does not change. The handle is never closed, so the addresses stay valid.
    let library = unsafe {
        use std::mem::transmute as of;
        // Reads the environment into a static; called once here, since the library would do it in every thread.
        of::<*mut c_void, InitDebug>(symbol(handle, c"blkid_init_debug")?)(0);
        Library {
            new_probe: of::<*mut c_void, NewProbe>(symbol(handle, c"blkid_new_probe")?),
            free_probe: of::<*mut c_void, FreeProbe>(symbol(handle, c"blkid_free_probe")?),
            set_device: of::<*mut c_void, SetDevice>(symbol(handle, c"blkid_probe_set_device")?),
            enable_superblocks: of::<*mut c_void, SetNumber>(symbol(
                handle,
                c"blkid_probe_enable_superblocks",
            )?),
            set_superblocks_flags: of::<*mut c_void, SetNumber>(symbol(
                handle,
                c"blkid_probe_set_superblocks_flags",
            )?),
            enable_partitions: of::<*mut c_void, SetNumber>(symbol(
                handle,
                c"blkid_probe_enable_partitions",
            )?),
            set_partitions_flags: of::<*mut c_void, SetNumber>(symbol(
                handle,
                c"blkid_probe_set_partitions_flags",
            )?),
            do_probe: of::<*mut c_void, DoProbe>(symbol(handle, c"blkid_do_probe")?),
            lookup_value: of::<*mut c_void, Lookup>(symbol(handle, c"blkid_probe_lookup_value")?),
        }
    };
    Ok(library)
}

/// Address of a function, never null.
fn symbol(library: NonNull<c_void>, name: &CStr) -> Result<*mut c_void, Error> {
    // SAFETY: the handle comes from dlopen(3) and is never closed; the name ends with NUL.
    let address = unsafe { libc::dlsym(library.as_ptr(), name.as_ptr()) };
    if address.is_null() { Err(loader_error()) } else { Ok(address) }
}

fn loader_error() -> Error {
    // SAFETY: dlerror(3) has no preconditions; its answer belongs to this thread.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return Error::NoLibrary("the loader does not say why".into());
    }
    // SAFETY: an answer that is not null is a NUL-terminated string that lives until this thread's next call of the
    // loader, and it is copied before that.
    let text = unsafe { CStr::from_ptr(text) };
    Error::NoLibrary(text.to_string_lossy().into_owned())
}

enum Step {
    Found,
    End,
    Error,
}

/// A search of one device.
struct Probe<'a> {
    library: &'a Library,
    probe: NonNull<c_void>,
}

impl<'a> Probe<'a> {
    fn new(library: &'a Library) -> Option<Self> {
        // SAFETY: no preconditions; null means that there is no memory.
        let probe = unsafe { (library.new_probe)() };
        Some(Self { library, probe: NonNull::new(probe)? })
    }

    /// The descriptor has to stay open while the search lasts.
    fn prepare(&mut self, device: RawFd) -> Result<(), Error> {
        let (library, probe) = (self.library, self.probe.as_ptr());
        // SAFETY: the probe is valid until it is dropped. The descriptor is the caller's and open; the library does
        // not close what it did not open. Offset and size 0 mean the whole device.
        if unsafe { (library.set_device)(probe, device, 0, 0) } != 0 {
            return Err(Error::Failed("blkid_probe_set_device"));
        }
        let settings = [
            (library.enable_superblocks, 1, "blkid_probe_enable_superblocks"),
            (library.set_superblocks_flags, SUPERBLOCKS, "blkid_probe_set_superblocks_flags"),
            (library.enable_partitions, 1, "blkid_probe_enable_partitions"),
            (library.set_partitions_flags, PARTITIONS, "blkid_probe_set_partitions_flags"),
        ];
        for (set, value, name) in settings {
            // SAFETY: the probe is valid until it is dropped, and these functions take any number.
            if unsafe { set(probe, value) } != 0 {
                return Err(Error::Failed(name));
            }
        }
        Ok(())
    }

    /// Steps to the next signature.
    fn step(&mut self) -> Step {
        // SAFETY: the probe is valid until it is dropped, and has a device whose descriptor is still open.
        match unsafe { (self.library.do_probe)(self.probe.as_ptr()) } {
            0 => Step::Found,
            1 => Step::End,
            _ => Step::Error,
        }
    }

    /// Signature found by the last step.
    fn signature(&self) -> Signature {
        let table = self.value(c"PTTYPE");
        Signature {
            content: self.value(c"TYPE"),
            usage: self.value(c"USAGE"),
            label: self.value(c"LABEL"),
            uuid: self.value(c"UUID").or_else(|| self.value(c"PTUUID")),
            damaged: self.value(c"SBBADCSUM").is_some_and(|value| value != "0"),
            table,
        }
    }

    fn value(&self, name: &CStr) -> Option<String> {
        let (mut data, mut length) = (ptr::null::<c_char>(), 0);
        // SAFETY: the probe is valid until it is dropped; the name ends with NUL; both places are writable.
        let answer = unsafe {
            (self.library.lookup_value)(self.probe.as_ptr(), name.as_ptr(), &raw mut data, &raw mut length)
        };
        if answer != 0 || data.is_null() {
            return None;
        }
        // SAFETY: after success `data` points to `length` bytes that belong to the probe and stay until its next step;
        // they are copied before that.
        let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) };
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        (!text.is_empty()).then(|| String::from_utf8_lossy(text).into_owned())
    }
}

impl Drop for Probe<'_> {
    fn drop(&mut self) {
        // SAFETY: the probe came from blkid_new_probe and is freed once, here.
        unsafe { (self.library.free_probe)(self.probe.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, Write};

    fn file(parts: &[(u64, &[u8])], size: u64) -> std::fs::File {
        let name = std::env::temp_dir().join(format!(
            "iosonar-blkid-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        let mut file = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&name)
            .unwrap();
        std::fs::remove_file(name).unwrap();
        file.set_len(size).unwrap();
        for (at, bytes) in parts {
            file.seek(std::io::SeekFrom::Start(*at)).unwrap();
            file.write_all(bytes).unwrap();
        }
        file
    }

    #[test]
    fn missing_library_is_reported() {
        let Err(error) = load(c"libno-such-thing.so.1") else { panic!("loaded") };
        assert!(
            error.to_string().starts_with("libblkid is not installed, which names signatures"),
            "{error}"
        );
        assert!(error.to_string().contains("libno-such-thing"), "{error}");
        let Err(error) = load(c"libc.so.6") else { panic!("loaded") };
        assert!(error.to_string().contains("blkid_init_debug"), "{error}");
    }

    #[test]
    fn finds_no_signature_in_empty_tiny_or_special_files() {
        if library().is_err() {
            println!("SKIPPED: libblkid is not installed");
            return;
        }
        for size in [0, 1, 511, 512, 513, 4096, 1 << 20, 1 << 42] {
            match signatures(file(&[], size)) {
                Ok(found) => assert!(found.is_empty(), "{size}: {found:?}"),
                Err(error) => assert!(matches!(error, Error::Failed(_)) && size < 1024, "{size}: {error}"),
            }
        }
        for path in ["/dev/null", "/dev/zero", "/proc/self/mem", "/proc/self", "/"] {
            let found = signatures(std::fs::File::open(path).unwrap());
            assert!(found.is_err() || found.as_ref().is_ok_and(Vec::is_empty), "{path}: {found:?}");
        }
    }

    #[test]
    fn finds_all_of_several_signatures() {
        if library().is_err() {
            println!("SKIPPED: libblkid is not installed");
            return;
        }
        // A partition table with one entry of Linux, and the header of a swap area of one page.
        let mut table = [0_u8; 66];
        table[4] = 0x83;
        table[8] = 8;
        table[13] = 8;
        table[64..].copy_from_slice(&[0x55, 0xaa]);
        let mut header = [0_u8; 44];
        header[0] = 1;
        header[4..8].copy_from_slice(&255_u32.to_le_bytes());
        header[28..33].copy_from_slice(b"spare");
        let found =
            signatures(file(&[(446, &table), (1024, &header), (4086, b"SWAPSPACE2")], 1 << 20)).unwrap();
        assert!(
            found.iter().any(|it| it.content.as_deref() == Some("swap")
                && it.usage.as_deref() == Some("other")
                && it.label.as_deref() == Some("spare")),
            "{found:?}"
        );
        assert!(found.iter().any(|it| it.table.as_deref() == Some("dos")), "{found:?}");
        assert_eq!(found.len(), 2, "{found:?}");
    }
}
