//! Fields of a plan in the words of XDD's command line.

/// Fields, each with the option that sets it.
pub const OPTIONS: &[(&str, &str)] = &[
    ("path", "-targets"),
    ("passes", "-passes"),
    ("depth", "-queuedepth"),
    ("read_percent", "-rwratio"),
    ("block_size", "-reqsize"),
    ("offset", "-startoffset"),
    ("offset + block_size", "-startoffset with -reqsize"),
    ("offset + region", "-startoffset with -seek range"),
    ("region", "-seek range"),
    ("unit", "-blocksize"),
    ("order", "-seek"),
    ("order.interleaved.every", "-seek interleave"),
    ("order.list.file", "-seek load"),
    ("pace.iops", "-throttle ops"),
    ("pace.bytes_per_second", "-throttle bw"),
    ("stop.requests", "-numreqs"),
    ("stop.bytes", "-mbytes or -kbytes"),
    ("stop.time_limit", "-timelimit"),
    ("stop.runtime", "-runtime"),
    ("jobs", "-queuedepth"),
    ("create", "-createnewfiles"),
    ("options.start_delay", "-startdelay"),
    ("options.align", "-align"),
    ("options.cpu", "-processor"),
    ("options.data", "-datapattern"),
    ("options.verify", "-verify"),
    ("options.verify.immediate", "-verify immediate"),
    ("options.max_errors", "-maxerrors"),
    ("coordination", "-lockstep and -starttrigger"),
    ("coordination.pass_delay", "-delay"),
    ("coordination.runtime", "-runtime"),
    ("coordination.meet_every", "-syncio"),
    ("coordination.lockstep", "-lockstep"),
    ("coordination.start", "-starttrigger"),
    ("coordination.stop", "-stoptrigger"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::TABLE;

    #[test]
    fn every_option_exists() {
        for (field, words) in OPTIONS {
            for name in words.split(' ').filter_map(|word| word.strip_prefix('-')) {
                assert!(TABLE.iter().any(|option| option.names.contains(&name)), "{field}: -{name}");
            }
        }
    }
}
