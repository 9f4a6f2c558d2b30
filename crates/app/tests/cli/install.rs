//! Requirements of an installed program, and its own version output.

use crate::*;
use std::process::Command;

/// The oldest C library on which the program must start: those of Debian 12 and RHEL 9 are not older.
const OLDEST_GLIBC: (u32, u32) = (2, 34);

/// Parses `GLIBC_2.34`; `None` for versions of other libraries, and for `GLIBC_PRIVATE`.
fn glibc(version: &str) -> Option<(u32, u32)> {
    let (major, minor) = version.strip_prefix("GLIBC_")?.split_once('.')?;
    let minor = minor.split('.').next().unwrap_or(minor);
    Some((major.parse().ok()?, minor.parse().ok()?))
}

// hypot of the standard library needed 2.35.
#[test]
fn the_program_starts_on_an_old_c_library() {
    let Ok(dump) = Command::new("objdump").args(["-T", env!("CARGO_BIN_EXE_iosonar")]).output() else {
        println!("SKIPPED: the C library's versions were not checked, because objdump is not installed");
        return;
    };
    let text = String::from_utf8_lossy(&dump.stdout);
    let needs: Vec<&str> = text.lines().filter(|line| line.contains("*UND*")).collect();
    let version = |line: &str| line.split_whitespace().find_map(|word| glibc(word.trim_matches(['(', ')'])));
    if cfg!(target_env = "gnu") {
        assert!(needs.iter().any(|line| version(line).is_some()), "{text}");
    }
    let newer: Vec<&&str> = needs.iter().filter(|line| version(line) > Some(OLDEST_GLIBC)).collect();
    assert!(newer.is_empty(), "{newer:#?}");
}

#[test]
fn versions_are_compared_as_numbers() {
    assert!(glibc("GLIBC_2.2.5") < glibc("GLIBC_2.34") && glibc("GLIBC_2.34") < glibc("GLIBC_2.100"));
    assert_eq!((glibc("GLIBC_PRIVATE"), glibc("GCC_3.0")), (None, None));
}

// The commit may change while a test runs: it must be one of this repository.
#[test]
fn the_version_names_the_commit() {
    let said = lab().expect(0, "--version").out;
    let rest = said.strip_prefix(concat!("iosonar ", env!("CARGO_PKG_VERSION"))).expect("name and version");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let git = |args: &[&str]| Command::new("git").args(["-C", root]).args(args).output();
    let is_checkout = std::path::Path::new(root).join(".git").exists();
    if !is_checkout || !git(&["describe", "--always"]).is_ok_and(|out| out.status.success()) {
        assert_eq!(rest, "\n");
        return;
    }
    let commit = rest.strip_prefix(" (commit ").and_then(|rest| rest.strip_suffix(")\n")).expect("a commit");
    let known = git(&["rev-parse", "--verify", "--quiet", &format!("{commit}^{{commit}}")]).expect("git");
    assert!(known.status.success(), "{said}");
}
