//! The samples of a run by time, thinned so that memory does not follow the length of the run.

use crate::time_range::TimeRange;
use iosonar_evidence::{CpuState, Layer, Series};
use std::collections::HashMap;

/// Maximum points of a series. Longer runs keep every second sample, every fourth, and so on: growth between two of them stays
/// exact, and a level is one that was sampled.
pub(crate) const MOST: usize = 4096;

/// A value over the time between two samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampledStep {
    /// Time of the previous sample, in nanoseconds of the run's clock.
    pub begin_ns: u64,
    /// Time of the sample.
    pub end_ns: u64,
    /// Rate or level.
    pub value: f64,
}

impl SampledStep {
    /// Its time.
    pub fn range(&self) -> TimeRange {
        TimeRange { from_ns: self.begin_ns, to_ns: self.end_ns }
    }
}

/// The steps of a quantity, by time.
pub type SampledSteps = Vec<SampledStep>;

/// Time and value of the samples of one series.
#[derive(Debug, Clone)]
pub(crate) struct Track {
    points: Vec<(u64, f64)>,
    /// Samples from one point to the next.
    stride: usize,
    /// Samples since the last point, and the latest of them.
    since: usize,
    latest: Option<(u64, f64)>,
}

impl Track {
    pub(crate) fn new() -> Track {
        Track { points: Vec::new(), stride: 1, since: 0, latest: None }
    }

    pub(crate) fn add(&mut self, point: (u64, f64)) {
        (self.since, self.latest) = (self.since + 1, Some(point));
        if self.since < self.stride && !self.points.is_empty() {
            return;
        }
        self.points.push(point);
        (self.since, self.latest) = (0, None);
        if self.points.len() > MOST {
            let mut number = 0;
            // The first one is kept: growth is counted from there.
            self.points.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.stride *= 2;
        }
    }
}

/// The samples of all series.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tracks {
    of: HashMap<Series, Track>,
    /// In order of first appearance.
    pub(crate) devices: Vec<String>,
}

impl Tracks {
    pub(crate) fn add(&mut self, time_ns: u64, series: &Series, value: f64) {
        if let Some(track) = self.of.get_mut(series) {
            return track.add((time_ns, value));
        }
        let mut track = Track::new();
        track.add((time_ns, value));
        self.of.insert(series.clone(), track);
        if let Some(Layer::Device(name)) = series.layer()
            && !self.devices.iter().any(|known| known == name)
        {
            self.devices.push(name.to_string());
        }
    }

    /// The points of a series, always with the last sample.
    pub(crate) fn points(&self, series: &Series) -> Vec<(u64, f64)> {
        let track = self.of.get(series);
        track.into_iter().flat_map(|track| track.points.iter().copied().chain(track.latest)).collect()
    }

    /// Values of several series at the times that all of them have.
    pub(crate) fn together<const N: usize>(&self, series: [Series; N]) -> Vec<(u64, [f64; N])> {
        let tracks = series.map(|series| self.points(&series));
        let at = |track: &Vec<(u64, f64)>, time| {
            track.binary_search_by_key(&time, |point| point.0).ok().map(|place| track[place].1)
        };
        let of_time = |time: u64| {
            let mut values = [0.0; N];
            for (value, track) in values.iter_mut().zip(&tracks) {
                *value = at(track, time)?;
            }
            Some((time, values))
        };
        tracks.first().into_iter().flatten().filter_map(|point| of_time(point.0)).collect()
    }

    /// Applies `rate` to the growth of several counters and the seconds in which they grew.
    pub(crate) fn rates<const N: usize>(
        &self,
        series: [Series; N],
        rate: impl Fn([f64; N], f64) -> Option<f64>,
    ) -> SampledSteps {
        let points = self.together(series);
        let step = |pair: &[(u64, [f64; N])]| {
            let [(begin_ns, before), (end_ns, after)] = pair else { return None };
            let seconds = end_ns.checked_sub(*begin_ns).filter(|ns| *ns > 0)? as f64 / 1e9;
            let growth = std::array::from_fn(|place| (after[place] - before[place]).max(0.0));
            Some(SampledStep { begin_ns: *begin_ns, end_ns: *end_ns, value: rate(growth, seconds)? })
        };
        points.windows(2).filter_map(step).collect()
    }

    /// Share of the time that was spent in any of some states, 0 to 1.
    pub(crate) fn share_of_cpu(&self, states: &[CpuState]) -> SampledSteps {
        const STATES: usize = CpuState::ALL.len();
        let all: [Series; STATES] = std::array::from_fn(|place| Series::Cpu(CpuState::ALL[place]));
        self.rates(all, |growth, _| {
            let sum: f64 = growth.iter().sum();
            let part: f64 = states.iter().map(|state| growth[*state as usize]).sum();
            (sum > 0.0).then(|| part / sum)
        })
    }
}
