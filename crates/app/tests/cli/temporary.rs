//! `TMPDIR` of a missing directory: each command that needs a temporary file names it, and changes nothing.

use crate::*;
use iosonar_testkit::Ended;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::Stdio;

fn files(lab: &Lab) -> BTreeMap<PathBuf, u64> {
    let entries = std::fs::read_dir(lab.path("")).unwrap().flatten();
    entries.map(|entry| (entry.path(), entry.metadata().unwrap().len())).collect()
}

#[test]
fn rejects_directories_for_temporary_files_that_do_not_exist() {
    let lab = lab();
    lab.target("t", 1 << 20);
    lab.file("l.load", rows(&[("0.000", 0, 8, 'R'), ("0.100", 8, 8, 'R'), ("2.000", 0, 8, 'W')]));
    // More requests than are sorted in memory, the last one before the others.
    let line = |n: u32| format!("{}.{:06} ; {} ; 8 ; R ; 0.0 ; 0.0\n", n / 1000, n % 1000, n % 100 * 8);
    lab.file("long.load", (0..263_000).rev().map(line).collect::<String>());
    let stdin = std::fs::read(lab.path("l.load")).unwrap();
    let before = files(&lab);
    for command in [
        "fill t",
        "fill new --size 1M",
        "xdd -target t -op write -numreqs 4 -reqsize 8",
        "iozone -s 64k -r 4k -i 0 -f new",
        "blkreplay t",
        "calibrate --rounds 1",
        "derive overload l.load --window 1s --out derived",
        "analyze -",
        "plot - -o pictures",
        "convert l.load --to csv",
        "replay long.load -t t --backward sort -o replayed --speed 1000000",
    ] {
        let mut child =
            lab.command(command).env("TMPDIR", "/nope/tmp").stdin(Stdio::piped()).spawn().unwrap();
        // A command that has ended takes no input.
        let _ = child.stdin.take().unwrap().write_all(&stdin);
        let ended = Ended::of(child.wait_with_output().unwrap()).with_code(2, command);
        for needle in ["/nope/tmp", "the value of TMPDIR", "No such file or directory", "set TMPDIR to"] {
            assert!(ended.err.contains(needle), "{command}: {needle}: {}", ended.err);
        }
        assert_eq!(files(&lab), before, "{command}");
    }
}
