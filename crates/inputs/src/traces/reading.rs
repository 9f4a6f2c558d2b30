//! How traces are read.

use iosonar_trace::kernel::{At, Timing};
use iosonar_trace::{Format, Kind};

/// How traces are read.
#[derive(Debug, Clone)]
pub struct Reading {
    /// Form of the inputs; `None`: the one that their content shows.
    pub from: Option<Format>,
    /// Kind of blkparse's requests, if their lines lack it.
    pub direction: Option<Kind>,
    /// Which kernel event counts as the request; `None`: the most frequent one.
    pub at: Option<At>,
    /// How completions are found among kernel events.
    pub timing: Timing,
    /// Bytes of a block of XDD's seek lists.
    pub block: u64,
    /// Keeps the order of the trace instead of the order of times.
    pub keep_order: bool,
    /// Devices whose requests are selected; empty: all.
    pub devices: Vec<String>,
    /// Keeps requests of traces that name no devices, whatever is selected.
    pub keeps_nameless: bool,
    /// Processes whose requests are selected; empty: all.
    pub processes: Vec<String>,
}

impl Reading {
    /// Whether a format, an order or some of the requests were chosen.
    pub fn is_chosen(&self) -> bool {
        self.from.is_some()
            || self.at.is_some()
            || self.direction.is_some()
            || self.keep_order
            || !self.devices.is_empty()
            || !self.processes.is_empty()
    }
}

impl Default for Reading {
    fn default() -> Reading {
        Reading {
            from: None,
            direction: None,
            at: None,
            timing: Timing::Exact,
            block: 1024,
            keep_order: false,
            devices: Vec::new(),
            keeps_nameless: false,
            processes: Vec::new(),
        }
    }
}
