//! Analyses on the ranks of OpenMPI's `mpirun`, all of them on this machine.

use crate::common::*;
use iosonar_testkit::{Ended, Lab};
use std::process::Command;

/// A command of `iosonar-mpi` on this number of ranks.
fn on_ranks(lab: &Lab, ranks: usize, line: &str) -> Ended {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-np", &ranks.to_string()]);
    command.arg(env!("CARGO_BIN_EXE_iosonar-mpi")).args(line.split(' ')).current_dir(lab.path("."));
    // Many ranks on few CPUs: those that wait leave them to the others.
    command.env("OMPI_MCA_mpi_yield_when_idle", "1").env("IOSONAR_LEDGER", "off");
    Ended::of(command.output().unwrap())
}

/// Check 13: results do not depend on the number of ranks, and are those of one process.
#[test]
fn an_analysis_does_not_depend_on_the_number_of_ranks() {
    needs!("mpirun");
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
    let shown = lab.expect_done("show --json r").out;
    assert_eq!(on_ranks(&lab, 3, "show --json r").out, shown);
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
    needs!("mpirun");
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
