//! The records of an archive, and those that its run still writes.

use crate::{Archive, ArchiveError, LogFollower, Record, RunState};
use std::path::PathBuf;

/// Reads the records of an archive once, and later the new ones while its run is writing them.
#[derive(Debug)]
pub struct Following {
    dir: PathBuf,
    /// `None` once no more records come.
    log: Option<LogFollower>,
}

impl Following {
    /// Reads the records that are there; `follows`: those of a running run are followed.
    ///
    /// # Errors
    /// The records cannot be read.
    pub fn start(
        archive: &Archive,
        follows: bool,
        f: &mut dyn FnMut(&Record),
    ) -> Result<Following, ArchiveError> {
        let is_running = follows && archive.run().state == RunState::Running;
        let mut log = if is_running { archive.follow()? } else { None };
        match &mut log {
            Some(log) => drop(log.read_new(f)?),
            None => drop(archive.for_each_record(f)?),
        }
        Ok(Following { dir: archive.dir().to_path_buf(), log })
    }

    /// Whether more records may come.
    pub fn is_growing(&self) -> bool {
        self.log.is_some()
    }

    /// Reads new records; returns whether there are any, or the run has ended.
    ///
    /// # Errors
    /// The records cannot be read.
    pub fn read_new(&mut self, f: &mut dyn FnMut(&Record)) -> Result<bool, ArchiveError> {
        let Some(log) = &mut self.log else { return Ok(false) };
        // Check the state before reading: records present at the end of the run are all.
        let is_over = Archive::open(&self.dir).is_ok_and(|archive| archive.run().state != RunState::Running);
        let records = log.read_new(f)?;
        if is_over {
            self.log = None;
        }
        Ok(records > 0 || is_over)
    }
}
