//! Buffered streams of the C library (`fread`, `fwrite`).

use std::fs::File;
use std::io;
use std::os::fd::IntoRawFd;
use std::ptr::NonNull;

/// Kind of the last call: the library wants a seek between a read and a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Read,
    Write,
}

/// A file as a stream of the C library, with a buffer in this process.
#[derive(Debug)]
pub struct Stream {
    stream: NonNull<libc::FILE>,
    /// Position of the next call without a seek.
    position: u64,
    last: Option<Last>,
    /// The library's buffer, where its size was set; it has to outlive the stream.
    _buffer: Vec<u8>,
}

// SAFETY: a stream is owned alone, and the library ties none to a thread.
unsafe impl Send for Stream {}

impl Stream {
    /// A stream over an open file. `buffer`: bytes that the library buffers; 0: the library's default.
    ///
    /// # Errors
    /// There is no memory.
    pub fn open(file: File, writes: bool, buffer: usize) -> io::Result<Stream> {
        let mode = if writes { c"r+" } else { c"r" };
        let descriptor = file.into_raw_fd();
        // SAFETY: the descriptor was the file's own and is the stream's from now on; the mode is a text that ends with 0.
        let stream = unsafe { libc::fdopen(descriptor, mode.as_ptr()) };
        let Some(stream) = NonNull::new(stream) else {
            let error = io::Error::last_os_error();
            // SAFETY: the descriptor has no other owner.
            unsafe { libc::close(descriptor) };
            return Err(error);
        };
        let mut stream = Stream { stream, position: 0, last: None, _buffer: vec![0; buffer] };
        if buffer > 0 {
            let memory = stream._buffer.as_mut_ptr().cast();
            // SAFETY: the stream is unused so far; the memory has `buffer` bytes, has no other user, and is freed after the stream
            // is closed, because fields are dropped after `drop`.
            if unsafe { libc::setvbuf(stream.stream.as_ptr(), memory, libc::_IOFBF, buffer) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(stream)
    }

    /// Reads at a place; fewer bytes only at the end of the file.
    ///
    /// # Errors
    /// The error of the library or the kernel.
    pub fn read(&mut self, memory: &mut [u8], at: u64) -> io::Result<usize> {
        self.seek_to(at, Last::Read)?;
        // SAFETY: the stream is open, and the memory is ours alone and has that length.
        let bytes = unsafe { libc::fread(memory.as_mut_ptr().cast(), 1, memory.len(), self.stream.as_ptr()) };
        self.ended(bytes, memory.len())
    }

    /// Writes at a place: into the buffer, and from there to the file when it is full.
    ///
    /// # Errors
    /// The error of the library or the kernel.
    pub fn write(&mut self, memory: &[u8], at: u64) -> io::Result<usize> {
        self.seek_to(at, Last::Write)?;
        // SAFETY: the stream is open, and the memory can be read and has that length.
        let bytes = unsafe { libc::fwrite(memory.as_ptr().cast(), 1, memory.len(), self.stream.as_ptr()) };
        self.ended(bytes, memory.len())
    }

    /// Writes buffered data to the kernel.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn flush(&mut self) -> io::Result<()> {
        // SAFETY: the stream is open.
        match unsafe { libc::fflush(self.stream.as_ptr()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn seek_to(&mut self, at: u64, next: Last) -> io::Result<()> {
        let turns = self.last.is_some_and(|last| last != next);
        if at != self.position || turns {
            let place = libc::off_t::try_from(at).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
            // SAFETY: the stream is open.
            if unsafe { libc::fseeko(self.stream.as_ptr(), place, libc::SEEK_SET) } != 0 {
                return Err(io::Error::last_os_error());
            }
            self.position = at;
        }
        self.last = Some(next);
        Ok(())
    }

    fn ended(&mut self, bytes: usize, wanted: usize) -> io::Result<usize> {
        self.position += bytes as u64;
        if bytes == wanted {
            return Ok(bytes);
        }
        let error = io::Error::last_os_error();
        // SAFETY: the stream is open.
        let failed = unsafe { libc::ferror(self.stream.as_ptr()) } != 0;
        // SAFETY: as above. Otherwise each later call would fail, too, and the end of the file stay the end.
        unsafe { libc::clearerr(self.stream.as_ptr()) };
        // The position after an error is unknown: the next call has to seek.
        self.position = if failed { u64::MAX } else { self.position };
        if failed { Err(error) } else { Ok(bytes) }
    }

    /// Closes the stream, and with it the file.
    ///
    /// # Errors
    /// Buffered data could not be written; the stream is closed in any case.
    pub fn close(self) -> io::Result<()> {
        let mut this = std::mem::ManuallyDrop::new(self);
        // SAFETY: the stream is open, and has no further user: `this` is not dropped.
        let closed = unsafe { libc::fclose(this.stream.as_ptr()) };
        let error = io::Error::last_os_error();
        this._buffer = Vec::new();
        if closed == 0 { Ok(()) } else { Err(error) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is open, and has no further user.
        unsafe { libc::fclose(self.stream.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn buffered_writes_reach_file_on_full_buffer_or_flush() {
        let file = tempfile::tempfile().unwrap();
        let mut stream = Stream::open(file.try_clone().unwrap(), true, 8192).unwrap();
        stream.write(&[1; 4096], 0).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 0);
        stream.flush().unwrap();
        assert_eq!(file.metadata().unwrap().len(), 4096);
        stream.write(&[2; 4096], 8192).unwrap();
        let mut back = [0; 4096];
        // A read after a write, elsewhere, and one at the end.
        assert_eq!(stream.read(&mut back, 0).unwrap(), 4096);
        assert_eq!((back, stream.read(&mut back, 8192).unwrap()), ([1; 4096], 4096));
        assert_eq!((back, stream.read(&mut back, 12288).unwrap()), ([2; 4096], 0));
        stream.close().unwrap();
        file.read_exact_at(&mut back, 4096).unwrap();
        assert_eq!(back, [0; 4096]);
    }

    #[test]
    fn returns_kernel_errors() {
        let full = File::options().read(true).write(true).open("/dev/full").unwrap();
        let mut stream = Stream::open(full, true, 512).unwrap();
        let written = stream.write(&[1; 4096], 0);
        assert_eq!(written.unwrap_err().raw_os_error(), Some(libc::ENOSPC));
        let mut stream = Stream::open(File::open("/dev/null").unwrap(), false, 0).unwrap();
        assert!(stream.write(&[1], 0).is_err());
    }
}
