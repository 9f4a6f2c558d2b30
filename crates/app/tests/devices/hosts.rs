//! Runs on several machines: network namespaces with shifted clocks and an `sshd` each, reached by the system's own ssh.

use crate::common::*;
use crate::machines::{Machine, Machines};
use iosonar_archive::{HostRun, Record, RunInfo};
use iosonar_plan::Op;
use iosonar_testkit::{Ended, Lab, signal, tool};
use serde_json::Value;
use std::process::Command;
use std::thread;

/// A command with the remote shell of the machines.
fn command(lab: &Lab, machines: &Machines, line: &str) -> Command {
    let mut command = lab.command(line);
    command.env("RSH", &machines.shell);
    command
}

pub fn end(lab: &Lab, machines: &Machines, line: &str) -> Ended {
    Ended::of(command(lab, machines, line).output().unwrap())
}

fn info(lab: &Lab, result: &str) -> RunInfo {
    run_info(&lab.path(result))
}

/// A target of each machine: all of them share the file system.
pub fn targets(lab: &Lab, machines: &Machines) -> String {
    let word = |machine: &Machine| {
        let file = format!("target-{}", machine.name);
        if !lab.path(&file).exists() {
            lab.target(&file, 8 << 20);
        }
        format!("{}:{}", machine.name, lab.path(&file).display())
    };
    machines.all.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Each reading of a clock is right within its error: the true difference is that of the namespaces.
#[track_caller]
fn check_clocks(machines: &Machines, info: &RunInfo) {
    let host = |machine: &Machine| -> HostRun {
        let own = info.hosts.iter().find(|host| host.name.as_deref() == Some(&machine.name));
        own.unwrap_or_else(|| panic!("{} is in {:?}", machine.name, info.hosts)).clone()
    };
    for machine in &machines.all {
        let clock = host(machine).clock.expect("its clock is another one");
        assert!(clock.known.exchanges >= 64 && clock.readings.len() >= 2, "{clock:?}");
        for reading in &clock.readings {
            let off = reading.ahead_ns.abs_diff(machine.ahead_ns);
            assert!(off <= reading.error_ns, "{}: {reading:?} is off by {off}", machine.name);
        }
        let greatest = clock.readings.iter().map(|reading| reading.error_ns).max().unwrap();
        assert!(
            clock.known.stepped_at_ns.is_none() && clock.known.max_error_ns <= greatest + 10_000_000,
            "{clock:?}"
        );
    }
}

/// Check 9: the program and the load are sent, the machines start within the error of their clocks, and the records are on one clock.
#[test]
fn a_replay_on_three_machines_is_one_result() {
    needs!("ssh", "sshd", "ssh-keygen", "ip", "unshare");
    let lab = lab();
    let machines = Machines::start(&lab, &[100, 3, 0]);
    let lines: Vec<Line> =
        (0..400).map(|i| Line { time: i * 5_000_000, sector: i * 8, length: 8, op: Op::Write }).collect();
    lab.file("web.load", load_text(&lines));
    let on = targets(&lab, &machines);
    let ended = end(&lab, &machines, &format!("replay web.load --on {on} --start-grace 1s --out r"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    let info = info(&lab, "r");
    check_clocks(&machines, &info);
    let paths: Vec<&str> = info.targets.iter().map(|target| target.path.split(':').next().unwrap()).collect();
    assert_eq!(paths, ["m0", "m1", "m2"]);
    assert!(info.targets.iter().all(|target| target.source == "web.load"), "{:?}", info.targets);
    let records = lab.records("r");
    assert_eq!(records.len(), 3 * 400);
    // All have the load's times: with an error in the clocks they would be shifted against each other.
    for target in 0..3u16 {
        let error = info.hosts[usize::from(target)].clock.as_ref().unwrap().known.max_error_ns;
        for record in records.iter().filter(|record| record.target == target) {
            let due = record.sequence * 5_000_000;
            assert!(
                record.due.0.abs_diff(due) <= 2 * error + 1_000,
                "{record:?} is due at {due}, error {error}"
            );
        }
    }
    // The program and the load are there once, and whole.
    for machine in &machines.all {
        let cache = machine.home(&lab).join("iosonar");
        let files: Vec<String> = std::fs::read_dir(&cache)
            .unwrap()
            .flatten()
            .flat_map(|dir| std::fs::read_dir(dir.path()).unwrap().flatten())
            .map(|file| file.file_name().to_string_lossy().into_owned())
            .collect();
        assert!(
            files.len() == 2 && files.contains(&"iosonar".into()) && files.contains(&"web.load".into()),
            "{files:?}"
        );
        assert!(machine.agents().is_empty());
    }
    let text = lab.expect(0, "show --all r").out;
    assert!(text.contains("Each host") && text.contains("clocks known to "), "{text}");
    let summary: Value = serde_json::from_str(&lab.expect(0, "show --json r").out).unwrap();
    assert_eq!(summary["hosts"].as_array().unwrap().len(), 3);
    assert!(summary["hosts"][0]["clock"]["max_error_ns"].as_u64().unwrap() > 0, "{}", summary["hosts"]);
    // One machine of them alone: both results compare.
    let one = on.split(' ').next().unwrap();
    let ended = end(&lab, &machines, &format!("replay web.load --on {one} --start-grace 1s --out one"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(lab.expect_done("compare one r").out.contains("requests"));
    // Percentiles are those of all records together.
    let mut latencies: Vec<u64> = records.iter().map(|record| record.latency().unwrap().0).collect();
    latencies.sort_unstable();
    let p50 = summary["latency"]["all"]["p50_ns"].as_u64().unwrap();
    let exact = latencies[latencies.len().div_ceil(2) - 1];
    assert!(p50.abs_diff(exact) <= exact / 100 + 1, "{p50} {exact}");
}

/// Ways of different lengths: the true difference is within the error, which a run can be refused for.
#[test]
fn clocks_are_known_to_half_the_round_trip_whatever_its_ways_are() {
    needs!("ssh", "sshd", "ssh-keygen", "ip", "unshare", "python3");
    let lab = lab();
    let machines = Machines::start(&lab, &[100]);
    lab.file(
        "relay.py",
        "import socket, sys, threading, time, os\n\
         s = socket.create_connection((sys.argv[1], int(sys.argv[2])))\n\
         def pump(read, write, delay):\n\
         \twhile True:\n\
         \t\tdata = read()\n\
         \t\tif not data: break\n\
         \t\ttime.sleep(delay)\n\
         \t\twrite(data)\n\
         \tos._exit(0)\n\
         threading.Thread(target=pump, args=(lambda: os.read(0, 65536), s.sendall, 0.005)).start()\n\
         pump(lambda: s.recv(65536), lambda data: os.write(1, data), 0.020)\n",
    );
    let relay =
        format!("{} -o ProxyCommand=\"python3 {} %h %p\"", machines.shell, lab.path("relay.py").display());
    // The remote shell's words are split at blanks: a script keeps the quotes.
    lab.file("rsh.sh", format!("exec {relay} \"$@\"\n"));
    lab.target("t", 1 << 20);
    let run = |more: &str| {
        let line = format!(
            "run --on m0:{} --remote-path {} --rw randread --bs 4k --rate-iops 50 --number-ios 100 {more}",
            lab.path("t").display(),
            env!("CARGO_BIN_EXE_iosonar")
        );
        let rsh = format!("sh {}", lab.path("rsh.sh").display());
        Ended::of(lab.command(&line).env("RSH", rsh).output().unwrap())
    };
    let refused = run("--max-clock-error 1ms --out refused");
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(
        refused.err.contains("m0: its clock is known to ")
            && refused.err.contains("--max-clock-error is 1ms"),
        "{}",
        refused.err
    );
    assert!(!lab.path("refused").exists());
    let ended = run("--out r");
    assert_eq!(ended.code, 0, "{}", ended.err);
    let info = info(&lab, "r");
    check_clocks(&machines, &info);
    let clock = info.hosts[0].clock.as_ref().unwrap();
    // The middle of an exchange is wrong by half of the difference of both ways, about 7.5 ms.
    let off = clock
        .readings
        .iter()
        .map(|reading| reading.ahead_ns.abs_diff(machines.all[0].ahead_ns))
        .max()
        .unwrap();
    assert!(off > 2_000_000 && clock.known.least_round_trip_ns > 20_000_000, "{off} {clock:?}");
}

/// How a machine is lost.
#[derive(Debug, Clone, Copy)]
enum Loss {
    Killed,
    Halted,
    Cut,
}

fn lose(machine: &Machine, loss: Loss) {
    match loss {
        Loss::Killed => machine.agents().into_iter().for_each(|agent| signal(agent, "KILL")),
        Loss::Halted => machine.agents().into_iter().for_each(|agent| signal(agent, "STOP")),
        Loss::Cut => machine.cut(),
    }
}

/// Loses one of three machines during a run with this policy, and checks what is kept.
fn lose_one(loss: Loss, policy: &str) {
    let lab = lab();
    let machines = Machines::start(&lab, &[5, 0, 9]);
    let seconds = if matches!(loss, Loss::Killed) { 6 } else { 20 };
    let line = format!(
        "run --on {} --remote-path {} --rw randread --bs 4k --rate-iops 100 --runtime {seconds} --on-lost-host {policy} --out r \
         --progress json --progress-every 1s",
        targets(&lab, &machines),
        env!("CARGO_BIN_EXE_iosonar")
    );
    let running = thread::scope(|scope| {
        let ended = scope.spawn(|| end(&lab, &machines, &line));
        until("all machines record", || {
            machines.all.iter().all(|machine| {
                let scratch = std::fs::read_dir(machine.home(&lab)).unwrap().flatten();
                let mut logs = scratch.filter_map(|dir| dir.path().join("records.log").metadata().ok());
                logs.any(|log| log.len() > 0)
            })
        });
        thread::sleep(std::time::Duration::from_secs(2));
        lose(&machines.all[1], loss);
        ended.join().unwrap()
    });
    let case = format!("{loss:?} {policy}");
    assert_eq!(running.code, 1, "{case}: {}", running.err);
    let info = info(&lab, "r");
    let lost = info.hosts[1].lost.as_ref().unwrap_or_else(|| panic!("{case}: {:?}", info.hosts));
    let why = match loss {
        Loss::Killed => "its process ended",
        Loss::Halted | Loss::Cut => "it gave no sign of life for 10 s",
    };
    assert_eq!(lost.why, why, "{case}");
    assert!(lost.records.is_some(), "{case}");
    let state = format!("{:?}", info.state);
    assert!(state.contains("host m1: "), "{case}: {state}");
    let records = lab.records("r");
    let last = |target: u16| {
        let own =
            records.iter().filter(|record| record.target == target).filter_map(|record| record.completed);
        own.max().unwrap().0
    };
    // The data of the others is complete up to the loss, or to the end of the run.
    let end = if policy == "continue" { seconds * 1_000_000_000 - 200_000_000 } else { lost.at_ns };
    for target in [0, 2] {
        assert!(last(target) + 500_000_000 >= end, "{case}: {} ends at {}", target, last(target));
        if policy == "stop" {
            assert!(last(target) < lost.at_ns + 1_500_000_000, "{case}: {} ends at {}", target, last(target));
        }
    }
    assert!(records.iter().all(|record| record.target != 1), "{case}");
    for machine in [&machines.all[0], &machines.all[2]] {
        until("no process remains", || machine.agents().is_empty());
    }
    if matches!(loss, Loss::Killed) {
        until("no process remains", || machines.all[1].agents().is_empty());
    }
    if matches!(loss, Loss::Halted) {
        collect_from_halted(&lab, &machines);
    }
    let text = lab.expect_done("show --all r").out;
    assert!(text.contains("m1 was lost at "), "{case}: {text}");
}

/// A machine that continues after its coordinator has left stops, and keeps its records, which are fetched later.
fn collect_from_halted(lab: &Lab, machines: &Machines) {
    let machine = &machines.all[1];
    machine.agents().into_iter().for_each(|agent| signal(agent, "CONT"));
    until("the machine that was halted stops", || machine.agents().is_empty());
    // A machine that cannot be reached costs nothing.
    let refused = Ended::of(lab.command("collect r").env("RSH", "false").output().unwrap());
    assert!(refused.code == 2 && !lab.path("r-collected").exists(), "{}", refused.err);
    let ended = end(lab, machines, "collect r");
    assert_eq!(ended.code, 0, "{}", ended.err);
    let (first, all) = (lab.records("r"), lab.records("r-collected"));
    let of =
        |records: &[Record], target: u16| records.iter().filter(|record| record.target == target).count();
    assert!([0, 2].iter().all(|target| of(&first, *target) == of(&all, *target)));
    assert!(of(&all, 1) > 100, "{}", of(&all, 1));
    let lost = info(lab, "r-collected").hosts[1].lost.clone().unwrap();
    assert!(lost.is_collected && lost.records.is_none(), "{lost:?}");
    let again = end(lab, machines, "collect r-collected");
    assert!(again.code == 2 && again.err.contains("no host has kept records of it"), "{}", again.err);
    let again = end(lab, machines, "collect r --out again");
    assert_eq!(again.code, 2, "its records were removed: {}", again.err);
    assert!(!lab.path("again").exists());
}

/// Check 10: SIGKILL, SIGSTOP and a cut network for one of three machines, with both policies, at the same time.
#[test]
fn a_lost_machine_is_named_and_the_data_of_others_is_complete() {
    needs!("ssh", "sshd", "ssh-keygen", "ip", "unshare");
    thread::scope(|scope| {
        for loss in [Loss::Killed, Loss::Halted, Loss::Cut] {
            for policy in ["stop", "continue"] {
                scope.spawn(move || lose_one(loss, policy));
            }
        }
    });
}

/// The figures of a result without records, which another one with all records has, too.
fn figures(lab: &Lab, result: &str) -> Value {
    let mut all: Value =
        serde_json::from_str(&lab.expect_done(&format!("show --json {result}")).out).unwrap();
    let figures = ["counts", "latency", "delay", "response", "span", "throughput", "parts", "errors"];
    all.as_object_mut().unwrap().retain(|name, _| figures.contains(&name.as_str()));
    all
}

/// Check 11: counts that each machine has made of its records, and that were merged, are those of all records in one pass.
#[test]
fn merged_counts_of_three_machines_are_those_of_all_records() {
    needs!("ssh", "sshd", "ssh-keygen", "ip", "unshare");
    let lab = lab();
    let machines = Machines::start(&lab, &[100, 3, 0]);
    let options = "--rw randrw --bs 4k --iodepth 4 --number-ios 1500 --collect summary --bad-latency 1ms";
    let on = targets(&lab, &machines);
    let ended = end(&lab, &machines, &format!("run {options} --on {on} --out r --no-progress"));
    assert!([0, 4].contains(&ended.code), "{}", ended.err);
    assert_eq!(lab.records("r").len(), 0);
    let kept: Vec<String> = info(&lab, "r").hosts.into_iter().map(|host| host.records.unwrap()).collect();
    assert!(kept.iter().all(|dir| std::path::Path::new(dir).join("records.log").exists()), "{kept:?}");
    let shown = lab.expect_done("show --all r").out;
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("The records stay on the hosts (m0:/"), "{shown}");
    let analysed = |result: &str| -> Value {
        let ended = lab.expect_done(&format!("analyze --json {result}"));
        serde_json::from_str(&ended.out).unwrap()
    };
    let of_counts = analysed("r");
    assert!(of_counts["remarks"].to_string().contains("'iosonar collect r' fetches them"), "{of_counts}");
    assert!(of_counts["demand"].is_null(), "{of_counts}");
    lab.expect_done("plot r --only sonar,latency,throughput -o pictures");
    for refused in ["compare r r", "convert r r.csv", "convert r r.load", "verify r", "show --deskew r"] {
        let ended = lab.run(refused);
        let says =
            ended.err.contains("its records are on the hosts: fetch them with 'iosonar collect r' first");
        assert!(ended.code != 0 && says, "{refused}: {}", ended.err);
    }
    let refused = lab.run("plot r --only throughput --throughput-window 3ms -o windows");
    assert!(refused.code != 0 && refused.err.contains("leave --throughput-window out"), "{}", refused.err);
    // Without one machine the others are fetched, and it is named.
    let script =
        format!("#!/bin/sh\ncase \" $* \" in *' m2 '*) exit 255 ;; esac\nexec {} \"$@\"\n", machines.shell);
    lab.file("without-m2", script);
    iosonar_testkit::tool("chmod", &["+x", lab.path("without-m2").to_str().unwrap()]);
    let mut command = lab.command("collect r --out two");
    let ended = Ended::of(command.env("RSH", lab.path("without-m2")).output().unwrap());
    assert!(ended.code == 1 && ended.err.contains("host m2: "), "{}", ended.err);
    assert_eq!(lab.records("two").len(), 2 * 1500);
    let left = info(&lab, "two").hosts.into_iter().map(|host| host.records).collect::<Vec<_>>();
    assert_eq!(left, [None, None, Some(kept[2].clone())]);
    let ended = end(&lab, &machines, "collect two --out all");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(kept.iter().all(|dir| !std::path::Path::new(dir).exists()), "{kept:?}");
    assert_eq!(lab.records("all").len(), 3 * 1500);
    assert_eq!(figures(&lab, "r"), figures(&lab, "all"));
    let summary: Value = serde_json::from_str(&lab.expect_done("show --json r").out).unwrap();
    assert_eq!(summary["limits"]["latency"]["limit_ns"], 1_000_000, "its limits are those of the run");
    let other = lab.run("analyze r --bad-latency 7ms");
    assert!(other.code == 2 && other.err.contains("with a limit of 1ms for latencies"), "{}", other.err);
    // Pictures come from these counts, too.
    let of_records = analysed("all");
    for path in ["/correlations/latency_delay", "/findings/bands"] {
        let figure = of_counts.pointer(path).unwrap_or_else(|| panic!("{path}: {of_counts}"));
        assert_eq!(Some(figure), of_records.pointer(path), "{path}");
    }
    let again = end(&lab, &machines, "collect all");
    assert!(again.code == 2 && again.err.contains("no host has kept records of it"), "{}", again.err);
}

/// Nothing remains on any machine if the coordinator is killed.
#[test]
fn no_process_outlives_a_killed_coordinator() {
    needs!("ssh", "sshd", "ssh-keygen", "ip", "unshare");
    let lab = lab();
    let machines = Machines::start(&lab, &[1, 0]);
    let line = format!(
        "run --on {} --remote-path {} --rw randread --bs 4k --rate-iops 100 --runtime 60 --out r",
        targets(&lab, &machines),
        env!("CARGO_BIN_EXE_iosonar")
    );
    let mut running = command(&lab, &machines, &line).stderr(std::process::Stdio::null()).spawn().unwrap();
    until("the machines run", || machines.all.iter().all(|machine| !machine.agents().is_empty()));
    thread::sleep(std::time::Duration::from_secs(2));
    running.kill().unwrap();
    running.wait().unwrap();
    until("no process remains", || machines.all.iter().all(|machine| machine.agents().is_empty()));
}

/// A program that dies on m1 while its part is being prepared.
const DIES: &str = "#!/bin/sh
case $XDG_CACHE_HOME$TMPDIR in *home-m1*) ;; *) exec PROGRAM \"$@\" ;; esac
orders=$TMPDIR/orders.$$
mkfifo \"$orders\"
PROGRAM \"$@\" < \"$orders\" &
exec 3> \"$orders\"
rm \"$orders\"
while IFS= read -r line; do
    case $line in *'\"prepare\"'*) kill -9 $!; exit 137 ;; esac
    printf '%s\\n' \"$line\" >&3
done
";

/// Each thing that can be wrong with a machine is named in one line, and nothing is written anywhere.
#[test]
fn what_is_wrong_with_a_machine_is_named_in_one_line() {
    needs!("ssh", "sshd", "ssh-keygen", "ip", "unshare");
    let lab = lab();
    let machines = Machines::start(&lab, &[0, 2]);
    lab.target("good", 1 << 20);
    let good = lab.path("good").display().to_string();
    let program = env!("CARGO_BIN_EXE_iosonar");
    let installed = format!("--remote-path {program}");
    // Another build: the same program with one more byte.
    let other = lab.path("other-build");
    std::fs::copy(program, &other).unwrap();
    std::io::Write::write_all(&mut std::fs::OpenOptions::new().append(true).open(&other).unwrap(), b"x")
        .unwrap();
    let other_build = format!("--remote-path {}", other.display());
    lab.file("broken", "#!/bin/sh\nexit 7\n");
    let broken = format!("--send-program {}", lab.path("broken").display());
    let missing = format!("m1:{}", lab.path("none/x").display());
    // On m1 the program is killed when it is to prepare its part.
    lab.file("dies", DIES.replace("PROGRAM", program));
    iosonar_testkit::tool("chmod", &["+x", lab.path("dies").to_str().unwrap()]);
    let dies = format!("--remote-path {}", lab.path("dies").display());
    let target = |name: &str| format!("{name}:{good}");
    let unchanged = std::fs::read(&good).unwrap();
    for (second, option, why) in [
        (
            target("nosuchhost.invalid"),
            &installed,
            "host nosuchhost.invalid: ssh: Could not resolve hostname",
        ),
        (
            target("closed"),
            &installed,
            "host closed: ssh: connect to host 127.0.0.1 port 1: Connection refused",
        ),
        (target("wrongkey"), &installed, "Permission denied"),
        (target("m1"), &other_build, ": it runs another build of iosonar"),
        (
            target("m1"),
            &"--remote-path /no/such/program".to_string(),
            ": the program does not start there (exit status: 127)",
        ),
        (target("m1"), &broken, "the program does not start there (exit status: 7)"),
        (missing, &installed, "No such file or directory"),
        (target("m1"), &dies, "host m1: it ended without an answer (exit status: 137)"),
    ] {
        let line = format!(
            "run --on m0:{good} {second} {option} --rw write --bs 4k --number-ios 8 --out r --no-progress"
        );
        let ended = end(&lab, &machines, &line);
        assert_eq!(ended.code, 2, "{second} {option}: {}", ended.err);
        let lines: Vec<&str> = ended.err.lines().filter(|line| line.contains(why)).collect();
        assert_eq!(lines.len(), 1, "{second} {option}: {}", ended.err);
        assert!(!lab.path("r").exists() && std::fs::read(&good).unwrap() == unchanged, "{second} {option}");
        for machine in &machines.all {
            until("no process remains", || machine.agents().is_empty());
        }
    }
}

/// Homes in which nothing can be stored, machines of another type, and noisy start files.
#[test]
fn homes_and_start_files_of_machines_are_named() {
    needs!("ssh", "sshd", "ssh-keygen", "ip", "unshare", "nsenter");
    let lab = lab();
    let machines = Machines::start(&lab, &[0]);
    let machine = &machines.all[0];
    let home = machine.home(&lab);
    lab.target("t", 1 << 20);
    let line = |name: &str| {
        format!(
            "run --on m0:{} --rw randread --bs 4k --number-ios 8 --out {name} --no-progress",
            lab.path("t").display()
        )
    };
    let refused = |why: &str| {
        let ended = end(&lab, &machines, &line("refused"));
        assert!(ended.code == 2 && ended.err.contains(why), "{why}: {}", ended.err);
        assert!(!lab.path("refused").exists() && machine.agents().is_empty());
    };
    let place = home.display().to_string();
    let unmount = || machine.mounts(&["umount", &place]);
    machine.mounts(&["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", &place]);
    refused("host m0: the program cannot be stored there: head: ");
    assert_eq!(machines.says("m0", &format!("find {place} -mindepth 2")).as_deref(), Some(""));
    unmount();
    machine.mounts(&["mount", "-t", "tmpfs", "-o", "size=1m,ro", "tmpfs", &place]);
    refused("host m0: the program cannot be stored there: mkdir: ");
    unmount();
    // A machine of another type, by what `uname` says there.
    std::fs::create_dir(home.join("bin")).unwrap();
    lab.file("home-m0/bin/uname", "#!/bin/sh\necho Linux riscv64\n");
    iosonar_testkit::tool("chmod", &["+x", home.join("bin/uname").to_str().unwrap()]);
    lab.file("home-m0/noise", format!("PATH={place}/bin:$PATH\n"));
    refused("host m0: it is a machine of type riscv64, and this program is for ");
    lab.file("home-m0/noise", "echo Welcome; echo to this machine\n");
    let ended = end(&lab, &machines, &line("r"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(
        ended
            .err
            .contains("host m0: its shell printed 2 lines before the program, which are skipped: Welcome"),
        "{}",
        ended.err
    );
    lab.file("home-m0/noise", "yes\n");
    refused("host m0: its shell prints more than 64 KiB before it starts a command");
}

/// Requests of a load go to two machines by turns, each at its time.
#[test]
fn a_load_is_shared_out_among_machines() {
    needs!("ssh", "sshd", "ssh-keygen", "ip", "unshare");
    let lab = lab();
    let machines = Machines::start(&lab, &[100, 0]);
    let lines: Vec<Line> = (0..101)
        .map(|i| Line { time: 7_000_000 + i * 3_000_000, sector: i * 8, length: 8, op: Op::Write })
        .collect();
    lab.file("web.load", load_text(&lines));
    lab.target("shared.img", 8 << 20);
    let file = lab.path("shared.img").display().to_string();
    let words = format!("replay web.load --on m0:{file} m1:{file} --share split --start-grace 1s --out r");
    let ended = end(&lab, &machines, &words);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let info = info(&lab, "r");
    let mut records = lab.records("r");
    records.sort_by_key(|record| record.executed.offset);
    assert_eq!(records.len(), lines.len());
    for (number, (record, line)) in records.iter().zip(&lines).enumerate() {
        assert_eq!((record.executed.offset, record.target), (line.sector * 512, number as u16 % 2));
        let error = info.hosts[number % 2].clock.as_ref().map_or(0, |clock| clock.known.max_error_ns);
        let due = line.time - lines[0].time;
        assert!(
            record.due.0.abs_diff(due) <= 2 * error + 20_000,
            "{record:?} is due at {due}, error {error}"
        );
    }
}

/// A state of the kernel's wall clock, until it is dropped.
struct WallClock {
    before: String,
}

/// Sets the status and the largest error in microseconds, and prints those before. `struct timex` begins with these numbers.
const ADJTIMEX: &str = r#"
import ctypes, struct, sys
libc, state = ctypes.CDLL(None, use_errno=True), bytearray(400)
def call(modes, status=0, error=0):
    struct.pack_into("@IllllI", state, 0, modes, 0, 0, error, 0, status)
    assert libc.adjtimex((ctypes.c_char * len(state)).from_buffer(state)) >= 0, ctypes.get_errno()
call(0)
_, _, _, error, _, status = struct.unpack_from("@IllllI", state)
print(status, error)
if len(sys.argv) > 1:
    call(0x14, int(sys.argv[1]), int(sys.argv[2]))
"#;

impl WallClock {
    fn set(status: &str, error: &str) -> WallClock {
        WallClock { before: tool("python3", &["-c", ADJTIMEX, status, error]) }
    }
}

impl Drop for WallClock {
    fn drop(&mut self) {
        let mut words = vec!["-c", ADJTIMEX];
        words.extend(self.before.split_whitespace());
        tool("python3", &words);
    }
}

/// Machines with one wall clock: the differences of their other clocks are those of the namespaces, within the kernel's error.
#[test]
fn clocks_are_known_by_wall_clocks_that_are_kept_equal() {
    needs!("ssh", "sshd", "ssh-keygen", "ip", "unshare", "python3");
    let lab = lab();
    let machines = Machines::start(&lab, &[100, 3]);
    let on = targets(&lab, &machines);
    let words = format!("run --rw randread --bs 4k --number-ios 200 --clock system --on {on} --no-progress");
    const UNSYNCHRONIZED: &str = "64";
    let unkept = WallClock::set(UNSYNCHRONIZED, "16000000");
    let refused = end(&lab, &machines, &format!("{words} --out refused"));
    assert!(refused.code == 2 && refused.err.contains("or remove --clock system"), "{}", refused.err);
    assert!(!lab.path("refused").exists());
    drop(unkept);
    let _kept = WallClock::set("0", "400");
    let ended = end(&lab, &machines, &format!("{words} --out r"));
    assert!([0, 4].contains(&ended.code), "{}", ended.err);
    let info = info(&lab, "r");
    check_clocks(&machines, &info);
    let readings = info.hosts.iter().flat_map(|host| &host.clock.as_ref().unwrap().readings);
    // Two errors of 400 us, which the kernel raises by 500 us each second.
    assert!(
        readings.clone().count() >= 4 && readings.clone().all(|one| one.error_ns > 800_000),
        "{:?}",
        info.hosts
    );
    let refused = end(&lab, &machines, &format!("{words} --max-clock-error 100us --out exact"));
    assert!(refused.code == 2 && refused.err.contains("and --max-clock-error is 100us"), "{}", refused.err);
}
