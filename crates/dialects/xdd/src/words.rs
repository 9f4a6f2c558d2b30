//! Maps fields of a plan to XDD's options: an invalid plan is reported with the option as typed.

use crate::settings::Typed;
use iosonar_dialect_common::UsageError;
use iosonar_plan::InvalidPlan;

/// Fields, each with the options that set it. Of several, the first that was typed is named.
const OPTIONS: &[(&str, &[&str])] = &[
    ("path", &["targets"]),
    ("passes", &["passes"]),
    ("depth", &["queuedepth"]),
    ("read_percent", &["rwratio"]),
    ("block_size", &["reqsize", "blocksize"]),
    ("offset", &["startoffset"]),
    ("offset + block_size", &["startoffset", "reqsize"]),
    ("offset + region", &["startoffset", "range", "seek"]),
    ("addresses", &["passoffset", "startoffset", "targetoffset", "seek", "numreqs", "mbytes", "kbytes"]),
    ("region", &["range", "seek"]),
    ("unit", &["blocksize"]),
    ("order", &["seek"]),
    ("order.interleaved.every", &["seek"]),
    ("order.list.file", &["seek"]),
    ("pace.iops", &["throttle"]),
    ("pace.bytes_per_second", &["throttle"]),
    ("stop.requests", &["numreqs", "mbytes", "kbytes", "reqsize"]),
    ("stop.bytes", &["mbytes", "kbytes"]),
    ("stop.time_limit", &["timelimit"]),
    ("stop.runtime", &["runtime"]),
    ("jobs", &["queuedepth"]),
    ("create", &["createnewfiles"]),
    ("options.start_delay", &["startdelay"]),
    ("options.align", &["align"]),
    ("options.cpu", &["processor"]),
    ("options.data", &["datapattern"]),
    ("options.verify", &["verify"]),
    ("options.max_errors", &["maxerrors"]),
    ("coordination", &["lockstep", "starttrigger"]),
    ("coordination.pass_delay", &["delay"]),
    ("coordination.runtime", &["runtime"]),
    ("coordination.meet_every", &["syncio"]),
    ("coordination.lockstep", &["lockstep"]),
    ("coordination.start", &["starttrigger"]),
    ("coordination.stop", &["stoptrigger"]),
];

/// Error with the option as typed; for fields that no option sets, the amount is named.
pub(crate) fn refusal(why: &InvalidPlan, typed: &Typed) -> UsageError {
    let option_of = |field: &str| {
        match field {
            // Each target has one job.
            "job" => return Some("target".into()),
            "options.verify.immediate" => return Some(format!("{} immediate", typed.name("verify"))),
            _ => {}
        }
        let (_, options) = OPTIONS.iter().find(|(known, _)| *known == field)?;
        let given = options.iter().find(|option| typed.has(option));
        Some(typed.name(given.unwrap_or(&options[0])))
    };
    let (option, problem) = why.blamed(&option_of);
    UsageError::of(&option.unwrap_or_else(|| typed.name("numreqs")), &problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::TABLE;

    #[test]
    fn every_option_exists() {
        for option in OPTIONS.iter().flat_map(|(_, options)| *options) {
            assert!(TABLE.iter().any(|known| known.names.contains(option)), "-{option}");
        }
    }
}
