//! What a command line of blkreplay amounts to, before it becomes a plan.

use iosonar_plan::{Backward, Nanos, OverlapPolicy, Speed, Strong, VerifyModes};

/// Every setting, with blkreplay's own defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The target, as typed.
    pub device: String,
    /// First time of the load that is replayed.
    pub start: Nanos,
    /// First time of the load that is no longer replayed; none: to its end.
    pub end: Option<Nanos>,
    /// Length of the window; it goes before `end`.
    pub duration: Option<Nanos>,
    /// By how much column 1 of the result is later.
    pub replay_out: Nanos,
    /// From the end of the preparations to time zero.
    pub start_grace: Nanos,
    /// What happens to requests that conflict.
    pub overlap: OverlapPolicy,
    /// Which pairs conflict.
    pub strong: Strong,
    /// The most requests in flight, 1 to 65 536.
    pub threads: u32,
    /// Another limit of requests in flight; only one below `threads` matters.
    pub bottleneck: Option<u32>,
    /// How much faster the load's time runs.
    pub speedup: Speed,
    /// What is verified.
    pub verify: VerifyModes,
    /// Incompressible share of written data in percent.
    pub fill_random: u8,
    /// Through the page cache.
    pub buffered: bool,
    /// With `O_SYNC`.
    pub sync: bool,
    /// Everything but the I/O.
    pub dry_run: bool,
    /// Service time of a simulated device; none: no simulation.
    pub simulate_io: Option<Nanos>,
    /// What to do where time runs backward.
    pub backward: Backward,
    /// Lines that look like requests and are none are skipped.
    pub skip_bad: bool,
    /// Writing to a block device is allowed.
    pub destroy: bool,
    /// Directory in which the archive is kept; none: only until the result was written.
    pub out: Option<String>,
    /// Show the plan, and do nothing.
    pub show_plan: bool,
    /// Show no progress.
    pub no_progress: bool,
    /// What was requested and has no effect, a sentence each, with the option as typed.
    pub notices: Vec<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            device: String::new(),
            start: Nanos(0),
            end: None,
            duration: None,
            replay_out: Nanos(0),
            start_grace: Nanos::from_secs(15),
            overlap: OverlapPolicy::PushBack,
            strong: Strong::AnyWrite,
            threads: 1024,
            bottleneck: None,
            speedup: Speed::default(),
            verify: VerifyModes::default(),
            fill_random: 0,
            buffered: false,
            sync: false,
            dry_run: false,
            simulate_io: None,
            // The original's own way; iosonar's other commands refuse such loads.
            backward: Backward::Shift,
            skip_bad: false,
            destroy: false,
            out: None,
            show_plan: false,
            no_progress: false,
            notices: Vec::new(),
        }
    }
}
