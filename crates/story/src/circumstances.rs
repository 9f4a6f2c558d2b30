//! Influences from outside of the target during a run, for a comparison with another run.

use crate::causes::{DeviceUse, is_sampled, uses};
use iosonar_analyze::compare::{Comparison, ForeignBytes, MachineUse, MachineWindow};
use iosonar_analyze::{StoryEvent, Summary, Tally, TimeRange, WithoutCpu};
use iosonar_judge::Case;

/// Most events of a run that are set beside those of the other.
const EVENTS: usize = 3;

/// Influences from outside of the target during a run, and the events of its story.
pub struct Circumstances {
    /// `None` if whether this program ran is not known.
    without_cpu: Option<WithoutCpu>,
    devices: Vec<DeviceUse>,
    events: Vec<StoryEvent>,
    span: TimeRange,
}

impl Circumstances {
    /// Those of a result whose summary has its story.
    pub fn of(summary: &Summary, tally: &Tally, case: Option<&Case<'_>>) -> Circumstances {
        let case = case.filter(|case| is_sampled(case));
        let events = summary.story.as_ref().map_or(&[][..], |story| &story.events);
        Circumstances {
            without_cpu: case.map(|case| case.samples.without_cpu().clone()),
            devices: case.map_or_else(Vec::new, |case| uses(case, tally.traffic())),
            events: events.to_vec(),
            span: TimeRange { from_ns: summary.span.first_due_ns.unwrap_or(0), to_ns: summary.span.end_ns() },
        }
    }

    fn within(&self, range: TimeRange) -> MachineUse {
        let range = TimeRange {
            from_ns: range.from_ns.max(self.span.from_ns),
            to_ns: range.to_ns.min(self.span.to_ns).max(self.span.from_ns),
        };
        let of_device = |device: &DeviceUse| {
            let [seconds, all, others] = device.sums(|time| time.overlap_ns(range) > 0);
            ForeignBytes {
                device: device.name.clone(),
                bytes: others as u64,
                share: others / all.max(1.0),
                seconds,
            }
        };
        let without_cpu = self.without_cpu.as_ref().filter(|without| without.covers(range));
        let mut events: Vec<StoryEvent> =
            self.events.iter().filter(|event| event.range.overlap_ns(range) > 0).cloned().collect();
        events.sort_by(|a, b| b.share.total_cmp(&a.share));
        events.truncate(EVENTS);
        MachineUse {
            others: self.devices.iter().map(of_device).collect(),
            halted_ns: without_cpu.map(|without| without.halted_ns(range)),
            without_cpu_ns: without_cpu.map(|without| without.within_ns(range)),
            events,
        }
    }
}

/// Activity of the machine in the times in which two runs differ; empty if it is known for neither.
pub fn machine_windows(
    comparison: &Comparison,
    a: Option<&Circumstances>,
    b: Option<&Circumstances>,
) -> Vec<MachineWindow> {
    if a.is_none() && b.is_none() {
        return Vec::new();
    }
    let (windows, is_part) = comparison.windows();
    let of = |range: TimeRange| {
        let within = |run: Option<&Circumstances>| run.map(|run| run.within(range));
        MachineWindow { range, is_part, a: within(a), b: within(b) }
    };
    windows.into_iter().map(of).collect()
}
