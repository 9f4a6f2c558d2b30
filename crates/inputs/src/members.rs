//! Members of merged inputs: their names, and their start times.

use crate::Input;
use serde::Serialize;

/// One of several merged inputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Member {
    /// As typed.
    pub name: String,
    /// Wall clock at its time zero; absent if unknown, as for a load.
    pub started_unix_ns: Option<u64>,
}

/// The merged inputs; empty for a single one. Complete once they have been read.
pub(crate) fn of(inputs: &[Input]) -> Vec<Member> {
    let member = |input: &Input| Member {
        name: input.name.clone(),
        started_unix_ns: input.is_run().then(|| input.run().1.started_unix_ns).filter(|ns| *ns > 0),
    };
    if inputs.len() > 1 { inputs.iter().map(member).collect() } else { Vec::new() }
}
