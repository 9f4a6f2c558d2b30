//! The re-read probe before a run: which targets it reads, and its text.

use iosonar_engine::Prepared;
use iosonar_evidence::{Fact, Reread, RereadTimes};
use iosonar_host::environment::Environment;
use iosonar_host::reread;
use iosonar_judge::why_not_reread;
use iosonar_text::shown;
use iosonar_text::units::{self, Charset};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A plan of many targets does not wait longer than about that.
const ALL_TIME: Duration = Duration::from_secs(20);

/// Reads random blocks of each target that the plan reads, twice, and keeps in the environment what that showed.
pub fn probe(prepared: &Prepared, environment: &mut Environment, is_stopped: &dyn Fn() -> bool) {
    let begun = Instant::now();
    let mut probed: HashSet<PathBuf> = environment.reread.iter().map(|other| other.target.clone()).collect();
    let numbers = environment.targets.iter().enumerate().rev();
    let places: HashMap<PathBuf, usize> = numbers.map(|(at, facts)| (facts.path.clone(), at)).collect();
    for target in prepared.targets().iter().filter(|target| target.is_read()) {
        let facts = places.get(target.path()).map(|at| &environment.targets[*at]);
        let Some(facts) = facts.filter(|_| probed.insert(target.path().clone())) else { continue };
        let seen = match why_not_reread(facts) {
            Some(why) => Err(why),
            None if begun.elapsed() > ALL_TIME => Err("the targets before it took all the time".into()),
            None => reread(facts, target.range(), is_stopped),
        };
        environment.reread.push(Reread { target: target.path().clone(), seen: seen.into() });
    }
}

/// The result of a probe, in a line.
pub fn sentence(seen: &Fact<RereadTimes>) -> String {
    let times = match seen {
        Fact::Known(times) => times,
        Fact::Absent { absent } => return format!("no answer: {absent}"),
    };
    let time = |ns| units::duration(ns, Charset::Ascii);
    let zeros = match times.zero_blocks {
        0 => String::new(),
        zeros => format!("; {zeros} of them are zeros"),
    };
    format!(
        "{} random blocks of {} bytes, read twice: p50 {} and then {}, p90 {} and then {}{zeros}",
        times.blocks,
        times.block_bytes,
        time(times.p50.first_ns),
        time(times.p50.second_ns),
        time(times.p90.first_ns),
        time(times.p90.second_ns),
    )
}

/// A line for each target that was probed.
pub fn lines(environment: &Environment) -> impl Iterator<Item = String> {
    environment.reread.iter().map(|one| format!("  probe of {}: {}", shown(&one.target), sentence(&one.seen)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_evidence::Compared;

    #[test]
    fn formats_probe_result_in_one_line() {
        let compared =
            |first_ns, second_ns| Compared { first_ns, second_ns, first_above: 150, second_above: 150 };
        let times = RereadTimes {
            block_bytes: 4096,
            blocks: 300,
            p50: compared(103_000, 98_000),
            p90: compared(4_150_000, 102_000),
            zero_blocks: 12,
            data_and_zeros: Some(compared(104_000, 90_000)),
        };
        let expected = "300 random blocks of 4096 bytes, read twice: p50 103 us and then 98.0 us, p90 4.15 ms and then 102 us; 12 of them are zeros";
        assert_eq!(sentence(&Fact::Known(times)), expected);
        assert_eq!(sentence(&Fact::absent("it is too small")), "no answer: it is too small");
    }
}
