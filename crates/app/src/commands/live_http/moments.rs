//! A run at one moment after the other: its latest records, and the newest page of them.

use super::page::page_of;
use super::recent::Recent;
use crate::exit::Failure;
use iosonar_archive::{Archive, Following, Record};
use iosonar_plan::Nanos;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum number of requests of a page: memory is bounded whatever their rate.
const REQUESTS: usize = 500_000;
/// How often the log of a running run is read.
const READ: Duration = Duration::from_millis(250);
/// Minimum age of a page that is replaced.
const AGE: Duration = Duration::from_secs(2);
/// A page is replaced after this multiple of the time that making it took: most of the CPU time is the run's.
const REST: u32 = 5;

/// The run as clients see it.
pub struct Moments {
    dir: PathBuf,
    records: Following,
    recent: Recent,
    /// Number of the page that clients are offered.
    version: u64,
    /// Whether there are newer records than those of that page.
    is_newer: bool,
    read: Instant,
    page: Option<MadePage>,
}

struct MadePage {
    version: u64,
    text: Arc<[u8]>,
    made: Instant,
    took: Duration,
}

impl Moments {
    /// Reads the records that are there.
    pub fn start(archive: &Archive, window: Nanos) -> Result<Moments, Failure> {
        let mut recent = Recent::new(window, REQUESTS);
        let records = Following::start(archive, true, &mut |record| recent.add(record));
        Ok(Moments {
            dir: archive.dir().to_path_buf(),
            records: records.map_err(Failure::refused)?,
            recent,
            version: 1,
            is_newer: false,
            read: Instant::now(),
            page: None,
        })
    }

    /// Reads new records, and describes the newest page that can be had.
    pub fn state(&mut self) -> Result<Value, Failure> {
        self.read_new()?;
        let is_due = |page: &MadePage| page.made.elapsed() >= AGE.max(page.took * REST);
        // The last page of a run is offered at once.
        let is_last = !self.records.is_growing();
        if self.is_newer && (is_last || self.page.as_ref().is_none_or(is_due)) {
            self.version += 1;
            self.is_newer = false;
        }
        Ok(json!({
            "version": self.version,
            "is_growing": self.records.is_growing(),
            "from_ns": self.recent.from().0,
            "to_ns": self.recent.end().0,
            "requests": self.recent.records().count(),
            "all_requests": self.recent.all(),
        }))
    }

    fn read_new(&mut self) -> Result<(), Failure> {
        if self.records.is_growing() && self.read.elapsed() >= READ {
            let Moments { records, recent, .. } = self;
            self.is_newer |= records.read_new(&mut |record| recent.add(record)).map_err(Failure::broke)?;
            self.read = Instant::now();
        }
        Ok(())
    }

    /// The page of the last state.
    pub fn page(&mut self) -> Result<Arc<[u8]>, Failure> {
        if let Some(page) = self.page.as_ref().filter(|page| page.version == self.version) {
            return Ok(page.text.clone());
        }
        let begun = Instant::now();
        let records: Vec<Record> = self.recent.records().copied().collect();
        let is_part = self.records.is_growing() || records.len() as u64 != self.recent.all();
        let text: Arc<[u8]> = page_of(&self.dir, Some(records).filter(|_| is_part))?.into();
        let (made, took) = (Instant::now(), begun.elapsed());
        self.page = Some(MadePage { version: self.version, text: text.clone(), made, took });
        Ok(text)
    }
}
