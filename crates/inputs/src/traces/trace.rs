//! A trace that is being read.

use super::devices::{DeviceNames, refuse_unknown};
use crate::OpenError;
use iosonar_archive::Recorded;
use iosonar_trace::kernel::{At, Timing};
use iosonar_trace::{Entry, Pairing, Requests, Traced};

/// Prefix of the kernel's events in [`Requests::extra_counts`], followed by their action.
pub const EVENTS: &str = "events ";
/// Prefix of the events that the kernel could not keep.
const LOST_EVENTS: &str = "lost events";

/// Maximum number of bad entries reported one by one.
const TOLD: u64 = 20;

/// A trace that is being read.
pub struct Trace {
    /// Its files, as typed.
    pub name: String,
    /// Its format, in words.
    pub format: String,
    /// For kernel events: which event counts as the request, and how completions are found.
    pub at: Option<(At, Timing)>,
    /// Its requests, ordered by time.
    pub requests: Box<dyn Requests>,
    /// Names of its devices that belong together.
    pub names: DeviceNames,
    /// Selected devices, as typed.
    pub(super) wanted: Vec<String>,
    pub(super) keeps_nameless: bool,
    /// Completions whose request is not in the trace read so far: they do not count as requests.
    pub unstarted: u64,
}

/// The device of a request: its number in the trace, and its name.
#[derive(Debug, Clone, Copy)]
pub struct Device<'a> {
    /// From 0, in the order of appearance.
    pub number: u32,
    /// Several numbers may share a name.
    pub name: &'a str,
}

impl Trace {
    /// Calls `f` for all requests with their devices; returns the number of bad entries. `notice` receives the text of the first bad ones, and
    /// the number of the others.
    ///
    /// # Errors
    /// The trace cannot be read to its end, has none of the selected devices, or `f` fails.
    pub fn each<E: From<OpenError>>(
        &mut self,
        notice: impl Fn(&str),
        mut f: impl FnMut(&Traced, Device<'_>) -> Result<(), E>,
    ) -> Result<u64, E> {
        let (mut bad, mut devices) = (0, Vec::<String>::new());
        // blkreplay's script turns these into requests.
        let is_guessed = self.at.is_some_and(|(_, timing)| timing == Timing::Guessed);
        while let Some(entry) = self.next()? {
            match entry {
                Entry::One(request) if request.pairing == Pairing::NoBegin && !is_guessed => {
                    self.unstarted += 1;
                }
                Entry::One(request) => {
                    let number = request.device as usize;
                    while devices.len() <= number {
                        devices.push(self.requests.device(devices.len() as u32).unwrap_or_default());
                    }
                    f(&request, Device { number: request.device, name: &devices[number] })?;
                }
                Entry::Bad(found) => {
                    bad += 1;
                    if bad <= TOLD {
                        notice(&format!("{}: {found}: skipped", self.name));
                    }
                }
            }
        }
        if bad > TOLD {
            notice(&format!("{}: {} more are wrong like these: skipped", self.name, bad - TOLD));
        }
        self.refuse_unknown()?;
        Ok(bad)
    }

    /// Statistics of the kernel's events, complete after reading; `damaged` places could not be read. `None` for a trace of requests, or if
    /// completions were not requested.
    pub fn recorded(&self, damaged: u64) -> Option<Recorded> {
        self.at.filter(|(_, timing)| *timing != Timing::None)?;
        let counts = self.requests.extra_counts();
        let sum = |what: &str| counts.iter().filter(|(w, _)| w.starts_with(what)).map(|(_, n)| n).sum();
        Some(Recorded {
            events: sum(EVENTS),
            lost: sum(LOST_EVENTS),
            no_begin: self.unstarted,
            damaged,
            ..Recorded::default()
        })
    }

    fn next(&mut self) -> Result<Option<Entry<Traced>>, OpenError> {
        self.requests.next().map_err(|error| OpenError::Trace { name: self.name.clone(), error })
    }

    /// Refuses chosen devices that the trace does not contain.
    fn refuse_unknown(&self) -> Result<(), OpenError> {
        let devices = self.requests.devices();
        if self.keeps_nameless && devices.iter().all(String::is_empty) {
            return Ok(());
        }
        refuse_unknown(&self.wanted, &devices, &self.names, &self.name)
    }
}
