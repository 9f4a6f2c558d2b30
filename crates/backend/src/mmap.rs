//! Files mapped into memory: a read is a copy from it, a write a copy to it.

use crate::Setup;
use crate::blocking::{Blocking, Calls, flush};
use iosonar_os::map::{Advice, Mapping, Msync};
use iosonar_plan::{MapAdvice, MmapOptions, MsyncPolicy, Op};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Copies from and to a mapping, with `msync` where requested.
pub type Mmap = Blocking<Mapped>;

impl Mmap {
    /// Maps the range of the target that requests may touch. A file that is written is first extended to that length.
    ///
    /// # Errors
    /// The target cannot be mapped, or the end of the requests is not known.
    pub fn open(setup: Setup<'_>, options: MmapOptions) -> io::Result<Mmap> {
        let reach = usize::try_from(setup.reach).ok().filter(|bytes| *bytes <= isize::MAX as usize / 2);
        let reach = reach.ok_or_else(|| {
            io::Error::other("engine mmap maps all that requests may touch, and here that has no known end")
        })?;
        let metadata = setup.file.metadata()?;
        if setup.writes && metadata.is_file() && metadata.len() < setup.reach {
            setup.file.set_len(setup.reach)?;
        }
        if options.file_io_first {
            use_first_page(&setup.file, setup.writes)?;
        }
        let mut mapping =
            if reach > 0 { Some(Mapping::new(&setup.file, reach, setup.writes)?) } else { None };
        if let (Some(mapping), Some(advice)) = (&mut mapping, advice(options.advice)) {
            mapping.advise(advice)?;
        }
        let calls = Mapped { mapping, file: setup.file, options, writes: setup.writes };
        Ok(Blocking::over(calls, setup.clock, setup.depth, setup.short))
    }
}

/// Reads the first page through the descriptor; where requests write, writes it back, so that no byte changes.
fn use_first_page(file: &File, writes: bool) -> io::Result<()> {
    let mut page = [0; 4096];
    let bytes = file.read_at(&mut page, 0)?;
    if writes { file.write_all_at(&page[..bytes], 0) } else { Ok(()) }
}

fn advice(advice: MapAdvice) -> Option<Advice> {
    match advice {
        MapAdvice::None => None,
        MapAdvice::Normal => Some(Advice::Normal),
        MapAdvice::Random => Some(Advice::Random),
        MapAdvice::Sequential => Some(Advice::Sequential),
        MapAdvice::DontNeed => Some(Advice::DontNeed),
        MapAdvice::WillNeed => Some(Advice::WillNeed),
    }
}

/// A mapping, and the file below it.
#[derive(Debug)]
pub struct Mapped {
    /// `None` of an empty file, and once it is released.
    mapping: Option<Mapping>,
    file: File,
    options: MmapOptions,
    writes: bool,
}

impl Mapped {
    /// Copies to the mapping. An error is that of this request alone: the next one has the file's pages again.
    fn copy(&mut self, memory: &[u8], at: u64) -> io::Result<usize> {
        let Some(mapping) = &mut self.mapping else { return Ok(0) };
        mapping.write(memory, at).or_else(|error| {
            mapping.renew(&self.file)?;
            Err(why_not_written(&self.file, memory, at).unwrap_or(error))
        })
    }
}

/// The reason for the kernel's lack of a page to write to. A fault does not give it; write(2) of the same bytes does.
#[cold]
fn why_not_written(file: &File, memory: &[u8], at: u64) -> Option<io::Error> {
    // Bytes beyond the end do not exist any more: the file was made shorter, and it stays so.
    let length = file.metadata().ok()?.len();
    if at.checked_add(memory.len() as u64).is_none_or(|end| end > length) {
        return None;
    }
    // Invalid is the call, not the request: the descriptor may want aligned memory.
    file.write_all_at(memory, at).err().filter(|why| why.kind() != io::ErrorKind::InvalidInput)
}

impl Calls for Mapped {
    fn read(&mut self, memory: &mut [u8], at: u64) -> io::Result<usize> {
        let Some(mapping) = &mut self.mapping else { return Ok(0) };
        mapping.read(memory, at).or_else(|error| {
            mapping.renew(&self.file)?;
            Err(error)
        })
    }

    fn write(&mut self, memory: &[u8], at: u64) -> io::Result<usize> {
        let bytes = self.copy(memory, at)?;
        let Some(mapping) = &mut self.mapping else { return Ok(0) };
        match self.options.msync {
            MsyncPolicy::None => {}
            MsyncPolicy::Async => mapping.sync(at, bytes as u64, Msync::Async)?,
            MsyncPolicy::Sync => mapping.sync(at, bytes as u64, Msync::Sync)?,
        }
        Ok(bytes)
    }

    fn write_durably(&mut self, memory: &[u8], at: u64) -> io::Result<usize> {
        let bytes = self.copy(memory, at)?;
        let Some(mapping) = &mut self.mapping else { return Ok(0) };
        mapping.sync(at, bytes as u64, Msync::Sync)?;
        Ok(bytes)
    }

    fn flush(&mut self, op: Op) -> io::Result<()> {
        self.flush_buffers()?;
        flush(&self.file, op)
    }

    fn file(&self) -> &File {
        &self.file
    }

    fn flush_buffers(&mut self) -> io::Result<()> {
        match &mut self.mapping {
            Some(mapping) if self.writes => mapping.sync(0, mapping.bytes(), Msync::Sync),
            _ => Ok(()),
        }
    }

    fn release(&mut self) -> Option<io::Result<()>> {
        self.mapping.take().map(|mapping| {
            drop(mapping);
            Ok(())
        })
    }
}
