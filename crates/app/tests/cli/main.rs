//! Acceptance through the binary, for everything that needs no special device: simulated engine, null engine,
//! regular files. Numbers in comments are those of the acceptance checks in `spec/blkreplay.md`, section 8.
//!
//! The simulated engine has a simulated clock, so its times are exact; times of real I/O are never asserted.

/// Ends a test that takes more than two seconds: `./test quick` leaves it to `./test`.
macro_rules! slow {
    () => {
        if std::env::var_os("IOSONAR_QUICK").is_some() {
            return;
        }
    };
}

mod analyze;
mod blkreplay;
mod calibrate;
mod check;
mod compare;
mod conflicts;
mod convert;
mod crash;
mod data;
mod derive;
mod discards;
mod documented;
mod engines;
mod examples;
mod exchange;
mod figures;
mod file_steps;
mod fill;
mod filter;
mod fio_lines;
mod flushes;
mod hostile_names;
mod import_iozone;
mod inputs;
mod install;
mod iozone;
mod iozone_meanings;
mod iozone_options;
mod iozone_requests;
mod judged;
mod kept;
mod kernel_events;
mod knee;
mod layout;
mod limits;
mod live;
mod live_http;
mod live_view;
mod loads;
mod made_files;
mod matrix;
mod moved;
mod no_runs;
mod note;
mod on_hosts;
mod output;
mod outputs;
mod own_dirs;
mod patterns;
mod phases;
mod plans;
mod processes;
mod refused;
mod report;
mod series;
mod shapes;
mod stamps;
mod story;
mod study_stories;
mod temporary;
mod trials;
mod verify;
mod verify_honest;
mod verify_loads;
mod verify_memory;
mod xdd;

use iosonar_archive::Record;
use iosonar_testkit::Lab;
use serde_json::Value;
use std::path::PathBuf;

/// The simulated engine on a pretended target. Each test adds what it is about.
const SIM: &str = "--engine sim --size 1GiB --no-progress -t dev";

/// One millisecond and one second in nanoseconds.
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

fn lab() -> Lab {
    Lab::new(env!("CARGO_BIN_EXE_iosonar"))
}

fn fixture_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// Copies a fixture into the lab under its own name.
fn fixture(lab: &Lab, name: &str) {
    lab.file(name, std::fs::read(fixture_path(name)).expect("a fixture"));
}

/// Copies a load of `examples/loads` into the lab; returns its name there.
fn recorded(lab: &Lab, name: &str) -> String {
    let file = format!("{name}.load.gz");
    lab.file(&file, std::fs::read(iosonar_testkit::own_load(name)).expect("a load"));
    file
}

/// Copies a load of others into the lab; `None` if it does not lie beside the repository.
fn of_others(lab: &Lab, name: &str) -> Option<String> {
    let path = iosonar_testkit::load_of_others(name)?;
    let file = format!("{name}.load.gz");
    lab.file(&file, std::fs::read(path).expect("a load"));
    Some(file)
}

/// Decompresses a fixture.
fn plain(name: &str) -> String {
    plain_of(&fixture_path(name))
}

/// Decompresses a file.
fn plain_of(path: &std::path::Path) -> String {
    let file = std::fs::File::open(path).expect("a file");
    std::io::read_to_string(flate2::read::MultiGzDecoder::new(file)).expect("a gzip file")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("memory does not fail");
    encoder.finish().expect("memory does not fail")
}

/// A load of `time ; sector ; length ; op` rows.
fn rows(rows: &[(&str, u64, u64, char)]) -> String {
    let header = "start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n".to_string();
    let row = |(time, sector, length, op): &(&str, u64, u64, char)| {
        format!("{time} ; {sector} ; {length} ; {op} ; 0.0 ; 0.0\n")
    };
    rows.iter().fold(header, |text, r| text + &row(r))
}

/// The `summary.json` of a result in the lab.
#[track_caller]
fn summary(lab: &Lab, result: &str) -> Value {
    let text = std::fs::read_to_string(lab.path(result).join("summary.json")).expect("a summary");
    serde_json::from_str(&text).expect("a summary is JSON")
}

/// A count of a summary: `count(&summary, "all", "completed")`.
#[track_caller]
fn count(summary: &Value, scope: &str, name: &str) -> u64 {
    summary["counts"][scope][name].as_u64().unwrap_or_else(|| panic!("no count {scope}.{name}"))
}

/// The ids of the cautions of a summary.
fn cautions(summary: &Value) -> Vec<&str> {
    summary["cautions"].as_array().expect("cautions").iter().filter_map(|c| c["id"].as_str()).collect()
}

/// The records of a result, in the order of the source.
#[track_caller]
fn sorted(lab: &Lab, result: &str) -> Vec<Record> {
    let mut records = lab.records(result);
    records.sort_by_key(|r| (r.target, r.pass, r.sequence));
    records
}

/// The twin oracle: returns the records of a command and asserts that its shown plan gives the same. The archive knows the plan, too.
#[track_caller]
fn twins(lab: &Lab, number: usize, command: &str) -> [Vec<Record>; 2] {
    let shown = lab.expect(0, &format!("{command} --show-plan -o never")).out;
    assert!(!lab.path("never").exists());
    lab.file("plan.toml", &shown);
    let [typed, planned] = ["typed", "planned"].map(|name| format!("{name}{number}"));
    lab.expect(0, &format!("{command} -o {typed}"));
    lab.expect(0, &format!("run plan.toml --no-progress -o {planned}"));
    assert_eq!(lab.expect(0, &format!("show {planned} --show-plan")).out, shown, "{command}");
    let records = [typed, planned].map(|name| sorted(lab, &name));
    assert!(!records[0].is_empty(), "{command}");
    records
}

/// First requested sector.
fn sector(record: &Record) -> u64 {
    record.requested.offset / 512
}

/// Maximum number of records in flight on one target, from their times alone. A completion at the moment of another's submission makes room
/// for it.
fn most_in_flight<'a>(records: impl IntoIterator<Item = &'a Record>) -> i64 {
    let both = |r: &Record| Some([(r.submitted?.0, 1), (r.completed?.0, -1)]);
    let mut events: Vec<(u64, i64)> = records.into_iter().filter_map(both).flatten().collect();
    events.sort_unstable();
    let flying = events.iter().scan(0, |n, (_, step)| {
        *n += step;
        Some(*n)
    });
    flying.max().unwrap_or(0)
}
