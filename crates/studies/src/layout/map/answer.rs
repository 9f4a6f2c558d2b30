//! Maps of files, and the files without one.

use crate::each_file::Success;
use iosonar_archive::TOOL;
use iosonar_layout::{Map, MapsJson};

/// Extent maps of files.
#[derive(Debug)]
pub struct Answer {
    /// The maps, the most fragmented first. Equally fragmented files have the order in which they were found.
    pub maps: Vec<Map>,
    /// Files without a map, and why. Each was reported already.
    pub errors: Vec<(String, String)>,
}

impl Answer {
    /// Whether all files have a map.
    pub fn success(&self) -> Success {
        Success::of(self.maps.len(), self.errors.len())
    }

    /// The answer as JSON.
    pub fn json(&self) -> MapsJson<'_> {
        MapsJson { tool: TOOL, maps: &self.maps, errors: &self.errors }
    }
}
