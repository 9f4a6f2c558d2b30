//! What a load that carries latencies says about the run that it was recorded from.

use crate::facts::{Facts, Seen};
use iosonar_archive::{RECORDING, RunInfo, RunState};
use iosonar_plan::Plan;

/// Plan and facts of a recording: nothing is known of how its requests were executed, and it is complete.
/// `name` is that of the load, `max_end` the highest end in bytes of its requests.
pub fn recording(name: &str, max_end: u64) -> (Plan, RunInfo) {
    let facts = Facts::default();
    let mut run = facts.run(name, Seen { max_end, ..Seen::default() });
    run.tool = RECORDING.into();
    // That nothing is known about its engine, the tool's name says.
    run.is_import = false;
    run.state = RunState::Finished;
    run.targets[0].path = "recorded device".into();
    (facts.plan(name), run)
}
