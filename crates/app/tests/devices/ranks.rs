//! Runs and analyses on the ranks of OpenMPI's `mpirun`, all of them on this machine.

use crate::common::*;
use iosonar_testkit::{Ended, Lab};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// OpenMPI's launcher; the number of ranks and the command follow.
fn mpirun(lab: &Lab) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe"]).current_dir(lab.path("."));
    // Many ranks on few CPUs: those that wait leave them to the others.
    command.env("OMPI_MCA_mpi_yield_when_idle", "1").env("IOSONAR_LEDGER", "off");
    command
}

/// A command of `iosonar-mpi` on this number of ranks.
fn on_ranks(lab: &Lab, ranks: usize, line: &str) -> Ended {
    let mut command = mpirun(lab);
    command.args(["-np", &ranks.to_string(), env!("CARGO_BIN_EXE_iosonar-mpi")]).args(line.split(' '));
    Ended::of(command.output().unwrap())
}

/// The summary of a result.
fn shown(lab: &Lab, result: &str) -> Value {
    serde_json::from_str(&lab.run(&format!("show --json {result}")).out).unwrap()
}

/// The process of a rank that works in the directory of the lab.
fn process_of(lab: &Lab, rank: usize) -> String {
    let dir = lab.path(".").canonicalize().unwrap();
    let number = format!("OMPI_COMM_WORLD_RANK={rank}");
    let is_it = |process: &Path| {
        let environment = std::fs::read(process.join("environ")).unwrap_or_default();
        std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == dir)
            && environment.split(|byte| *byte == 0).any(|word| word == number.as_bytes())
    };
    let mut all = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let process = all.find(|process| is_it(process)).expect("the rank is alive");
    process.file_name().unwrap().to_string_lossy().into_owned()
}

/// Check 13: results do not depend on the number of ranks, and are those of one process.
#[test]
fn an_analysis_does_not_depend_on_the_number_of_ranks() {
    needs!(beside others; "mpirun");
    let lab = lab();
    lab.expect(0, "generate mixed a.load --duration 900s --rate 1000 --size 1GiB --seed 5");
    let options =
        "--engine sim --size 1GiB --sim-service 90us --sim-jitter 600us --sim-errors 5000 --no-progress";
    lab.run(&format!("replay a.load {options} -t dev -o r"));
    let expected = lab.expect_done("analyze --json r").out;
    assert!(lab.path("r/records.parquet").metadata().unwrap().len() > 1 << 20);
    for ranks in [1, 2, 7, 8] {
        let ended = on_ranks(&lab, ranks, "analyze --json r");
        assert_eq!(ended.code, 0, "{ranks} ranks: {}", ended.err);
        assert!(ended.out == expected, "{ranks} ranks: {}", ended.out);
    }
    let text = lab.expect_done("show --json r").out;
    assert_eq!(on_ranks(&lab, 3, "show --json r").out, text);
    let options = "plot r --only sonar,throughput,latency --throughput-window 3s";
    lab.expect_done(&format!("{options} -o one"));
    let ended = on_ranks(&lab, 3, &format!("{options} -o three"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    let mut pictures = 0;
    for picture in std::fs::read_dir(lab.path("one")).unwrap() {
        let name = picture.unwrap().file_name();
        let of = |folder: &str| std::fs::read(lab.path(folder).join(&name)).unwrap();
        assert!(of("one") == of("three"), "{name:?}");
        pictures += 1;
    }
    assert!(pictures >= 3, "{pictures}");
}

/// The message of a command that fails is printed once, and all ranks end.
#[test]
fn a_failure_of_ranks_is_told_once() {
    needs!(beside others; "mpirun");
    let lab = lab();
    let ended = on_ranks(&lab, 3, "analyze nowhere");
    assert_eq!(ended.code, 2, "{}", ended.err);
    assert_eq!(ended.err.matches("iosonar: ").count(), 1, "{}", ended.err);
    lab.expect(0, "generate mixed a.load --duration 1s --rate 10 --size 1MiB --seed 5");
    let once = on_ranks(&lab, 3, "load generate mixed b.load --duration 1s");
    assert!(once.code == 2 && once.err.contains("start this command with 'iosonar', once"), "{}", once.err);
    assert!(!lab.path("b.load").exists());
    let misused = on_ranks(&lab, 3, "analyze --no-such-option");
    assert_eq!(misused.code, 2, "{}", misused.err);
    assert_eq!(misused.err.matches("unexpected argument").count(), 1, "{}", misused.err);
}

/// Check 13: the figures of a run are the sum of those of its ranks, with counts and with records.
#[test]
fn a_run_on_ranks_is_the_sum_of_its_parts() {
    needs!(beside others; "mpirun");
    let lab = lab();
    let write = "run -t f{rank} --create --size 1MiB --rw write --bs 4k --iodepth 4 --collect summary --no-progress -o r";
    let ended = on_ranks(&lab, 8, write);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let whole = shown(&lab, "r");
    assert_eq!(whole["counts"]["all"]["completed"], 8 * 256);
    let mut sum = 0;
    for rank in 0..8 {
        let part = shown(&lab, &format!("r/parts/{rank}"));
        assert_eq!(part["counts"]["all"]["completed"], 256, "rank {rank}");
        sum += part["latency"]["all"]["mean_ns"].as_u64().unwrap();
        assert_eq!(lab.path(&format!("f{rank}")).metadata().unwrap().len(), 1 << 20);
    }
    // Each mean is rounded.
    let mean = whole["latency"]["all"]["mean_ns"].as_u64().unwrap();
    assert!(mean.abs_diff(sum / 8) <= 1, "{mean} {sum}");
    lab.expect_done("collect r -o c");
    let collected = shown(&lab, "c");
    for figure in ["counts", "latency", "delay", "response", "throughput", "errors", "limits"] {
        assert_eq!(whole[figure], collected[figure], "{figure}");
    }
    assert_eq!(std::fs::read_dir(lab.path("r/parts")).unwrap().count(), 0, "collect has fetched all parts");
    // Each rank reads the file that another one has written.
    let ended = on_ranks(&lab, 8, "run -t f{rank+1} --size 1MiB --rw read --bs 64k --no-progress -o back");
    assert_eq!(ended.code, 0, "{}", ended.err);
    let back = shown(&lab, "back");
    assert_eq!(back["counts"]["all"]["transferred_bytes"], 8 << 20);
    assert_eq!(back["targets"][7]["path"], "rank7:f0");
    assert!(!lab.path("back/parts").exists());
    // One file in common: each rank writes its part of it.
    lab.target("common", 1 << 20);
    let ended =
        on_ranks(&lab, 8, "run -t common --share split --size 1MiB --rw write --bs 4k --no-progress -o s");
    assert_eq!(ended.code, 0, "{}", ended.err);
    let written = std::fs::read(lab.path("common")).unwrap();
    assert!(
        written.len() == 1 << 20 && written.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0))
    );
    assert_eq!(shown(&lab, "s")["counts"]["all"]["completed"], 256);
}

/// Check 13 with many more ranks than CPUs.
#[test]
fn sixty_four_ranks_execute_a_plan() {
    needs!(beside others; "mpirun");
    let lab = lab();
    let line = "run -t f{rank} --create --size 64KiB --rw write --bs 4k --engine null --collect summary --no-progress --json -o r";
    let ended = on_ranks(&lab, 64, line);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let all: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(
        (&all["counts"]["all"]["completed"], all["hosts"].as_array().unwrap().len()),
        (&(64 * 16).into(), 64)
    );
}

/// A rank that refuses stops all before anything is written.
#[test]
fn a_rank_that_refuses_stops_all() {
    needs!(beside others; "mpirun");
    let lab = lab();
    for rank in 0..3 {
        lab.target(&format!("f{rank}"), 1 << 20);
    }
    let ended = on_ranks(&lab, 4, "run -t f{rank} --size 1MiB --rw write --bs 4k --no-progress -o r");
    assert_eq!(ended.code, 2, "{}", ended.err);
    let told: Vec<&str> = ended.err.lines().filter(|line| line.starts_with("iosonar: ")).collect();
    assert!(told.len() == 1 && told[0].starts_with("iosonar: rank 3: f3: No such file"), "{}", ended.err);
    assert!(!lab.path("r").exists());
    let ended = on_ranks(&lab, 2, "run -t f0 --size 1MiB --rw read --bs 4k --no-progress -o r");
    assert!(ended.code == 2 && ended.err.contains("rank 1 gets no target"), "{}", ended.err);
    let plan = lab.expect_done("run -t f0 --size 1MiB --rw read --bs 4k --show-plan").out;
    std::fs::write(
        lab.path("p.toml"),
        plan.replace("path = \"f0\"", "path = \"f0\"\nexecutor = { rank = 0 }"),
    )
    .unwrap();
    assert!(lab.expect(2, "run p.toml").err.contains("the plan names ranks: start it with 'mpirun"));
}

/// The clock of some ranks is ahead: each reading is within its error of the difference that the namespace defines.
#[test]
fn clocks_of_ranks_are_known_to_their_error() {
    needs!(beside others; "mpirun");
    let lab = lab();
    let line = "run -t f{rank} --create --size 256KiB --rw write --bs 4k --rate-iops 64 --no-progress -o r";
    let (program, words) = (env!("CARGO_BIN_EXE_iosonar-mpi"), line.split(' '));
    let mut command = mpirun(&lab);
    command.args(["-np", "2", program]).args(words.clone());
    command.args([":", "-np", "2", "unshare", "--time", "--monotonic", "100", "--fork", program]).args(words);
    let ended = Ended::of(command.output().unwrap());
    assert_eq!(ended.code, 0, "{}", ended.err);
    let run: Value = serde_json::from_slice(&std::fs::read(lab.path("r/run.json")).unwrap()).unwrap();
    assert!(run["hosts"][1]["clock"].is_null());
    for rank in [2, 3] {
        let readings = run["hosts"][rank]["clock"]["readings"].as_array().unwrap();
        assert_eq!(readings.len(), 2, "{readings:?}");
        for reading in readings {
            let off = reading["ahead_ns"].as_i64().unwrap() - 100_000_000_000;
            assert!(off.unsigned_abs() <= reading["error_ns"].as_u64().unwrap(), "rank {rank}: {reading}");
        }
    }
    let all = shown(&lab, "r");
    assert_eq!(all["counts"]["all"]["completed"], 4 * 64);
    // All began together: otherwise it would have lasted 100 s.
    assert!(all["span"]["last_due_ns"].as_u64().unwrap() < 50_000_000_000, "{}", all["span"]);
}

/// A signal to one rank ends the run of all in order; a rank that dies ends all, and nothing that was recorded is lost.
#[test]
fn a_signal_and_a_death_of_a_rank_end_all() {
    needs!(beside others; "mpirun");
    let lab = lab();
    for (signal, code) in [("TERM", 143), ("KILL", 137)] {
        let line = format!(
            "run -t {signal}{{rank}} --create --size 1GiB --rw write --bs 4k --rate-iops 50 --no-progress -o {signal}"
        );
        let mut command = mpirun(&lab);
        command.args(["-np", "3", env!("CARGO_BIN_EXE_iosonar-mpi")]).args(line.split(' '));
        let running = std::thread::spawn(move || Ended::of(command.output().unwrap()));
        (0..3).for_each(|rank| lab.until_records(&format!("{signal}/parts/{rank}")));
        let pid = process_of(&lab, 1);
        assert!(Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap().success());
        let ended = running.join().unwrap();
        assert_eq!(ended.code, code, "{signal}: {}", ended.err);
    }
    let stopped = shown(&lab, "TERM");
    assert!(stopped["run"]["state"].to_string().contains("interrupted"), "{}", stopped["run"]);
    assert!(stopped["counts"]["all"]["completed"].as_u64().unwrap() > 0 && !lab.path("TERM/parts").exists());
    // A file that changed a moment ago is one that is still written.
    let files = ["records.log", "series.csv", "run.json"];
    let written = (0..3).flat_map(|rank| files.map(|file| lab.path(&format!("KILL/parts/{rank}/{file}"))));
    assert!(Command::new("touch").args(["-d", "1 minute ago"]).args(written).status().unwrap().success());
    lab.run("collect KILL -o c");
    let collected = shown(&lab, "c");
    for part in collected["hosts"].as_array().unwrap() {
        assert!(part["completed"].as_u64().unwrap() > 0, "{part}");
    }
}
