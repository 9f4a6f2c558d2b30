//! Bytes that devices moved over time, for any user.

use crate::time_range::TimeRange;
use crate::tracks::Tracks;
use iosonar_evidence::{DeviceCounter, OwnUse, Series};

/// Bytes of a sector in counters, whatever the device's block size.
const SECTOR: f64 = iosonar_plan::SECTOR as f64;

/// The samples of the sector counters of all devices, and of the bytes that this process caused.
#[derive(Debug, Clone, Default)]
pub struct DeviceTraffic(Tracks);

impl DeviceTraffic {
    /// Adds the next sample of a series, if relevant.
    pub fn add(&mut self, time_ns: u64, series: &Series, value: f64) {
        if let Series::Device { counter: DeviceCounter::ReadSectors | DeviceCounter::WriteSectors, .. } =
            series
        {
            self.0.add(time_ns, series, value);
        }
    }

    /// Bytes that some devices read and wrote between consecutive samples, for any user; empty if one was not sampled.
    pub fn bytes(&self, devices: &[String]) -> Vec<(TimeRange, [f64; 2])> {
        let of = |device: &String| {
            let of = |counter| Series::device(device, counter);
            self.steps([of(DeviceCounter::ReadSectors), of(DeviceCounter::WriteSectors)], SECTOR)
        };
        let mut all = devices.iter().map(of);
        let mut sums = all.next().unwrap_or_default();
        for one in all {
            // Devices are sampled together.
            sums.truncate(one.len());
            sums.iter_mut().zip(one).for_each(|((_, sum), (_, more))| {
                sum[0] += more[0];
                sum[1] += more[1];
            });
        }
        sums
    }

    /// Bytes that this process caused to be read and written between consecutive samples; empty if unknown.
    pub fn own_bytes(&self) -> Vec<(TimeRange, [f64; 2])> {
        self.steps([Series::Own(OwnUse::Read), Series::Own(OwnUse::Written)], 1.0)
    }

    /// Growth of two counters between consecutive samples.
    fn steps(&self, series: [Series; 2], unit: f64) -> Vec<(TimeRange, [f64; 2])> {
        let points = self.0.together(series);
        let step = |pair: &[(u64, [f64; 2])]| {
            let time = TimeRange { from_ns: pair[0].0, to_ns: pair[1].0 };
            (time, std::array::from_fn(|place| (pair[1].1[place] - pair[0].1[place]).max(0.0) * unit))
        };
        points.windows(2).map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_devices_between_samples() {
        let mut traffic = DeviceTraffic::default();
        for (second, read, written) in [(0, 100.0, 0.0), (1, 108.0, 8.0), (3, 108.0, 16.0)] {
            traffic.add(second * 1_000_000_000, &Series::device("vda", DeviceCounter::ReadSectors), read);
            traffic.add(second * 1_000_000_000, &Series::device("vda", DeviceCounter::WriteSectors), written);
        }
        let bytes = |devices: &[&str]| {
            let names: Vec<String> = devices.iter().map(|name| name.to_string()).collect();
            traffic.bytes(&names).iter().map(|step| step.1).collect::<Vec<_>>()
        };
        assert_eq!(bytes(&["vda"]), [[4_096.0, 4_096.0], [0.0, 4_096.0]]);
        assert_eq!(bytes(&["vda", "vda"]), [[8_192.0, 8_192.0], [0.0, 8_192.0]]);
        assert!(bytes(&["vdb"]).is_empty() && traffic.own_bytes().is_empty());
    }
}
