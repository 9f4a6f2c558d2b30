//! Export and import.

mod common;

use common::*;
use iosonar_archive::{Interruption, Marks, Outcome, Record, RunInfo, RunState, Signal};
use iosonar_plan::{Nanos, Op};
use proptest::prelude::*;

const TIME: std::ops::Range<u64> = 0..1 << 61;

/// Any record that the format can express; its outcome determines which fields are set.
fn record() -> impl Strategy<Value = Record> {
    let kinds = (0usize..2, 0usize..4, any::<bool>(), 0u16..3, 0u32..3);
    let times = (TIME, TIME, TIME);
    let range = (0u64..1 << 50, 1u64..1 << 20);
    let result = prop_oneof![(1i64..200).prop_map(|errno| -errno), Just(i64::MIN), 0i64..512];
    let ids = (any::<u32>(), proptest::option::of(any::<u32>()));
    (kinds, times, range, result, ids).prop_map(
        |((op, outcome, pushed, target, pass), times, range, result, ids)| {
            let outcome = Outcome::ALL[outcome];
            let is_sent = matches!(outcome, Outcome::Completed | Outcome::Failed);
            let executed = sectors(range.0, range.1);
            Record {
                sequence: ids.0.into(),
                target: target.min(1),
                pass,
                op: Op::TRANSFERS[op],
                outcome,
                marks: Marks::default().with(Marks::PUSHED, pushed),
                due: Nanos(times.0),
                blocked_by: ids.1.map(u64::from),
                submitted: is_sent.then(|| Nanos(times.0 + times.1)),
                completed: is_sent.then(|| Nanos(times.0 + times.1 + times.2)),
                requested: sectors(range.0 + 1, range.1),
                executed,
                result: match outcome {
                    Outcome::Completed => executed.length as i64,
                    Outcome::Failed => result,
                    _ => 0,
                },
                ..Record::default()
            }
        },
    )
}

/// Fields of a record that the format keeps.
fn kept(r: &Record) -> impl PartialEq + std::fmt::Debug + use<> {
    (r.op, r.outcome, r.executed, r.due, r.submitted, r.completed, r.is_pushed(), r.result)
}

fn result_lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.contains(';')).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn records_round_trip(records in proptest::collection::vec(record(), 1..60), target in 0u16..2) {
        let plan = plan(r#"{ kind = "threads" }"#);
        let text = export_with(&plan, &run(&plan), &records, target);
        let want: Vec<_> = records.iter().filter(|r| r.target == target).collect();
        if want.is_empty() {
            prop_assert!(import_text(&text).is_err());
            return Ok(());
        }
        let (found, imported) = import_text(&text).unwrap();
        prop_assert_eq!(found.iter().map(kept).collect::<Vec<_>>(), want.into_iter().map(kept).collect::<Vec<_>>());
        prop_assert!(found.iter().enumerate().all(|(i, r)| r.sequence == i as u64));
        prop_assert_eq!(&imported.doubts, &Vec::<String>::new());
        prop_assert_eq!(imported.bad_lines, vec![]);
        prop_assert_eq!(&imported.run.state, &RunState::Finished);

        let again = export_with(&imported.plan, &imported.run, &found, 0);
        prop_assert_eq!(result_lines(&again), result_lines(&text));
    }
}

#[test]
fn complete_text_round_trips() {
    let records = [
        completed(Op::Read, 0, 1, 100_000, 200_000),
        Record { marks: Marks::PUSHED, ..completed(Op::Write, 16, 1_500_000_000, 7, 1_000_000_000) },
        failed(completed(Op::Write, 32, 1_600_000_000, 1, 2), -28),
        failed(completed(Op::Read, 40, 1_700_000_000, 1, 2), 512),
        unsent(completed(Op::Write, 48, 1_750_000_001, 0, 0), Outcome::Dropped),
        unsent(completed(Op::Read, 56, 1_800_000_000, 0, 0), Outcome::Cancelled),
    ];
    for engine in [r#"{ kind = "threads" }"#, r#"{ kind = "null" }"#, r#"{ kind = "sim", service = "0.5s" }"#]
    {
        let plan = plan(engine);
        for state in [
            RunState::Finished,
            RunState::Interrupted(Interruption::Signal(Signal::INTERRUPT)),
            RunState::Broken("full".into()),
        ] {
            let run = RunInfo { state, ..run(&plan) };
            let text = export_with(&plan, &run, &records, 0);
            let (found, imported) = import_text(&text).unwrap();
            assert_eq!(imported.plan.run_id, plan.run_id);
            assert_eq!(
                (imported.plan.engine, imported.plan.overlap.policy),
                (plan.engine, plan.overlap.policy)
            );
            assert_eq!((&imported.run.state, imported.run.started_unix_ns), (&run.state, STARTED));
            assert_eq!(export_with(&imported.plan, &imported.run, &found, 0), text);
        }
    }
}

#[test]
fn every_prefix_of_own_text_is_broken_or_rejected() {
    let text =
        export_threads(&[completed(Op::Read, 0, 1, 1, 1), failed(completed(Op::Write, 8, 2, 1, 1), -5)]);
    for end in 0..text.len() - "ed\n".len() {
        if let Ok((_, imported)) = import_text(&text[..end]) {
            assert!(matches!(imported.run.state, RunState::Broken(_)), "{}", &text[..end]);
        }
    }
}
