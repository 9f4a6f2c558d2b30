//! Plans that create files in certain ways: in pieces, by file operations alone, several in turn.

use crate::live::Running;
use crate::*;
use iosonar_analyze::{CellStats, CountUntil, cells};
use iosonar_archive::Archive;
use iosonar_plan::Op;
use std::os::unix::fs::MetadataExt;

/// A plan on files, through the page cache; `phases` follows its targets, which are created.
fn plan(head: &str, files: &[&str], phases: &str) -> String {
    let target = |file: &&str| format!("[[target]]\npath = \"{file}\"\nfile = {{ create = true }}\n");
    let targets: String = files.iter().map(target).collect();
    format!(
        "version = 2\nrun_id = 1\nseed = 1\ndepth = 1\naccess = {{ buffered = true }}\nengine = {{ kind = \"threads\" }}\n\
         {head}\n{targets}{phases}"
    )
}

/// A job that writes a file in order; each eight bytes hold their place.
fn writer(target: usize, options: &str, workload: &str) -> String {
    format!(
        "[[phase.job]]\ntarget = {target}\noptions = {{ data = \"sequenced\", {options} }}\nworkload = {{ kind = \
         \"generated\", order = \"sequential\", block_size = \"4KiB\", read_percent = 0, at_end = \"extend\", {workload} }}\n"
    )
}

/// Asserts that each eight bytes hold their place.
#[track_caller]
fn is_sequenced(lab: &Lab, name: &str, bytes: u64) {
    let found = std::fs::read(lab.path(name)).unwrap();
    let want: Vec<u8> = (0..bytes / 8).flat_map(|n| (8 * n).to_le_bytes()).collect();
    assert!(found == want, "{name}: {} bytes", found.len());
}

fn cell(name: &str) -> String {
    format!("cell = {{ test = \"{name}\", file = \"1MiB\", record = \"4KiB\" }}\n")
}

fn cells_of(lab: &Lab, result: &str) -> Vec<CellStats> {
    let archive = Archive::open(&lab.path(result)).unwrap();
    cells(&lab.records(result), archive.plan(), archive.run(), CountUntil::FirstEnd).unwrap()
}

const PIECES: &str = "pass_offset = \"64KiB\", stop = { bytes = \"64KiB\" }";
const REOPENED: &str = "before = [\"open\"], after = [\"close\"]";

/// A file that is reopened every 64 KiB. `file.create` creates it once, before the first pass; `must_be_new` refuses an existing one.
/// `before = ["create"]` would delete it in each pass.
#[test]
fn a_file_is_written_in_pieces_and_reopened_for_each() {
    let lab = lab();
    let phase =
        format!("[[phase]]\nname = \"write\"\npasses = 16\n{}{}", cell("write"), writer(0, REOPENED, PIECES));
    let once = plan("", &["f"], &phase).replace("create = true", "create = true, must_be_new = true");
    lab.file("plan.toml", &once);
    lab.expect(0, "run plan.toml --no-progress -o r");
    is_sequenced(&lab, "f", 1 << 20);
    let records = lab.records("r");
    let count = |op| records.iter().filter(|r| r.op == op && r.is_completed()).count();
    assert_eq!([Op::Open, Op::Close, Op::Write, Op::Delete].map(count), [16, 16, 256, 0]);
    let mut writes: Vec<&Record> = records.iter().filter(|r| r.op == Op::Write).collect();
    writes.sort_by_key(|r| r.submitted);
    let places = writes.iter().map(|r| (r.pass, r.executed.offset));
    assert!(places.eq((0..256).map(|n| (n / 16, u64::from(n) * 4096))));
    // The cell sums its passes, without the time between them.
    let [cell] = &cells_of(&lab, "r")[..] else { panic!("one cell") };
    let stream = cell.streams[0];
    assert!(cell.is_whole && stream.ops == 256 && stream.written_bytes == 1 << 20, "{cell:?}");
    let in_flight = writes.iter().map(|r| r.latency().unwrap().0).sum::<u64>();
    let closed = records.iter().filter(|r| r.op == Op::Close).map(|r| r.latency().unwrap().0).sum::<u64>();
    assert_eq!((stream.elapsed_ns, stream.close_ns), (in_flight, closed));
    assert!(stream.span_ns >= stream.elapsed_ns + closed * 15 / 16, "{stream:?}");
    // The second run finds an existing file.
    let refused = lab.expect(2, "run plan.toml --no-progress -o r2");
    assert!(refused.err.contains("the file exists"), "{}", refused.err);
    is_sequenced(&lab, "f", 1 << 20);
}

/// An existing file is replaced by a phase without requests; the next phase opens the new one.
#[test]
fn phase_of_file_operations_writes_no_data() {
    let lab = lab();
    lab.file("f", vec![1; 3 << 20]);
    let none = "stop = { requests = 0 }";
    let make =
        format!("[[phase]]\nname = \"make\"\n{}{}", cell("make"), writer(0, "before = [\"create\"]", none));
    let write =
        format!("[[phase]]\nname = \"write\"\npasses = 2\n{}{}", cell("write"), writer(0, REOPENED, PIECES));
    lab.file("plan.toml", plan("", &["f"], &(make.clone() + &write)));
    let told = lab.expect(0, "run plan.toml --no-progress -o r").out;
    is_sequenced(&lab, "f", 128 << 10);
    let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("2 phases") && words.contains("make 0 0") && words.contains("write 32 0"),
        "{told}"
    );
    let [make_cell, write_cell] = &cells_of(&lab, "r")[..] else { panic!("two cells") };
    assert!(make_cell.is_whole && make_cell.failed == 0 && make_cell.latency.is_none(), "{make_cell:?}");
    assert_eq!((make_cell.streams[0].ops, make_cell.streams[0].elapsed_ns), (0, 0));
    assert!(write_cell.is_whole && write_cell.streams[0].ops == 32, "{write_cell:?}");
    for view in ["show r", "report r -o r.html", "plot r -o pictures --svg", "analyze r"] {
        lab.expect(0, view);
    }
    // The only phase of a run: its file operations are its result.
    let truncate = format!("[[phase]]\nname = \"make\"\n{}", writer(0, "before = [\"truncate:1MiB\"]", none));
    lab.file("empty.toml", plan("", &["g"], &truncate));
    let told = lab.expect(0, "run empty.toml --no-progress -o r2").out;
    assert!(told.contains("no read or write completed") && told.contains("  truncate "), "{told}");
    let file = std::fs::metadata(lab.path("g")).unwrap();
    assert_eq!((file.len(), file.blocks()), (1 << 20, 0));
    assert!(lab.records("r2").iter().all(|r| r.op == Op::Truncate && r.is_completed()));
}

/// Files that are written in turn, each as long as its number of requests.
fn in_turn(requests: &[u64]) -> String {
    let names: Vec<String> = (0..requests.len()).map(|n| format!("f{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let job = |(n, requests): (usize, &u64)| writer(n, "", &format!("stop = {{ requests = {requests} }}"));
    let jobs: String = requests.iter().enumerate().map(job).collect();
    plan("", &names, &format!("[[phase]]\nname = \"write\"\ncoordination = {{ in_turn = true }}\n{jobs}"))
}

/// Targets in the order of their requests; no two of these were in flight together.
fn turns(records: &[Record]) -> Vec<u16> {
    let mut records: Vec<&Record> = records.iter().filter(|r| r.submitted.is_some()).collect();
    records.sort_by_key(|r| (r.submitted, r.completed));
    assert!(records.windows(2).all(|two| two[0].completed <= two[1].submitted));
    records.iter().map(|r| r.target).collect()
}

#[test]
fn writes_files_of_any_length_in_turn() {
    for requests in [&[200, 200][..], &[100, 37], &[50, 150, 1]] {
        let lab = lab();
        lab.file("plan.toml", in_turn(requests));
        lab.expect(0, "run plan.toml --no-progress -o r");
        let has_request =
            |round: u64| (0u16..).zip(requests).filter(move |(_, n)| **n > round).map(|(target, _)| target);
        let want: Vec<u16> = (0..200).flat_map(has_request).collect();
        assert_eq!(turns(&lab.records("r")), want, "{requests:?}");
        for (n, requests) in requests.iter().enumerate() {
            is_sequenced(&lab, &format!("f{n}"), requests * 4096);
        }
    }
}

#[test]
fn a_signal_ends_files_that_are_written_in_turn() {
    let lab = lab();
    let forever = in_turn(&[1 << 40, 1 << 40, 1 << 40]).replace("at_end = \"extend\"", "region = \"1MiB\"");
    (0..3).for_each(|n| drop(lab.file(&format!("f{n}"), vec![0; 1 << 20])));
    lab.file("plan.toml", forever);
    let words = "run plan.toml --progress json --progress-every 50ms -o r";
    let mut running = Running::of(lab.command(words).stdin(std::process::Stdio::null()));
    // A slow machine may have completed only one request at its first report.
    while running.until_records() < 4 {}
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.code, 130, "{}", ended.err);
    let turns = turns(&lab.records("r"));
    assert!(
        turns.len() > 3 && (0..).zip(&turns).all(|(n, target): (usize, _)| n % 3 == usize::from(*target))
    );
}

/// Passes with separate files: existing files are not overwritten, because the user has not named them.
#[test]
fn per_pass_files_never_replace_existing_files() {
    let run = "run -t t --rw write --steps sequential --bs 4k --io-size 16k --create --between-passes new-file --passes 3 --no-progress --unlink -o o";
    let xdd = "xdd -op write -targets 1 t -reqsize 4 -numreqs 4 -passes 3 -createnewfiles -deletefile";
    for (command, option) in [(run, "--destroy"), (xdd, "-destroy")] {
        for name in ["t.00000001", "t.00000003"] {
            let lab = lab();
            lab.file("t", "");
            lab.file(name, "somebody's");
            let refused = lab.expect(2, command);
            assert!(refused.err.contains(name) && refused.err.contains(option), "{}", refused.err);
            assert_eq!(std::fs::read(lab.path(name)).unwrap(), b"somebody's");
            assert!(!lab.path("t.00000002").exists() && !lab.path("o").exists());
            // With the option typed the file is overwritten, but not deleted, because the run has not created it.
            lab.expect(0, &format!("{command} {option}"));
            assert_eq!(lab.path(name).metadata().unwrap().len(), 16 << 10);
            assert!(!lab.path("t.00000002").exists() && lab.path("t").exists());
        }
    }
}

/// A file that replaces a target of the run belongs to its creator.
#[test]
fn does_not_delete_file_that_replaced_a_target() {
    let lab = lab();
    lab.target("t", 1 << 20);
    let running = Running::of(&mut lab.command(
        "run -t t --rw read --bs 4k --number-ios 200 --rate-iops 200 --unlink --progress json -o o",
    ));
    iosonar_testkit::until("the run", || lab.path("o/run.json").exists());
    std::fs::rename(lab.path("t"), lab.path("moved")).unwrap();
    lab.file("t", "somebody's");
    let ended = running.end();
    assert!([0, 1].contains(&ended.code), "{}", ended.err);
    assert_eq!(std::fs::read(lab.path("t")).unwrap(), b"somebody's");
    assert!(lab.path("moved").exists());
}
