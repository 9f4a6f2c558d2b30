//! Records the kernel's events in windows of time that chance chooses: elsewhere the kernel does not know that a run is traced.

use anyhow::Context;
use iosonar_archive::PathWindowsFile;
use iosonar_capture::Recorder;
use iosonar_os::monotonic_ns;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;

/// Length of a window in nanoseconds, at the start of a run.
const WINDOW: u64 = 100_000_000;
/// A longer run has longer windows, so that about as many are kept in memory when the events are joined.
const MOST_WINDOWS: u64 = 1 << 16;

/// Switches the events on and off.
pub(crate) struct Sampling {
    /// One of this number of windows is recorded.
    one_of: u64,
    chance: RandomState,
    begun_ns: u64,
    /// Start and length of the group of windows, and the number of the recorded one in it.
    group: (u64, u64, u64),
    /// Since when events are recorded; `None` if they are not.
    on_since_ns: Option<u64>,
    file: PathWindowsFile,
    windows: u64,
}

impl Sampling {
    /// Starts with recorded events.
    pub(crate) fn begin(one_of: u32, dir: &Path) -> io::Result<Sampling> {
        let now = monotonic_ns();
        let mut sampling = Sampling {
            one_of: one_of.into(),
            chance: RandomState::new(),
            begun_ns: now,
            group: (now, 0, 0),
            on_since_ns: Some(now),
            file: PathWindowsFile::begin(dir)?,
            windows: 0,
        };
        sampling.next_group(now);
        Ok(sampling)
    }

    fn next_group(&mut self, now: u64) {
        let window = WINDOW.max((now - self.begun_ns) / MOST_WINDOWS);
        self.group = (now, window, self.chance.hash_one(now) % self.one_of);
    }

    /// Switches the events, if it is time.
    pub(crate) fn step(&mut self, recorder: &Recorder) -> anyhow::Result<()> {
        let now = monotonic_ns();
        let (begin, window, _) = self.group;
        if now - begin >= window * self.one_of {
            self.next_group(now);
        }
        let (begin, window, chosen) = self.group;
        let is_wanted = (now - begin) / window == chosen;
        match (is_wanted, self.on_since_ns) {
            (true, None) => {
                recorder.set_events(true)?;
                self.on_since_ns = Some(monotonic_ns());
            }
            (false, Some(_)) => {
                self.end().context("cannot write the windows of time")?;
                recorder.set_events(false)?;
            }
            _ => (),
        }
        Ok(())
    }

    /// Ends the window, if there is one. Returns the number of windows.
    pub(crate) fn end(&mut self) -> io::Result<u64> {
        if let Some(from_ns) = self.on_since_ns.take() {
            self.file.append(from_ns, monotonic_ns())?;
            self.windows += 1;
        }
        Ok(self.windows)
    }
}
