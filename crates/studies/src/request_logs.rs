//! Fills the log files that IOzone's command line requests from the requests of a run.

use crate::cells::for_each_transfer;
use iosonar_dialect_iozone::{LoggedRequest, Logs};
use iosonar_inputs::Input;
use iosonar_runner::Error;

/// Writes each completed read and write of a test to the logs.
///
/// # Errors
/// The records cannot be read, or a log cannot be written.
pub fn fill(input: &Input, mut logs: Logs<'_>) -> Result<(), Error> {
    let mut written = Ok(());
    for_each_transfer(input, |cell, record| {
        let (Some(submitted), Some(completed)) = (record.submitted, record.completed) else { return };
        let request = LoggedRequest {
            stream: record.target,
            phase: record.phase,
            offset: record.executed.offset,
            bytes: record.executed.length,
            submitted_ns: submitted.0,
            completed_ns: completed.0,
        };
        if written.is_ok() {
            written = logs.add(cell, &request);
        }
    })?;
    written.and_then(|()| logs.finish())?;
    Ok(())
}
