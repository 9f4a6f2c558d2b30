//! Experiments in which the generator, not the target, decides the figure: each caution appears with one set-up and not with the other.

use crate::common::*;
use crate::validity::{Judged, full};
use iosonar_testkit::{LoopDevice, Mounted, Zram};
use std::time::Duration;

/// Runs until the detector reports, or applies without a report.
#[track_caller]
fn comes_to(told: bool, id: &str, mut judged: impl FnMut() -> Judged) {
    comes_to_say(|said| said.is_object() && is_reported(said) == told, || judged().detection(id));
}

/// E6: of two jobs with equal work one finishes long before the other; a run that ends by its time has no such tail.
#[test]
fn reports_straggler_job() {
    needs!();
    let lab = lab();
    let (device, memory) = (LoopDevice::random(32), Mounted::tmpfs());
    let fast = memory.path().join("f");
    std::fs::write(&fast, vec![7; 32 << 20]).unwrap();
    let read = format!("-t {} -t {} --rw randread --bs 4k --norandommap", fast.display(), device.text());
    for (end, is_reported) in [("--number-ios 4000", true), ("--runtime 1 --time-based", false)] {
        comes_to(is_reported, "straggler-tail", || Judged::of(&lab, &format!("{read} {end}")));
    }
}

/// G4: a program that stands still for 4 ms of 6 wakes up late, and requests bunch; else, waiting without sleep keeps the timetable.
#[test]
fn reports_late_timer() {
    needs!();
    let lab = lab();
    full(&lab, "f", 32);
    let read = "-t f --rw randread --bs 4k --norandommap --iodepth 16 --rate-iops 2000 --number-ios 2000";
    comes_to(false, "late-timer", || Judged::of(&lab, &format!("{read} --spin 100us")));
    comes_to(true, "late-timer", || {
        let command = lab.command(&format!("run --no-progress --start-delay 0 {read} --spin 0 -o r"));
        let mut running = Background::start(command);
        while !running.has_ended() {
            running.signal("STOP");
            std::thread::sleep(Duration::from_millis(4));
            running.signal("CONT");
            std::thread::sleep(Duration::from_millis(2));
        }
        Judged::taken(&lab, &lab.run("judge r --json"))
    });
}

/// G2: on memory a thread has no idle time; a device makes it wait.
#[test]
fn reports_generator_bound_thread() {
    needs!();
    let lab = lab();
    let zram = or_skip!(Zram::new(64).ok_or("zram cannot be had".to_string()));
    let device = LoopDevice::random(32);
    let read = "--rw randread --bs 4k --norandommap --engine psync --runtime 1 --time-based";
    let write = format!("-t {} --destroy --rw write --bs 64k", zram.path().display());
    Judged::of(&lab, &write);
    for (target, is_reported) in [(zram.path().as_path(), true), (device.path(), false)] {
        comes_to(is_reported, "generator-bound", || {
            Judged::of(&lab, &format!("-t {} {read}", target.display()))
        });
    }
}

/// G5: four programs compete for the run's CPU. A run that never waits for a device needs its CPU all the time.
#[test]
fn reports_cpu_contention() {
    needs!("taskset");
    let lab = lab();
    full(&lab, "f", 16);
    let on_one = ["taskset", "-c", "0"];
    let read = "-t f --rw randread --bs 4k --buffered --claim cache --runtime 2 --time-based";
    for (hogs, is_reported) in [(4, true), (0, false)] {
        let hog = || {
            let mut command = std::process::Command::new(on_one[0]);
            command.args(&on_one[1..]).args(["sh", "-c", "while :; do :; done"]);
            Background::start(command)
        };
        let _hogs: Vec<Background> = (0..hogs).map(|_| hog()).collect();
        comes_to(is_reported, "cpu-disturbed", || Judged::under(&lab, &on_one, read));
    }
}

/// G9: verification reads belong to no load.
#[test]
fn reports_cost_of_inline_verification() {
    needs!();
    let lab = lab();
    full(&lab, "f", 16);
    for (modes, level) in [("after-write", "caution"), ("final", "-")] {
        let judged = Judged::of(&lab, &format!("-t f --rw write --bs 64k --verify {modes}"));
        assert_eq!(judged.level("verify-costs"), level, "{modes}: {:#}", judged.0);
    }
}
