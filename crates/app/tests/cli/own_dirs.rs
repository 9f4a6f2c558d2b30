//! Temporary directories of commands: private, removed at the end, or by the next start of the command where one was killed. Files of
//! others stay, whatever their name.

use crate::live::Running;
use crate::*;
use iosonar_testkit::until;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Names in a directory that start with a dot.
fn hidden(dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.retain(|name| name.starts_with('.'));
    names.sort();
    names
}

/// A command whose temporary files are in `tmp` in the lab.
fn command(lab: &Lab, args: &str) -> Command {
    let mut command = lab.command(args);
    command.env("TMPDIR", lab.path("tmp"));
    command
}

/// Kills a command as soon as it has a temporary directory, and starts another one.
#[track_caller]
fn next_start_removes_what_a_killed_one_has_left(kind: &str, args: &str, next: &str, code: i32) {
    let lab = lab();
    let tmp = lab.path("tmp");
    std::fs::create_dir(&tmp).unwrap();
    lab.target("t", 1 << 20);
    // A directory of another program, with a similar name.
    std::fs::create_dir_all(tmp.join(format!(".iosonar-{kind}-1-0/run"))).unwrap();
    let foreign = tmp.join(format!(".iosonar-{kind}-notes"));
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("text"), "somebody's").unwrap();
    let before = hidden(&tmp);
    let mut running = command(&lab, args).stderr(Stdio::null()).spawn().unwrap();
    let own = tmp.join(format!(".iosonar-{kind}-{}-0", running.id()));
    until("its directory", || own.join("lock").metadata().is_ok_and(|mark| mark.len() > 40));
    assert_eq!(own.metadata().unwrap().mode() & 0o777, 0o700);
    running.kill().unwrap();
    running.wait().unwrap();
    assert!(own.exists(), "{kind}");
    let ended = iosonar_testkit::Ended::of(command(&lab, next).output().unwrap());
    assert_eq!(ended.code, code, "{}", ended.err);
    assert_eq!(hidden(&tmp), before, "{kind}");
    assert_eq!(std::fs::read(foreign.join("text")).unwrap(), b"somebody's");
}

#[test]
fn fill_removes_leftovers_of_a_killed_fill() {
    next_start_removes_what_a_killed_one_has_left(
        "fill",
        "fill big --size 2g --iodepth 1 --bs 4k --no-progress",
        "fill small --size 64k --no-progress",
        0,
    );
}

#[test]
fn xdd_removes_leftovers_of_a_killed_xdd() {
    next_start_removes_what_a_killed_one_has_left(
        "xdd",
        "xdd -op read -targets 1 t -reqsize 8 -numreqs 1000000 -throttle ops 50",
        "xdd -op read -targets 1 t -reqsize 8 -numreqs 2",
        0,
    );
}

#[test]
fn iozone_removes_leftovers_of_a_killed_iozone() {
    next_start_removes_what_a_killed_one_has_left(
        "iozone",
        "iozone -i 0 -s 1g -r 4k -o -f big",
        "iozone -i 0 -s 64k -r 64k -f small",
        0,
    );
}

#[test]
fn doctor_removes_leftovers_of_a_killed_doctor() {
    let lab = lab();
    std::fs::create_dir(lab.path("dir")).unwrap();
    std::fs::write(lab.path("dir/.iosonar-doctor-1"), "somebody's").unwrap();
    lab.run("doctor dir");
    assert_eq!(hidden(&lab.path("dir")), [".iosonar-doctor-1"]);
}

/// `derive` and `convert` create their results beside the final place.
#[test]
fn keeps_foreign_partial_results() {
    let lab = lab();
    lab.expect(0, "generate bursts in.load.gz --rate 100 --duration 2s --size 1MiB");
    for dir in [".out.partial", ".d.partial", "o/.in.derived.split.001.partial"] {
        std::fs::create_dir_all(lab.path(dir)).unwrap();
        std::fs::write(lab.path(dir).join("plan.toml"), "somebody's").unwrap();
    }
    lab.expect(0, "convert --to archive in.load.gz out");
    lab.expect(0, "derive overload in.load.gz --window 100ms --split 1 --out o");
    for dir in [".out.partial", ".d.partial", "o/.in.derived.split.001.partial"] {
        assert_eq!(std::fs::read(lab.path(dir).join("plan.toml")).unwrap(), b"somebody's", "{dir}");
    }
    assert_eq!(hidden(&lab.path("")), [".d.partial", ".out.partial"]);
    assert_eq!(hidden(&lab.path("o")).len(), 1);
}

/// An existing file at the journal's path stays when the run is refused.
#[test]
fn refused_run_removes_its_journal_but_no_foreign_one() {
    let lab = lab();
    lab.target("t", 1 << 20);
    lab.file("j", "somebody's");
    let run = "run -t t --rw write --bs 4k --number-ios 4 --no-progress";
    lab.expect(2, &format!("{run} --journal j -o r"));
    assert_eq!(std::fs::read(lab.path("j")).unwrap(), b"somebody's");
    lab.expect(2, &format!("{run} --journal new --depth 600000 -o r"));
    assert!(!lab.path("new").exists() && !lab.path("r").exists());
}

/// Two runs on the files of one directory: the second one is refused, and the files of the first stay.
#[test]
fn refused_second_layout_run_keeps_files_of_the_first() {
    let lab = lab();
    let run = |out: &str| {
        format!("layout run . --size 8m --methods buffered+64k --rounds 20 --no-progress --out {out}")
    };
    let first = Running::of(&mut lab.command(&run("one")));
    until("its file", || lab.path("iosonar-buffered+64k").exists());
    let second = lab.run(&run("two"));
    let first = first.end();
    assert_eq!(first.code, 0, "{}", first.err);
    assert_eq!(second.code, 2, "{}", second.err);
    assert!(second.err.contains("iosonar-buffered+64k"), "{}", second.err);
    assert!(!lab.path("iosonar-buffered+64k").exists());
}

/// A file that appears after the run's check: the engine refuses it, and it stays.
#[test]
fn keeps_file_created_while_free_space_is_aged() {
    slow!();
    let lab = lab();
    let run = "layout run . --size 8m --methods buffered+64k --age holes=4000,hole=4k,spacing=4k --no-progress --out o";
    let running = Running::of(&mut lab.command(run));
    let aged = || hidden(&lab.path("")).iter().any(|name| name.starts_with(".iosonar-age-1"));
    until("the first hole", aged);
    lab.file("iosonar-buffered+64k", "somebody's");
    let ended = running.end();
    assert_eq!(ended.code, 2, "{}", ended.err);
    assert_eq!(std::fs::read(lab.path("iosonar-buffered+64k")).unwrap(), b"somebody's");
    assert_eq!(hidden(&lab.path("")), [""; 0]);
}

#[test]
fn next_run_removes_aging_files_of_a_killed_run() {
    let lab = lab();
    let run = |age: &str| {
        lab.command(&format!(
            "layout run . --size 64k --methods buffered+64k --rounds 1 {age} --no-progress --out o"
        ))
    };
    let mut running = run("--age holes=20000,hole=4k,spacing=4k").stderr(Stdio::null()).spawn().unwrap();
    until("some files", || hidden(&lab.path("")).len() > 50);
    running.kill().unwrap();
    running.wait().unwrap();
    // A file of another program, with such a name.
    lab.file(".iosonar-age-x", "somebody's");
    lab.file(".iosonar-age-900000", "somebody's");
    assert!(hidden(&lab.path("")).len() > 50);
    let ended = iosonar_testkit::Ended::of(run("").output().unwrap());
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("aged free space were left"), "{}", ended.err);
    assert_eq!(hidden(&lab.path("")), [".iosonar-age-900000", ".iosonar-age-x"]);
}
