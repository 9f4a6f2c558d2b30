//! The terminal that standard error is shown on.

use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

/// Its width in columns now; it changes when the window does. `None` where standard error is no terminal, or one that does not
/// report it.
pub fn stderr_columns() -> Option<u16> {
    columns_of(rustix::stdio::stderr())
}

/// Width of the terminal on which output is read: standard output's, or that of another standard stream where output goes through a
/// pager.
pub fn terminal_columns() -> Option<u16> {
    let (output, input) = (rustix::stdio::stdout(), rustix::stdio::stdin());
    columns_of(output).or_else(stderr_columns).or_else(|| columns_of(input))
}

fn columns_of(stream: BorrowedFd<'_>) -> Option<u16> {
    let size = termios::tcgetwinsize(stream).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}

/// The terminal of standard error, opened again: writing to it never waits, and its settings for others stay as they were. (The
/// flag that lets a write return belongs to an opened file, and standard error's is shared with the process that started the
/// program.)
#[derive(Debug)]
pub struct Terminal {
    file: File,
    before: Termios,
}

impl Terminal {
    /// Opens it; `None` where standard error is no terminal.
    ///
    /// # Errors
    /// The kernel's error: another user's terminal, after `su`, cannot be opened.
    pub fn open() -> io::Result<Option<Terminal>> {
        if !termios::isatty(rustix::stdio::stderr()) {
            return Ok(None);
        }
        let flags = (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits();
        let path = "/proc/self/fd/2";
        let file = File::options().read(true).write(true).custom_flags(flags as i32).open(path)?;
        let before = termios::tcgetattr(&file)?;
        Ok(Some(Terminal { file, before }))
    }

    /// Columns and rows now, where it reports them.
    pub fn size(&self) -> Option<(usize, usize)> {
        let size = termios::tcgetwinsize(&self.file).ok()?;
        (size.ws_col > 0 && size.ws_row > 0).then(|| (size.ws_col.into(), size.ws_row.into()))
    }

    /// Whether it may be read and set now: a program in the background that does so is stopped by the kernel.
    pub fn is_foreground(&self) -> bool {
        // An error: it is not the controlling terminal here, so no process is stopped.
        termios::tcgetpgrp(&self.file).map_or(true, |group| group == rustix::process::getpgrp())
    }

    /// Returns each key at once, and does not show it; the keys for signals are unchanged.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn take_keys(&self) -> io::Result<()> {
        let mut attributes = self.before.clone();
        attributes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        attributes.special_codes[SpecialCodeIndex::VMIN] = 0;
        attributes.special_codes[SpecialCodeIndex::VTIME] = 0;
        Ok(termios::tcsetattr(&self.file, OptionalActions::Now, &attributes)?)
    }

    /// Restores the settings from when it was opened.
    pub fn give_keys_back(&self) {
        let _ = termios::tcsetattr(&self.file, OptionalActions::Now, &self.before);
    }

    /// Keys that were pressed; empty if no key was. It never waits.
    pub fn keys(&self) -> Vec<u8> {
        let mut keys = [0; 64];
        let read = (&self.file).read(&mut keys).unwrap_or(0);
        keys[..read].to_vec()
    }

    /// Writes as much as it takes without waiting; returns how much that was.
    ///
    /// # Errors
    /// The kernel's error; a terminal that takes nothing now is no error.
    pub fn write_some(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = 0;
        while written < bytes.len() {
            match (&self.file).write(&bytes[written..]) {
                Ok(0) => break,
                Ok(n) => written += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(written)
    }

    /// Writes all of it, but waits no longer than this for a terminal that takes nothing.
    pub fn write_within(&self, mut bytes: &[u8], most: Duration) {
        let end = std::time::Instant::now() + most;
        while let Ok(written) = self.write_some(bytes) {
            bytes = &bytes[written..];
            if bytes.is_empty() || std::time::Instant::now() >= end {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
