//! Stories of made records.

use crate::{Facts, story};
use iosonar_analyze::{Cause, Limits, Story, Summary, Tally};
use iosonar_archive::{Marks, Record, RunInfo, RunState, TargetInfo};
use iosonar_plan::{Extent, Nanos, Op, Plan, Target};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// A plan with a timetable on the simulated engine, or on a real one.
fn plan(engine: &str) -> Plan {
    plan_of(engine, &["/dev/loop7"])
}

fn plan_of(engine: &str, targets: &[&str]) -> Plan {
    let target = |path: &&str| {
        format!(
            r#"
        [[target]]
        path = "{path}"
        size = "1GiB"
        workload = {{ kind = "generated", order = "random", block_size = "4KiB", read_percent = 100, pace = {{ kind = "rate", iops = 1000, process = "constant" }}, stop = {{ requests = 1000 }} }}
        "#
        )
    };
    let targets: String = targets.iter().map(target).collect();
    Plan::from_toml(&format!("version = 2\nrun_id = 1\nseed = 1\ndepth = 4\n{engine}\n{targets}")).unwrap()
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
    story_of_plan(&plan(engine), records)
}

fn story_of_plan(plan: &Plan, records: &[Record]) -> Story {
    let target = |target: &Target| TargetInfo {
        path: target.path.display().to_string(),
        size: 1 << 30,
        block: 512,
        ..TargetInfo::default()
    };
    let targets = plan.targets.iter().map(target).collect();
    let mut run = RunInfo::new("test", "iosonar run -t /dev/loop7 --depth 4 -o r", targets);
    run.state = RunState::Finished;
    let mut tally = Tally::new(plan.targets.len(), &Limits::default());
    records.iter().for_each(|record| tally.add(record));
    let summary = Summary::new(&tally, plan, &run);
    story(&Facts { plan, run: &run, summary: &summary, tally: &tally, case: None, extents: None })
}

/// All requests that are due in a second complete at its end.
fn pause(due: u64, record: &mut Record) {
    if (3 * S..4 * S).contains(&due) {
        record.completed = Some(Nanos(4 * S + 100_000));
    }
}

/// Requests that are due in a second wait for their turn, longer and longer.
fn waits(due: u64, record: &mut Record) {
    if (3 * S..4 * S).contains(&due) {
        let wait = due - 3 * S;
        record.submitted = Some(Nanos(due + wait));
        record.completed = Some(Nanos(due + wait + 100_000));
        record.marks = Marks::HELD;
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

/// A disturbance of some requests that are due from its start on, by their distance to that in ms.
#[derive(Debug, Clone, Copy)]
enum Disturbance {
    /// All complete at its end.
    Pause,
    /// Each waits for its turn, longer and longer.
    Waits,
    /// All wait for a conflict until its end.
    Conflicts,
    /// The target takes 20 ms for each of five times as many requests.
    Slower,
}

impl Disturbance {
    fn cause(self) -> Cause {
        match self {
            Disturbance::Pause => Cause::TargetStoodStill,
            Disturbance::Waits => Cause::DepthFull,
            Disturbance::Conflicts => Cause::Conflicts,
            Disturbance::Slower => Cause::TargetSlower,
        }
    }

    /// Disturbs a request `after` the start of the disturbance, which lasts for a `length`.
    fn disturb(self, record: &mut Record, after: u64, length: u64) {
        let due = record.due.0;
        let (delay, latency) = match self {
            Disturbance::Pause => (0, length - after + 100_000),
            Disturbance::Waits => (after, 100_000),
            Disturbance::Conflicts => (length - after, 100_000),
            Disturbance::Slower => (0, 20 * MS),
        };
        record.marks = match self {
            Disturbance::Waits => Marks::HELD,
            Disturbance::Conflicts => Marks::PUSHED,
            _ => record.marks,
        };
        record.submitted = Some(Nanos(due + delay));
        record.completed = Some(Nanos(due + delay + latency));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Two disturbances at other times, each with at least a tenth of the lost time.
    #[test]
    fn shares_of_two_causes_match_what_was_planted(
        both in Just(vec![Disturbance::Pause, Disturbance::Waits, Disturbance::Conflicts, Disturbance::Slower]).prop_shuffle(),
        lengths in [100u64..400, 100u64..400],
    ) {
        let starts = [3 * S, 6 * S];
        let mut lost = [0.0; 2];
        let mut records = records(10, |_, _| ());
        for record in &mut records {
            let due = record.due.0;
            for (number, start) in starts.into_iter().enumerate() {
                let length = lengths[number] * MS * if matches!(both[number], Disturbance::Slower) { 5 } else { 1 };
                if (start..start + length).contains(&due) {
                    both[number].disturb(record, due - start, length);
                    lost[number] += (record.response().unwrap().0 - 100_000) as f64 / 1e9;
                }
            }
        }
        let truth = lost.map(|of| of / (lost[0] + lost[1]));
        prop_assume!(truth.iter().all(|share| *share >= 0.1));
        let story = story_of(SIM, &records);
        for (number, truth) in truth.into_iter().enumerate() {
            let cause = both[number].cause();
            let share = story.shares.iter().find(|one| one.cause == cause).map_or(0.0, |one| one.share);
            prop_assert!((share - truth).abs() < 0.1, "{cause:?} has {truth}: {story:#?}");
        }
    }
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

/// Each second request goes to the second target, which pauses for a second.
#[test]
fn pause_of_one_of_two_targets_is_stated_with_its_name() {
    let of_second = |due: u64, record: &mut Record| {
        record.target = (due / MS % 2) as u16;
        if record.target == 1 {
            pause(due, record);
        }
    };
    let story = story_of_plan(&plan_of(SIM, &["/dev/loop7", "/dev/loop8"]), &records(10, of_second));
    assert!(story.headline.starts_with("Nothing came back from loop8 for"), "{}", story.headline);
    let [event] = story.events.as_slice() else { panic!("{story:#?}") };
    assert_eq!((event.cause, event.target), (Cause::TargetStoodStill, Some(1)));
    assert!(event.text.starts_with("loop8: ") && event.share > 0.99, "{event:?}");
    let parts: Vec<(&str, &str)> =
        story.parts.iter().map(|part| (part.name.as_str(), part.headline.as_str())).collect();
    assert!(
        matches!(parts[..], [("loop7", of_7), ("loop8", of_8)] if of_7.ends_with("µs.") && of_8.ends_with("one event.")),
        "{parts:?}"
    );
}

#[test]
fn targets_are_compared() {
    let slower = |due: u64, record: &mut Record| {
        record.target = (due / MS % 2) as u16;
        record.completed = Some(Nanos(due + 100_000 + 100_000 * u64::from(record.target)));
    };
    let story = story_of_plan(&plan_of(SIM, &["/dev/loop7", "/dev/loop8"]), &records(10, slower));
    assert!(story.because[0].text.contains("99.8 µs (loop7) to 200 µs (loop8)"), "{story:#?}");
    assert!(story.events.is_empty(), "{story:#?}");
}

/// The second phase takes longer, and pauses once.
#[test]
fn phases_have_their_own_normal_response() {
    let mut plan = plan_of(SIM, &["/dev/loop7"]);
    let second = plan.phases[0].clone();
    plan.phases.push(second);
    let of_phase = |due: u64, record: &mut Record| {
        if due >= 5 * S {
            record.phase = 1;
            record.completed = Some(Nanos(due + 900_000));
        }
        if (7 * S..8 * S).contains(&due) {
            record.completed = Some(Nanos(8 * S));
        }
    };
    let story = story_of_plan(&plan, &records(10, of_phase));
    assert!(story.headline.starts_with("phase 0 1 000/s, p50 99.8 µs; phase 1 "), "{}", story.headline);
    let [event] = story.events.as_slice() else { panic!("{story:#?}") };
    assert_eq!((event.phase, event.target), (Some(1), None));
    assert!(story.because[0].text.contains("phase 1: nothing completed for"), "{story:#?}");
    assert_eq!(story.parts.len(), 2);
}

#[test]
fn blame_shows_when_the_depth_was_full() {
    let blame = story_of(SIM, &records(10, waits)).blame.unwrap();
    let [row] = blame.rows.as_slice() else { panic!("{blame:?}") };
    assert_eq!((row.cause, row.label()), (Cause::DepthFull, "depth full".into()));
    let at = |second_tenths: u64| {
        row.percent[((second_tenths * S / 10 - blame.from_ns) / blame.slice_ns) as usize]
    };
    assert!(at(25) == 0 && at(38) > 90 && at(45) == 0, "{blame:?}");
    assert!(story_of(SIM, &records(10, |_, _| ())).blame.is_none());
}

/// Each 100 ms sixteen requests come at once, and each takes longer than the one before it.
#[test]
fn difference_between_batches_is_stated() {
    let together = |due: u64, record: &mut Record| {
        let number = due / MS % 100;
        if number < 16 {
            let at = due / (100 * MS) * 100 * MS + number * 1_000;
            (record.due, record.submitted) = (Nanos(at), Some(Nanos(at)));
            record.completed = Some(Nanos(at + (number + 1) * 100_000));
        }
    };
    let story = story_of(SIM, &records(10, together));
    let contrast = story.contrast.as_ref().unwrap();
    assert_eq!((contrast.slow.requests, contrast.other.name.as_str()), (1600, "submitted alone"));
    let because: Vec<&str> = story.because.iter().map(|reason| reason.text.as_str()).collect();
    assert!(
        because.contains(&"Reads in batches of 16 take 799 µs, those submitted alone 99.8 µs (medians)."),
        "{because:?}"
    );
}

#[test]
fn difference_between_operations_sizes_and_places_is_stated() {
    let because = |change: fn(u64, &mut Record)| story_of(SIM, &records(10, change)).because[0].text.clone();
    let writes = because(|due, record| {
        if (due / MS).is_multiple_of(4) {
            record.op = Op::Write;
            record.completed = Some(Nanos(due + 300_000));
        }
    });
    assert_eq!(writes, "Writes take 300 µs, reads 100 µs (medians).");
    let sizes = because(|due, record| {
        if (due / MS).is_multiple_of(4) {
            record.requested.length = 64 << 10;
            (record.executed.length, record.result) = (64 << 10, 64 << 10);
            record.completed = Some(Nanos(due + 300_000));
        }
    });
    assert!(sizes.starts_with("Requests of 64 KiB take"), "{sizes}");
    let places = because(|due, record| {
        record.executed.offset = (due / MS * 7 % 1000) << 20;
        if (600..700).contains(&(record.executed.offset >> 20)) {
            record.completed = Some(Nanos(due + 300_000));
        }
    });
    assert!(places.starts_with("Requests at 608 MiB to 704 MiB take 300 µs, elsewhere 100 µs"), "{places}");
}
