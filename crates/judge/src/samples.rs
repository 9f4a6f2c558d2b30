//! Samples of a run: the growth of each counter.

use iosonar_analyze::{DeviceTraffic, During, WithoutCpu};
use iosonar_archive::{Archive, ArchiveError};
use iosonar_evidence::{DeviceCounter, Series};
use std::collections::HashMap;

/// First and last sample of each series, and the interval of its greatest growth.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    series: HashMap<Series, Course>,
    /// Times in which the generator had no CPU.
    pub(crate) without_cpu: WithoutCpu,
    /// Bytes of each device over time.
    devices: DeviceTraffic,
    /// The time that the samples must cover: first and last, in nanoseconds of the run's clock.
    needed: Option<(u64, u64)>,
}

/// State of a series.
#[derive(Debug, Clone, Copy)]
struct Course {
    first: (u64, f64),
    last: (u64, f64),
    /// The interval between consecutive samples with the greatest growth, and its rate per nanosecond. The greatest rate would mean
    /// nothing, as samples may follow each other at once.
    steepest: Option<(During, f64)>,
    /// The growth in that interval.
    most: f64,
}

impl Course {
    fn add(&mut self, time_ns: u64, value: f64) {
        let during = During { from_ns: self.last.0, to_ns: time_ns };
        let growth = value - self.last.1;
        let pace = growth / during.to_ns.saturating_sub(during.from_ns) as f64;
        if pace.is_finite() && growth > self.most {
            (self.steepest, self.most) = (Some((during, pace)), growth);
        }
        self.last = (time_ns, value);
    }

    fn mean_pace(&self) -> f64 {
        (self.last.1 - self.first.1) / self.last.0.saturating_sub(self.first.0) as f64
    }
}

impl Samples {
    /// Reads the samples of an archive once.
    ///
    /// # Errors
    /// Errors of reading the samples.
    pub fn of(archive: &Archive) -> Result<Samples, ArchiveError> {
        let mut samples =
            Samples { without_cpu: WithoutCpu::new(archive.plan().loops()), ..Samples::default() };
        archive.for_each_sample(&mut |time_ns, series, value| samples.add(time_ns, series, value))?;
        Ok(samples)
    }

    /// Restricts growth to counters that were sampled before `first_ns` and after `last_ns`: the last sample of a killed run misses
    /// later growth.
    #[must_use]
    pub fn covering(self, first_ns: u64, last_ns: u64) -> Samples {
        Samples { needed: Some((first_ns, last_ns)), ..self }
    }

    pub(crate) fn add(&mut self, time_ns: u64, series: &Series, value: f64) {
        self.without_cpu.add(time_ns, series, value);
        self.devices.add(time_ns, series, value);
        match self.series.get_mut(series) {
            Some(course) => course.add(time_ns, value),
            None => {
                let only = (time_ns, value);
                self.series
                    .insert(series.clone(), Course { first: only, last: only, steepest: None, most: 0.0 });
            }
        }
    }

    /// Growth of a counter from the first sample to the last; `None` if it was sampled once, not at all, or not over the whole run.
    pub fn growth(&self, series: &Series) -> Option<f64> {
        let Course { first: (begin, first), last: (end, last), .. } = *self.series.get(series)?;
        let is_whole = self.needed.is_none_or(|(from, to)| begin <= from && end >= to);
        (end > begin && is_whole).then(|| (last - first).max(0.0))
    }

    /// Time from the first sample of a counter to the last, in nanoseconds.
    pub(crate) fn length_ns(&self, series: &Series) -> Option<u64> {
        let course = self.series.get(series)?;
        Some(course.last.0.saturating_sub(course.first.0)).filter(|length| *length > 0)
    }

    /// The interval of the greatest growth of a counter; `None` if never twice as fast as over the whole run.
    pub(crate) fn steepest(&self, series: &Series) -> Option<During> {
        let course = self.series.get(series)?;
        let (during, pace) = course.steepest?;
        (pace > 2.0 * course.mean_pace()).then_some(during)
    }

    /// Times in which the generator had no CPU.
    pub fn without_cpu(&self) -> &WithoutCpu {
        &self.without_cpu
    }

    /// Bytes of each device over time.
    pub fn devices(&self) -> &DeviceTraffic {
        &self.devices
    }

    /// Growth of a counter of a device.
    pub fn of_device(&self, name: &str, counter: DeviceCounter) -> Option<f64> {
        self.growth(&Series::device(name, counter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_evidence::OwnUse;

    #[test]
    fn locates_counter_jumps_in_time() {
        let series = Series::Own(OwnUse::Read);
        let steepest = |values: &[f64]| {
            let mut samples = Samples::default();
            (0..).zip(values).for_each(|(second, value)| samples.add(second, &series, *value));
            samples.steepest(&series)
        };
        assert_eq!(steepest(&[0.0, 1.0, 2.0, 12.0, 13.0]), Some(During { from_ns: 2, to_ns: 3 }));
        assert_eq!(steepest(&[0.0, 1.0, 2.0, 3.0]), None);
        assert_eq!(steepest(&[0.0]), None);
        // A sample that follows another one at once.
        let mut samples = Samples::default();
        for (time_ns, value) in [(0, 0.0), (10, 1.0), (11, 3.0), (20, 30.0), (30, 31.0), (40, 32.0)] {
            samples.add(time_ns, &series, value);
        }
        assert_eq!(samples.steepest(&series), Some(During { from_ns: 11, to_ns: 20 }));
    }

    #[test]
    fn growth_spans_first_to_last_sample() {
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
