//! Describes the recorded run of a load with latencies.

use crate::facts::{Facts, ResultLines};
use iosonar_archive::{RECORDING, RunInfo, RunState};
use iosonar_plan::Plan;

/// Plan and facts of a recording: how its requests were executed is unknown, and it is complete. `name` is that of the
/// load, `max_end` the highest end in bytes of its requests.
pub fn recording(name: &str, max_end: u64) -> (Plan, RunInfo) {
    let facts = Facts::default();
    let mut run = facts.run(name, ResultLines { max_end, ..ResultLines::default() });
    run.tool = RECORDING.into();
    // The tool's name already states that the engine is unknown.
    run.is_import = false;
    run.state = RunState::Finished;
    run.targets[0].path = "recorded device".into();
    (facts.plan(name), run)
}
