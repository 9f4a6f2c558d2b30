//! Checks the counters of the machine each second of a run, for signs of a doubtful result.

use iosonar_engine::{Prepared, TargetReady};
use iosonar_evidence::{CpuState, DeviceCounter, Series, TargetFacts, TargetKind, Throttling};
use iosonar_host::Root;
use iosonar_host::sampler::Sampler;
use iosonar_judge::{Bottom, Growth, Sign, bottoms_of};
use iosonar_plan::{Claim, SECTOR};
use iosonar_runner::foreign_io::look;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Interval of checks: a shorter one shows little.
const EVERY: Duration = Duration::from_secs(1);

/// State of the last check.
pub struct Witness {
    sampler: Sampler,
    /// Devices at the bottom; `None` if one cannot be seen, or none need be involved.
    devices: Option<HashSet<String>>,
    /// The target, if it is one block device.
    targets: Option<HashSet<String>>,
    last: Vec<(Series, f64)>,
    last_bytes: u64,
    looked: Instant,
    signs: Vec<Sign>,
}

impl Witness {
    /// Takes the first sample; `None` for a run without I/O.
    pub fn of(prepared: &Prepared) -> Option<Witness> {
        if !prepared.plan().engine.is_real() {
            return None;
        }
        let facts = prepared.facts();
        let is_needed = matches!(prepared.plan().claim(), Claim::Device | Claim::Replay);
        // Discards transfer no sectors, and verification reads are not counted with the requests.
        let has_dataless = prepared.targets().iter().any(TargetReady::has_discards_or_zeroes);
        let is_counted = !has_dataless && !prepared.plan().verify.modes.checks_requests();
        let mut sampler = Sampler::of_machine(&facts, &Root::default());
        let last = look(&mut sampler);
        Some(Witness {
            sampler,
            devices: if is_needed && is_counted { devices(&facts) } else { None },
            targets: match facts.as_slice() {
                [target] if is_counted => device_name(target).map(|name| HashSet::from([name])),
                _ => None,
            },
            last,
            last_bytes: 0,
            looked: Instant::now(),
            signs: Vec::new(),
        })
    }

    /// Checks again after a second. `bytes`: transferred by the run until now.
    pub fn look(&mut self, bytes: u64) -> &[Sign] {
        if self.looked.elapsed() >= EVERY {
            self.looked = Instant::now();
            let now = look(&mut self.sampler);
            let growth = self.growth(&now, bytes.saturating_sub(self.last_bytes));
            self.signs = iosonar_judge::signs(&growth);
            (self.last, self.last_bytes) = (now, bytes);
        }
        &self.signs
    }

    fn growth(&self, now: &[(Series, f64)], own_bytes: u64) -> Growth {
        let grown = |is_meant: &dyn Fn(&Series) -> bool| {
            let sum = |values: &[(Series, f64)]| -> f64 {
                values.iter().filter(|(series, _)| is_meant(series)).map(|(_, value)| value).sum()
            };
            (sum(now) - sum(&self.last)).max(0.0)
        };
        let sectors = |devices: &HashSet<String>| {
            grown(&|series| match series {
                Series::Device { name, counter } => {
                    let counts = [DeviceCounter::ReadSectors, DeviceCounter::WriteSectors];
                    counts.contains(counter) && devices.contains(name)
                }
                _ => false,
            })
        };
        Growth {
            own_bytes: own_bytes as f64,
            device_bytes: self.devices.as_ref().map(|devices| sectors(devices) * SECTOR as f64),
            target_bytes: self.targets.as_ref().map(|devices| sectors(devices) * SECTOR as f64),
            cpu_ticks: grown(&|series| matches!(series, Series::Cpu(_))),
            stolen_ticks: grown(&|series| *series == Series::Cpu(CpuState::Steal)),
            periods: grown(&|series| *series == Series::Cgroup(Throttling::Periods)),
            throttled_periods: grown(&|series| *series == Series::Cgroup(Throttling::Throttled)),
        }
    }
}

fn device_name(target: &TargetFacts) -> Option<String> {
    match &target.kind {
        TargetKind::BlockDevice(device) => Some(device.name.clone()),
        TargetKind::RegularFile(_) | TargetKind::MemoryDevice(_) => None,
    }
}

/// Names of the devices at the bottom of all targets; `None` if some bytes end elsewhere.
fn devices(targets: &[TargetFacts]) -> Option<HashSet<String>> {
    let names: Option<HashSet<String>> = bottoms_of(targets)
        .into_iter()
        .map(|bottom| match bottom {
            Bottom::Device(device) => Some(device.name.clone()),
            Bottom::Server(_) | Bottom::Memory(_) | Bottom::Unseen(_) => None,
        })
        .collect();
    names.filter(|names| !names.is_empty())
}

/// Formats signs in a few words.
pub fn text(signs: &[Sign]) -> String {
    signs.iter().map(Sign::to_string).collect::<Vec<_>>().join(", ")
}
