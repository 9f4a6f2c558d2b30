//! The exported text, line by line.

mod common;

use common::*;
use iosonar_archive::{Marks, Outcome, Record, RunInfo, RunState};
use iosonar_dialect_blkreplay::{ExportError, Exported, export, export_later};
use iosonar_plan::{Extent, Nanos, Op};
use iosonar_trace::blkreplay::{Line, parse_line};

fn sample() -> Vec<Record> {
    let pushed = Record { marks: Marks::PUSHED, ..completed(Op::Write, 16, 1_500_000_000, 7, 1_000_000_000) };
    let dropped = Record { blocked_by: Some(4), ..completed(Op::Write, 48, 1_750_000_001, 0, 0) };
    vec![
        unsent(completed(Op::Read, 8, 0, 0, 0), Outcome::Dropped),
        completed(Op::Read, 0, 1, 100_000, 200_000),
        pushed,
        Record { target: 1, ..completed(Op::Read, 999, 3, 3, 3) },
        failed(completed(Op::Write, 32, 1_600_000_000, 1, 2), -28),
        failed(Record { marks: Marks::PUSHED, ..completed(Op::Read, 40, 1_700_000_000, 1, 2) }, 512),
        unsent(dropped, Outcome::Dropped),
        unsent(completed(Op::Read, 56, 1_800_000_000, 0, 0), Outcome::Cancelled),
    ]
}

#[test]
fn exports_the_complete_text() {
    let want = format!(
        "\
# Written by iosonar {} in the form of blkreplay.
# Column 1 is the time at which a request was due, in seconds on the run's own clock.
# target : 0
# tool : iosonar 9.9.9
# run_id : 77
# started_unix_ns : 533240568000000123
blkreplay on /dev/a b has blocks=7 started at x started at Mon Nov 24 18:22:48 1986
INFO: use_o_direct=1
INFO: use_o_sync=0
INFO: fill_random=30
INFO: ahead_limit=0.000000000
INFO: simulate_io=0.000000000
INFO: dry_run=0
INFO: device=/dev/a b has blocks=7 started at x has blocks=1000 (500 kB).
INFO: dropping block=8 len=8 mode=R time=0.000000000
orig_start ; sector; length ; op ;  replay_delay; replay_duration
   0.000000001 ;          0 ;   8 ; R ;   0.000100000 ;   0.000200000
   1.500000000 ;         16 ;   8 ; w ;   0.000000007 ;   1.000000000
   1.600000000 ;         32 ;   8 ; W ;   0.000000001 ;   0.000000002
ERROR: bad WIO -1 / 28 on 0 at pos 32 (No space left on device)
   1.700000000 ;         40 ;   8 ; r ;   0.000000001 ;   0.000000002
ERROR: bad rIO 512 / 0 on 0 at pos 40 (Success)
INFO: dropping block=48 len=8 mode=W time=1.750000001 by=4
INFO: skipping block=56 len=8 mode=R time=1.800000000
----------------------------------------------------------------
----------------------------------------------------------------
================================================================
meta_ops=0, total meta_delay=0.000000000, avg=0.000000
# total input lines : 12
# total     requests : 7
# completed requests : 2
# write     requests : 3
# dropped   requests : 2
# pushback  requests : 2
# ordered   requests (waits) : 0
# verify errors during replay : 0
conflict_mode : 3
strong_mode : 2
verify_mode : 0
max_submitted : 4
max_pushback : 3
size of device: 1000 blocks (500 kB)
max block# occurred: 1500 blocks (750 kB)
wraparound factor:  1.500
blkreplay on /dev/a b has blocks=7 started at x ended at Mon Nov 24 18:22:50 1986
INFO: use_o_direct=1
INFO: use_o_sync=0
INFO: fill_random=30
INFO: ahead_limit=0.000000000
INFO: simulate_io=0.000000000
INFO: dry_run=0
# failed    requests : 2
# skipped   requests : 1
# run state : finished
",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(export_threads(&sample()), want);
}

/// `--replay-out` increases due times everywhere, but not delays and latencies.
#[test]
fn replay_out_shifts_due_times() {
    let scratch = tempfile::tempdir().unwrap();
    let plan = plan(r#"{ kind = "threads" }"#);
    let archive = archive(&scratch.path().join("a"), &plan, &run(&plan), &sample());
    let mut text = Vec::new();
    let counts = export_later(&archive, 0, Nanos::from_secs(60), &mut text).unwrap();
    assert_eq!(counts, export(&archive, 0, &mut std::io::sink()).unwrap());
    let text = String::from_utf8(text).unwrap();
    for part in [
        "# It is later by 60.000000000 seconds, as set by --replay-out.\n",
        "\n  60.000000001 ;          0 ;   8 ; R ;   0.000100000 ;   0.000200000\n",
        "mode=W time=61.750000001 by=4\n",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
}

#[test]
fn rows_have_six_columns() {
    let text = export_threads(&sample());
    let results: Vec<&str> = text.lines().filter(|line| line.contains(';')).skip(1).collect();
    assert_eq!(results.len(), 4);
    assert!(results.iter().all(|line| line.split(';').count() == 6), "{text}");
}

#[test]
fn result_text_is_also_a_load() {
    let text = export_threads(&sample());
    let lines: Vec<Line> = text.lines().enumerate().map(|(i, line)| parse_line(i as u64 + 1, line)).collect();
    assert_eq!(lines.iter().filter(|line| matches!(line, Line::Request(_))).count(), 4);
    assert!(!lines.iter().any(|line| matches!(line, Line::Bad(_))), "{text}");
}

#[test]
fn counts_are_consistent() {
    let scratch = tempfile::tempdir().unwrap();
    let plan = plan(r#"{ kind = "threads" }"#);
    let archive = archive(&scratch.path().join("a"), &plan, &run(&plan), &sample());
    let counts = export(&archive, 0, &mut std::io::sink()).unwrap();
    let want = Exported {
        total: 7,
        completed: 2,
        failed: 2,
        dropped: 2,
        skipped: 1,
        writes: 3,
        pushed: 2,
        ordered: 0,
        last_completed: Nanos(2_500_000_007),
    };
    assert_eq!(counts, want);
    let other = export(&archive, 1, &mut std::io::sink()).unwrap();
    assert_eq!((other.total, other.completed), (1, 1));
}

#[test]
fn marks_non_measurements_as_fake() {
    for (engine, buffered, dry_run, simulate_io, is_fake) in [
        (r#"{ kind = "threads" }"#, false, 0, "0.000000000", false),
        (r#"{ kind = "threads" }"#, true, 0, "0.000000000", true),
        (r#"{ kind = "null" }"#, false, 1, "0.000000000", true),
        (r#"{ kind = "sim", service = "0.5s" }"#, false, 1, "0.500000000", true),
    ] {
        let mut plan = plan(engine);
        plan.access.buffered = buffered;
        let text = export_with(&plan, &run(&plan), &[], 0);
        assert_eq!(
            text.contains("INFO: measurement results are thus FAKE results!!!\n"),
            is_fake,
            "{engine}"
        );
        assert!(text.contains(&format!("INFO: dry_run={dry_run}\n")), "{text}");
        assert!(text.contains(&format!("INFO: simulate_io={simulate_io}\n")), "{text}");
        assert!(text.contains(&format!("INFO: use_o_direct={}\n", u8::from(!buffered))), "{text}");
        assert!(!text.contains(';'), "without a result there is no header: {text}");
    }
}

#[test]
fn unusual_size_or_state_keeps_text_well_formed() {
    let plan = plan(r#"{ kind = "threads" }"#);
    let mut run = RunInfo { state: RunState::Broken("target a: full; target b\nfull".into()), ..run(&plan) };
    run.targets[0].size = 0;
    run.targets[0].max_requested_end = 0;
    let text = export_with(&plan, &run, &[], 0);
    assert!(text.contains("# run state : broken (target a: full  target b\\nfull)\n"), "{text}");
    assert!(text.contains("wraparound factor:  0.000\n"), "{text}");
}

#[test]
fn export_errors_name_the_cause() {
    let scratch = tempfile::tempdir().unwrap();
    let plan = plan(r#"{ kind = "threads" }"#);
    let timeless = Record { sequence: 5, pass: 2, ..Record::default() };
    let archive = archive(&scratch.path().join("a"), &plan, &run(&plan), &[timeless]);
    let error = export(&archive, 0, &mut Vec::new()).unwrap_err();
    assert!(
        matches!(error, ExportError::NoTimes { sequence: 5, pass: 2, outcome: "completed", .. }),
        "{error}"
    );
    let error = export(&archive, 2, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("no target 2") && error.contains("it has 2"), "{error}");
}

#[test]
fn enospc_ends_the_export() {
    let scratch = tempfile::tempdir().unwrap();
    let plan = plan(r#"{ kind = "threads" }"#);
    let archive = archive(&scratch.path().join("a"), &plan, &run(&plan), &sample());
    let mut room = [0u8; 900];
    let error = export(&archive, 0, &mut room.as_mut_slice()).unwrap_err();
    assert!(matches!(error, ExportError::Write(_)), "{error}");
}

#[test]
fn exports_later_passes_and_executed_ranges() {
    let moved = Record {
        executed: Extent { offset: 512, length: 512 },
        pass: 1,
        ..completed(Op::Read, 5000, 9_000_000_000, 0, 1)
    };
    let text = export_threads(&[completed(Op::Read, 0, 5, 0, 1), moved]);
    assert!(
        text.contains("\n   9.000000000 ;          1 ;   1 ; R ;   0.000000000 ;   0.000000001\n"),
        "{text}"
    );
}
