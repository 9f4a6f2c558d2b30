//! Settings of the machine that changed during the run.

use crate::detector::Most;
use crate::{Case, Detector, Finding};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_evidence::target::BlockDevice;
use iosonar_evidence::{Environment, Fact, TargetFacts};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::SettingsChanged,
    channel: Channel::Environment,
    most: Most::always(Level::Caution),
    explains: &[DetectorId::NotSteady, DetectorId::Noisy],
    about: "A scheduler, a queue depth or a CPU governor that somebody changes while a run goes on makes two runs of it.",
    is_witness: false,
    says: None,
    predict: None,
    detect,
};

const SOURCE: &str = "the machine's settings, before and after the run";

fn detect(case: &Case<'_>) -> Option<Finding> {
    let after = case.after?;
    if !case.is_real() {
        return None;
    }
    let changed = changes(case.before, after);
    Some(match changed.as_slice() {
        [] => Finding::ok("The settings of the machine stayed as they were.", SOURCE),
        changed => Finding::at(
            Level::Caution,
            format!("Settings changed during the run: {}.", changed.join("; ")),
            SOURCE,
        )
        .remedy("Repeat the run with settings that stay."),
    })
}

/// Placeholder for a setting that could not be read, at the start or at the end.
const UNKNOWN: &str = "unknown";

fn changes(before: &Environment, after: &Environment) -> Vec<String> {
    let mut all = Vec::new();
    let mut note = |what: String, before: String, after: String| {
        if before != after && before != UNKNOWN && after != UNKNOWN {
            all.push(format!("{what} from {before} to {after}"));
        }
    };
    note("CPU governors".into(), shown(&before.cpu.governors), shown(&after.cpu.governors));
    note("clock source".into(), shown(&before.clock.source), shown(&after.clock.source));
    let devices = |environment: &'_ Environment| -> Vec<BlockDevice> {
        environment.targets.iter().flat_map(TargetFacts::devices).cloned().collect()
    };
    for (one, other) in
        devices(before).iter().zip(&devices(after)).filter(|(one, other)| one.name == other.name)
    {
        let mut setting = |name: &str, before: String, after: String| {
            note(format!("{name} of {}", one.name), before, after)
        };
        let (old, new) = (&one.queue, &other.queue);
        setting("scheduler", shown(&old.scheduler), shown(&new.scheduler));
        setting(
            "nr_requests",
            format!("{:?}", old.nr_requests.known()),
            format!("{:?}", new.nr_requests.known()),
        );
        setting(
            "max_sectors_kb",
            format!("{:?}", old.max_sectors_kb.known()),
            format!("{:?}", new.max_sectors_kb.known()),
        );
        setting(
            "write_cache",
            format!("{:?}", old.write_cache.known()),
            format!("{:?}", new.write_cache.known()),
        );
        setting("nomerges", shown(&old.nomerges), shown(&new.nomerges));
        setting("the sequence number (diskseq)", shown(&one.diskseq), shown(&other.diskseq));
        setting("size", one.size.to_string(), other.size.to_string());
    }
    all
}

fn shown<T: std::fmt::Debug>(fact: &Fact<T>) -> String {
    fact.known().map_or_else(|| UNKNOWN.into(), |value| format!("{value:?}").replace('"', ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn reports_changed_scheduler() {
        let seen =
            Lab::new().reads(1_000, 4096).on_disk("vda").scheduler_after("bfq").detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Caution);
        assert!(seen.text.contains("scheduler of vda from none to bfq"), "{}", seen.text);
    }

    #[test]
    fn accepts_unchanged_settings() {
        let lab = Lab::new().reads(1_000, 4096).on_disk("vda").scheduler_after("none");
        assert_eq!(lab.detection(&DETECTOR).unwrap().level, Level::Ok);
        assert_eq!(Lab::new().reads(1_000, 4096).on_disk("vda").detection(&DETECTOR), None);
    }
}
