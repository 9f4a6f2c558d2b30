//! Steps one by one and together; each formula is checked by an independent script in the tests of the command.

use super::*;
use iosonar_plan::{Durability, Extent, Op, SECTOR};
use iosonar_trace::blkreplay::write_request;
use proptest::prelude::*;
use std::io::Write;
use tempfile::NamedTempFile;

fn request(time: u64, sector: u64, length: u64, write: bool) -> TimedRequest {
    TimedRequest {
        line: 1,
        time: Nanos(time),
        op: if write { Op::Write } else { Op::Read },
        durability: Durability::NONE,
        extent: Extent { offset: sector * SECTOR, length: length * SECTOR },
        pushed: false,
        delay: Nanos(3),
        latency: Nanos(4),
    }
}

fn lines(all: &[TimedRequest]) -> String {
    let mut text = Vec::new();
    all.iter().for_each(|r| write_request(&mut text, r).unwrap());
    String::from_utf8(text).unwrap()
}

/// Filters a text, its lines counted as in `request`.
fn run_text(text: Text, pipeline: &str) -> Result<Vec<TimedRequest>, LoadError> {
    let all = filtered(text, &pipeline.parse().unwrap(), false, &Room::default(), |n| panic!("{n:?}"))?;
    all.map(|r| r.map(|r| TimedRequest { line: 1, ..r })).collect()
}

fn run(all: &[TimedRequest], pipeline: &str) -> Result<Vec<TimedRequest>, LoadError> {
    run_text(Text::of(&lines(all)), pipeline)
}

fn error_text(text: &str, pipeline: &str) -> String {
    run_text(Text::of(text), pipeline).unwrap_err().to_string()
}

/// A file with these lines.
fn file(text: &str) -> (NamedTempFile, String) {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let name = file.path().display().to_string();
    (file, name)
}

/// One line for each time.
fn at_times(times: &[&str], sector: u64) -> String {
    times.iter().map(|time| format!("{time} ; {sector} ; 8 ; W ; 0.0 ; 0.0\n")).collect()
}

#[test]
fn reports_line_of_64_bit_overflow() {
    let far = [request(1 << 62, (1 << 53) + 5, 8, true)];
    for (step, what) in [
        ("spread:3", "sector"),
        ("slip:1,36028797018963968", "sector"),
        ("repeat:3,18446744073709551615", "sector"),
        ("scale:9", "time"),
        ("shift:18446744073s", "time"),
        ("resize:1,min=36028797018963967,max=36028797018963967", "length"),
    ] {
        let told = run(&far, step).unwrap_err().to_string();
        assert!(told.starts_with("line 1: after '") && told.contains(what), "{step}: {told}");
    }
}

#[test]
fn every_step_passes_on_load_errors_with_their_line() {
    let text = at_times(&["1"], 8) + "1.5 ; 8\n" + &at_times(&["0"], 8);
    let (_kept, other) = file(&at_times(&["0", "1"], 8));
    let merge = format!("merge:{other}");
    for step in ["select:0..1", "sample:7", "reverse", "repeat:2", "slip", "scale:2", "cmd:cat", &merge] {
        for steps in [step.to_string(), format!("shift:1 | {step} | {step}")] {
            let told = error_text(&text, &steps);
            assert!(told.starts_with("line 2: the length is missing"), "{steps}: {told}");
        }
    }
}

#[test]
fn an_empty_load_stays_empty() {
    for step in ["reverse", "repeat:1000000000000", "sample:2", "spread"] {
        assert_eq!(run(&[], step).unwrap(), []);
    }
}

fn load() -> impl Strategy<Value = Vec<TimedRequest>> {
    let one = (0u64..1 << 40, 0u64..1 << 38, 1u64..1 << 16, any::<bool>());
    prop::collection::vec(one.prop_map(|(t, s, l, w)| request(t, s, l, w)), 0..60)
}

const STEPS: [&str; 11] = [
    "select:0.1..500",
    "repeat:3,offset=800",
    "slip:3,16",
    "subst:R,W",
    "spread:1.5,align=8,offset=100",
    "resize:2.5,min=4,max=200",
    "reverse",
    "scale:0.3",
    "shift:5",
    "sample:3",
    "cmd:cat",
];

proptest! {
    #[test]
    fn pipeline_equals_its_steps_in_sequence(all in load(), which in prop::collection::vec(0..STEPS.len(), 1..5)) {
        let steps: Vec<&str> = which.iter().map(|i| STEPS[*i]).collect();
        let mut one_by_one = all.clone();
        for step in &steps {
            one_by_one = run(&one_by_one, step).unwrap();
        }
        prop_assert_eq!(run(&all, &steps.join(" | ")).unwrap(), one_by_one);
    }

    #[test]
    fn reversing_twice_restores_the_load(all in load()) {
        prop_assert_eq!(run(&all, "reverse | reverse").unwrap(), all);
    }

    #[test]
    fn rereading_a_load_equals_holding_it(all in load(), which in prop::collection::vec(0..STEPS.len(), 0..3)) {
        let mut steps: Vec<&str> = which.iter().map(|i| STEPS[*i]).collect();
        steps.push("repeat:3,offset=5 | repeat:2,offset=1000");
        let pipeline = steps.join(" | ");
        let (kept, _) = file(&lines(&all));
        let text = Text::of_file(open(kept.path()).unwrap(), kept.path());
        prop_assert_eq!(run_text(text, &pipeline).unwrap(), run(&all, &pipeline).unwrap());
    }

    #[test]
    fn a_merged_load_has_all_requests_of_both_in_order(all in load(), others in load()) {
        let sorted = |mut all: Vec<TimedRequest>| {
            all.sort_by_key(|r| r.time);
            all
        };
        let (all, others) = (sorted(all), sorted(others));
        let (_kept, name) = file(&lines(&others));
        let moved = |r: TimedRequest| run(&[r], "shift:3ns | spread:1,offset=7").unwrap()[0];
        // The sort is stable: the load's own come first.
        let want = sorted(all.iter().copied().chain(others.into_iter().map(moved)).collect());
        prop_assert_eq!(run(&all, &format!("merge:{name},offset=7,shift=3ns")).unwrap(), want);
    }
}

#[test]
fn merge_rejects_backward_times() {
    let (back, forth) = (at_times(&["2", "1"], 8), at_times(&["1", "2"], 16));
    let (_kept, forth_file) = file(&forth);
    let (_kept_too, back_file) = file(&back);
    let left = error_text(&back, &format!("merge:{forth_file}"));
    assert!(left.starts_with("line 2: time runs backward, from 2s to 1s"), "{left}");
    let right = error_text(&forth, &format!("shift:5 | merge:{forth_file} | merge:{back_file}"));
    assert!(right.starts_with(&format!("{back_file}: line 2: time runs backward")), "{right}");
    // The remedies are ones.
    assert!(left.contains("put a step 'sort' before the merge"), "{left}");
    assert!(right.contains("iosonar load filter sort '"), "{right}");
    let merged = run_text(Text::of(&back), &format!("sort | merge:{forth_file}"));
    let places: Vec<u64> = merged.unwrap().iter().map(|r| r.extent.offset / SECTOR).collect();
    assert_eq!(places, [8, 16, 8, 16]);
}

#[test]
fn same_file_can_be_merged_repeatedly() {
    let text = at_times(&["1", "2"], 8);
    let (_kept, name) = file(&text);
    let all = run_text(Text::of(&text), &format!("merge:{name},100 | merge:{name},200")).unwrap();
    let places: Vec<u64> = all.iter().map(|r| r.extent.offset / SECTOR).collect();
    assert_eq!(places, [8, 108, 208, 8, 108, 208]);
}

#[test]
fn errors_name_merged_file_or_command() {
    let gone = error_text("", "merge:'no such.load'");
    assert!(gone.starts_with("no such.load: it cannot be opened: No such file"), "{gone}");
    let (_kept, name) = file(&(at_times(&["1"], 1 << 50) + "1.5 ; 8\n"));
    assert!(
        error_text("", &format!("merge:{name}"))
            .starts_with(&format!("{name}: line 2: the length is missing"))
    );
    let far = error_text("", &format!("merge:{name},offset=18014398509481984"));
    assert!(
        far.starts_with(&format!("{name}: line 1: after 'merge:{name},")) && far.contains("sector"),
        "{far}"
    );
    let gave = error_text(&at_times(&["1", "2"], 8), "shift:1 | cmd:'sed s/8/-8/2' | shift:1");
    assert!(gave.starts_with("what cmd:'sed s/8/-8/2' gave: line 1: the length is negative"), "{gave}");
}

#[test]
fn skips_and_reports_each_bad_line_once() {
    let bad = at_times(&["1"], 8) + "2 ; 8\n";
    let (kept, name) = file(&bad);
    let notices = Arc::new(Mutex::new(Vec::new()));
    let tell = notices.clone();
    let pipeline = format!("merge:{name} | repeat:3 | cmd:'cat; echo 9\\;'").parse().unwrap();
    let text = Text::of_file(open(kept.path()).unwrap(), kept.path());
    let all = filtered(text, &pipeline, true, &Room::default(), move |n| {
        tell.lock().unwrap().push(n.text("l.load".as_ref()));
    });
    assert_eq!(all.unwrap().filter(Result::is_ok).count(), 6);
    let mut notices = notices.lock().unwrap().clone();
    notices.sort();
    let mut want = [
        format!("{name}: line 2: the length is missing: '2 ; 8': skipped"),
        "l.load: line 2: the length is missing: '2 ; 8': skipped".into(),
        r"what cmd:'cat; echo 9\;' gave: line 7: the sector is missing: '9;': skipped".into(),
    ];
    want.sort();
    assert_eq!(notices, want);
}

#[test]
fn failing_command_is_an_error_but_early_exit_is_not() {
    let times: Vec<String> = (0..40_000).map(|i| i.to_string()).collect();
    let times: Vec<&str> = times.iter().map(String::as_str).collect();
    let text = at_times(&times, 8);
    let count = |steps: &str| run_text(Text::of(&text), steps).map(|all| all.len());
    assert_eq!(count("cmd:'head -3'").unwrap(), 3);
    assert_eq!(count("cmd:true").unwrap(), 0);
    // Neither pipe holds all of it.
    assert_eq!(count("cmd:cat | cmd:cat | cmd:'tac | tac'").unwrap(), 40_000);
    for (steps, how) in [
        ("cmd:'cat; exit 3'", "cmd:'cat; exit 3' ended with exit status: 3"),
        ("cmd:'head -3; kill -9 $$'", "ended with signal: 9"),
        ("cmd:'grep -v W' | cmd:cat | reverse", "cmd:'grep -v W' ended with exit status: 1"),
        ("cmd:no-such-command", "exit status: 127"),
    ] {
        let told = count(steps).unwrap_err().to_string();
        assert!(told.contains(how) && told.contains("|| true"), "{steps}: {told}");
    }
}

#[test]
fn dropping_the_reader_ends_the_command() {
    let steps = "cmd:'cat; exec sleep 1000'".parse().unwrap();
    let mut all = filtered(Text::of(&at_times(&["1"], 8)), &steps, false, &Room::default(), |_| {}).unwrap();
    assert!(all.next().unwrap().is_ok());
    // Waits for its end.
    drop(all);
}

#[test]
fn command_receives_recorded_timings() {
    let all = [TimedRequest { pushed: true, ..request(5, 8, 16, true) }, request(6, 8, 16, false)];
    assert_eq!(run(&all, "cmd:cat | cmd:cat").unwrap(), all);
}

#[test]
fn rejects_steps_that_exceed_memory_limit() {
    let text = at_times(&["1"; 11], 8);
    let (kept, _) = file(&text);
    let run = |steps: &str, bytes| {
        let room = Room::of_bytes(bytes);
        let text = Text::of_file(open(kept.path()).unwrap(), kept.path());
        let count =
            filtered(text, &steps.parse().unwrap(), false, &room, |_| {})?.collect::<Result<Vec<_>, _>>();
        Ok::<_, LoadError>((count?.len(), room.held_bytes()))
    };
    assert_eq!(run("reverse", 11 * 56).unwrap(), (11, 11 * 56));
    assert_eq!(run("reverse | repeat:9", 22 * 56).unwrap(), (99, 22 * 56));
    assert_eq!(run("shift:1 | repeat:9 | sample:3 | repeat:2", 0).unwrap(), (66, 0));
    for steps in ["reverse", "cmd:cat | repeat:2"] {
        let told = run(steps, 10 * 56).unwrap_err().to_string();
        assert!(told.contains("memory has room for 10: select fewer"), "{told}");
    }
}

#[test]
fn a_repeated_load_may_be_empty_or_fail_later() {
    let (kept, _) = file(&at_times(&["1"], 8));
    let text = || Text::of_file(open(kept.path()).unwrap(), kept.path());
    assert_eq!(run_text(text(), "select:5..6 | repeat:1000000000000").unwrap(), []);
    let mut all = filtered(text(), &"repeat:3".parse().unwrap(), false, &Room::default(), |_| {}).unwrap();
    assert!(all.next().unwrap().is_ok());
    std::fs::remove_file(kept.path()).unwrap();
    assert!(all.next().unwrap().unwrap_err().to_string().contains("cannot be opened"));
    assert!(all.next().is_none());
}
