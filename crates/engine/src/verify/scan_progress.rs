//! Progress of the scan at the end, for displays.

use iosonar_plan::SECTOR;
use iosonar_text::units::bytes;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Progress of the scan, for displays.
#[derive(Debug, Default)]
pub struct ScanProgress {
    begun: OnceLock<Instant>,
    total: AtomicU64,
    done: AtomicU64,
}

/// Progress of the scan at a moment.
#[derive(Debug, Clone, Copy)]
pub struct ScanMoment {
    /// Bytes that were read.
    pub done: u64,
    /// Bytes that are to be read, on all devices that are known so far.
    pub total: u64,
    /// Elapsed time.
    pub elapsed: Duration,
}

impl fmt::Display for ScanMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = if self.total == 0 { 1.0 } else { self.done as f64 / self.total as f64 };
        write!(f, "final scan: {:.0} % of {}", share * 100.0, bytes(self.total))?;
        match share > 0.0 {
            true => write!(f, ", {:.0} s left", self.elapsed.as_secs_f64() * (1.0 - share) / share),
            false => Ok(()),
        }
    }
}

impl ScanProgress {
    /// `None` before it starts.
    pub fn moment(&self) -> Option<ScanMoment> {
        let begun = self.begun.get()?;
        let bytes = |sectors: &AtomicU64| sectors.load(Relaxed) * SECTOR;
        Some(ScanMoment { done: bytes(&self.done), total: bytes(&self.total), elapsed: begun.elapsed() })
    }

    pub(super) fn begin(&self, sectors: u64) {
        self.begun.get_or_init(Instant::now);
        self.total.fetch_add(sectors, Relaxed);
    }

    pub(super) fn add(&self, sectors: u64) {
        self.done.fetch_add(sectors, Relaxed);
    }
}
