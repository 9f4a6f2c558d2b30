//! Reads of the devices during a run: number of requests, and their sizes.

use iosonar_archive::{Archive, ArchiveError};
use iosonar_evidence::{DeviceCounter, Series};
use std::collections::BTreeMap;

/// Bytes of a sector in counters, whatever the device's block size.
const SECTOR: f64 = iosonar_plan::SECTOR as f64;

/// Reads that ended in the block layer, from any issuer.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DeviceReads {
    /// Requests, after merging.
    pub requests: f64,
    /// Their bytes.
    pub bytes: f64,
}

impl DeviceReads {
    /// Mean size of a request; `None` without any.
    pub fn mean_bytes(self) -> Option<f64> {
        (self.requests > 0.0).then(|| self.bytes / self.requests)
    }
}

/// Reads of each device by its name, from the first sample of an archive, which is before the first request, to the last one, which
/// is after the last request.
///
/// # Errors
/// Errors of reading the samples.
pub fn device_reads(archive: &Archive) -> Result<BTreeMap<String, DeviceReads>, ArchiveError> {
    let mut ends = Ends::default();
    archive.for_each_sample(&mut |_, series, value| ends.add(series, value))?;
    Ok(ends.reads())
}

/// First and last value of requests and of sectors, by device.
#[derive(Default)]
struct Ends(BTreeMap<String, [Option<(f64, f64)>; 2]>);

impl Ends {
    fn add(&mut self, series: &Series, value: f64) {
        let Series::Device { name, counter } = series else { return };
        let place = match counter {
            DeviceCounter::ReadIos => 0,
            DeviceCounter::ReadSectors => 1,
            _ => return,
        };
        if !self.0.contains_key(name) {
            self.0.insert(name.clone(), [None; 2]);
        }
        let Some(ends) = self.0.get_mut(name) else { return };
        ends[place] = Some((ends[place].map_or(value, |(first, _)| first), value));
    }

    fn reads(self) -> BTreeMap<String, DeviceReads> {
        let growth = |(first, last): (f64, f64)| (last - first).max(0.0);
        let reads = |[requests, sectors]: [Option<(f64, f64)>; 2]| DeviceReads {
            requests: requests.map_or(0.0, growth),
            bytes: sectors.map_or(0.0, growth) * SECTOR,
        };
        self.0.into_iter().map(|(name, ends)| (name, reads(ends))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_reads_span_first_to_last_sample() {
        let mut ends = Ends::default();
        for (requests, sectors) in [(1000.0, 50_000.0), (1003.0, 50_024.0), (1010.0, 50_080.0)] {
            ends.add(&Series::device("loop0", DeviceCounter::ReadIos), requests);
            ends.add(&Series::device("loop0", DeviceCounter::ReadSectors), sectors);
            ends.add(&Series::device("loop0", DeviceCounter::WriteIos), requests * 7.0);
            ends.add(&Series::device("loop1", DeviceCounter::ReadIos), 5.0);
        }
        let reads = ends.reads();
        assert_eq!(reads["loop0"], DeviceReads { requests: 10.0, bytes: 40_960.0 });
        assert_eq!((reads["loop0"].mean_bytes(), reads["loop1"].mean_bytes()), (Some(4096.0), None));
    }
}
