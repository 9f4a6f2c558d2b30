//! The driver finds what a target does wrong, and what it says repeats it.

use std::process::{Command, Output};

fn driver(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_iosonar-fuzz")).args(args).output().unwrap()
}

#[test]
fn finding_is_reported_saved_and_reproducible() {
    let found = driver(&["--seconds", "0.5", "--seed", "5", "broken"]);
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    assert_eq!(found.status.code(), Some(1), "{text}");
    assert!(text.contains("seed 5") && text.contains("FAILED with input"), "{text}");
    let after = |words: &str| text.split(words).nth(1).unwrap().split_whitespace().next().unwrap();
    let kept = std::fs::read(after("input: ")).unwrap();
    assert_eq!(kept.len() % 7, 3);
    std::fs::remove_file(after("input: ")).unwrap();
    let again = driver(&["--seed", "5", "--run", after("--run "), "broken"]);
    assert_eq!(again.status.code(), Some(101));
    assert!(String::from_utf8_lossy(&again.stderr).contains("broken"));
}

#[test]
fn target_without_findings_succeeds() {
    let ended = driver(&["--seconds", "0.2", "seek_list"]);
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success() && text.contains("seek_list") && text.contains("runs"), "{text}");
}

#[test]
fn rejects_unknown_arguments() {
    for args in [&["no_such_target"][..], &["--seconds", "0"], &["--seed"]] {
        assert_eq!(driver(args).status.code(), Some(2), "{args:?}");
    }
}
