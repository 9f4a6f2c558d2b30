//! Signs of trouble during a run.

use crate::thresholds::{
    FOREIGN, LEAST_BYTES, LEAST_PERIODS_OF_A_SECOND, NOT_FROM_DEVICE, STOLEN, THROTTLED,
};
use crate::words::percent;
use iosonar_analyze::Level;
use std::fmt;

/// Growth since the last reading.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Growth {
    /// Bytes of this run's requests.
    pub own_bytes: f64,
    /// Bytes that the devices at the bottom moved; `None` if they are invisible.
    pub device_bytes: Option<f64>,
    /// Bytes that the targets moved, if all of them are block devices: below a file system others have files, too.
    pub target_bytes: Option<f64>,
    /// Clock ticks of all CPUs.
    pub cpu_ticks: f64,
    /// Ticks that a hypervisor gave to others.
    pub stolen_ticks: f64,
    /// Periods of a CPU limit.
    pub periods: f64,
    /// Periods in which it was used up.
    pub throttled_periods: f64,
}

/// A sign that the result will be doubtful.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sign {
    /// Only this share of the run's bytes reached a device.
    OnDevice(f64),
    /// This share of the device's bytes belongs to others.
    Foreign(f64),
    /// The CPU limit was used up in this share of its periods.
    Throttled(f64),
    /// A hypervisor gave this share of the CPU time to others.
    Stolen(f64),
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sign::OnDevice(share) => write!(f, "on device {}", percent(*share)),
            Sign::Foreign(share) => write!(f, "foreign {}", percent(*share)),
            Sign::Throttled(share) => write!(f, "CPU limit {}", percent(*share)),
            Sign::Stolen(share) => write!(f, "steal {}", percent(*share)),
        }
    }
}

/// The signs of a second or more. A second is short: data in transit is not on the device yet, so only signs that would fail at the end
/// of the run are reported.
pub fn signs(growth: &Growth) -> Vec<Sign> {
    let is_fail = |level| level == Level::Fail;
    let has_moved = growth.own_bytes >= LEAST_BYTES as f64;
    let on_device = growth.device_bytes.map(|bytes| bytes / growth.own_bytes);
    let on_device = on_device.filter(|share| has_moved && is_fail(NOT_FROM_DEVICE.level(1.0 - share)));
    let foreign = growth.target_bytes.map(|bytes| 1.0 - growth.own_bytes / bytes.max(growth.own_bytes));
    let foreign = foreign.filter(|share| has_moved && is_fail(FOREIGN.level(*share)));
    let share = |part: f64, all: f64, least: f64| if all >= least { part / all } else { 0.0 };
    let throttled = share(growth.throttled_periods, growth.periods, LEAST_PERIODS_OF_A_SECOND);
    let stolen = share(growth.stolen_ticks, growth.cpu_ticks, 1.0);
    let throttled = is_fail(THROTTLED.level(throttled)).then_some(Sign::Throttled(throttled));
    let stolen = is_fail(STOLEN.level(stolen)).then_some(Sign::Stolen(stolen));
    let (on_device, foreign) = (on_device.map(Sign::OnDevice), foreign.map(Sign::Foreign));
    [on_device, foreign, throttled, stolen].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growth(own: f64, device: Option<f64>) -> Growth {
        Growth { own_bytes: own, device_bytes: device, cpu_ticks: 200.0, ..Growth::default() }
    }

    #[test]
    fn undisturbed_run_has_no_signs() {
        assert_eq!(signs(&growth(64e6, Some(64e6))), []);
        // Requests in flight at the borders of a second, and invisible devices.
        assert_eq!(signs(&growth(64e6, Some(60e6))), []);
        assert_eq!(signs(&growth(64e6, None)), []);
        assert_eq!(signs(&growth(4096.0, Some(0.0))), []);
    }

    #[test]
    fn reports_missing_device_share_and_foreign_io() {
        assert_eq!(signs(&growth(64e6, Some(1.28e6)))[0].to_string(), "on device 2 %");
        // Below a file system others have files, too.
        let beside = growth(64e6, Some(128e6));
        assert_eq!(signs(&beside), []);
        let foreign = Growth { target_bytes: Some(128e6), ..beside };
        assert_eq!(signs(&foreign)[0].to_string(), "foreign 50 %");
    }

    #[test]
    fn reports_cpu_limit_and_steal() {
        let disturbed =
            Growth { periods: 10.0, throttled_periods: 9.0, stolen_ticks: 20.0, ..growth(64e6, Some(64e6)) };
        let texts: Vec<String> = signs(&disturbed).iter().map(Sign::to_string).collect();
        assert_eq!(texts, ["CPU limit 90 %", "steal 10 %"]);
        let once = Growth { periods: 2.0, throttled_periods: 1.0, ..growth(64e6, Some(64e6)) };
        assert_eq!(signs(&once), []);
    }
}
