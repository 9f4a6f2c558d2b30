//! Stories of made records.

use crate::{Facts, story};
use iosonar_analyze::{Cause, Limits, Story, Summary, Tally};
use iosonar_archive::{Marks, Record, RunInfo, RunState, TargetInfo};
use iosonar_plan::{Extent, Nanos, Plan};

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// A plan with a timetable on the simulated engine, or on a real one.
fn plan(engine: &str) -> Plan {
    Plan::from_toml(&format!(
        r#"
        version = 2
        run_id = 1
        seed = 1
        depth = 4
        {engine}
        [[target]]
        path = "/dev/loop7"
        size = "1GiB"
        workload = {{ kind = "generated", order = "random", block_size = "4KiB", read_percent = 100, pace = {{ kind = "rate", iops = 1000, process = "constant" }}, stop = {{ requests = 1000 }} }}
        "#
    ))
    .unwrap()
}

const SIM: &str = r#"engine = { kind = "sim", service = "100us" }"#;

/// Requests each millisecond for some seconds, with a latency of 100 µs, which `change` may change.
pub(crate) fn records(seconds: u64, change: impl Fn(u64, &mut Record)) -> Vec<Record> {
    let one = |number: u64| {
        let due = number * MS;
        let extent = Extent { offset: number * 4096, length: 4096 };
        let mut record = Record {
            sequence: number,
            due: Nanos(due),
            submitted: Some(Nanos(due)),
            completed: Some(Nanos(due + 100_000)),
            requested: extent,
            executed: extent,
            result: 4096,
            ..Record::default()
        };
        change(due, &mut record);
        record
    };
    (0..seconds * 1000).map(one).collect()
}

fn story_of(engine: &str, records: &[Record]) -> Story {
    let plan = plan(engine);
    let target = TargetInfo { path: "/dev/loop7".into(), size: 1 << 30, block: 512, ..TargetInfo::default() };
    let mut run = RunInfo::new("test", "iosonar run -t /dev/loop7 --depth 4 -o r", vec![target]);
    run.state = RunState::Finished;
    let mut tally = Tally::new(1, &Limits::default());
    records.iter().for_each(|record| tally.add(record));
    let summary = Summary::new(&tally, &plan, &run);
    story(&Facts { plan: &plan, run: &run, summary: &summary, tally: &tally, case: None })
}

/// All requests that are due in a second complete at its end.
fn pause(due: u64, record: &mut Record) {
    if (3 * S..4 * S).contains(&due) {
        record.completed = Some(Nanos(4 * S + 100_000));
    }
}

#[test]
fn pause_is_one_event_with_its_time_and_share() {
    let story = story_of(SIM, &records(10, pause));
    assert!(story.headline.starts_with("Nothing came back for"), "{story:#?}");
    let [event] = story.events.as_slice() else { panic!("{story:#?}") };
    assert_eq!(event.cause, Cause::TargetStoodStill);
    assert!(
        event.range.from_ns.abs_diff(3 * S) < 50 * MS && event.range.to_ns.abs_diff(4 * S) < 50 * MS,
        "{event:?}"
    );
    assert!(event.requests.abs_diff(1000) < 50 && event.share > 0.99, "{event:?}");
    // A thousand requests waited half of a second on average.
    assert!((story.lost_request_seconds - 500.0).abs() < 5.0, "{story:#?}");
    assert_eq!(story.normal.map(|normal| normal.p50_ns.abs_diff(100_000) < 4_000), Some(true));
}

#[test]
fn target_is_not_blamed_without_samples_of_this_program() {
    let story = story_of("", &records(10, pause));
    assert_eq!(story.events[0].cause, Cause::Unexplained, "{story:#?}");
    assert!(story.headline.contains("no cause was found"), "{}", story.headline);
}

#[test]
fn full_depth_and_slower_target_are_told_apart() {
    let waits = |due: u64, record: &mut Record| {
        if (3 * S..4 * S).contains(&due) {
            let wait = due - 3 * S;
            record.submitted = Some(Nanos(due + wait));
            record.completed = Some(Nanos(due + wait + 100_000));
            record.marks = Marks::HELD;
        }
    };
    let story = story_of(SIM, &records(10, waits));
    assert_eq!(story.events[0].cause, Cause::DepthFull, "{story:#?}");
    assert!(story.headline.starts_with("A burst outran the depth of 4"), "{}", story.headline);
    let slower = |due: u64, record: &mut Record| {
        if (3 * S..4 * S).contains(&due) {
            record.completed = Some(Nanos(due + 700_000));
        }
    };
    let story = story_of(SIM, &records(10, slower));
    assert_eq!(story.events[0].cause, Cause::TargetSlower, "{story:#?}");
    assert!(story.headline.contains("loop7 was slower") && story.headline.contains("instead of 100 µs"));
}

/// Two causes of known size: a pause that loses 500 request-seconds, and conflicts that lose 250.
#[test]
fn shares_of_two_causes_match_what_was_planted() {
    let both = |due: u64, record: &mut Record| {
        pause(due, record);
        if (6 * S..7 * S).contains(&due) {
            record.submitted = Some(Nanos(due + S / 4));
            record.completed = Some(Nanos(due + S / 4 + 100_000));
            record.marks = Marks::PUSHED;
        }
    };
    let story = story_of(SIM, &records(10, both));
    let share = |cause| story.shares.iter().find(|one| one.cause == cause).map_or(0.0, |one| one.share);
    assert!((share(Cause::TargetStoodStill) - 2.0 / 3.0).abs() < 0.1, "{story:#?}");
    assert!((share(Cause::Conflicts) - 1.0 / 3.0).abs() < 0.1, "{story:#?}");
}

#[test]
fn steady_run_has_no_event() {
    let story = story_of(SIM, &records(10, |_, _| ()));
    assert_eq!(
        (story.events.len(), story.headline.starts_with("Kept up with all 10 000 requests")),
        (0, true)
    );
}

#[test]
fn few_requests_allow_no_statement() {
    let few = &records(1, |_, _| ())[..20];
    let story = story_of(SIM, few);
    assert!(story.headline.contains("enough to see that it works") && story.events.is_empty(), "{story:#?}");
    assert!(story_of(SIM, &[]).headline.starts_with("Nothing completed"));
}
