//! `iosonar layout latency`: the requests of a run against the extent maps of its files.

use crate::args::layout::LatencyArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use iosonar_plaintext::extent_latencies;
use iosonar_studies::layout::latency::{self, Question};

/// Prints latencies by place.
pub fn latency(args: &LatencyArgs) -> Result<Exit, Failure> {
    let answer = latency::run(&Question { result: args.result.clone() })?;
    print(&match args.json {
        true => serde_json::to_string_pretty(&answer.to_json()).map_err(anyhow::Error::from)? + "\n",
        false => extent_latencies(&answer.latencies, usize::MAX),
    })?;
    Ok(Exit::Fine)
}
