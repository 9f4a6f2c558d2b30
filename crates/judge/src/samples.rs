//! What the samples of a run amount to: how much each counter grew.

use iosonar_archive::{Archive, ArchiveError};
use iosonar_evidence::{DeviceCounter, Series};
use std::collections::HashMap;

/// First and last sample of each series.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    ends: HashMap<Series, [(u64, f64); 2]>,
    /// The time that they have to cover to say anything: first and last, in nanoseconds of the run's clock.
    needed: Option<(u64, u64)>,
}

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

    /// Lets counters say something only where they were sampled before `first_ns` and after `last_ns`: of a run that was killed the last
    /// sample lacks what came after it.
    #[must_use]
    pub fn covering(self, first_ns: u64, last_ns: u64) -> Samples {
        Samples { needed: Some((first_ns, last_ns)), ..self }
    }

    pub(crate) fn add(&mut self, time_ns: u64, series: &Series, value: f64) {
        match self.ends.get_mut(series) {
            Some([_, last]) => *last = (time_ns, value),
            None => {
                self.ends.insert(series.clone(), [(time_ns, value); 2]);
            }
        }
    }

    /// How much a counter grew from the first sample to the last; none where it was sampled once, not at all, or not over the whole
    /// run.
    pub fn growth(&self, series: &Series) -> Option<f64> {
        let [(begin, first), (end, last)] = *self.ends.get(series)?;
        let is_whole = self.needed.is_none_or(|(from, to)| begin <= from && end >= to);
        (end > begin && is_whole).then(|| (last - first).max(0.0))
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
        assert_eq!(samples.clone().covering(1, 3).growth(&series), Some(75.0));
        assert_eq!(samples.clone().covering(0, 3).growth(&series), None);
        assert_eq!(samples.covering(1, 4).growth(&series), None);
    }
}
