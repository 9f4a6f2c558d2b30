//! Stories of comparisons of made records.

use super::comparison_story;
use iosonar_analyze::compare::{
    Blocks, Comparison, Difference, ForeignBytes, MachineUse, MachineWindow, Outcome, Run, compare,
};
use iosonar_analyze::{Cause, Statement, StoryEvent, TimeRange};
use iosonar_archive::Record;
use iosonar_plan::Nanos;

const S: u64 = 1_000_000_000;

/// Requests each millisecond; `latency` gives the nanoseconds of each from its number.
fn records(count: u64, latency: impl Fn(u64) -> u64) -> Vec<Record> {
    let one = |number: u64| {
        let due = number * 1_000_000;
        Record {
            sequence: number,
            due: Nanos(due),
            submitted: Some(Nanos(due + 300)),
            completed: Some(Nanos(due + latency(number))),
            result: 4096,
            ..Record::default()
        }
    };
    (0..count).map(one).collect()
}

/// Latencies around 100 µs that differ from request to request.
fn usual(number: u64) -> u64 {
    90_000 + number * 7919 % 1000 * 20
}

fn compared(a: Vec<Record>, b: Vec<Record>) -> Comparison {
    fn run<'r>(name: &str, records: &'r Vec<Record>) -> Run<'r> {
        Run {
            name: name.into(),
            records,
            plan: None,
            environment: Default::default(),
            has_timetable: true,
            phases: &[],
            incomplete: None,
            verdict: None,
        }
    }
    let (a, b) = (run("a", &a), run("b", &b));
    let blocks = |run: &Run<'_>| Blocks::read(run.records, true).unwrap();
    compare((&a, &blocks(&a)), (&b, &blocks(&b))).unwrap()
}

fn slower() -> Comparison {
    compared(records(5_000, usual), records(5_000, |number| usual(number) * 3 / 2))
}

fn quiet() -> MachineUse {
    let device = ForeignBytes { device: "vda".into(), bytes: 1_000_000, share: 0.1, seconds: 5.0 };
    MachineUse {
        others: vec![device],
        halted_ns: Some(0),
        without_cpu_ns: Some(1_000_000),
        events: Vec::new(),
    }
}

/// The comparison with what the machine did in both runs.
fn with_machine(mut comparison: Comparison, a: Option<MachineUse>, b: Option<MachineUse>) -> Statement {
    let range = TimeRange { from_ns: 0, to_ns: 5 * S };
    comparison.machine = vec![MachineWindow { range, is_part: false, a, b }];
    comparison_story(&comparison, "comparisons.0")
}

fn reasons(story: &Statement) -> String {
    story.because.iter().map(|reason| reason.text.clone() + "\n").collect()
}

fn busy_disk() -> MachineUse {
    let device = ForeignBytes { device: "vda".into(), bytes: 300 << 20, share: 0.9, seconds: 5.0 };
    MachineUse { others: vec![device], ..quiet() }
}

#[test]
fn headline_has_direction_size_and_interval() {
    let story = comparison_story(&slower(), "comparisons.0");
    assert!(story.headline.starts_with("B is slower: median "), "{story:#?}");
    assert!(story.headline.contains("50 % longer (") || story.headline.contains("longer ("), "{story:#?}");
    assert!(story.headline.chars().count() <= 90, "{story:#?}");
    let other = compared(records(5_000, |number| usual(number) * 3), records(5_000, usual));
    let story = comparison_story(&other, "comparisons.0");
    assert!(story.headline.starts_with("B is faster: median ") && story.headline.contains(" % shorter ("));
    let story = comparison_story(&compared(records(5_000, usual), records(5_000, usual)), "comparisons.0");
    assert!(story.headline.starts_with("No difference shown: a median changed by "), "{story:#?}");
    assert_eq!(story.because, []);
}

#[test]
fn other_users_are_the_cause_if_they_did_more_in_the_slower_run() {
    let story = with_machine(slower(), Some(quiet()), Some(busy_disk()));
    assert!(reasons(&story).starts_with("Others moved 300 MiB on vda during B (90 % of its bytes)."));
    assert_eq!(story.because[0].evidence, ["comparisons.0.machine.0.b.others.0"]);
    assert_eq!(story.remedy.as_deref(), Some("repeat B while nothing else uses vda"));
    for (a, b) in [
        // As much in both runs, or more in the run that is faster: no cause.
        (Some(busy_disk()), Some(busy_disk())),
        (Some(busy_disk()), Some(quiet())),
        // Not known of one run: no difference is known.
        (None, Some(busy_disk())),
    ] {
        assert!(!reasons(&with_machine(slower(), a, b)).contains("Others moved"));
    }
}

#[test]
fn halts_and_lack_of_cpu_are_the_cause_if_they_differ() {
    let halted = MachineUse { halted_ns: Some(S), without_cpu_ns: Some(S), ..quiet() };
    let story = with_machine(slower(), Some(quiet()), Some(halted.clone()));
    assert!(reasons(&story).starts_with("The program was halted for 1.00 s of B, in A never."), "{story:#?}");
    let waited = MachineUse { without_cpu_ns: Some(S), ..quiet() };
    let story = with_machine(slower(), Some(quiet()), Some(waited));
    assert!(reasons(&story).starts_with("The program had no CPU for 1.00 s of B, in A for 1.00 ms."));
    assert!(!reasons(&with_machine(slower(), Some(halted.clone()), Some(halted))).contains("halted"));
}

/// An event of the target is named only if nothing outside of it differs.
#[test]
fn causes_outside_come_before_events_of_the_target() {
    let event = StoryEvent {
        range: TimeRange { from_ns: S, to_ns: 2 * S },
        cause: Cause::TargetStoodStill,
        text: "nothing completed for 0.7 s".into(),
        requests: 700,
        lost_request_seconds: 245.0,
        share: 0.9,
        worst_response_ns: 700_000_000,
        shape: None,
        target: None,
        phase: None,
    };
    let stalled = MachineUse { events: vec![event.clone()], ..quiet() };
    let story = with_machine(slower(), Some(quiet()), Some(stalled.clone()));
    assert!(reasons(&story).starts_with("In B at 1.00 s: nothing completed for 0.7 s"), "{story:#?}");
    let disturbed = MachineUse { events: vec![event], ..busy_disk() };
    assert!(!reasons(&with_machine(slower(), Some(quiet()), Some(disturbed))).contains("nothing completed"));
    assert!(
        !reasons(&with_machine(slower(), Some(stalled.clone()), Some(stalled))).contains("no such event")
    );
}

#[test]
fn differences_of_plans_are_reasons_with_their_values() {
    let mut comparison = slower();
    let difference = |field: &str, a: &str, b: &str| Difference {
        field: field.into(),
        a: Some(a.into()),
        b: Some(b.into()),
    };
    comparison.plan = vec![difference("depth", "1", "8"), difference("seed", "1", "2")];
    comparison.environment =
        vec![difference("cpu.governors.0", "performance", "powersave"), difference("python", "3", "4")];
    let story = comparison_story(&comparison, "comparisons.0");
    assert_eq!(
        reasons(&story),
        "The plans differ: depth (A 1, B 8) and seed (A 1, B 2).\n\
         The environments differ: cpu governor 0 (A performance, B powersave) and python (A 3, B 4).\n"
    );
    comparison.plan.remove(0);
    let story = comparison_story(&comparison, "comparisons.0");
    assert!(reasons(&story).starts_with("The plans differ in the seed alone.\n"), "{story:#?}");
}

#[test]
fn few_requests_allow_no_statement() {
    let slow = |number| usual(number) * 10;
    let story = comparison_story(&compared(records(5_000, usual), records(29, slow)), "comparisons.0");
    assert_eq!(story.headline, "Too few requests to compare: B has 29.");
    let nothing = compared(records(5_000, usual), Vec::new());
    assert_eq!(nothing.answer.outcome, Outcome::Nothing);
    assert!(
        comparison_story(&nothing, "comparisons.0").headline.starts_with("Nothing to compare: B holds no")
    );
}
