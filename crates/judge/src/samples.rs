//! What the samples of a run amount to: how much each counter grew.

use iosonar_archive::{Archive, ArchiveError};
use iosonar_evidence::{DeviceCounter, Series};
use std::collections::HashMap;

/// First and last sample of each series.
#[derive(Debug, Clone, Default)]
pub struct Samples(HashMap<Series, [(u64, f64); 2]>);

impl Samples {
    /// Reads the samples of an archive once.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn of(archive: &Archive) -> Result<Samples, ArchiveError> {
        let mut samples = Samples::default();
        archive.for_each_sample(&mut |time_ns, series, value| samples.add(time_ns, series, value))?;
        Ok(samples)
    }

    pub(crate) fn add(&mut self, time_ns: u64, series: &Series, value: f64) {
        match self.0.get_mut(series) {
            Some([_, last]) => *last = (time_ns, value),
            None => {
                self.0.insert(series.clone(), [(time_ns, value); 2]);
            }
        }
    }

    /// How much a counter grew from the first sample to the last; none where it was sampled once, or not at all.
    pub fn growth(&self, series: &Series) -> Option<f64> {
        let [(begin, first), (end, last)] = *self.0.get(series)?;
        (end > begin).then(|| (last - first).max(0.0))
    }

    /// The same of a device.
    pub fn of_device(&self, name: &str, counter: DeviceCounter) -> Option<f64> {
        self.growth(&Series::device(name, counter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_evidence::OwnUse;

    #[test]
    fn growth_is_from_the_first_sample_to_the_last() {
        let mut samples = Samples::default();
        let series = Series::Own(OwnUse::Read);
        samples.add(1, &series, 100.0);
        assert_eq!(samples.growth(&series), None);
        samples.add(2, &series, 150.0);
        samples.add(3, &series, 175.0);
        assert_eq!(samples.growth(&series), Some(75.0));
        assert_eq!(samples.of_device("sda", DeviceCounter::ReadIos), None);
    }
}
