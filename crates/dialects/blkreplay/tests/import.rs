//! Texts of the original program, damaged texts, and other texts.

mod common;

use common::import_text;
use iosonar_archive::{Marks, Outcome, RunState};
use iosonar_dialect_blkreplay::{ImportError, ImportProblem, import};
use iosonar_plan::{ByteSize, Engine, Extent, Nanos, Op, OverlapPolicy, Strong, Workload};
use proptest::prelude::*;

/// Format of the original: text of the load first, ERROR lines by the workers, no suffixes.
const ORIGINAL: &str = "\
Copyright somebody; all rights
# tool : an older text
blkreplay on /dev/old started at Thu Jan  1 00:00:00 1970
INFO: dry_run=1
blkreplay on /dev/sdx started at Fri Feb 29 12:00:00 2008
INFO: use_o_direct=0
INFO: use_o_sync=1
INFO: fill_random=40
INFO: ahead_limit=1.000000000
INFO: simulate_io=0.000000000
INFO: dry_run=0
INFO: measurement results are thus FAKE results!!!
INFO: device=/dev/sdx has blocks=2048 (1024 kB).
orig_start ; sector; length ; op ;  replay_delay; replay_duration
   0.000000000 ;          8 ;   8 ; R ;   0.000120000 ;   0.000300000
INFO: sector 4104+8 exceeds 2048, turning on wraparound.
ERROR: bad wIO -1 / 5 on 3 at pos 24 (Input/output error)
   0.250000000 ;         16 ;   8 ; W ;   0.000120000 ;   0.000300000
   0.500000000 ;         24 ;   8 ; w ;   0.000120000 ;   0.000300000
INFO: dropping block=16 len=8 mode=W
INFO: backshift at time=1.500000000 s detected (delta=1.0 s, total timeshift=1.0 s)
   0.750000000 ;         32 ;   8 ; R ;   0.000120000 ;   0.000300000
ERROR: bad RIO 1024 / 0 on 3 at pos 32 (Success)
-------------------------
-------------------------
=========================
meta_ops=0, total meta_delay=0.000000000, avg=0.000000
# total input lines            : 12
# total     requests           : 5
# completed requests           : 4
# write     requests           : 3
# dropped   requests           : 1
# pushback  requests           : 1
# ordered   requests (waits)   : 0
# verify errors during replay  : 0
conflict_mode                  : 1
strong_mode                    : 0
verify_mode                    : 0
max_submitted                  : 17
max_pushback                   : 2
size of device:      2048 blocks (1024 kB)
max block# occurred: 4112 blocks (2056 kB)
wraparound factor:  2.008
blkreplay on /dev/sdx ended at Fri Feb 29 12:00:00 2008
INFO: use_o_direct=0
";

#[test]
fn reads_result_of_original_blkreplay() {
    let (records, imported) = import_text(ORIGINAL).unwrap();
    let facts: Vec<_> = records
        .iter()
        .map(|r| (r.sequence, r.op, r.outcome, r.due.0, r.executed.offset / 512, r.result))
        .collect();
    let want = [
        (0, Op::Read, Outcome::Completed, 0, 8, 4096),
        (1, Op::Write, Outcome::Completed, 250_000_000, 16, 4096),
        (2, Op::Write, Outcome::Failed, 500_000_000, 24, -5),
        (3, Op::Write, Outcome::Dropped, 500_000_000, 16, 0),
        (4, Op::Read, Outcome::Failed, 750_000_000, 32, 1024),
    ];
    assert_eq!(facts, want);
    assert_eq!(records[1].submitted, Some(Nanos(250_120_000)));
    assert_eq!(records[1].completed, Some(Nanos(250_420_000)));
    assert!(records[2].is_pushed() && !records[3].is_pushed());
    assert!(records[4].marks.has(Marks::SHORT));
    assert_eq!(imported.doubts, Vec::<String>::new());
    assert_eq!((imported.records, imported.bad_lines.len()), (5, 0));
}

#[test]
fn plan_and_run_match_the_text() {
    let (_, imported) = import_text(ORIGINAL).unwrap();
    let (plan, run) = (&imported.plan, &imported.run);
    assert_eq!((plan.run_id, plan.depth(), plan.engine), (0, 17, Engine::Threads));
    assert!(plan.access.buffered && plan.access.sync.is_set() && !plan.destroy);
    assert_eq!(plan.fill.random_percent, 40);
    assert_eq!((plan.overlap.policy, plan.overlap.strong), (OverlapPolicy::Drop, Strong::WriteWrite));
    let target = &plan.targets[0];
    assert_eq!((target.path.to_str(), target.size), (Some("/dev/sdx"), None));
    assert!(
        matches!(&plan.phases[0].jobs[0].workload, Workload::Trace(load) if load.file.to_str() == Some("r.replay"))
    );
    assert_eq!((run.tool.as_str(), &run.state), ("blkreplay", &RunState::Finished));
    assert_eq!(run.started_unix_ns, 1_204_286_400_000_000_000);
    let info = &run.targets[0];
    assert_eq!((info.size, info.max_requested_end, info.block), (2048 * 512, 4112 * 512, 512));
    assert_eq!(
        (info.input_lines, info.max_in_flight, info.max_waiting, info.back_shifts),
        (12, Some(17), Some(2), 1)
    );
}

#[test]
fn dry_and_simulated_runs_import_their_engine() {
    let null = ORIGINAL.replace("INFO: dry_run=0", "INFO: dry_run=1");
    let target =
        |text: &str| import_text(text).map(|(_, i)| (i.plan.engine, i.plan.targets[0].size)).unwrap();
    assert_eq!(target(&null), (Engine::Null, Some(ByteSize(2048 * 512))));
    let sim = null.replace("simulate_io=0.000000000", "simulate_io=0.100000000");
    let (engine, _) = target(&sim);
    assert!(matches!(engine, Engine::Sim(model) if model.service == Nanos(100_000_000)), "{engine:?}");
}

#[test]
fn truncated_text_is_broken_with_bad_last_line() {
    let cut = &ORIGINAL[..ORIGINAL.find("0.000300000\nINFO: dropping").unwrap() + 6];
    let (records, imported) = import_text(cut).unwrap();
    assert_eq!(records.len(), 2);
    assert_eq!(imported.run.state, RunState::Broken("no tail: the run was cut off".into()));
    assert_eq!(imported.bad_lines[0].why, "the line is cut off");
    assert_eq!(imported.run.targets[0].bad_lines, 1);
    assert_eq!((imported.plan.depth(), imported.run.targets[0].max_requested_end), (1, 24 * 512));
    assert!(imported.doubts[0].contains("1 ERROR lines belong to no result"), "{:?}", imported.doubts);
}

#[test]
fn detects_missing_lines() {
    let text = ORIGINAL.replace("INFO: dropping block=16 len=8 mode=W\n", "ERROR: request 16 vanished\n");
    let (_, imported) = import_text(&text).unwrap();
    assert!(imported.doubts[0].contains("the tail counts 1 dropped requests, the lines are 0"));
    assert!(imported.doubts[1].contains("1 lines report other errors"));
}

#[test]
fn skips_and_names_bad_lines() {
    let text = "\
orig_start ; sector; length ; op ;  replay_delay; replay_duration
0.0 ; 8 ; 8 ; R ; 0.1
0.0 ; 8 ; 8 ; R ; 0.1 ; 18446744073709551615.99
0.0 ; -8 ; 8 ; R ; 0.1 ; 0.2
9223372036.0 ; 8 ; 8 ; R ; 9223372036.0 ; 9223372036.0
INFO: dropping block=1 len=0 mode=W
INFO: skipping block=1 len=4 mode=D time=1
1.0;8;8;R;0.1;0.2
";
    let (records, imported) = import_text(text).unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].executed, Extent { offset: 4096, length: 4096 });
    let bad: Vec<_> = imported.bad_lines.iter().map(|b| (b.line, b.why.as_str())).collect();
    let unsent = "it is no 'block=B len=L mode=R|W time=T'";
    let want = [
        (2, "the duration is missing"),
        (3, "the duration is no time"),
        (4, "the sector is negative"),
        (5, "it ends later than 584 years after the start"),
        (6, unsent),
        (7, unsent),
    ];
    assert_eq!(bad, want);
    assert_eq!(imported.plan.targets[0].path.to_str(), Some("unknown"));
}

fn problem(text: &str) -> (ImportProblem, String) {
    let error: ImportError = import_text(text).unwrap_err();
    let message = error.to_string();
    (error.problem, message)
}

#[test]
fn rejects_non_results_with_remedy() {
    let (load, message) = problem(
        "start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n0.0 ; 8 ; 8 ; R ; 0.0 ; 0.0\n",
    );
    assert!(matches!(load, ImportProblem::Load { line: 2 }), "{message}");
    assert!(message.starts_with("r.replay: line 2") && message.contains("iosonar replay"), "{message}");
    for text in ["", "some text\n", "orig_start ; sector; length ; op ;  replay_delay; replay_duration\n"] {
        let (none, message) = problem(text);
        assert!(matches!(none, ImportProblem::NoResult { .. }) && message.contains(".replay"), "{message}");
    }
    assert!(matches!(problem("text\n\0\0\n").0, ImportProblem::Read(_)));
    let (second, _) = problem(&ORIGINAL.repeat(2));
    assert!(matches!(second, ImportProblem::Second { .. }));
}

#[test]
fn sink_error_ends_the_import() {
    let full = || std::io::Error::from(std::io::ErrorKind::StorageFull);
    let error = import(ORIGINAL.as_bytes(), "r", &mut |_| Err(full())).unwrap_err();
    assert!(matches!(error.problem, ImportProblem::Keep(_)));
}

#[test]
fn every_prefix_is_broken_or_rejected() {
    for end in 0..ORIGINAL.find(" ended at").unwrap() {
        if let Ok((_, imported)) = import_text(&ORIGINAL[..end]) {
            assert!(matches!(imported.run.state, RunState::Broken(_)), "{end}");
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(text: String) {
        let _ = import_text(&text);
    }

    #[test]
    fn damaged_texts_are_read_without_panic(at in 0..ORIGINAL.len(), with in "[0-9;=: \nRWx-]{0,20}") {
        let mut text = ORIGINAL.to_string();
        text.replace_range(at..at + 1, &with);
        let _ = import_text(&text);
    }
}
