//! Groups of the machine's curves, with titles, names and units: for the picture and for the page.

use crate::units;
use iosonar_analyze::{DeviceSteps, MachineSeries, SampledStep, SampledSteps};

/// Maximum devices with curves; the others are in the data.
pub(crate) const MOST_DEVICES: usize = 4;

/// Unit of the values of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaneUnit {
    Percent,
    /// A mean number of requests.
    Requests,
    Milliseconds,
    /// Merges: few of them, so that fractions count.
    PerSecond,
    /// Whole events per second.
    Events,
    Bytes,
}

impl LaneUnit {
    /// Suffix of a number. The title of the lane has the unit, too.
    pub(crate) fn name(self) -> &'static str {
        match self {
            LaneUnit::Percent => "%",
            LaneUnit::Requests => "",
            LaneUnit::Milliseconds => "ms",
            LaneUnit::PerSecond | LaneUnit::Events => "/s",
            LaneUnit::Bytes => "MB",
        }
    }

    /// A sampled value in this unit.
    pub(crate) fn scaled(self, value: f64) -> f64 {
        if self == LaneUnit::Bytes { value / 1e6 } else { value }
    }

    /// A sampled value without its unit.
    pub(crate) fn number(self, value: f64) -> String {
        match self {
            LaneUnit::Events => units::grouped(value.round() as u64),
            _ => units::number(self.scaled(value)),
        }
    }
}

/// A curve and its name.
#[derive(Debug, Clone)]
pub(crate) struct LaneCurve<'a> {
    pub(crate) name: &'a str,
    pub(crate) steps: &'a SampledSteps,
}

impl LaneCurve<'_> {
    /// Whether it has a value above zero.
    fn is_seen(&self) -> bool {
        self.steps.iter().any(|step| step.value > 0.0)
    }
}

/// Curves with one scale.
#[derive(Debug, Clone)]
pub(crate) struct Lane<'a> {
    /// A word for links and tests.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) unit: LaneUnit,
    /// A full scale, if there is one.
    pub(crate) most: Option<f64>,
    /// Each curve lies on those before it.
    pub(crate) is_stacked: bool,
    /// A curve for each device.
    pub(crate) is_by_device: bool,
    pub(crate) curves: Vec<LaneCurve<'a>>,
}

/// The lanes with a value above zero; those of devices for `devices`.
pub(crate) fn lanes<'a>(machine: &'a MachineSeries, devices: &[&'a DeviceSteps]) -> Vec<Lane<'a>> {
    let mut all = by_device(devices);
    all.extend(of_the_whole(machine));
    all.retain(|lane| lane.curves.iter().any(LaneCurve::is_seen));
    all
}

fn by_device<'a>(devices: &[&'a DeviceSteps]) -> Vec<Lane<'a>> {
    let lane = |id, title, unit, most, steps: fn(&DeviceSteps) -> &SampledSteps| Lane {
        id,
        title,
        unit,
        most,
        is_stacked: false,
        is_by_device: true,
        curves: devices.iter().map(|device| LaneCurve { name: &device.name, steps: steps(device) }).collect(),
    };
    vec![
        lane("utilization", "Utilization, %", LaneUnit::Percent, Some(100.0), |device| {
            &device.utilization_percent
        }),
        lane("queue", "Requests in device and queue", LaneUnit::Requests, None, |device| &device.mean_queue),
        lane("await", "Time per request, ms", LaneUnit::Milliseconds, None, |device| &device.await_ms),
        lane("merges", "Merges per second", LaneUnit::PerSecond, None, |device| &device.merges_per_second),
    ]
}

fn of_the_whole(machine: &MachineSeries) -> [Lane<'_>; 3] {
    let cpu = &machine.cpu_percent;
    let curve = |(name, steps)| LaneCurve { name, steps };
    let lane = |id, title, unit, curves| Lane {
        id,
        title,
        unit,
        most: None,
        is_stacked: false,
        is_by_device: false,
        curves,
    };
    // From below to above; the rest is idle time.
    let cpu = [
        ("programs", &cpu.programs),
        ("kernel", &cpu.kernel),
        ("soft interrupts", &cpu.soft_interrupts),
        ("idle, I/O waited", &cpu.io_wait),
        ("taken by the host", &cpu.steal),
    ];
    let memory = [("dirty", &machine.dirty_bytes), ("being written", &machine.writeback_bytes)];
    let events = [
        ("interrupts", &machine.interrupts_per_second),
        ("task switches", &machine.context_switches_per_second),
    ];
    [
        Lane {
            most: Some(100.0),
            is_stacked: true,
            ..lane("cpu", "CPUs, %", LaneUnit::Percent, cpu.map(curve).into())
        },
        lane("memory", "Page cache to write, MB", LaneUnit::Bytes, memory.map(curve).into()),
        lane("events", "Events per second", LaneUnit::Events, events.map(curve).into()),
    ]
}

/// The devices that were busy for the largest share of the time, in the order in which they were sampled.
pub(crate) fn busiest(machine: &MachineSeries) -> Vec<&DeviceSteps> {
    let busy =
        |device: &DeviceSteps| mean_and_most(&device.utilization_percent).map_or(0.0, |(mean, _)| mean);
    let mut places: Vec<usize> = (0..machine.devices.len()).collect();
    places.sort_by(|a, b| busy(&machine.devices[*b]).total_cmp(&busy(&machine.devices[*a])));
    places.truncate(MOST_DEVICES);
    places.sort_unstable();
    places.into_iter().map(|place| &machine.devices[place]).collect()
}

/// Mean over the time that the steps cover, and the greatest step; `None` if they cover no time.
pub(crate) fn mean_and_most(steps: &[SampledStep]) -> Option<(f64, f64)> {
    let length = |step: &SampledStep| (step.end_ns - step.begin_ns) as f64;
    let all: f64 = steps.iter().map(length).sum();
    let sum: f64 = steps.iter().map(|step| step.value * length(step)).sum();
    let most = steps.iter().map(|step| step.value).fold(0.0, f64::max);
    (all > 0.0).then(|| (sum / all, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(values: &[f64]) -> SampledSteps {
        let step = |(place, value): (usize, &f64)| {
            let begin_ns = place as u64 * 10;
            SampledStep { begin_ns, end_ns: begin_ns + 10, value: *value }
        };
        values.iter().enumerate().map(step).collect()
    }

    fn device(name: &str, utilization: &[f64]) -> DeviceSteps {
        DeviceSteps { name: name.into(), utilization_percent: steps(utilization), ..DeviceSteps::default() }
    }

    #[test]
    fn omits_lanes_that_are_all_zero() {
        let mut machine = MachineSeries { devices: vec![device("sda", &[0.0, 50.0])], ..Default::default() };
        machine.cpu_percent.programs = steps(&[0.0, 0.0]);
        machine.dirty_bytes = steps(&[0.0, 2e6]);
        let devices: Vec<_> = machine.devices.iter().collect();
        let ids: Vec<_> = lanes(&machine, &devices).iter().map(|lane| lane.id).collect();
        assert_eq!(ids, ["utilization", "memory"]);
        assert!(lanes(&MachineSeries::default(), &[]).is_empty());
    }

    #[test]
    fn shows_busiest_devices_in_sampling_order() {
        let devices = [("a", 5.0), ("b", 90.0), ("c", 1.0), ("d", 20.0), ("e", 30.0), ("f", 2.0)];
        let devices = devices.map(|(name, share)| device(name, &[share, share])).into();
        let machine = MachineSeries { devices, ..Default::default() };
        let names: Vec<_> = busiest(&machine).iter().map(|device| device.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "d", "e"]);
    }

    #[test]
    fn means_are_time_weighted() {
        let mut uneven = steps(&[10.0, 40.0]);
        uneven[1].end_ns = 40;
        assert_eq!(mean_and_most(&uneven), Some((32.5, 40.0)));
        assert_eq!(mean_and_most(&[]), None);
    }

    #[test]
    fn values_have_the_unit_of_their_lane() {
        assert_eq!((LaneUnit::Bytes.scaled(2.5e6), LaneUnit::Bytes.number(2.5e6)), (2.5, "2.50".into()));
        assert_eq!(LaneUnit::Events.number(12_345.6), "12 346");
        assert_eq!(LaneUnit::Percent.number(33.333), "33.3");
    }
}
