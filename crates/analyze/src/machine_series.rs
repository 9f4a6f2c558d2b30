//! Activity of the machine during a run: rates between the samples of its counters, and levels at them.

use crate::tracks::{SampledStep, SampledSteps, Tracks};
use iosonar_archive::{Archive, ArchiveError};
use iosonar_evidence::{CpuState, DeviceCounter, KernelEvents, MemoryUse, Series};

/// Kernel counters of a block device, for any user. The quantities are those of `iostat -x` (sysstat).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeviceSteps {
    /// Its name: `nvme0n1`.
    pub name: String,
    /// Share of the time in which it had requests (%util), 0 to 100.
    pub utilization_percent: SampledSteps,
    /// Mean number of requests in the device and its queue (aqu-sz).
    pub mean_queue: SampledSteps,
    /// Mean time of the requests that ended, in milliseconds (await); no step where none ended.
    pub await_ms: SampledSteps,
    /// Requests per second that were joined with one that waited already (rrqm/s + wrqm/s).
    pub merges_per_second: SampledSteps,
}

/// Shares of the time of all CPUs together, 0 to 100. The rest is idle time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CpuSteps {
    /// Programs, those with a nice value too.
    pub programs: SampledSteps,
    /// The kernel, and interrupts.
    pub kernel: SampledSteps,
    /// Soft interrupts.
    pub soft_interrupts: SampledSteps,
    /// Nothing to do, while a task waited for I/O.
    pub io_wait: SampledSteps,
    /// Time that the hypervisor gave to others.
    pub steal: SampledSteps,
}

/// The samples of a run as curves. Series without samples are empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MachineSeries {
    /// Devices of the targets and below them.
    pub devices: Vec<DeviceSteps>,
    /// How the CPUs spent their time.
    pub cpu_percent: CpuSteps,
    /// Page cache that waits to be written, in bytes.
    pub dirty_bytes: SampledSteps,
    /// Page cache that is being written, in bytes.
    pub writeback_bytes: SampledSteps,
    /// Interrupts of devices per second, all CPUs together.
    pub interrupts_per_second: SampledSteps,
    /// Switches from one task to another per second, all CPUs together.
    pub context_switches_per_second: SampledSteps,
}

impl Tracks {
    /// A level: between two samples it is that of the latter.
    fn levels(&self, series: Series) -> SampledSteps {
        let step =
            |pair: &[(u64, f64)]| SampledStep { begin_ns: pair[0].0, end_ns: pair[1].0, value: pair[1].1 };
        self.points(&series).windows(2).map(step).collect()
    }

    fn device(&self, name: &str) -> DeviceSteps {
        let series = |counter| Series::device(name, counter);
        let of_time = |[ms]: [f64; 1], seconds: f64| Some(ms / seconds / 1e3);
        let ended = [
            DeviceCounter::ReadIos,
            DeviceCounter::WriteIos,
            DeviceCounter::ReadTicks,
            DeviceCounter::WriteTicks,
        ];
        let merges = [DeviceCounter::ReadMerges, DeviceCounter::WriteMerges];
        DeviceSteps {
            name: name.to_string(),
            utilization_percent: self.rates([series(DeviceCounter::IoTicks)], |growth, seconds| {
                // The kernel counts whole milliseconds, so that it may be a little more.
                of_time(growth, seconds).map(|share| (share * 100.0).min(100.0))
            }),
            mean_queue: self.rates([series(DeviceCounter::TimeInQueue)], of_time),
            await_ms: self.rates(ended.map(series), |[reads, writes, read_ms, write_ms], _| {
                let requests = reads + writes;
                (requests > 0.0).then(|| (read_ms + write_ms) / requests)
            }),
            merges_per_second: self
                .rates(merges.map(series), |[reads, writes], seconds| Some((reads + writes) / seconds)),
        }
    }

    /// The share of the CPUs' time in any of some states, in percent.
    fn cpu(&self, states: &[CpuState]) -> SampledSteps {
        let mut steps = self.share_of_cpu(states);
        steps.iter_mut().for_each(|step| step.value *= 100.0);
        steps
    }

    fn per_second(&self, events: KernelEvents) -> SampledSteps {
        self.rates([Series::Kernel(events)], |[growth], seconds| Some(growth / seconds))
    }
}

impl MachineSeries {
    /// Reads the samples of an archive.
    ///
    /// # Errors
    /// Errors of reading the samples.
    pub fn of(archive: &Archive) -> Result<MachineSeries, ArchiveError> {
        let mut tracks = Tracks::default();
        archive.for_each_sample(&mut |time_ns, series, value| tracks.add(time_ns, series, value))?;
        Ok(MachineSeries::from_tracks(tracks))
    }

    fn from_tracks(tracks: Tracks) -> MachineSeries {
        MachineSeries {
            devices: tracks.devices.iter().map(|name| tracks.device(name)).collect(),
            cpu_percent: CpuSteps {
                programs: tracks.cpu(&[CpuState::User, CpuState::Nice]),
                kernel: tracks.cpu(&[CpuState::System, CpuState::Irq]),
                soft_interrupts: tracks.cpu(&[CpuState::SoftIrq]),
                io_wait: tracks.cpu(&[CpuState::IoWait]),
                steal: tracks.cpu(&[CpuState::Steal]),
            },
            dirty_bytes: tracks.levels(Series::Memory(MemoryUse::Dirty)),
            writeback_bytes: tracks.levels(Series::Memory(MemoryUse::Writeback)),
            interrupts_per_second: tracks.per_second(KernelEvents::Interrupts),
            context_switches_per_second: tracks.per_second(KernelEvents::ContextSwitches),
        }
    }

    /// Every curve: its name with the unit, the device, and its steps.
    pub fn curves(&self) -> Vec<(&'static str, &str, &SampledSteps)> {
        let mut curves = Vec::new();
        for device in &self.devices {
            let name = device.name.as_str();
            curves.extend([
                ("utilization_percent", name, &device.utilization_percent),
                ("mean_queue", name, &device.mean_queue),
                ("await_ms", name, &device.await_ms),
                ("merges_per_second", name, &device.merges_per_second),
            ]);
        }
        let cpu = &self.cpu_percent;
        curves.extend([
            ("cpu_percent", "programs", &cpu.programs),
            ("cpu_percent", "kernel", &cpu.kernel),
            ("cpu_percent", "soft_interrupts", &cpu.soft_interrupts),
            ("cpu_percent", "io_wait", &cpu.io_wait),
            ("cpu_percent", "steal", &cpu.steal),
            ("bytes", "dirty", &self.dirty_bytes),
            ("bytes", "writeback", &self.writeback_bytes),
            ("per_second", "interrupts", &self.interrupts_per_second),
            ("per_second", "context_switches", &self.context_switches_per_second),
        ]);
        curves
    }

    /// Whether there are fewer than two samples.
    pub fn is_empty(&self) -> bool {
        self.cpu_percent.programs.is_empty()
            && self.devices.iter().all(|device| device.utilization_percent.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracks::MOST;

    const SECOND: u64 = 1_000_000_000;

    fn values(steps: &[SampledStep]) -> Vec<f64> {
        steps.iter().map(|step| step.value).collect()
    }

    #[test]
    fn rates_match_iostat() {
        let mut tracks = Tracks::default();
        let samples = [
            (0, [0.0; 7]),
            (1, [100.0, 0.0, 50.0, 0.0, 500.0, 2_000.0, 8.0]),
            (3, [100.0, 100.0, 50.0, 900.0, 2_500.0, 2_000.0, 8.0]),
        ];
        let counters = [
            DeviceCounter::ReadIos,
            DeviceCounter::WriteIos,
            DeviceCounter::ReadTicks,
            DeviceCounter::WriteTicks,
            DeviceCounter::IoTicks,
            DeviceCounter::TimeInQueue,
            DeviceCounter::ReadMerges,
        ];
        for (second, numbers) in samples {
            for (counter, value) in counters.iter().zip(numbers) {
                tracks.add(second * SECOND, &Series::device("sda", *counter), value);
            }
            tracks.add(second * SECOND, &Series::device("sda", DeviceCounter::WriteMerges), 0.0);
            tracks.add(second * SECOND, &Series::Memory(MemoryUse::Dirty), second as f64);
            tracks.add(second * SECOND, &Series::Kernel(KernelEvents::Interrupts), second as f64 * 10.0);
        }
        let series = MachineSeries::from_tracks(tracks);
        let device = &series.devices[0];
        assert_eq!(values(&device.utilization_percent), [50.0, 100.0]);
        assert_eq!(values(&device.mean_queue), [2.0, 0.0]);
        assert_eq!(values(&device.await_ms), [0.5, 9.0]);
        assert_eq!(values(&device.merges_per_second), [8.0, 0.0]);
        assert_eq!(values(&series.dirty_bytes), [1.0, 3.0]);
        assert_eq!(values(&series.interrupts_per_second), [10.0, 10.0]);
        assert_eq!((device.await_ms[1].begin_ns, device.await_ms[1].end_ns), (SECOND, 3 * SECOND));
    }

    #[test]
    fn cpu_shares_add_up() {
        let mut tracks = Tracks::default();
        for second in 0..3 {
            for (place, state) in CpuState::ALL.iter().enumerate() {
                tracks.add(second * SECOND, &Series::Cpu(*state), (second * (place as u64 + 1)) as f64);
            }
        }
        let series = MachineSeries::from_tracks(tracks);
        let cpu = &series.cpu_percent;
        let all = [&cpu.programs, &cpu.kernel, &cpu.soft_interrupts, &cpu.io_wait, &cpu.steal];
        let idle = 4.0 / 36.0 * 100.0;
        let sum: f64 = all.iter().map(|steps| steps[1].value).sum();
        assert!((sum + idle - 100.0).abs() < 1e-9 && !series.is_empty(), "{series:?}");
        assert!(MachineSeries::default().is_empty());
    }

    /// The memory is bounded, the first and the last sample are kept, and no growth of a counter is lost.
    #[test]
    fn long_runs_are_downsampled_without_losing_growth() {
        for samples in [1, 2, 4096, 4097, 50_001] {
            let mut tracks = Tracks::default();
            for number in 0..samples {
                tracks.add(
                    number * SECOND,
                    &Series::Kernel(KernelEvents::Interrupts),
                    (number * number) as f64,
                );
            }
            let points = tracks.points(&Series::Kernel(KernelEvents::Interrupts));
            assert!(points.len() <= MOST + 1 && points.len() as u64 >= samples.min(2048), "{samples}");
            assert_eq!((points[0].0, points[points.len() - 1].0), (0, (samples - 1) * SECOND), "{samples}");
            let steps = tracks.per_second(KernelEvents::Interrupts);
            let grown: f64 =
                steps.iter().map(|s| s.value * (s.end_ns - s.begin_ns) as f64 / SECOND as f64).sum();
            let all = ((samples - 1) * (samples - 1)) as f64;
            assert!((grown - all).abs() <= all * 1e-9, "{samples}: {grown} of {all}");
        }
    }
}
