//! Samples of the machine, for the strips of the page and for its table.

use super::meta::{PageCurve, PageLane, PageMachine};
use crate::machine_lanes::{self, Lane, LaneCurve};
use iosonar_analyze::MachineSeries;
use std::collections::BTreeSet;

/// The lanes with a value above zero; `None` without any.
pub(super) fn of(machine: &MachineSeries) -> Option<PageMachine> {
    let lanes = machine_lanes::lanes(machine, &machine_lanes::busiest(machine));
    let steps = lanes.iter().flat_map(|lane| &lane.curves).flat_map(|curve| curve.steps);
    let times: BTreeSet<u64> = steps.flat_map(|step| [step.begin_ns, step.end_ns]).collect();
    let times_ns: Vec<u64> = times.into_iter().collect();
    (!lanes.is_empty()).then(|| PageMachine {
        lanes: lanes.iter().map(|lane| page_lane(lane, &times_ns)).collect(),
        times_ns,
        devices: machine.devices.len() as u32,
    })
}

fn page_lane(lane: &Lane<'_>, times_ns: &[u64]) -> PageLane {
    let curve = |curve: &LaneCurve<'_>| PageCurve {
        name: curve.name.to_string(),
        values: values(lane, curve, times_ns),
    };
    PageLane {
        id: lane.id.into(),
        title: lane.title.into(),
        unit: lane.unit.name().into(),
        most: lane.most,
        is_stacked: lane.is_stacked,
        is_by_device: lane.is_by_device,
        curves: lane.curves.iter().map(curve).collect(),
    }
}

/// The value of each interval between two times.
fn values(lane: &Lane<'_>, curve: &LaneCurve<'_>, times_ns: &[u64]) -> Vec<Option<f64>> {
    let mut values = vec![None; times_ns.len() - 1];
    let place = |ns| times_ns.partition_point(|time| *time < ns);
    for step in curve.steps {
        values[place(step.begin_ns)..place(step.end_ns)].fill(Some(rounded(lane.unit.scaled(step.value))));
    }
    values
}

/// Six significant digits: three are shown.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Lane, curve, mean over time and greatest step of the whole run, for a table; all devices are in it.
pub(super) fn rows(machine: &MachineSeries) -> Vec<[String; 4]> {
    let devices: Vec<_> = machine.devices.iter().collect();
    let lanes = machine_lanes::lanes(machine, &devices);
    lanes.iter().flat_map(|lane| lane.curves.iter().filter_map(|curve| row(lane, curve))).collect()
}

fn row(lane: &Lane<'_>, curve: &LaneCurve<'_>) -> Option<[String; 4]> {
    let (mean, most) = machine_lanes::mean_and_most(curve.steps)?;
    let told = |value| format!("{} {}", lane.unit.number(value), lane.unit.name()).trim_end().to_string();
    let title = lane.title.split(',').next().unwrap_or_default();
    Some([title.to_string(), curve.name.to_string(), told(mean), told(most)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_analyze::{DeviceSteps, SampledStep};

    fn step(begin_ns: u64, end_ns: u64, value: f64) -> SampledStep {
        SampledStep { begin_ns, end_ns, value }
    }

    fn machine() -> MachineSeries {
        let device = |name: &str, steps| DeviceSteps {
            name: name.into(),
            utilization_percent: steps,
            ..DeviceSteps::default()
        };
        MachineSeries {
            devices: vec![
                device("sda", vec![step(0, 10, 50.0), step(20, 30, 100.0 / 3.0)]),
                device("sdb", vec![step(10, 30, 1.0)]),
            ],
            dirty_bytes: vec![step(0, 30, 1_234_567.0)],
            ..MachineSeries::default()
        }
    }

    #[test]
    fn values_last_until_next_sample_and_gaps_remain() {
        let page = of(&machine()).unwrap();
        assert_eq!((page.times_ns.as_slice(), page.devices), ([0, 10, 20, 30].as_slice(), 2));
        let utilization = &page.lanes[0];
        assert_eq!((utilization.id.as_str(), utilization.most), ("utilization", Some(100.0)));
        assert_eq!(utilization.curves[0].values, [Some(50.0), None, Some(33.3333)]);
        assert_eq!(utilization.curves[1].values, [None, Some(1.0), Some(1.0)]);
        let memory = &page.lanes[1];
        assert_eq!((memory.unit.as_str(), &memory.curves[0].values[1]), ("MB", &Some(1.23457)));
        assert!(of(&MachineSeries::default()).is_none());
    }

    #[test]
    fn the_table_has_means_and_maxima_with_their_units() {
        let rows = rows(&machine());
        assert_eq!(rows[0], ["Utilization", "sda", "41.7 %", "50.0 %"]);
        assert_eq!(rows[2], ["Page cache to write", "dirty", "1.23 MB", "1.23 MB"]);
        assert_eq!(rows.len(), 3);
    }
}
