//! Plans executed by several processes: streams of IOzone's command line, which are processes there, too.

use crate::live::Running;
use crate::*;
use iosonar_plan::Op;
use iosonar_testkit::{signal, tool, until};
use std::collections::BTreeSet;
use std::path::Path;

/// Hash of the issued requests, for each target of a result.
fn issued(lab: &Lab, dir: &str) -> Vec<String> {
    let info = run_info(lab, dir);
    let targets = info["targets"].as_array().unwrap().iter();
    targets.map(|target| target["issued_hash"].as_str().unwrap().to_string()).collect()
}

fn run_info(lab: &Lab, dir: &str) -> Value {
    serde_json::from_slice(&std::fs::read(lab.path(&format!("{dir}/run.json"))).unwrap()).unwrap()
}

/// Final state of a run.
fn state(lab: &Lab, dir: &str) -> String {
    run_info(lab, dir)["state"]["state"].as_str().unwrap().into()
}

/// Processes that a process has started.
fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(|n| n.parse().unwrap()).collect::<Vec<_>>()).collect()
}

fn is_there(pid: u32) -> bool {
    // An ended process that was not waited for has no command line any more.
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| !words.is_empty())
}

/// A long run of two processes, and their ids.
fn long_run(lab: &Lab, words: &str) -> (Running, Vec<u32>) {
    let running = Running::of(&mut lab.command(&format!("iozone -t 2 -s 4g -r 4k -+O 2000 {words}")));
    let writes = |file: &str| lab.path(file).metadata().is_ok_and(|file| file.len() >= 64 << 10);
    until("both streams write", || writes("iozone.DUMMY.0") && writes("iozone.DUMMY.1"));
    let found = children(running.id());
    assert_eq!(found.len(), 2);
    (running, found)
}

fn has_no_files(lab: &Lab) -> bool {
    !lab.path("iozone.DUMMY.0").exists() && !lab.path("iozone.DUMMY.1").exists()
}

/// Processes, threads and the printed plan issue the same requests.
#[test]
fn processes_and_threads_issue_the_same_requests() {
    let lab = lab();
    let words = "-t 2 -s 256k -r 4k -x -i 0 -i 1 -i 2 -i 8";
    let ended = lab.expect(0, &format!("iozone {words} --out processes"));
    assert!(ended.out.contains("Throughput test with 2 processes"), "{}", ended.out);
    assert!(ended.out.contains("Min throughput per process"), "{}", ended.out);
    let ended = lab.expect(0, &format!("iozone {words} -T --out threads"));
    assert!(ended.out.contains("Throughput test with 2 threads"), "{}", ended.out);
    lab.file("plan.toml", lab.expect(0, &format!("iozone {words} --show-plan")).out);
    lab.expect(0, "run plan.toml --no-progress -o planned");
    let hashes = issued(&lab, "processes");
    assert!(hashes.len() == 2 && hashes[0] != hashes[1], "{hashes:?}");
    assert_eq!(hashes, issued(&lab, "threads"));
    assert_eq!(hashes, issued(&lab, "planned"));
    let records = lab.records("processes");
    let requests = |target: u16| {
        let own = records.iter().filter(move |r| r.target == target && matches!(r.op, Op::Read | Op::Write));
        own.count()
    };
    // Write, rewrite, read, reread, random read, random write and the mix: 64 records each.
    assert_eq!([requests(0), requests(1)], [7 * 64; 2]);
    let workers: BTreeSet<(u16, u16)> = records.iter().map(|r| (r.target, r.worker)).collect();
    assert_eq!(workers.into_iter().collect::<Vec<_>>(), [(0, 0), (1, 1)]);
    assert!(has_no_files(&lab));
    assert!(!lab.path("processes/parts").exists());
}

/// Requests of a phase start in all processes when the last of them has opened its file.
#[test]
fn processes_start_together() {
    let lab = lab();
    lab.expect(0, "iozone -t 2 -s 1m -r 4k -x -i 0 -i 1 --out r");
    let records = lab.records("r");
    for phase in 0..4u16 {
        let of = |is_step: bool| {
            records
                .iter()
                .filter(move |r| r.phase == phase && (r.op == Op::Open) == is_step && r.op != Op::Close)
        };
        let opened = of(true).filter_map(|r| r.completed).max().unwrap();
        let requests = of(false).filter(|r| matches!(r.op, Op::Read | Op::Write));
        let first = requests.filter_map(|r| r.submitted).min().unwrap();
        assert!(first >= opened, "phase {phase}: {first} before {opened}");
    }
}

/// Readers stop when the first has finished, even before they start; writers do not.
#[test]
fn first_finished_process_ends_a_read_test() {
    slow!();
    let lab = lab();
    let words = "iozone -t 2 -s 256k -r 4k -i 0 -i 1 -+n -d 2000000";
    let reads = |dir: &str, target: u16, op: Op| {
        lab.records(dir).iter().filter(|r| r.target == target && r.op == op).count()
    };
    lab.expect(0, &format!("{words} --out stonewall"));
    assert_eq!([reads("stonewall", 0, Op::Read), reads("stonewall", 1, Op::Read)], [64, 0]);
    assert_eq!([reads("stonewall", 0, Op::Write), reads("stonewall", 1, Op::Write)], [64, 64]);
    lab.expect(0, &format!("{words} -x --out without"));
    assert_eq!([reads("without", 0, Op::Read), reads("without", 1, Op::Read)], [64, 64]);
}

#[test]
fn a_signal_stops_all_processes_and_keeps_their_records() {
    let lab = lab();
    let (running, found) = long_run(&lab, "-i 0 -C --out r --json out.json");
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.code, 130, "{}", ended.err);
    assert!(ended.out.contains("iozone test not complete."), "{}", ended.out);
    assert!(found.into_iter().all(|pid| !is_there(pid)));
    assert!(has_no_files(&lab));
    let targets: BTreeSet<u16> = lab.records("r").iter().map(|r| r.target).collect();
    assert_eq!(targets.into_iter().collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn names_dead_process_and_keeps_records_of_others() {
    slow!();
    let lab = lab();
    let (running, found) = long_run(&lab, "-i 0 --out r");
    signal(found[1], "KILL");
    until("it has died", || !is_there(found[1]));
    running.signal("INT");
    let ended = running.end();
    assert!(ended.code != 0, "{}", ended.err);
    assert!(!is_there(found[0]));
    let records = lab.records("r");
    assert!(records.iter().any(|r| r.target == 0 && r.op == Op::Write));
    // The signal is the final state of the run, and does not hide an earlier failure.
    let lost = "process for iozone.DUMMY.1: its process ended before the run did (signal: 9";
    assert!(ended.code == 130 && ended.err.contains(lost), "{}", ended.err);
    assert_eq!(state(&lab, "r"), "interrupted");
    let shown = lab.expect(0, "show --all r").out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("process for iozone.DUMMY.1: its process ended"), "{shown}");

    // Without a signal: the other stream finishes its test, and the reason is reported.
    let lab = crate::lab();
    let words = "iozone -t 2 -s 8m -r 4k -+O 500 -i 0 -+n";
    let running = Running::of(&mut lab.command(words));
    until("the second one writes", || lab.path("iozone.DUMMY.1").metadata().is_ok_and(|f| f.len() > 0));
    signal(children(running.id())[1], "KILL");
    let ended = running.end();
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert!(ended.err.contains("process for iozone.DUMMY.1: its process ended"), "{}", ended.err);
}

/// No process outlives the one that started it.
#[test]
fn processes_end_when_their_coordinator_is_killed() {
    let lab = lab();
    let (running, found) = long_run(&lab, "-i 0");
    running.signal("KILL");
    until("all processes have ended", || found.iter().all(|pid| !is_there(*pid)));
    assert!(has_no_files(&lab));
}

#[test]
fn no_process_starts_if_one_refuses() {
    let lab = lab();
    lab.file("iozone.DUMMY.1", "somebody's");
    let ended = lab.expect(2, "iozone -t 2 -s 256k -r 4k -i 0 --out r --json out.json");
    assert!(ended.err.contains("process for iozone.DUMMY.1: "), "{}", ended.err);
    assert_eq!(std::fs::read_to_string(lab.path("iozone.DUMMY.1")).unwrap(), "somebody's");
    for name in ["iozone.DUMMY.0", "r", "out.json"] {
        assert!(!lab.path(name).exists(), "{name}");
    }
}

/// Checks before any machine is contacted.
#[test]
fn rejects_invalid_clients() {
    let lab = lab();
    lab.file("two", "# comment\nalpha /mnt iosonar\nbeta /mnt iosonar b.tmp\n");
    lab.file("short", "alpha /mnt\n");
    lab.file("same", "alpha /mnt iosonar x\nalpha /mnt iosonar x\n");
    for (words, why) in [
        ("-+m two -t 3", "-+m two: it names 2 clients, and -t has 3 streams"),
        ("-+m short -t 1", "-+m short: line 1: it has 2 words"),
        ("-+m same -t 2", "-+m: two streams on alpha use x in /mnt"),
        ("-+m none -t 2", "-+m none: "),
        ("-+m two", "-+m: its machines run streams: add -t"),
        ("-+m two -t 2 -T", "-+m: a stream on a machine is a process: remove -T"),
        ("-+m two -t 2 -F a b", "-+m: its file names the test files"),
        ("-+c host", "-+c: clients are started by this program"),
    ] {
        let ended = lab.expect(2, &format!("iozone {words}"));
        assert!(ended.err.contains(why), "{words}: {}", ended.err);
    }
    let plan = lab.expect(0, "iozone -+m two -t 2 -i 0 --show-plan").out;
    assert!(plan.contains("name = \"beta\"") && plan.contains("path = \"b.tmp\""), "{plan}");
}

/// IOzone's command line on typed machines, without anything installed there.
#[test]
fn iozone_streams_run_on_typed_hosts() {
    let lab = lab();
    lab.file("rsh.sh", "shift; exec sh -c \"$1\"\n");
    let cache = lab.path("cache").display().to_string();
    let mut command =
        lab.command("iozone --on alpha:a.tmp local -s 256k -r 64k -i 0 -+n -x --json cells.json");
    let ended = Running::of(command.env("RSH", "sh rsh.sh").env("XDG_CACHE_HOME", cache)).end();
    assert_eq!(ended.code, 0, "{}", ended.err);
    let cells: Value = serde_json::from_slice(&std::fs::read(lab.path("cells.json")).unwrap()).unwrap();
    let cell = &cells["results"][0];
    assert_eq!((&cell["ops"], cell["per_stream"].as_array().map(Vec::len)), (&8.into(), Some(2)), "{cell}");
    assert!(!lab.path("a.tmp").exists() && !lab.path("iozone.DUMMY.1").exists());
    let refused = lab.expect(2, "iozone --on a[1- -i 0");
    assert!(refused.err.contains("--on a[1-: a bracket is not closed"), "{}", refused.err);
}

/// The remote program is another one.
#[test]
fn reports_failing_remote_shell() {
    let lab = lab();
    lab.file("one", "alpha /mnt iosonar\n");
    lab.file("ssh", "#!/bin/sh\necho \"$@\"\n");
    tool("chmod", &["+x", lab.path("ssh").to_str().unwrap()]);
    lab.file("refuses.sh", "echo Permission denied >&2; exit 255\n");
    lab.file("greets.sh", "echo iosonar-agent 1 Linux x86_64; echo \"$@\"\n");
    for (shell, why) in [
        ("./ssh -p 7", "host alpha: it ended without an answer"),
        ("false", "host alpha: it ended without an answer (exit status: 1)"),
        ("sh refuses.sh", "host alpha: Permission denied"),
        ("sh greets.sh", "host alpha: 'alpha exec sh -c "),
        ("no-such-shell", "host alpha: no-such-shell: "),
    ] {
        let mut command = lab.command("iozone -+m one -t 1 -i 0");
        let ended = Running::of(command.env("RSH", shell)).end();
        assert!(ended.code == 2 && ended.err.contains(why), "{shell}: {}", ended.err);
    }
    assert!(!Path::new(&lab.path("iozone.DUMMY.0")).exists());
}

/// A plan of a phase in which each of these targets has a separate process.
fn plan_of_processes(head: &str, targets: &[(&str, &str)]) -> String {
    let target = |(path, rest): &(&str, &str)| {
        format!("[[target]]\npath = \"{path}\"\nexecutor = \"process\"\n{rest}\n")
    };
    let targets: Vec<String> = targets.iter().map(target).collect();
    format!("version = 2\nrun_id = 1\nseed = 1\n{head}\n{}", targets.concat())
}

/// As in a run of one process: if every target ended early, the run aborts.
#[test]
fn a_run_whose_targets_all_ended_early_is_broken() {
    let lab = lab();
    let writes = "workload = { kind = \"generated\", order = \"sequential\", block_size = \"4KiB\", read_percent = 0, \
                  pace = { kind = \"closed\" }, stop = { requests = 100 } }";
    let head = "depth = 1\n[engine]\nkind = \"sync\"\n[access]\nbuffered = true\n[faults]\nmax_errors = 3\n";
    std::os::unix::fs::symlink("/dev/full", lab.path("full")).unwrap();
    let target = |path| (path, format!("size = \"1MiB\"\n{writes}"));
    let targets = [target("/dev/full"), target("full")];
    let plan = |count: usize| {
        let targets = targets[..count].iter().map(|(path, rest)| (*path, rest.as_str()));
        plan_of_processes(head, &targets.collect::<Vec<_>>())
    };
    let why = "more than 3 requests failed (--max-errors)";
    for (count, reason) in [
        (1, format!("process for /dev/full: target /dev/full: {why}")),
        (2, format!("target /dev/full: {why}; target full: {why}")),
    ] {
        let name = format!("r{count}");
        lab.file("plan.toml", plan(count));
        let ended = lab.expect(1, &format!("run plan.toml --no-progress -o {name}"));
        assert!(ended.err.contains(&format!("the run could not go on: {reason}\n")), "{}", ended.err);
        assert_eq!(run_info(&lab, &name)["state"], serde_json::json!({ "state": "broken", "why": reason }));
    }
}

/// Ctrl-C while processes read their loads: they stop reading, nothing is created, and the exit code is that of the signal.
#[test]
fn signal_ends_preparation_cleanly() {
    let lab = lab();
    lab.target("a", 1 << 20);
    lab.file("long.load", rows(&[("0.0", 0, 8, 'R')]) + &"0.0 ; 8 ; 8 ; R ; 0.0 ; 0.0\n".repeat(4_000_000));
    let head = "depth = 1\n[engine]\nkind = \"sync\"\n[access]\nbuffered = true\n";
    let workload = "workload = { kind = \"trace\", file = \"long.load\" }";
    lab.file("plan.toml", plan_of_processes(head, &[("a", workload)]));
    let running = Running::of(&mut lab.command("run plan.toml --no-progress -o r"));
    let reads = |pid: &u32| {
        let files = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        files.filter_map(|file| file.path().read_link().ok()).any(|file| file.ends_with("long.load"))
    };
    until("the process reads its load", || children(running.id()).iter().any(reads));
    let found = children(running.id());
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.code, 130, "{}", ended.err);
    assert!(ended.err.contains("the run was stopped before it started"), "{}", ended.err);
    assert!(found.iter().all(|pid| !is_there(*pid)) && !lab.path("r").exists());
}

/// A machine that does not answer is not waited for after Ctrl-C.
#[test]
fn signal_ends_the_wait_for_a_host() {
    let lab = lab();
    lab.file("one", "alpha /mnt iosonar\n");
    lab.file("rsh.sh", "touch waits; exec sleep 600\n");
    let running = Running::of(lab.command("iozone -+m one -t 1 -i 0").env("RSH", "sh rsh.sh"));
    until("the shell waits", || lab.path("waits").exists());
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.code, 130, "{}", ended.err);
}

/// A connection that breaks during the transfer loses only the records not yet received. They stay on the other machine.
#[test]
fn broken_connection_keeps_records_of_other_processes() {
    let lab = lab();
    for name in ["a", "b", "tmp"] {
        std::fs::create_dir(lab.path(name)).unwrap();
    }
    let program = env!("CARGO_BIN_EXE_iosonar");
    lab.file("clients", format!("alpha a {program}\nbeta b {program}\n"));
    let shell = "case $1 in alpha) exec sh -c \"$2\" ;; esac\n\
                 TMPDIR=$PWD/tmp sh -c \"$2\" |\n\
                 { sed -u '/{\"file\":{\"name\":\"records.log\"/q'; head -c 1000; kill $$; }\n";
    lab.file("rsh.sh", shell);
    let mut command = lab.command("iozone -+m clients -t 2 -s 1m -r 4k -i 0 -+n --out r");
    let ended = Running::of(command.env("RSH", "sh rsh.sh")).end();
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert!(ended.err.contains("host beta: records.log ends after 1000 of "), "{}", ended.err);
    let written =
        |target: u16| lab.records("r").iter().filter(|r| r.target == target && r.op == Op::Write).count();
    assert!(written(0) == 256 && written(1) < 256, "{} {}", written(0), written(1));
    assert_eq!(state(&lab, "r"), "broken");
    assert!(!lab.path("r/parts").exists());
    let (_, kept) = ended.err.split_once("its records are in ").expect("it says where");
    let kept = Path::new(kept.split_once(" there").expect("it says where").0);
    assert!(kept.starts_with(lab.path("tmp")), "{}", kept.display());
    let all = iosonar_testkit::records(kept);
    assert_eq!(all.iter().filter(|r| r.op == Op::Write).count(), 256);
}

/// Two signals while records are merged: no log that looks complete stays, and the remaining files are named.
#[test]
fn aborted_merge_keeps_records_of_all_processes() {
    slow!();
    let lab = lab();
    let mut running = Running::of(&mut lab.command("iozone -t 2 -s 512k -r 4k -+O 25 -i 0 -+n --out r"));
    let log = lab.path("r/parts/1/records.log");
    until("the second process records", || log.exists());
    // The process keeps its open file. The merge waits for a writer of the FIFO.
    std::fs::rename(&log, lab.path("records")).unwrap();
    tool("mkfifo", &[log.to_str().unwrap()]);
    until("records are merged", || lab.path("r/records.log.tmp").exists());
    running.signal("INT");
    running.until(|line| line.contains("the run is over, its result is being finished"));
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.code, 130, "{}", ended.err);
    assert!(
        ended.err.contains("aborted; what each process recorded until now is in r/parts"),
        "{}",
        ended.err
    );
    assert!(!lab.path("r/records.log").exists() && !lab.path("r/records.parquet").exists());
    assert_eq!(state(&lab, "r"), "broken");
    let why = run_info(&lab, "r")["state"]["why"].as_str().unwrap().to_string();
    assert!(why.contains("are not merged; they are in ") && why.ends_with("r/parts"), "{why}");
    assert_eq!(lab.records("r/parts/0").iter().filter(|r| r.op == Op::Write).count(), 128);
}

/// Texts of another machine are shown in lines that name it, and without control characters.
#[test]
fn escapes_text_from_other_hosts() {
    let lab = lab();
    lab.file("one", "alpha /mnt iosonar\n");
    let shell = "echo iosonar-agent 1 Linux x86_64; sleep 1\n\
                 printf 'in the log\\033[2J\\n' >&2\n\
                 printf '%s\\n' '{\"refused\":{\"why\":\"no\\u001b[2J\\niosonar: forged\"}}'\n";
    lab.file("rsh.sh", shell);
    let ended = Running::of(lab.command("iozone -+m one -t 1 -i 0").env("RSH", "sh rsh.sh")).end();
    assert_eq!(ended.code, 2, "{}", ended.err);
    let lines: BTreeSet<&str> = ended.err.lines().collect();
    let expected = [r"host alpha: in the log\u{1b}[2J", r"iosonar: host alpha: no\u{1b}[2J\niosonar: forged"];
    assert_eq!(lines, BTreeSet::from(expected), "{}", ended.err);
}

/// A range is shared out among hosts as the plan says; nothing is started.
#[test]
fn hosts_get_equal_parts_of_a_range() {
    let lab = lab();
    let line = "run --on a b -t x --size 1MiB --bs 4k --rw write --share";
    let parts = lab.expect(0, &format!("{line} split --show-plan")).out;
    assert_eq!(parts.matches("region = \"512KiB\"").count(), 2, "{parts}");
    assert_eq!(
        (parts.matches("offset = \"512KiB\"").count(), parts.matches("requests = 128").count()),
        (1, 2),
        "{parts}"
    );
    let whole = lab.expect(0, &format!("{line} each --show-plan")).out;
    assert_eq!(whole.matches("requests = 256").count(), 2, "{whole}");
    let alone = lab.expect(2, "run -t x --size 1MiB --rw read --share split").err;
    assert!(alone.contains("--share split: no target is that of several hosts"), "{alone}");
    let open = lab.expect(2, "run --on a b -t x --rw read --share split").err;
    assert!(open.contains("its range has no size to share out: give --size in bytes"), "{open}");
}
