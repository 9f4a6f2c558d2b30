//! Settings of a blkreplay command line, before they become a plan.

use iosonar_plan::{Backward, Nanos, OverlapPolicy, Speed, Strong, VerifyModes};

/// Every setting, with blkreplay's own defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Target, as typed.
    pub device: String,
    /// Start of the replayed window in the load's time.
    pub start: Nanos,
    /// End of the replayed window; `None`: the load's end.
    pub end: Option<Nanos>,
    /// Length of the window; overrides `end`.
    pub duration: Option<Nanos>,
    /// Offset of column 1 of the result.
    pub replay_out: Nanos,
    /// Time between the end of the preparations and time zero.
    pub start_grace: Nanos,
    /// Policy for conflicting requests.
    pub overlap: OverlapPolicy,
    /// Definition of a conflict.
    pub strong: Strong,
    /// Maximum number of requests in flight, 1 to 65 536.
    pub threads: u32,
    /// Second limit of requests in flight; only effective below `threads`.
    pub bottleneck: Option<u32>,
    /// Speedup of the load's time.
    pub speedup: Speed,
    /// Verification modes.
    pub verify: VerifyModes,
    /// Incompressible share of written data in percent.
    pub fill_random: u8,
    /// Use the page cache.
    pub buffered: bool,
    /// Use `O_SYNC`.
    pub sync: bool,
    /// Do everything except I/O.
    pub dry_run: bool,
    /// Service time of a simulated device; `None`: no simulation.
    pub simulate_io: Option<Nanos>,
    /// Policy for timestamps that go backward.
    pub backward: Backward,
    /// Skip lines that look like requests but are invalid.
    pub skip_bad: bool,
    /// Allow writing to a block device.
    pub destroy: bool,
    /// Directory of the archive; `None`: kept only until the result is written.
    pub out: Option<String>,
    /// Show the plan only.
    pub show_plan: bool,
    /// Show no progress.
    pub no_progress: bool,
    /// Options without effect, one sentence each, with the option as typed.
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
            // blkreplay's own policy; iosonar's other commands refuse such loads.
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
