//! The steps of a run, on files: an early end removes what was created, and a full disk loses no record.

use iosonar_archive::{ArchiveError, RunState};
use iosonar_engine::{Alone, Control, Rendezvous};
use iosonar_plan::Plan;
use iosonar_runner::{Begun, CarryOutError, Problem, Ready};
use std::path::Path;

/// Writes a new file.
fn plan(file: &Path) -> Plan {
    let text = format!(
        "version = 2\nrun_id = 1\nseed = 1\ndepth = 2\naccess = {{ buffered = true }}\nengine = {{ kind = 'threads' }}\n\
         [[target]]\npath = '{}'\nfile = {{ create = true }}\nworkload = {{ kind = 'generated', order = 'sequential', at_end = 'extend', \
         block_size = '4KiB', read_percent = 0, pace = {{ kind = 'closed' }}, stop = {{ requests = 16 }} }}",
        file.display()
    );
    Plan::from_toml(&text).unwrap()
}

fn ready(file: &Path) -> Ready {
    Ready::new(plan(file), &Default::default(), |_, _| {}).unwrap()
}

fn begun(file: &Path, result: &Path) -> Result<Begun, ArchiveError> {
    let ready = ready(file);
    let environment = ready.environment(&Default::default());
    ready.begin(environment, result, "")
}

#[test]
fn dropping_a_run_removes_created_target() {
    let folder = tempfile::tempdir().unwrap();
    let (file, result) = (folder.path().join("file"), folder.path().join("result"));
    let was_ready = ready(&file);
    assert!(file.exists());
    drop(was_ready);
    assert!(!file.exists());
    drop(begun(&file, &result).unwrap());
    assert!(!file.exists());
}

struct Refuses;

impl Rendezvous for Refuses {
    fn begin(&self, _: u16, _: u64) -> Result<u64, String> {
        Err("somebody else cannot".into())
    }

    fn end(&self, _: u16, _: bool) -> bool {
        unreachable!("nothing was begun")
    }
}

#[test]
fn run_that_fails_to_start_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let (file, result) = (folder.path().join("file"), folder.path().join("result"));
    let begun = begun(&file, &result).unwrap();
    let refused = begun.execute(&Control::default(), &Refuses, |_| {});
    assert!(matches!(refused, Err(CarryOutError::NotBegun(_))));
    assert!(!file.exists() && !result.exists());
}

#[test]
fn failed_conversion_keeps_log_and_reports_error() {
    let folder = tempfile::tempdir().unwrap();
    let (file, result) = (folder.path().join("file"), folder.path().join("result"));
    let begun = begun(&file, &result).unwrap();
    let ended = begun.execute(&Control::default(), &Alone, |scene| while !scene.is_over() {}).unwrap();
    // In the place where Parquet is written.
    std::fs::create_dir_all(result.join("records.parquet.tmp/full")).unwrap();
    let concluded = ended.encode(Default::default()).sum_up().unwrap();
    assert!(matches!(concluded.problems[..], [Problem::NotConverted(_), ..]), "{:?}", concluded.problems);
    assert!(matches!(concluded.info.state, RunState::Unconverted(_)));
    assert_eq!(concluded.figures.summary.counts.all.completed, 16);
    assert!(result.join("records.log").exists() && file.exists());
}

#[test]
fn unsaved_summary_still_has_judgement() {
    let folder = tempfile::tempdir().unwrap();
    let (file, result) = (folder.path().join("file"), folder.path().join("result"));
    let begun = begun(&file, &result).unwrap();
    let ended = begun.execute(&Control::default(), &Alone, |scene| while !scene.is_over() {}).unwrap();
    // In the place where the summary is written.
    std::fs::create_dir_all(result.join("summary.json/full")).unwrap();
    let concluded = ended.encode(Default::default()).sum_up().unwrap();
    assert!(matches!(concluded.problems[..], [Problem::SummaryNotKept(_)]), "{:?}", concluded.problems);
    assert!(matches!(concluded.info.state, RunState::Unconverted(_)));
    assert!(concluded.figures.summary.judgement.is_some());
}
