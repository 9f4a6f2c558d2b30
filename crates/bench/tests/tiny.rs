//! `./bench` must not rot: each of its lines runs briefly and prints figures, and its files are removed however it ends. No time is
//! asserted: that would measure the machine.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The folder of the programs; `None` if the product is not built.
fn programs() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_BIN_EXE_iosonar-bench")).parent()?;
    folder.join("iosonar").exists().then(|| folder.to_path_buf())
}

fn bench(results: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench"));
    command.env("CARGO_TARGET_DIR", results).args(args).stdin(Stdio::null());
    command
}

macro_rules! programs_or_skip {
    ($name:literal) => {
        match programs() {
            Some(folder) => folder.to_str().unwrap().to_string(),
            None => return iosonar_testkit::skip($name, "iosonar is not built: test the whole workspace"),
        }
    };
}

/// Held by tests that create zram devices: one checks which devices exist.
static ZRAMS: Mutex<()> = Mutex::new(());

#[test]
fn every_benchmark_prints_figures() {
    let _zrams = ZRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = programs_or_skip!("every_benchmark_prints_figures");
    let results = tempfile::tempdir().unwrap();
    let listed = bench(results.path(), &["--list"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let output = bench(results.path(), &["--tiny", "--programs", &folder]).output().unwrap();
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}{errors}");
    let kept = std::fs::read_to_string(results.path().join("bench/results.jsonl")).unwrap();
    let rows: Vec<Value> = kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(listed.lines().count() >= 9, "{listed}");
    for name in listed.lines() {
        let skipped = text.lines().any(|line| line.starts_with(&format!("SKIPPED: {name}: ")));
        let printed = text.lines().any(|line| line.starts_with(&format!("{name} ")));
        let was_kept = rows.iter().any(|row| row["line"] == name);
        assert!(skipped || (printed && was_kept), "{name}: {text}");
    }
    for row in rows {
        assert_sane(&row);
    }
    let left: Vec<_> = std::fs::read_dir(results.path().join("bench")).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "only the results stay");
}

/// Asserts a figure of plausible size for each repetition.
fn assert_sane(row: &Value) {
    let ours = row["ours"].as_array().unwrap();
    assert_eq!(ours.len(), 1, "{row}");
    let has_fio = row["fio"] != "none";
    let other = row["other"].as_str().unwrap();
    let theirs = row["theirs"].as_array().unwrap();
    assert_eq!(
        theirs.len(),
        usize::from(!other.is_empty() && (has_fio || !other.starts_with("fio"))),
        "{row}"
    );
    // Lateness may be 0, and a difference below that, also of two peaks; nothing may be lost, and no run may have a caution.
    let unit = row["unit"].as_str().unwrap();
    let may_be_none = ["us", "ms", "runs", "% of the speed"].contains(&unit)
        || ["lost", "growth"].iter().any(|word| row["what"].as_str().unwrap().contains(word));
    for value in ours.iter().chain(theirs) {
        let value = value.as_f64().unwrap();
        assert!(value.is_finite() && value.abs() < 1e9 && (may_be_none || value > 0.0), "{row}");
    }
    let has_aim = !row["aim"].as_str().unwrap().is_empty();
    assert!(!row["met"].is_null() || !has_aim || !has_fio, "{row}");
}

fn zrams() -> BTreeSet<String> {
    let names = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    names.map(|e| e.file_name().to_string_lossy().into_owned()).filter(|n| n.starts_with("zram")).collect()
}

#[test]
fn an_interrupted_bench_removes_its_device() {
    const NAME: &str = "an_interrupted_bench_removes_its_device";
    let folder = programs_or_skip!("an_interrupted_bench_removes_its_device");
    if let Some(why) = iosonar_testkit::lacks(&["python3"]) {
        return iosonar_testkit::skip(NAME, &why);
    }
    let _zrams = ZRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let results = tempfile::tempdir().unwrap();
    let before = zrams();
    let mut running = bench(results.path(), &["threads", "--pairs", "50", "--programs", &folder])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let ours = |zrams: BTreeSet<String>| zrams.difference(&before).cloned().collect::<BTreeSet<_>>();
    let mut made = BTreeSet::new();
    iosonar_testkit::until("a device is made, or there is none here", || {
        made = ours(zrams());
        !made.is_empty() || running.try_wait().unwrap().is_some()
    });
    let ended = running.try_wait().unwrap().is_some();
    if ended && made.is_empty() {
        return iosonar_testkit::skip(NAME, "no zram device can be made here");
    }
    iosonar_testkit::signal(running.id(), "INT");
    running.wait().unwrap();
    assert!(ours(zrams()).is_disjoint(&made), "{made:?} is left");
}

#[test]
fn kept_results_become_history_line_and_page() {
    let folder = programs_or_skip!("kept_results_become_history_line_and_page");
    let results = tempfile::tempdir().unwrap();
    let kept = results.path().join("kept");
    let keep = |more: &[&str]| {
        let mut args = vec!["--programs", folder.as_str(), "--history-dir", kept.to_str().unwrap()];
        args.extend(more);
        let output = bench(results.path(), &args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    keep(&["--tiny", "--keep", "parse", "clock"]);
    keep(&["--tiny", "--keep", "parse"]);
    let text = std::fs::read_to_string(kept.join("history.jsonl")).unwrap();
    let runs: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(runs.len(), 2);
    let rows = |run: &Value| run["rows"].as_array().unwrap().len();
    assert!(rows(&runs[0]) == 3 && rows(&runs[1]) == 1, "{text}");
    for name in ["date", "commit", "kernel", "cpu"] {
        assert!(runs[0][name].is_string(), "{name}");
    }
    let page = std::fs::read_to_string(kept.join("README.md")).unwrap();
    assert!(page.contains("parse.svg") && page.contains("clock_gettime"), "{page}");
    let picture = std::fs::read(kept.join("parse.svg")).unwrap();
    std::fs::remove_file(kept.join("parse.svg")).unwrap();
    keep(&["--history"]);
    assert_eq!(std::fs::read(kept.join("parse.svg")).unwrap(), picture);
    let refused =
        bench(results.path(), &["--tiny", "--keep", "--programs", &folder, "parse"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
}
