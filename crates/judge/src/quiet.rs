//! Activity on the devices while nothing is measured.

use crate::thresholds::{QUIET_BUSY, QUIET_REQUESTS};
use iosonar_evidence::{DeviceCounter, Series};

/// Use of a device by others.
#[derive(Debug, Clone, PartialEq)]
pub struct OthersUse {
    /// The device.
    pub device: String,
    /// Requests of all kinds, per second.
    pub requests_per_second: f64,
    /// Share of the time in which it had requests.
    pub busy: f64,
}

impl OthersUse {
    /// Whether it would disturb a measurement.
    pub fn disturbs(&self) -> bool {
        self.requests_per_second > QUIET_REQUESTS || self.busy > QUIET_BUSY
    }
}

/// Compares two readings of the counters of all devices, `seconds` apart.
pub fn use_by_others(first: &[(Series, f64)], last: &[(Series, f64)], seconds: f64) -> Vec<OthersUse> {
    let grown = |device: &str, counter| {
        let series = Series::device(device, counter);
        let value = |values: &[(Series, f64)]| values.iter().find(|(one, _)| *one == series).map(|(_, v)| *v);
        Some((value(last)? - value(first)?).max(0.0))
    };
    let devices = first.iter().filter_map(|(series, _)| match series {
        Series::Device { name, counter: DeviceCounter::ReadIos } => Some(name),
        _ => None,
    });
    devices
        .filter_map(|device| {
            let ios = [DeviceCounter::ReadIos, DeviceCounter::WriteIos];
            let requests: f64 = ios.into_iter().map(|counter| grown(device, counter)).sum::<Option<f64>>()?;
            // Not all kernels count discards and flushes.
            let more = [DeviceCounter::DiscardIos, DeviceCounter::FlushIos];
            let more: f64 = more.into_iter().filter_map(|counter| grown(device, counter)).sum();
            let busy_ms = grown(device, DeviceCounter::IoTicks)?;
            Some(OthersUse {
                device: device.clone(),
                requests_per_second: (requests + more) / seconds,
                busy: (busy_ms / 1000.0 / seconds).min(1.0),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(reads: f64, writes: f64, busy_ms: f64) -> Vec<(Series, f64)> {
        let counters = [
            (DeviceCounter::ReadIos, reads),
            (DeviceCounter::WriteIos, writes),
            (DeviceCounter::IoTicks, busy_ms),
        ];
        counters.into_iter().map(|(counter, value)| (Series::device("sda", counter), value)).collect()
    }

    #[test]
    fn device_used_by_others_is_not_idle() {
        // A file system that initialises itself, from the specification: 124 writes a second without any other activity.
        let busy = &use_by_others(&look(10.0, 5.0, 100.0), &look(10.0, 253.0, 130.0), 2.0)[0];
        assert_eq!((busy.requests_per_second, busy.busy, busy.disturbs()), (124.0, 0.015, true));
        let quiet = &use_by_others(&look(10.0, 5.0, 100.0), &look(11.0, 8.0, 101.0), 1.0)[0];
        assert_eq!((quiet.requests_per_second, quiet.disturbs()), (4.0, false));
    }

    #[test]
    fn skips_devices_without_counters() {
        assert_eq!(use_by_others(&[], &[], 1.0), []);
    }
}
