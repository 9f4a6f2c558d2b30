//! Environment of a run: host, kernel and devices, and the kernel's counters of the devices meanwhile.

use iosonar_archive::{Archive, ArchiveError};
use iosonar_evidence::{DeviceCounter, Layer, Series, TargetFacts, WrittenBack};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Host, kernel and devices of a run, from its archive.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Machine {
    /// The host's name.
    pub host: Option<String>,
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// Block devices of the targets and below them, in the order of the series.
    pub devices: Vec<DeviceFacts>,
    /// Data that waited for writeback, and was written back before the run; absent if it was little.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_back: Option<WrittenBack>,
}

/// A block device, and the kernel's counters of it from the first sample of the run to the last, for any user.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// Its name: `nvme0n1`.
    pub name: String,
    /// Its model, if the driver reports it.
    pub model: Option<String>,
    /// Its size.
    pub size_bytes: Option<u64>,
    /// Time between the two samples.
    pub sampled_ns: u64,
    /// Reads that the driver completed.
    pub reads: u64,
    /// Writes that the driver completed.
    pub writes: u64,
    /// Reads that were merged into a waiting one.
    pub merged_reads: u64,
    /// Writes that were merged into a waiting one.
    pub merged_writes: u64,
    /// Share of the time in which the device had requests; %util of `iostat`. A device that processes several at a time may
    /// have spare capacity at 100 %.
    pub utilization_percent: Option<f64>,
    /// Mean number of requests in the device and its queue; `aqu-sz` of `iostat`.
    pub mean_queue: Option<f64>,
}

/// First and last sample of each series.
#[derive(Debug, Default)]
struct Ends {
    /// Time and value.
    of: HashMap<Series, [(u64, f64); 2]>,
    /// In the order in which they were met.
    devices: Vec<String>,
}

impl Ends {
    fn add(&mut self, time_ns: u64, series: &Series, value: f64) {
        if let Some([_, last]) = self.of.get_mut(series) {
            *last = (time_ns, value);
            return;
        }
        self.of.insert(series.clone(), [(time_ns, value); 2]);
        if let Some(Layer::Device(name)) = series.layer()
            && !self.devices.iter().any(|known| known == name)
        {
            self.devices.push(name.to_string());
        }
    }

    /// Growth of a counter, and its time.
    fn growth(&self, series: &Series) -> Option<(f64, u64)> {
        let [(begin, first), (end, last)] = *self.of.get(series)?;
        Some(((last - first).max(0.0), end.saturating_sub(begin)))
    }
}

impl Machine {
    /// Reads the facts of an archive.
    ///
    /// # Errors
    /// Errors of reading the samples.
    pub fn of(archive: &Archive) -> Result<Machine, ArchiveError> {
        let environment = archive.environment();
        let mut ends = Ends::default();
        archive.for_each_sample(&mut |time_ns, series, value| ends.add(time_ns, series, value))?;
        let devices = ends.devices.iter().map(|name| device(name, &ends, &environment.targets));
        let (host, kernel) = (environment.hostname.known(), environment.kernel.release.known());
        Ok(Machine {
            host: host.cloned(),
            kernel: kernel.cloned(),
            devices: devices.collect(),
            written_back: environment.written_back,
        })
    }
}

fn device(name: &str, ends: &Ends, targets: &[TargetFacts]) -> DeviceFacts {
    let known = targets.iter().flat_map(TargetFacts::devices).find(|device| device.name == name);
    let growth = |counter| ends.growth(&Series::device(name, counter));
    let count = |counter| growth(counter).map_or(0, |(growth, _)| growth as u64);
    // The kernel counts milliseconds.
    let over_time = |counter, unit: f64| {
        let (growth, time) = growth(counter).filter(|(_, time)| *time > 0)?;
        Some(growth * 1e6 / time as f64 * unit)
    };
    DeviceFacts {
        name: name.to_string(),
        model: known.and_then(|device| device.model.known()).map(|model| model.trim().to_string()),
        size_bytes: known.map(|device| device.size),
        sampled_ns: growth(DeviceCounter::IoTicks).map_or(0, |(_, time)| time),
        reads: count(DeviceCounter::ReadIos),
        writes: count(DeviceCounter::WriteIos),
        merged_reads: count(DeviceCounter::ReadMerges),
        merged_writes: count(DeviceCounter::WriteMerges),
        // Whole milliseconds may be a little more than the time between the samples.
        utilization_percent: over_time(DeviceCounter::IoTicks, 100.0).map(|percent| percent.min(100.0)),
        mean_queue: over_time(DeviceCounter::TimeInQueue, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rates_are_differences_over_the_time_between_samples() {
        let mut ends = Ends::default();
        for (time_s, ticks, queue) in [(1, 500.0, 9_000.0), (2, 700.0, 9_100.0), (5, 2_500.0, 17_000.0)] {
            let mut add = |counter, value| {
                ends.add(time_s * 1_000_000_000, &Series::device("sda", counter), value);
            };
            add(DeviceCounter::IoTicks, ticks);
            add(DeviceCounter::TimeInQueue, queue);
            add(DeviceCounter::ReadMerges, time_s as f64);
        }
        assert_eq!(ends.devices, ["sda"]);
        let below = json!({"number": "8:0", "name": "sda", "size": 512, "model": "Disk ", "read_only": false, "driver": "sd",
                           "is_virtual": false, "diskseq": 1, "serial": "x", "queue": {}, "role": "disk"});
        let role = json!({"partition": {"index": 1, "start": 64, "disk": below}});
        let mut kind = below.clone();
        (kind["name"], kind["number"], kind["role"]) = ("sda1".into(), "8:1".into(), role);
        let target = json!({"path": "a", "resolved": "a", "size": 512, "unwritable": null, "unreadable": null,
                            "logical_block_size": {"bytes": 512, "source": "queue"}, "kind": {"block-device": kind}});
        let target: TargetFacts = serde_json::from_value(target).unwrap();
        let facts = device("sda", &ends, &[target]);
        assert_eq!((facts.model.as_deref(), facts.size_bytes), (Some("Disk"), Some(512)));
        assert_eq!((facts.utilization_percent, facts.mean_queue), (Some(50.0), Some(2.0)));
        assert_eq!((facts.merged_reads, facts.reads, facts.sampled_ns), (4, 0, 4_000_000_000));
        for (time_ns, ticks) in [(0, 10.0), (1_900_000, 14.0)] {
            ends.add(time_ns, &Series::device("sdc", DeviceCounter::IoTicks), ticks);
        }
        assert_eq!(device("sdc", &ends, &[]).utilization_percent, Some(100.0));
        let once = device("sdb", &ends, &[]);
        assert_eq!((once.model, once.utilization_percent, once.mean_queue), (None, None, None));
    }
}
