//! The requests of selected devices and processes.

use super::devices::DeviceNames;
use super::reading::Reading;
use iosonar_trace::{Entry, Next, Requests, TraceError, Traced};

type Boxed = Box<dyn Requests>;

/// Name of the requests that were not chosen in [`Requests::extra_counts`].
pub const OTHERS: &str = "requests of other devices and processes";

/// Selects the requests of some devices and processes.
struct Selected {
    requests: Boxed,
    devices: Vec<String>,
    names: DeviceNames,
    keeps_nameless: bool,
    processes: Vec<String>,
    /// Indexed by device number, as far as devices have appeared.
    is_wanted: Vec<bool>,
    left_out: u64,
}

pub(super) fn selected(requests: Boxed, reading: &Reading, names: &DeviceNames) -> Boxed {
    let (devices, processes) = (reading.devices.clone(), reading.processes.clone());
    if devices.is_empty() && processes.is_empty() {
        return requests;
    }
    let (names, keeps_nameless, is_wanted) = (names.clone(), reading.keeps_nameless, Vec::new());
    Box::new(Selected { requests, devices, names, keeps_nameless, processes, is_wanted, left_out: 0 })
}

impl Selected {
    fn is_wanted(&mut self, request: &Traced) -> bool {
        let device = request.device as usize;
        while self.is_wanted.len() <= device {
            let name = self.requests.device(self.is_wanted.len() as u32).unwrap_or_default();
            let chosen = self.devices.iter().any(|d| self.names.are_same(&name, d));
            let is_kept = self.devices.is_empty() || name.is_empty() && self.keeps_nameless;
            self.is_wanted.push(is_kept || chosen);
        }
        let is_named = |p: &String| *p == request.process.name() || *p == request.process.pid.to_string();
        let process = self.processes.is_empty() || self.processes.iter().any(is_named);
        process && self.is_wanted.get(device).copied().unwrap_or(self.devices.is_empty())
    }
}

impl Requests for Selected {
    fn next(&mut self) -> Next<Traced> {
        loop {
            let next: Result<Option<Entry<Traced>>, TraceError> = self.requests.next();
            match next? {
                Some(Entry::One(request)) if !self.is_wanted(&request) => self.left_out += 1,
                other => return Ok(other),
            }
        }
    }

    fn devices(&self) -> Vec<String> {
        self.requests.devices()
    }

    fn device(&self, number: u32) -> Option<String> {
        self.requests.device(number)
    }

    fn extra_counts(&self) -> Vec<(String, u64)> {
        let mut all = self.requests.extra_counts();
        all.push((OTHERS.into(), self.left_out));
        all
    }
}
