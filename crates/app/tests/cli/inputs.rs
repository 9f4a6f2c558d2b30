//! Inputs from pipes, and inputs that are read whole: storage and limits.

use crate::*;
use iosonar_testkit::{Ended, until};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A load of about a mebibyte.
fn long_load() -> String {
    (0..20_000).fold(rows(&[]), |text, i| {
        text + &format!(
            "{:6}.{:09} ; {:10} ; {:3} ; R ; 0.0 ; 0.0\n",
            i / 1000,
            i % 1000 * 1_000_000,
            i * 8,
            8
        )
    })
}

/// The command with a separate directory for temporary files.
fn command(lab: &Lab, args: &str) -> Command {
    std::fs::create_dir_all(lab.path("tmp")).unwrap();
    let mut command = lab.command(args);
    command.env("TMPDIR", lab.path("tmp")).stdin(Stdio::piped());
    command
}

fn temporary_files(lab: &Lab) -> usize {
    std::fs::read_dir(lab.path("tmp")).unwrap().count()
}

/// Feeds a command, which may end before it has read all input.
fn fed(mut command: Command, input: &str) -> Ended {
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input.as_bytes()));
        Ended::of(child.wait_with_output().unwrap())
    })
}

/// Whether a process has an open file below `directory`.
fn keeps_something(child: &Child, directory: &Path) -> bool {
    let descriptors = std::fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap();
    descriptors.flatten().any(|descriptor| {
        let is_below = std::fs::read_link(descriptor.path()).is_ok_and(|path| path.starts_with(directory));
        is_below && std::fs::metadata(descriptor.path()).is_ok_and(|found| found.len() > 0)
    })
}

#[test]
fn pipe_copies_never_remain_after_exit() {
    let load = long_load();
    for signal in ["KILL", "TERM", "INT"] {
        let lab = lab();
        let mut child = command(&lab, "analyze -").spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(load.as_bytes()).unwrap();
        until("the pipe is kept somewhere", || keeps_something(&child, &lab.path("tmp")));
        iosonar_testkit::signal(child.id(), signal);
        // A signal that this test has inherited as ignored ends nothing; the end of the pipe does.
        drop(stdin);
        child.wait_with_output().unwrap();
        assert_eq!(temporary_files(&lab), 0, "after SIG{signal}");
    }
}

#[test]
fn pipe_copies_are_limited() {
    let load = long_load();
    for args in [
        "analyze -",
        "plot - -o plots",
        "report - -o page.html",
        "compare - -",
        "derive adjacent - -o adjacent.load",
        "import /dev/stdin -o imported",
    ] {
        let lab = lab();
        let args = args.replacen("compare - -", "compare other -", 1);
        lab.file("other", rows(&[("0", 0, 8, 'R')]));
        let ended = fed(command(&lab, &format!("{args} --spool-limit 64k")), &load);
        assert_eq!(ended.code, 2, "{args}: {}", ended.err);
        for words in ["--spool-limit 64KiB", "TMPDIR", "store the input in a file"] {
            assert!(ended.err.contains(words), "{args}: no {words:?} in {}", ended.err);
        }
        assert_eq!(temporary_files(&lab), 0, "{args}");
        assert_eq!(std::fs::read_dir(lab.path("")).unwrap().count(), 2, "{args} leaves something");
    }
    let lab = lab();
    let kept = fed(command(&lab, "analyze - --spool-limit 2m --json"), &load);
    assert_eq!(kept.code, 0, "{}", kept.err);
    lab.file("load", &load);
    let read = lab.expect(0, "analyze load --json").out;
    assert_eq!(kept.out.replace("\"-\"", "\"load\""), read);
}

#[test]
fn imports_records_from_a_pipe() {
    let lab = lab();
    lab.file("load", rows(&[("0", 0, 8, 'R'), ("1", 8, 8, 'W')]));
    lab.expect(0, &format!("replay load {SIM} -o run"));
    let result = lab.expect(0, "export run --to replay").out;
    let imported = fed(command(&lab, "import /dev/stdin -o imported"), &result);
    assert_eq!(imported.code, 0, "{}", imported.err);
    assert_eq!(lab.records("imported").len(), 2);
}

/// Creates sparse files larger than the limits.
fn large(lab: &Lab) {
    lab.target("text", (16 << 20) + 1);
    lab.target("list", (256 << 20) + 1);
    lab.target("t.img", 1 << 20);
    lab.file("load", rows(&[("0", 0, 8, 'R')]));
}

#[test]
fn rejects_oversized_inputs_before_reading() {
    let lab = lab();
    large(&lab);
    let xdd = "xdd -op read -targets 1 t.img -reqsize 8 -numreqs 4";
    for (args, file, why) in [
        ("run FILE".to_string(), "text", "16 MiB"),
        (format!("{xdd} -setup FILE"), "text", "16 MiB"),
        (format!("{xdd} -seek load FILE"), "list", "256 MiB"),
        ("report load --places FILE -o page.html".to_string(), "text", "16 MiB"),
        ("run FILE".to_string(), "/dev/zero", "a character device"),
        (format!("{xdd} -setup FILE"), "/dev/zero", "a character device"),
        (format!("{xdd} -seek load FILE"), "/dev/zero", "a character device"),
        ("report load --places FILE -o page.html".to_string(), "/dev/zero", "a character device"),
        ("run FILE".to_string(), "/", "a directory"),
        ("analyze FILE".to_string(), "/dev/zero", "a character device"),
    ] {
        let args = args.replace("FILE", file);
        // A command that reads without end fails here, instead of filling the memory.
        let mut limited = lab.command_under(&["sh", "-c", r#"ulimit -v 4000000; exec "$0" "$@""#], &args);
        let ended = Ended::of(limited.output().unwrap());
        assert_eq!(ended.code, 2, "{args}: {}", ended.err);
        assert!(ended.err.contains(file) && ended.err.contains(why), "{args}: {}", ended.err);
        assert!(!lab.path("page.html").exists(), "{args}");
    }
}

#[test]
fn reads_plan_from_a_pipe() {
    let lab = lab();
    lab.file("load", rows(&[("0", 0, 8, 'R')]));
    let plan = lab.expect(0, &format!("replay load {SIM} --show-plan")).out;
    let ran = fed(command(&lab, "run /dev/stdin --no-progress -o run"), &plan);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(lab.records("run").len(), 1);
}
