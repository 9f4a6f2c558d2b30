//! The commands of pages and help texts that record: they run as they stand, with loop devices in place of the reader's.
//! (`cli documented::` runs all others.)

use crate::common::*;
use iosonar_testkit::{Ended, Lab, LoopDevice, Shown, in_help, in_markdown};
use std::path::Path;
use std::process::{Command, Stdio};

/// Shortened versions of commands; a recording that would last until Ctrl-C ends by itself.
const SHORTENED: [(&str, &str); 3] = [
    ("--duration 8h", "--duration 1s"),
    ("--duration 20s", "--duration 6s"),
    ("--max-size 2GiB", "--max-size 2GiB --duration 1s"),
];

fn shown(lab: &Lab) -> Vec<Shown> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = |name: &str| in_markdown(name, &std::fs::read_to_string(root.join(name)).unwrap());
    let mut all = page("docs/record.md");
    for command in ["record", "check"] {
        let help = lab.expect(0, &format!("{command} --help")).out;
        all.extend(in_help(&format!("{command} --help"), &help));
    }
    all.retain(|shown| shown.command.contains("iosonar record"));
    all
}

/// Kills a recording, as input for `--cleanup`.
fn crashed(lab: &Lab, device: &str) {
    let mut recorder = lab.command(&format!("record {device} --no-progress -o monday"));
    let mut recorder = recorder.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the recording", || lab.path("monday/recording.json").exists());
    recorder.kill().unwrap();
    recorder.wait().unwrap();
}

fn run(shown: &Shown, devices: &[String; 2]) -> Ended {
    let lab = lab();
    lab.expect(0, "generate mixed db.load.gz --duration 1s --size 16MiB");
    let mut command = shown.command.clone();
    let [one, other] = devices.each_ref().map(String::as_str);
    for (from, to) in SHORTENED.iter().copied().chain([
        ("/dev/sda", one),
        ("/dev/sdx", one),
        ("/dev/nvme0n1", one),
        ("/dev/nvme1n1", other),
    ]) {
        command = command.replace(from, to);
    }
    let load = command.contains("--measure-overhead").then(|| {
        let command =
            format!("run -t {one} --rw randread --bs 4k --rate-iops 200 --runtime 60 --no-progress -o load");
        let mut command = lab.command(&command);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Background::start(command)
    });
    if command.contains("--cleanup") {
        crashed(&lab, one);
    }
    let binaries = Path::new(env!("CARGO_BIN_EXE_iosonar")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("bash");
    // With job control, as in an interactive shell.
    shell.args(["-c", &format!("set -m; {command}")]).current_dir(lab.path("")).env("PATH", path);
    let ended = Ended::of(shell.stdin(Stdio::null()).output().unwrap());
    drop(load);
    ended
}

#[test]
fn every_documented_recording_runs() {
    needs!();
    let lab = lab();
    let devices = [64, 64].map(LoopDevice::random);
    let names = devices.each_ref().map(|device| device.text().to_string());
    let all = shown(&lab);
    assert!(all.len() > 6, "{all:?}");
    for shown in all {
        let ended = run(&shown, &names);
        assert_eq!(ended.code, 0, "{}: {}\n{}{}", shown.place, shown.command, ended.out, ended.err);
    }
}
